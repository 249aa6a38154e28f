// The panel Recursion: both passes of Newton and Euler, link by link, with equation, numbers and arrows.

const VECTOR_HALVES = { V: [["--omega", "ω", 2], ["--v", "v", 1]], dV: [["--alpha", "α", 2], ["--a", "a", 1]], F: [["--n", "n", 2], ["--f", "f", 1]] };
const LONGEST_ARROW = 0.34, FRAME_SIZE = 0.16; // in extents of the robot

const askRecursion = newestOnly("recursion", (answer) => {
  bench.recursion = answer.steps;
  const panel = panels.get("recursion"), isFirst = !panel.wasAnswered;
  if (!panel.place) return;
  panel.wasAnswered = true;
  clearError(panel.controls);
  showStep();
  if (isFirst) showArrows(); else drawStage();
}, (error) => {
  const panel = panels.get("recursion");
  bench.recursion = null;
  if (panel.place && !error.ended) {
    panel.place.replaceChildren();
    showError(panel.controls, error.message);
  }
});

function buildRecursion(body) {
  const back = make("button", { type: "button", id: "step-back", text: "◀ Back", title: "Previous step (P)", click: () => stepBy(-1) });
  const next = make("button", { type: "button", id: "step-next", text: "Next ▶", title: "Next step (N)", click: () => stepBy(1) });
  const range = make("input", { type: "range", min: 0, step: 1, "aria-label": "Step of the recursion", id: "step-range" });
  range.addEventListener("input", () => bench.store.change({ step: +range.value }, "step"));
  const controls = make("div", { class: "step-controls" }, back, range, next);
  const title = make("p", { class: "step-title" });
  const place = make("div", { class: "step-place scroll-inside" });
  body.append(controls, title, place);
  Object.assign(this, { controls, range, title, place, back, next });
}

// Draw the arrows of the step and the frame of its link, all of them in view.
function showArrows() {
  drawNow();
  const step = bench.recursion[Math.min(bench.scene.step, bench.recursion.length) - 1];
  const axes = step ? AXES_OF_SPACE.map((axis) => placed(bench.poses[step.link], times(axis, FRAME_SIZE * bench.robot.stage.scene.extent))) : [];
  keepInView([...axes, ...clicks.flatMap(({ from, to }) => [from, to])]);
}

function stepBy(by) {
  const steps = bench.recursion || [];
  bench.store.change({ step: clamp(bench.scene.step + by, 0, steps.length) }, "step");
}

function requestRecursion() {
  askRecursion(stateOf(bench.scene, bench.robot, bench.at));
  if (bench.recursion) showStep();
}

function showStep() {
  const panel = panels.get("recursion"), steps = bench.recursion || [];
  const k = Math.min(bench.scene.step, steps.length);
  panel.range.max = steps.length;
  panel.range.value = k;
  panel.back.disabled = k === 0;
  panel.next.disabled = k === steps.length;
  bench.term = null;
  if (k === 0) {
    panel.title.textContent = `${steps.length} steps`;
    panel.place.replaceChildren(make("p", { class: "note", text: "Press Next: the twists V and their rates dV go outward from the base, the wrenches F and torques τ come back inward. Set rates dq first: at rest only gravity acts." }));
    return;
  }
  const step = steps[k - 1];
  panel.title.replaceChildren(make("b", { text: `${k} of ${steps.length}` }), `  ${step.title}`);
  const top = panel.place.scrollTop;
  panel.place.replaceChildren(...step.quantities.map((quantity) => quantityBlock(step, quantity)));
  panel.place.scrollTop = top;
}

