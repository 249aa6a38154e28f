// The robot on the stage: its drawing, framed when it is opened, marks, labels and clicks.

const SOLID = ["visual", "body", "joint"]; // groups that stand for links and can be clicked
const contributors = []; // functions of the shown state that give {parts, labels, clicks}
const OPEN = 1e-6; // errors of a constraint from which it is drawn as open, rad or m
const TRACED = 150; // pieces of the way of the tool
const ROOM = 30; // px at the edges of the view that have room for a label
let labels = [], clicks = [], drawing = false;

function openStage(robot) {
  const old = byId("view");
  if (old) {
    const gl = old.getContext("webgl");
    if (gl) gl.getExtension("WEBGL_lose_context")?.loseContext();
    old.remove();
  }
  const canvas = make("canvas", {
    id: "view", tabindex: "0", "data-wheel": "always", role: "img",
    "aria-label": `${robot.name}: drag or use the arrow keys to turn it, the wheel or + and - to zoom`,
  });
  byId("view-place").prepend(canvas);
  bench.viewer = createViewer(canvas, { ...robot.stage.scene, camera: cameraOf(robot) });
  if (!bench.viewer) {
    canvas.remove();
    showError(byId("message-anchor"), "This browser has no WebGL, so the robot is not drawn; all numbers work. Turn on hardware acceleration, or use another browser.");
    return;
  }
  addMarkMeshes(bench.viewer);
  bench.viewer.drawn = placeLabels;
  setUpClicks(canvas);
}

// The camera of a robot; a planar one is seen straight on, upright in its plane, before a wall.
function cameraOf(robot) {
  const { camera, extent } = robot.stage.scene, { plane, up } = robot;
  if (!plane || Math.abs(dot(plane, up)) > 0.1) return { ...camera, spread: 1.7 };
  const normal = times(plane, dot(plane, camera.eye) < 0 ? -1 : 1);
  const side = cross(up, normal), eye = unit(plus(normal, plus(times(side, 0.07), times(up, 0.06))));
  return { ...camera, eye, spread: 2.2, wall: { normal, at: dot(camera.target, normal) - 0.12 * extent } };
}

// Points that a planar robot may reach: the picture has room for it to turn.
function reachOf(robot, points) {
  if (!robot.plane || Math.abs(dot(robot.plane, robot.up)) > 0.1) return [];
  const base = robot.stage.robot.links.length ? bench.poses[0] : IDENTITY, at = [base[3], base[7], base[11]];
  const far = 0.62 * Math.max(0, ...points.map((p) => Math.hypot(...plus(p, times(at, -1)))));
  return [plus(at, times(robot.up, far)), plus(at, times(robot.up, -far))];
}

const robotPoints = () => bench.viewer.corners([...SOLID, "loop"].filter((group) => bench.viewer.isShown(group)));

const gravityPoints = () => bench.scene.marks.gravity && bench.gravityAt
  ? [bench.gravityAt, plus(bench.gravityAt, times(bench.robot.up, -0.3 * bench.robot.stage.scene.extent))] : [];

// Show the whole robot and these points, in the direction of the camera, if one of them is out of view.
function keepInView(points) {
  if (!bench.viewer) return;
  const { clientWidth, clientHeight } = byId("view");
  const isSeen = ([x, y]) => x > ROOM && x < clientWidth - ROOM && y > ROOM && y < clientHeight - ROOM;
  if (points.every((point) => isSeen(bench.viewer.project(point)))) return;
  bench.viewer.camera.frame([...robotPoints(), ...gravityPoints(), ...points], 0.84);
  bench.viewer.draw();
}

// Show the whole robot and the gravity arrow, in the direction of the camera.
function frameRobot() {
  if (!bench.viewer) return;
  const { viewer, robot } = bench, camera = viewer.camera;
  camera.reset();
  const points = robotPoints();
  points.push(...reachOf(robot, points));
  if (!points.length) points.push(...bench.poses.map((T) => [T[3], T[7], T[11]]), [0, 0, 0]);
  const [right] = camera.axes(), size = robot.stage.scene.extent;
  const along = (axis) => points.map((p) => dot(p, axis)), heights = along(robot.up);
  const first = points.reduce((a, b) => dot(b, right) < dot(a, right) ? b : a); // beside the leftmost point
  const height = (Math.min(...heights) + Math.max(...heights)) / 2 - dot(first, robot.up) + 0.12 * size;
  bench.gravityAt = plus(plus(first, times(right, -0.14 * size)), times(robot.up, height));
  camera.frame([...points, ...gravityPoints()], 0.82);
  viewer.draw();
}

// Draw once before the next frame, however many changes ask for it.
function drawStage() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    drawNow();
  });
}

