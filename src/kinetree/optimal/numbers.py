"""The numbers of a plan: time, weights, targets and robot data of all stages, checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array
from kinetree.core.options import numbers
from kinetree.engine.kernels.free import check_free, free_ports, free_values
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.optimal.costs import Cost
from kinetree.optimal.transcription import Transcription

Costs = dict[str, Cost] | Sequence[Cost]


@dataclass(frozen=True, eq=False)
class Many:
    """What differs between `count` problems; `Problem.batch` describes the fields."""

    count: int
    targets: Mapping[str, ArrayLike]
    weights: Mapping[str, ArrayLike]
    finals: Mapping[str, ArrayLike]
    data: Mapping[str, ArrayLike]


def numbers_of(ocp: Transcription, N: int, B: int = 1, many: Many | None = None) -> Array:
    """The numbers p of all stages of B problems, (steps + 1, B, p)."""
    model, m, layout = ocp.model, len(ocp.actuated), ocp.layout
    p = np.empty((N + 1, B, layout.size))
    p[..., 0] = np.arange(N + 1)[:, None] * ocp.h
    for name, cost in ocp.costs.items():
        if cost._forces and np.asarray(cost.final).any():
            raise InputError(
                f"cost {name!r} is one of forces, which the last state does not have; expected no "
                "final weight."
            )
        shapes, aim = ((), (cost._size(model, m),)), target_of(cost, model, m)
        place = layout.weights[name]
        p[..., place] = weights(cost.weight, f"weight of cost {name!r}", *shapes)
        p[-1, :, place] = weights(cost.final, f"final weight of cost {name!r}", *shapes)
        if aim.ndim == 2 and len(aim) != N + 1:
            raise ShapeError(
                f"the target of cost {name!r} has {len(aim)} rows; expected {N + 1}, one for each "
                "state of the horizon."
            )
        p[..., layout.targets[name]] = aim if aim.ndim == 1 else aim[:, None]
    for name, place in layout.data.items():
        p[..., place] = free_values(model, name).ravel()
    return p if many is None else _with_many(ocp, many, p)


def _with_many(ocp: Transcription, many: Many, p: Array) -> Array:
    """Write the numbers in which the problems differ."""
    model, m, (rows, B, _) = ocp.model, len(ocp.actuated), p.shape
    unknown = {*many.targets, *many.weights, *many.finals} - {*ocp.costs}
    if unknown:
        raise InputError(
            f"there is no cost {min(unknown)!r}; expected some of {', '.join(ocp.costs)}."
        )
    for name, target in many.targets.items():
        shape = ocp.costs[name]._shape(model, m)
        aim = checked_target(target, ocp.costs[name], model, shape, (1, 2))
        if aim.shape[:-1] not in ((B,), (B, rows)):
            raise ShapeError(
                f"targets of cost {name!r} have shape {np.asarray(target).shape}; expected "
                f"{(B, *shape)}, or {(B, rows, *shape)} for targets that move."
            )
        p[..., ocp.layout.targets[name]] = aim if aim.ndim == 2 else aim.swapaxes(0, 1)
    for stages, values in ((slice(-1), many.weights), (slice(-1, None), many.finals)):
        for name, value in values.items():
            size = ocp.costs[name]._size(model, m)
            w = weights(value, f"weights of cost {name!r}", (B,), (B, size))
            p[stages, :, ocp.layout.weights[name]] = w.reshape(B, -1)
    for port in free_ports(model, tuple(many.data)):
        x = checked(many.data[port.name], port.name, (B, *port.shape))
        check_free(model, port.name, x)
        p[..., ocp.layout.data[port.name]] = x.reshape(B, -1)
    return p


def named(listed: Costs, model: Model, m: int) -> dict[str, Cost]:
    """Costs by name: the names that were given, or those of their classes.

    They have copies of their numbers and, where they have functions, the graphs of now.
    """
    if not isinstance(listed, dict | list | tuple):
        raise InputError(f"costs is a {type(listed).__name__}; expected a list or dict of costs.")
    if not isinstance(listed, dict):
        kinds = [type(cost).__name__.lower() for cost in listed]
        names = [x if kinds.count(x) == 1 else f"{x}_{k + 1}" for k, x in enumerate(kinds)]
        listed = dict(zip(names, listed, strict=True))
    if not listed:
        raise InputError("the problem has no cost; expected at least one.")
    return {name: settled(cost, model, m, name) for name, cost in listed.items()}


def settled(cost: Cost, model: Model, m: int, name: str) -> Cost:
    """The cost with copies of its numbers and, where it has a function, with its graph of now."""
    if not isinstance(cost, Cost) or type(cost)._residual is Cost._residual:
        raise InputError(
            f"cost {name!r} is a {type(cost).__name__}; expected a cost of kinetree.optimal."
        )
    arrays = {
        key: np.array(numbers(value, f"{key} of cost {name!r}", "numbers"))
        for key in ("target", "weight", "final")
        if (value := getattr(cost, key)) is not None
    }
    return replace(cost, **arrays)._traced(model, m, name)


def target_of(cost: Cost, model: Model, m: int) -> Array:
    """The target as numbers, (k,), or (steps + 1, k) for one that moves, for m motors."""
    cost._check(model)
    shape = cost._shape(model, m)
    if cost.target is None:
        default = cost._default(model) if callable(cost._default) else cost._default
        return np.broadcast_to(np.asarray(default), (prod(shape),))
    return checked_target(cost.target, cost, model, shape, (1,))


def checked_target(
    target: ArrayLike, cost: Cost, model: Model, shape: tuple[int, ...], axes: tuple[int, ...]
) -> Array:
    """Targets as numbers, (k,) or with one of these counts of leading axes."""
    name = type(cost).__name__
    x = numbers(target, f"the target of {name}", "numbers")
    before = x.ndim - len(shape)
    if x.shape[max(before, 0) :] != shape or before not in (0, *axes):
        wanted = ", ".join(map(str, shape))
        raise InputError(
            f"the target of {name} has shape {x.shape}; expected ({wanted}) for {model.name!r}, or "
            f"(steps + 1, {wanted}) for a target that moves."
        )
    x = array(x, x.shape, f"the target of {name}")
    cost._check_target(model, x)
    return x.reshape(*x.shape[:before], -1)


def checked(
    value: ArrayLike, name: str, *shapes: tuple[int, ...], expected: str = "numbers"
) -> Array:
    """Finite numbers of one of these shapes."""
    x = numbers(value, name, expected)
    if x.shape not in shapes:
        raise ShapeError(f"{name} has shape {x.shape}; expected {' or '.join(map(str, shapes))}.")
    return array(x, x.shape, name)


def weights(value: ArrayLike, name: str, *shapes: tuple[int, ...]) -> Array:
    """Weights of one of these shapes: finite and not negative."""
    x = checked(value, name, *shapes)
    if not (x >= 0).all():
        raise InputError(f"{name} is {value!r:.60}; expected numbers >= 0.")
    return x
