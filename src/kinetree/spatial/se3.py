"""Poses: homogeneous transforms, the exponential and logarithm of SE(3), Ad."""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array, array, known, length
from kinetree.errors import InputError
from kinetree.scalars import cos, sin
from kinetree.spatial.so3 import check_rotation, cross, is_tiny, log_so3, rotation, skew
from kinetree.spatial.twist import block


def pose(R: Array, p: Array) -> Array:
    """T of rotation R and position p."""
    return np.array([[*R[0], p[0]], [*R[1], p[1]], [*R[2], p[2]], [0, 0, 0, 1]])


def translation(p: Any) -> Array:
    """T that moves by p without turning."""
    return pose(np.eye(3, dtype=int), array(p, (3,), "translation"))


def inverse(T: Array) -> Array:
    """T_ji of T_ij."""
    R, p = T[:3, :3], T[:3, 3]
    return pose(R.T, -(R.T @ p))


def Ad(T: Array) -> Array:
    """Adjoint, shape (6, 6): V_i = Ad(T_ij) V_j for twists, F_j = Ad(T_ij)^T F_i for wrenches."""
    R, p = T[:3, :3], T[:3, 3]
    return block(R, 0, skew(p) @ R, R)


def exp_se3(A: Array, theta: Any, *, pitch: Any = None) -> Array:
    """exp([A] theta) of a screw axis A = (w, v), either |w| = 1, or w = 0 and |v| = 1.

    The part of v along w is the pitch, the rest moves on a circle; kept apart, a position stays
    exact however often the joint has turned. Where the pitch is known (0 of a hinge), it takes the
    place of w . v, whose rounding would carry the link away by 1e-16 m a radian.
    """
    w, v = A[:3], A[3:]
    if not np.any(w != 0):
        return pose(np.eye(3, dtype=int), v * theta)
    around = cross(w, v)
    p = cross(around, w) * sin(theta) + around * (1 - cos(theta))
    if pitch is None or pitch != 0:
        p = p + w * (w @ v if pitch is None else pitch) * theta
    return pose(rotation(w, theta), p)


def exp_twist(V: Any) -> Array:
    """exp([V]) of exponential coordinates V = (w, v) theta; exact near zero."""
    V = array(V, (6,), "exponential coordinates")
    theta = length(V[:3])
    if is_tiny(theta):
        return pose(np.eye(3, dtype=int) + skew(V[:3]), V[3:])
    w, p = V[:3] / theta, V[3:]
    around = cross(w, p)
    half = sin(theta / 2)  # 1 - cos(theta) would lose the digits of a small angle
    circle = cross(around, w) * (sin(theta) / theta) + around * (2 * half * half / theta)
    return pose(rotation(w, theta), w * (w @ p) + circle)


def log_se3(T: Any) -> Array:
    """Exponential coordinates A theta of a pose, theta in [0, pi]; exact near 0 and near pi."""
    T = check_pose(T, "T")
    p, w_theta = T[:3, 3], log_so3(T[:3, :3])
    theta = length(w_theta)
    if is_tiny(theta):
        return np.concatenate([w_theta, p])
    w = w_theta / theta
    half = theta / 2
    turned = cross(w, p)
    bend = 1 - half * cos(half) / sin(half)
    return np.concatenate([w_theta, p - turned * half + cross(w, turned) * bend])


def check_pose(T: Any, name: str) -> Array:
    """`T` as a homogeneous transform, shape (4, 4), with a rotation and the row 0 0 0 1."""
    T = array(T, (4, 4), name)
    row = known(T[3])
    if row is not None and not np.array_equal(row, [0, 0, 0, 1]):
        raise InputError(f"{name} has last row {row.tolist()}; expected [0, 0, 0, 1].")
    return pose(check_rotation(T[:3, :3], f"rotation of {name}"), T[:3, 3])
