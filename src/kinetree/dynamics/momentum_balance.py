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

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.tree import Pair, Tree
from kinetree.model.quantity import quantity
from kinetree.spatial import cross


@quantity(
    "q dq tau -> p: n, f: n",
    refused="The forces of constraints would be taken for contacts; use a robot without them",
    method=False,
)
def momentum_balance(tree: Tree, dq: Array, tau: Array) -> tuple[Array, Array]:
    """Momentum p = M dq, and f = tau - friction + C^T dq - g - springs: dp/dt = f + J^T F_ext.

    Returns:
        p: momentum of the joints [kg m^2/s or kg m/s].
        f: rate of the momentum without contacts [N m or N].

    Example:
        >>> robot.compile('momentum_balance')([0.1, 0.2], [1, 0], [0, 2])[1].round(3)
        array([-364.056,  -70.736])
    """
    twists, weights = tree.twists(dq), _weights(tree)
    momenta = tree.gathered_pairs(lambda link, i: link.body.momentum(*twists[i]))
    forces: dict[int, Pair] = {}
    for i, (f, n) in momenta.items():
        (omega, v), (f_weight, n_weight) = twists[i], weights[i]
        forces[i] = cross(f, omega) - f_weight, cross(n, omega) + cross(f, v) - n_weight
    rate = tree.joint_forces(forces) + (tau - friction_forces(tree.model, dq))
    rate = rate if tree.springs is None else rate - tree.springs.at(dq)
    return tree.joint_forces(momenta), rate


def _weights(tree: Tree) -> dict[int, Pair]:
    """Force and moment that carry the weight beyond each joint, about its origin, in {i}."""
    # the upward acceleration that stands for gravity, in {i}
    up = tree.outward(tree.up, lambda _, link, up_p: link.to.outward(up_p))
    return tree.gathered_pairs(lambda x, i: (up[i] * x.body.m, cross(x.body.h, up[i])))
