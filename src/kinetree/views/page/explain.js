// The page of an explanation: joint forces, entries of M and vectors of the recursion unfold.

const page = JSON.parse(document.getElementById("data").textContent);
const sheets = document.querySelector(".kinetree");

// Let an element open the unfolding of a tree, and the part of it that it shows.
function unfolds(element, name, part, place) {
  const tree = page.named[name];
  if (tree === undefined) return;
  element.dataset.unfold = part ? `${name},${part}` : name;
  element.tabIndex = 0;
  element.setAttribute("role", "button");
  const open = () => {
    const target = place();
    for (const old of sheets.querySelectorAll("[data-unfold].chosen")) old.classList.remove("chosen");
    element.classList.add("chosen");
    const unfolding = createUnfolding(target, page.unfold, { tree });
    if (part) unfolding.choose(part);
    target.hidden = false;
  };
  element.addEventListener("click", open);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  });
}

// A place for an unfolding behind an element, made once.
function placeAfter(element) {
  if (element.placed) return element.placed;
  const place = document.createElement("div");
  place.className = "unfold-place";
  place.hidden = true;
  element.after(place);
  element.placed = place;
  return place;
}

function prepareForces() {
  const table = sheets.querySelector(".forces table");
  if (!table) return;
  const place = placeAfter(table.closest(".part"));
  [...table.querySelectorAll("tr[data-k]")].forEach((row, d) => {
    for (const cell of row.querySelectorAll("td[data-cause]"))
      if (!cell.classList.contains("zero")) unfolds(cell, `tau,${d}`, cell.dataset.cause === "tau" ? "" : cell.dataset.cause, () => place);
  });
  const first = table.querySelector('td[data-cause="tau"][data-unfold]');
  if (first) first.click();
}

function prepareMatrix() {
  const table = sheets.querySelector(".matrix table");
  if (!table) return;
  const scroll = table.parentElement;
  [...table.querySelectorAll("tbody tr")].forEach((row, i) => {
    [...row.querySelectorAll("td")].slice(1).forEach((cell, j) => {
      if (Number(cell.textContent) !== 0) unfolds(cell, `M,${Math.min(i, j)},${Math.max(i, j)}`, "", () => placeAfter(scroll));
    });
  });
}

// Vectors of the recursion: the total unfolds, and every part unfolds to itself.
function prepareLinks() {
  [...sheets.querySelectorAll(":scope > .link")].forEach((sheet, k) => {
    for (const table of sheet.querySelectorAll("table[data-symbol]")) {
      const name = `${table.dataset.symbol},${page.links[k]}`;
      const tree = page.unfold.trees[page.named[name]];
      if (!tree) continue;
      const scroll = table.closest(".part");
      for (const row of table.querySelectorAll("tr[data-k], tr.total")) {
        const words = row.firstElementChild.textContent;
        const part = (tree.children || []).find((x) => x.name === words || (words === "parent" && x.name.startsWith("parent ")));
        if (row.classList.contains("total") || part) unfolds(row, name, part ? part.name : "", () => placeAfter(scroll));
      }
    }
  });
}

if (page.unfold) {
  document.documentElement.classList.add("scripted");
  prepareForces();
  prepareMatrix();
  prepareLinks();
}
