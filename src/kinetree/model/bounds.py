"""Joint limits of a robot as arrays over its degrees of freedom."""

from dataclasses import replace

import numpy as np

from kinetree.base.arrays import Array, StateLike
from kinetree.base.axis import Axis
from kinetree.base.labels import vector_by_name
from kinetree.base.later import dataclass
from kinetree.base.options import numbers
from kinetree.errors import InputError, ShapeError
from kinetree.files.description.drive import Curve, Drive
from kinetree.files.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.model import Model
from kinetree.model.force_limits import force_limits, standing_limit


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
    drives: tuple[Drive | None, ...] = ()

    def forces(self, dq: Array) -> tuple[Array, Array]:
        """Least and most joint forces at rates dq, (..., n) each, N m or N."""
        return force_limits(self.effort, self.drives, dq)

    def curve(self, k: int) -> Curve | None:
        """Torque-speed curve of degree of freedom k; None without one."""
        drive = self.drives[k] if self.drives else None
        return None if drive is None else drive.curve


def bounds_of(model: Model) -> Bounds:
    """Limits of the joints that move by themselves (that follow no other), in the order of dq."""
    known = model.memo.get("bounds")
    return model.memo.setdefault("bounds", _bounds(model)) if known is None else known


def _bounds(model: Model) -> Bounds:
    n = model.n
    coords, sliding = np.full(n, -1), np.zeros(n, bool)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    velocity, effort = np.full(n, np.inf), np.full(n, np.inf)
    drives: list[Drive | None] = [None] * n
    for joint in model.joints:
        if joint.follows is not None:
            continue
        d = list(joint.dofs)
        velocity[d] = joint.limits.velocity
        effort[d] = min(joint.limits.effort, standing_limit(joint.drive))
        drives[d[0]] = joint.drive
        if joint.type in SCREW_TYPES:
            coords[d], sliding[d] = joint.coords[0], joint.type == PRISMATIC
            lower[d], upper[d] = joint.limits.lower, joint.limits.upper
        else:  # names of rates are joint.wx, joint.vx, ...; those with v are speeds along an axis
            sliding[d] = [model.dof_names[k].rsplit(".", 1)[-1].startswith("v") for k in d]
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
        drives = np.array([standing_limit(drive) for drive in bounds.drives])
        bounds = replace(bounds, effort=np.minimum(box, drives) if len(drives) else box)
    if velocity is not None:
        bounds = replace(bounds, velocity=limit_vector(velocity, bounds.names, "velocity"))
    return bounds


def limit_vector(value: StateLike, names: tuple[str, ...], name: str) -> Array:
    """Limits as (n,), all above zero; `value` is a number or (n,), and may be infinite.

    Labelled limits (a dict, a pandas Series) are aligned with the names.
    """
    x = numbers(vector_by_name(value, Axis(names), name), name, "a number, or one for each joint")
    if x.ndim == 0:
        x = np.full(len(names), x)
    if x.shape != (len(names),):
        raise ShapeError(
            f"{name} has shape {x.shape}; expected a number or ({len(names)},), one limit for "
            f"each of {', '.join(names)}."
        )
    if not np.all(x > 0):
        raise InputError(f"{name} is {x.tolist()}; expected limits above 0, inf for none.")
    return x
