// The robot in WebGL: stretched unit meshes, one light at the eye, an orbiting camera.

const VERTEX = `
attribute vec3 position, normal;
uniform mat4 see, place;
uniform mat3 turn;
varying vec3 facing;
void main() { facing = turn * normal; gl_Position = see * (place * vec4(position, 1.0)); }`;
const FRAGMENT = `
precision mediump float;
uniform vec3 colour, eye;
uniform float alpha, flat_;
varying vec3 facing;
void main() {
  vec3 seen = colour; // lines have no normal
  if (flat_ < 0.5) {
    float light = 0.38 + 0.62 * abs(dot(normalize(facing), eye));
    seen = max(colour, vec3(0.11)) * light + 0.06 * pow(light, 9.0); // black parts have a shape, too
  }
  gl_FragColor = vec4(seen, alpha);
}`;
const CREASE = 0.7; // cosine of the angle from which an edge is sharp

function decode(text, Type) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Type(bytes.buffer);
}

// Corners and normals of every triangle; normals are shared across edges that are not sharp.
function expand(mesh) {
  const points = decode(mesh.vertices, Float32Array), index = decode(mesh.triangles, Uint32Array);
  const count = index.length / 3, faces = [], around = [];
  const corner = (k) => [points[3 * k], points[3 * k + 1], points[3 * k + 2]];
  for (let t = 0; t < count; t++) {
    const [a, b, c] = [0, 1, 2].map((k) => corner(index[3 * t + k]));
    const n = cross(plus(b, times(a, -1)), plus(c, times(a, -1)));
    faces.push(Math.hypot(...n) > 0 ? unit(n) : [0, 0, 1]);
    for (let k = 0; k < 3; k++) (around[index[3 * t + k]] ||= []).push(t);
  }
  const positions = new Float32Array(9 * count), normals = new Float32Array(9 * count);
  for (let t = 0; t < count; t++)
    for (let k = 0; k < 3; k++) {
      const v = index[3 * t + k];
      let n = [0, 0, 0];
      for (const other of around[v]) if (dot(faces[other], faces[t]) > CREASE) n = plus(n, faces[other]);
      positions.set(corner(v), 9 * t + 3 * k);
      normals.set(n, 9 * t + 3 * k);
    }
  return { positions, normals, count: 3 * count };
}

