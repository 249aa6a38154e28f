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

// Charts of a motion: {key, title, unit, t?, note?, series}; angles and lengths have charts of their own.
function chartsOf(robot, motion) {
  const sizeOf = (unit) => inDegrees(unit) ? 1 / DEGREE : 1, shownAs = (unit, per = "") => `${inDegrees(unit) ? "°" : unit}${per}`;
  const charts = [], add = (key, title, lines, more = {}) => {
    for (const unit of new Set(lines.map((line) => line.unit))) {
      const series = lines.map((line, k) => ({ colour: k, limit: null, ...line })).filter((line) => line.unit === unit);
      charts.push({ key: `${key} ${unit}`, title, unit, series, ...more });
    }
  };
  const perDof = (name, per, most, columns = motion[name]) => robot.dofs.map((dof, d) => {
    const s = most === "effort" ? 1 : sizeOf(dof.unit), bound = most && dof[most];
    return { name: dof.name, unit: most === "effort" ? dof.torque_unit : shownAs(dof.unit, per), values: columns.map((row) => row[d] * s), limit: bound ? [-bound * s, bound * s] : null };
  });
  const rows = motion.q.map((q) => handleValues(robot, q)), wanted = motion.reference && motion.reference.q.map((q) => handleValues(robot, q));
  add("q", "q", robot.handles.map((handle, k) => {
    const s = sizeOf(handle.unit), dof = handle.dof === null ? null : robot.dofs[handle.dof], scaled = (x) => x === null ? null : x * s;
    const reference = wanted && { t: motion.reference.t, values: wanted.map((row) => row[k] * s) };
    return { name: handle.label, unit: shownAs(handle.unit), values: rows.map((row) => row[k] * s), limit: dof && [dof.lower, dof.upper].map(scaled), reference };
  }));
  if (motion.tau) add("tau", "τ", perDof("tau", "", "effort"));
  if (motion.contacts) add("contacts", "normal force", motion.contacts.names.map((name, c) => ({ name, unit: "N", values: motion.contacts.forces.map((row, k) => dot(row[c], motion.contacts.normals[k][c])) })));
  if (wanted) {
    const { t } = motion.reference, at = t.map((time) => handleValues(robot, motionAt(robot, motion, time).q));
    add("error", "q less reference", robot.handles.map((handle, k) => ({ name: handle.label, unit: shownAs(handle.unit), values: at.map((row, j) => (row[k] - wanted[j][k]) * sizeOf(handle.unit)) })), { t });
  }
  add("dq", "dq", perDof("dq", "/s", "velocity"));
  const { kinetic, potential } = motion.energy, since = potential.map((x) => x - potential[0]);
  add("energy", "energy", Object.entries({ kinetic, potential: since, total: kinetic.map((x, k) => x + since[k]) }).map(([name, values]) => ({ name, unit: "J", values, colour: name === "total" ? "work" : name })), { note: "potential since the start" });
  return charts;
}

let chosenPlots = null; // keys of charts; null: q and the forces

function buildPlots(body) {
  const choice = make("div", { class: "buttons", "aria-label": "Plots" }), place = make("div", { class: "run-plots" }), legend = make("div", { class: "chart" });
  const hint = make("p", { class: "note", text: "Run a simulation or open a motion; its curves are drawn here." });
  body.append(hint, choice, legend, place);
  Object.assign(this, { choice, place, hint, legend, plots: [] });
}

function showPlots() {
  const panel = panels.get("plots"), { scene, robot, player } = bench;
  const made = player.active ? `${robot.id} ${scene.run} ${scene.kept} ${scene.degrees}` : "";
  panel.hint.hidden = player.active;
  if (panel.madeFor !== made) {
    panel.madeFor = made;
    panel.charts = player.active ? chartsOf(robot, runs.get(scene.run).motion) : [];
    panel.compared = player.active && scene.kept !== null && scene.kept !== scene.run ? chartsOf(robot, runs.get(scene.kept).motion) : [];
    makePlots(panel);
  }
  for (const plot of panel.plots) plot.setCursor(player.time);
}

function makePlots(panel) {
  const known = panel.charts.map((chart) => chart.key), kept = (chosenPlots || []).filter((key) => known.includes(key));
  const keys = kept.length ? kept : ["q ", bench.robot.stands ? "contacts" : "tau"].map((kind) => known.find((key) => key.startsWith(kind))), { motion } = bench.player.active ? runs.get(bench.scene.run) : {};
  for (const place of [panel.place, panel.legend]) place.replaceChildren();
  panel.choice.replaceChildren(...panel.charts.map(({ key, title, unit }) => make("button", { type: "button", class: "small", "data-chart": key, "aria-pressed": keys.includes(key), text: `${title}, ${unit}`, click: () => {
    chosenPlots = keys.includes(key) ? keys.filter((x) => x !== key) : [...keys, key];
    makePlots(panel);
  } })));
  panel.plots = panel.charts.filter((chart) => keys.includes(chart.key)).map((chart) => {
    const holder = make("div", { class: "run-plot", "data-plot": chart.key.split(" ")[0] }), other = panel.compared.find((x) => x.key === chart.key);
    panel.place.append(holder);
    const plot = createPlot(holder, { t: motion.t, ...chart, cursor: bench.player.time });
    plot.onCursor((time) => bench.player.seek(time));
    if (other) plot.setCompare(other.series.map((line) => ({ t: runs.get(bench.scene.kept).motion.t, ...line })));
    return plot;
  });
  shareLegend(panel, panel.plots);
}

// One legend for all plots that have the lines of the first one; it switches them in all of them.
function shareLegend(panel, plots) {
  const names = (plot) => plot.state().shown.join("\n"), alike = plots.filter((plot) => names(plot) === names(plots[0]));
  alike.forEach((plot, k) => {
    if (k) plot.legend.remove(); else panel.legend.append(plot.legend);
    plot.onShown((shown) => { for (const other of alike) if (other !== plot) other.setShown(shown); });
  });
}

addPanel({ id: "plots", title: "Plots", letter: "∿", key: "8", dock: "bottom", build: buildPlots, state: showPlots });
