// The camera on a sphere about its target: drag to turn, wheel or pinch to zoom, shift-drag
// to move aside; arrow keys and + - do the same.

function createOrbit(canvas, camera, changed) {
  const up = camera.up, side = unit(cross(up, camera.eye)), front = cross(side, up);
  const height = Math.asin(Math.max(-1, Math.min(1, dot(up, camera.eye))));
  let first = { angle: 0, height, distance: camera.distance, target: [...camera.target] };
  const home = () => ({ ...first, target: [...first.target] });
  let at = home();
  const fingers = new Map();

  const eye = () => {
    const level = plus(times(front, Math.cos(at.angle)), times(side, Math.sin(at.angle)));
    return plus(times(level, Math.cos(at.height)), times(up, Math.sin(at.height)));
  };
  const axes = () => {
    const back = eye(), right = unit(cross(up, back));
    return [right, cross(back, right), back];
  };
  function turn(dx, dy) {
    at.angle -= dx;
    at.height = Math.max(-1.5, Math.min(1.5, at.height + dy));
    changed();
  }
  function zoom(factor) {
    at.distance = Math.max(camera.distance / 50, Math.min(camera.distance * 20, at.distance * factor));
    changed();
  }
  function slide(dx, dy) {
    const [right, above] = axes(), scale = at.distance / canvas.clientHeight;
    at.target = plus(at.target, plus(times(right, -dx * scale), times(above, dy * scale)));
    changed();
  }
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y) || 1;
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  for (const end of ["pointerup", "pointercancel"])
    canvas.addEventListener(end, (event) => fingers.delete(event.pointerId));
  canvas.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const before = fingers.size === 2 ? spread() : 0;
    const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size === 2) zoom(before / spread());
    else if (event.shiftKey || event.buttons === 2 || event.buttons === 4) slide(dx, dy);
    else turn(dx * 0.008, dy * 0.008);
  });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    // the page scrolls until the view is clicked, unless the view fills the page
    if (document.activeElement !== canvas && canvas.dataset.wheel !== "always") return;
    event.preventDefault();
    zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.003));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const keys = {
      ArrowLeft: () => turn(0.1, 0), ArrowRight: () => turn(-0.1, 0),
      ArrowUp: () => turn(0, 0.1), ArrowDown: () => turn(0, -0.1),
      "+": () => zoom(0.85), "-": () => zoom(1.18),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  // Half of what is seen at distance 1, to the side and upward.
  function opening() {
    const aspect = canvas.clientWidth / Math.max(1, canvas.clientHeight);
    const half = Math.tan(camera.opening / 2) / Math.min(1, aspect);
    return [half * aspect, half];
  }

  return {
    eye,
    axes,
    opening,
    position: () => plus(at.target, times(eye(), at.distance)),
    reset() { at = home(); },
    get: () => ({ ...at, target: [...at.target] }),
    set(other) { at = { ...at, ...other }; },
    // The nearest point of view, in the present direction, from which all points of {s} are seen
    // within `share` of the canvas; it becomes the one that `reset` returns to.
    frame(points, share = 0.84) {
      const rows = axes(), [wide, high] = opening().map((x) => x * share);
      let target = at.target, distance = at.distance;
      for (let round = 0; round < 4; round++) {
        const seen = points.map((p) => rows.map((a) => dot(a, plus(p, times(target, -1)))));
        distance = Math.max(1e-6, ...seen.map(([x, y, z]) => z + Math.max(Math.abs(x) / wide, Math.abs(y) / high)));
        for (const k of [0, 1]) {
          const shares = seen.map((x) => x[k] / Math.max(1e-9, distance - x[2]));
          const middle = (Math.max(...shares) + Math.min(...shares)) / 2;
          target = plus(target, times(rows[k], middle * distance));
        }
      }
      first = { ...at, target, distance };
      at = home();
    },
    matrix() {
      const [right, above, back] = axes(), position = plus(at.target, times(back, at.distance));
      const look = poseOf([right, above, back], [right, above, back].map((a) => -dot(a, position)));
      const near = at.distance / 100, far = at.distance * 10 + camera.distance * 4;
      const aspect = canvas.clientWidth / Math.max(1, canvas.clientHeight);
      const f = 1 / Math.tan(camera.opening / 2) * Math.min(1, aspect), gap = near - far;
      return multiply([
        f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / gap, 2 * far * near / gap, 0, 0, -1, 0,
      ], look);
    },
  };
}
