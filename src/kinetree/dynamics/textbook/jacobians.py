"""M, C and g as sums over the links with their Jacobians: the definitions, to check against.

    M = sum of J^T G J,    C = sum of J^T (G dJ + B J),    g = - sum of J^T F_weight

`dynamics` has M and C by composite bodies and g by the recursion, with far fewer operations.
"""

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.joints.rotors import (
    armature,
    armature_coriolis,
    rotor_coriolis,
    rotor_inertia,
    turns_armature,
)
from kinetree.dynamics.kinematics import forward_kinematics, link_jacobian_rates, link_jacobians
from kinetree.model import Model
from kinetree.model.inputs import columns, rates, zeros
from kinetree.model.labelled import labelled
from kinetree.spatial import ad, cross, skew
from kinetree.spatial.twist import block


@labelled("n", "n")
def mass_matrix_by_jacobians(model: Model, q: StateLike) -> Array:
    """M(q), (n, n): the sum of J_i^T G_i J_i over the links, drives included."""
    J = link_jacobians(model, q)
    M = np.zeros((model.n, model.n), int)
    for i in model.links:
        pick = columns(model, i)
        M = M + J[i].T @ model.G[i] @ J[i] + pick.T @ pick * armature(model, i)
    M = M + rotor_inertia(model, J)
    if model.motors:
        N, inertia = model.motor_matrix, [motor.inertia for motor in model.motors]
        M = M + N.T @ np.diag(np.array(inertia)) @ N
    return M


@labelled("n", "n")
def coriolis_matrix_by_jacobians(model: Model, q: StateLike, dq: StateLike) -> Array:
    """C(q, dq), (n, n), of the Christoffel symbols: c = C dq and dM/dt - 2 C is skew-symmetric."""
    J, dJ = link_jacobian_rates(model, q, dq)
    dq = rates(model, dq, "dq")
    C = np.zeros((model.n, model.n), int)
    for i, joint in enumerate(model.joints):
        G = model.G[i]
        C = C + J[i].T @ (G @ dJ[i] + body_coriolis(G, J[i] @ dq) @ J[i])
        if turns_armature(joint):
            pick = columns(model, i)
            C = C + pick.T @ armature_coriolis(joint, pick @ dq) @ pick * armature(model, i)
    return C + rotor_coriolis(model, J, dJ, dq)


def body_coriolis(G: Array, V: Array) -> Array:
    """B with B V = -ad(V)^T G V, skew-symmetric, (6, 6): (G ad(V) - ad(V)^T G + bar(G V)) / 2.

    bar(P) is the matrix of V -> -ad(V)^T P. Only this choice gives the C of Christoffel.
    """
    X, P = ad(V), G @ V
    bar = block(-skew(P[:3]), -skew(P[3:]), -skew(P[3:]), 0)
    return (G @ X - X.T @ G + bar) / 2


@labelled("l", "6")
def gravity_wrenches(model: Model, q: StateLike) -> Array:
    """Weight of every link as a wrench onto it, in {i}, (links, 6): (com x m R^T g, m R^T g)."""
    T_si = forward_kinematics(model, q)
    weights = []
    for i in model.links:
        f = T_si[i][:3, :3].T @ model.gravity[3:] * model.m[i]
        weights.append(np.concatenate([cross(model.com[i], f), f]))
    return np.array(weights).reshape(-1, 6)


@labelled("n")
def gravity_forces_by_wrenches(model: Model, q: StateLike) -> Array:
    """g(q), (n,): minus the sum over the links of J_i^T F_i, with F_i the weight of link i."""
    J, F = link_jacobians(model, q), gravity_wrenches(model, q)
    return -sum((J[i].T @ F[i] for i in model.links), zeros(model.n))
