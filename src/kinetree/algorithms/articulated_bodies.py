"""Forward dynamics by articulated bodies (Featherstone), rotors included.

Inward, every link gathers what lies beyond it into an articulated inertia G and a bias wrench b:

    F_i = G_i dV_i + b_i,    tau_i = A^T F_i + I_m r (s . alpha_k + r ddq_i)

A rotor on the joint's parent or own link is eliminated with the joint. A rotor carried anywhere
else ties distant links together; such ties are symmetric corrections of M of rank two, and are
added by Woodbury's formula to what the tree alone gives.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.drives import friction_forces, rotor_moments
from kinetree.algorithms.factor import check_pivot
from kinetree.algorithms.inputs import (
    TipWrench,
    Wrenches,
    joint_vector,
    link_wrenches,
    zeros,
)
from kinetree.arrays import Array
from kinetree.model import WORLD, JointRotor, Model
from kinetree.spatial import Ad, ad, exp_se3


def forward_dynamics_by_articulated_bodies(
    model: Model, q: Any, dq: Any, tau: Any, F_ext: Wrenches = None, *, F_tip: TipWrench = None
) -> Array:
    """ddq, (n,), in a number of operations that grows linearly; arguments as `forward_dynamics`."""
    q, dq = joint_vector(model, q, "q"), joint_vector(model, dq, "dq")
    tau = joint_vector(model, tau, "tau") - friction_forces(model, dq)
    near = [r for r in model.rotors if r.link in (model.parent[r.joint], r.joint, WORLD)]
    far = [r for r in model.rotors if r not in near]
    Ad_ip = [Ad(exp_se3(model.A[i], -q[i]) @ model.M_ip[i]) for i in model.links]
    tree = _eliminate(model, Ad_ip, near)
    V, c, b = _bias(model, Ad_ip, dq, link_wrenches(model, F_ext, F_tip))
    for rotor in far:  # what the distant rotors feel of the motion without acceleration
        tau = tau - _far_bias(model, Ad_ip, rotor, c)
    ddq = _sweep(model, tree, c, b, -model.gravity, tau)
    return _tie(model, tree, Ad_ip, far, ddq) if far else ddq


@dataclass
class _Joint:
    """A joint as the inward sweep leaves it."""

    X: Array  # Ad_ip
    G: Array  # articulated inertia of link i, joint i not yet eliminated
    U: Array  # wrench onto link i for unit ddq
    U_p: Array  # wrench onto the parent for unit ddq, rotor included
    D: Any  # force at the joint for unit ddq


def _eliminate(model: Model, Ad_ip: list[Array], rotors: list[JointRotor]) -> dict[int, _Joint]:
    G = list(model.G)
    tree: dict[int, _Joint] = {}
    for i in reversed(model.links):
        A, X = model.A[i], Ad_ip[i]
        U = G[i] @ A
        D, on_parent = A @ U + model.armature[i], zeros(6)
        for r in (r for r in rotors if r.joint == i):
            w, s = r.inertia * r.ratio, np.concatenate([r.s, zeros(3)])
            D = D + w * r.ratio
            if r.link == i:
                U, D = U + s * w, D + 2 * w * (s @ A)
            elif r.link == model.parent[i]:
                on_parent = on_parent + s * w
        check_pivot(D, G[i].trace(), f"joint {model.joint_names[i]!r}")
        U_p = X.T @ U + on_parent
        tree[i] = _Joint(X, G[i], U, U_p, D)
        if model.parent[i] != WORLD:
            p = model.parent[i]
            G[p] = G[p] + X.T @ G[i] @ X - np.outer(U_p, U_p) / D
    return tree


def _bias(
    model: Model, Ad_ip: list[Array], dq: Array, F_ext: list[Array]
) -> tuple[dict[int, Array], dict[int, Array], dict[int, Array]]:
    """Twists V, accelerations c = ad(V) A dq from the motion alone, and bias wrenches b."""
    V = {WORLD: zeros(6)}
    c, b = {}, {}
    for i in model.links:
        A = model.A[i]
        V[i] = Ad_ip[i] @ V[model.parent[i]] + A * dq[i]
        c[i] = ad(V[i]) @ A * dq[i]
        b[i] = -(ad(V[i]).T @ (model.G[i] @ V[i])) - F_ext[i]
    spin = rotor_moments(model, dq, zeros(model.n), {i: V[i][:3] for i in V})
    for k, moment in spin.items():
        b[k] = b[k] + np.concatenate([moment, zeros(3)])
    return V, c, b


def _sweep(
    model: Model,
    tree: dict[int, _Joint],
    c: dict[int, Array],
    b: dict[int, Array],
    dV_base: Array,
    tau: Array,
) -> Array:
    """Inward with the bias wrenches, outward with the accelerations."""
    b = dict(b)
    u, ddq, dV = {}, {}, {WORLD: dV_base}
    for i in reversed(model.links):
        joint, p = tree[i], model.parent[i]
        u[i] = tau[i] - model.A[i] @ b[i] - joint.U @ c[i]
        if p != WORLD:
            b[p] = b[p] + joint.X.T @ (b[i] + joint.G @ c[i]) + joint.U_p * (u[i] / joint.D)
    for i in model.links:
        joint, p = tree[i], model.parent[i]
        ddq[i] = (u[i] - joint.U_p @ dV[p]) / joint.D
        dV[i] = joint.X @ dV[p] + c[i] + model.A[i] * ddq[i]
    return np.array([ddq[i] for i in model.links])


def _far_row(model: Model, Ad_ip: list[Array], rotor: JointRotor) -> Array:
    """b = I_m r J_k^T (s, 0), (n,): the row of M that a rotor on link k adds."""
    row = [0] * model.n
    F, k = np.concatenate([rotor.s * (rotor.inertia * rotor.ratio), zeros(3)]), rotor.link
    while k != WORLD:
        row[k] = model.A[k] @ F
        F, k = Ad_ip[k].T @ F, model.parent[k]
    return np.array(row)


def _far_bias(model: Model, Ad_ip: list[Array], rotor: JointRotor, c: dict[int, Array]) -> Array:
    """Force at the rotor's joint from its carrier's acceleration at ddq = 0, (n,)."""
    dV = {WORLD: zeros(6)}
    for i in model.path(rotor.link):
        dV[i] = Ad_ip[i] @ dV[model.parent[i]] + c[i]
    force = rotor.s @ dV[rotor.link][:3] * (rotor.inertia * rotor.ratio)
    return np.eye(model.n, dtype=int)[rotor.joint] * force


def _tie(
    model: Model, tree: dict[int, _Joint], Ad_ip: list[Array], far: list[JointRotor], ddq: Array
) -> Array:
    """(M + U W^T)^-1 from M^-1, where distant rotors add e b^T + b e^T + r^2 I_m e e^T to M."""
    no_c = {i: zeros(6) for i in model.links}
    unit = np.eye(model.n, dtype=int)
    left, right = [], []
    for rotor in far:
        e, b = unit[rotor.joint], _far_row(model, Ad_ip, rotor)
        left += [e, b]
        right += [b + e * (rotor.inertia * rotor.ratio**2), e]
    Z = [_sweep(model, tree, no_c, no_c, zeros(6), column) for column in left]
    k = len(left)
    S = [[right[a] @ Z[b] + int(a == b) for b in range(k)] for a in range(k)]
    y = _gauss(S, [right[a] @ ddq for a in range(k)])
    return ddq - sum(Z[a] * y[a] for a in range(k))


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
