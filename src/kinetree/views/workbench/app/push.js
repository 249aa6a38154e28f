// The panel Push: a force and a moment on one link; the arrow is drawn, and dragged by its grips.

const STRONG_PUSH = 0.25; // the first push, in weights of the robot
const LONG_PUSH = 0.3; // its arrow, in extents of the robot

const robotWeight = () => Math.max(9.81 * bench.robot.mass.moving, 1e-3);
const pushScale = () => LONG_PUSH * bench.robot.stage.scene.extent / (STRONG_PUSH * robotWeight());
const changePush = (entries, key) => bench.store.change({ push: entries === null ? null : { ...bench.scene.push, ...entries } }, key);
const pushFoot = () => placed(bench.poses[bench.scene.push.link], bench.scene.push.point);
const inLink = (link, p) => placed(inversePose(bench.poses[link]), p);

// A push down onto the tool, or the first link, with a quarter of the robot's weight.
function firstPush() {
  const { tool } = bench.robot.stage.robot, link = Math.max(tool ? tool.link : 0, 0);
  const point = tool && tool.link >= 0 ? [tool.T[3], tool.T[7], tool.T[11]] : [0, 0, 0];
  return { link, point, force: times(bench.robot.up, -STRONG_PUSH * robotWeight()), moment: [0, 0, 0] };
}

function buildPush(body) {
  const on = checkbox("push the robot", false, (wanted) => changePush(wanted ? firstPush() : null), { id: "push-on" });
  const link = make("select", { id: "push-link", "aria-label": "Link that is pushed", change: () => {
    const i = +link.value;
    changePush({ link: i, point: [...bench.robot.stage.robot.links[i].com] });
  } });
  const rows = [["force", "N"], ["moment", "N m"]].flatMap(([name, unitName]) => ["x", "y", "z"].map((axis, k) => ({
    name, k, ...sliderRow(`${name} ${axis}`, unitName, (x) => changePush({ [name]: bench.scene.push[name].map((y, j) => j === k ? x : y) }, `${name} ${k}`), { "data-push": `${name},${k}` }),
  })));
  const form = make("div", { class: "push-form sliders" }, make("label", { class: "row" }, make("span", { text: "Link" }), link), ...rows.map((row) => row.node));
  const note = make("p", { class: "note", text: "Click a link to put the push there. Drag the grip at the tip to aim it, and the one at the foot to move it. Alt and drag on a link pulls it. Force and moment keep their direction in {s}." });
  body.append(on, form, note);
  Object.assign(this, { on, link, form, rows, note });
}

function showPush() {
  const panel = panels.get("push"), { scene, robot } = bench, { push } = scene;
  panel.on.input.checked = push !== null;
  panel.form.hidden = push === null;
  if (panel.madeFor !== robot.id) {
    panel.madeFor = robot.id;
    panel.link.replaceChildren(...robot.links.map((name, i) => make("option", { value: i, text: name })));
  }
  if (!push) return;
  panel.link.value = push.link;
  const most = { force: robotWeight(), moment: 0.25 * robotWeight() * robot.stage.scene.extent };
  for (const { name, k, show } of panel.rows) show(push[name][k], -most[name], most[name]);
}

// Put the push onto the link at a pixel; without a link there it stays.
function putPushAt([x, y]) {
  const hit = bench.viewer.pick(x, y, SOLID);
  if (hit) changePush({ ...(bench.scene.push || firstPush()), link: hit.link, point: inLink(hit.link, hit.point) });
}

// The point of the plane through `near`, parallel to the screen, that is seen at a pixel.
function pointInDepth([x, y], near) {
  const [from, way] = bench.viewer.ray(x, y), eye = bench.viewer.camera.eye();
  return plus(from, times(way, dot(plus(near, times(from, -1)), eye) / dot(way, eye)));
}

// Begin a pull at a link: the foot is where it was clicked, the tip follows the pointer.
function beginPush(event, at) {
  const hit = bench.viewer.pick(...at, SOLID);
  if (!hit) return false;
  changePush({ ...firstPush(), link: hit.link, point: inLink(hit.link, hit.point), force: [0, 0, 0] }, "pull");
  if (!isOpen("push")) openPanel("push", { key: "pull" });
  dragGrip(event, "tip", "pull");
  return true;
}

// Follow the pointer until it is released.
function dragGrip(event, kind, key = `grip ${kind}`) {
  const canvas = byId("view");
  event.preventDefault();
  const drag = (next) => {
    if (!bench.scene.push) return;
    const at = localPoint(canvas, next), foot = pushFoot();
    const tip = plus(foot, times(bench.scene.push.force, pushScale()));
    if (kind === "tip") changePush({ force: times(plus(pointInDepth(at, tip), times(foot, -1)), 1 / pushScale()) }, key);
    else {
      const hit = bench.viewer.pick(...at, SOLID);
      if (hit) changePush({ link: hit.link, point: inLink(hit.link, hit.point) }, key);
    }
  };
  const end = () => {
    removeEventListener("pointermove", drag);
    removeEventListener("pointerup", end);
  };
  addEventListener("pointermove", drag);
  addEventListener("pointerup", end);
}

// The grips stand over the drawing at the foot and the tip of the arrow.
function placeGrips() {
  const overlay = byId("overlay"), shown = bench.scene.push !== null && (isOpen("push") || dot(bench.scene.push.force, bench.scene.push.force) > 0);
  for (const kind of ["foot", "tip"]) {
    let grip = byId(`grip-${kind}`);
    if (!grip) {
      grip = make("button", { type: "button", class: "grip", id: `grip-${kind}`, "aria-label": kind === "tip" ? "Tip of the push: drag it to aim the force" : "Foot of the push: drag it onto a link" });
      grip.addEventListener("pointerdown", (event) => dragGrip(event, kind));
      overlay.append(grip);
    }
    grip.hidden = !shown;
    if (!shown) continue;
    const foot = pushFoot(), at = kind === "foot" ? foot : plus(foot, times(bench.scene.push.force, pushScale()));
    const [x, y] = bench.viewer.project(at);
    grip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }
}

contributors.push(() => {
  const { push } = bench.scene;
  if (!push) return null;
  const foot = pushFoot(), way = times(push.force, pushScale()), size = Math.hypot(...push.force), turn = Math.hypot(...push.moment);
  const parts = arrowParts(foot, way, 1.2 * arrowRadius(), cssColour("--part-external"));
  const found = size > 0 ? [{ at: plus(foot, way), text: `${numberText(size, 3)} N`, colour: "--part-external", beside: bench.scene.classroom ? 20 : 13 }] : [];
  if (turn > 0) {
    const twist = times(push.moment, 0.2 * bench.robot.stage.scene.extent / Math.max(turn, 0.05 * robotWeight()));
    parts.push(...arrowParts(foot, twist, arrowRadius(), cssColour("--part-external"), { heads: 2 }));
    found.push({ at: plus(foot, twist), text: `${numberText(turn, 3)} N m`, colour: "--part-external" });
  }
  return { parts, labels: found };
});

addPanel({ id: "push", title: "Push", letter: "F", key: "5", build: buildPush, state: showPush });