function compile(gl) {
  const program = gl.createProgram();
  for (const [type, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.bindAttribLocation(program, 0, "position");
  gl.bindAttribLocation(program, 1, "normal");
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  gl.useProgram(program);
  const at = {};
  for (const name of ["see", "place", "turn", "colour", "eye", "alpha", "flat_"])
    at[name] = gl.getUniformLocation(program, name);
  return at;
}

function upload(gl, data) {
  const buffer = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
  return buffer;
}

const columns = (A) => [0, 1, 2, 3].flatMap((j) => [0, 1, 2, 3].map((i) => A[4 * i + j]));

// Lines on the floor; a planar robot has a wall behind it, {normal, at}, instead.
function floorLines(camera, extent) {
  const { normal, at } = camera.wall || { normal: camera.up, at: camera.floor };
  const side = unit(cross(normal, camera.wall ? camera.up : camera.eye)), front = cross(side, normal);
  const step = 10 ** Math.floor(Math.log10(extent)) * (extent / 10 ** Math.floor(Math.log10(extent)) > 4 ? 0.5 : 0.2);
  const half = Math.ceil(0.9 * (camera.spread || 1) * extent / step), points = [];
  const under = plus(camera.target, times(normal, at - dot(camera.target, normal)));
  const snap = (axis) => Math.round(dot(under, axis) / step) * step;
  const middle = plus(plus(times(side, snap(side)), times(front, snap(front))), times(normal, at));
  // pieces of one step: a long line that passes behind the camera is lost in some drivers
  for (let k = -half; k <= half; k++)
    for (const [a, b] of [[side, front], [front, side]])
      for (let piece = -half; piece < half; piece++)
        for (const end of [piece, piece + 1])
          points.push(...plus(middle, plus(times(a, k * step), times(b, end * step))));
  return new Float32Array(points);
}

// The colour of the floor's lines, which is the CSS colour of the canvas: red, green, blue and
// alpha from 0 to 1.
function gridColour(canvas) {
  const [r, g, b, alpha] = (getComputedStyle(canvas).color.match(/[\d.]+/g) || []).map(Number);
  return [r / 255, g / 255, b / 255, alpha ?? 0.35];
}

// Lowest and highest corner of the box about points.
function boxOf(corners) {
  const box = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
  corners.forEach((x, k) => {
    box[0][k % 3] = Math.min(box[0][k % 3], x);
    box[1][k % 3] = Math.max(box[1][k % 3], x);
  });
  return box;
}

// Inverse of an affine map; null if it is flat.
function inverseAffine(A) {
  const rows = [0, 4, 8].map((k) => A.slice(k, k + 3)), volume = dot(rows[0], cross(rows[1], rows[2]));
  if (!(Math.abs(volume) > 1e-18)) return null;
  const columns = [[1, 2], [2, 0], [0, 1]].map(([i, j]) => times(cross(rows[i], rows[j]), 1 / volume));
  const R = [0, 1, 2].map((i) => columns.map((column) => column[i]));
  return poseOf(R, R.map((row) => -dot(row, [A[3], A[7], A[11]])));
}

// The least share of `way` at which the line from a point meets a triangle; Infinity: it meets none.
function nearestHit(corners, from, way) {
  let best = Infinity;
  const at = (k) => [corners[k], corners[k + 1], corners[k + 2]];
  for (let k = 0; k < corners.length; k += 9) {
    const a = at(k), ab = plus(at(k + 3), times(a, -1)), ac = plus(at(k + 6), times(a, -1));
    const p = cross(way, ac), size = dot(ab, p);
    if (Math.abs(size) < 1e-15) continue;
    const away = plus(from, times(a, -1)), u = dot(away, p) / size;
    if (u < 0 || u > 1) continue;
    const r = cross(away, ab), v = dot(way, r) / size;
    if (v < 0 || u + v > 1) continue;
    const share = dot(ac, r) / size;
    if (share > 0 && share < best) best = share;
  }
  return best;
}

function createViewer(canvas, scene) {
  const gl = canvas.getContext("webgl", { antialias: true });
  if (!gl) return null;
  const at = compile(gl), meshes = {};
  function addMesh(name, positions, normals, count) {
    meshes[name] = { positions: upload(gl, positions), normals: upload(gl, normals), count, corners: positions };
  }
  for (const [name, mesh] of Object.entries(scene.meshes)) {
    const { positions, normals, count } = expand(mesh);
    addMesh(name, positions, normals, count);
  }
  const lines = floorLines(scene.camera, scene.extent);
  const grid = { positions: upload(gl, lines), count: lines.length / 3 };
  const ties = { positions: gl.createBuffer(), count: 0 }; // lines between frames of constraints
  const orbit = createOrbit(canvas, scene.camera, () => viewer.draw());
  const shown = new Set(scene.shown);
  let poses = [], marks = [], clear = 1;
  const placeOf = (part) => part.link < 0 ? part.A : multiply(poses[part.link], part.A);

  function drawParts(parts, alpha) {
    for (const part of parts) {
      const T = part.link < 0 ? IDENTITY : poses[part.link], mesh = meshes[part.mesh];
      const R = [0, 1, 2].map((i) => [0, 1, 2].map((j) => T[4 * i + j])), N = part.N;
      const turn = [];
      for (let j = 0; j < 3; j++)
        for (let i = 0; i < 3; i++)
          turn.push(R[i][0] * N[j] + R[i][1] * N[3 + j] + R[i][2] * N[6 + j]);
      gl.uniformMatrix4fv(at.place, false, columns(multiply(T, part.A)));
      gl.uniformMatrix3fv(at.turn, false, turn);
      gl.uniform3fv(at.colour, part.colour.map((c) => c / 255));
      gl.uniform1f(at.alpha, part.alpha ?? alpha);
      gl.bindBuffer(gl.ARRAY_BUFFER, mesh.positions);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
      gl.bindBuffer(gl.ARRAY_BUFFER, mesh.normals);
      gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 0, 0);
      gl.drawArrays(gl.TRIANGLES, 0, mesh.count);
    }
  }

  function drawLines({ positions, count }, [r, g, b], alpha) {
    if (!count) return;
    gl.disableVertexAttribArray(1);
    gl.uniformMatrix4fv(at.place, false, columns(IDENTITY));
    gl.uniform3f(at.colour, r, g, b);
    gl.uniform1f(at.alpha, alpha);
    gl.uniform1f(at.flat_, 1);
    gl.bindBuffer(gl.ARRAY_BUFFER, positions);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.LINES, 0, count);
    gl.uniform1f(at.flat_, 0);
    gl.enableVertexAttribArray(1);
  }

  const viewer = {
    // Lines between points of {s}, drawn with the group "loop".
    tie(lines) {
      gl.bindBuffer(gl.ARRAY_BUFFER, ties.positions);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(lines.flat(2)), gl.DYNAMIC_DRAW);
      ties.count = 2 * lines.length;
    },
    place(T) { poses = T; }, // drawn the next time
    move(T) { poses = T; viewer.draw(); },
    show(group, on) { shown[on ? "add" : "delete"](group); viewer.draw(); },
    isShown: (group) => shown.has(group),
    // The groups that are drawn from the next drawing on.
    showOnly(groups) {
      shown.clear();
      for (const group of groups) shown.add(group);
    },
    drawn: null, // called after each drawing
    camera: orbit,
    addMesh,
    // Parts drawn besides the robot's, of link -1: arrows, ellipsoids; `front` ones hide the rest.
    mark(parts) { marks = parts; },
    // Opacity of the robot.
    fade(alpha) { clear = alpha; },
    // Corners of the boxes about the parts of some groups, in {s}.
    corners(groups) {
      const found = [];
      for (const part of scene.parts) {
        if (!groups.includes(part.group)) continue;
        const A = placeOf(part), box = boxOf(meshes[part.mesh].corners);
        for (let k = 0; k < 8; k++) found.push(placed(A, [0, 1, 2].map((i) => box[(k >> i) & 1][i])));
      }
      return found;
    },
    // Origin and direction in {s} of the line of sight through a pixel of the canvas.
    ray(x, y) {
      const [right, above, back] = orbit.axes(), [wide, high] = orbit.opening();
      const side = (2 * x / canvas.clientWidth - 1) * wide, up = (1 - 2 * y / canvas.clientHeight) * high;
      return [orbit.position(), plus(plus(times(right, side), times(above, up)), times(back, -1))];
    },
    // Link and point in {s} of the part of some groups that is seen at a pixel; null: there is none.
    pick(x, y, groups) {
      const [from, way] = viewer.ray(x, y);
      let best = null;
      for (const part of scene.parts) {
        if (part.link < 0 || !groups.includes(part.group) || !shown.has(part.group)) continue;
        const inverse = inverseAffine(placeOf(part));
        if (!inverse) continue;
        const share = nearestHit(meshes[part.mesh].corners, placed(inverse, from), turned(inverse, way));
        if (share < (best ? best.share : Infinity)) best = { share, link: part.link };
      }
      return best && { link: best.link, point: plus(from, times(way, best.share)) };
    },
    reset() { orbit.reset(); viewer.draw(); },
    // Where a point of {s} is seen, in pixels of the page from the canvas' upper left corner.
    project(p) {
      const see = orbit.matrix(), x = [...p, 1];
      const [a, b, , w] = [0, 1, 2, 3].map((i) => see[4 * i] * x[0] + see[4 * i + 1] * x[1] + see[4 * i + 2] * x[2] + see[4 * i + 3]);
      return [(a / w + 1) / 2 * canvas.clientWidth, (1 - b / w) / 2 * canvas.clientHeight];
    },
    draw() {
      const ratio = window.devicePixelRatio || 1;
      const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((x) => Math.max(1, Math.round(x * ratio)));
      if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      if (!poses.length && scene.parts.some((part) => part.link >= 0)) return;
      gl.enable(gl.DEPTH_TEST);
      gl.enable(gl.BLEND);
      gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      gl.enableVertexAttribArray(0);
      gl.enableVertexAttribArray(1);
      gl.uniformMatrix4fv(at.see, false, columns(orbit.matrix()));
      gl.uniform3fv(at.eye, orbit.eye());
      const drawn = scene.parts.filter((part) => shown.has(part.group));
      const solid = drawn.filter((part) => part.group !== "inertia");
      const opaque = marks.filter((mark) => (mark.alpha ?? 1) === 1 && !mark.front);
      drawParts(clear < 1 ? opaque : solid.concat(opaque), 1);
      if (shown.has("loop")) drawLines(ties, [0.77, 0.17, 0.48], 1);
      const [r, g, b, alpha] = gridColour(canvas);
      drawLines(grid, [r, g, b], alpha);
      gl.depthMask(false);
      gl.depthFunc(gl.GREATER); // marks inside the robot shine through it
      drawParts(clear < 1 ? [] : opaque.map((mark) => ({ ...mark, alpha: 0.3 })), 1);
      gl.depthFunc(gl.LESS);
      if (clear < 1) drawParts(solid, clear);
      drawParts(drawn.filter((part) => part.group === "inertia"), 0.4);
      drawParts(marks.filter((mark) => mark.alpha < 1), 1);
      gl.disable(gl.DEPTH_TEST);
      drawParts(marks.filter((mark) => mark.front), 1);
      gl.depthMask(true);
      if (viewer.drawn) viewer.drawn();
    },
  };
  new ResizeObserver(() => viewer.draw()).observe(canvas);
  return viewer;
}
