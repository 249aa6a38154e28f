"""Momentum about the centre of mass as a matrix: A_G(q) with h_G = A_G dq, and its rate.

All bodies beyond joint i move with it as one composite body, as in mass_matrix.py. Column i of A_G
is the momentum (f, n) of this body for unit rate of the joint, about the centre of mass of the
robot. With r the mass points of the body from the origin of {i}, p the origin of {i}, c the centre
of mass, j = w x r + l the velocities of unit rate, and all vectors in the axes of {s},

    f  = sum of m j,                     n  = sum of m r x j + (p - c) x f
    df = sum of m dj,                    dn = sum of m (r x dj + dr x j) + (p - c) x df
                                              + (dp - dc) x f

The sums follow from the mass moments and from the `Spread` of coriolis_matrix.py. Drives that turn
beside the robot have no momentum. The linear rows of A_G are the total
mass times the Jacobian of the centre of mass.
"""

from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.coriolis_matrix import (
    Spread,
    added_spread,
    link_velocities,
    momentum_rates,
    rigid,
)
from kinetree.dynamics.energy import base_body, mass_to_divide_by
from kinetree.dynamics.frames import FrameMotion, frame_motions
from kinetree.dynamics.tree import Pair, Tree
from kinetree.model import WORLD
from kinetree.model.inputs import zeros
from kinetree.model.quantity import quantity
from kinetree.spatial import cross
from kinetree.spatial.inertia import Moments


@quantity(
    "q -> J_com: 3 n",
    meaning="Jacobian of the centre of mass",
    unit="m/s for a unit of each rate",
    formula="velocity of the centre of mass is J dq",
    whole=True,
    method=False,
)
def center_of_mass_jacobian(tree: Tree) -> Array:
    """Jacobian of the centre of mass: its velocity in {s} is J dq.

    Example:
        >>> robot.compile("center_of_mass_jacobian")([0.1, 0.2]).round(3)
        array([[-0.128, -0.055],
               [ 0.905,  0.177],
               [ 0.   ,  0.   ]])
    """
    mass = mass_to_divide_by(tree.model)
    bodies, places = tree.composite_bodies(base_body(tree)), frame_motions(tree)
    J = [zeros(3)] * tree.model.n
    for i, d, w, l in tree.axes():
        J[d] = J[d] + unit_force(bodies[i], places[i].R, w, l) / mass
    return np.array(J).reshape(-1, 3).T


def unit_force(body: Moments, R: Array, w: Array, l: Array) -> Array:
    """Linear momentum of a body for unit rate of its joint along (w, l), in the axes of {s}."""
    return R @ body.momentum(w, l)[0]


@quantity(
    "q -> A_G: 6 n",
    meaning="centroidal momentum matrix",
    unit="N m s and N s for a unit of each rate",
    formula="A_G, h_G = A_G dq",
    whole=True,
    method=False,
)
def centroidal_momentum_matrix(tree: Tree) -> Array:
    """Centroidal momentum matrix A_G: `centroidal_momentum` is A_G dq.

    Example:
        >>> robot.compile("centroidal_momentum_matrix")([0.1, 0.2])[2].round(3)
        array([8.877, 3.93 ])
    """
    bodies, places = tree.composite_bodies(base_body(tree)), frame_motions(tree)
    center = bodies[WORLD].h / mass_to_divide_by(tree.model)
    n, f = ([zeros(3)] * tree.model.n for _ in range(2))
    for i, d, w, l in tree.axes():
        n[d], f[d] = plus_column(n[d], f[d], bodies[i], places[i], center, w, l)
    return _joined(n, f)


def plus_column(
    n: Array, f: Array, body: Moments, place: FrameMotion, center: Array, w: Array, l: Array
) -> Pair:
    """A column (n, f) of A_G with the momentum of a body for unit rate of its joint."""
    R, arm = place.R, place.p - center
    f_i, n_i = body.momentum(w, l)
    force = R @ f_i
    return n + R @ n_i + cross(arm, force), f + force


@quantity(
    "q dq -> dA_G: 6 n",
    meaning="rate of A_G",
    unit="the units of A_G per second",
    formula="dA_G/dt",
    whole=True,
    method=False,
)
def centroidal_momentum_matrix_rate(tree: Tree, dq: Array) -> Array:
    """Rate of A_G: the rate of `centroidal_momentum` is A_G ddq + dA_G dq.

    Example:
        >>> robot.compile("centroidal_momentum_matrix_rate")([0.1, 0.2], [1, 0.5])[3].round(3)
        array([-40.741, -10.891])
    """
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
