// The panels Tool, Robot, Drawing and Equations.

const ELLIPSOID_WORDS = { mass: ["effective mass", "kg"], force: ["force", "N per N m of torque"] };

function buildHand(body) {
  const frame = make("select", { id: "hand-frame", "aria-label": "Frame", change: () => bench.store.change({ frame: frame.value }) });
  const place = make("div", { class: "table-place" });
  const load = (change, key) => {
    const payload = { mass: 0, com: [0, 0, 0], ...bench.scene.payload, ...change };
    bench.store.change({ payload: payload.mass > 0 ? payload : null }, key);
  };
  const mass = sliderRow("payload", "kg", (x) => load({ mass: x }, "payload"), { least: 0, id: "payload-mass" });
  const com = ["x", "y", "z"].map((axis, k) => sliderRow(`its centre ${axis}`, "m", (x) => load({ com: bench.scene.payload.com.map((y, j) => j === k ? x : y) }, `payload ${k}`)));
  body.append(make("div", { class: "sliders", title: "A mass at the tool: its centre of mass is in the tool frame" }, mass.node, ...com.map((row) => row.node)),
    make("label", { class: "row" }, make("span", { text: "Frame" }), frame), place);
  Object.assign(this, { frame, place, mass, com });
}

function showPayload() {
  const panel = panels.get("hand"), { payload } = bench.scene, { extent } = bench.robot.stage.scene;
  panel.mass.show(payload ? payload.mass : 0, 0, Math.max(0.5 * bench.robot.mass.moving, 1e-3));
  panel.com.forEach(({ node, show }, k) => {
    node.hidden = !payload;
    if (payload) show(payload.com[k], -0.2 * extent, 0.2 * extent);
  });
}

contributors.push(() => {
  const { payload } = bench.scene, { robot: { tool }, scene: { extent } } = bench.robot.stage;
  if (!payload || !tool) return null;
  const at = placed(frameOf(tool.link, tool.T, bench.poses), payload.com);
  return { parts: [spherePart(at, 0.03 * extent, cssColour("--com"))], labels: [{ at, text: `payload ${numberText(payload.mass)} kg`, colour: "--com" }] };
});

const changeMarks = (name, on) => bench.store.change({ marks: { ...bench.scene.marks, [name]: on } });

function showHand(readings) {
  const panel = panels.get("hand"), { robot, scene } = bench;
  if (panel.madeFor !== robot.id) {
    panel.madeFor = robot.id;
    panel.frame.replaceChildren(...robot.frames.map((name) => make("option", { value: name, text: name })));
  }
  panel.frame.value = readings.frame.name;
  const T = readings.frame.T, content = [make("p", { text: `at ${vectorText([T[3], T[7], T[11]])} m in {s}` })];
  const found = readings.ellipsoids || {};
  for (const [kind, [words, unitName]] of Object.entries(ELLIPSOID_WORDS)) {
    if (!found[kind]) continue;
    const { R, lengths } = found[kind];
    const rows = lengths.map((x, j) => make("tr", {}, make("td", { text: vectorText([R[j], R[3 + j], R[6 + j]], 3) }), make("td", { class: "n", text: x === null ? "∞" : numberText(x) })));
    content.push(make("table", { class: "numbers" }, make("caption", { text: `${kind} ellipsoid` }), make("thead", {}, make("tr", {}, make("th", { text: "direction in {s}" }), make("th", { class: "n", text: `${words}, ${unitName}` }))), make("tbody", {}, ...rows)));
  }
  if (Object.values(found).some(({ lengths }) => lengths.includes(null))) content.push(make("p", { class: "note", text: "∞: the tool cannot move in this direction; the joints carry any force." }));
  if (robot.constraints) content.push(make("p", { class: "note", text: "Mass and force ellipsoids are not computed for robots with constraints." }));
  panel.place.replaceChildren(...content);
}

const GROUP_WORDS = { visual: "visuals of the file", body: "bodies", joint: "joint axes", loop: "constraints", contact: "contacts", ground: "ground", inertia: "inertia ellipsoids", frame: "frames" };

function buildDrawing(body) {
  const groups = make("div", { class: "checks" });
  const marks = { gravity: "gravity arrow", com: "centre of mass", mass: "mass ellipsoid of the tool", force: "force ellipsoid of the tool", contacts: "contact forces", cones: "friction cones" };
  const boxes = Object.fromEntries(Object.entries(marks).map(([name, words]) => [name, checkbox(words, false, (on) => changeMarks(name, on), { "data-mark": name })]));
  body.append(groups, make("div", { class: "checks" }, ...Object.values(boxes)));
  Object.assign(this, { groups, boxes });
}

