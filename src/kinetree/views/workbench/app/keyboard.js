// Keys for everything, and the help that lists them.

const toggle = (name) => () => bench.store.change({ [name]: !bench.scene[name] });

// [keys, words, action]; keys as they are shown, with the first one that is pressed.
const KEYS = [
  ["View", [
    ["H", "show the whole robot", () => frameRobot()],
    ["C", "large type for the classroom", toggle("classroom")],
    ["T", "light or dark", () => switchTheme()],
    ["D", "degrees or radians", toggle("degrees")],
    ["G", "gravity arrow", () => changeMarks("gravity", !bench.scene.marks.gravity)],
    ["F", "frames", () => toggleGroup("frame")],
    ["X", "inertia ellipsoids", () => toggleGroup("inertia")],
    ["M", "centre of mass", () => changeMarks("com", !bench.scene.marks.com)],
  ]],
  ["Scene", [
    ["Ctrl+Z", "undo", () => bench.store.undo()],
    ["Ctrl+Shift+Z", "redo", () => bench.store.redo()],
    ["Ctrl+S", "save the scene", () => saveScene()],
    ["O", "open files", () => byId("open-robot").click()],
    ["B", "choose a robot", () => byId("robot-choice").focus()],
    ["0", "position of rest", () => goToRest()],
  ]],
  ["Runs", [
    ["R", "run the simulation", () => simulateHere()],
    ["Space", "play or pause", () => bench.player.play(!bench.player.running)],
    [",", "a fiftieth back", () => scrub(-1)],
    [".", "a fiftieth on", () => scrub(1)],
    ["K", "keep the run to compare", () => { if (bench.scene.run !== null || bench.scene.kept !== null) keepToCompare(); }],
    ["Esc", "leave the run, close messages", () => leave()],
  ]],
  ["Recursion", [
    ["N", "next step", () => { if (!isOpen("recursion")) openPanel("recursion"); stepBy(1); }],
    ["P", "previous step", () => stepBy(-1)],
  ]],
];
const PANEL_KEYS = () => [...panels.values()].map((panel) => [panel.key, panel.title, () => panelByKey(panel.id)]);
const VIEW_KEYS = [["drag", "turn"], ["wheel", "zoom"], ["Shift+drag", "move aside"], ["Alt+drag", "pull at a link"], ["arrows, + −", "turn and zoom, with the robot in focus"]];

function panelByKey(id) {
  togglePanel(id);
  if (!isOpen(id)) return;
  const { root, body } = panels.get(id), first = body.querySelector("input, select, button:not([tabindex='-1'], :disabled)");
  (first || root.querySelector(".fold")).focus({ preventScroll: true });
}

function scrub(by) {
  if (!bench.player.active) return;
  const { t } = runs.get(bench.scene.run).motion;
  bench.player.seek(bench.player.time + by * (t.at(-1) - t[0]) / 50);
}

function leave() {
  const notice = document.querySelector(".notice");
  if (notice) notice.querySelector(".close").click();
  else if (bench.player.active) bench.store.change({ run: null });
}

function switchTheme() {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark" ||
    (!bench.scene.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  bench.store.change({ theme: dark ? "light" : "dark" });
}

const keyName = (event) => [event.ctrlKey || event.metaKey ? "Ctrl" : "", event.shiftKey && (event.ctrlKey || event.metaKey) ? "Shift" : "",
  event.key === " " ? "Space" : event.key === "Escape" ? "Esc" : event.key.length === 1 ? event.key.toUpperCase() : event.key].filter(Boolean).join("+");

function setUpKeyboard() {
  const actions = new Map([...KEYS.flatMap(([, rows]) => rows), ...PANEL_KEYS()].map(([key, , act]) => [key, act]));
  actions.set("Ctrl+Y", () => bench.store.redo());
  actions.set("?", () => byId("help").showModal());
  let byPointer = false;
  addEventListener("pointerdown", () => { byPointer = true; }, { capture: true });
  addEventListener("keydown", () => { byPointer = false; }, { capture: true });
  // after a choice with the pointer, keys are those of the page again; with keys, the list goes on
  addEventListener("change", ({ target }) => { if (byPointer && target.matches("select")) target.blur(); });
  addEventListener("keydown", (event) => {
    if (byId("help").open || event.altKey || event.defaultPrevented) return;
    const name = keyName(event), target = event.target, typing = target.matches("input[type=text], textarea");
    const ownSpace = name === "Space" && target.matches("button, select, input, summary");
    if ((typing && !name.startsWith("Ctrl+S") && name !== "Esc") || ownSpace) return;
    if (!actions.has(name)) return;
    event.preventDefault();
    actions.get(name)();
  });
  buildHelp();
}

function buildHelp() {
  const table = (title, rows) => make("section", {}, make("h3", { text: title }),
    make("table", {}, make("tbody", {}, ...rows.map(([key, words]) => make("tr", {}, make("th", { scope: "row" }, make("kbd", { text: key })), make("td", { text: words }))))));
  const close = make("button", { type: "button", text: "Close", click: () => byId("help").close() });
  byId("help").replaceChildren(
    make("header", {}, make("h2", { text: "The workbench" }), close),
    make("p", { text: "Move the joints and watch the torque. Click a bar of the torque, an entry of M or an arrow: it unfolds into terms, links and numbers. Drag the ring at the tool: the joints follow. Every change can be undone, and a saved file restores the scene." }),
    make("div", { class: "columns" }, table("The robot", VIEW_KEYS), ...KEYS.map(([title, rows]) => table(title, rows)), table("Panels", PANEL_KEYS())));
  byId("help-button").addEventListener("click", () => byId("help").showModal());
}
