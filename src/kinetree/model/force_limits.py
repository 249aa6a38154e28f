"""Limits of joint forces at given rates: effort limits, and peak and curve of the drives.

A torque-speed curve F(v) limits the force in the direction of motion. Against the motion, and at
standstill, F(0) is the limit (see `kinetree.files.description.drive`). With the rate dq of a joint:

    most  =  min(effort, peak, F(max(dq, 0)))
    least = -min(effort, peak, F(max(-dq, 0)))
"""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.files.description.drive import Curve, Drive
from kinetree.scalars import Scalar, where


def standing_limit(drive: Drive | None) -> float:
    """Most force of a drive at standstill and against the motion, N m or N; infinite without."""
    if drive is None:
        return inf
    at_rest = inf if drive.curve is None else drive.curve[0][1]
    return min(at_rest, inf if drive.peak is None else drive.peak)


def curve_force(curve: Curve, speed: Scalar) -> Any:
    """Force of a torque-speed curve at a speed >= 0, on any scalar; 0 beyond the last speed."""
    last, force = curve[-1]
    value = where(speed - last, 0, force)
    for (v0, f0), (v1, f1) in reversed(list(pairwise(curve))):
        rise = (f1 - f0) / (v1 - v0)
        on_piece = f0 if rise == 0 else f0 + rise * (speed - v0)
        value = where(v1 - speed, on_piece, value)
    return value


def curve_slope(curve: Curve, speed: Scalar) -> Any:
    """Slope of a torque-speed curve at a speed >= 0, on any scalar; 0 beyond the last speed.

    At a corner it is that of the piece above.
    """
    value: Any = 0
    for (v0, f0), (v1, f1) in reversed(list(pairwise(curve))):
        value = where(v1 - speed, (f1 - f0) / (v1 - v0), value)
    return value


def curve_values(curve: Curve, speed: Array) -> Array:
    """Forces of a torque-speed curve at speeds >= 0, as an array of the same shape."""
    speeds, forces = np.array(curve).T
    return np.interp(speed, speeds, forces, right=0.0)


def force_limits(effort: Array, drives: Sequence[Drive | None], dq: Array) -> tuple[Array, Array]:
    """Least and most joint forces at rates dq, each of the shape of dq, (..., n).

    effort: limits at standstill, with those of the drives, (n,), N m or N. drives: drive of each
    degree of freedom, or None. dq: rates, (..., n), rad/s or m/s.
    """
    least, most = (np.array(np.broadcast_to(x, dq.shape)) for x in (-effort, effort))
    for k, drive in enumerate(drives):
        if drive is not None and drive.curve is not None:
            ahead = curve_values(drive.curve, np.maximum(dq[..., k], 0))
            behind = curve_values(drive.curve, np.maximum(-dq[..., k], 0))
            most[..., k] = np.minimum(most[..., k], ahead)
            least[..., k] = np.maximum(least[..., k], 0 - behind)  # not -0
    return least, most


def force_share(tau: Array, least: Array, most: Array) -> Array:
    """Forces over their limits in the direction of each, like tau; 0 where there is no limit."""
    limit = np.where(tau >= 0, most, -least)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.abs(tau) / limit
    return np.where((limit == 0) & (tau == 0), 0.0, share)
