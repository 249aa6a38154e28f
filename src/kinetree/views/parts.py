"""Parts: every shape as triangle meshes that are stretched and placed, for pages to draw.

Large meshes are made coarser: corners that fall into one cell of a grid become one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from kinetree.core.arrays import Array
from kinetree.spatial.se3 import pose
from kinetree.views.shapes import AXES, Colour, Shape, TriangleMesh

ROUND = 20  # corners of a circle
FEWEST = 60  # triangles that every mesh keeps
TRIALS = 9  # bisections of the logarithm of the cell size
FINEST = 1e-4  # cell size over mesh size; then three cell numbers fit into one 64-bit integer


@dataclass(frozen=True, eq=False)
class Part:
    """A mesh by its name, scaled and placed by the affine map A (4, 4) in the frame of a link."""

    mesh: str
    link: int
    A: Array
    colour: Colour
    group: str


@dataclass(frozen=True, eq=False)
class Parts:
    """Meshes by name, and the parts that use them."""

    meshes: dict[str, TriangleMesh]
    parts: tuple[Part, ...]


def parts_of(shapes: tuple[Shape, ...], triangles: int = 40_000) -> Parts:
    """Parts of shapes; meshes from files are made coarser to have `triangles` in total."""
    files = {id(s.mesh): s.mesh for s in shapes if s.mesh is not None}
    names = {key: f"file{k}" for k, key in enumerate(files)}
    meshes = {names[key]: mesh for key, mesh in files.items()}
    parts = tuple(part for shape in shapes for part in _parts(shape, names))
    used = {part.mesh for part in parts}
    units = {name: make() for name, make in UNITS.items() if name in used}
    return Parts(coarser(meshes, triangles) | units, parts)


def link_meshes(parts: Parts) -> Iterator[tuple[int, int, Array, Array, Colour]]:
    """Every part as link, number, vertices (k, 3) in its frame, triangles (m, 3) and colour."""
    for k, part in enumerate(parts.parts):
        mesh = parts.meshes[part.mesh]
        points = mesh.vertices @ part.A[:3, :3].T + part.A[:3, 3]
        yield part.link, k, points, mesh.triangles, part.colour


def coarser(meshes: dict[str, TriangleMesh], triangles: int) -> dict[str, TriangleMesh]:
    """Meshes from files reduced to `triangles` in total, each in proportion; others unchanged."""
    files = {name: mesh for name, mesh in meshes.items() if name not in UNITS}
    total = sum(len(mesh.triangles) for mesh in files.values())
    return meshes | {
        name: simplify(mesh, max(triangles * len(mesh.triangles) // total, FEWEST))
        for name, mesh in files.items()
    }


def _parts(shape: Shape, names: dict[int, str]) -> Iterator[Part]:
    for mesh, A, colour in _pieces(shape, names):
        yield Part(mesh, shape.link, shape.T @ A, colour, shape.group)


def _pieces(shape: Shape, names: dict[int, str]) -> Iterator[tuple[str, Array, Colour]]:
    size, colour = shape.size, shape.colour
    if shape.mesh is not None:
        yield names[id(shape.mesh)], np.eye(4), colour
    elif shape.kind == "box":
        yield "box", stretch(*size), colour
    elif shape.kind == "sphere":
        yield "sphere", stretch(size[0], size[0], size[0]), colour
    elif shape.kind == "ellipsoid":
        yield "sphere", stretch(*size), colour
    elif shape.kind in ("cylinder", "capsule"):
        radius, length = size
        yield "cylinder", stretch(radius, radius, length), colour
        if shape.kind == "capsule":
            for z in (-length / 2, length / 2):
                yield "sphere", stretch(radius, radius, radius, z), colour
    elif shape.kind == "frame":
        for k, axis in enumerate(AXES):
            turn = np.roll(np.eye(3), 2 - k, axis=1)  # takes z of the cylinder to axis k
            yield "cylinder", pose(turn, np.zeros(3)) @ _rod(size[0]), axis


def _rod(length: float) -> Array:
    return stretch(0.035 * length, 0.035 * length, length, length / 2)


def stretch(x: float, y: float, z: float, along: float = 0.0) -> Array:
    """Affine map that scales x, y, z and then moves by `along` in z."""
    return pose(np.diag([x, y, z]), np.array([0, 0, along]))


@cache
def unit_sphere(corners: int = ROUND) -> TriangleMesh:
    """Sphere of radius 1; its equator has so many corners."""
    rings = corners // 2
    theta = np.pi * np.arange(1, rings) / rings
    phi = 2 * np.pi * np.arange(corners) / corners
    t, p = (x.ravel() for x in np.meshgrid(theta, phi, indexing="ij"))
    middle = np.column_stack([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)])
    top, bottom, last = len(middle), len(middle) + 1, (rings - 2) * corners
    faces = []
    for k in range(corners):
        n = (k + 1) % corners
        faces += [(top, k, n), (bottom, last + n, last + k)]
        for ring in range(0, last, corners):
            a, b, c, d = ring + k, ring + n, ring + corners + k, ring + corners + n
            faces += [(a, c, b), (b, c, d)]
    return TriangleMesh(np.concatenate([middle, [[0, 0, 1], [0, 0, -1]]]), np.array(faces))


@cache
def unit_cylinder(corners: int = ROUND) -> TriangleMesh:
    """Cylinder of radius 1 and length 1 along z, closed."""
    phi = 2 * np.pi * np.arange(corners) / corners
    ring = np.column_stack([np.cos(phi), np.sin(phi), np.full(corners, -0.5)])
    ends = [[0, 0, -0.5], [0, 0, 0.5]]
    faces = []
    for k in range(corners):
        n, up = (k + 1) % corners, corners
        faces += [(k, n, up + k), (n, up + n, up + k), (2 * up, n, k), (2 * up + 1, up + k, up + n)]
    return TriangleMesh(np.concatenate([ring, ring + np.array([0, 0, 1]), ends]), np.array(faces))


@cache
def unit_box() -> TriangleMesh:
    """Box with edges of length 1."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
    return TriangleMesh(corners, np.array(faces))


