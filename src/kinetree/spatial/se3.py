"""Poses, twists and screws: exponential and logarithm of SE(3), Ad, ad, screws with pitch.

6-vectors are angular first.
"""

import numpy as np

from kinetree.core.arrays import (
    Array,
    ArrayLike,
    array,
    is_numeric,
    known,
    length,
    scalar,
    times,
    unit,
)
from kinetree.errors import InputError, ShapeError
from kinetree.scalars import Scalar, cos, sin
from kinetree.spatial.so3 import check_rotation, cross, is_tiny, log_so3, rotation, skew


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


def block(a: Array | int, b: Array | int, c: Array | int, d: Array | int) -> Array:
    """6x6 matrix of four 3x3 blocks, row by row; 0 is a block of zeros."""
    zero = np.zeros((3, 3), int)
    a, b, c, d = (zero if isinstance(x, int) else x for x in (a, b, c, d))
    return np.concatenate([np.concatenate([a, b], 1), np.concatenate([c, d], 1)])


def ad(V: Array) -> Array:
    """Matrix of the Lie bracket, shape (6, 6): ad(V) W = [V, W]; ad(V)^T acts on wrenches.

    Args:
        V: twist (angular, linear), shape (6,), rad/s and m/s.
    """
    return block(skew(V[:3]), 0, skew(V[3:]), skew(V[:3]))


def screw(point: ArrayLike, axis: ArrayLike, pitch: Scalar = 0) -> Array:
    """Screw axis S = (w, -w x point + pitch w) through a point, with its pitch in m/rad.

    An infinite pitch is a translation along `axis`.

    Args:
        point: a point on the axis, shape (3,), m.
        axis: direction, shape (3,), of length 1.
        pitch: translation per angle, m/rad; infinite for a translation.
    """
    w = unit(axis, "axis")
    if np.asarray(pitch).ndim == 0 and pitch == np.inf:
        return np.concatenate([np.zeros(3, int), w])
    return screw_through(array(point, (3,), "point"), w, scalar(pitch, "pitch"))


def screw_through(point: Array, w: Array, pitch: Scalar) -> Array:
    """Screw axis as of `screw`, from a point and a direction that were checked before."""
    return np.concatenate([w, cross(point, w) + w * pitch])


def screw_parts(S: ArrayLike) -> tuple[Array, Array, Scalar]:
    """Point, axis and pitch of a screw axis; the point is the one nearest to the origin.

    Args:
        S: screw axis (angular, linear), shape (6,), rad and m for a unit of q.
    """
    A, theta = unit_screw(array(S, (6,), "screw axis"))
    if theta == 0:
        raise InputError("screw axis is zero; expected (w, v) with w or v not zero.")
    w, v = A[:3], A[3:]
    if not np.any(w != 0):
        return np.zeros(3), v, np.inf
    return cross(w, v), w, times(w, v)


def unit_screw(V: Array) -> tuple[Array, Scalar]:
    """Screw axis A and magnitude theta with V = A theta, of any 6-vector; (0, 0) for zero.

    Args:
        V: twist (angular, linear), shape (6,), rad/s and m/s.
    """
    w, v = V[:3], V[3:]
    theta = length(w) if np.any(w != 0) else length(v)
    return (V, theta) if theta == 0 else (V / theta, theta)


def check_screw(S: ArrayLike, name: str) -> Array:
    """`S` as a screw axis (w, v): |w| = 1, or w = 0 and |v| = 1.

    Args:
        S: screw axis (angular, linear), shape (6,), rad and m for a unit of q.
        name: its name in messages.
    """
    A = array(S, (6,), name)
    w, v = A[:3], A[3:]
    if not np.any(A != 0):
        raise InputError(f"{name} is zero; expected (w, v) with |w| = 1, or w = 0 and |v| = 1.")
    part, size = ("w", w) if np.any(w != 0) else ("v", v)
    values = known(size)
    if values is None:
        return A
    norm = length(values)
    if abs(norm - 1) > 1e-6:
        whole = known(A)
        divided = "" if whole is None else f": {(whole / norm).tolist()}"
        raise InputError(
            f"{name} has |{part}| = {norm:.9g}; expected |w| = 1, or w = 0 and |v| = 1. Divide "
            f"all six entries by |{part}|{divided}; dividing a part would move the axis or change "
            "its pitch."
        )
    return A if abs(norm - 1) < 4e-16 or not is_numeric(A) else A / norm


def swap_order(V: Array) -> Array:
    """Angular-first <-> linear-first: (a, b) -> (b, a).

    Args:
        V: twist or wrench, shape (6,), of any unit.
    """
    return np.concatenate([V[3:], V[:3]])


def split(x: Array) -> tuple[Array, Array]:
    """Angular and linear half of a 6-vector."""
    return x[:3], x[3:]
