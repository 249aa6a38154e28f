// The tool is dragged by its grip: the joints follow by inverse kinematics of the server.

const askReach = newestOnly("reach", (answer, { robot }) => {
  if (robot !== bench.robot.id || !bench.dragged) return;
  bench.kept = null;
  changeJoints({ q: answer.q }, "drag");
  byId("grip-tool").classList.toggle("far", !answer.reached);
}, (error) => { if (!error.ended) showError(byId("message-anchor"), error.message); });

// Pose in {s} of the frame that is dragged; null for a robot without a tool.
function draggedFrame() {
  const { tool } = bench.robot.stage.robot;
  return tool && bench.robot.n ? frameOf(tool.link, tool.T, bench.poses) : null;
}

// The first request compiles inverse kinematics: it is made before the drag, and moves nothing.
function prepareDrag() {
  if (!bench.dragged) askReach({ robot: bench.robot.id, q: bench.at.q, T: draggedFrame(), frame: bench.robot.tool });
}

// Follow the pointer in the plane through the tool that is parallel to the screen.
function dragTool(event) {
  event.preventDefault();
  const T = draggedFrame(), canvas = byId("view");
  const drag = (next) => {
    const to = pointInDepth(localPoint(canvas, next), [T[3], T[7], T[11]]), goal = [...T];
    [3, 7, 11].forEach((k, i) => { goal[k] = to[i]; });
    bench.dragged = true;
    askReach({ robot: bench.robot.id, q: bench.at.q, T: goal, frame: bench.robot.tool });
  };
  const end = () => {
    removeEventListener("pointermove", drag);
    removeEventListener("pointerup", end);
    byId("grip-tool").classList.remove("far");
  };
  addEventListener("pointermove", drag);
  addEventListener("pointerup", end);
}

function placeToolGrip() {
  const T = draggedFrame();
  let grip = byId("grip-tool");
  if (!grip) {
    grip = make("button", { type: "button", class: "grip", id: "grip-tool", title: "Drag the tool: the joints follow", "aria-label": "Tool: drag it, the joints follow", pointerdown: dragTool, pointerenter: prepareDrag });
    byId("overlay").append(grip);
  }
  grip.hidden = T === null;
  if (T === null) return;
  const [x, y] = bench.viewer.project([T[3], T[7], T[11]]);
  grip.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
}