// The equation of a quantity, and the numbers of each of its terms.
function quantityBlock(step, quantity) {
  const equation = make("div", { class: "equation" }, safeMarkup(quantity.mathml || ""));
  const block = make("section", { class: "quantity", "data-symbol": quantity.symbol, "aria-label": quantity.meaning });
  const light = (name) => {
    bench.term = name === null ? null : { symbol: quantity.symbol, name };
    for (const node of block.querySelectorAll("[data-term]")) node.classList.toggle("lit", node.dataset.term === name);
    drawStage();
  };
  const head = make("tr", {}, make("th", { text: "term" }), ...quantity.columns.map((name) => make("th", { class: "n", text: name })));
  const rows = quantity.rows.map((row) => {
    const cells = row.values.map((x) => make("td", { class: "n", text: shortText(x), title: numberText(x, 6) }));
    return make("tr", { "data-term": row.term, tabindex: "0", pointerenter: () => light(row.term), pointerleave: () => light(null),
      focus: () => light(row.term), blur: () => light(null) }, make("th", { scope: "row", text: row.name, title: row.name }), ...cells);
  });
  const total = make("tr", { class: "total" }, make("th", { scope: "row", text: quantity.symbol === "tau" ? "τ" : quantity.symbol }),
    ...quantity.value.map((x, r) => make("td", { class: "n", "data-step": `${quantity.symbol},${r}`, "data-value": x, text: shortText(x), title: numberText(x, 6) })));
  const table = make("div", { class: "table-place" }, make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, ...rows, total)));
  for (const mark of equation.querySelectorAll("[data-term]")) {
    mark.addEventListener("pointerenter", () => light(mark.dataset.term));
    mark.addEventListener("pointerleave", () => light(null));
  }
  const foot = make("p", { class: "note" }, `${quantity.unit.replaceAll("^2", "²")}${quantity.frame ? `; in ${quantity.frame}` : ""} `);
  for (const [colour, letter] of VECTOR_HALVES[quantity.symbol] || []) {
    const chip = make("i", { class: "chip", "aria-hidden": "true" });
    chip.style.background = `var(${colour})`;
    foot.append(make("span", { class: "key" }, chip, letter));
  }
  if (VECTOR_HALVES[quantity.symbol])
    foot.append(make("button", { type: "button", class: "small", text: "Unfold", "aria-label": `Unfold ${quantity.symbol}`, click: () => unfoldThis({ kind: "vector", link: step.link, symbol: quantity.symbol }, "recursion") }));
  if (quantity.code) foot.append(make("code", { text: quantity.code.text, title: `${quantity.code.file}, line ${quantity.code.line}` }));
  block.append(equation, table, foot);
  return block;
}

// Halves of a six-vector of a link as arrows in {s}: [colour, letter, heads, vector].
function halvesInSpace(symbol, values, T) {
  return VECTOR_HALVES[symbol].map(([colour, letter, heads], half) => [colour, letter, heads, turned(T, values.slice(3 * half, 3 * half + 3))]);
}

contributors.push(() => {
  const { scene, recursion, poses, robot } = bench;
  if (!recursion || !scene.step || !isOpen("recursion")) return null;
  const k = Math.min(scene.step, recursion.length), now = recursion[k - 1];
  const six = (step) => step.quantities.filter((x) => VECTOR_HALVES[x.symbol] && x.value.length === 6);
  const pass = recursion.filter((step) => step.pass === now.pass), longest = {};
  for (const step of pass)
    for (const { symbol, value } of six(step))
      for (const [colour, , , v] of halvesInSpace(symbol, value, poses[step.link])) longest[colour] = Math.max(longest[colour] || 1e-9, Math.hypot(...v));
  const parts = [], found = [], hits = [], T = poses[now.link];
  const scaled = (colour, v) => times(v, LONGEST_ARROW * robot.stage.scene.extent / longest[colour]);
  for (const step of recursion.slice(0, k).filter((x) => x.pass === now.pass)) {
    const from = [3, 7, 11].map((i) => poses[step.link][i]), present = step === now;
    for (const { symbol, value } of six(step))
      for (const [colour, letter, heads, v] of halvesInSpace(symbol, value, poses[step.link])) {
        const way = scaled(colour, v), faded = present && bench.term && bench.term.symbol === symbol;
        parts.push(...arrowParts(from, way, (present ? 1.2 : 0.5) * arrowRadius(), cssColour(colour), { heads, alpha: faded ? 0.35 : 1 }));
        if (Math.hypot(...way) < 1e-6) continue;
        hits.push({ from, to: plus(from, way), title: `${letter} of ${robot.links[step.link]}: unfold ${symbol}`,
          act: () => unfoldThis({ kind: "vector", link: step.link, symbol }, "recursion") });
        if (present) found.push({ at: plus(from, way), text: letter, colour });
      }
  }
  if (bench.term) {
    const quantity = six(now).find((x) => x.symbol === bench.term.symbol), row = quantity && quantity.rows.find((x) => x.term === bench.term.name);
    for (const [colour, , heads, v] of row && row.values.length === 6 ? halvesInSpace(quantity.symbol, row.values, T) : [])
      parts.push(...arrowParts([T[3], T[7], T[11]], scaled(colour, v), 1.5 * arrowRadius(), cssColour("--lit"), { heads }));
  }
  parts.push(...framePart(T, FRAME_SIZE * robot.stage.scene.extent));
  return { parts, labels: found, clicks: hits };
});

addPanel({ id: "recursion", title: "Recursion", letter: "⇉", key: "6", build: buildRecursion, readings: requestRecursion, opened: () => { panels.get("recursion").wasAnswered = false; } });
