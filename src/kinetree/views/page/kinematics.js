// Forward kinematics and gravity forces of a tree, as in kinetree.algorithms; 4x4 matrices are
// arrays of 16, row by row. `robot` is the data of kinetree.views.page.stage.robot_data.

const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

function multiply(A, B) {
  const C = new Array(16);
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < 4; j++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += A[4 * i + k] * B[4 * k + j];
      C[4 * i + j] = sum;
    }
  return C;
}

const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0],
];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const plus = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const times = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const unit = (a) => times(a, 1 / Math.hypot(...a));
const turned = (T, x) => [0, 4, 8].map((k) => T[k] * x[0] + T[k + 1] * x[1] + T[k + 2] * x[2]);
const placed = (T, x) => plus(turned(T, x), [T[3], T[7], T[11]]);

function poseOf(R, p) {
  return [...R[0], p[0], ...R[1], p[1], ...R[2], p[2], 0, 0, 0, 1];
}

// Rotation about a unit axis, Rodrigues' formula.
function rotation(w, angle) {
  const s = Math.sin(angle), c = Math.cos(angle), d = 1 - c, [x, y, z] = w;
  return [
    [c + d * x * x, d * x * y - s * z, d * x * z + s * y],
    [d * x * y + s * z, c + d * y * y, d * y * z - s * x],
    [d * x * z - s * y, d * y * z + s * x, c + d * z * z],
  ];
}

// exp([A] theta) of a screw axis A = (w, v); the pitch of a hinge is zero.
function screwPose(A, theta, hinge) {
  const w = A.slice(0, 3), v = A.slice(3);
  if (dot(w, w) === 0) return poseOf([[1, 0, 0], [0, 1, 0], [0, 0, 1]], times(v, theta));
  const around = cross(w, v);
  let p = plus(times(cross(around, w), Math.sin(theta)), times(around, 1 - Math.cos(theta)));
  if (!hinge) p = plus(p, times(w, dot(w, v) * theta));
  return poseOf(rotation(w, theta), p);
}

function quaternionMatrix([w, x, y, z]) {
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
}

// Quaternion of yaw about z after pitch about y after roll about x, fixed axes.
function rpyQuaternion(roll, pitch, yaw) {
  const [a, b, c] = [roll / 2, pitch / 2, yaw / 2];
  const [sa, sb, sc] = [a, b, c].map(Math.sin), [ca, cb, cc] = [a, b, c].map(Math.cos);
  return [
    ca * cb * cc + sa * sb * sc, sa * cb * cc - ca * sb * sc,
    ca * sb * cc + sa * cb * sc, ca * cb * sc - sa * sb * cc,
  ];
}

function jointPose(link, q) {
  const own = link.coords.map((c) => q[c]);
  if (link.screw) return screwPose(link.screw, link.scale * own[0] + link.offset, link.type === "revolute");
  if (link.type === "planar") return poseOf(rotation([0, 0, 1], own[0]), [own[1], own[2], 0]);
  const p = link.type === "free" ? own.slice(4) : [0, 0, 0];
  return poseOf(quaternionMatrix(own), p);
}

// T_si of every link.
function linkPoses(robot, q) {
  const T = [];
  for (const link of robot.links) {
    const T_sp = link.parent < 0 ? IDENTITY : T[link.parent];
    T.push(multiply(T_sp, multiply(link.M, jointPose(link, q))));
  }
  return T;
}

// Pose of the tool in {s}; null for a robot without one.
function toolPose(robot, T) {
  if (!robot.tool) return null;
  return robot.tool.link < 0 ? robot.tool.T : multiply(T[robot.tool.link], robot.tool.T);
}

// g(q): forces and moments about the origin of {s} add up inward; tau is their part along each axis.
function gravityForces(robot, T) {
  const tau = new Array(robot.n).fill(0);
  const force = [], moment = [];
  robot.links.forEach((link, i) => {
    force.push(times(robot.gravity, link.m));
    moment.push(cross(placed(T[i], link.com), force[i]));
  });
  for (let i = robot.links.length - 1; i >= 0; i--) {
    const link = robot.links[i], origin = [T[i][3], T[i][7], T[i][11]];
    link.axes.forEach((A, k) => {
      const w = turned(T[i], A.slice(0, 3));
      const v = plus(turned(T[i], A.slice(3)), cross(origin, w));
      tau[link.dofs[k]] -= dot(w, moment[i]) + dot(v, force[i]);
    });
    if (link.parent >= 0) {
      force[link.parent] = plus(force[link.parent], force[i]);
      moment[link.parent] = plus(moment[link.parent], moment[i]);
    }
  }
  return tau;
}
