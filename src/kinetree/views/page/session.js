// A motion played back: the robot, the numbers and a line in every plot follow the time.

const data = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("view"), viewer = createViewer(canvas, data.scene);
document.documentElement.classList.add(viewer ? "has-view" : "no-view", "scripted");
canvas.addEventListener("webglcontextlost", () => document.documentElement.classList.replace("has-view", "no-view"));

const { t, q: motion, columns: tracks } = data.motion;
const slider = document.getElementById("time"), button = document.getElementById("play");
const speed = document.getElementById("speed"), clock = document.getElementById("clock");
const toolText = document.getElementById("tool");
const cells = [...document.querySelectorAll("[data-track]")];
let now = t[0], running = false, last = 0;

const plots = createCharts(data.charts, (time) => { play(false); now = time; update(); });

// Index of the sample before a time, and the share of the way to the next one.
function locate(time) {
  let low = 0, high = t.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time) low = middle; else high = middle;
  }
  const span = t[high] - t[low];
  return [low, high, span > 0 ? Math.max(0, Math.min(1, (time - t[low]) / span)) : 0];
}

function between(rows, [low, high, share]) {
  return rows[low].map((x, k) => x + share * (rows[high][k] - x));
}

function positions(place) {
  const q = between(motion, place);
  for (const first of data.motion.quaternions) {
    const length = Math.hypot(...q.slice(first, first + 4)) || 1;
    for (let k = first; k < first + 4; k++) q[k] /= length;
  }
  return q;
}

const readable = (x) => Math.abs(x) < 5e-6 ? "0" : x.toPrecision(4);

function update() {
  const place = locate(now), q = positions(place), T = linkPoses(data.robot, q);
  clock.textContent = `${now.toFixed(3)} s`;
  slider.value = now;
  for (const plot of plots) plot.setCursor(now);
  const found = { q };
  for (const [name, rows] of Object.entries(tracks)) found[name] = between(rows, place);
  for (const cell of cells) cell.textContent = readable(found[cell.dataset.track][cell.dataset.k]);
  const tool = toolPose(data.robot, T);
  if (toolText) toolText.textContent = [3, 7, 11].map((k) => tool[k].toFixed(4)).join("  ");
  if (viewer) {
    viewer.tie(tieLines(data.loops, T));
    viewer.move(T);
  }
  return { time: now, q, T, tool, ...found };
}

function step(stamp) {
  if (!running) return;
  now += Math.min(0.2, (stamp - last) / 1000) * +speed.value;
  last = stamp;
  if (now >= t[t.length - 1]) { now = t[t.length - 1]; play(false); }
  update();
  if (running) requestAnimationFrame(step);
}

function play(on) {
  running = on;
  button.textContent = on ? "Pause" : "Play";
  if (!on) return;
  if (now >= t[t.length - 1]) now = t[0];
  last = performance.now();
  requestAnimationFrame(step);
}

button.addEventListener("click", () => play(!running));
slider.addEventListener("input", () => { play(false); now = +slider.value; update(); });
document.getElementById("home").addEventListener("click", () => viewer && viewer.reset());
for (const box of document.querySelectorAll("[data-group]")) {
  box.checked = data.scene.shown.includes(box.dataset.group);
  box.addEventListener("change", () => viewer && viewer.show(box.dataset.group, box.checked));
}
update();
window.kinetree = { state: update, viewer, plots, play, seek(time) { now = time; return update(); } };
