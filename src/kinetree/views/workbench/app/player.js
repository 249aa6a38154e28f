// The player of a run, and its plots.

function createPlayer() {
  const bar = byId("player"), button = byId("play"), slider = byId("time"), clock = byId("clock"), speed = byId("speed");
  let time = 0, running = false, last = 0, shownRun = null;
  const motion = () => runs.get(bench.scene.run).motion;

  function tick(stamp) {
    if (!running) return;
    const { t } = motion();
    time += Math.min(0.2, (stamp - last) / 1000) * +speed.value;
    last = stamp;
    if (time >= t.at(-1)) {
      time = t.at(-1);
      player.play(false);
    }
    refresh();
    if (running) requestAnimationFrame(tick);
  }

  const player = {
    get active() { return bench.scene.run !== null && runs.has(bench.scene.run); },
    get time() { return time; },
    get running() { return running; },
    state: () => motionAt(bench.robot, motion(), time),
    play(on) {
      if (on && !player.active) return;
      running = on;
      button.textContent = on ? "Pause" : "Play";
      if (!on) return;
      if (time >= motion().t.at(-1)) time = motion().t[0];
      last = performance.now();
      requestAnimationFrame(tick);
    },
    seek(to) {
      if (!player.active) return;
      const { t } = motion();
      player.play(false);
      time = clamp(to, t[0], t.at(-1));
      refresh();
    },
    // Follow the scene: another run begins at its start.
    follow() {
      bar.hidden = !player.active;
      if (shownRun === bench.scene.run) return;
      shownRun = bench.scene.run;
      player.play(false);
      if (!player.active) return;
      const { t } = motion();
      time = t[0];
      [slider.min, slider.max] = [t[0], t.at(-1)];
    },
    show() {
      if (!player.active) return;
      slider.value = time;
      clock.textContent = `${time.toFixed(2)} of ${motion().t.at(-1).toFixed(2)} s`;
      slider.setAttribute("aria-valuetext", `${time.toFixed(2)} s`);
    },
  };
  button.addEventListener("click", () => player.play(!running));
  slider.addEventListener("input", () => player.seek(+slider.value));
  byId("leave-run").addEventListener("click", () => bench.store.change({ run: null }));
  return player;
}

// Curves of a motion: names, units, values and limits, in the units that are shown.
function curvesOf(robot, motion, kind) {
  const scaled = (unitName) => inDegrees(unitName) ? 1 / DEGREE : 1;
  const angle = inDegrees("rad") ? "°" : "rad", pair = (a, b) => robot.dofs.every((x) => x.unit === "rad") ? a : robot.dofs.every((x) => x.unit === "m") ? b : `${a}, ${b}`;
  if (kind === "energy") {
    const { kinetic } = motion.energy, potential = motion.energy.potential.map((x) => x - motion.energy.potential[0]);
    const total = kinetic.map((x, k) => x + potential[k]);
    return { title: "energy", note: "potential since the start", unit: "J", series: Object.entries({ kinetic, potential, total }).map(([name, values]) => ({ name, values, limit: null })) };
  }
  if (kind === "contacts") {
    const { names, forces, normals } = motion.contacts;
    return { title: "normal force", unit: "N", series: names.map((name, c) => ({ name, values: forces.map((row, k) => dot(row[c], normals[k][c])), limit: null })) };
  }
  if (kind === "q") {
    const rows = motion.q.map((q) => handleValues(robot, q));
    const series = robot.handles.map((handle, k) => {
      const s = scaled(handle.unit), ends = handle.dof === null ? null : robot.dofs[handle.dof];
      return { name: handle.label, values: rows.map((row) => row[k] * s), limit: ends && (ends.lower !== null || ends.upper !== null) ? [ends.lower, ends.upper].map((x) => x === null ? null : x * s) : null };
    });
    const wanted = motion.reference && motion.reference.q.map((q) => handleValues(robot, q));
    const lines = series.map((one, k) => ({ ...one, reference: wanted && { t: motion.reference.t, values: wanted.map((row) => row[k] * scaled(robot.handles[k].unit)) } }));
    return { title: "q", unit: pair(angle, "m"), series: lines };
  }
  if (kind === "reference") {
    const { t } = motion.reference, { unit, series } = curvesOf(robot, motion, "q");
    const at = (values, time) => { // between the samples of the motion
      const k = Math.max(1, motion.t.findIndex((x) => x >= time)), [a, b] = [motion.t[k - 1], motion.t[k]];
      return values[k - 1] + (values[k] - values[k - 1]) * (time - a) / (b - a);
    };
    return { title: "q less reference", unit, series: series.map(({ name, values, reference }) => ({ name, t, values: reference.values.map((x, k) => withoutRounding(at(values, t[k]) - x, x)), limit: null })) };
  }
  const series = robot.dofs.map((dof, d) => {
    const most = kind === "tau" ? dof.effort : kind === "dq" ? dof.velocity : null, s = kind === "tau" ? 1 : scaled(dof.unit);
    return { name: dof.name, values: motion[kind].map((row) => row[d] * s), limit: most ? [-most * s, most * s] : null };
  });
  return { title: kind === "tau" ? "τ" : kind, unit: kind === "tau" ? pair("N m", "N") : pair(`${angle}/s`, "m/s"), series };
}

