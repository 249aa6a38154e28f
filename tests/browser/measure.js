// Measurements of a page: text that is cut off or overlaps, and contrast. See measure.py.

// elements whose text is not read by people, or is drawn by other means
const ignored = "script, style, template, option, .visually-hidden, [hidden], [aria-hidden=true] *, math *, svg *, canvas";
function ownText(node) {
  return [...node.childNodes].filter((x) => x.nodeType === 3 && x.textContent.trim()).map((x) => x.textContent.trim()).join(" ");
}
function isSeen(node) {
  return node.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
}
function textBoxes(node) {
  const found = [];
  for (const child of node.childNodes) {
    if (child.nodeType !== 3 || !child.textContent.trim()) continue;
    const range = document.createRange();
    range.selectNodeContents(child);
    found.push(...range.getClientRects());
  }
  return found.filter((box) => box.width > 0.5 && box.height > 0.5);
}
// What ancestors leave of a box; scrolls: one of them can be scrolled to the rest.
function clippedBox(box, node) {
  let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom], scrolls = false, dots = false;
  for (let at = node; at && at !== document.documentElement; at = at.parentElement) {
    const style = getComputedStyle(at), own = at.getBoundingClientRect();
    if (at === node && style.display === "inline") continue;
    const [x, y] = [style.overflowX, style.overflowY];
    if (x !== "visible" && (left < own.left - 1 || right > own.right + 1)) {
      if (x === "auto" || x === "scroll") scrolls = true;
      if (style.textOverflow === "ellipsis" && (at.title || node.title)) dots = true;
      [left, right] = [Math.max(left, own.left), Math.min(right, own.right)];
    }
    if (y !== "visible" && (top < own.top - 1 || bottom > own.bottom + 1)) {
      if (y === "auto" || y === "scroll") scrolls = true;
      [top, bottom] = [Math.max(top, own.top), Math.min(bottom, own.bottom)];
    }
    if (style.position === "fixed") break;
  }
  return { left, top, right, bottom, scrolls, dots };
}
// A drawer that is closed: it waits beside the window, where nobody can scroll to.
function isPutAway(node) {
  for (let at = node; at; at = at.parentElement)
    if (getComputedStyle(at).position === "fixed") {
      const box = at.getBoundingClientRect();
      return box.right <= 1 || box.left >= innerWidth - 1 || box.bottom <= 1 || box.top >= innerHeight - 1;
    }
  return false;
}
function allText(root) {
  return [...document.querySelectorAll(`${root}, ${root} *`)].filter((node) => !node.matches(ignored) && ownText(node) && isSeen(node) && !isPutAway(node));
}
function nameOf(node) {
  const id = node.id ? `#${node.id}` : node.className && typeof node.className === "string" ? `.${node.className.split(" ")[0]}` : "";
  return `${node.localName}${id} "${ownText(node).slice(0, 40)}"`;
}

function clipped(root) {
  const found = [];
  for (const node of allText(root))
    for (const box of textBoxes(node)) {
      const seen = clippedBox(box, node);
      const lost = (box.right - box.left) - (seen.right - seen.left), low = (box.bottom - box.top) - (seen.bottom - seen.top);
      if (!seen.scrolls && !seen.dots && (lost > 2 || low > 3)) found.push(`${nameOf(node)} is cut by ${Math.round(lost)} x ${Math.round(low)} px`);
      if (!seen.scrolls && (box.right > innerWidth + 1 && getComputedStyle(document.documentElement).overflowX !== "auto")) found.push(`${nameOf(node)} leaves the window`);
    }
  return [...new Set(found)];
}

// Whether something opaque, as a dialog, lies on a node at a point; another text does not cover it.
function isCovered(node, x, y) {
  for (const top of document.elementsFromPoint(x, y)) {
    if (node.contains(top) || top.contains(node)) return false;
    const { backgroundColor, backgroundImage } = getComputedStyle(top), alpha = backgroundColor.match(/[\d.]+/g) || [];
    if (top.matches("img, canvas, iframe, video") || backgroundImage !== "none" || +(alpha[3] ?? 1) > 0.5) return true;
  }
  return false;
}

function overlapping(root) {
  const boxes = [];
  for (const node of allText(root))
    for (const box of textBoxes(node)) {
      const seen = clippedBox(box, node), [x, y] = [(seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2];
      if (seen.right - seen.left < 2 || seen.bottom - seen.top < 2) continue;
      if (isCovered(node, x, y)) continue;
      boxes.push({ node, ...seen });
    }
  const found = [];
  for (let i = 0; i < boxes.length; i++)
    for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // line boxes are taller than letters: a third may overlap
      if (wide > 3 && high > 0.34 * Math.min(a.bottom - a.top, b.bottom - b.top) && a.node !== b.node)
        found.push(`${nameOf(a.node)} overlaps ${nameOf(b.node)}`);
    }
  return [...new Set(found)];
}

function lowContrast(root, least) {
  const rgba = (text) => {
    const numbers = (text.match(/[\d.]+(e-?\d+)?/g) || []).map(Number);
    if (text.startsWith("color(srgb")) return [255 * numbers[0], 255 * numbers[1], 255 * numbers[2], numbers[3] ?? 1];
    return [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1];
  };
  const over = (top, under) => [0, 1, 2].map((k) => top[k] * top[3] + under[k] * (1 - top[3])).concat(1);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((x) => x / 255).map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const node of allText(root)) {
    if (node.closest(":disabled, [aria-disabled=true]") || !textBoxes(node).length) continue;
    const layers = [];
    let gradients = [];
    for (let at = node; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      layers.push(rgba(style.backgroundColor));
      if (style.backgroundImage.includes("gradient")) {
        gradients = style.backgroundImage.match(/(rgba?|color)\([^)]*\)/g).map(rgba);
        break;
      }
      if (layers.at(-1)[3] === 1) break;
    }
    const grounds = (gradients.length ? gradients : [[255, 255, 255, 1]]).map((ground) => layers.reduceRight((under, top) => over(top, under), ground));
    for (const ground of grounds) {
      const ink = over(rgba(getComputedStyle(node).color), ground), [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < least) found.push(`${nameOf(node)} has contrast ${ratio.toFixed(2)}`);
    }
  }
  return [...new Set(found)];
}
