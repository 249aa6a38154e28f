"""Coarser meshes for pages: corners that fall into one cell of a grid become one."""

import numpy as np

from kinetree.arrays import Array
from kinetree.views.shapes import TriangleMesh

TRIALS = 12  # halvings of the interval that the cell size is sought in


def simplify(mesh: TriangleMesh, most: int) -> TriangleMesh:
    """A mesh of at most about `most` triangles; as it is when it has no more.

    Each cell's corners are replaced by their mean; triangles that lose a corner vanish. The size of
    the cells is found by bisection, since the count falls as they grow.
    """
    if len(mesh.triangles) <= most:
        return mesh
    box = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0))) or 1.0
    fine, coarse = 1e-4 * box, box
    best = clustered(mesh, coarse)
    for _ in range(TRIALS):
        cell = (fine * coarse) ** 0.5
        found = clustered(mesh, cell)
        if len(found.triangles) > most:
            fine = cell
        else:
            coarse, best = cell, found
    return best


def clustered(mesh: TriangleMesh, cell: float) -> TriangleMesh:
    """The mesh with the corners of every cell of that size made one."""
    low = mesh.vertices.min(axis=0)
    cells = np.floor((mesh.vertices - low) / cell).astype(np.int64)
    _, index, count = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    index = index.ravel()
    vertices = np.zeros((len(count), 3))
    np.add.at(vertices, index, mesh.vertices)
    return TriangleMesh(vertices / count[:, None], _kept(index[mesh.triangles]))


def _kept(triangles: Array) -> Array:
    """Triangles of three different corners, each once."""
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    _, first = np.unique(np.sort(triangles, axis=1), axis=0, return_index=True)
    return triangles[np.sort(first)]
