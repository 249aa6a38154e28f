"""The numbers of a plan: time, weights, targets and robot data of all stages, checked."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.engine.kernels.free import check_free, free_ports, free_values
from kinetree.errors import InputError, ShapeError
from kinetree.optimal.residuals import (
    KINDS,
    checked,
    checked_target,
    shape_of,
    size_of,
    target_of,
    weights,
)
from kinetree.optimal.transcription import Transcription


@dataclass(frozen=True, eq=False)
class Many:
    """What differs between `count` problems; `Problem.batch` describes the fields."""

    count: int
    targets: Mapping[str, ArrayLike]
    weights: Mapping[str, ArrayLike]
    finals: Mapping[str, ArrayLike]
    data: Mapping[str, ArrayLike]


def numbers_of(this: Transcription, N: int, B: int = 1, many: Many | None = None) -> Array:
    """The numbers p of all stages of B problems, (steps + 1, B, p)."""
    model, m, layout = this.model, len(this.actuated), this.layout
    p = np.empty((N + 1, B, layout.size))
    p[..., 0] = np.arange(N + 1)[:, None] * this.h
    for name, cost in this.costs.items():
        if KINDS[type(cost)].forces and np.asarray(cost.final).any():
            raise InputError(
                f"cost {name!r} is one of forces, which the last state does not have; expected no "
                "final weight."
            )
        shapes, aim = ((), (size_of(cost, model, m),)), target_of(cost, model, m)
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
    return p if many is None else _with_many(this, many, p)


def _with_many(this: Transcription, many: Many, p: Array) -> Array:
    """Write the numbers in which the problems differ."""
    model, m, (rows, B, _) = this.model, len(this.actuated), p.shape
    unknown = {*many.targets, *many.weights, *many.finals} - {*this.costs}
    if unknown:
        raise InputError(
            f"there is no cost {min(unknown)!r}; expected some of {', '.join(this.costs)}."
        )
    for name, target in many.targets.items():
        shape = shape_of(this.costs[name], model, m)
        aim = checked_target(target, this.costs[name], model, shape, (1, 2))
        if aim.shape[:-1] not in ((B,), (B, rows)):
            raise ShapeError(
                f"targets of cost {name!r} have shape {np.asarray(target).shape}; expected "
                f"{(B, *shape)}, or {(B, rows, *shape)} for targets that move."
            )
        p[..., this.layout.targets[name]] = aim if aim.ndim == 2 else aim.swapaxes(0, 1)
    for stages, values in ((slice(-1), many.weights), (slice(-1, None), many.finals)):
        for name, value in values.items():
            size = size_of(this.costs[name], model, m)
            w = weights(value, f"weights of cost {name!r}", (B,), (B, size))
            p[stages, :, this.layout.weights[name]] = w.reshape(B, -1)
    for port in free_ports(model, tuple(many.data)):
        x = checked(many.data[port.name], port.name, (B, *port.shape))
        check_free(model, port.name, x)
        p[..., this.layout.data[port.name]] = x.reshape(B, -1)
    return p
