// Robots, motions and scenes are opened by the chooser, the button, dropped files and scene files.

const robots = new Map(); // key -> description of an opened robot
const uploads = new Map(); // number of an upload -> {files, main}
let builtIn = [], lastUpload = 0;

const robotKey = (opened) => JSON.stringify(opened.upload !== undefined ? { upload: opened.upload } : opened);
const endsWith = (name, ...endings) => endings.some((ending) => name.toLowerCase().endsWith(ending));

// The description of a robot; it is asked for once.
async function describeRobot(opened) {
  const key = robotKey(opened);
  if (!robots.has(key)) {
    const request = opened.upload !== undefined ? uploads.get(opened.upload) : opened;
    const found = await ask("open", request);
    robots.set(key, { ...found, opened: opened.upload === undefined && found.opened ? found.opened : opened });
    robots.set(robotKey(robots.get(key).opened), robots.get(key));
  }
  return robots.get(key);
}

// Open a robot at its position of rest.
async function openRobot(opened, control) {
  const words = opened.main || opened.name || opened.id;
  const waiting = setTimeout(() => showError(control, `Opening ${words} …`, "done"), 300);
  const robot = await attempt(control, () => describeRobot(opened));
  clearTimeout(waiting);
  showChoices();
  if (!robot) return null;
  clearError(control);
  bench.store.change({ ...freshState(robot), frame: null, shown: null });
  return robot;
}

async function setUpChooser() {
  const choice = byId("robot-choice");
  choice.addEventListener("change", async () => {
    const chosen = JSON.parse(choice.value);
    await openRobot(robots.get(choice.value)?.opened || chosen, byId("message-anchor"));
  });
  builtIn = (await ask("robots")).built_in;
  showChoices();
}

// The chooser has the built-in robots and the opened ones; the shown robot is chosen.
function showChoices() {
  const choice = byId("robot-choice"), option = (opened, text) => make("option", { value: robotKey(opened), text });
  const names = new Set(builtIn.map((x) => robotKey({ name: x.name })));
  const own = [...new Set([...robots.values()])].filter((robot) => !names.has(robotKey(robot.opened)));
  choice.replaceChildren(
    ...(own.length ? [make("optgroup", { label: "Opened" }, ...own.map((robot) => option(robot.opened, robot.opened.upload !== undefined ? robot.opened.main.split("/").pop() : robot.name)))] : []),
    make("optgroup", { label: "Built in" }, ...builtIn.map((x) => option({ name: x.name }, (robots.get(robotKey({ name: x.name })) || { name: x.title || x.name }).name))));
  if (bench.robot) choice.value = robotKey(bench.robot.opened);
}

// Files of a drop, with their paths inside dropped folders.
async function droppedFiles(transfer) {
  const found = [];
  async function visit(entry, folder) {
    if (entry.isFile) {
      const file = await new Promise((done, failed) => entry.file(done, failed));
      found.push(Object.assign(file, { place: folder + file.name }));
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((done, failed) => reader.readEntries(done, failed));
      if (!some.length) return;
      for (const inner of some) await visit(inner, `${folder}${entry.name}/`);
    }
  }
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry());
  if (entries.some((entry) => !entry)) return [...transfer.files];
  for (const entry of entries) await visit(entry, "");
  return found;
}

const placeOfFile = (file) => file.place || file.webkitRelativePath || file.name;

// Files of a drop or a dialog: a scene, a motion, or a robot with its meshes.
async function openFiles(files, control) {
  clearError(control);
  const list = [...files];
  if (!list.length) return;
  const scenes = list.filter((file) => endsWith(file.name, ".json")), motions = list.filter((file) => endsWith(file.name, ".csv"));
  if (list.length === 1 && scenes.length) return openScene(await scenes[0].text(), control, scenes[0].name);
  if (list.length === 1 && motions.length) {
    if (!isOpen("run")) openPanel("run");
    return openMotion(motions[0], control);
  }
  const { robot_files: endings } = pageData(), found = list.filter((file) => endsWith(file.name, ...endings));
  const sure = found.filter((file) => !endsWith(file.name, ".xml")); // other files of a robot may end with .xml
  const choices = sure.length ? sure : found, main = choices.length === 1 ? choices[0] : list.length === 1 ? list[0] : null;
  if (!main) {
    showError(control, `${list.map((file) => file.name).join(", ")}: expected one robot file (${endings.join(", ")}) with its meshes; found ${found.length}. Choose them again with one robot file.`);
    return;
  }
  const opened = { upload: ++lastUpload, main: placeOfFile(main) };
  uploads.set(opened.upload, { main: placeOfFile(main), files: await Promise.all(list.map(async (file) => ({ name: placeOfFile(file), base64: await asBase64(file) }))) });
  await openRobot(opened, control);
}

