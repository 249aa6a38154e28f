// The workbench: one scene, drawn by the stage and the panels; readings come from the server.

const bench = {
  store: null, robot: null, viewer: null, player: null, at: null, poses: [], readings: null,
  recursion: null, term: null, kept: null, unfolded: null, gravityAt: null, isOpenLoop: false,
  asked: null, answered: null, // the last request for readings and the last one that was answered
  get scene() { return bench.store.scene; },
};

const askReadings = newestOnly("readings", (answer, body) => {
  if (body.robot !== bench.robot.id) return;
  bench.readings = answer;
  bench.answered = body;
  clearError(byId("message-anchor"));
  const { constraints } = bench.robot, { scene } = bench;
  const differs = (name) => answer[name] && answer[name].some((x, k) => Math.abs(x - scene[name][k]) > 1e-12);
  // rates that the constraints do not allow were projected by the server
  if (constraints && !bench.player.active && body.dq === scene.dq && body.ddq === scene.ddq && (differs("dq") || differs("ddq")))
    bench.store.amend({ dq: answer.dq, ddq: answer.ddq });
  const { marks } = scene;
  if (marks.com || marks.mass || marks.force) drawStage();
  forOpenPanels("readings", answer);
}, (error) => { if (!error.ended) showError(byId("message-anchor"), error.message); });

// Show the present state: the scene's, or that of the run at the player's time.
function refresh() {
  const { scene, player, robot } = bench;
  bench.at = player.active ? player.state() : { q: scene.q, dq: scene.dq, ddq: scene.ddq };
  bench.poses = linkPoses(robot.stage.robot, bench.at.q);
  if (bench.viewer) bench.viewer.place(bench.poses); // clicks find links where they are
  player.show();
  drawStage();
  forOpenPanels("state");
  bench.asked = { ...stateOf(scene, robot, bench.at), frame: scene.frame || robot.frame, kept: robot.constraints ? bench.kept : null };
  askReadings(bench.asked);
}

// Follow a change of the scene.
function sceneChanged(scene, before) {
  const robot = robots.get(robotKey(scene.robot)), another = robot !== bench.robot;
  if (another) {
    Object.assign(bench, { robot, readings: null, recursion: null, kept: null });
    document.title = `${robot.name} · kinetree`;
    openStage(robot);
    showWarnings(robot);
  }
  showLook(scene);
  bench.player.follow();
  bench.at = bench.player.active ? bench.player.state() : { q: scene.q, dq: scene.dq, ddq: scene.ddq };
  bench.poses = linkPoses(robot.stage.robot, bench.at.q);
  showLayout(scene);
  if (another && bench.viewer) {
    drawNow();
    frameRobot();
    showChoices();
  }
  refresh();
  if (scene.unfold !== before.unfold && isOpen("unfold")) requestUnfold();
  if (scene.step !== before.step && isOpen("recursion") && bench.recursion) {
    showStep();
    showArrows();
  }
  if ((scene.table !== before.table || scene.matrix !== before.matrix) && bench.readings) forOpenPanels("readings", bench.readings);
}

function showLook(scene) {
  const root = document.documentElement;
  if (scene.theme) root.dataset.theme = scene.theme; else delete root.dataset.theme;
  root.classList.toggle("classroom", scene.classroom);
  byId("degrees").setAttribute("aria-pressed", scene.degrees);
  byId("classroom").setAttribute("aria-pressed", scene.classroom);
  const [back, on] = bench.store.steps;
  byId("undo").disabled = back === 0;
  byId("redo").disabled = on === 0;
}

async function start() {
  const data = pageData(), anchor = byId("message-anchor");
  const first = typeof data.first === "string" ? { id: data.first } : data.first;
  document.documentElement.classList.add("scripted");
  setUpEdges();
  setUpFiles();
  setUpKeyboard();
  byId("undo").addEventListener("click", () => bench.store.undo());
  byId("redo").addEventListener("click", () => bench.store.redo());
  byId("degrees").addEventListener("click", toggle("degrees"));
  byId("classroom").addEventListener("click", toggle("classroom"));
  byId("theme").addEventListener("click", switchTheme);
  byId("home").addEventListener("click", () => frameRobot());
  const robot = await attempt(anchor, () => describeRobot(first));
  if (!robot) return;
  bench.store = createStore({ ...freshView(data.degrees === true), ...freshState(robot) }, sceneChanged);
  bench.player = createPlayer();
  sceneChanged(bench.scene, bench.scene);
  await attempt(anchor, setUpChooser);
  new ResizeObserver(() => { if (bench.viewer) keepInView(robotPoints()); placeLabels(); }).observe(byId("stage"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawStage);
  window.kinetree = {
    bench, runs, saveScene, restore: (text) => openScene(text, anchor), stored: presentScene,
    settled: () => bench.readings !== null && bench.asked === bench.answered,
    open: (files) => openFiles(files, anchor),
    ready: true,
  };
}

start();
