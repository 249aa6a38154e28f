// The panel Unfold: a torque, an entry of M or a vector taken apart down to links and numbers.

const UNFOLD_TITLES = {
  tau: (what) => `τ of ${bench.robot.dofs[what.dof].name}`,
  M: (what) => `M of ${bench.robot.dofs[what.row].name} and ${bench.robot.dofs[what.column].name}`,
  vector: (what) => `${what.symbol} of ${bench.robot.links[what.link]}`,
};

// Unfold something below the panel in which it was clicked.
function unfoldThis(what, below) {
  bench.store.change({ unfold: what });
  openPanel("unfold", { below: below && isOpen(below) ? below : null, key: "unfold" });
  panels.get("unfold").body.focus({ preventScroll: true });
}

const askUnfold = newestOnly("unfold", (answer, body) => showTree(answer, body.what), (error) => {
  const panel = panels.get("unfold");
  if (panel.place && !error.ended) showError(panel.title, error.message);
});

function buildUnfold(body) {
  body.tabIndex = -1;
  const title = make("p", { class: "unfold-title" });
  const place = make("div", { class: "unfold-place scroll-inside" });
  const hint = make("p", { class: "note", text: "Click a bar of the torque, an entry of M or an arrow of the recursion: it unfolds into terms, links and numbers, which add up to it." });
  body.append(title, place, hint);
  Object.assign(this, { title, place, hint });
}

function requestUnfold() {
  const panel = panels.get("unfold"), what = bench.scene.unfold;
  panel.hint.hidden = what !== null;
  panel.title.hidden = what === null;
  if (what === null) {
    panel.place.replaceChildren();
    panel.shownFor = null;
    return;
  }
  panel.title.textContent = UNFOLD_TITLES[what.kind](what);
  askUnfold({ ...stateOf(bench.scene, bench.robot, bench.at), what });
}

// Show the tree; what was open stays open while the robot moves.
function showTree(answer, what) {
  const panel = panels.get("unfold");
  if (!panel.place || bench.scene.unfold === null) return;
  clearError(panel.title);
  bench.unfolded = answer;
  const kind = JSON.stringify(what);
  if (panel.shownFor !== kind) panel.place.unfolded = null;
  panel.shownFor = kind;
  const top = panel.place.scrollTop;
  createUnfolding(panel.place, answer);
  panel.place.scrollTop = top;
}

addPanel({ id: "unfold", title: "Unfold", letter: "Σ", key: "4", build: buildUnfold, readings: requestUnfold });
