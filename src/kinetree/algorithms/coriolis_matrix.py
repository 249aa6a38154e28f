"""C(q, dq) with dM/dt - 2 C skew-symmetric, dM/dt itself, and the Christoffel symbols."""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.formulations.drives import armature, armature_coriolis, turns_armature
from kinetree.formulations.kinematics import link_jacobian_rates
from kinetree.model import WORLD, Model
from kinetree.model.inputs import columns, rates
from kinetree.spatial import ad, skew
from kinetree.spatial.twist import block


def coriolis_matrix(model: Model, q: Any, dq: Any) -> Array:
    """C(q, dq), (n, n), of the Christoffel symbols: c = C dq and dM/dt - 2 C is skew-symmetric.

    C = sum over links of J^T (G dJ + B J), with B from `body_coriolis`, for each rotor the terms of
    `_rotor_coriolis`, and for armature of free and planar joints those of `armature_coriolis`.
    """
    J, dJ = link_jacobian_rates(model, q, dq)
    dq = rates(model, dq, "dq")
    C = np.zeros((model.n, model.n), int)
    for i in model.links:
        G = model.G[i]
        C = C + J[i].T @ (G @ dJ[i] + body_coriolis(G, J[i] @ dq) @ J[i])
    for rotor in model.rotors:
        if rotor.link != WORLD:
            C = C + _rotor_coriolis(model, rotor, J[rotor.link], dJ[rotor.link], dq)
    for i, joint in enumerate(model.joints):
        if turns_armature(joint):
            pick = columns(model, i)
            C = C + pick.T @ armature_coriolis(joint, pick @ dq) @ pick * armature(model, i)
    return C


def body_coriolis(G: Array, V: Array) -> Array:
    """B with B V = -ad(V)^T G V, skew-symmetric, (6, 6): (G ad(V) - ad(V)^T G + bar(G V)) / 2.

    bar(P) is the matrix of V -> -ad(V)^T P. This choice, and no other, gives Christoffel's C.
    """
    X, P = ad(V), G @ V
    bar = block(-skew(P[:3]), -skew(P[3:]), -skew(P[3:]), 0)
    return (G @ X - X.T @ G + bar) / 2


def _rotor_coriolis(model: Model, rotor: Any, J: Array, dJ: Array, dq: Array) -> Array:
    """Christoffel's C of M = w (e b^T + b e^T), b = J_omega^T s, on the carrier's Jacobian."""
    e = np.eye(model.n, dtype=int)[rotor.dof]
    s, w = rotor.s, rotor.inertia * rotor.ratio
    J_omega, db = J[:3], s @ dJ[:3]
    turned = J_omega.T @ skew(s) @ J_omega
    y = -(turned @ dq)  # J^T (omega x s)
    gyroscopic = (np.outer(y, e) - np.outer(e, y) - turned * dq[rotor.dof]) / 2
    return (np.outer(e, db) + gyroscopic) * w


def coriolis_forces(model: Model, q: Any, dq: Any) -> Array:
    """c(q, dq) = C dq, (n,): the centrifugal and Coriolis part of tau."""
    return coriolis_matrix(model, q, dq) @ rates(model, dq, "dq")


def mass_matrix_rate(model: Model, q: Any, dq: Any) -> Array:
    """dM/dt along dq in closed form, (n, n): the sum of dJ^T G J + J^T G dJ, and the rotors'."""
    J, dJ = link_jacobian_rates(model, q, dq)
    rate = np.zeros((model.n, model.n), int)
    for i in model.links:
        half = J[i].T @ model.G[i] @ dJ[i]
        rate = rate + half + half.T
    for rotor in model.rotors:
        if rotor.link != WORLD:
            e = np.eye(model.n, dtype=int)[rotor.dof]
            db = rotor.s @ dJ[rotor.link][:3]
            rate = rate + (np.outer(e, db) + np.outer(db, e)) * (rotor.inertia * rotor.ratio)
    return rate


def christoffel_symbols(model: Model, q: Any) -> Array:
    """Gamma(q), (n, n, n), with C_ij = sum over k of Gamma_ijk dq_k, symmetric in j and k.

    C is linear in dq, so unit rates give the symbols one by one. (With spherical and free joints,
    whose rates are no derivatives of coordinates, they are not symmetric.)
    """
    unit = np.eye(model.n, dtype=int)
    slices = [coriolis_matrix(model, q, unit[k]) for k in range(model.n)]
    return np.array(slices).reshape(model.n, model.n, model.n).transpose(1, 2, 0)
