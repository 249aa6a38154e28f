"""M(q) three ways: composite rigid bodies, the sum of J^T G J, n calls of inverse dynamics.

Armature and rotors belong to M. A rotor at joint i on link k, with b = J_k^T (s, 0), adds
I_m r (e_i b^T + b e_i^T) + I_m r^2 e_i e_i^T.
"""

from typing import Any

import numpy as np

from kinetree.algorithms.drives import frictionless
from kinetree.algorithms.inputs import joint_vector, zeros
from kinetree.algorithms.inverse_dynamics import inverse_dynamics
from kinetree.algorithms.jacobian import link_jacobians
from kinetree.arrays import Array
from kinetree.model import WORLD, Model
from kinetree.spatial import Ad, exp_se3


def mass_matrix(model: Model, q: Any) -> Array:
    """M(q) by composite rigid bodies, (n, n), symmetric positive definite.

    Everything beyond joint i moves with it as one body; its momentum for unit rate is carried
    inward and meets the axes of the ancestors. Entries of unrelated joints are exact zeros.
    """
    q = joint_vector(model, q, "q")
    Ad_ip = [Ad(exp_se3(model.A[i], -q[i]) @ model.M_ip[i]) for i in model.links]
    G = list(model.G)
    M: list[list[Any]] = [[0] * model.n for _ in model.links]
    for i in reversed(model.links):
        p = model.parent[i]
        if p != WORLD:
            G[p] = G[p] + Ad_ip[i].T @ G[i] @ Ad_ip[i]
        F = G[i] @ model.A[i]
        j = i
        while j != WORLD:
            M[i][j] = M[j][i] = model.A[j] @ F
            F, j = Ad_ip[j].T @ F, model.parent[j]
    return np.array(add_drives(model, M, Ad_ip))


def add_drives(model: Model, M: list[list[Any]], Ad_ip: list[Array]) -> list[list[Any]]:
    """M with armature and rotors; b of a rotor is found by walking from its carrier inward."""
    for i in model.links:
        M[i][i] = M[i][i] + model.armature[i]
    for rotor in model.rotors:
        i, k = rotor.joint, rotor.link
        weight = rotor.inertia * rotor.ratio
        M[i][i] = M[i][i] + weight * rotor.ratio
        F = np.concatenate([rotor.s * weight, zeros(3)])
        while k != WORLD:
            b = model.A[k] @ F
            M[i][k] = M[i][k] + b
            M[k][i] = M[k][i] + b
            F, k = Ad_ip[k].T @ F, model.parent[k]
    return M


def mass_matrix_by_jacobians(model: Model, q: Any) -> Array:
    """M(q) = sum of J_i^T G_i J_i over the links."""
    J = link_jacobians(model, q)
    M = np.diag(model.armature) + sum(J[i].T @ model.G[i] @ J[i] for i in model.links)
    for rotor in model.rotors:
        e = np.eye(model.n, dtype=int)[rotor.joint]
        weight = rotor.inertia * rotor.ratio
        M = M + np.outer(e, e) * (weight * rotor.ratio)
        if rotor.link != WORLD:
            b = rotor.s @ J[rotor.link][:3]
            M = M + (np.outer(e, b) + np.outer(b, e)) * weight
    return M


def mass_matrix_by_inverse_dynamics(model: Model, q: Any) -> Array:
    """M(q) column by column: joint forces of unit accelerations, without gravity and motion."""
    still = frictionless(model).with_gravity(zeros(3))
    unit = np.eye(model.n, dtype=int)
    columns = [inverse_dynamics(still, q, zeros(model.n), unit[i]) for i in model.links]
    return np.array(columns).T