UNITS = {"sphere": unit_sphere, "cylinder": unit_cylinder, "box": unit_box}


def simplify(mesh: TriangleMesh, most: int) -> TriangleMesh:
    """A mesh of about `most` triangles or fewer; the same mesh if it has no more than that.

    The corners in each cell of a grid are replaced by their mean, and triangles with two corners in
    one cell disappear. The cell size is found by bisection: larger cells leave fewer triangles.
    """
    if len(mesh.triangles) <= most:
        return mesh
    box = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0))) or 1.0
    fine, coarse = FINEST * box, box / 2
    for _ in range(TRIALS):
        cell = (fine * coarse) ** 0.5
        if len(kept(mesh, cells_of(mesh, cell)[0])) > most:
            fine = cell
        else:
            coarse = cell
    return clustered(mesh, coarse)


def cells_of(mesh: TriangleMesh, cell: float) -> tuple[Array, Array]:
    """Cell number of every corner, and the number of corners in each cell."""
    x, y, z = np.floor((mesh.vertices - mesh.vertices.min(axis=0)) / cell).astype(np.int64).T
    key = (x << 42) | (y << 21) | z
    _, index, count = np.unique(key, return_inverse=True, return_counts=True)
    return index, count


def clustered(mesh: TriangleMesh, cell: float) -> TriangleMesh:
    """The mesh with the corners of every cell merged; repeated triangles are dropped."""
    index, count = cells_of(mesh, cell)
    columns = [np.bincount(index, mesh.vertices[:, k]) / count for k in range(3)]
    triangles = kept(mesh, index)
    _, first = np.unique(np.sort(triangles, axis=1), axis=0, return_index=True)
    return TriangleMesh(np.column_stack(columns), triangles[np.sort(first)])


def kept(mesh: TriangleMesh, index: Array) -> Array:
    """Triangles whose corners lie in three different cells, as cell numbers."""
    a, b, c = index[mesh.triangles].T
    return np.column_stack([a, b, c])[(a != b) & (b != c) & (c != a)]
