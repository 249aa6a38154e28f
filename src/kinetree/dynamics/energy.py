"""Kinetic and potential energy, mass and centre of mass."""

from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.tree import Tree, weightless
from kinetree.errors import ModelError
from kinetree.model import WORLD, Model
from kinetree.model.inputs import zeros
from kinetree.model.joint import is_plain
from kinetree.model.quantity import quantity
from kinetree.spatial.inertia import Moments


@quantity("q dq -> T")
def kinetic_energy(tree: Tree, dq: Array) -> Any:
    """Kinetic energy: T = dq^T M dq / 2.

    Returns:
        T: kinetic energy [J].

    Example:
        >>> round(float(robot.kinetic_energy([0.1, 0.2], [1, 0.5])), 3)
        27.38
    """
    return dq @ inverse_dynamics(weightless(tree), zeros(tree.model.n), dq) / 2


@quantity("q -> U", whole=True, weighs=True)
def potential_energy(tree: Tree) -> Any:
    """Potential energy of gravity, zero at the origin of {s}, and of springs.

    Returns:
        U: potential energy of gravity and springs [J].

    Example:
        >>> round(float(robot.potential_energy([0.1, 0.2])), 3)
        51.414
    """
    energy = whole_body(tree).h @ tree.up
    return energy if tree.springs is None else energy + tree.springs.energy


def total_mass(model: Model) -> Any:
    """Mass of all links and the base, kg.

    Args:
        model: the robot.
    """
    return model.base[0] + sum(model.m)


def mass_to_divide_by(model: Model) -> Any:
    """Mass of all links and the base, kg; raise ModelError if there is none."""
    mass = total_mass(model)
    if is_plain(mass, 0):
        raise ModelError(f"{model.name!r} has no mass, so it has no centre of mass.")
    return mass


@quantity("q -> p_com: 3", whole=True)
def center_of_mass(tree: Tree) -> Array:
    """Centre of mass of all links and the base, in {s}.

    Returns:
        p_com: position in the space frame [m].

    Example:
        >>> robot.center_of_mass([0.1, 0.2]).round(3)
        array([0.905, 0.128, 0.   ])
    """
    return whole_body(tree).h / mass_to_divide_by(tree.model)


def whole_body(tree: Tree) -> Moments:
    """The robot as one body in {s}, of which Sigma lacks the base."""
    return tree.composite_bodies(base_body(tree))[WORLD]


def base_body(tree: Tree) -> Moments:
    """The base; of the whole robot only the mass and the first moment in {s} are used."""
    m, com, *_ = tree.model.base
    return Moments(m, com * m, np.zeros((3, 3), int))
