"""Positions moved along tangent vectors, over any scalars.

Traced scalars have no value, so no branch depends on a number. A joint of one degree of freedom
adds. A turning one is multiplied from the right by the exponential of its twist (w, v), which needs
three functions of x = |w|^2,

    a = sin(|w|/2) / |w|,   b = (1 - cos|w|) / |w|^2 = 2 a^2,   c = (|w| - sin|w|) / |w|^3

and, near zero, their power series: both are computed and one is selected. Symbols and numbers of
many digits take the closed forms.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike, times
from kinetree.files.description.joints import FREE, PLANAR, SPHERICAL
from kinetree.model import Joint, Model, joint_pose
from kinetree.model.inputs import coordinates
from kinetree.model.labelled import labelled
from kinetree.scalars import cos, home, sin, sqrt, where
from kinetree.spatial import ad, cross

# Below this |w|^2 the series is used: eight terms leave an error of (1/4)^8 / 19! of c, 1e-22.
# Beyond it the closed form loses digits in |w| - sin|w|: 24 eps / |w|^2, at most 1e-14.
SERIES_BELOW = 0.25
SERIES_TERMS = 8
MANY_DIGITS = ("mpmath", "sympy")  # homes of scalars that the series is too coarse for


def integrate(model: Model, q: Array, v: Array) -> Array:
    """The position reached from q, (nq,), along the tangent vector v, (n,)."""
    return moved_along(model.leaders, q, v)


def moved_along(joints: Iterable[Joint], q: Array, v: Array) -> Array:
    """The position reached from q, (nq,), if only some leaders move along v, (n,)."""
    out = list(q)
    for joint in joints:
        moved = move(joint, q[list(joint.coords)], v[list(joint.dofs)])
        for k, x in zip(joint.coords, moved, strict=True):
            out[k] = x
    return np.array(out)


def move(joint: Joint, q: Array, v: Array) -> Array:
    """Move the coordinates of one joint along its tangent vector."""
    if joint.type == SPHERICAL:
        return normalized(multiply(q, exp_quaternion(v)))
    if joint.type == FREE:
        turned = normalized(multiply(q[:4], exp_quaternion(v[:3])))
        return np.concatenate([turned, q[4:] + _rotate(q[:4], _advance(v[:3], v[3:]))])
    if joint.type == PLANAR:
        zero = v[0] * 0
        x, y, _ = _advance(np.array([zero, zero, v[0]]), np.array([v[1], v[2], zero]))
        c, s = cos(q[0]), sin(q[0])
        return np.array([q[0] + v[0], q[1] + (c * x - s * y), q[2] + (s * x + c * y)])
    return q + v


def inverse_rate(model: Model, u: Array, v: Array) -> Array:
    """Rate of the exponential coordinates u at which a position q exp(u) moves with dq = v, (n,).

    v + [u, v]/2 + [u, [u, v]]/12: what follows is of fourth order in u, which does not
    change a method of fourth order (Munthe-Kaas). Joints of one degree of freedom have no brackets.
    """
    rates: list[Any] = []
    for joint in model.leaders:
        dofs = list(joint.dofs)
        rate = v[dofs]
        if joint.type in (SPHERICAL, FREE, PLANAR):
            once = _bracket(joint, u[dofs], rate)
            rate = rate + once / 2 + _bracket(joint, u[dofs], once) / 12
        rates += list(rate)
    return np.array(rates)


def body_turning(model: Model, dq: Array) -> Array:
    """(0, w x v) of every free and planar joint, (n,), integers 0 elsewhere.

    The rate of a velocity v in fixed axes, in the axes of a body that turns with w, less that of v.
    """
    parts: list[Any] = [0] * model.n
    for joint in model.joints:
        if joint.type in (FREE, PLANAR):
            A, rate = joint.A, dq[list(joint.dofs)]
            turning = A[3:].T @ cross(A[:3] @ rate, A[3:] @ rate)
            for d, x in zip(joint.dofs, turning, strict=True):
                parts[d] = x
    return np.array(parts, dtype=object)


@labelled("nq", "n")
def tangent_map(model: Model, q: StateLike) -> Array:
    """N(q), (nq, n): the rate of q is N dq, and integrate(q, v) = q + N v to first order in v.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
    """
    return rate_map(model, coordinates(model, q))


def rate_map(model: Model, q: Array) -> Array:
    """N(q) of any q, quaternions of any length included, over any scalars."""
    rows: list[list[Any]] = [[0] * model.n for _ in range(model.nq)]
    for joint in model.leaders:
        block = _block(joint, q[list(joint.coords)])
        for coordinate, entries in zip(joint.coords, block, strict=True):
            rows[coordinate][joint.dofs[0] : joint.dofs[-1] + 1] = entries
    return np.array(rows).reshape(model.nq, model.n)


def _block(joint: Joint, q: Array) -> list[list[Any]]:
    """Rates of one joint's coordinates for unit rates."""
    if joint.type == SPHERICAL:
        return _quaternion_rates(q)
    if joint.type not in (FREE, PLANAR):
        return [[1]]
    R = joint_pose(joint, q)[:3, :3]
    if joint.type == PLANAR:
        return [[1, 0, 0], [0, *R[0, :2]], [0, *R[1, :2]]]
    turns = [[*row, 0, 0, 0] for row in _quaternion_rates(q[:4])]
    return [*turns, *([0, 0, 0, *row] for row in R)]


