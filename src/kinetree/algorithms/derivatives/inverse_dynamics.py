"""d tau / d q and d tau / d dq by composite bodies.

For a joint b and the bodies beyond it, `changes.py` has the change of every acceleration. Summed
over mass points it needs the composite body (m, h, Sigma) and the spread of its velocities, which
are carried inward together. A row a beyond b meets it through the momentum of unit rate of a; a row
a before b through the wrench that it asks for, to which the motion of the wrench itself is added.
Unrelated joints give exact zeros. Singh, Russo, Wensing (2022) have the same sums in 6-vectors.
"""

from typing import Any

import numpy as np

from kinetree.algorithms.derivatives.changes import (
    Change,
    Wrench,
    displaced,
    position_change,
    rate_change,
    wrench_of,
)
from kinetree.algorithms.derivatives.friction import friction_slopes
from kinetree.algorithms.derivatives.motion import LinkMotion, joint_wrenches, link_motions
from kinetree.algorithms.derivatives.tree import Tree, book_tree
from kinetree.algorithms.lean.coriolis_matrix import Spread, carried, rigid
from kinetree.algorithms.lean.mass_matrix import inward, momentum, moved
from kinetree.base.arrays import Array
from kinetree.formulations.drives import armature, armature_turning_slope, turns_armature
from kinetree.model import WORLD, Model
from kinetree.model.inputs import Wrenches, coordinates, link_wrenches, rates
from kinetree.spatial import cross, skew

Matrix = list[list[Any]]


def inverse_dynamics_derivatives(
    model: Model, q: Any, dq: Any, ddq: Any, F_ext: Wrenches = None
) -> tuple[Array, Array]:
    """Partial derivatives of tau = inverse_dynamics(q, dq, ddq, F_ext); that by ddq is M(q).

    Args:
        model: the robot.
        q, dq, ddq: the motion, (nq,), (n,), (n,).
        F_ext: wrenches onto the links, (links, 6), constant in the link frames.

    Returns:
        d tau/d q and d tau/d dq, each (n, n), row a the force of joint a. The first is along
        tangent vectors v of `integrate(q, v)`, which for joints of one degree of freedom is q.
    """
    loads = None if F_ext is None else link_wrenches(model, F_ext)
    tree = book_tree(model, coordinates(model, q), loads)
    return tree_derivatives(tree, rates(model, dq, "dq"), rates(model, ddq, "ddq"))


def tree_derivatives(tree: Tree, dq: Array, ddq: Array) -> tuple[Array, Array]:
    """The same in the frames of a tree."""
    n = tree.model.n
    motions, state = link_motions(tree, dq, ddq)
    through = joint_wrenches(tree, state, dq, ddq)
    changes = [_changes(tree, motions, i) for i in range(len(tree.branches))]
    by_q: Matrix = [[0] * n for _ in range(n)]
    by_dq: Matrix = [[0] * n for _ in range(n)]
    bodies = [branch.body for branch in tree.branches]
    spreads = _spreads(tree, motions, dq)
    for i in reversed(range(len(tree.branches))):
        branch = tree.branches[i]
        for k in range(len(branch.dofs)):
            _joint(tree, motions, changes, bodies[i], spreads[i], through[i], i, k, by_q, by_dq)
        p = branch.parent
        if p != WORLD:
            spreads[p] = spreads[p] + carried(spreads[i], bodies[i], branch.to, 2 * motions[i].u)
            bodies[p] = bodies[p] + moved(bodies[i], branch.to)
    _rotors(tree, state, changes, by_q, by_dq)
    _armature(tree.model, dq, by_dq)
    for d, slope in enumerate(friction_slopes(tree.model, dq)):
        by_dq[d][d] = by_dq[d][d] + slope
    return np.array(by_q).reshape(n, n), np.array(by_dq).reshape(n, n)


def _changes(tree: Tree, motions: list[LinkMotion], i: int) -> list[tuple[Change, Change]]:
    """Changes with position and with rate for every degree of freedom of joint i."""
    columns = tree.branches[i].A.T
    return [
        (position_change(motions[i], A[:3], A[3:]), rate_change(motions[i], A[:3], A[3:]))
        for A in columns
    ]


