"""Kinetic and potential energy, momentum, centre of mass."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.drive_terms import spin_momenta
from kinetree.dynamics.inverse_dynamics import tree_inverse_dynamics
from kinetree.dynamics.joints.springs import spring_energy
from kinetree.dynamics.kinematics import forward_kinematics
from kinetree.dynamics.lean import lean_model, lean_tree
from kinetree.dynamics.traced import over_tree
from kinetree.dynamics.tree import Pair, Tree, pair_onto, plus, weightless
from kinetree.errors import ModelError
from kinetree.model import WORLD, Model
from kinetree.model.documented import documented
from kinetree.model.inputs import rates, zeros
from kinetree.model.joint import is_plain
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result, textbook
from kinetree.spatial import cross
from kinetree.spatial.inertia import Moments


@labelled()
def kinetic_energy(model: Model, q: StateLike, dq: StateLike) -> Any:
    """dq^T M dq / 2, J: the energy of all links, armature and rotors."""
    return tree_kinetic_energy(book_tree(model, q), rates(model, dq, "dq"))


def tree_kinetic_energy(tree: Tree, dq: Array) -> Any:
    """dq . (M dq) / 2, where M dq is the inverse dynamics of ddq = dq at rest without gravity."""
    return dq @ tree_inverse_dynamics(weightless(tree), zeros(tree.model.n), dq) / 2


@labelled()
def potential_energy(model: Model, q: StateLike) -> Any:
    """Energy of gravity and of the springs, J.

    U = -sum of m g . x over all links and the base, zero at the origin of {s}, and the sum of
    stiffness / 2 (x - rest)^2 over the springs. Its gradient is g + spring_forces.
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


@labelled("3")
def center_of_mass(model: Model, q: StateLike) -> Array:
    """Centre of mass of all links and the base, in {s}, (3,), m."""
    mass = mass_to_divide_by(model)
    T_si = forward_kinematics(model, q)
    h = model.base[0] * model.base[1]
    for T, m, com in zip(T_si, model.m, model.com, strict=True):
        h = h + (T[:3, :3] @ com + T[:3, 3]) * m
    return h / mass


@labelled("6")
def momentum(model: Model, q: StateLike, dq: StateLike) -> Array:
    """Angular momentum about the origin of {s} and linear momentum, in {s}, (6,).

    The spin of rotors on moving links and on the base is included; armature is not, because it is
    not a body.
    """
    return tree_momentum(book_tree(model, q), rates(model, dq, "dq"))


@labelled("6")
def centroidal_momentum(model: Model, q: StateLike, dq: StateLike) -> Array:
    """Angular momentum about the centre of mass and linear momentum, axes of {s}, (6,)."""
    return about(center_of_mass(model, q), momentum(model, q, dq))


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


def tree_momentum(tree: Tree, dq: Array) -> Array:
    """(angular about the origin, linear), (6,), in {s}; the tree must not be regrouped."""
    twists = tree.twists(dq)
    momenta = spin_momenta(tree, dq)
    for i, beyond in tree.inward(momenta, pair_onto):
        momenta[i] = plus_momentum(tree.links[i].body, *twists[i], *beyond)
    f, n = momenta[WORLD]
    return np.concatenate([n, f])


def plus_momentum(body: Moments, w: Array, l: Array, f: Array, n: Array) -> Pair:
    """The momentum (f, n) with that of a body for a twist (w, l)."""
    return plus((f, n), body.momentum(w, l))


def _traced_centroidal_momentum(
    model: Model, regrouped: bool, frame: str | None
) -> Callable[..., Array]:
    lean = lean_model(model, regrouped=False)
    return lambda q, dq: about(center_of_mass(model, q), tree_momentum(lean_tree(lean, q), dq))


KINETIC_ENERGY = Quantity(
    "kinetic_energy", "q dq",
    (Result("T", "", "kinetic energy", "J"),),
    "Kinetic energy: T = dq^T M dq / 2.",
    "dq^T M dq / 2, J",
    over_tree(tree_kinetic_energy, 1),
    ("round(float(robot.kinetic_energy([0.1, 0.2], [1, 0.5])), 3)", "27.38"),
)  # fmt: skip
POTENTIAL_ENERGY = Quantity(
    "potential_energy", "q",
    (Result("U", "", "potential energy of gravity and springs", "J"),),
    "Potential energy of gravity, zero at the origin of {s}, and of springs.",
    "- sum of m g . x, and springs, J",
    textbook(potential_energy),
    ("round(float(robot.potential_energy([0.1, 0.2])), 3)", "51.414"),
    weighs=True,
)  # fmt: skip
CENTER_OF_MASS = Quantity(
    "center_of_mass", "q",
    (Result("p_com", "3", "position in the space frame", "m"),),
    "Centre of mass of all links and the base, in {s}.",
    "centre of mass in {s}, m",
    textbook(center_of_mass),
    ("robot.center_of_mass([0.1, 0.2]).round(3)", "array([0.905, 0.128, 0.   ])"),
)  # fmt: skip
MOMENTUM = Quantity(
    "momentum", "q dq",
    (Result("H", "6", "momentum (angular, linear) in the space frame", "N m s and N s"),),
    "Momentum (angular, linear) of the robot about the origin of {s}, in {s}.",
    "(angular, linear) in {s}",
    over_tree(tree_momentum, 1, whole=True),
    (
        "robot.momentum([0.1, 0.2], [1, 0.5]).round(3)",
        "array([ 0.   ,  0.   , 48.531, -6.364, 40.741,  0.   ])",
    ),
)  # fmt: skip
CENTROIDAL_MOMENTUM = Quantity(
    "centroidal_momentum", "q dq",
    (
        Result(
            "H_com", "6", "momentum (angular, linear) about the centre of mass",
            "N m s and N s",
        ),
    ),
    "Momentum (angular, linear) of the robot about its centre of mass, in the axes of {s}.",
    "about the centre of mass",
    _traced_centroidal_momentum,
    (
        "robot.centroidal_momentum([0.1, 0.2], [1, 0.5]).round(3)",
        "array([ 0.   ,  0.   , 10.842, -6.364, 40.741,  0.   ])",
    ),
)  # fmt: skip
