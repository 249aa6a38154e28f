"""Forward dynamics: ddq from joint forces.

A short robot takes M by composite bodies, factored without fill; a long one is cut into articulated
bodies. The work of both is known beforehand, and the lesser is taken (`grouping.py`).
"""

from collections.abc import Sequence

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.articulated import solve_tree
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.grouping import Group, cheapest, finest
from kinetree.dynamics.inverse_dynamics import inverse_dynamics, link_motions, needed_wrench
from kinetree.dynamics.joints.configuration import random
from kinetree.dynamics.joints.friction import friction_forces
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import Tree
from kinetree.model import Model
from kinetree.model.constrain import tree_of, without_constraints
from kinetree.model.inputs import TipWrench, Wrenches, rates, zeros
from kinetree.model.labelled import labelled
from kinetree.model.quantity import quantity
from kinetree.spatial.matrices import solve


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
    """ddq, (n,), with a number of operations that is linear in the number of links (Featherstone).

    Every joint is eliminated by itself; those that follow one another, together. Arguments as in
    `forward_dynamics`.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        tau: joint forces, shape (n,), N m or N.
        F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
            shape (l, 6), N m and N; None: no wrench.
        F_tip: the book's wrench, exerted by the tool on the world, shape (6,), in the tool frame, N
            m and N; or {frame: wrench}; None: no wrench.
    """
    name = "forward_dynamics_by_articulated_bodies"
    without_constraints(model, name, "Use dynamics.constrained_forward_dynamics")
    tree = book_tree(model, q, F_ext, F_tip)
    dq, tau = rates(model, dq, "dq"), rates(model, tau, "tau")
    return by_articulated_bodies(tree, finest(model), dq, tau)


@quantity(
    "q dq tau -> ddq: n",
    wrenches=True,
    solves=True,
    weighs=True,
    instead="Use dynamics.constrained_forward_dynamics",
)
def forward_dynamics(tree: Tree, dq: Array, tau: Array) -> Array:
    """Joint accelerations under joint forces, without contacts: ddq = M^-1 (tau - h + J^T F_ext).

    Returns:
        ddq: joint accelerations [rad/s^2 or m/s^2].

    Example:
        >>> robot.forward_dynamics([0.1, 0.2], [1, 0], [0, 0]).round(3)
        array([-15.576,  28.535])
    """
    groups = cheapest(tree.model)
    if len(groups) > 1:
        return by_articulated_bodies(tree, groups, dq, tau)
    h = inverse_dynamics(tree, dq, zeros(tree.model.n))
    return solve(factor_mass_matrix(tree.model, mass_matrix(tree)), tau - h)


def by_articulated_bodies(tree: Tree, groups: Sequence[Group], dq: Array, tau: Array) -> Array:
    """ddq, (n,), from the wrenches of the motion with ddq = 0, without the mass matrix."""
    motions = link_motions(tree, dq, zeros(tree.model.n))
    own = tree.each(lambda link, i: needed_wrench(link, motions[i]))
    forces = tau - friction_forces(tree.model, dq)
    forces = forces if tree.springs is None else forces - tree.springs.at(dq)
    return solve_tree(tree, groups, own, forces)


def check_inertia(model: Model) -> None:
    """Raise an error that names the joint if the mass matrix is singular in every position."""
    q, rest = random(model, np.random.default_rng(0)), zeros(model.n)
    forward_dynamics(book_tree(tree_of(model), q), rest, rest)
