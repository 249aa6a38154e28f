"""Inverse dynamics (a): recursive, screw form, link frames (Modern Robotics 8.3).

Also the dynamics of one rigid body, from which the recursion is made.
"""

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array
from kinetree.dynamics.textbook.recursion import Recursion, record_screws, stack
from kinetree.dynamics.textbook.rotors import rotor_moments
from kinetree.model import WORLD, Model
from kinetree.model.inputs import Motion, link_pose
from kinetree.spatial import Ad, ad, inverse
from kinetree.spatial.matrices import factor, solve


def screw_recursion(model: Model, x: Motion) -> Recursion:
    """Outward for V and dV, inward for F and tau.

    V_i  = Ad_ip V_p + A_i dq_i
    dV_i = Ad_ip dV_p + A_i ddq_i + ad(V_i) A_i dq_i
    F_i  = G_i dV_i - ad(V_i)^T G_i V_i - F_ext_i + sum over children c of Ad_ci^T F_c
    tau_i = A_i^T F_i

    x: the checked motion; gravity is an upward acceleration of the base.
    """
    T_si = {WORLD: np.eye(4, dtype=int)}
    V, dV = {WORLD: x.V_base}, {WORLD: x.dV_base}
    Ad_ip, F = {}, {}

    for i in model.links:  # outward: parents before children
        p, A = model.parent[i], model.A[i]
        T_pi = link_pose(model, i, x.q)
        T_si[i] = T_si[p] @ T_pi
        Ad_ip[i] = Ad(inverse(T_pi))
        V[i] = Ad_ip[i] @ V[p] + A @ x.dq_i[i]  # explain: V
        dV[i] = Ad_ip[i] @ dV[p] + A @ x.ddq_i[i] + ad(V[i]) @ (A @ x.dq_i[i])  # explain: dV

    moment = rotor_moments(model.rotors, x.dq, x.ddq, {i: V[i][:3] for i in V})

    for i in reversed(model.links):  # inward: children before parents
        G = model.G[i]
        F[i] = G @ dV[i] - ad(V[i]).T @ (G @ V[i]) - x.F_ext[i]  # explain: F
        F[i] = F[i] + sum(Ad_ip[c].T @ F[c] for c in model.children[i])  # explain: F child
        if i in moment:
            F[i] = F[i] + np.concatenate([moment[i], np.zeros(3, int)])  # explain: F rotors

    return record_screws("screw", model, x, stack(T_si, model, 4, 4), (V, dV, F))


def body_wrench(G: ArrayLike, V: ArrayLike, dV: ArrayLike) -> Array:
    """F = G dV - ad(V)^T G V: wrench that moves a body of spatial inertia G, in its frame.

    Args:
        G: spatial inertia, shape (6, 6), kg m^2, kg m and kg.
        V: twist (angular, linear), shape (6,), rad/s and m/s.
        dV: acceleration (angular, linear), shape (6,), rad/s^2 and m/s^2.
    """
    G, V, dV = array(G, (6, 6), "G"), array(V, (6,), "V"), array(dV, (6,), "dV")
    return G @ dV - ad(V).T @ (G @ V)


def body_acceleration(G: ArrayLike, V: ArrayLike, F: ArrayLike) -> Array:
    """dV = G^-1 (F + ad(V)^T G V): acceleration of a body under a wrench.

    Args:
        G: spatial inertia, shape (6, 6), kg m^2, kg m and kg.
        V: twist (angular, linear), shape (6,), rad/s and m/s.
        F: wrench (moment, force), shape (6,), N m and N.
    """
    G, V, F = array(G, (6, 6), "G"), array(V, (6,), "V"), array(F, (6,), "F")
    names = [f"{part} {axis}" for part in ("rotation about", "motion along") for axis in "xyz"]
    return solve(factor(G, names), F + ad(V).T @ (G @ V))
