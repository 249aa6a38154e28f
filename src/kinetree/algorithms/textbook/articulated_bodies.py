"""Forward dynamics by articulated bodies (Featherstone), rotors included.

Inward, every link gathers what lies beyond it into an articulated inertia G and a bias wrench b:

    F_i = G_i dV_i + b_i,    tau_i = A^T F_i + I_m r (s . alpha_k + r ddq_i)

A rotor on the joint's parent or own link is eliminated with the joint. A rotor carried anywhere
else couples its joint with a distant link: a symmetric correction e b^T + b e^T of M of rank two,
which Woodbury's formula adds to the inverse of the tree alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.joints.friction import friction_forces, load_of
from kinetree.algorithms.joints.rotors import armature, armature_bias, rotor_moments
from kinetree.algorithms.joints.springs import joint_spring_forces
from kinetree.algorithms.textbook.newton_euler import inertia_names
from kinetree.base.arrays import Array, StateLike
from kinetree.errors import ModelError
from kinetree.model import WORLD, JointRotor, Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import (
    TipWrench,
    Wrenches,
    coordinates,
    link_adjoints,
    link_wrenches,
    per_link,
    rates,
    zeros,
)
from kinetree.model.labelled import labelled
from kinetree.spatial import ad
from kinetree.spatial.matrices import Factor, factor, solve


@labelled("n")
def forward_dynamics_by_articulated_bodies(
    model: Model,
    q: StateLike,
    dq: StateLike,
    tau: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
) -> Array:
    """ddq, (n,), with a number of operations that is linear in the number of links.

    Arguments as in `algorithms.forward_dynamics`.

    Raises:
        ModelError: a joint mimics another one.
    """
    without_constraints(
        model,
        "forward_dynamics_by_articulated_bodies",
        "Use algorithms.constrained_forward_dynamics",
    )
    followers = [joint.name for joint in model.joints if joint.follows is not None]
    if followers:
        raise ModelError(
            f"joint {followers[0]!r} mimics another joint, and articulated bodies cannot share a "
            "degree of freedom. Use forward_dynamics, which can."
        )
    q, dq = coordinates(model, q), rates(model, dq, "dq")
    tau = load_of(model, dq, rates(model, tau, "tau") - friction_forces(model, dq))
    tau = tau - armature_bias(model, dq)
    if model.springs:
        tau = tau - joint_spring_forces(model, q)
    far = distant_rotors(model)
    Ad_ip = link_adjoints(model, q)
    tree = eliminate(model, Ad_ip, [rotor for rotor in model.rotors if rotor not in far])
    c, b = bias(model, Ad_ip, dq, link_wrenches(model, F_ext, F_tip))
    for rotor in far:
        tau = tau - tie_bias(model, Ad_ip, rotor, c)
    ddq = sweep(model, tree, c, b, -model.gravity, tau)
    return tie(model, tree, Ad_ip, far, ddq) if far else ddq


@dataclass(frozen=True, eq=False)
class Articulation:
    """A joint and its link after the inward sweep."""

    X: Array  # Ad_ip, (6, 6)
    G: Array  # articulated inertia of link i before joint i is eliminated, (6, 6)
    U: Array  # wrench onto link i for unit ddq, (6, k)
    U_p: Array  # wrench onto the parent for unit ddq, rotor included, (6, k)
    D: Factor  # of the joint forces for unit ddq, (k, k)


def eliminate(
    model: Model, Ad_ip: list[Array], rotors: list[JointRotor]
) -> dict[int, Articulation]:
    """Articulated inertias from the leaves to the base."""
    G = list(model.G)
    tree: dict[int, Articulation] = {}
    for i in reversed(model.links):
        A, X, p = model.A[i], Ad_ip[i], model.parent[i]
        k = A.shape[1]
        U, on_parent = G[i] @ A, np.zeros((6, k), int)
        D = A.T @ U + np.eye(k, dtype=int) * armature(model, i)
        for rotor in (rotor for rotor in rotors if rotor.joint == i):
            weight = rotor.inertia * rotor.ratio
            spin = np.concatenate([rotor.s * weight, zeros(3)])[:, None]
            D = D + weight * rotor.ratio
            if rotor.link == i:
                D = D + 2 * (A.T @ spin)
                U = U + spin
            elif rotor.link == p:
                on_parent = on_parent + spin
        U_p = X.T @ U + on_parent
        D = factor(D, inertia_names(model, i))
        tree[i] = Articulation(X, G[i], U, U_p, D)
        if p != WORLD:
            # the part of G that the joint cannot pass on: it moves instead
            held = np.array([solve(D, row) for row in U_p])  # U_p D^-1
            G[p] = G[p] + X.T @ G[i] @ X - held @ U_p.T
    return tree


def bias(
    model: Model, Ad_ip: list[Array], dq: Array, F_ext: list[Array]
) -> tuple[dict[int, Array], dict[int, Array]]:
    """Accelerations c = ad(V) A dq of the motion alone, and the bias wrenches b of single links."""
    V = {WORLD: zeros(6)}
    c, b = {}, {}
    own = per_link(model, dq)
    for i in model.links:
        joint_twist = model.A[i] @ own[i]
        V[i] = Ad_ip[i] @ V[model.parent[i]] + joint_twist
        c[i] = ad(V[i]) @ joint_twist
        b[i] = -(ad(V[i]).T @ (model.G[i] @ V[i])) - F_ext[i]
    spin = rotor_moments(model.rotors, dq, zeros(model.n), {i: V[i][:3] for i in V})
    for k, moment in spin.items():
        b[k] = b[k] + np.concatenate([moment, zeros(3)])
    return c, b


def sweep(
    model: Model,
    tree: dict[int, Articulation],
    c: dict[int, Array],
    b: dict[int, Array],
    dV_base: Array,
    tau: Array,
) -> Array:
    """Inward with the bias wrenches, outward with the accelerations; ddq, (n,)."""
    b, tau_i = dict(b), per_link(model, tau)
    u, ddq, dV = {}, {}, {WORLD: dV_base}
    for i in reversed(model.links):
        joint, p = tree[i], model.parent[i]
        u[i] = tau_i[i] - model.A[i].T @ b[i] - joint.U.T @ c[i]
        if p != WORLD:
            b[p] = b[p] + joint.X.T @ (b[i] + joint.G @ c[i]) + joint.U_p @ solve(joint.D, u[i])
    for i in model.links:
        joint, p = tree[i], model.parent[i]
        ddq[i] = solve(joint.D, u[i] - joint.U_p.T @ dV[p])
        dV[i] = joint.X @ dV[p] + c[i] + model.A[i] @ ddq[i]
    return np.concatenate([zeros(0), *(ddq[i] for i in model.links)])


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
    # Woodbury: (M + P Q^T)^-1 = M^-1 - Z (1 + Q^T Z)^-1 Q^T M^-1 with Z = M^-1 P
    Z = [sweep(model, tree, rest, rest, zeros(6), column) for column in P]
    k = range(len(P))
    S = [[Q[a] @ Z[b] + int(a == b) for b in k] for a in k]
    y = solve_pivoted(S, [Q[a] @ ddq for a in k])
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


def solve_pivoted(S: list[list[Any]], y: list[Any]) -> list[Any]:
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
