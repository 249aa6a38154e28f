"""Coarser meshes for pages: corners that fall into one cell of a grid become one."""

import numpy as np

from kinetree.base.arrays import Array
from kinetree.views.shapes import TriangleMesh

TRIALS = 9  # halvings of the interval, of logarithms, that the cell size is sought in
FINEST = 1e-4  # of the mesh's size; so three cell numbers fit one integer


def simplify(mesh: TriangleMesh, most: int) -> TriangleMesh:
    """A mesh of at most `most` triangles, or as near as cells come; as it is when it has no more.

    Each cell's corners are replaced by their mean; triangles that lose a corner vanish. The size of
    the cells is found by bisection, since the count falls as they grow.
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
    """For every corner the number of its cell, and how many corners each cell has."""
    x, y, z = np.floor((mesh.vertices - mesh.vertices.min(axis=0)) / cell).astype(np.int64).T
    key = (x << 42) | (y << 21) | z
    _, index, count = np.unique(key, return_inverse=True, return_counts=True)
    return index, count


def clustered(mesh: TriangleMesh, cell: float) -> TriangleMesh:
    """The mesh with the corners of every cell of that size made one."""
    index, count = cells_of(mesh, cell)
    columns = [np.bincount(index, mesh.vertices[:, k]) / count for k in range(3)]
    triangles = kept(mesh, index)
    _, first = np.unique(np.sort(triangles, axis=1), axis=0, return_index=True)
    return TriangleMesh(np.column_stack(columns), triangles[np.sort(first)])


def kept(mesh: TriangleMesh, index: Array) -> Array:
    """Triangles of three different cells, by the numbers of these."""
    a, b, c = index[mesh.triangles].T
    return np.column_stack([a, b, c])[(a != b) & (b != c) & (c != a)]
