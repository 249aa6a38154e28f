"""Residuals of the costs, over any scalars, and the checks of their numbers."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.joints.configuration import rest_position
from kinetree.base.arrays import Array, ArrayLike
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.optimal.chart import deviation
from kinetree.optimal.costs import (
    CenterOfMass,
    Cost,
    Effort,
    FramePosition,
    FrameRotation,
    JointLimits,
    Posture,
    Rates,
    Residual,
)
from kinetree.scalars import maximum

Costs = dict[str, Cost] | Sequence[Cost]


@dataclass(frozen=True, eq=False)
class Stage:
    """A moment of a plan: the time in s, position, rates and joint forces, over any scalars.

    `tau` is None at the last state.
    """

    model: Model
    t: Any
    q: Array
    dq: Array
    tau: Array | None


@dataclass(frozen=True)
class Kind:
    """The residual of a kind of cost.

    residual: of the cost, the stage and the target. shapes: of a robot, the entries of the residual
    and the shape of the target. default: the target where none is given, of a robot. forces: it
    depends on tau, which the last state does not have.
    """

    residual: Callable[[Any, Stage, Array], Array]
    shapes: Callable[[Model], tuple[int, tuple[int, ...]]]
    default: Callable[[Model], Array]
    forces: bool = False


def place_of(cost: FramePosition, stage: Stage, target: Array) -> Array:
    """The difference p - target, (3,)."""
    return algorithms.pose(stage.model, stage.q, cost.frame)[:3, 3] - target


def turn_of(cost: FrameRotation, stage: Stage, target: Array) -> Array:
    """The entries of (R - target) / sqrt(2), whose square is about that of a small angle, (9,)."""
    R = algorithms.pose(stage.model, stage.q, cost.frame)[:3, :3]
    return (R.ravel() - target) * 0.5**0.5


def beyond_limits(cost: JointLimits, stage: Stage, target: Array) -> Array:
    """For each limit of a joint, how far q is beyond the margin before it, or 0."""
    beyond = []
    for k, low, high in limited(stage.model):
        q = stage.q[k]
        beyond += [maximum(target[0] + low - q, 0.0), maximum(target[0] + q - high, 0.0)]
    return np.array(beyond)


def limited(model: Model) -> list[tuple[int, float, float]]:
    """The coordinates with limits, and these."""
    joints = [joint for joint in model.joints if joint.follows is None and len(joint.coords) == 1]
    limits = [(joint.coords[0], joint.limits.lower, joint.limits.upper) for joint in joints]
    return [(k, float(low), float(high)) for k, low, high in limits if np.isfinite(high - low)]


def of_function(cost: Residual, stage: Stage, target: Array) -> Array:
    """The result of the user's function, (entries,)."""
    if not callable(cost.function):
        raise InputError("Residual has no function; expected one of (t, q, dq, tau).")
    tau = np.zeros(stage.model.n) if stage.tau is None else stage.tau
    r = np.atleast_1d(np.asarray(cost.function(stage.t, stage.q, stage.dq, tau)))
    if r.shape != (cost.entries,):
        raise InputError(
            f"the residual returned shape {r.shape}; expected ({cost.entries},), as `entries` has."
        )
    return r


KINDS: dict[type[Cost], Kind] = {
    Posture: Kind(
        lambda cost, at, target: deviation(at.model, target, at.q),
        lambda model: (model.n, (model.nq,)),
        rest_position,
    ),
    Rates: Kind(
        lambda cost, at, target: at.dq - target,
        lambda model: (model.n, (model.n,)),
        lambda model: np.zeros(model.n),
    ),
    Effort: Kind(
        lambda cost, at, target: at.tau - target,
        lambda model: (model.n, (model.n,)),
        lambda model: np.zeros(model.n),
        forces=True,
    ),
    FramePosition: Kind(place_of, lambda model: (3, (3,)), lambda model: np.zeros(3)),
    FrameRotation: Kind(turn_of, lambda model: (9, (3, 3)), lambda model: np.eye(3).ravel()),
    CenterOfMass: Kind(
        lambda cost, at, target: algorithms.center_of_mass(at.model, at.q) - target,
        lambda model: (3, (3,)),
        lambda model: np.zeros(3),
    ),
    JointLimits: Kind(
        beyond_limits,
        lambda model: (2 * len(limited(model)), (1,)),
        lambda model: np.array([0.05]),
    ),
    Residual: Kind(of_function, lambda model: (0, (0,)), lambda model: np.zeros(0)),
}


def size_of(cost: Cost, model: Model) -> int:
    """The number of entries of the residual."""
    return cost.entries if isinstance(cost, Residual) else KINDS[type(cost)].shapes(model)[0]


def key_of(cost: Cost) -> tuple[Hashable, ...]:
    """Everything that decides the graph of the residual, beside the robot."""
    if isinstance(cost, Residual):
        return (cost.function, cost.entries)
    return (type(cost), getattr(cost, "frame", None))


def residual_of(cost: Cost, stage: Stage, target: Array) -> Array:
    """The residual, over any scalars."""
    return KINDS[type(cost)].residual(cost, stage, target)


def target_of(cost: Cost, model: Model) -> Array:
    """The target as numbers, (k,), or (steps + 1, k) for a path."""
    kind, name = KINDS[type(cost)], type(cost).__name__
    if isinstance(cost, FramePosition | FrameRotation):
        model.frame(cost.frame)  # an unknown frame names the known ones
    if cost.target is None:
        return kind.default(model)
    x, shape = np.asarray(cost.target, float), kind.shapes(model)[1]
    if x.shape[-len(shape) :] != shape or x.ndim > len(shape) + 1:
        wanted = ", ".join(map(str, shape))
        raise InputError(
            f"the target of {name} has shape {x.shape}; expected ({wanted}), or "
            f"(steps + 1, {wanted}) for a path."
        )
    if not np.isfinite(x).all():
        raise InputError(f"the target of {name} has an entry that is not finite.")
    if isinstance(cost, FrameRotation) and np.abs(x @ x.swapaxes(-1, -2) - np.eye(3)).max() > 1e-6:
        raise InputError("the target of FrameRotation is not a rotation matrix, (3, 3).")
    return x.reshape(*x.shape[: x.ndim - len(shape)], -1)


def weights(value: ArrayLike, size: int, name: str) -> Array:
    """Weights, (size,): finite and not negative."""
    x = np.asarray(value, float)
    if x.shape not in ((), (size,)):
        raise InputError(f"{name} has shape {x.shape}; expected one number or {size}.")
    if not (np.isfinite(x).all() and (x >= 0).all()):
        raise InputError(f"{name} is {value!r:.60}; expected numbers that are finite and >= 0.")
    return np.broadcast_to(x, (size,))


def named(costs: Costs) -> dict[str, Cost]:
    """Costs by name: the names that were given, or those of their classes."""
    if not isinstance(costs, dict):
        kinds = [type(cost).__name__.lower() for cost in costs]
        costs = {
            kind if kinds.count(kind) == 1 else f"{kind}_{k + 1}": cost
            for k, (kind, cost) in enumerate(zip(kinds, costs, strict=True))
        }
    for name, cost in costs.items():
        if type(cost) not in KINDS:
            raise InputError(
                f"cost {name!r} is a {type(cost).__name__}; expected a cost of kinetree.optimal."
            )
    if not costs:
        raise InputError("the problem has no cost; expected at least one.")
    return dict(costs)
