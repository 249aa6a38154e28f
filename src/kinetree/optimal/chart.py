"""Small deviations between positions, over any scalars: q1 seen from q0.

For coordinates that add it is q1 - q0; a turn is twice the vector part of its quaternion, which
agrees with its rotation vector to third order; a displacement is seen in the axes of q0. The chart
has the identity as its slope at q1 = q0, which is all that Newton's method needs.
"""

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.tangents import multiply
from kinetree.files.description.joints import FREE, PLANAR, SPHERICAL
from kinetree.model import Model
from kinetree.scalars import atan2, cos, maximum, sin, sqrt, where
from kinetree.spatial.so3 import quaternion_rotation

TURNING = (SPHERICAL, FREE)
SMALL_TURN = 1e-8  # square of the sine of half a turn, below which two terms of a series suffice


def deviation(model: Model, q0: Array, q1: Array, *, far: bool = False) -> Array:
    """The tangent vector from q0 to q1, (n,), in the chart of this module.

    far: with rotation vectors of turns, whose slope does not vanish at half a turn.
    """
    parts: dict[int, object] = {}
    for joint in model.joints:
        if joint.follows is not None:
            continue
        a, b = q0[list(joint.coords)], q1[list(joint.coords)]
        if joint.type in TURNING:
            conjugate = np.array([a[0], -a[1], -a[2], -a[3]])
            turn = multiply(conjugate, b[:4])
            # q and -q are the same turn
            v = rotation_vector(turn) if far else turn[1:] * where(turn[0], 2.0, -2.0)
            if joint.type == FREE:
                v = np.concatenate([v, quaternion_rotation(a[:4]).T @ (b[4:] - a[4:])])
        elif joint.type == PLANAR:
            c, s, (x, y) = cos(a[0]), sin(a[0]), b[1:] - a[1:]
            v = np.array([b[0] - a[0], c * x + s * y, c * y - s * x])
        else:
            v = b - a
        parts.update(zip(joint.dofs, v, strict=True))
    return np.array([parts[k] for k in range(model.n)])


def rotation_vector(turn: Array) -> Array:
    """The rotation vector of a unit quaternion (w, x, y, z), the shorter way, (3,)."""
    w, *v = turn * where(turn[0], 1.0, -1.0)  # of two ways alike one has a slope
    v = np.array(v)
    squared = v @ v
    small = SMALL_TURN - squared
    sine = sqrt(where(small, 1.0, squared))
    return v * where(small, 2 + squared / 3, 2 * atan2(sine, w) / sine)


def quaternion_of(R: Array) -> Array:
    """The unit quaternion of a rotation, (4,), over any scalars, by the largest of its entries."""
    (a, b, c), x, y, z = np.diag(R), R[2, 1], R[0, 2], R[1, 0]
    x_, y_, z_ = R[1, 2], R[2, 0], R[0, 1]
    rows = [
        [1 + a + b + c, x - x_, y - y_, z - z_],
        [x - x_, 1 + a - b - c, z + z_, y + y_],
        [y - y_, z + z_, 1 - a + b - c, x + x_],
        [z - z_, y + y_, x + x_, 1 - a - b + c],
    ]
    best, largest = rows[0], rows[0][0]
    for k in (1, 2, 3):
        more = rows[k][k] - largest
        best = [where(more, u, v) for u, v in zip(rows[k], best, strict=True)]
        largest = maximum(rows[k][k], largest)
    return np.array(best) / (2 * sqrt(largest))


def tangent_scales(model: Model) -> Array:
    """c with c_k T^T T = 1, where T = tangent_map: 4 for turns of quaternions, else 1; (n,)."""
    c = np.ones(model.n)
    for joint in model.joints:
        if joint.follows is None and joint.type in TURNING:
            c[list(joint.dofs)[:3]] = 4
    return c
