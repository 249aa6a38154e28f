"""Poses: homogeneous transforms, the exponential and logarithm of SE(3), Ad."""

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, known, length, times
from kinetree.errors import InputError, ShapeError
from kinetree.scalars import Scalar, cos, sin
from kinetree.spatial.so3 import check_rotation, cross, is_tiny, log_so3, rotation, skew
from kinetree.spatial.twist import block


def pose(R: Array, p: Array) -> Array:
    """T of rotation R and position p.

    Args:
        R: rotation, shape (3, 3).
        p: position, shape (3,), m.
    """
    if getattr(R, "dtype", None) == getattr(p, "dtype", None) == np.float64:  # in half the time
        T = np.zeros((4, 4))
        T[:3, :3], T[:3, 3], T[3, 3] = R, p, 1
        return T
    return np.array([[*R[0], p[0]], [*R[1], p[1]], [*R[2], p[2]], [0, 0, 0, 1]])


def translation(p: ArrayLike) -> Array:
    """T of a translation by p without rotation.

    Args:
        p: position, shape (3,), m.
    """
    return pose(np.eye(3, dtype=int), array(p, (3,), "translation"))


def inverse(T: Array) -> Array:
    """T_ji of T_ij.

    Args:
        T: pose T_ij, shape (4, 4), position in m.
    """
    R, p = T[:3, :3], T[:3, 3]
    return pose(R.T, -times(R.T, p))


def Ad(T: Array) -> Array:
    """Adjoint, shape (6, 6): V_i = Ad(T_ij) V_j for twists, F_j = Ad(T_ij)^T F_i for wrenches.

    Args:
        T: pose T_ij, shape (4, 4), position in m.
    """
    R, p = T[:3, :3], T[:3, 3]
    return block(R, 0, times(skew(p), R), R)


def move_twist(T: Array, V: Array) -> Array:
    """Ad(T) V of a twist or a screw axis, without the matrix.

    Args:
        T: pose T_ij, shape (4, 4), position in m.
        V: twist (angular, linear) in {j}, shape (6,).
    """
    R, p = T[:3, :3], T[:3, 3]
    w = times(R, V[:3])
    return np.concatenate([w, times(R, V[3:]) + cross(p, w)])


def exp_se3(A: Array, theta: Scalar, *, pitch: Scalar | None = None) -> Array:
    """exp([A] theta) of a screw axis A = (w, v), either |w| = 1, or w = 0 and |v| = 1.

    The part of v along w is the pitch, the rest moves on a circle. The two are kept apart so that a
    position stays exact after many turns. A known pitch (0 of a hinge) takes the place of w . v,
    whose rounding would shift the link by 1e-16 m per radian.

    Args:
        A: screw axis (w, v), shape (6,), rad and m for a unit of theta.
        theta: angle or distance, rad or m.
        pitch: known translation per angle, m/rad; None: from A.
    """
    w, v = A[:3], A[3:]
    if not np.any(w != 0):
        return pose(np.eye(3, dtype=int), v * theta)
    around = cross(w, v)
    p = cross(around, w) * sin(theta) + around * (1 - cos(theta))
    if pitch is None or pitch != 0:
        p = p + w * (times(w, v) if pitch is None else pitch) * theta
    return pose(rotation(w, theta), p)


def exp_twist(V: ArrayLike) -> Array:
    """exp([V]) of exponential coordinates V = (w, v) theta; exact near zero.

    Args:
        V: exponential coordinates, shape (6,), rad and m.
    """
    x = array(V, (6,), "exponential coordinates")
    w_theta, p = x[:3], x[3:]
    theta = length(w_theta)
    if is_tiny(theta):
        return pose(np.eye(3, dtype=int) + skew(w_theta), p)
    w = w_theta / theta
    around = cross(w, p)
    half = sin(theta / 2)  # 1 - cos(theta) would lose the digits of a small angle
    circle = cross(around, w) * (sin(theta) / theta) + around * (2 * half * half / theta)
    return pose(rotation(w, theta), w * times(w, p) + circle)


def log_se3(T: ArrayLike) -> Array:
    """Exponential coordinates A theta of a pose, theta in [0, pi]; exact near 0 and near pi.

    Args:
        T: pose, shape (4, 4), position in m.
    """
    x = check_pose(T, "T")
    p, w_theta = x[:3, 3], log_so3(x[:3, :3])
    theta = length(w_theta)
    if is_tiny(theta):
        return np.concatenate([w_theta, p])
    w = w_theta / theta
    half = theta / 2
    turned = cross(w, p)
    bend = 1 - half * cos(half) / sin(half)
    return np.concatenate([w_theta, p - turned * half + cross(w, turned) * bend])


def check_pose(T: ArrayLike, name: str) -> Array:
    """`T` as a homogeneous transform, shape (4, 4), with a rotation and the row 0 0 0 1.

    Args:
        T: pose, shape (4, 4), position in m; or one with the names x, y, z, w on both sides.
        name: its name in messages.
    """
    x = array(T, (4, 4), name)
    row = known(x[3])
    if row is not None and row.tolist() != [0, 0, 0, 1]:
        raise InputError(f"{name} has last row {row.tolist()}; expected [0, 0, 0, 1].")
    return pose(check_rotation(x[:3, :3], f"rotation of {name}"), x[:3, 3])


def placement(at: ArrayLike, name: str) -> Array:
    """T, (4, 4), of a position (3,), m, or of a pose (4, 4), which is checked."""
    try:
        shape = np.asarray(at).shape
    except ValueError:
        shape = "a ragged list"
    if shape == (3,):
        return translation(array(at, (3,), name))
    if shape == (4, 4):
        return check_pose(at, name)
    raise ShapeError(f"{name} must be a position (3,) or a pose (4, 4), found {shape}.")
