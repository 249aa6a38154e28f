"""Momentum about the centre of mass as a matrix: A_G(q) with h_G = A_G dq, and its rate.

All bodies beyond joint i move with it as one composite body, as in mass_matrix.py. Column i of A_G
is the momentum (f, n) of this body for unit rate of the joint, about the centre of mass of the
robot. With r the mass points of the body from the origin of {i}, p the origin of {i}, c the centre
of mass, j = w x r + l the velocities of unit rate, and all vectors in the axes of {s},

    f  = sum of m j,                     n  = sum of m r x j + (p - c) x f
    df = sum of m dj,                    dn = sum of m (r x dj + dr x j) + (p - c) x df
                                              + (dp - dc) x f

The sums follow from the mass moments and from the `Spread` of coriolis_matrix.py. The spin of
rotors adds to n of their own joint; armature is not a body. The linear rows of A_G are the total
mass times the Jacobian of the centre of mass.
"""

from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.coriolis_matrix import (
    Spread,
    added_spread,
    link_velocities,
    momentum_rates,
    rigid,
)
from kinetree.dynamics.energy import base_body, mass_to_divide_by
from kinetree.dynamics.frames import FrameMotion, frame_motions
from kinetree.dynamics.traced import over_tree
from kinetree.dynamics.tree import Pair, Tree
from kinetree.model import WORLD, Model
from kinetree.model.inputs import rates, zeros
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result
from kinetree.spatial import cross
from kinetree.spatial.inertia import Moments


@labelled("3", "n")
def center_of_mass_jacobian(model: Model, q: StateLike) -> Array:
    """J of the centre of mass, (3, n): its velocity in {s} is J dq, m/s for a unit of each rate."""
    return tree_center_of_mass_jacobian(book_tree(model, q))


@labelled("6", "n")
def centroidal_momentum_matrix(model: Model, q: StateLike) -> Array:
    """A_G(q), (6, n): `centroidal_momentum` (angular, linear) is A_G dq, N m s and N s."""
    return tree_centroidal_matrix(book_tree(model, q))


@labelled("6", "n")
def centroidal_momentum_matrix_rate(model: Model, q: StateLike, dq: StateLike) -> Array:
    """dA_G/dt along dq, (6, n): the rate of `centroidal_momentum` is A_G ddq + dA_G/dt dq."""
    return tree_centroidal_matrix_rate(book_tree(model, q), rates(model, dq, "dq"))


def tree_center_of_mass_jacobian(tree: Tree) -> Array:
    """(3, n); the tree must not be regrouped."""
    mass = mass_to_divide_by(tree.model)
    bodies, places = tree.composite_bodies(base_body(tree)), frame_motions(tree)
    J = [zeros(3)] * tree.model.n
    for i, d, w, l in tree.axes():
        J[d] = J[d] + unit_force(bodies[i], places[i].R, w, l) / mass
    return np.array(J).reshape(-1, 3).T


def unit_force(body: Moments, R: Array, w: Array, l: Array) -> Array:
    """Linear momentum of a body for unit rate of its joint along (w, l), in the axes of {s}."""
    return R @ body.momentum(w, l)[0]


def tree_centroidal_matrix(tree: Tree) -> Array:
    """A_G, (6, n); the tree must not be regrouped."""
    bodies, places = tree.composite_bodies(base_body(tree)), frame_motions(tree)
    center = bodies[WORLD].h / mass_to_divide_by(tree.model)
    n, f = ([zeros(3)] * tree.model.n for _ in range(2))
    for i, d, w, l in tree.axes():
        n[d], f[d] = plus_column(n[d], f[d], bodies[i], places[i], center, w, l)
    for rotor in tree.rotors:
        spin = places[rotor.link].R @ rotor.s
        n[rotor.dof] = n[rotor.dof] + spin * (rotor.inertia * rotor.ratio)
    return _joined(n, f)


def plus_column(
    n: Array, f: Array, body: Moments, place: FrameMotion, center: Array, w: Array, l: Array
) -> Pair:
    """A column (n, f) of A_G with the momentum of a body for unit rate of its joint."""
    R, arm = place.R, place.p - center
    f_i, n_i = body.momentum(w, l)
    force = R @ f_i
    return n + R @ n_i + cross(arm, force), f + force


