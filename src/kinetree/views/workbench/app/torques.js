// The panel Joint forces: tau of every joint as a bar of its parts, with its limit; a click unfolds it.

const PART_WORDS = {
  inertia: "inertia", Coriolis: "Coriolis", centrifugal: "centrifugal", gravity: "gravity", spring: "springs", friction: "friction",
  rotor: "rotors", external: "external", contact: "contacts", stop: "stops", base: "base", constraints: "constraints",
};
const partColour = (name) => `--part-${name.toLowerCase()}`;
const active = (values) => values.some((x) => Math.abs(x) > 1e-9);

function buildTorque(body) {
  const legend = make("ul", { class: "parts-legend", "aria-label": "Parts of the joint forces" });
  const list = make("div", { class: "torques scroll-inside" });
  const energy = make("p", { class: "note energy" });
  const toggle = make("button", { type: "button", class: "small", text: "Table", "aria-pressed": "false", click: () => bench.store.change({ table: !bench.scene.table }) });
  const table = make("div", { class: "scroll-inside table-place", hidden: true });
  body.append(legend, list, make("div", { class: "buttons" }, toggle, energy), table);
  Object.assign(this, { legend, list, energy, table, toggle });
}

function showTorque(readings) {
  const panel = panels.get("torque"), { robot, scene } = bench, { tau, parts, limits } = readings;
  if (!panel.list) return;
  const used = Object.keys(parts).filter((name) => active(parts[name]));
  panel.legend.replaceChildren(...(used.length ? used : ["gravity"]).map((name) => {
    const chip = make("i", { class: "chip", "aria-hidden": "true" });
    chip.style.background = `var(${partColour(name)})`;
    return make("li", {}, chip, PART_WORDS[name]);
  }), make("li", {}, make("i", { class: "chip total" }), "sum τ"), ...(limits.some((x) => x !== null) ? [make("li", {}, make("i", { class: "chip limit" }), "limit")] : []));
  if (panel.madeFor !== robot.id) makeTorqueRows(panel, robot);
  const largestOf = {};
  robot.dofs.forEach((dof, d) => {
    const up = sum(used.map((name) => Math.max(0, parts[name][d]))), down = sum(used.map((name) => Math.max(0, -parts[name][d])));
    largestOf[dof.torque_unit] = Math.max(largestOf[dof.torque_unit] || 1e-9, up, down, Math.abs(tau[d]));
  });
  robot.dofs.forEach((dof, d) => showTorqueRow(panel.rows[d], dof, d, tau[d], limits[d], used, parts, largestOf[dof.torque_unit]));
  const { kinetic, potential } = readings.energy;
  panel.energy.replaceChildren(...Object.entries({ kinetic, potential, total: kinetic + potential }).map(([name, x]) => make("span", { text: `${name} ${numberText(x)} J` })));
  panel.toggle.setAttribute("aria-pressed", scene.table);
  panel.table.hidden = !scene.table;
  if (scene.table) panel.table.replaceChildren(torqueTable(readings, used));
}

function makeTorqueRows(panel, robot) {
  panel.madeFor = robot.id;
  panel.rows = robot.dofs.map((dof, d) => {
    const bar = make("span", { class: "torque-bar", "aria-hidden": "true" });
    const value = make("span", { class: "value" }), share = make("span", { class: "share" });
    const node = make("button", { type: "button", class: "torque-row", "data-tau": d, click: () => unfoldThis({ kind: "tau", dof: d }, "torque") },
      make("span", { class: "name", text: dof.name, title: dof.name }), bar, value, share);
    return { node, bar, value, share };
  });
  panel.list.replaceChildren(...panel.rows.map((row) => row.node));
}

function showTorqueRow(row, dof, d, tau, limit, used, parts, scale) {
  const over = limit !== null && Math.abs(tau) > limit * (1 + 1e-9);
  const pieces = [];
  let up = 50, down = 50;
  const piece = (kind, left, width) => {
    const node = make("i", { class: kind });
    node.style.left = `${left}%`;
    if (width !== null) node.style.width = `${width}%`;
    return node;
  };
  for (const name of used) {
    const width = 49 * Math.abs(parts[name][d]) / scale;
    if (width < 0.05) continue;
    const node = piece("piece", parts[name][d] > 0 ? up : down - width, width);
    node.style.background = `var(${partColour(name)})`;
    pieces.push(node);
    if (parts[name][d] > 0) up += width; else down -= width;
  }
  pieces.push(piece("zero", 50, null));
  if (limit !== null && limit <= scale) for (const sign of [-1, 1]) pieces.push(piece("limit-mark", 50 + sign * 49 * limit / scale, null));
  pieces.push(piece("total-mark", 50 + 49 * clamp(tau / scale, -1, 1), null));
  row.bar.replaceChildren(...pieces);
  const shown = Math.abs(tau) < 1e-6 * scale ? 0 : tau; // rounding of larger forces, between samples
  row.value.textContent = `${numberText(shown, Math.abs(tau) < 0.1 ? 3 : 4)} ${dof.torque_unit}`;
  row.value.dataset.value = tau;
  row.share.textContent = limit === null ? "" : `${Math.round(100 * Math.abs(tau) / limit)} %`;
  row.node.title = limit === null ? `${dof.name}: click to unfold` : `${dof.name}: ${row.share.textContent} of the limit ${numberText(limit)} ${dof.torque_unit}${over ? ", beyond it" : ""}; click to unfold`;
  row.node.classList.toggle("over", over);
  row.node.setAttribute("aria-label", `${dof.name}: ${numberText(tau)} ${dof.torque_unit}${limit === null ? "" : `, ${row.share.textContent} of its limit`}; unfold it`);
}

// All parts in numbers; the joints' names stay in view when the table scrolls.
function torqueTable({ tau, parts }, used) {
  const head = make("tr", {}, make("th", { text: "joint" }), ...used.map((name) => make("th", { class: "n", text: PART_WORDS[name] })), make("th", { class: "n", text: "τ" }));
  const rows = bench.robot.dofs.map((dof, d) => make("tr", {}, make("th", { scope: "row", text: dof.name }),
    ...used.map((name) => make("td", { class: "n", text: numberText(parts[name][d]) })), make("td", { class: "n total", text: numberText(tau[d]) })));
  return make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

addPanel({ id: "torque", title: "Joint forces", letter: "τ", key: "2", dock: "right", build: buildTorque, readings: showTorque });
