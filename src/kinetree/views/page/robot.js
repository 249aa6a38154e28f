// A robot on a page: sliders move it, or a motion is played; numbers and plots follow.

const data = JSON.parse(document.getElementById("data").textContent), { motion } = data;
const canvas = document.getElementById("view"), viewer = createViewer(canvas, data.scene);
const robot = { handles: data.handles, stage: data };
document.documentElement.classList.add(viewer ? "has-view" : "no-view", "scripted");
canvas.addEventListener("webglcontextlost", () => document.documentElement.classList.replace("has-view", "no-view"));
const element = (id) => document.getElementById(id);

// Show the robot at q, and where its tool is.
function show(q) {
  const T = linkPoses(data.robot, q), tool = toolPose(data.robot, T);
  if (tool && element("tool")) element("tool").textContent = [3, 7, 11].map((k) => tool[k].toFixed(4)).join("  ");
  if (viewer) {
    viewer.tie(tieLines(data.loops, T));
    viewer.move(T);
  }
  return T;
}
element("home").addEventListener("click", () => viewer && viewer.reset());
for (const box of document.querySelectorAll("[data-group]")) {
  box.checked = data.scene.shown.includes(box.dataset.group);
  box.addEventListener("change", () => viewer && viewer.show(box.dataset.group, box.checked));
}

function setUpSliders() {
  const rows = [...document.querySelectorAll(".handle")], degrees = element("degrees");
  const readable = (x) => numberText(Math.abs(x) < 5e-4 ? 0 : x);
  let q = [...data.q];
  function update() {
    const T = show(q), tau = gravityForces(data.robot, T), values = handleValues(robot, q), closure = element("closure");
    rows.forEach((row, k) => {
      const { unit, dof, effort } = data.handles[k], force = row.querySelector(".force"), bar = row.querySelector(".bar i");
      row.querySelector("output").textContent = degrees.checked && unit === "rad" ? `${(values[k] * 180 / Math.PI).toFixed(1)}°` : `${values[k].toFixed(3)} ${unit}`;
      if (document.activeElement !== row.querySelector("input")) row.querySelector("input").value = values[k];
      if (!force || dof === null) return;
      force.textContent = `${readable(tau[dof])} ${unit === "m" ? "N" : "N m"}`;
      if (!bar) return;
      bar.style.width = `${Math.min(100, 100 * Math.abs(tau[dof]) / effort)}%`;
      bar.classList.toggle("over", Math.abs(tau[dof]) > effort);
    });
    if (!closure) return;
    const words = closureWords(robot, q, T);
    closure.textContent = words || "All constraints are closed.";
    closure.classList.toggle("warning", words !== "");
  }
  rows.forEach((row, k) => row.querySelector("input").addEventListener("input", (event) => {
    q = movedPositions(robot, q, k, +event.target.value);
    update();
  }));
  degrees.addEventListener("change", update);
  element("home").addEventListener("click", () => { q = [...data.q]; update(); });
  update();
}

function setUpPlayer() {
  const { t } = motion, slider = element("time"), button = element("play"), cells = [...document.querySelectorAll("[data-track]")];
  const readable = (x) => numberText(Math.abs(x) < 5e-6 ? 0 : x);
  let now = t[0], running = false, last = 0;
  const plots = createCharts(data.charts, (time) => { play(false); now = time; update(); });
  function update() {
    const place = placeInTime(t, now), q = positionsAt(robot, motion, place), found = { q };
    for (const name of ["dq", "tau"]) found[name] = mixed(motion[name], place);
    for (const cell of cells) cell.textContent = readable(found[cell.dataset.track][cell.dataset.k]);
    element("clock").textContent = `${now.toFixed(3)} s`;
    slider.value = now;
    for (const plot of plots) plot.setCursor(now);
    show(q);
  }
  function step(stamp) {
    if (!running) return;
    now = Math.min(t.at(-1), now + Math.min(0.2, (stamp - last) / 1000) * +element("speed").value);
    last = stamp;
    if (now >= t.at(-1)) play(false);
    update();
    if (running) requestAnimationFrame(step);
  }
  function play(on) {
    running = on;
    button.textContent = on ? "Pause" : "Play";
    if (!on) return;
    if (now >= t.at(-1)) now = t[0];
    last = performance.now();
    requestAnimationFrame(step);
  }
  button.addEventListener("click", () => play(!running));
  slider.addEventListener("input", () => { play(false); now = +slider.value; update(); });
  update();
}

if (motion) setUpPlayer(); else setUpSliders();
window.kinetree = { viewer };