// Show the first warning about a robot, such as meshes that are missing, until it is closed.
function showWarnings({ warnings }) {
  const anchor = byId("robot-anchor"), more = warnings.length - 1;
  clearError(anchor);
  if (warnings.length) showError(anchor, `${warnings[0].text}${more ? ` And ${more} more: see the panel Robot.` : ""}`, "warning");
}

function setUpFiles() {
  const input = byId("robot-files"), button = byId("open-robot"), drop = byId("drop"), anchor = byId("message-anchor");
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    await openFiles(input.files, anchor);
    input.value = "";
  });
  const hasFiles = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.hidden = false;
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.hidden = true; });
  addEventListener("drop", (event) => {
    drop.hidden = true;
    if (!hasFiles(event)) return;
    event.preventDefault();
    droppedFiles(event.dataTransfer).then((files) => openFiles(files, anchor));
  });
  byId("save-scene").addEventListener("click", saveScene);
}

const presentScene = () => storedScene(bench.scene, bench.robot, bench.viewer ? bench.viewer.camera.get() : null);

function saveScene() {
  const text = JSON.stringify(presentScene());
  download(`${bench.robot.name}.scene.json`, new Blob([text], { type: "application/json" }));
}

// Open a scene if all of it is right; otherwise the notice names its file and the page stays as it is.
function openScene(text, control, file = "the scene") {
  return attempt(control, async () => {
    try {
      await restoreScene(readScene(text));
    } catch (error) {
      throw error instanceof AskError ? new AskError(`${file}: ${error.message}`, error.ended) : error;
    }
    return true;
  });
}

// Bring back a stored scene: its robot, its state, its runs, and the camera.
async function restoreScene(stored) {
  const { kinetree, of, robot: source, ...entries } = stored;
  let opened = source;
  if (source.files) {
    opened = { upload: ++lastUpload, main: source.main };
    uploads.set(opened.upload, { files: source.files, main: source.main });
  }
  const robot = await describeRobot(opened), fresh = freshState(robot);
  const other = of && (of.name !== robot.name || of.joints.join() !== robot.dofs.map((dof) => dof.name).join());
  if (other && source.id !== undefined)
    throw new AskError(`The scene belongs to ${of.name}, which was given on the command line; here that is ${robot.name}. Start kinetree view with the robot of the scene, then open the scene.`);
  if (other) throw new AskError(`The scene belongs to ${of.name} with the joints ${of.joints.join(", ")}; ${robot.name} has ${robot.dofs.map((dof) => dof.name).join(", ")}.`);
  const known = { ...freshView(false), ...fresh, camera: null }, state = { ...known, ...entries };
  const strange = Object.keys(entries).find((name) => !Object.hasOwn(known, name));
  if (strange) throw new AskError(`The scene has an entry ${JSON.stringify(strange)} that this workbench does not know; expected only ${Object.keys(known).join(", ")}.`);
  const { camera, run, kept, ...rest } = state, { q, dq, ddq, push, gravity, payload, frame } = state;
  await ask("readings", { robot: robot.id, q, dq, ddq, push, gravity, payload, frame }); // checks all that it computes with
  const found = {};
  for (const [name, value] of Object.entries({ run, kept })) {
    found[name] = null;
    if (value && value.recipe) found[name] = await simulateRecipe(robot, value.recipe);
    else if (value && value.motion) found[name] = keepRun(value.motion, null, value.motion.name || "motion");
  }
  const before = bench.scene;
  try {
    bench.store.change({ ...rest, ...found, robot: robot.opened });
  } catch (error) {
    bench.store.change(before);
    throw new AskError(`The scene cannot be shown: ${error.message}`);
  }
  if (camera && bench.viewer) {
    bench.viewer.camera.set(camera);
    bench.viewer.draw();
  }
  showChoices();
}
