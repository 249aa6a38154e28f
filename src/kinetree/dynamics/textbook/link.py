"""Inverse dynamics (c): recursive, 3-vectors in link coordinates (Spong, Siciliano)."""

import numpy as np

from kinetree.dynamics.textbook.recursion import Recursion, record, stack
from kinetree.dynamics.textbook.rotors import rotor_moments
from kinetree.model import WORLD, Model
from kinetree.model.inputs import Motion, link_pose
from kinetree.spatial import cross
from kinetree.spatial.se3 import split


def link_recursion(model: Model, x: Motion) -> Recursion:
    """Outward for omega, alpha, a_e, a_c; inward for f, n and tau.

    The joint's motion (w, l) = A dq and its rate (dw, dl) = A ddq in {i} serve every type: a
    revolute joint through the origin has l = 0, a prismatic one w = 0. R turns vectors of the
    parent into {i}, p is the origin of {i} seen from the parent.

    omega_i = R omega_p + w
    alpha_i = R alpha_p + dw + (R omega_p) x w
    a_e,i   = R (a_e,p + alpha_p x p + omega_p x (omega_p x p)) + dl + 2 (R omega_p) x l + w x l
    a_c,i   = a_e,i + alpha_i x c + omega_i x (omega_i x c)
    f_i     = m a_c,i - f_ext + sum of f_c
    n_i     = I alpha_i + omega_i x I omega_i + c x m a_c,i - n_ext + sum of (n_c + p_c x f_c)
    tau_i   = A^T (n_i, f_i)
    """
    omega, v = {WORLD: x.V_base[:3]}, {WORLD: x.V_base[3:]}
    alpha = {WORLD: x.dV_base[:3]}
    a_e = {WORLD: x.dV_base[3:] + cross(omega[WORLD], v[WORLD])}
    T_si = {WORLD: np.eye(4, dtype=int)}
    R_ip, p_pi, a_c, f, n = {}, {}, {}, {}, {}

    for i in model.links:  # outward: parents before children
        parent = model.parent[i]
        w, l = split(model.A[i] @ x.dq_i[i])
        dw, dl = split(model.A[i] @ x.ddq_i[i])
        T_pi = link_pose(model, i, x.q)
        T_si[i] = T_si[parent] @ T_pi
        R, p = T_pi[:3, :3].T, T_pi[:3, 3]
        omega_p, alpha_p = omega[parent], alpha[parent]
        turning = R @ omega_p
        omega[i] = turning + w
        v[i] = R @ (v[parent] + cross(omega_p, p)) + l
        alpha[i] = R @ alpha_p + dw + cross(turning, w)
        a_p = a_e[parent] + cross(alpha_p, p) + cross(omega_p, cross(omega_p, p))
        a_e[i] = R @ a_p + dl + 2 * cross(turning, l) + cross(w, l)
        c = model.com[i]
        a_c[i] = a_e[i] + cross(alpha[i], c) + cross(omega[i], cross(omega[i], c))
        R_ip[i], p_pi[i] = R, p

    spin = rotor_moments(model.rotors, x.dq, x.ddq, omega)

    for i in reversed(model.links):  # inward: children before parents
        I, c = model.I_com[i], model.com[i]
        force = a_c[i] * model.m[i]
        moment = I @ alpha[i] + cross(omega[i], I @ omega[i])
        f[i] = force - x.F_ext[i][3:]
        n[i] = moment + cross(c, force) + spin.get(i, 0) - x.F_ext[i][:3]
        for k in model.children[i]:
            f_k = R_ip[k].T @ f[k]
            f[i] = f[i] + f_k
            n[i] = n[i] + R_ip[k].T @ n[k] + cross(p_pi[k], f_k)

    vectors = {"omega": omega, "v": v, "alpha": alpha, "a_e": a_e, "a_c": a_c, "f": f, "n": n}
    return record("link", "link", model, x, stack(T_si, model, 4, 4), vectors)
