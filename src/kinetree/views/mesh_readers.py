"""Readers of triangle meshes: STL (binary and text), OBJ and Collada, from bytes that came along.

They read shapes only: no materials, no textures, and never another file.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import ParseError
from kinetree.views.collada import read_collada
from kinetree.views.shapes import TriangleMesh

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
FAR = 1e4  # metres; corners further away are no robot, and would spoil every picture

Reader = Callable[[bytes, str], tuple[Array, Array]]


def read_mesh(reader: Reader, data: bytes, name: str) -> TriangleMesh:
    """The mesh of a file's bytes, checked: finite corners, triangles of existing corners."""
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused below
            vertices, triangles = reader(data, name)
    except ParseError:
        raise
    except (ValueError, LookupError, OverflowError, StopIteration) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise ParseError(f"{name} cannot be read as a mesh ({reason})") from None
    if not len(triangles):
        raise ParseError(f"{name} has no triangles")
    if not np.isfinite(vertices).all() or np.abs(vertices).max() > FAR:
        raise ParseError(f"{name} has corners that are not finite, or further than {FAR:g} m away")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise ParseError(f"{name} has a triangle of corners that are not there")
    return TriangleMesh(vertices, triangles)


def read_stl(data: bytes, name: str) -> tuple[Array, Array]:
    """STL: 80 bytes, a count, then 50 bytes a triangle; or text with 'vertex x y z' lines."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + 50 * count:
        corners = np.frombuffer(data, RECORD, count, 84)["corners"].reshape(-1, 3)
    elif data[:5].lower() == b"solid":
        lines = (line.split() for line in data.decode("latin-1").splitlines())
        found = [line[1:4] for line in lines if line and line[0].lower() == "vertex"]
        corners = np.array(found, float).reshape(-1, 3)
        corners = corners[: len(corners) // 3 * 3]
    else:
        raise ParseError(f"{name} is no STL file: {len(data)} bytes for {count} triangles")
    return joined(np.asarray(corners, float))


def joined(corners: Array) -> tuple[Array, Array]:
    """Corners (3m, 3) of m triangles as shared vertices and triangles (m, 3)."""
    vertices, index = np.unique(corners, axis=0, return_inverse=True)
    return vertices, index.reshape(-1, 3)


def read_obj(data: bytes, name: str) -> tuple[Array, Array]:
    """OBJ: 'v x y z' corners and 'f a/b/c ...' faces, cut into fans of triangles."""
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append([float(x) for x in words[1:4]])
        elif words[0] == "f":
            triangles += fan([_corner(word, len(vertices)) for word in words[1:]])
    return np.array(vertices, float).reshape(-1, 3), np.array(triangles, int).reshape(-1, 3)


def _corner(word: str, count: int) -> int:
    k = int(word.partition("/")[0])
    return k - 1 if k > 0 else count + k  # negative ones count from the last


def fan(corners: list[int]) -> Iterator[tuple[int, int, int]]:
    """A convex face as triangles about its first corner."""
    for b, c in pairwise(corners[1:]):
        yield corners[0], b, c


READERS: dict[str, Reader] = {".stl": read_stl, ".obj": read_obj, ".dae": read_collada}
