// The panel Joints: sliders and numbers for q, dq and ddq; angles in rad or in degrees.

const QUANTITIES = {
  q: { title: "q", words: "position", per: "" },
  dq: { title: "dq", words: "rate", per: "/s" },
  ddq: { title: "ddq", words: "acceleration", per: "/s²" },
};
const USUAL = { dq: { rad: 2, m: 0.5 }, ddq: { rad: 10, m: 5 } }; // ends of sliders without a limit

// One row per slider of a quantity: {label, unit, low, high, get(at), set(at, x), limited}.
function sliderRows(robot, quantity) {
  if (quantity === "q")
    return robot.handles.map((handle, k) => ({
      label: handle.label, unit: handle.unit, low: handle.low, high: handle.high, dof: handle.dof,
      get: (at) => handleValues(robot, at.q)[k],
      set: (at, x) => ({ q: movedPositions(robot, at.q, k, x) }),
    }));
  return robot.dofs.map((dof, d) => {
    const most = quantity === "dq" && dof.velocity ? dof.velocity : USUAL[quantity][dof.unit];
    return {
      label: dof.name, unit: dof.unit, low: -most, high: most, dof: d,
      get: (at) => at[quantity][d],
      set: (at, x) => ({ [quantity]: at[quantity].map((y, k) => k === d ? x : y) }),
    };
  });
}

const inDegrees = (unitName) => bench.scene.degrees && unitName === "rad";
const toShown = (x, unitName) => inDegrees(unitName) ? x / DEGREE : x;
const fromShown = (x, unitName) => inDegrees(unitName) ? x * DEGREE : x;
const shownUnit = (unitName, per = "") => `${inDegrees(unitName) ? "°" : ` ${unitName}`}${per}`;

// The change of the joints; it ends a run, whose present state is the one that is changed.
function changeJoints(entries, key) {
  const { at } = bench;
  const base = bench.player.active ? { q: at.q, dq: at.dq, ddq: at.ddq, run: null } : {};
  bench.store.change({ ...base, ...entries }, key);
}

let jointRows = [];

function buildJoints(body) {
  const group = segments("Quantity", { q: "q  position", dq: "dq  rate", ddq: "ddq  acceleration" },
    (name) => bench.store.change({ quantity: name }, "quantity"));
  const list = make("div", { class: "sliders scroll-inside" });
  const note = make("p", { class: "note", hidden: true });
  const buttons = make("div", { class: "buttons" },
    make("button", { type: "button", id: "rest", text: "Rest position", title: "Back to the position of rest, without motion (0)", click: goToRest }),
    make("button", { type: "button", id: "stand-still", text: "dq = ddq = 0", title: "Stand still", click: () => changeJoints({ dq: zeros(bench.robot.n), ddq: zeros(bench.robot.n) }) }),
    make("button", { type: "button", id: "random-pose", text: "Random", title: "A random position within the limits", click: goRandom }));
  body.append(group, list, note, buttons);
  Object.assign(this, { group, list, note });
}

function goToRest() {
  bench.kept = null;
  const { robot } = bench;
  changeJoints({ q: [...robot.rest], dq: zeros(robot.n), ddq: zeros(robot.n) });
}

async function goRandom(event) {
  const { robot } = bench, found = await attempt(event.currentTarget, () => ask("random", { robot: robot.id }));
  if (found && robot === bench.robot) changeJoints({ q: found.q });
}

// The rows of the chosen quantity, made anew.
function makeJointRows() {
  const panel = panels.get("joints"), { robot, scene } = bench;
  panel.madeFor = `${robot.id} ${scene.quantity}`;
  panel.list.replaceChildren();
  jointRows = sliderRows(robot, scene.quantity).map((row, k) => {
    const name = `${QUANTITIES[scene.quantity].words} of ${row.label}`;
    const range = make("input", { type: "range", min: row.low, max: row.high, step: "any", "aria-label": name, "data-slider": k });
    const box = make("input", { type: "text", inputmode: "decimal", class: "typed", autocomplete: "off", spellcheck: "false", "aria-label": name, "data-typed": k });
    const unitText = make("span", { class: "unit" });
    const node = make("div", { class: "slider-row" }, make("span", { class: "name", title: row.label, text: row.label }), range, box, unitText);
    const { quantity } = scene;
    const set = (x) => {
      bench.kept = row.dof === null ? null : [quantity, row.dof]; // constraints change the other entries
      changeJoints(row.set(bench.at, x), `${quantity} ${k}`);
    };
    range.addEventListener("input", () => set(+range.value));
    box.addEventListener("change", () => typed(row, box, set));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
      event.preventDefault();
      set(row.get(bench.at) + (event.key === "ArrowUp" ? 1 : -1) * (row.high - row.low) / 100);
    });
    panel.list.append(node);
    return { ...row, range, box, unitText, node };
  });
}

// A typed number is taken as it is; outside the limits it is marked, and text is refused.
function typed(row, box, set) {
  const x = typedNumber(box.value), per = QUANTITIES[bench.scene.quantity].per, words = shownUnit(row.unit, per);
  if (!Number.isFinite(x)) {
    showError(box.parentElement, `“${box.value}” is not a number; expected ${row.label} in${words.startsWith("°") ? " degrees" + per : words}, for example ${numberText(toShown(row.get(bench.at), row.unit))}.`);
    return;
  }
  clearError(box.parentElement);
  set(fromShown(x, row.unit));
}

function showJoints() {
  const panel = panels.get("joints"), { robot, scene, at } = bench;
  panel.group.select(scene.quantity);
  if (panel.madeFor !== `${robot.id} ${scene.quantity}`) makeJointRows();
  const per = QUANTITIES[scene.quantity].per;
  for (const row of jointRows) {
    const x = row.get(at), beyond = x < row.low - 1e-9 || x > row.high + 1e-9;
    if (document.activeElement !== row.range || +row.range.value !== x) row.range.value = x;
    if (document.activeElement !== row.box) row.box.value = fixedText(toShown(x, row.unit), inDegrees(row.unit) ? 1 : 3);
    row.unitText.textContent = shownUnit(row.unit, per);
    row.node.classList.toggle("outside", beyond);
    row.node.title = beyond ? `outside the limits ${numberText(toShown(row.low, row.unit))} … ${numberText(toShown(row.high, row.unit))}${shownUnit(row.unit, per)}` : "";
  }
  const words = closureWords(robot, at.q, bench.poses);
  panel.note.textContent = words;
  panel.note.hidden = !words;
}

addPanel({ id: "joints", title: "Joints", letter: "q", key: "1", dock: "right", build: buildJoints, state: showJoints });
