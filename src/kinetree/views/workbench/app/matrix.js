// The panel Mass matrix: a heat map with its numbers; a click unfolds an entry.

function buildMatrix(body) {
  const kind = segments("Show", { numbers: "numbers", map: "map" }, (name) => bench.store.change({ matrix: name }));
  const place = make("div", { class: "matrix-place scroll-inside" });
  const note = make("p", { class: "note" });
  body.append(kind, place, note);
  Object.assign(this, { kind, place, note });
}

const MOST_ROWS_SHOWN = 48; // a table of more cells makes the page slow

function showMatrix({ M: whole, eigenvalues }) {
  const panel = panels.get("matrix"), { robot, scene } = bench, n = Math.min(whole.length, MOST_ROWS_SHOWN);
  const M = whole.slice(0, n).map((row) => row.slice(0, n));
  panel.kind.select(scene.matrix);
  if (panel.madeFor !== `${robot.id} ${scene.matrix}`) makeMatrix(panel, robot, scene.matrix, n);
  const top = Math.max(1e-300, ...M.map((row) => Math.max(...row.map(Math.abs))));
  const decimals = clamp((n > 4 ? 2 : 3) - Math.floor(Math.log10(top)), 0, n > 4 ? 3 : 6); // the same in all cells, so that they compare
  M.forEach((row, i) => row.forEach((x, j) => {
    // the map compares entries of different units; the root keeps small couplings visible
    const cell = panel.cells[i][j], size = scene.matrix === "map" ? Math.sqrt(Math.abs(M[i][i] * M[j][j])) : top;
    const share = Math.sqrt(Math.min(1, Math.abs(x) / Math.max(size, 1e-300)));
    cell.style.setProperty("--share", `${((scene.matrix === "map" ? 95 : 72) * share).toFixed(1)}%`); // a number stays readable
    cell.classList.toggle("negative", x < 0);
    if (scene.matrix === "numbers") cell.textContent = cellText(x, decimals);
    cell.dataset.value = x;
    cell.setAttribute("aria-label", `M of ${robot.dofs[i].name} and ${robot.dofs[j].name}: ${numberText(x)}; unfold it`);
    cell.title = `${robot.dofs[i].name}, ${robot.dofs[j].name}: ${numberText(x, 6)}`;
  }));
  const units = new Set(robot.dofs.map((dof) => dof.unit));
  const unitText = units.size > 1 ? "kg m², kg m and kg" : units.has("m") ? "kg" : "kg m²";
  panel.note.textContent = `${unitText}; the colour is the size ${scene.matrix === "map" ? "against the root of both diagonal entries" : "against the largest entry"}. Eigenvalues ${numberText(eigenvalues[0])} to ${numberText(eigenvalues[1])}.${n < whole.length ? ` M has ${whole.length} rows; the first ${n} rows and columns are shown.` : ""}`;
}

// A number with fixed decimals; only an exact zero is 0, and a rounded one has no sign.
function cellText(x, decimals) {
  const text = x.toFixed(decimals);
  return x === 0 ? "0" : Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

function makeMatrix(panel, robot, kind, n) {
  panel.madeFor = `${robot.id} ${kind}`;
  const shownNumber = (k) => kind === "numbers" || n <= 12 || k % 5 === 0 || k === 1 ? k : ""; // a map has narrow columns
  const shown = robot.dofs.slice(0, n);
  const head = make("tr", {}, make("td"), ...shown.map((dof, j) => make("th", { title: dof.name, text: shownNumber(j + 1) })));
  panel.cells = shown.map((_, i) => shown.map((_, j) => make("button", {
    type: "button", class: "cell-button", "data-m": `${i},${j}`, tabindex: i + j ? -1 : 0,
    click: () => unfoldThis({ kind: "M", row: i, column: j }, "matrix"),
  })));
  const rows = shown.map((dof, i) => make("tr", {}, make("th", { scope: "row", title: dof.name, text: shownNumber(i + 1) }),
    ...panel.cells[i].map((cell) => make("td", {}, cell))));
  const table = make("table", { class: `matrix ${kind} ${n > 12 ? "many" : ""}` }, make("thead", {}, head), make("tbody", {}, ...rows));
  table.addEventListener("keydown", (event) => {
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const place = event.target.dataset.m;
    if (!by || !place) return;
    event.preventDefault();
    const [i, j] = place.split(",").map((x, k) => clamp(+x + by[k], 0, n - 1));
    panel.cells[i][j].focus();
  });
  const key = make("ol", { class: "matrix-key" }, ...shown.map((dof) => make("li", { text: dof.name })));
  panel.place.replaceChildren(table);
  if (panel.names) panel.names.remove();
  panel.names = key;
  panel.place.after(key);
}

addPanel({ id: "matrix", title: "Mass matrix", letter: "M", key: "3", build: buildMatrix, readings: showMatrix });
