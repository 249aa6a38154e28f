"""Momentum of the robot, and about the centre of mass as a matrix, A_G(q), with its rate.

The momentum about the centre of mass is h_G = A_G dq.

All bodies beyond joint i move with it as one composite body, as in mass_matrix.py. Column i of A_G
is the momentum (f, n) of this body for unit rate of the joint, about the centre of mass of the
robot. With r the mass points of the body from the origin of {i}, p the origin of {i}, c the centre
of mass, j = w x r + l the velocities of unit rate, and all vectors in the axes of {s},

    f  = sum of m j,                     n  = sum of m r x j + (p - c) x f
    df = sum of m dj,                    dn = sum of m (r x dj + dr x j) + (p - c) x df
                                              + (dp - dc) x f

The sums follow from the mass moments and from the velocity moments of coriolis_matrix.py. Drives
that turn beside the robot have no momentum. The linear rows of A_G are the total mass times the
Jacobian of the centre of mass.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.coriolis_matrix import moving_bodies
from kinetree.dynamics.energy import base_body, mass_to_divide_by, whole_body
from kinetree.dynamics.frames import frame_motions
from kinetree.dynamics.tree import BESIDE, Tree
from kinetree.model import WORLD
from kinetree.model.inputs import zeros
from kinetree.model.quantity import quantity
from kinetree.spatial import cross
from kinetree.spatial.se3 import split


@quantity("q dq -> H: 6", whole=True)
def momentum(tree: Tree, dq: Array) -> Array:
    """Momentum (angular, linear) of the robot about the origin of {s}, in {s}.

    Returns:
        H: momentum (angular, linear) in the space frame [N m s and N s].

    Example:
        >>> robot.momentum([0.1, 0.2], [1, 0.5]).round(3)
        array([ 0.   ,  0.   , 48.531, -6.364, 40.741,  0.   ])
    """
    twists = tree.twists(dq)
    links = WORLD, *range(len(tree.links))
    f, n = tree.gathered_pairs(lambda x, i: x.body.momentum(*twists[i]), links)[WORLD]
    return np.concatenate([n, f])


@quantity("q dq -> H_com: 6", whole=True)
def centroidal_momentum(tree: Tree, dq: Array) -> Array:
    """Momentum (angular, linear) of the robot about its centre of mass, in the axes of {s}.

    Returns:
        H_com: momentum (angular, linear) about the centre of mass [N m s and N s].

    Example:
        >>> robot.centroidal_momentum([0.1, 0.2], [1, 0.5]).round(3)
        array([ 0.   ,  0.   , 10.842, -6.364, 40.741,  0.   ])
    """
    H = momentum(tree, dq)
    center = whole_body(tree).h / mass_to_divide_by(tree.model)
    return np.concatenate([H[:3] - cross(center, H[3:]), H[3:]])


@quantity("q -> J_com: 3 n", whole=True, method=False)
def center_of_mass_jacobian(tree: Tree) -> Array:
    """Jacobian of the centre of mass: its velocity in {s} is J dq.

    Returns:
        J_com: Jacobian of the centre of mass [m/s for a unit of each rate].

    Example:
        >>> robot.compile("center_of_mass_jacobian")([0.1, 0.2]).round(3)
        array([[-0.128, -0.055],
               [ 0.905,  0.177],
               [ 0.   ,  0.   ]])
    """
    return centroidal_momentum_matrix(tree)[3:] / mass_to_divide_by(tree.model)


@quantity("q -> A_G: 6 n", whole=True, method=False)
def centroidal_momentum_matrix(tree: Tree) -> Array:
    """Centroidal momentum matrix A_G: `centroidal_momentum` is A_G dq.

    Returns:
        A_G: centroidal momentum matrix [N m s and N s for a unit of each rate].

    Example:
        >>> robot.compile("centroidal_momentum_matrix")([0.1, 0.2])[2].round(3)
        array([8.877, 3.93 ])
    """
    bodies, places = tree.composite_bodies(base_body(tree)), frame_motions(tree)
    center = bodies[WORLD].h / mass_to_divide_by(tree.model)

    def column(i: int, w: Array, l: Array) -> Array:
        f, n = bodies[i].momentum(w, l)
        force = places[i].R @ f
        return np.concatenate([places[i].R @ n + cross(places[i].p - center, force), force])

    return _columns(tree, column)


@quantity("q dq -> dA_G: 6 n", whole=True, method=False)
def centroidal_momentum_matrix_rate(tree: Tree, dq: Array) -> Array:
    """Rate of A_G: the rate of `centroidal_momentum` is A_G ddq + dA_G dq.

    Returns:
        dA_G: rate of A_G [the units of A_G per second].

    Example:
        >>> robot.compile("centroidal_momentum_matrix_rate")([0.1, 0.2], [1, 0.5])[3].round(3)
        array([-40.741, -10.891])
    """
    mass = mass_to_divide_by(tree.model)
    moving, places = moving_bodies(tree, dq, base=base_body(tree)), frame_motions(tree, dq)
    center, center_rate = moving.bodies[WORLD].h / mass, moving.velocities[WORLD].dh / mass

    def column(i: int, w: Array, l: Array) -> Array:
        R, arm, arm_rate = places[i].R, places[i].p - center, places[i].v - center_rate
        x = moving.momentum_rates(i, w, l)
        force, change = R @ x.f, R @ x.df
        turned = R @ (x.dn + x.Q) + cross(arm_rate, force) + cross(arm, change)
        return np.concatenate([turned, change])

    return _columns(tree, column)


def _columns(tree: Tree, column: Callable[[int, Array, Array], Array]) -> Array:
    """A matrix, (6, n), from the column of every axis (w, l) of a link i."""
    columns: list[Any] = [zeros(6)] * tree.model.n
    for i, link in enumerate(tree.links):
        for d, axis in () if link.parent == BESIDE else zip(link.dofs, link.A.T, strict=True):
            columns[d] = columns[d] + column(i, *split(axis))
    return np.array(columns).reshape(-1, 6).T
