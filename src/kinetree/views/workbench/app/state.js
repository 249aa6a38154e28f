// The scene as plain data: all that undo and a scene file restore.

const SCENE_VERSION = 1;
const MERGE_MS = 900; // changes of one control within this time are one step of undo
const MOST_STEPS_BACK = 400;
const MOST_NUMBERS = 9; // degrees of freedom up to which the mass matrix opens with its numbers

// How the page looks before anything was chosen.
function freshView(degrees) {
  return {
    degrees, theme: null, classroom: false, quantity: "q", frame: null,
    shown: null, // groups of the drawing; null: as the robot's scene proposes
    marks: { gravity: true, com: false, mass: false, force: false, contacts: true, cones: false },
    docks: { left: [], right: ["joints", "torque"], bottom: [] },
    folded: [], sizes: { left: 330, right: 360, bottom: 300 },
    table: false,
  };
}

// The entries that belong to one robot, at its position of rest.
function freshState(robot) {
  const preset = robot.presets.find((x) => x.name === robot.default_preset) || robot.presets[0] || null;
  return {
    robot: robot.opened, q: [...robot.rest], dq: zeros(robot.n), ddq: zeros(robot.n), push: null,
    gravity: null, payload: null, step: 0, unfold: null, ...presetValues(preset), stops: true, run: null, kept: null,
    matrix: robot.n > MOST_NUMBERS ? "map" : "numbers",
  };
}

function presetValues(preset) {
  const gains = {};
  for (const [name, range] of Object.entries((preset && preset.gains) || {})) gains[name] = range.value;
  return { preset: preset && preset.name, gains, duration: preset ? preset.duration : 2 };
}

// The scene with its history. `changed(scene, before)` is called after every change.
function createStore(first, changed) {
  let scene = first, past = [], future = [], lastKey = null, lastTime = 0;
  function move(from, to) {
    if (!from.length) return false;
    to.push(scene);
    const before = scene;
    scene = from.pop();
    lastKey = null;
    changed(scene, before);
    return true;
  }
  return {
    get scene() { return scene; },
    get steps() { return [past.length, future.length]; },
    // Replace some entries. Changes with the same key that follow quickly are undone together.
    change(entries, key = null) {
      const before = scene, now = performance.now();
      if (!(key !== null && key === lastKey && now - lastTime < MERGE_MS)) {
        past.push(scene);
        if (past.length > MOST_STEPS_BACK) past = past.slice(-MOST_STEPS_BACK);
      }
      [lastKey, lastTime, future] = [key, now, []];
      scene = { ...scene, ...entries };
      changed(scene, before);
    },
    // Replace some entries without a step of undo, for what follows from another change.
    amend(entries) {
      const before = scene;
      scene = { ...scene, ...entries };
      changed(scene, before);
    },
    undo: () => move(past, future),
    redo: () => move(future, past),
  };
}

// Only what the server needs to answer.
function stateOf(scene, robot, at) {
  const { q, dq, ddq, contact_forces, stop_forces } = at;
  return { robot: robot.id, q, dq, ddq, contact_forces, stop_forces, push: scene.push, gravity: scene.gravity, payload: scene.payload };
}

// The scene as it is stored: runs as recipes, files of motions and robots as they were opened.
function storedScene(scene, robot, camera) {
  const of = { name: robot.name, joints: robot.dofs.map((dof) => dof.name) };
  const stored = { kinetree: SCENE_VERSION, of, ...scene, camera };
  for (const name of ["run", "kept"]) {
    const run = scene[name] === null ? null : runs.get(scene[name]);
    stored[name] = run ? (run.recipe ? { recipe: run.recipe } : { motion: run.motion }) : null;
  }
  stored.robot = scene.robot.upload === undefined ? scene.robot : uploads.get(scene.robot.upload);
  return stored;
}

// The scene of a file; an AskError with words for the user if it is not one.
function readScene(text) {
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new AskError("This is not a scene of kinetree: expected a file that was saved with “Save scene”.");
  }
  if (!found || found.kinetree === undefined || !found.robot || !Array.isArray(found.q))
    throw new AskError("This is not a scene of kinetree: it has no robot and no positions q.");
  if (found.kinetree !== SCENE_VERSION)
    throw new AskError(`This scene has version ${found.kinetree}; this workbench reads version ${SCENE_VERSION}.`);
  return found;
}
