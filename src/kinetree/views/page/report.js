// The page of a robot: sliders move it, its tool and the forces that hold it are shown as numbers.

const data = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("view"), viewer = createViewer(canvas, data.scene);
document.documentElement.classList.add(viewer ? "has-view" : "no-view", "scripted");
canvas.addEventListener("webglcontextlost", () => document.documentElement.classList.replace("has-view", "no-view"));

const values = data.handles.map((handle) => handle.start);
const rows = [...document.querySelectorAll(".handle")];
const degrees = document.getElementById("degrees");

function positions(from = values) {
  const q = [...data.q], turns = {};
  data.handles.forEach((handle, k) => {
    if (handle.turn === null) q[handle.coord] = from[k];
    else (turns[handle.coord] ||= [0, 0, 0])[handle.turn] = from[k];
  });
  for (const [first, angles] of Object.entries(turns))
    rpyQuaternion(...angles).forEach((x, k) => { q[+first + k] = x; });
  return q;
}

const inDegrees = (handle) => degrees.checked && handle.unit === "rad";
function shownValue(k) {
  const handle = data.handles[k];
  return inDegrees(handle) ? `${(values[k] * 180 / Math.PI).toFixed(1)}°` : `${values[k].toFixed(3)} ${handle.unit}`;
}
const readable = (x) => Math.abs(x) < 5e-4 ? "0" : x.toPrecision(4);

// Move the other sliders so that the constraints stay closed; `kept` is the one that was moved.
function close(kept) {
  if (!data.loops.length) return;
  const errors = (tried) => {
    const q = positions(tried);
    return allErrors(data.loops, q, linkPoses(data.robot, q));
  };
  const whole = 2 * Math.PI;
  closedValues(values, errors, kept).forEach((x, k) => {
    if (k === kept) return;
    values[k] = data.handles[k].wraps ? x - whole * Math.round(x / whole) : x;
    rows[k].querySelector("input").value = values[k];
  });
}

function showClosure(q, T) {
  const note = document.getElementById("closure");
  if (!note) return;
  const [name, error] = worstLoop(data.loops, q, T), open = !(error <= CLOSED);
  note.textContent = open
    ? `Constraint ${name} is open by ${error.toPrecision(3)} (rad or m): no closed position is found near these sliders.`
    : "All constraints are closed.";
  note.classList.toggle("warning", open);
}

function update() {
  const q = positions(), T = linkPoses(data.robot, q), tau = gravityForces(data.robot, T);
  rows.forEach((row, k) => {
    row.querySelector("output").textContent = shownValue(k);
    const force = row.querySelector(".force"), bar = row.querySelector(".bar i");
    const handle = data.handles[k];
    if (!force || handle.dof === null) return;
    force.textContent = `${readable(tau[handle.dof])} ${handle.unit === "m" ? "N" : "N m"}`;
    if (!bar) return;
    const share = Math.abs(tau[handle.dof]) / handle.effort;
    bar.style.width = `${Math.min(100, 100 * share)}%`;
    bar.classList.toggle("over", share > 1);
  });
  const tool = toolPose(data.robot, T);
  if (tool) document.getElementById("tool").textContent = [3, 7, 11].map((k) => tool[k].toFixed(4)).join("  ");
  showClosure(q, T);
  if (viewer) {
    viewer.tie(tieLines(data.loops, T));
    viewer.move(T);
  }
  return { q, T, tau, tool };
}

rows.forEach((row, k) => row.querySelector("input").addEventListener("input", (event) => {
  values[k] = +event.target.value;
  close(k);
  update();
}));
degrees.addEventListener("change", update);
document.getElementById("home").addEventListener("click", () => {
  data.handles.forEach((handle, k) => {
    values[k] = handle.start;
    rows[k].querySelector("input").value = handle.start;
  });
  if (viewer) viewer.reset();
  update();
});
for (const box of document.querySelectorAll("[data-group]")) {
  box.checked = data.scene.shown.includes(box.dataset.group);
  box.addEventListener("change", () => viewer && viewer.show(box.dataset.group, box.checked));
}
update();
window.kinetree = { state: update, viewer, values, rows };
