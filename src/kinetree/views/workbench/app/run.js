// The panel Run: presets with gains, limits, runs to compare, and motions of files.

const runs = new Map(); // number -> {motion, recipe, words, loads}; the scene has numbers of runs
let lastRun = 0, computing = false;
const OTHER_LOADS = "The push, the gravity or the payload was changed after this run: its plots do not have the change. Press Run to simulate it.";

function keepRun(motion, recipe, words) {
  lastRun += 1;
  // motions of files are computed without a push
  const loads = loadsOf(recipe || { ...bench.scene, push: null });
  runs.set(lastRun, { motion, recipe, words, loads });
  return lastRun;
}

const loadsOf = ({ push, gravity, payload }) => JSON.stringify([push || null, gravity || null, payload || null]);

function buildRun(body) {
  const choices = make("div", { class: "presets", role: "radiogroup", "aria-label": "Simulation" });
  const about = make("p", { class: "note" });
  const gains = make("div", { class: "sliders" });
  const stops = segments("Limits of the joints", { stop: "stop at limits", warn: "warn beyond limits" }, (name) => bench.store.change({ stops: name === "stop" }));
  const go = make("button", { type: "button", class: "main", id: "run", text: "Run", title: "Simulate from here (R)", click: () => computing ? ask("stop") : simulateHere() });
  const keep = make("button", { type: "button", id: "keep-run", text: "Keep to compare", title: "Keep this run; it is drawn dashed beside the next ones (K)", click: keepToCompare });
  const remarks = make("ul", { class: "remarks" });
  const csv = make("input", { type: "file", accept: ".csv", hidden: true, "aria-label": "Motion as CSV", change: () => { if (csv.files[0]) openMotion(csv.files[0], openCsv); csv.value = ""; } });
  const openCsv = make("button", { type: "button", text: "Open CSV…", click: () => csv.click() });
  const saves = ["csv", "page"].map((kind) => make("button", { type: "button", "data-save": kind, text: kind === "csv" ? "Save CSV" : "Save page", click: (event) => saveRun(kind, event.currentTarget) }));
  body.append(choices, about, gains, stops, make("div", { class: "buttons" }, go, keep), remarks,
    make("div", { class: "buttons" }, openCsv, csv, ...saves));
  Object.assign(this, { choices, about, gains, stops, go, keep, remarks, saves });
}

const presetOf = (name) => bench.robot.presets.find((x) => x.name === name) || null;

function showRun() {
  const panel = panels.get("run"), { scene, robot } = bench, preset = presetOf(scene.preset);
  const made = `${robot.id} ${scene.preset}`;
  if (panel.madeFor !== made) {
    panel.madeFor = made;
    makePresets(panel, robot, preset);
  }
  for (const { get, range, box, text } of panel.gainRows || []) {
    const x = get(bench.scene);
    range.value = range.logarithmic ? Math.log10(x) : x;
    if (document.activeElement !== box) box.value = text(x);
  }
  panel.stops.select(scene.stops ? "stop" : "warn");
  const run = scene.run === null ? null : runs.get(scene.run), kept = scene.kept === null ? null : runs.get(scene.kept);
  panel.keep.disabled = !run && !kept;
  panel.keep.textContent = kept ? "Forget the kept run" : "Keep to compare";
  const lines = run ? [[`${run.words}, ${numberText(run.motion.t.at(-1) - run.motion.t[0], 3)} s`, ""], ...run.motion.remarks.map((x) => [x, "warning"])] : [];
  if (run && run.loads !== loadsOf(scene)) lines.push([OTHER_LOADS, "warning"]);
  if (kept) lines.push([`kept, dashed: ${kept.words}`, ""]);
  panel.remarks.replaceChildren(...lines.map(([text, kind]) => make("li", { class: kind, text })));
  for (const button of panel.saves) button.disabled = !run;
}

