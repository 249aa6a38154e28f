// A number that unfolds into the numbers that it is the sum of, down to factors and lines of code.
//
// createUnfolding(element, data, {tree}) shows a tree of `kinetree.explain.packed`
// in an element. Nodes are drawn when they are opened. A second call for the same element keeps
// open what was open.

const createUnfolding = (() => {
  const ROUNDING = 1e-14;
  const BAR = 46; // percent of a bar's width on each side of zero
  const COLOURED = "inertia Coriolis centrifugal gravity spring friction rotor external contact stop base constraints".split(" ");

  function createUnfolding(element, data, options = {}) {
    const root = data.trees[options.tree || 0];
    const kept = element.unfolded && element.unfolded.name === root.name ? element.unfolded : null;
    const view = {
      element, data, options, open: kept ? kept.open : new Set(), chosen: kept ? kept.chosen : "", rows: new Map(),
    };
    element.unfolded = { name: root.name, open: view.open, chosen: view.chosen };
    element.classList.add("unfolding");
    const top = row(view, root, null, "", 0);
    element.replaceChildren(top);
    view.open.add("");
    top.open = true;
    if (data.cut) element.append(make("p", "unfold-note", {}, `The deepest levels, ${data.cut} numbers, are left out here.`));
    choose(view, view.rows.has(view.chosen) ? view.chosen : "", false);
    return { element, root, choose: (path) => reveal(view, path) };
  }

  // One node: a row that opens, or a plain row if there is nothing below it.
  function row(view, node, parent, path, largest) {
    const opens = Boolean(node.children || node.numbers || node.code !== undefined);
    const frame = make(opens ? "details" : "div", "unfold-node", { "data-path": path, "data-name": node.name });
    const head = make(opens ? "summary" : "div", "unfold-head");
    const symbol = make("span", "unfold-symbol");
    symbol.append(mathOf(signed(view, node)));
    const name = make("span", "unfold-name", {}, node.name);
    if (parent === "" && COLOURED.includes(node.name)) {
      const chip = make("i", "chip", { "aria-hidden": "true" });
      frame.style.setProperty("--term", `var(--part-${node.name.toLowerCase()})`); // bars below have it, too
      name.prepend(chip);
    }
    head.append(symbol, name, bar(node.value, largest), valueOf(node, largest));
    frame.append(head);
    view.rows.set(path, { node, parent, frame, head });
    if (!opens) return frame;
    head.addEventListener("click", () => choose(view, path, true));
    head.addEventListener("focus", () => choose(view, path, true));
    frame.addEventListener("toggle", () => {
      if (frame.open) fill(view, node, path, frame);
      view.open[frame.open ? "add" : "delete"](path);
    });
    if (view.open.has(path) && path) {
      fill(view, node, path, frame);
      frame.open = true;
    }
    return frame;
  }

  // The equation, factors, line of code and parts of a node that is opened for the first time.
  function fill(view, node, path, frame) {
    if (frame.filled) return;
    frame.filled = true;
    const body = make("div", "unfold-body");
    if (node.children) body.append(equation(view, node, path));
    if (node.numbers) body.append(factors(node.numbers.map((k) => view.data.numbers[k])));
    if (node.code !== undefined) body.append(codeLine(view.data.codes[node.code]));
    if (node.children) {
      const largest = Math.max(...node.children.map((x) => size(x.value)));
      const list = make("div", "unfold-parts", { role: "group", "aria-label": `Parts of ${node.name}` });
      list.append(...node.children.map((x) => row(view, x, path, below(path, x.name), largest)));
      body.append(list);
      if (node.children.length > 1) body.append(total(node));
    }
    frame.append(body);
  }

  // Symbol = sum of terms; each term is a formula of its own, so that a long sum has several lines.
  function equation(view, node, path) {
    const place = make("div", "unfold-equation");
    const [sign, left] = formulaOf(view, node);
    place.append(mathOf(`${sign === "+" ? "" : `<mo>${sign}</mo>`}${left}<mo lspace="0.28em" rspace="0.28em">=</mo>`));
    node.children.forEach((child, k) => {
      const [sign, inner] = formulaOf(view, child);
      const term = mathOf(k === 0 && sign === "+" ? "<mrow></mrow>" : `<mo lspace="0.22em" rspace="0.22em">${sign}</mo><mrow></mrow>`);
      const mark = term.lastElementChild;
      mark.innerHTML = inner;
      mark.setAttribute("data-term", child.name);
      term.addEventListener("click", () => reveal(view, below(path, child.name)));
      place.append(term, " ");
    });
    return place;
  }

  function total(node) {
    const line = make("div", "unfold-total");
    line.append(make("span", "unfold-name", {}, `sum of ${node.children.length} parts`), valueOf(node));
    return line;
  }

  function factors(numbers) {
    const table = make("table", "unfold-numbers");
    for (const { name, value, unit, frame } of numbers) {
      const cells = make("tr");
      const shown = make("td", "n");
      for (const text of textsOf(value)) shown.append(make("div", "", {}, text));
      cells.append(make("th", "", { scope: "row" }, name), shown);
      cells.append(make("td", "unfold-unit", {}, unitText(unit)), make("td", "unfold-unit", {}, frame && `in ${frame}`));
      table.append(cells);
    }
    const scroll = make("div", "scroll");
    scroll.append(table);
    return scroll;
  }

  function codeLine({ file, line, text }) {
    const place = make("div", "unfold-code");
    place.append(make("span", "", {}, `${file}, line ${line}`), make("code", "", {}, text));
    return place;
  }

  // Mark the chosen row, its term in the equation above it, and the way to it.
  function choose(view, path, inform) {
    const { node, parent, head } = view.rows.get(path);
    view.chosen = path;
    view.element.unfolded.chosen = path;
    for (const old of view.element.querySelectorAll(".chosen, .lit")) old.classList.remove("chosen", "lit");
    head.classList.add("chosen");
    for (let at = path; at !== null && view.rows.has(at); at = view.rows.get(at).parent) {
      const { node: own, parent: up } = view.rows.get(at);
      if (up === null) break;
      const marks = view.rows.get(up).frame.querySelectorAll(":scope > .unfold-body > .unfold-equation [data-term]");
      for (const mark of marks) mark.classList.toggle("lit", mark.getAttribute("data-term") === own.name);
    }
  }

  // Open every row on the way to a path, choose it and bring it into view.
  function reveal(view, path) {
    const way = [];
    for (let at = path; at; at = at.slice(0, Math.max(at.lastIndexOf("\u001f"), 0))) way.unshift(at);
    for (const at of way) {
      const up = view.rows.get(at.slice(0, Math.max(at.lastIndexOf("\u001f"), 0)));
      if (up && up.frame.tagName === "DETAILS") {
        fill(view, up.node, up.frame.dataset.path, up.frame);
        up.frame.open = true;
      }
    }
    const found = view.rows.get(path);
    if (!found) return;
    if (found.frame.tagName === "DETAILS") {
      fill(view, found.node, path, found.frame);
      found.frame.open = true;
      found.head.focus({ preventScroll: true });
    }
    found.head.scrollIntoView({ block: "nearest" });
    choose(view, path, true);
  }

  // A bar to the right for a positive number, to the left for a negative one.
  function bar(value, largest) {
    const place = make("span", "unfold-bar", { "aria-hidden": "true" });
    if (Array.isArray(value) || !largest || value === null) return place;
    const part = make("i");
    const width = (BAR * Math.abs(value)) / largest;
    part.style.width = `${width}%`;
    part.style.left = `${value < 0 ? 50 - width : 50}%`;
    place.append(part);
    return place;
  }

  // A number that is zero but for rounding, beside the largest of its neighbours, is written as 0.
  function valueOf(node, largest = 0) {
    const place = make("span", "unfold-value n", { "data-value": JSON.stringify(node.value) });
    const rounded = !Array.isArray(node.value) && node.value !== 0 && Math.abs(node.value) < ROUNDING * largest;
    const texts = Array.isArray(node.value) ? halves(node.value) : [rounded ? "\u2248 0" : numberOf(node.value)];
    for (const text of texts) place.append(make("span", "", {}, text));
    const where = node.frame ? ` in ${node.frame}` : "";
    place.append(make("small", "", {}, `${unitText(node.unit)}${where}`));
    return place;
  }

  const halves = (x) => (x.length === 6 ? [vectorOf(x.slice(0, 3)), vectorOf(x.slice(3))] : [vectorOf(x)]);
  const vectorOf = (x) => `(${x.map(numberOf).join(", ")})`;
  const textsOf = (x) => (!Array.isArray(x) ? [numberOf(x)] : Array.isArray(x[0]) ? x.map(vectorOf) : halves(x));
  const unitText = (unit) => (unit || "").replace(/\^2/g, "²").replace(/ (?=m)/g, "\u202f");
  const size = (x) => (Array.isArray(x) ? Math.hypot(...x) : Math.abs(x));
  const below = (path, name) => (path ? `${path}\u001f${name}` : name);

  const numberOf = (x) => numberText(x, 5);

  // Sign and MathML of a term: a template with its indices.
  function formulaOf(view, node) {
    const [sign, template, ...numbers] = view.data.formulas[node.symbol];
    return [sign, view.data.templates[template].replace(/#/g, () => numbers.shift())];
  }

  function signed(view, node) {
    const [sign, inner] = formulaOf(view, node);
    return sign === "+" ? inner : `<mrow><mo>${sign}</mo>${inner}</mrow>`;
  }

  function mathOf(markup) {
    const place = document.createElement("template");
    place.innerHTML = `<math>${markup}</math>`; // formulas of ours: names are set as text
    return place.content.firstElementChild;
  }

  function make(tag, className = "", attributes = {}, text = "") {
    const node = document.createElement(tag);
    if (className) node.className = className;
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text) node.textContent = text;
    return node;
  }

  return createUnfolding;
})();
