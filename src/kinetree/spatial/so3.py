"""Rotations: skew matrices, the exponential and logarithm of SO(3), quaternions, roll-pitch-yaw."""

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, is_numeric, known, length, times
from kinetree.errors import InputError
from kinetree.scalars import Scalar, atan2, cos, sin

IDENTITY = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
TINY = 1e-100  # the square of a smaller angle underflows, and its axis may have lost its length


def skew(w: Array) -> Array:
    """[w], the matrix of the cross product: [w] x = w x x.

    Args:
        w: vector, shape (3,), of any unit.
    """
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def unskew(W: Array) -> Array:
    """The vector w of a skew-symmetric matrix [w].

    Args:
        W: skew-symmetric matrix, shape (3, 3), of any unit.
    """
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def cross(a: Array, b: Array) -> Array:
    """The cross product.

    Args:
        a: vector, shape (3,), of any unit.
        b: vector, shape (3,), of any unit.
    """
    (x, y, z), (u, v, w) = a, b
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def rotation(axis: Array, angle: Scalar) -> Array:
    """Rotation by `angle` about a unit axis, exp([axis] angle), Rodrigues' formula.

    Written entry by entry so that a rotation about a coordinate axis has exact zeros and ones.

    Args:
        axis: direction, shape (3,), of length 1.
        angle: angle, rad.
    """
    x, y, z = axis
    s, c = sin(angle), cos(angle)
    d = 1 - c
    xx, yy, zz = x * x, y * y, z * z
    return np.array(
        [
            [xx + c * (yy + zz), d * (x * y) - s * z, d * (x * z) + s * y],
            [d * (x * y) + s * z, yy + c * (xx + zz), d * (y * z) - s * x],
            [d * (x * z) - s * y, d * (y * z) + s * x, zz + c * (xx + yy)],
        ]
    )


def exp_so3(w: ArrayLike) -> Array:
    """Rotation of the rotation vector w = axis * angle, rad; exact near zero.

    Args:
        w: rotation vector, shape (3,), rad.
    """
    x = array(w, (3,), "rotation vector")
    angle = length(x)
    return np.eye(3, dtype=int) + skew(x) if is_tiny(angle) else rotation(x / angle, angle)


def is_tiny(angle: Scalar) -> bool:
    """Return True if exp is 1 + [w] to all digits; of symbols only for zero."""
    return angle < TINY if isinstance(angle, float) else bool(angle == 0)


def log_so3(R: ArrayLike) -> Array:
    """Rotation vector of R, its length in [0, pi]; exact near 0 and near pi too.

    Args:
        R: rotation, shape (3, 3).
    """
    qw, *qv = quaternion(R)
    v = np.array(qv)
    sine = length(v)
    return v if sine == 0 else v * (2 * atan2(sine, qw) / sine)


def quaternion(R: ArrayLike) -> Array:
    """Unit quaternion (w, x, y, z) of R with w >= 0, through the largest of its four entries.

    Args:
        R: rotation, shape (3, 3).
    """
    x = check_rotation(R, "R")
    if known(x) is None:
        raise InputError(f"R holds symbols: {x.tolist()}; its quaternion needs numbers.")
    trace = x[0, 0] + x[1, 1] + x[2, 2]
    squares = np.array([trace, x[0, 0], x[1, 1], x[2, 2]])
    k = int(np.argmax(squares))
    if k == 0:
        q = np.array([1 + trace, x[2, 1] - x[1, 2], x[0, 2] - x[2, 0], x[1, 0] - x[0, 1]])
    else:
        i, j, l = k - 1, k % 3, (k + 1) % 3
        part = {i: 1 + x[i, i] - x[j, j] - x[l, l], j: x[j, i] + x[i, j], l: x[l, i] + x[i, l]}
        q = np.array([x[l, j] - x[j, l], part[0], part[1], part[2]])
    q = q / length(q)
    return -q if q[0] < 0 else q


def from_quaternion(q: ArrayLike, name: str = "quaternion") -> Array:
    """Rotation of a unit quaternion (w, x, y, z); raise InputError for another length.

    Args:
        q: quaternion (w, x, y, z), shape (4,), of length 1.
        name: its name in messages.
    """
    x = array(q, (4,), name)
    values = known(x)
    if values is not None:
        norm = length(values)
        if abs(norm - 1) > 1e-6:
            raise InputError(
                f"{name} = {values.tolist()} has length {norm:.9g}; expected length 1, "
                "in the order (w, x, y, z). Divide it by its length if only its direction matters."
            )
        x = x / norm if is_numeric(x) else x
    return quaternion_rotation(x)


def quaternion_rotation(q: Array) -> Array:
    """Rotation of a quaternion (w, x, y, z) that is known to have length 1."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rpy(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Array:
    """Rotation by roll about x, then pitch about y, then yaw about z, all axes fixed.

    Args:
        roll: angle about x, rad.
        pitch: angle about y, rad.
        yaw: angle about z, rad.
    """
    c_r, c_p, c_y = cos(roll), cos(pitch), cos(yaw)
    s_r, s_p, s_y = sin(roll), sin(pitch), sin(yaw)
    tilt_x, tilt_y = c_y * s_p, s_y * s_p
    return np.array(
        [
            [c_y * c_p, tilt_x * s_r - s_y * c_r, tilt_x * c_r + s_y * s_r],
            [s_y * c_p, tilt_y * s_r + c_y * c_r, tilt_y * c_r - c_y * s_r],
            [-s_p, c_p * s_r, c_p * c_r],
        ]
    )


def check_rotation(R: ArrayLike, name: str) -> Array:
    """`R` as a rotation matrix: orthonormal to 1e-6 and right-handed.

    Entries typed with seven digits pass and are completed to rounding; anything worse is an error.

    Args:
        R: rotation, shape (3, 3).
        name: its name in messages.
    """
    x = array(R, (3, 3), name)
    values = known(x)
    if values is None or values.tolist() == IDENTITY:
        return x
    with np.errstate(over="ignore", invalid="ignore"):  # the numbers are not checked yet
        error = float(np.abs(times(values.T, values) - np.eye(3)).max())
        det = float(times(values[0], cross(values[1], values[2])))
    if not error <= 1e-6 or det < 0:
        raise InputError(
            f"{name} is not a rotation: R^T R differs from 1 by {error:.3g} and "
            f"det R = {det:.9g}; expected orthonormal columns and det R = 1."
        )
    if error < 2e-15 or not is_numeric(x):
        return x
    for _ in range(3):  # Newton's steps to the nearest rotation: 1e-6, 1e-12, then rounding
        x = times(x, 3 * np.eye(3) - times(x.T, x)) / 2
    return x