function makePresets(panel, robot, chosen) {
  panel.choices.replaceChildren(...robot.presets.map((preset) => make("button", {
    type: "button", role: "radio", "aria-checked": preset === chosen, "data-preset": preset.name, text: preset.title,
    click: () => bench.store.change(presetValues(preset)),
  })));
  panel.about.textContent = chosen ? chosen.about : "";
  const numbers = Object.entries((chosen && chosen.gains) || {}).map(([name, { low, high }]) => ({
    name, low, high, words: { kp: "stiffness kp", kd: "damping kd" }[name] || name, unit: "",
    get: (scene) => scene.gains[name], entries: (x) => ({ gains: { ...bench.scene.gains, [name]: x } }),
  }));
  numbers.push({ name: "duration", low: 0.1, high: 20, words: "duration", unit: " s", get: (scene) => scene.duration, entries: (x) => ({ duration: x }) });
  panel.gainRows = numbers.map(({ name, low, high, words, unit: unitName, get, entries }) => {
    const logarithmic = low > 0 && high / low > 50;
    const range = make("input", { type: "range", step: "any", min: logarithmic ? Math.log10(low) : low, max: logarithmic ? Math.log10(high) : high, "aria-label": words, "data-gain": name });
    range.logarithmic = logarithmic;
    const box = make("input", { type: "text", class: "typed", inputmode: "decimal", autocomplete: "off", "aria-label": words });
    const set = (x) => bench.store.change(entries(x), `gain ${name}`);
    range.addEventListener("input", () => set(logarithmic ? 10 ** +range.value : +range.value));
    const node = make("div", { class: "slider-row" }, make("span", { class: "name", text: words }), range, box, make("span", { class: "unit", text: unitName }));
    box.addEventListener("change", () => {
      const x = typedNumber(box.value);
      if (!(x >= 0) || (name === "duration" && !(x > 0))) showError(node, `“${box.value}” is not a number that ${words} can have; expected for example ${numberText(low)} to ${numberText(high)}.`);
      else { clearError(node); set(x); }
    });
    return { node, range, box, get, text: (x) => numberText(x, 4) };
  });
  panel.gains.replaceChildren(...panel.gainRows.map((row) => row.node));
}

// All that the server needs to repeat a run.
function recipeHere() {
  const { scene, at } = bench, start = bench.player.active ? runStart() : at;
  return { q: start.q, dq: start.dq, push: scene.push, gravity: scene.gravity, payload: scene.payload, preset: scene.preset, gains: scene.gains, duration: scene.duration, stops: scene.stops };
}

// A run begins where the one before began, so that two runs differ in what was changed.
const runStart = () => ({ q: bench.scene.q, dq: bench.scene.dq });

async function simulateRecipe(robot, recipe) {
  const motion = await ask("simulate", { ...recipe, robot: robot.id });
  const preset = robot.presets.find((x) => x.name === recipe.preset), gains = Object.entries(recipe.gains).map(([name, x]) => `${name} ${numberText(x, 3)}`);
  return keepRun(motion, recipe, [preset ? preset.title : recipe.preset, ...gains].join(", "));
}

async function simulateHere() {
  if (!isOpen("run")) openPanel("run");
  const panel = panels.get("run"), { robot } = bench;
  if (computing) return;
  [computing, panel.go.textContent] = [true, "Stop"];
  panel.remarks.replaceChildren(make("li", { text: "Computing … The first run of a robot is compiled before, which takes some seconds." }));
  const run = await attempt(panel.go, () => simulateRecipe(robot, recipeHere()));
  [computing, panel.go.textContent] = [false, "Run"];
  if (run === null || robot !== bench.robot) showRun();
  else showNewRun(run);
}

// Show a run, play it from its beginning, and open its plots.
function showNewRun(run) {
  const { docks } = bench.scene;
  bench.store.change({ run, docks: dockOf(docks, "plots") ? docks : dockedAt(docks, "plots") });
  bench.player.play(true);
}

function keepToCompare() {
  const { run, kept } = bench.scene;
  bench.store.change({ kept: kept !== null ? null : run });
}

async function openMotion(file, control) {
  const motion = await attempt(control, async () => ask("motion", { robot: bench.robot.id, gravity: bench.scene.gravity, payload: bench.scene.payload, file: { name: file.name, base64: await asBase64(file) } }));
  if (motion) showNewRun(keepRun(motion, null, file.name));
}

async function saveRun(kind, control) {
  const run = runs.get(bench.scene.run);
  const file = run && await attempt(control, () => ask("save", { robot: bench.robot.id, kind, motion: run.motion }));
  if (file) download(file.name, asBlob(file.base64));
}

addPanel({ id: "run", title: "Run", letter: "▶", key: "7", build: buildRun, state: showRun });