def tree_centroidal_matrix_rate(tree: Tree, dq: Array) -> Array:
    """dA_G/dt, (6, n); the tree must not be regrouped."""
    mass = mass_to_divide_by(tree.model)
    omega, u = link_velocities(tree, dq)
    bodies, places = tree.composite_bodies(base_body(tree)), frame_motions(tree, dq)
    spreads = {WORLD: Spread(zeros(3), np.zeros((3, 3), int))}  # of the robot only dh is used
    spreads |= {i: rigid(link.body, omega[i]) for i, link in enumerate(tree.links)}
    tree.gathered(
        spreads, lambda i, link, x, p: added_spread(link.to, x, bodies[i], u[i], False, p)
    )
    center, center_rate = bodies[WORLD].h / mass, spreads[WORLD].dh / mass
    dn, df = ([zeros(3)] * tree.model.n for _ in range(2))
    for i, d, w, l in tree.axes():
        given = bodies[i], spreads[i], omega[i], places[i], center, center_rate
        turned, change = column_rate(*given, w, l)
        dn[d], df[d] = dn[d] + turned, df[d] + change
    for rotor in tree.rotors:
        gyro = places[rotor.link].R @ cross(omega[rotor.link], rotor.s)
        dn[rotor.dof] = dn[rotor.dof] + gyro * (rotor.inertia * rotor.ratio)
    return _joined(dn, df)


def column_rate(
    body: Moments,
    spread: Spread,
    omega: Array,
    place: FrameMotion,
    center: Array,
    center_rate: Array,
    w: Array,
    l: Array,
) -> Pair:
    """dn and df of unit rate of a joint along (w, l), about the centre of mass."""
    R, arm, arm_rate = place.R, place.p - center, place.v - center_rate
    rate = momentum_rates(body, spread, omega, w, l)
    force, change = R @ rate.f, R @ rate.df
    return R @ (rate.dn + rate.Q) + cross(arm_rate, force) + cross(arm, change), change


def _joined(n: list[Any], f: list[Any]) -> Array:
    columns = [np.concatenate(pair) for pair in zip(n, f, strict=True)]
    return np.array(columns).reshape(-1, 6).T


CENTER_OF_MASS_JACOBIAN = Quantity(
    "center_of_mass_jacobian", "q",
    (Result("J_com", "3 n", "Jacobian of the centre of mass", "m/s for a unit of each rate"),),
    "Jacobian of the centre of mass: its velocity in {s} is J dq.",
    "velocity of the centre of mass is J dq",
    over_tree(tree_center_of_mass_jacobian, 0, whole=True),
    (
        "robot.center_of_mass_jacobian([0.1, 0.2]).round(3)",
        "array([[-0.128, -0.055],\n       [ 0.905,  0.177],\n       [ 0.   ,  0.   ]])",
    ),
)  # fmt: skip
CENTROIDAL_MOMENTUM_MATRIX = Quantity(
    "centroidal_momentum_matrix", "q",
    (
        Result(
            "A_G", "6 n", "centroidal momentum matrix",
            "N m s and N s for a unit of each rate",
        ),
    ),
    "Centroidal momentum matrix A_G: `centroidal_momentum` is A_G dq.",
    "A_G, h_G = A_G dq",
    over_tree(tree_centroidal_matrix, 0, whole=True),
    ("robot.centroidal_momentum_matrix([0.1, 0.2])[2].round(3)", "array([8.877, 3.93 ])"),
)  # fmt: skip
CENTROIDAL_MOMENTUM_MATRIX_RATE = Quantity(
    "centroidal_momentum_matrix_rate", "q dq",
    (Result("dA_G", "6 n", "rate of A_G", "the units of A_G per second"),),
    "Rate of A_G: the rate of `centroidal_momentum` is A_G ddq + dA_G dq.",
    "dA_G/dt",
    over_tree(tree_centroidal_matrix_rate, 1, whole=True),
    (
        "robot.centroidal_momentum_matrix_rate([0.1, 0.2], [1, 0.5])[3].round(3)",
        "array([-40.741, -10.891])",
    ),
)  # fmt: skip
