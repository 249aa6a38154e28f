"""The coordinates of one joint in another library, over any leading axes.

For every joint the other library's rates are dq' = X dq, X orthogonal: a change of order and axes.
Where the library differentiates a linear velocity along fixed axes, ddq' = X (ddq + b) with
b = (0, omega x v).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array


def _same(x: Array) -> Array:
    return x


def _no_bias(dq: Array) -> Array:
    return np.zeros_like(dq)


@dataclass(frozen=True)
class JointOrder:
    """One joint of another library: nq coordinates; q to and from it; X(q), (..., k, k); b(dq)."""

    nq: int
    to_q: Callable[[Array], Array]
    from_q: Callable[[Array], Array]
    X: Callable[[Array], Array]
    b: Callable[[Array], Array] = _no_bias


def constant(X: Array) -> Callable[[Array], Array]:
    """X that does not depend on q."""
    return lambda q: X


def reordered(to: list[int], X: Array) -> JointOrder:
    """Coordinates in another order, rates by a constant X."""
    back = np.argsort(to)
    return JointOrder(len(to), lambda q: q[..., to], lambda q: q[..., back], constant(X))


UNCHANGED = JointOrder(1, _same, _same, constant(np.eye(1)))
COS_SIN = JointOrder(
    2,
    lambda q: np.concatenate([np.cos(q), np.sin(q)], -1),
    lambda q: np.arctan2(q[..., 1:], q[..., :1]),
    constant(np.eye(1)),
)


def rotations(q: Array) -> Array:
    """Rotations of unit quaternions (w, x, y, z), (..., 3, 3)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def multiply(a: Array, b: Array) -> Array:
    """Products of quaternions (w, x, y, z)."""
    w, v, u, x = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    scalar = w * u - (v * x).sum(-1, keepdims=True)
    return np.concatenate([scalar, w * x + u * v + np.cross(v, x)], -1)


def blocks(grid: list[list[Array | None]]) -> Array:
    """(..., 6, 6) from 3x3 blocks, None being zeros."""
    given = [block for row in grid for block in row if block is not None]
    lead = np.broadcast_shapes(*(block.shape[:-2] for block in given))
    X = np.zeros((*lead, 6, 6))
    for i, row in enumerate(grid):
        for j, block in enumerate(row):
            if block is not None:
                X[..., 3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = block
    return X


def free_bias(dq: Array) -> Array:
    """(0, omega x v)."""
    w, v = dq[..., :3], dq[..., 3:]
    return np.concatenate([np.zeros_like(w), np.cross(w, v)], -1)


def planar_bias(dq: Array) -> Array:
    """(0, omega x v) in the plane."""
    w, vx, vy = np.moveaxis(dq, -1, 0)
    return np.stack([np.zeros_like(w), -w * vy, w * vx], -1)


def planar_turn(q: Array) -> Array:
    """X from (wz, vx, vy) in the body's axes to (dx, dy, dtheta)."""
    c, s = np.cos(q[..., 0]), np.sin(q[..., 0])
    zero, one = np.zeros_like(c), np.ones_like(c)
    rows = [[zero, c, -s], [zero, s, c], [one, zero, zero]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def roll_pitch_yaw(q: Array) -> Array:
    """Angles of rotations about fixed x, then y, then z, from quaternions (w, x, y, z)."""
    R = rotations(q)
    yaw = np.arctan2(R[..., 1, 0], R[..., 0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-R[..., 2, 0], c * R[..., 0, 0] + s * R[..., 1, 0])
    roll = np.arctan2(s * R[..., 0, 2] - c * R[..., 1, 2], c * R[..., 1, 1] - s * R[..., 0, 1])
    return np.stack([roll, pitch, yaw], -1)


def from_roll_pitch_yaw(angles: Array) -> Array:
    """Quaternions (w, x, y, z) of roll, pitch and yaw."""
    half = angles / 2
    parts: list[Array] = []
    for k in range(3):
        turn = np.zeros((*angles.shape[:-1], 4))
        turn[..., 0], turn[..., k + 1] = np.cos(half[..., k]), np.sin(half[..., k])
        parts.append(turn)
    return multiply(parts[2], multiply(parts[1], parts[0]))
