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
  float light = 1.0; // lines have no normal
  if (flat_ < 0.5) light = 0.38 + 0.62 * abs(dot(normalize(facing), eye));
  gl_FragColor = vec4(colour * light, alpha);
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

function floorLines(camera, extent) {
  const side = unit(cross(camera.up, camera.eye)), front = cross(side, camera.up);
  const step = 10 ** Math.floor(Math.log10(extent)) * (extent / 10 ** Math.floor(Math.log10(extent)) > 4 ? 0.5 : 0.2);
  const half = Math.ceil(0.9 * extent / step), points = [];
  const under = plus(camera.target, times(camera.up, camera.floor - dot(camera.target, camera.up)));
  const snap = (axis) => Math.round(dot(under, axis) / step) * step;
  const middle = plus(plus(times(side, snap(side)), times(front, snap(front))), times(camera.up, camera.floor));
  for (let k = -half; k <= half; k++)
    for (const [a, b] of [[side, front], [front, side]])
      for (const end of [-half, half])
        points.push(...plus(middle, plus(times(a, k * step), times(b, end * step))));
  return new Float32Array(points);
}

function createViewer(canvas, scene) {
  const gl = canvas.getContext("webgl", { antialias: true });
  if (!gl) return null;
  const at = compile(gl), meshes = {};
  for (const [name, mesh] of Object.entries(scene.meshes)) {
    const { positions, normals, count } = expand(mesh);
    meshes[name] = { positions: upload(gl, positions), normals: upload(gl, normals), count };
  }
  const lines = floorLines(scene.camera, scene.extent);
  const grid = { positions: upload(gl, lines), count: lines.length / 3 };
  const ties = { positions: gl.createBuffer(), count: 0 }; // lines between frames of constraints
  const orbit = createOrbit(canvas, scene.camera, () => viewer.draw());
  const shown = new Set(scene.shown);
  let poses = [];

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
      gl.uniform1f(at.alpha, alpha);
      gl.bindBuffer(gl.ARRAY_BUFFER, mesh.positions);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
      gl.bindBuffer(gl.ARRAY_BUFFER, mesh.normals);
      gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 0, 0);
      gl.drawArrays(gl.TRIANGLES, 0, mesh.count);
    }
  }

  function drawFloor() {
    gl.disableVertexAttribArray(1);
    gl.uniformMatrix4fv(at.place, false, columns(IDENTITY));
    gl.uniform3f(at.colour, 0.5, 0.5, 0.5);
    gl.uniform1f(at.alpha, 0.35);
    gl.uniform1f(at.flat_, 1);
    gl.bindBuffer(gl.ARRAY_BUFFER, grid.positions);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.LINES, 0, grid.count);
    gl.uniform1f(at.flat_, 0);
    gl.enableVertexAttribArray(1);
  }

  function drawTies() {
    if (!ties.count || !shown.has("loop")) return;
    gl.disableVertexAttribArray(1);
    gl.uniformMatrix4fv(at.place, false, columns(IDENTITY));
    gl.uniform3f(at.colour, 0.77, 0.17, 0.48);
    gl.uniform1f(at.alpha, 1);
    gl.uniform1f(at.flat_, 1);
    gl.bindBuffer(gl.ARRAY_BUFFER, ties.positions);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.drawArrays(gl.LINES, 0, ties.count);
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
    move(T) { poses = T; viewer.draw(); },
    show(group, on) { shown[on ? "add" : "delete"](group); viewer.draw(); },
    isShown: (group) => shown.has(group),
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
      drawParts(drawn.filter((part) => part.group !== "inertia"), 1);
      drawTies();
      drawFloor();
      gl.depthMask(false);
      drawParts(drawn.filter((part) => part.group === "inertia"), 0.4);
      gl.depthMask(true);
    },
  };
  new ResizeObserver(() => viewer.draw()).observe(canvas);
  return viewer;
}
