"""6-vectors, angular first: ad, screws with pitch, change of order."""

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
from kinetree.errors import InputError
from kinetree.scalars import Scalar
from kinetree.spatial.so3 import cross, skew


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
