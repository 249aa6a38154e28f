// Marks beside the robot: arrows, spheres and ellipsoids as parts for the viewer, link -1, in {s}.

const CORNERS = 20;

// Triangles of a surface that a profile of (radius, height) makes when it turns about z.
function turnedSurface(profile) {
  const positions = [], normals = [];
  const point = ([r, z], k) => [r * Math.cos(2 * Math.PI * k / CORNERS), r * Math.sin(2 * Math.PI * k / CORNERS), z];
  for (let p = 0; p + 1 < profile.length; p++) {
    const [[r0, z0], [r1, z1]] = [profile[p], profile[p + 1]];
    for (let k = 0; k < CORNERS; k++) {
      const [a, b] = [point(profile[p], k), point(profile[p], k + 1)];
      const [c, d] = [point(profile[p + 1], k), point(profile[p + 1], k + 1)];
      for (const corner of [a, b, c, b, d, c]) {
        const angle = Math.atan2(corner[1], corner[0]);
        positions.push(...corner);
        normals.push(...unit([(z1 - z0) * Math.cos(angle), (z1 - z0) * Math.sin(angle), r0 - r1 || 1e-9]));
      }
    }
  }
  return [new Float32Array(positions), new Float32Array(normals), positions.length / 3];
}

function addMarkMeshes(viewer) {
  const arc = Array.from({ length: 13 }, (_, k) => Math.PI * k / 12);
  const sphere = turnedSurface(arc.map((a) => [Math.sin(a), -Math.cos(a)]));
  sphere[1] = sphere[0]; // on the unit sphere a normal is its point
  viewer.addMesh("mark-sphere", ...sphere);
  viewer.addMesh("mark-rod", ...turnedSurface([[0, 0], [1, 0], [1, 1], [0, 1]]));
  viewer.addMesh("mark-cone", ...turnedSurface([[0, 0], [1, 0], [0, 1]]));
}

// Columns x, y, z of a frame whose z is a direction.
function frameAlong(z) {
  const helper = Math.abs(z[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0], x = unit(cross(helper, z));
  return [x, cross(z, x), z];
}

// A part with columns of its linear map and a place.
function markPart(mesh, columnsOf, sizes, at, colour, more = {}) {
  const A = [0, 1, 2].map((i) => columnsOf.map((c, j) => c[i] * sizes[j]));
  const N = [0, 1, 2].map((i) => columnsOf.map((c, j) => c[i] / sizes[j]));
  return { mesh, link: -1, A: poseOf(A, at), N: N.flat(), colour, group: "mark", ...more };
}

// An arrow from a point along a vector; moments have two heads. `radius` is that of the shaft.
function arrowParts(from, vector, radius, colour, { heads = 1, ...more } = {}) {
  const length = Math.hypot(...vector);
  if (!(length > 1e-9)) return [];
  const z = times(vector, 1 / length), axesOf = frameAlong(z);
  const head = Math.min(5.5 * radius, 0.5 * length / heads), wide = Math.min(2.6 * radius, 0.6 * head);
  const shaft = Math.max(length - head, 1e-6);
  const parts = [markPart("mark-rod", axesOf, [Math.min(radius, wide / 2), Math.min(radius, wide / 2), shaft], from, colour, more)];
  for (let k = 0; k < heads; k++)
    parts.push(markPart("mark-cone", axesOf, [wide, wide, head], plus(from, times(z, length - head * (1 + 0.8 * k))), colour, more));
  return parts;
}

const AXES_OF_SPACE = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
const spherePart = (at, radius, colour, more) =>
  markPart("mark-sphere", AXES_OF_SPACE, [radius, radius, radius], at, colour, more);

// R has its columns as axes of the ellipsoid, row by row.
function ellipsoidPart(at, R, radii, colour) {
  const columnsOf = [0, 1, 2].map((j) => [R[j], R[3 + j], R[6 + j]]);
  return markPart("mark-sphere", columnsOf, radii, at, colour, { alpha: 0.42 });
}

// The frame of a pose as three rods.
function framePart(T, length) {
  const colours = ["--axis-x", "--axis-y", "--axis-z"].map(cssColour);
  return colours.flatMap((colour, k) =>
    arrowParts([T[3], T[7], T[11]], [T[k] * length, T[4 + k] * length, T[8 + k] * length], 0.03 * length, colour, { front: true }));
}
