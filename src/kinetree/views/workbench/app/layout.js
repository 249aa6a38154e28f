// Panels: they stand in docks left, right and below, and can be folded, moved, resized and closed.

const DOCKS = ["left", "right", "bottom"];
const LEAST_SIZE = { left: 220, right: 220, bottom: 120 };
const panels = new Map(); // id -> {id, title, letter, key, dock?, build, state?, readings?, opened?, root, body}

// Add a panel; it is built when it is opened for the first time.
function addPanel(panel) {
  panels.set(panel.id, panel);
  panel.rail = make("button", {
    type: "button", "data-panel": panel.id, "aria-pressed": "false", title: `${panel.title} (${panel.key})`,
    click: () => togglePanel(panel.id),
  }, make("span", { class: "letter", "aria-hidden": "true", text: panel.letter }), make("span", { class: "words", text: panel.title }));
  byId("rail").append(panel.rail);
}

const dockOf = (docks, id) => DOCKS.find((dock) => docks[dock].includes(id)) || null;
const isOpen = (id) => dockOf(bench.scene.docks, id) !== null && !bench.scene.folded.includes(id);

function without(docks, id) {
  return Object.fromEntries(DOCKS.map((dock) => [dock, docks[dock].filter((x) => x !== id)]));
}

// The docks with a panel at a place: after `below`, or at the end of its own dock.
function dockedAt(docks, id, { dock = panels.get(id).dock || "left", below = null } = {}) {
  const others = without(docks, id), ids = others[dock];
  const at = ids.includes(below) ? ids.indexOf(below) + 1 : ids.length;
  ids.splice(at, 0, id);
  return others;
}

// Open a panel below all others of its dock, or below the one that it belongs to.
function openPanel(id, { below = null, key = null } = {}) {
  const { docks, folded } = bench.scene;
  bench.store.change({ docks: dockOf(docks, id) ? docks : dockedAt(docks, id, { below }), folded: folded.filter((x) => x !== id) }, key);
  makeRoom(id, below);
  panels.get(id).root.scrollIntoView({ block: "nearest" });
}

// Fold the other panels of a dock, from the top, until the new one is seen whole. Joints stays open.
function makeRoom(id, below) {
  const { docks } = bench.scene, dock = dockOf(docks, id);
  if (dock === "bottom") return;
  const isCut = ({ root }) => root.scrollHeight > root.clientHeight + 1;
  for (const other of docks[dock].filter((x) => ![id, below, "joints"].includes(x))) {
    if (!docks[dock].some((x) => isCut(panels.get(x)))) return;
    if (!bench.scene.folded.includes(other)) bench.store.amend({ folded: [...bench.scene.folded, other] });
  }
}

function togglePanel(id) {
  const { docks, folded } = bench.scene;
  if (dockOf(docks, id) === null || folded.includes(id)) openPanel(id);
  else bench.store.change({ docks: without(docks, id) });
}

function foldPanel(id) {
  const { folded } = bench.scene;
  bench.store.change({ folded: folded.includes(id) ? folded.filter((x) => x !== id) : [...folded, id] });
}

function movePanel(id) {
  const { docks } = bench.scene, dock = DOCKS[(DOCKS.indexOf(dockOf(docks, id)) + 1) % DOCKS.length];
  bench.store.change({ docks: dockedAt(docks, id, { dock }) });
  panels.get(id).root.querySelector(".move").focus();
}

function buildPanel(panel) {
  const fold = make("button", { type: "button", class: "fold", click: () => foldPanel(panel.id) }, make("h2", { text: panel.title }));
  const move = make("button", { type: "button", class: "move", text: "⇄", click: () => movePanel(panel.id) });
  const close = make("button", { type: "button", class: "close", text: "×", "aria-label": `Close ${panel.title}`,
    title: `Close (${panel.key})`, click: () => togglePanel(panel.id) });
  const header = make("header", {}, fold, panel.tools ? panel.tools() : null, move, close);
  panel.body = make("div", { class: "panel-body" });
  panel.root = make("section", { class: "panel", "data-panel": panel.id, "aria-label": panel.title }, header, panel.body);
  panel.build(panel.body);
}

// Bring the docks into the order of the scene; build what is new.
function showLayout(scene) {
  for (const dock of DOCKS) {
    const place = byId(`dock-${dock}`), ids = scene.docks[dock].filter((id) => panels.has(id));
    const roots = ids.map((id) => {
      const panel = panels.get(id), folded = scene.folded.includes(id);
      if (!panel.root) buildPanel(panel);
      const fold = panel.root.querySelector(".fold"), next = DOCKS[(DOCKS.indexOf(dock) + 1) % DOCKS.length];
      fold.setAttribute("aria-expanded", !folded);
      panel.body.hidden = folded;
      const move = panel.root.querySelector(".move");
      move.title = `Move to the panels ${next === "bottom" ? "below" : `on the ${next}`}`;
      move.setAttribute("aria-label", `${panel.title}: ${move.title}`);
      return panel.root;
    });
    for (const child of [...place.children]) if (!roots.includes(child)) child.remove();
    roots.forEach((root, k) => { if (place.children[k] !== root) place.insertBefore(root, place.children[k] || null); });
    place.classList.toggle("empty", !roots.length);
    byId(`edge-${dock}`).hidden = !roots.length;
    byId("bench").style.setProperty(`--dock-${dock}`, roots.length ? `${scene.sizes[dock]}px` : "0px");
  }
  for (const panel of panels.values()) {
    const open = dockOf(scene.docks, panel.id) !== null && !scene.folded.includes(panel.id);
    panel.rail.setAttribute("aria-pressed", open);
    const wasOpen = panel.wasOpen;
    panel.wasOpen = open;
    if (open && !wasOpen) showPanel(panel);
  }
}

// Fill a panel that has just been opened.
function showPanel(panel) {
  if (!bench.robot || !panel.root) return;
  if (panel.opened) panel.opened();
  if (panel.state) panel.state();
  if (panel.readings && bench.readings) panel.readings(bench.readings);
}

function forOpenPanels(name, ...values) {
  for (const panel of panels.values()) if (panel.wasOpen && panel[name]) panel[name](...values);
}

// Edges between docks and the robot: drag them, or use the arrow keys.
function setUpEdges() {
  for (const dock of DOCKS) {
    const edge = byId(`edge-${dock}`), upright = dock === "bottom";
    const resize = (by) => {
      const most = (upright ? innerHeight : innerWidth) * 0.6;
      const size = clamp(bench.scene.sizes[dock] + by, LEAST_SIZE[dock], most);
      bench.store.change({ sizes: { ...bench.scene.sizes, [dock]: size } }, `size ${dock}`);
    };
    edge.addEventListener("pointerdown", (event) => {
      edge.setPointerCapture(event.pointerId);
      let last = upright ? event.clientY : event.clientX;
      const drag = (next) => {
        const now = upright ? next.clientY : next.clientX;
        resize((now - last) * (dock === "left" ? 1 : -1));
        last = now;
      };
      edge.addEventListener("pointermove", drag);
      edge.addEventListener("pointerup", () => edge.removeEventListener("pointermove", drag), { once: true });
    });
    edge.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: dock === "left" ? -16 : 16, ArrowRight: dock === "left" ? 16 : -16, ArrowUp: 16, ArrowDown: -16 }[event.key];
      if (!by || (upright !== (event.key === "ArrowUp" || event.key === "ArrowDown"))) return;
      event.preventDefault();
      resize(by);
    });
  }
}
