"""The motion of every link and the wrench through every joint, with all that derivatives need."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.derivatives.tree import Tree
from kinetree.algorithms.lean.inverse_dynamics import acceleration_matrix, wrench
from kinetree.base.arrays import Array
from kinetree.formulations.drives import rotor_moments
from kinetree.model import WORLD
from kinetree.model.inputs import per_link, zeros
from kinetree.spatial import cross


@dataclass(frozen=True, eq=False)
class LinkMotion:
    """Motion of link i in {i}; the parent's share is what a joint at rest would leave.

    omega_p, alpha_p, a_p: the parent's angular velocity, angular acceleration, and the acceleration
    of the parent's point under the origin of {i}. w, l: the joint's own rates, angular and linear.
    omega: the link's angular velocity. u: velocity of its origin from its parent's, in {p}.
    """

    omega_p: Array
    alpha_p: Array
    a_p: Array
    w: Array
    l: Array
    omega: Array
    u: Array


def link_motions(
    tree: Tree, dq: Array, ddq: Array
) -> tuple[list[LinkMotion], dict[int, tuple[Array, Array, Array]]]:
    """The motion of every link; and (omega, alpha, a) of every frame, WORLD included."""
    g = tree.model.gravity[3:]
    state = {WORLD: (zeros(3), zeros(3), -g)}
    B = {WORLD: np.zeros((3, 3), int)}
    motions = []
    dq_i, ddq_i = per_link(tree.model, dq), per_link(tree.model, ddq)
    for i, branch in enumerate(tree.branches):
        p, to = branch.parent, branch.to
        twist, rate = branch.A @ dq_i[i], branch.A @ ddq_i[i]
        w, l = twist[:3], twist[3:]
        omega_p, alpha_p, a_p = state[p]
        turning, alpha = to.outward(omega_p), to.outward(alpha_p)
        below = to.outward(a_p + B[p] @ to.p)
        u = cross(omega_p, to.p) + to.inward(l)
        motions.append(LinkMotion(turning, alpha, below, w, l, turning + w, u))
        omega = turning + w
        alpha = alpha + rate[:3] + cross(turning, w)
        a = below + rate[3:] + 2 * cross(turning, l) + cross(w, l)
        state[i], B[i] = (omega, alpha, a), acceleration_matrix(omega, alpha)
    return motions, state


def joint_wrenches(
    tree: Tree, state: dict[int, tuple[Array, Array, Array]], dq: Array, ddq: Array
) -> list[tuple[Array, Array]]:
    """Force and moment through every joint onto its link, in {i}."""
    omega = {i: x[0] for i, x in state.items()}
    spin = rotor_moments(tree.model.replace(rotors=tree.rotors), dq, ddq, omega)
    count = len(tree.branches)
    f: list[Any] = [0] * count
    n: list[Any] = [0] * count
    for i in reversed(range(count)):
        branch = tree.branches[i]
        w, alpha, a = state[i]
        own_f, own_n = wrench(branch.body, w, alpha, a, acceleration_matrix(w, alpha))
        f[i], n[i] = f[i] + own_f, n[i] + own_n + spin.get(i, 0)
        if branch.load is not None:
            moment, force = branch.load
            f[i], n[i] = f[i] - force, n[i] - moment
        if branch.parent != WORLD:
            carried = branch.to.inward(f[i])
            f[branch.parent] = f[branch.parent] + carried
            n[branch.parent] = (
                n[branch.parent] + branch.to.inward(n[i]) + cross(branch.to.p, carried)
            )
    return list(zip(f, n, strict=True))