const withoutRounding = (error, size) => Math.abs(error) < 1e-12 * Math.max(1, Math.abs(size)) ? 0 : error;
const PLOT_KINDS = ["q", "reference", "dq", "tau", "contacts", "energy"]; // entries of a motion

function buildPlots(body) {
  const place = make("div", { class: "run-plots" }), legend = make("div", { class: "chart" });
  const hint = make("p", { class: "note", text: "Run a simulation, open a motion or record the sliders; its curves are drawn here." });
  body.append(hint, legend, place);
  Object.assign(this, { place, hint, legend, plots: [] });
}

function showPlots() {
  const panel = panels.get("plots"), { scene, robot, player } = bench;
  const made = player.active ? `${robot.id} ${scene.run} ${scene.kept} ${scene.degrees}` : "";
  panel.hint.hidden = player.active;
  if (panel.madeFor !== made) {
    panel.madeFor = made;
    for (const place of [panel.place, panel.legend]) place.replaceChildren();
    panel.plots = player.active ? PLOT_KINDS.filter((kind) => runs.get(scene.run).motion[kind]).map((kind) => makePlot(panel, kind)) : [];
    shareLegend(panel, panel.plots);
  }
  for (const plot of panel.plots) plot.setCursor(player.time);
}

// One legend for all plots that have the lines of the first one; it switches them in all of them.
function shareLegend(panel, plots) {
  const names = (plot) => plot.state().shown.join("\n"), alike = plots.filter((plot) => names(plot) === names(plots[0]));
  alike.forEach((plot, k) => {
    if (k) plot.legend.remove(); else panel.legend.append(plot.legend);
    plot.onShown((shown) => { for (const other of alike) if (other !== plot) other.setShown(shown); });
  });
}

function makePlot(panel, kind) {
  const { robot, scene, player } = bench, { motion } = runs.get(scene.run);
  const holder = make("div", { class: "run-plot", "data-plot": kind });
  panel.place.append(holder);
  const plot = createPlot(holder, { ...curvesOf(robot, motion, kind), t: motion.t, cursor: player.time });
  plot.onCursor((time) => player.seek(time));
  const kept = scene.kept !== null && scene.kept !== scene.run ? runs.get(scene.kept) : null;
  if (kept) plot.setCompare(curvesOf(robot, kept.motion, kind).series.map((series) => ({ ...series, t: kept.motion.t })));
  return plot;
}

addPanel({ id: "plots", title: "Plots", letter: "∿", key: "8", dock: "bottom", build: buildPlots, state: showPlots });
