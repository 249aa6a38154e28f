"""Joint limits of a robot as arrays over its degrees of freedom, and of forces at given rates.

A torque-speed curve F(v) limits the force in the direction of motion. Against the motion, and at
standstill, F(0) is the limit (see `kinetree.files.description.drive`). With the rate dq of a joint:

    most  =  min(effort, peak, F(max(dq, 0)))
    least = -min(effort, peak, F(max(-dq, 0)))
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import numbers
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.drive import Curve, Drive
from kinetree.files.description.joints import SCREW_TYPES
from kinetree.model import Model
from kinetree.model.units import METRE, kinds
from kinetree.present.labels import Axis, vector_by_name
from kinetree.scalars import Scalar, where


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits per degree of freedom, (n,) each; infinite if there is no limit.

    effort: at standstill, those of the drives included. drives: of the degrees of freedom, for the
    limits of force at other rates; None without one. coords: index of the entry of q that it moves,
    -1 if it has none of its own (quaternions).
    sliding: True for degrees of freedom measured in m, False in rad.
    """

    names: tuple[str, ...]
    coords: Array
    sliding: Array
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    drives: tuple[Drive | None, ...]

    def forces(self, dq: Array) -> tuple[Array, Array]:
        """Least and most joint forces at rates dq, (..., n) each, N m or N."""
        least, most = (np.array(np.broadcast_to(x, dq.shape)) for x in (-self.effort, self.effort))
        for k in range(len(self.names)):
            if (curve := self.curve(k)) is not None:
                ahead, behind = (curve_values(curve, x) for x in (dq[..., k], -dq[..., k]))
                most[..., k] = np.minimum(most[..., k], ahead)
                least[..., k] = np.maximum(least[..., k], 0 - behind)  # not -0
        return least, most

    def curve(self, k: int) -> Curve | None:
        """Torque-speed curve of degree of freedom k; None without one."""
        drive = self.drives[k]
        return None if drive is None else drive.curve


def bounds_of(model: Model) -> Bounds:
    """Limits of the joints that move by themselves (that follow no other), in the order of dq."""
    known = model.memo.get("bounds")
    return model.memo.setdefault("bounds", _bounds(model)) if known is None else known


def _bounds(model: Model) -> Bounds:
    n, coords = model.n, np.full(model.n, -1)
    sliding = np.array(kinds(model, "dq")) == METRE
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    velocity, effort = np.full(n, np.inf), np.full(n, np.inf)
    drives: list[Drive | None] = [None] * n
    for joint in model.leaders:
        d = list(joint.dofs)
        velocity[d] = joint.limits.velocity
        effort[d] = min(joint.limits.effort, standing_limit(joint.drive))
        drives[d[0]] = joint.drive
        if joint.type in SCREW_TYPES:
            coords[d] = joint.coords[0]
            lower[d], upper[d] = joint.limits.lower, joint.limits.upper
    return Bounds(model.dof_names, coords, sliding, lower, upper, velocity, effort, tuple(drives))


def positions(bounds: Bounds, q: Array) -> Array:
    """Positions of the degrees of freedom, (..., n), from q, (..., nq); 0 for quaternions."""
    return np.where(bounds.coords >= 0, q[..., bounds.coords], 0.0)


def with_limits(
    bounds: Bounds, effort: StateLike | None = None, velocity: StateLike | None = None
) -> Bounds:
    """The bounds with other limits of force and speed, a number or (n,); None keeps them.

    The drives count besides: `effort` takes the place of the joints' own effort limits alone.
    """
    if effort is not None:
        box = limit_vector(effort, bounds.names, "effort")
        drives = [standing_limit(drive) for drive in bounds.drives]
        bounds = replace(bounds, effort=np.minimum(box, drives))
    if velocity is not None:
        bounds = replace(bounds, velocity=limit_vector(velocity, bounds.names, "velocity"))
    return bounds


def limit_vector(value: StateLike, names: tuple[str, ...], name: str) -> Array:
    """Limits as (n,), all above zero; `value` is a number or (n,), and may be infinite.

    Labelled limits (a dict, a pandas Series) are aligned with the names.
    """
    x = numbers(vector_by_name(value, Axis(names), name), name, "a number, or one for each joint")
    x = np.full(len(names), x) if x.ndim == 0 else x
    if x.shape != (len(names),):
        named = f"({len(names)},), one for each of {', '.join(names)}"
        raise ShapeError(f"{name} has shape {x.shape}; expected a number or {named}.")
    if not np.all(x > 0):
        raise InputError(f"{name} is {x.tolist()}; expected limits above 0, inf for none.")
    return x


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


def curve_values(curve: Curve, speed: Array) -> Array:
    """Forces of a torque-speed curve at speeds, as an array; below 0 that at standstill."""
    speeds, forces = np.array(curve).T
    return np.interp(speed, speeds, forces, right=0.0)


def force_share(tau: Array, least: Array, most: Array) -> Array:
    """Forces over their limits in the direction of each, like tau; 0 where there is no limit."""
    limit = np.where(tau >= 0, most, -least)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.abs(tau) / limit
    return np.where((limit == 0) & (tau == 0), 0.0, share)
