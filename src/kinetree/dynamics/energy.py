"""Kinetic and potential energy, momentum, centre of mass."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.joints.springs import spring_energy
from kinetree.dynamics.kinematics import forward_kinematics
from kinetree.dynamics.lean import lean_model, lean_tree
from kinetree.dynamics.tree import Pair, Tree, weightless
from kinetree.errors import ModelError
from kinetree.model import WORLD, Model
from kinetree.model.documented import documented
from kinetree.model.inputs import zeros
from kinetree.model.joint import is_plain
from kinetree.model.quantity import quantity
from kinetree.spatial import cross
from kinetree.spatial.inertia import Moments


@quantity(
    "q dq -> T",
    meaning="kinetic energy",
    unit="J",
    formula="dq^T M dq / 2, J",
)
def kinetic_energy(tree: Tree, dq: Array) -> Any:
    """Kinetic energy: T = dq^T M dq / 2.

    Example:
        >>> round(float(robot.kinetic_energy([0.1, 0.2], [1, 0.5])), 3)
        27.38
    """
    return dq @ inverse_dynamics(weightless(tree), zeros(tree.model.n), dq) / 2


@quantity(
    "q -> U",
    meaning="potential energy of gravity and springs",
    unit="J",
    formula="- sum of m g . x, and springs, J",
    over="model",
    weighs=True,
)
def potential_energy(model: Model, q: StateLike) -> Any:
    """Potential energy of gravity, zero at the origin of {s}, and of springs.

    Example:
        >>> round(float(robot.potential_energy([0.1, 0.2])), 3)
        51.414
    """
    T_si, g = forward_kinematics(model, q), model.gravity[3:]
    energy = -(model.base[0] * (g @ model.base[1]))
    for T, m, com in zip(T_si, model.m, model.com, strict=True):
        energy = energy - m * (g @ (T[:3, :3] @ com + T[:3, 3]))
    return energy + spring_energy(model, q) if model.springs else energy


@documented
def total_mass(model: Model) -> Any:
    """Mass of all links and the base, kg."""
    return model.base[0] + sum(model.m)


def mass_to_divide_by(model: Model) -> Any:
    """Mass of all links and the base, kg; raise ModelError if there is none."""
    mass = total_mass(model)
    if is_plain(mass, 0):
        raise ModelError(f"{model.name!r} has no mass, so it has no centre of mass.")
    return mass


@quantity(
    "q -> p_com: 3",
    meaning="position in the space frame",
    unit="m",
    formula="centre of mass in {s}, m",
    over="model",
)
def center_of_mass(model: Model, q: StateLike) -> Array:
    """Centre of mass of all links and the base, in {s}.

    Example:
        >>> robot.center_of_mass([0.1, 0.2]).round(3)
        array([0.905, 0.128, 0.   ])
    """
    mass = mass_to_divide_by(model)
    T_si = forward_kinematics(model, q)
    h = model.base[0] * model.base[1]
    for T, m, com in zip(T_si, model.m, model.com, strict=True):
        h = h + (T[:3, :3] @ com + T[:3, 3]) * m
    return h / mass


def about(point: Array, total: Array) -> Array:
    """Momentum about a point instead of the origin, both in {s}."""
    return np.concatenate([total[:3] - cross(point, total[3:]), total[3:]])


def tree_center_of_mass(tree: Tree) -> Array:
    """Centre of mass in {s}, (3,), from composite bodies; the tree must not be regrouped."""
    return tree.composite_bodies(base_body(tree))[WORLD].h / mass_to_divide_by(tree.model)


def base_body(tree: Tree) -> Moments:
    """The base; of the whole robot only the mass and the first moment in {s} are used."""
    m, com, *_ = tree.model.base
    return Moments(m, com * m, np.zeros((3, 3), int))


@quantity(
    "q dq -> H: 6",
    meaning="momentum (angular, linear) in the space frame",
    unit="N m s and N s",
    formula="(angular, linear) in {s}",
    whole=True,
)
def momentum(tree: Tree, dq: Array) -> Array:
    """Momentum (angular, linear) of the robot about the origin of {s}, in {s}.

    Example:
        >>> robot.momentum([0.1, 0.2], [1, 0.5]).round(3)
        array([ 0.   ,  0.   , 48.531, -6.364, 40.741,  0.   ])
    """
    twists = tree.twists(dq)
    links = WORLD, *tree.numbers
    f, n = tree.gathered_pairs(lambda x, i: own_momentum(x.body, *twists[i]), links)[WORLD]
    return np.concatenate([n, f])


def own_momentum(body: Moments, w: Array, l: Array) -> Pair:
    """The momentum (f, n) of a body for a twist (w, l)."""
    return body.momentum(w, l)


def _traced_centroidal_momentum(
    model: Model, regrouped: bool, frame: str | None
) -> Callable[..., Array]:
    lean = lean_model(model, regrouped=False)
    return lambda q, dq: about(center_of_mass(model, q), momentum(lean_tree(lean, q), dq))


@quantity(
    "q dq -> H_com: 6",
    meaning="momentum (angular, linear) about the centre of mass",
    unit="N m s and N s",
    formula="about the centre of mass",
    make=_traced_centroidal_momentum,
)
def centroidal_momentum(tree: Tree, dq: Array) -> Array:
    """Momentum (angular, linear) of the robot about its centre of mass, in the axes of {s}.

    Example:
        >>> robot.centroidal_momentum([0.1, 0.2], [1, 0.5]).round(3)
        array([ 0.   ,  0.   , 10.842, -6.364, 40.741,  0.   ])
    """
    return about(tree_center_of_mass(tree), momentum(tree, dq))
