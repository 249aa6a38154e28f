"""M(q) three ways: composite rigid bodies, the sum of J^T G J, n calls of inverse dynamics.

Armature and rotors belong to M. A rotor at joint i on link k, with b = J_k^T (s, 0), adds
I_m r (e_i b^T + b e_i^T) + I_m r^2 e_i e_i^T.
"""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.formulations.drives import armature
from kinetree.model import WORLD, Model
from kinetree.model.inputs import coordinates, link_adjoints, zeros


def mass_matrix(model: Model, q: Any) -> Array:
    """M(q) by composite rigid bodies, (n, n), symmetric positive definite.

    Everything beyond joint i moves with it as one body; its momentum for unit rate is carried
    inward and meets the axes of the ancestors. Entries of unrelated joints are exact zeros.
    """
    Ad_ip = link_adjoints(model, coordinates(model, q))
    G = list(model.G)
    M: list[list[Any]] = [[0] * model.n for _ in range(model.n)]
    for i in reversed(model.links):
        p = model.parent[i]
        if p != WORLD:
            G[p] = G[p] + Ad_ip[i].T @ G[i] @ Ad_ip[i]
        F = G[i] @ model.A[i]
        j = i
        while j != WORLD:
            _add_block(M, model, i, j, model.A[j].T @ F)
            F, j = Ad_ip[j].T @ F, model.parent[j]
    return np.array(add_drives(model, M, Ad_ip)).reshape(model.n, model.n)


def _add_block(M: list[list[Any]], model: Model, i: int, j: int, block: Array) -> None:
    """Add the block of joints j, i (k_j x k_i) to M, and its mirror image when they differ."""
    for a, row in enumerate(model.joints[j].dofs):
        for b, column in enumerate(model.joints[i].dofs):
            M[row][column] = M[row][column] + block[a][b]
            if i != j:
                M[column][row] = M[column][row] + block[a][b]


def add_drives(model: Model, M: list[list[Any]], Ad_ip: list[Array]) -> list[list[Any]]:
    """M with armature and rotors; b of a rotor is found by walking from its carrier inward."""
    for i in model.links:
        for d in model.joints[i].dofs:
            M[d][d] = M[d][d] + armature(model, i)
    for rotor in model.rotors:
        e, k = rotor.dof, rotor.link
        weight = rotor.inertia * rotor.ratio
        M[e][e] = M[e][e] + weight * rotor.ratio
        F = np.concatenate([rotor.s * weight, zeros(3)])
        while k != WORLD:
            for d, b in zip(model.joints[k].dofs, model.A[k].T @ F, strict=True):
                M[e][d] = M[e][d] + b
                M[d][e] = M[d][e] + b
            F, k = Ad_ip[k].T @ F, model.parent[k]
    return M
