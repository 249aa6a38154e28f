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

from kinetree.core.arrays import Array
from kinetree.dynamics.drive_terms import spin_momenta
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.joints.motors import inertia_forces
from kinetree.dynamics.joints.rotors import armature, armature_bias
from kinetree.dynamics.tree import Pair, Tree, TreeLink, pair_onto, plus
from kinetree.model.inputs import zeros
from kinetree.model.quantity import quantity
from kinetree.spatial import cross


@quantity(
    "q dq -> c_T: n",
    meaning="forces C^T dq, C of the Christoffel symbols",
    unit="N m or N",
    formula="C^T dq = dM/dt dq - c",
)
def transposed_coriolis_forces(tree: Tree, dq: Array) -> Array:
    """C(q, dq)^T dq = dM/dt dq - c: rate of the momentum M dq by the motion of the joints.

    Example:
        >>> robot.transposed_coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)
        array([ 0.   , -2.265])
    """
    twists = tree.twists(dq)
    turning = [_turned(*x.momentum, *twists[i]) for i, x in _beyond(tree, dq, twists).items()]
    return tree.joint_forces(turning) - armature_bias(tree.model, dq)


@quantity(
    "q dq tau -> p: n, f: n",
    meaning=(
        "momentum of the joints",
        "rate of the momentum without contacts",
    ),
    unit=(
        "kg m^2/s or kg m/s",
        "N m or N",
    ),
    formula="p = M dq and dp/dt without contacts",
    refused="The forces of constraints would be taken for contacts; use a robot without them",
    method=False,
)
def momentum_balance(tree: Tree, dq: Array, tau: Array) -> tuple[Array, Array]:
    """Momentum p = M dq, and f = tau - friction + C^T dq - g - springs: dp/dt = f + J^T F_ext.

    Example:
        >>> robot.compile('momentum_balance')([0.1, 0.2], [1, 0], [0, 2])[1].round(3)
        array([-364.056,  -70.736])
    """
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
