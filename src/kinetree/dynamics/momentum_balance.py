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

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.traced import over_tree
from kinetree.dynamics.tree import Pair, Tree
from kinetree.model import Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import rates
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
    momenta = _momenta(tree, twists)
    return tree.joint_forces({i: _turned(*momenta[i], *twists[i]) for i in momenta})


def tree_momentum_balance(tree: Tree, dq: Array, tau: Array) -> tuple[Array, Array]:
    """The momentum p, (n,), and f, (n,), of `momentum_balance`, over a Tree."""
    twists = tree.twists(dq)
    momenta, weights = _momenta(tree, twists), _weights(tree)
    turning = {i: _turned(*momenta[i], *twists[i]) for i in momenta}
    forces = {i: (f - weights[i][0], n - weights[i][1]) for i, (f, n) in turning.items()}
    rate = tree.joint_forces(forces) + (tau - friction_forces(tree.model, dq))
    rate = rate if tree.springs is None else rate - tree.springs.at(dq)
    return tree.joint_forces(momenta), rate


def _momenta(tree: Tree, twists: Mapping[int, Pair]) -> dict[int, Pair]:
    """Momentum of all bodies beyond a joint about the origin of its link, in {i}."""
    return tree.gathered_pairs(lambda link, i: link.body.momentum(*twists[i]))


def _weights(tree: Tree) -> dict[int, Pair]:
    """Force and moment that carry the weight beyond each joint, about its origin, in {i}."""
    # the upward acceleration that stands for gravity, in {i}
    up = tree.outward(tree.up, lambda _, link, up_p: link.to.outward(up_p))
    return tree.gathered_pairs(lambda x, i: (up[i] * x.body.m, cross(x.body.h, up[i])))


def _turned(f: Array, n: Array, omega: Array, v: Array) -> Pair:
    """ad(V)^T L of a momentum (f, n) in a frame that moves with the twist (omega, v)."""
    return cross(f, omega), cross(n, omega) + cross(f, v)


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