function showDrawing() {
  const panel = panels.get("drawing"), { robot, scene } = bench, proposed = robot.stage.scene.shown, shown = scene.shown || proposed;
  if (panel.madeFor !== robot.id) {
    panel.madeFor = robot.id;
    const present = new Set(robot.stage.scene.parts.map((part) => part.group));
    panel.switches = Object.fromEntries(Object.entries(GROUP_WORDS).filter(([name]) => present.has(name)).map(([name, words]) => [name, checkbox(words, false, () => toggleGroup(name), { "data-group": name })]));
    panel.groups.replaceChildren(...Object.values(panel.switches));
  }
  for (const [name, box] of Object.entries(panel.switches)) box.input.checked = shown.includes(name);
  for (const [name, box] of Object.entries(panel.boxes)) box.input.checked = scene.marks[name];
}

function toggleGroup(name) {
  const shown = bench.scene.shown || bench.robot.stage.scene.shown;
  bench.store.change({ shown: shown.includes(name) ? shown.filter((x) => x !== name) : [...shown, name] });
}

const GRAVITIES = { own: "as in the file", earth: "Earth, 9.81 m/s²", mars: "Mars, 3.71 m/s²", moon: "Moon, 1.62 m/s²", none: "no gravity" };
const GRAVITY_SIZES = { earth: 9.81, mars: 3.71, moon: 1.62, none: 0 };

function buildRobot(body) {
  const facts = make("dl", { class: "facts" });
  const gravity = make("select", { id: "gravity-choice", "aria-label": "Gravity", change: () => bench.store.change({ gravity: chosenGravity(gravity.value) }) },
    ...Object.entries(GRAVITIES).map(([value, text]) => make("option", { value, text })));
  const findings = make("div", {});
  const save = make("button", { type: "button", text: "Save URDF", click: () => saveRobot(save) });
  body.append(facts, make("label", { class: "row" }, make("span", { text: "Gravity" }), gravity), findings, make("div", { class: "buttons" }, save));
  Object.assign(this, { facts, gravity, findings, save });
}

function chosenGravity(name) {
  const { robot } = bench, size = Math.hypot(...robot.gravity);
  if (name === "own") return null;
  return times(size > 0 ? times(robot.gravity, 1 / size) : [0, 0, -1], GRAVITY_SIZES[name]);
}

function gravityName(gravity) {
  if (gravity === null) return "own";
  const size = Math.hypot(...gravity);
  return Object.keys(GRAVITY_SIZES).find((name) => Math.abs(GRAVITY_SIZES[name] - size) < 1e-6) || "own";
}

async function saveRobot(control) {
  const file = await attempt(control, () => ask("save", { robot: bench.robot.id, kind: "urdf" }));
  if (file) download(file.name, asBlob(file.base64));
}

function showRobot() {
  const panel = panels.get("robot"), { robot, scene } = bench;
  panel.gravity.value = gravityName(scene.gravity);
  if (panel.madeFor === robot.id) return;
  panel.madeFor = robot.id;
  const facts = {
    name: robot.name, from: robot.source && robot.source !== robot.name ? robot.source : "built in", "degrees of freedom": robot.n, "moving links": robot.links.length,
    "total mass": `${numberText(robot.mass.total, 5)} kg`, "moving mass": `${numberText(robot.mass.moving, 5)} kg`,
    gravity: `${vectorText(robot.gravity)} m/s²`, tool: robot.tool || "none",
  };
  panel.facts.replaceChildren(...Object.entries(facts).flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })]));
  const list = (title, items, kind) => items.length ? make("details", { open: kind === "warning" }, make("summary", { class: kind, text: `${items.length} ${title}` }),
    make("ul", { class: "findings" }, ...items.map((item) => make("li", {}, typeof item === "string" ? item : item.text, item.where ? make("span", { class: "where", text: ` ${item.where}` }) : null)))) : "";
  panel.findings.replaceChildren(list(robot.warnings.length === 1 ? "warning" : "warnings", robot.warnings, "warning"), list(robot.notes.length === 1 ? "note" : "notes", robot.notes, ""));
}

function buildEquations(body) {
  this.place = make("div", { class: "equations scroll-inside" });
  body.append(this.place);
}

async function showEquations() {
  const panel = panels.get("equations"), { robot, scene: { gravity, payload } } = bench, wanted = JSON.stringify([robot.id, gravity, payload]);
  if (panel.madeFor === wanted) return;
  panel.madeFor = wanted;
  panel.place.replaceChildren(make("p", { class: "note", text: "deriving the equations …" }));
  const answer = await attempt(panel.place, () => ask("equations", { robot: robot.id, gravity, payload }));
  if (panel.madeFor === wanted) panel.place.replaceChildren(answer ? safeMarkup(answer.html) : "");
}

addPanel({ id: "hand", title: "Tool", letter: "Λ", key: "9", build: buildHand, state: showPayload, readings: showHand });
addPanel({ id: "equations", title: "Equations", letter: "=", key: "E", build: buildEquations, opened: showEquations, state: showEquations });
addPanel({ id: "drawing", title: "Drawing", letter: "◩", key: "V", build: buildDrawing, state: showDrawing });
addPanel({ id: "robot", title: "Robot", letter: "i", key: "I", build: buildRobot, state: showRobot });