def _quaternion_rates(q: Array) -> list[list[Any]]:
    """Half the product of the quaternion (w, x, y, z) with (0, omega)."""
    w, x, y, z = q / 2
    return [[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]


def exp_quaternion(w: Array) -> Array:
    """Unit quaternion of the rotation vector w."""
    x = w @ w
    half, a, _ = _functions(x)
    return np.array([cos(half), *(w * a)])


def _advance(w: Array, v: Array) -> Array:
    """Position of exp(w, v): v + b w x v + c w x (w x v)."""
    _, a, c = _functions(w @ w)
    once = cross(w, v)
    return v + once * (2 * a * a) + cross(w, once) * c


def _functions(x: Any) -> tuple[Any, Any, Any]:
    """|w|/2, a and c of x = |w|^2."""
    if home(x).__name__ in MANY_DIGITS:
        angle = sqrt(x)
        if x == 0:
            return angle, 1 / (2 + x), 1 / (6 + x)
        return angle / 2, sin(angle / 2) / angle, (angle - sin(angle)) / (x * angle)
    angle = where(x, sqrt(where(x, x, 1)), x)  # slope 0 at 0, where that of sqrt is infinite
    half = angle / 2
    near = where(x - SERIES_BELOW, 0, 1)
    safe = x + near  # the closed forms are computed everywhere and must not divide by zero
    a = where(x - SERIES_BELOW, sin(half) / sqrt(safe), _series(x / 4, 1) / 2)
    c = where(x - SERIES_BELOW, (angle - sin(angle)) / (safe * sqrt(safe)), _series(x, 3))
    return half, a, c


def _series(x: Any, k: int) -> Any:
    """1/k! - x/(k+2)! + x^2/(k+4)! - ..., so that sin(z)/z = series(z^2, 1)."""
    factors = [1.0]
    for j in range(1, k + 2 * SERIES_TERMS):
        factors.append(factors[-1] * j)
    total = 0
    for j in reversed(range(SERIES_TERMS)):
        total = 1 / factors[k + 2 * j] - x * total
    return total


def _bracket(joint: Joint, a: Array, b: Array) -> Array:
    """Lie bracket of two twists of a joint, in its own coordinates."""
    return joint.A.T @ (ad(joint.A @ a) @ (joint.A @ b))


def _rotate(q: Array, x: Array) -> Array:
    """A vector turned by a unit quaternion: x + 2 v x (w x + v x x)."""
    w, v = q[0], q[1:]
    return x + 2 * cross(v, w * x + cross(v, x))


def multiply(a: Array, b: Array) -> Array:
    """Product of two quaternions (w, x, y, z)."""
    w, v = a[0], a[1:]
    u, x = b[0], b[1:]
    return np.array([w * u - times(v, x), *(w * x + u * v + cross(v, x))])


def normalized(q: Array) -> Array:
    """The quaternion divided by its length."""
    return q / sqrt(times(q, q))