// Draw the robot at the shown state, with all marks.
function drawNow() {
  const { viewer, robot, poses } = bench;
  if (!viewer) return;
  const parts = [];
  labels = [];
  clicks = [];
  for (const contribute of contributors) {
    const found = contribute(bench.at, poses);
    if (!found) continue;
    parts.push(...found.parts);
    labels.push(...(found.labels || []));
    clicks.push(...(found.clicks || []));
  }
  viewer.mark(parts);
  viewer.fade(isOpen("recursion") && bench.scene.step > 0 ? 0.35 : bench.scene.marks.com ? 0.6 : 1);
  viewer.showOnly(bench.scene.shown || robot.stage.scene.shown);
  viewer.tie(tieLines(robot.stage.loops, poses));
  viewer.move(poses);
}

// Thickness of arrows; in the classroom they are thicker.
const arrowRadius = () => bench.robot.stage.scene.extent * (bench.scene.classroom ? 0.011 : 0.0065);

// Put the labels and the grips of the push beside their points.
function placeLabels() {
  const overlay = byId("overlay"), width = overlay.clientWidth, height = overlay.clientHeight;
  const kept = [...overlay.querySelectorAll(".label")];
  while (kept.length > labels.length) kept.pop().remove();
  const taken = [];
  labels.forEach((label, k) => {
    const node = kept[k] || overlay.appendChild(make("span", { class: "label" }));
    if (node.textContent !== label.text) node.textContent = label.text;
    node.style.color = label.colour ? `var(${label.colour})` : "";
    let [x, y] = bench.viewer.project(label.at);
    const wide = node.offsetWidth, tall = node.offsetHeight;
    if (label.above) [x, y] = [x - wide / 2 - 8, y - 0.8 * tall];
    x = clamp(x + (label.beside || 8), 4, Math.max(4, width - wide - 4));
    y = clamp(y - tall / 2, 4, Math.max(4, height - tall - 4));
    while (taken.some((b) => x < b[0] + b[2] && b[0] < x + wide && y < b[1] + b[3] && b[1] < y + tall)) y += tall;
    taken.push([x, y, wide, tall]);
    node.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  });
  placeGrips();
  placeToolGrip();
}

const localPoint = (canvas, event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};

// The mark whose line on the screen is nearest to a point, within a few pixels.
function clickedMark([x, y]) {
  let best = null, least = 9;
  for (const click of clicks) {
    const [a, b] = [bench.viewer.project(click.from), bench.viewer.project(click.to)];
    const way = [b[0] - a[0], b[1] - a[1]], length = way[0] ** 2 + way[1] ** 2;
    const share = length ? clamp(((x - a[0]) * way[0] + (y - a[1]) * way[1]) / length, 0, 1) : 0;
    const distance = Math.hypot(x - a[0] - share * way[0], y - a[1] - share * way[1]);
    if (distance < least) [best, least] = [click, distance];
  }
  return best;
}

function setUpClicks(canvas) {
  let start = null;
  canvas.addEventListener("pointerdown", (event) => {
    start = localPoint(canvas, event);
    if (event.altKey && beginPush(event, start)) {
      event.stopImmediatePropagation();
      event.preventDefault();
    }
  }, { capture: true });
  canvas.addEventListener("pointerup", (event) => {
    const end = localPoint(canvas, event);
    if (!start || Math.hypot(end[0] - start[0], end[1] - start[1]) > 4) return;
    const mark = clickedMark(end);
    if (mark) mark.act();
    else if (isOpen("push")) putPushAt(end);
    start = null;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons) return;
    const mark = clickedMark(localPoint(canvas, event));
    canvas.style.cursor = mark ? "pointer" : "";
    canvas.title = mark ? mark.title : "";
  });
}

contributors.push(() => {
  const { robot, scene } = bench, g = scene.gravity || robot.gravity, size = Math.hypot(...g);
  if (!scene.marks.gravity || !bench.gravityAt) return null;
  if (!(size > 0)) return { parts: [], labels: [{ at: bench.gravityAt, text: "no gravity", colour: "--part-gravity", above: true }] };
  const way = times(g, 0.24 * robot.stage.scene.extent / size);
  return {
    parts: arrowParts(bench.gravityAt, way, arrowRadius(), cssColour("--part-gravity")),
    labels: [{ at: bench.gravityAt, above: true, text: `g = ${numberText(size)} m/s²`, colour: "--part-gravity" }],
  };
});