def _spreads(tree: Tree, motions: list[LinkMotion], dq: Array) -> list[Spread]:
    """Twice the spread of every link's own points; a rotor is a spread without momentum."""
    spreads = [
        rigid(branch.body, 2 * motion.omega)
        for branch, motion in zip(tree.branches, motions, strict=True)
    ]
    for rotor in tree.rotors:
        if rotor.link != WORLD:
            spin = rotor.s * (rotor.inertia * rotor.ratio * dq[rotor.dof])
            own = spreads[rotor.link]
            spreads[rotor.link] = Spread(own.dh, own.K - skew(spin))
    return spreads


def _joint(
    tree: Tree,
    motions: list[LinkMotion],
    changes: list[list[tuple[Change, Change]]],
    body: Any,
    twice: Spread,
    through: tuple[Array, Array],
    i: int,
    k: int,
    by_q: Matrix,
    by_dq: Matrix,
) -> None:
    """Entries of degree of freedom k of joint i with its own joint and with all ancestors'."""
    A = tree.branches[i].A
    w, l = A[:3, k], A[3:, k]
    own = tree.branches[i].dofs[k]
    moves, turns = (wrench_of(change, body, twice) for change in changes[i][k])
    for a, row in enumerate(tree.branches[i].dofs):
        by_q[row][own] = by_q[row][own] + A[:3, a] @ moves.n + A[3:, a] @ moves.f
        by_dq[row][own] = by_dq[row][own] + A[:3, a] @ turns.n + A[3:, a] @ turns.f
    moves = displaced(moves, Wrench(*through), w, l)
    f, n = momentum(body, w, l)
    trace = twice.K[0, 0] + twice.K[1, 1] + twice.K[2, 2]
    Q = w * trace - twice.K @ w + cross(twice.dh, l)
    j = i
    while tree.branches[j].parent != WORLD:
        to = tree.branches[j].to
        f, n = inward(to, f, n)
        Q = to.inward(Q) + cross(2 * motions[j].u, f)
        moves, turns = Wrench(*inward(to, *moves)), Wrench(*inward(to, *turns))
        j = tree.branches[j].parent
        branch = tree.branches[j]
        for a, other in enumerate(branch.dofs):
            w, l = branch.A[:3, a], branch.A[3:, a]
            moved_a, turned_a = changes[j][a]
            by_q[other][own] = by_q[other][own] + w @ moves.n + l @ moves.f
            by_dq[other][own] = by_dq[other][own] + w @ turns.n + l @ turns.f
            by_q[own][other] = by_q[own][other] + moved_a.meets(f, n, Q)
            by_dq[own][other] = by_dq[own][other] + turned_a.meets(f, n, Q)


def _armature(model: Model, dq: Array, by_dq: Matrix) -> None:
    """The force I_a w x v of armature on free and planar joints, which no position changes."""
    for i, joint in enumerate(model.joints):
        if turns_armature(joint):
            slope = armature_turning_slope(joint, dq[list(joint.dofs)]) * armature(model, i)
            for a, row in enumerate(joint.dofs):
                for b, column in enumerate(joint.dofs):
                    by_dq[row][column] = by_dq[row][column] + slope[a, b]


def _rotors(
    tree: Tree,
    state: dict[int, tuple[Array, Array, Array]],
    changes: list[list[tuple[Change, Change]]],
    by_q: Matrix,
    by_dq: Matrix,
) -> None:
    """The force I_m r s . alpha_k at a rotor's joint, and its moment's I_m r dq_d omega_k x s.

    The angular acceleration of the carrier changes by y + x x omega_k, and s . (x x omega_k) is
    x . (omega_k x s); s and the last are carried from the carrier to the base.
    """
    for rotor in tree.rotors:
        if rotor.link == WORLD:
            continue
        d, j = rotor.dof, rotor.link
        s = rotor.s * (rotor.inertia * rotor.ratio)
        gyro = cross(state[j][0], s)
        while j != WORLD:
            branch = tree.branches[j]
            for a, b in enumerate(branch.dofs):
                moves, turns = changes[j][a]
                by_q[d][b] = by_q[d][b] + s @ moves.y + gyro @ moves.x
                by_dq[d][b] = by_dq[d][b] + s @ turns.y + gyro @ turns.x
                by_dq[b][d] = by_dq[b][d] + branch.A[:3, a] @ gyro
            s, gyro, j = branch.to.inward(s), branch.to.inward(gyro), branch.parent
