"""Rotors carried far from their joint, in the articulated-body algorithm.

Such a rotor couples its joint with a link that is neither its parent nor its own: a symmetric
correction e b^T + b e^T of M of rank two, which Woodbury's formula adds to the tree's inverse.
"""

from typing import Any

import numpy as np

from kinetree.algorithms.articulated_bodies import Articulation, sweep
from kinetree.algorithms.inputs import zeros
from kinetree.base.arrays import Array
from kinetree.model import WORLD, JointRotor, Model


def distant_rotors(model: Model) -> list[JointRotor]:
    """Rotors that are neither on the base nor on the parent or the own link of their joint."""
    return [
        rotor
        for rotor in model.rotors
        if rotor.link not in (WORLD, rotor.joint, model.parent[rotor.joint])
    ]


def tie_bias(model: Model, Ad_ip: list[Array], rotor: JointRotor, c: dict[int, Array]) -> Array:
    """Force at the rotor's joint from its carrier's acceleration at ddq = 0, (n,)."""
    dV = {WORLD: zeros(6)}
    for i in model.path(rotor.link):
        dV[i] = Ad_ip[i] @ dV[model.parent[i]] + c[i]
    force = rotor.s @ dV[rotor.link][:3] * (rotor.inertia * rotor.ratio)
    return np.eye(model.n, dtype=int)[rotor.dof] * force


def tie(
    model: Model,
    tree: dict[int, Articulation],
    Ad_ip: list[Array],
    far: list[JointRotor],
    ddq: Array,
) -> Array:
    """(M + P Q^T)^-1 M ddq from M^-1, with the distant rotors in P Q^T."""
    rest = {i: zeros(6) for i in model.links}
    unit = np.eye(model.n, dtype=int)
    P, Q = [], []
    for rotor in far:
        e, b = unit[rotor.dof], _row(model, Ad_ip, rotor)
        P += [e, b]
        Q += [b + e * (rotor.inertia * rotor.ratio * rotor.ratio), e]
    Z = [sweep(model, tree, rest, rest, zeros(6), column) for column in P]
    k = range(len(P))
    S = [[Q[a] @ Z[b] + int(a == b) for b in k] for a in k]
    y = _gauss(S, [Q[a] @ ddq for a in k])
    return ddq - sum(Z[a] * y[a] for a in k)


def _row(model: Model, Ad_ip: list[Array], rotor: JointRotor) -> Array:
    """b = I_m r J_k^T (s, 0), (n,): the row of M that a rotor on link k adds."""
    row: list[Any] = [0] * model.n
    F, k = np.concatenate([rotor.s * (rotor.inertia * rotor.ratio), zeros(3)]), rotor.link
    while k != WORLD:
        for d, b in zip(model.joints[k].dofs, model.A[k].T @ F, strict=True):
            row[d] = row[d] + b
        F, k = Ad_ip[k].T @ F, model.parent[k]
    return np.array(row)


def _gauss(S: list[list[Any]], y: list[Any]) -> list[Any]:
    """Solve a small general system over any scalar kind, pivoting by magnitude."""
    n = len(y)
    rows = [[*S[a], y[a]] for a in range(n)]
    for a in range(n):
        pivot = max(range(a, n), key=lambda r: abs(rows[r][a]))
        rows[a], rows[pivot] = rows[pivot], rows[a]
        for r in range(a + 1, n):
            ratio = rows[r][a] / rows[a][a]
            rows[r] = [x - ratio * z for x, z in zip(rows[r], rows[a], strict=True)]
    x: list[Any] = [0] * n
    for a in reversed(range(n)):
        rest = sum(rows[a][b] * x[b] for b in range(a + 1, n))
        x[a] = (rows[a][n] - rest) / rows[a][a]
    return x
