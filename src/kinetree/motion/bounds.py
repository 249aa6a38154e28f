"""The limits of a robot as arrays over its degrees of freedom."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import PRISMATIC, SCREW_TYPES
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits per degree of freedom, (n,) each; infinite where there are none.

    coords: the entry of q that each moves, -1 where it has none of its own (quaternions).
    sliding: which are measured in m rather than rad.
    """

    names: tuple[str, ...]
    coords: Array
    sliding: Array
    lower: Array
    upper: Array
    velocity: Array
    effort: Array


@lru_cache(maxsize=32)
def bounds_of(model: Model) -> Bounds:
    """The limits of the joints that move by themselves, in the order of dq."""
    n = model.n
    coords, sliding = np.full(n, -1), np.zeros(n, bool)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    velocity, effort = np.full(n, np.inf), np.full(n, np.inf)
    for joint in model.joints:
        if joint.follows is not None:
            continue
        d = list(joint.dofs)
        velocity[d], effort[d] = joint.limits.velocity, joint.limits.effort
        if joint.type in SCREW_TYPES:
            coords[d], sliding[d] = joint.coords[0], joint.type == PRISMATIC
            lower[d], upper[d] = joint.limits.lower, joint.limits.upper
        else:  # names of rates end in v. where they are speeds along an axis
            sliding[d] = [model.dof_names[k].rsplit(".", 1)[-1].startswith("v") for k in d]
    return Bounds(model.dof_names, coords, sliding, lower, upper, velocity, effort)


def positions(bounds: Bounds, q: Array) -> Array:
    """The entries of q, (..., nq), that degrees of freedom move, (..., n); zero for others."""
    return np.where(bounds.coords >= 0, q[..., bounds.coords], 0.0)


def with_limits(bounds: Bounds, effort: Any = None, velocity: Any = None) -> Bounds:
    """The bounds with other limits of force and speed, a number or (n,); None leaves them."""
    if effort is not None:
        bounds = replace(bounds, effort=limit_vector(effort, bounds.names, "effort"))
    if velocity is not None:
        bounds = replace(bounds, velocity=limit_vector(velocity, bounds.names, "velocity"))
    return bounds


def limit_vector(value: Any, names: tuple[str, ...], name: str) -> Array:
    """Limits as (n,), above zero; infinite ones are none."""
    x = np.asarray(value, float)
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
