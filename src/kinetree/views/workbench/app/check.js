// Stored scenes are checked before any of them is applied; AskError names the entry that is wrong.
// Joints, push, gravity, payload and recipes of runs are checked by the server, which computes with them.

const LARGEST_SIZE = 10000; // px of a dock
const wrongEntry = (x, name, expected) => new AskError(`${name} of the scene is ${x === undefined ? "missing" : JSON.stringify(x).slice(0, 60)}; expected ${expected}.`);
const rule = (test, expected) => (x, name) => { if (!test(x)) throw wrongEntry(x, name, expected); };
const oneOf = (values) => rule((x) => values.includes(x), values.map((x) => JSON.stringify(x)).join(", "));
const between = (low, high) => rule((x) => typeof x === "number" && x >= low && x <= high, `a number from ${low} to ${high}`);
const whole = (count) => rule((x) => Number.isInteger(x) && x >= 0 && x < count, `a whole number from 0 to ${count - 1}`);
const orNull = (inner) => (x, name) => { if (x !== null) inner(x, name); };
const isAnything = () => {};
const isFlag = oneOf([true, false]);
const isText = rule((x) => typeof x === "string", "a text");
const isNumber = rule(Number.isFinite, "a number");
const isRecord = rule((x) => x !== null && typeof x === "object" && !Array.isArray(x), "a record with named entries");

// A list, of `count` entries if it is given.
const listOf = (inner, count = null) => (x, name) => {
  if (!Array.isArray(x) || (count !== null && x.length !== count)) throw wrongEntry(x, name, count === null ? "a list" : `a list of ${count} entries`);
  x.forEach((entry, k) => inner(entry, `${name}[${k}]`));
};

// A record that has all of these entries, and no others.
const recordOf = (rules) => (x, name) => {
  isRecord(x, name);
  const names = Object.keys(rules), others = Object.keys(x);
  if (names.length !== others.length || names.some((entry) => !Object.hasOwn(x, entry))) throw wrongEntry(others, name, `the entries ${names.join(", ")}`);
  for (const entry of names) rules[entry](x[entry], `${name}.${entry}`);
};
const eachOf = (names, inner) => recordOf(Object.fromEntries(names.map((name) => [name, inner])));

function isRun(robot) {
  const recipe = (x, name) => {
    isRecord(x, name);
    isRecord(x.gains, `${name}.gains`);
    for (const [gain, value] of Object.entries(x.gains)) isNumber(value, `${name}.gains.${gain}`);
  };
  const motion = (x, name) => {
    isRecord(x, name);
    listOf(isNumber)(x.t, `${name}.t`);
    const { length } = x.t, rows = (count, inner = isNumber) => listOf(listOf(inner, count), length);
    const curve = listOf(orNull(isNumber), length); // null: the value is not a finite number
    if (length < 2 || x.t.some((time, k) => k > 0 && !(time > x.t[k - 1]))) throw wrongEntry(x.t, `${name}.t`, "two or more times that increase");
    const forces = orNull(rows(robot.n, orNull(isNumber)));
    const contacts = orNull((touch, place) => {
      const vectors = listOf(listOf(listOf(isNumber, 3), (touch.names || []).length), length);
      recordOf({ names: listOf(isText), friction: listOf(isNumber, touch.names.length), weight: isNumber, points: vectors, forces: vectors, normals: vectors })(touch, place);
    });
    recordOf({
      name: isText, t: isAnything, q: rows(robot.nq), dq: rows(robot.n), ddq: rows(robot.n), tau: forces, stops: forces,
      reference: orNull((wanted, place) => recordOf({ t: listOf(isNumber), q: listOf(listOf(isNumber, robot.nq), (wanted.t || []).length) })(wanted, place)),
      energy: eachOf(["kinetic", "potential"], curve), remarks: listOf(isText), thinned: isFlag, contacts,
    })({ reference: null, contacts: null, ...x }, name); // scenes of earlier versions have neither
  };
  return orNull((x, name) => {
    isRecord(x, name);
    recordOf("recipe" in x ? { recipe } : { motion })(x, name);
  });
}

function isUnfolded(robot) {
  const dof = whole(robot.n), kinds = {
    tau: { kind: isText, dof }, M: { kind: isText, row: dof, column: dof },
    vector: { kind: isText, link: whole(robot.links.length), symbol: isText },
  };
  return orNull((x, name) => {
    isRecord(x, name);
    oneOf(Object.keys(kinds))(x.kind, `${name}.kind`);
    recordOf(kinds[x.kind])(x, name);
  });
}

// Scenes of earlier versions have no marks of contacts.
function isMarks(x, name) {
  isRecord(x, name);
  eachOf(Object.keys(freshView(false).marks), isFlag)({ contacts: true, cones: false, ...x }, name);
}

function isDocks(x, name) {
  eachOf(DOCKS, listOf(oneOf([...panels.keys()])))(x, name);
  const ids = Object.values(x).flat();
  if (new Set(ids).size !== ids.length) throw wrongEntry(x, name, "each panel once");
}

// Rules of all entries that a stored scene can have besides its version and its robot.
function sceneRules(robot, scene) {
  const preset = robot.presets.find((x) => x.name === scene.preset) || null, run = isRun(robot);
  return {
    degrees: isFlag, theme: oneOf([null, "light", "dark"]), classroom: isFlag, quantity: oneOf(Object.keys(QUANTITIES)), frame: isAnything,
    shown: orNull(listOf(oneOf(Object.keys(GROUP_WORDS)))), marks: isMarks, docks: isDocks,
    folded: listOf(oneOf([...panels.keys()])), table: isFlag,
    sizes: recordOf(Object.fromEntries(DOCKS.map((dock) => [dock, between(LEAST_SIZE[dock], LARGEST_SIZE)]))),
    q: isAnything, dq: isAnything, ddq: isAnything, gravity: isAnything, payload: orNull(recordOf({ mass: isAnything, com: listOf(isNumber, 3) })),
    push: orNull(eachOf(["link", "point", "force", "moment"], isAnything)), step: whole(1e6), unfold: isUnfolded(robot),
    preset: oneOf(robot.presets.length ? robot.presets.map((x) => x.name) : [null]),
    gains: eachOf(Object.keys((preset && preset.gains) || {}), between(0, Number.MAX_VALUE)), duration: between(0, Number.MAX_VALUE),
    stops: isFlag, matrix: oneOf(["map", "numbers"]), run, kept: run,
    camera: orNull(recordOf({ angle: isNumber, height: isNumber, distance: between(1e-9, Number.MAX_VALUE), target: listOf(isNumber, 3) })),
  };
}

// Check the entries of a stored scene, and with the server the state that it describes.
async function checkScene(robot, stored, state) {
  const rules = sceneRules(robot, state);
  for (const [name, value] of Object.entries(stored)) {
    if (!Object.hasOwn(rules, name)) throw new AskError(`The scene has an entry ${JSON.stringify(name)} that this workbench does not know; expected only ${Object.keys(rules).join(", ")}.`);
    rules[name](value, name);
  }
  const { q, dq, ddq, push, gravity, payload, frame } = state;
  await ask("readings", { robot: robot.id, q, dq, ddq, push, gravity, payload, frame });
}
