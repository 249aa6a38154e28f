"""Momentum of the joints and its rate: the balance in which no acceleration appears.

With the momentum p = M(q) dq, and dM/dt = C + C^T along the motion, the equation of motion becomes

    dp/dt = f + tau_ext,    f = tau - friction + C^T dq - g - springs

where tau_ext = J^T F_ext are the joint forces of all external forces together. An observer of
contacts compares p with the integral of f (`kinetree.controllers.MomentumObserver`).

C is not formed. Let L be the momentum of all bodies beyond joint i about the origin of {i}, as the
pair (n, f). Joint i has p = A^T L, where A is constant in {i}. L changes by the wrench through the
joint and by the motion of {i} itself, with the twist V = (omega, v):

    dL/dt = F + ad(V)^T L,    so    (C^T dq)_i = A^T ad(V)^T L = A^T (n x omega + f x v, f x omega)

One pass outward for twists and one inward for momenta and weights are enough, about the work of
inverse dynamics.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.drive_terms import spin_momenta
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.joints.motors import inertia_forces
from kinetree.dynamics.joints.rotors import armature, armature_bias
from kinetree.dynamics.traced import over_tree
from kinetree.dynamics.tree import Pair, Tree, TreeLink, pair_onto, plus
from kinetree.model import Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import rates, zeros
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result
from kinetree.spatial import cross


@labelled(("n",), ("n",))
def momentum_balance(
    model: Model, q: StateLike, dq: StateLike, tau: StateLike
) -> tuple[Array, Array]:
    """Momentum p = M dq of the joints, and its rate f without external forces, both (n,).

    f = tau - friction + C^T dq - g - springs. Along any motion dp/dt = f + J^T F_ext.

    Args:
        tau: joint forces of the drives, shape (n,), N m or N.

    Returns:
        p: shape (n,), kg m^2/s or kg m/s.
        f: shape (n,), N m or N.
    """
    without_constraints(model, "momentum_balance")
    return tree_momentum_balance(
        book_tree(model, q), rates(model, dq, "dq"), rates(model, tau, "tau")
    )


@labelled("n")
def transposed_coriolis_forces(model: Model, q: StateLike, dq: StateLike) -> Array:
    """C(q, dq)^T dq, (n,), N m or N: the part of dp/dt that the motion of the joints makes.

    It equals dM/dt dq - c, and half the gradient of dq^T M dq for joints whose rates are those of
    their coordinates. Observers and passivity-based controllers need it; C is not formed.
    """
    return tree_transposed_coriolis_forces(book_tree(model, q), rates(model, dq, "dq"))


def tree_transposed_coriolis_forces(tree: Tree, dq: Array) -> Array:
    """C^T dq, (n,), over a Tree."""
    twists = tree.twists(dq)
    turning = [_turned(*x.momentum, *twists[i]) for i, x in _beyond(tree, dq, twists).items()]
    return tree.joint_forces(turning) - armature_bias(tree.model, dq)


def tree_momentum_balance(tree: Tree, dq: Array, tau: Array) -> tuple[Array, Array]:
    """The momentum p, (n,), and f, (n,), of `momentum_balance`, over a Tree."""
    model, twists = tree.model, tree.twists(dq)
    beyond = _beyond(tree, dq, twists)
    turning = [_turned(*x.momentum, *twists[i]) for i, x in beyond.items()]
    momenta, weights = zip(*beyond.values(), strict=True) if beyond else ((), ())
    p = tree.joint_forces(momenta) + _drive_momentum(tree, dq, twists)
    forces = tree.joint_forces(
        [(a[0] - b[0], a[1] - b[1]) for a, b in zip(turning, weights, strict=True)]
    )
    forces = forces + (tau - friction_forces(model, dq)) - armature_bias(model, dq)
    return p, forces if tree.springs is None else forces - tree.springs.at(dq)


class Beyond(NamedTuple):
    """Momentum of all bodies beyond a joint, and the force and moment that carry their weight.

    Both are (linear, angular) about the origin of the link, in {i}.
    """

    momentum: Pair
    weight: Pair


def _beyond(tree: Tree, dq: Array, twists: Mapping[int, Pair]) -> dict[int, Beyond]:
    """Momentum and weight beyond the joint of every link, in their order."""

    def onto(i: int, link: TreeLink, x: Beyond, parent: Beyond) -> Beyond:
        return Beyond(*(pair_onto(i, link, a, b) for a, b in zip(x, parent, strict=True)))

    # the upward acceleration that stands for gravity, in {i}
    up = tree.outward(tree.base.a, lambda _, link, up_p: link.to.outward(up_p))
    spins, nothing = spin_momenta(tree, dq), (zeros(3), zeros(3))
    beyond = {i: Beyond(spins[i], nothing) for i in range(len(tree.links))}
    for i, (momentum, weight) in tree.inward(beyond, onto):
        body = tree.links[i].body
        momentum = plus(momentum, body.momentum(*twists[i]))
        beyond[i] = Beyond(momentum, plus(weight, (up[i] * body.m, cross(body.h, up[i]))))
    return beyond


def _turned(f: Array, n: Array, omega: Array, v: Array) -> Pair:
    """ad(V)^T L of a momentum (f, n) in a frame that moves with the twist (omega, v)."""
    return cross(f, omega), cross(n, omega) + cross(f, v)


def _drive_momentum(tree: Tree, dq: Array, twists: Mapping[int, Pair]) -> Array:
    """Momentum of armature, motors and of the spin of rotors about their own joints, (n,)."""
    momentum = [0] * tree.model.n
    for i, d, *_ in tree.axes():
        momentum[d] = momentum[d] + armature(tree.model, i) * dq[d]
    for rotor in tree.rotors:
        spin = rotor.s @ twists[rotor.link][0] + rotor.ratio * dq[rotor.dof]
        momentum[rotor.dof] = momentum[rotor.dof] + spin * (rotor.inertia * rotor.ratio)
    momentum = np.array(momentum)
    return momentum + inertia_forces(tree.model, dq) if tree.model.motors else momentum


MOMENTUM_BALANCE = Quantity(
    "momentum_balance", "q dq tau",
    (
        Result("p", "n", "momentum of the joints", "kg m^2/s or kg m/s"),
        Result("f", "n", "rate of the momentum without contacts", "N m or N"),
    ),
    "Momentum p = M dq, and f = tau - friction + C^T dq - g - springs: dp/dt = f + J^T F_ext.",
    "p = M dq and dp/dt without contacts",
    over_tree(tree_momentum_balance, 2),
    (
        "robot.compile('momentum_balance')([0.1, 0.2], [1, 0], [0, 2])[1].round(3)",
        "array([-364.056,  -70.736])",
    ),
    refused="The forces of constraints would be taken for contacts; use a robot without them",
)  # fmt: skip
TRANSPOSED_CORIOLIS_FORCES = Quantity(
    "transposed_coriolis_forces", "q dq",
    (Result("c_T", "n", "forces C^T dq, C of the Christoffel symbols", "N m or N"),),
    "C(q, dq)^T dq = dM/dt dq - c: rate of the momentum M dq by the motion of the joints.",
    "C^T dq = dM/dt dq - c",
    over_tree(tree_transposed_coriolis_forces, 1),
    ("robot.transposed_coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)", "array([ 0.   , -2.265])"),
)  # fmt: skip