// Ends of constraints that are open, joined by a rod; the view shows them when they open.
contributors.push(() => {
  const { loops, scene: { extent } } = bench.robot.stage, parts = [], found = [], points = [], colour = cssColour("--warn");
  for (const loop of loops.filter((x) => x.kind !== "couple")) {
    const [from, to] = tieLines([loop], bench.poses)[0], way = plus(to, times(from, -1)), gap = Math.hypot(...way);
    if (largest(loopErrors(loop, bench.at.q, bench.poses)) < OPEN || gap < OPEN * extent) continue;
    points.push(from, to);
    parts.push(markPart("mark-rod", frameAlong(times(way, 1 / gap)), [0.006 * extent, 0.006 * extent, gap], from, colour, { front: true }),
      ...[from, to].map((at) => spherePart(at, 0.02 * extent, colour, { front: true })));
    found.push({ at: times(plus(from, to), 0.5), text: `${loop.name} is open: ${numberText(gap, 3)} m`, colour: "--warn" });
  }
  if (points.length && !bench.isOpenLoop) requestAnimationFrame(() => keepInView(points));
  bench.isOpenLoop = points.length > 0;
  return { parts, labels: found };
});

// The way of the tool in the shown run, faint: of the plan that the run follows, if there is one.
contributors.push(() => {
  if (!bench.player.active) return null;
  const run = runs.get(bench.scene.run), { scene: { extent }, robot } = bench.robot.stage;
  run.trace ??= traceOf(robot, (run.motion.reference || run.motion).q, 0.002 * extent);
  return { parts: run.trace.map((part) => ({ ...part, colour: cssColour("--trace") })) };
});

// Forces of contacts at the shown time, and their friction cones; lengths as in views/contacts.py.
const WEIGHT_LENGTH = 0.6, LONGEST_FORCE = 1.5, CONE_HEIGHT = 0.15;
contributors.push(() => {
  if (!bench.player.active) return null;
  const { motion: { contacts, t } } = runs.get(bench.scene.run), { extent } = bench.robot.stage.scene, { marks } = bench.scene;
  if (!contacts || !(marks.contacts || marks.cones)) return null;
  const later = t.findIndex((x) => x >= bench.player.time), k = later < 0 ? t.length - 1 : later, parts = [];
  contacts.names.forEach((_, c) => {
    const [from, force, normal] = [contacts.points, contacts.forces, contacts.normals].map((rows) => rows[k][c]), size = Math.hypot(...force);
    if (!(size > 1e-6 * contacts.weight)) return;
    const length = extent * Math.min(WEIGHT_LENGTH * size / (contacts.weight || size), LONGEST_FORCE), high = CONE_HEIGHT * extent, wide = contacts.friction[c] * high;
    if (marks.contacts) parts.push(...arrowParts(from, times(force, length / size), arrowRadius(), cssColour("--part-contact"), { front: true }));
    if (marks.cones && wide > 0) parts.push(markPart("mark-cone", frameAlong(times(normal, -1)), [wide, wide, high], plus(from, times(normal, high)), cssColour("--com"), { alpha: 0.35 }));
  });
  return { parts };
});

// Rods along the way of the tool through positions, at most TRACED of them.
function traceOf(robot, rows, radius) {
  const every = Math.max(1, Math.ceil(rows.length / TRACED)), parts = [];
  let from = null;
  if (!robot.tool) return parts;
  rows.forEach((q, k) => {
    if (k % every && k + 1 < rows.length) return;
    const T = toolPose(robot, linkPoses(robot, q)), to = [T[3], T[7], T[11]];
    const way = from && plus(to, times(from, -1)), length = from ? Math.hypot(...way) : 0;
    if (from && length < radius) return;
    if (from) parts.push(markPart("mark-rod", frameAlong(times(way, 1 / length)), [radius, radius, length], from, null, { alpha: 0.3 }));
    from = to;
  });
  return parts;
}

contributors.push(() => {
  const { scene, readings, robot } = bench;
  if (!scene.marks.com || !readings || !readings.com) return null;
  const parts = [spherePart(readings.com, 0.022 * robot.stage.scene.extent, cssColour("--com"), { front: true })];
  return { parts, labels: [{ at: readings.com, text: "centre of mass", colour: "--com" }] };
});

contributors.push(() => {
  const { scene, readings } = bench, parts = [], found = [];
  if (!readings || !readings.frame) return null;
  const T = readings.frame.T, at = [T[3], T[7], T[11]];
  for (const kind of ["mass", "force"]) {
    const ellipsoid = (readings.ellipsoids || {})[kind];
    if (!scene.marks[kind] || !ellipsoid) continue;
    parts.push(ellipsoidPart(at, ellipsoid.R, ellipsoid.radii, cssColour(`--ellipsoid-${kind}`)));
    found.push({ at, text: `${kind} ellipsoid`, colour: `--ellipsoid-${kind}` });
  }
  return { parts, labels: found };
});
