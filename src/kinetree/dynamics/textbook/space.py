"""Inverse dynamics (d): recursive, 3-vectors in the absolute frame {s}."""

import numpy as np

from kinetree.dynamics.kinematics import forward_kinematics
from kinetree.dynamics.textbook.recursion import Recursion, record
from kinetree.dynamics.textbook.rotors import rotor_moments
from kinetree.model import WORLD, Model
from kinetree.model.inputs import Motion
from kinetree.spatial import cross
from kinetree.spatial.se3 import split


def space_recursion(model: Model, x: Motion) -> Recursion:
    """All points and axes are first placed in {s}; then vectors add up without any rotation.

    (k, l) is the joint's motion A dq and (dk, dl) its rate A ddq, turned into {s}, at the origin
    P_i of the link; r_i = P_i - P_p is the way from the parent's origin:

    omega_i = omega_p + k
    v_i     = v_p + omega_p x r_i + l
    alpha_i = alpha_p + dk + omega_p x k
    a_e,i   = a_e,p + alpha_p x r_i + omega_p x (omega_p x r_i) + dl + 2 omega_p x l + k x l
    f_i     = m a_c,i - f_ext + sum of f_c
    n_i     = I alpha_i + omega_i x I omega_i + (C_i - P_i) x m a_c,i - n_ext
              + sum of (n_c + r_c x f_c)
    tau_i   = A^T (n_i, f_i), written in {i}
    """
    T_si = forward_kinematics(model, x.q)
    R = {WORLD: np.eye(3, dtype=int), **{i: T_si[i][:3, :3] for i in model.links}}
    P = {WORLD: np.zeros(3, int), **{i: T_si[i][:3, 3] for i in model.links}}
    r = {i: P[i] - P[model.parent[i]] for i in model.links}
    omega, v = {WORLD: x.V_base[:3]}, {WORLD: x.V_base[3:]}
    alpha = {WORLD: x.dV_base[:3]}
    a_e = {WORLD: x.dV_base[3:] + cross(omega[WORLD], v[WORLD])}
    a_c, f, n = {}, {}, {}

    for i in model.links:  # outward: parents before children
        p = model.parent[i]
        k, l = (R[i] @ part for part in split(model.A[i] @ x.dq_i[i]))
        dk, dl = (R[i] @ part for part in split(model.A[i] @ x.ddq_i[i]))
        omega[i] = omega[p] + k
        v[i] = v[p] + cross(omega[p], r[i]) + l
        alpha[i] = alpha[p] + dk + cross(omega[p], k)
        a_p = a_e[p] + cross(alpha[p], r[i]) + cross(omega[p], cross(omega[p], r[i]))
        a_e[i] = a_p + dl + 2 * cross(omega[p], l) + cross(k, l)
        to_com = R[i] @ model.com[i]
        a_c[i] = a_e[i] + cross(alpha[i], to_com) + cross(omega[i], cross(omega[i], to_com))

    spin = rotor_moments(model.rotors, x.dq, x.ddq, {i: R[i].T @ omega[i] for i in omega})

    for i in reversed(model.links):  # inward: children before parents
        I = R[i] @ model.I_com[i] @ R[i].T
        force = a_c[i] * model.m[i]
        moment = I @ alpha[i] + cross(omega[i], I @ omega[i])
        n_ext, f_ext = R[i] @ x.F_ext[i][:3], R[i] @ x.F_ext[i][3:]
        f[i] = force - f_ext
        n[i] = moment + cross(R[i] @ model.com[i], force) - n_ext
        if i in spin:
            n[i] = n[i] + R[i] @ spin[i]
        for c in model.children[i]:
            f[i] = f[i] + f[c]
            n[i] = n[i] + n[c] + cross(r[c], f[c])

    vectors = {"omega": omega, "v": v, "alpha": alpha, "a_e": a_e, "a_c": a_c, "f": f, "n": n}
    return record("space", "space", model, x, T_si, vectors)
