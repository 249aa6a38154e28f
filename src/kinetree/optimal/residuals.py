"""Residuals of the costs, over any scalars, and the checks of their numbers."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.joints.configuration import rest_position
from kinetree.base.arrays import Array, ArrayLike
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.model.quantity import check_expressed
from kinetree.optimal.chart import deviation
from kinetree.optimal.costs import (
    CenterOfMass,
    Cost,
    Effort,
    EffortChange,
    FramePath,
    FramePosition,
    FrameRotation,
    FrameTwist,
    JointLimits,
    JointPath,
    Momentum,
    Posture,
    Rates,
    Residual,
    SpeedLimits,
)
from kinetree.scalars import absolute, maximum, minimum, where

Costs = dict[str, Cost] | Sequence[Cost]


@dataclass(frozen=True, eq=False)
class Stage:
    """A moment of a plan: the time in s, position, rates and joint forces, over any scalars.

    `tau`, (n,), is None at the last state; `change`, (m,): of u since the step before, per s.
    """

    model: Model
    t: Any
    q: Array
    dq: Array
    tau: Array | None
    change: Array | None = None


@dataclass(frozen=True)
class Kind:
    """The residual of a kind of cost.

    residual: of the cost, the stage and the target. size: of the cost, a robot and the number of
    motors, the entries of the residual. shape: of the target, likewise; None: (size,). default: the
    target where none is given, of a robot; None: zero. forces: it depends on tau, which the last
    state does not have. changes: it depends on the change of u. path: the target is a polyline, as
    many points as it has.
    """

    residual: Callable[[Any, Stage, Array], Array]
    size: Callable[[Any, Model, int], int]
    shape: Callable[[Any, Model], tuple[int, ...]] | None = None
    default: Callable[[Model], Array] | None = None
    forces: bool = False
    changes: bool = False
    path: bool = False


def place_of(cost: FramePosition, stage: Stage, target: Array) -> Array:
    """The difference p - target, (3,)."""
    return algorithms.pose(stage.model, stage.q, cost.frame)[:3, 3] - target


def turn_of(cost: FrameRotation, stage: Stage, target: Array) -> Array:
    """The entries of (R - target) / sqrt(2), whose square is about that of a small angle, (9,)."""
    R = algorithms.pose(stage.model, stage.q, cost.frame)[:3, :3]
    return (R.ravel() - target) * 0.5**0.5


def near_path(x: Array, points: Array) -> Array:
    """The difference of x, (k,), from the nearest point of a polyline, (points, k).

    Its square has no jump and, away from points that are as near to another piece, no kink.
    """
    nearest: Array | None = None
    least: Any = None
    for a, b in pairwise(points):
        along, off = b - a, x - a
        squared = along @ along
        # a piece of length 0 is its point
        share = where(squared, minimum(maximum(off @ along / squared, 0.0), 1.0), 0.0)
        apart = off - along * share
        distance = apart @ apart
        if nearest is None:
            nearest, least = apart, distance
            continue
        nearest = np.array(
            [where(least - distance, u, v) for u, v in zip(apart, nearest, strict=True)]
        )
        least = minimum(least, distance)
    assert nearest is not None
    return nearest


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


def beyond_speeds(cost: SpeedLimits, stage: Stage, target: Array) -> Array:
    """For each rate with a limit, how far its size is beyond the share of it, or 0."""
    beyond = [maximum(absolute(stage.dq[d]) - target[0] * v, 0.0) for d, v in speeds(stage.model)]
    return np.array(beyond)


def speeds(model: Model) -> list[tuple[int, float]]:
    """The degrees of freedom with a speed limit, and this."""
    return [(d, float(v)) for d, v in enumerate(bounds_of(model).velocity) if np.isfinite(v)]


def of_function(cost: Residual, stage: Stage, target: Array) -> Array:
    """The result of the user's function, (entries,)."""
    if not callable(cost.function):
        raise InputError("Residual has no function; expected one of (t, q, dq, tau).")
    tau = np.zeros(stage.model.n) if stage.tau is None else stage.tau
    arguments: list[Any] = [stage.t, stage.q, stage.dq, tau]
    if cost.frames:
        poses = [algorithms.pose(stage.model, stage.q, frame) for frame in cost.frames]
        arguments.append(np.array(poses))
    if cost.target is not None:
        arguments.append(target)
    r = np.atleast_1d(np.asarray(cost.function(*arguments)))
    if r.shape != (cost.entries,):
        raise InputError(
            f"the residual returned shape {r.shape}; expected ({cost.entries},), as `entries` has."
        )
    return r


def of_dofs(cost: Cost, model: Model, m: int) -> int:
    """The number of degrees of freedom."""
    return model.n


def entries(count: int) -> Callable[[Any, Model, int], int]:
    """The same number for all robots."""
    return lambda cost, model, m: count


def path_points(cost: Cost, size: int) -> tuple[int, int]:
    """The shape of the points of a path."""
    shape = np.asarray(() if cost.target is None else cost.target).shape
    if len(shape) < 2 or shape[-2] < 2 or shape[-1] != size:
        raise InputError(
            f"the target of {type(cost).__name__} has shape {shape}; expected the points of a "
            f"path, (points, {size}), at least two."
        )
    return shape[-2], size


KINDS: dict[type[Cost], Kind] = {
    Posture: Kind(
        lambda cost, at, target: deviation(at.model, target, at.q),
        of_dofs,
        lambda cost, model: (model.nq,),
        rest_position,
    ),
    Rates: Kind(lambda cost, at, target: at.dq - target, of_dofs),
    Effort: Kind(lambda cost, at, target: at.tau - target, of_dofs, forces=True),
    EffortChange: Kind(
        lambda cost, at, target: at.change - target,
        lambda cost, model, m: m,
        forces=True,
        changes=True,
    ),
    FramePosition: Kind(place_of, entries(3)),
    FrameRotation: Kind(
        turn_of, entries(9), lambda cost, model: (3, 3), lambda model: np.eye(3).ravel()
    ),
    FrameTwist: Kind(
        lambda cost, at, target: (
            algorithms.frame_velocity(
                at.model, at.q, at.dq, cost.frame, expressed=cost.expressed
            ) - target
        ),
        entries(6),
    ),
    CenterOfMass: Kind(
        lambda cost, at, target: algorithms.center_of_mass(at.model, at.q) - target, entries(3)
    ),
    Momentum: Kind(
        lambda cost, at, target: algorithms.centroidal_momentum(at.model, at.q, at.dq) - target,
        entries(6),
    ),
    JointPath: Kind(
        lambda cost, at, target: near_path(at.q, target.reshape(-1, at.model.n)),
        of_dofs,
        lambda cost, model: path_points(cost, model.n),
        path=True,
    ),
    FramePath: Kind(
        lambda cost, at, target: near_path(
            algorithms.pose(at.model, at.q, cost.frame)[:3, 3], target.reshape(-1, 3)
        ),
        entries(3),
        lambda cost, model: path_points(cost, 3),
        path=True,
    ),
    JointLimits: Kind(
        beyond_limits,
        lambda cost, model, m: 2 * len(limited(model)),
        lambda cost, model: (1,),
        lambda model: np.array([0.05]),
    ),
    SpeedLimits: Kind(
        beyond_speeds,
        lambda cost, model, m: len(speeds(model)),
        lambda cost, model: (1,),
        lambda model: np.array([0.95]),
    ),
    Residual: Kind(
        of_function,
        lambda cost, model, m: cost.entries,
        lambda cost, model: (0,) if cost.target is None else np.shape(cost.target)[-1:] or (1,),
    ),
}  # fmt: skip


def size_of(cost: Cost, model: Model, m: int) -> int:
    """The number of entries of the residual, for m motors."""
    return KINDS[type(cost)].size(cost, model, m)


def shape_of(cost: Cost, model: Model, m: int) -> tuple[int, ...]:
    """The shape of the target at one time, for m motors."""
    shape = KINDS[type(cost)].shape
    return (size_of(cost, model, m),) if shape is None else shape(cost, model)


def key_of(cost: Cost) -> tuple[Hashable, ...]:
    """Everything that decides the graph of the residual, beside the robot."""
    names = [
        field.name for field in fields(cost) if field.name not in ("target", "weight", "final")
    ]
    counted = cost.target is not None and (KINDS[type(cost)].path or isinstance(cost, Residual))
    shape = np.asarray(cost.target).shape if counted else ()
    points = shape[-2:] if KINDS[type(cost)].path else shape[-1:]
    return type(cost), *(getattr(cost, name) for name in names), points


def residual_of(cost: Cost, stage: Stage, target: Array) -> Array:
    """The residual, over any scalars."""
    return KINDS[type(cost)].residual(cost, stage, target)


def target_of(cost: Cost, model: Model, m: int) -> Array:
    """The target as numbers, (k,), or (steps + 1, k) for one that moves, for m motors."""
    kind = KINDS[type(cost)]
    places: dict[str, Any] = {**vars(cost)}
    for frame in (*places.get("frames", ()), *([places["frame"]] if "frame" in places else [])):
        model.frame(frame)  # an unknown frame names the known ones
    if isinstance(cost, FrameTwist):
        check_expressed(cost.expressed)
    if isinstance(cost, JointPath) and model.nq != model.n:
        raise InputError(
            f"JointPath is a path of coordinates that add, and {model.name!r} has joints that turn "
            "freely; expected a FramePath, or a Posture whose target moves."
        )
    shape = shape_of(cost, model, m)
    if cost.target is None:
        return np.zeros(prod(shape)) if kind.default is None else kind.default(model)
    return checked_target(cost.target, cost, model, shape, (1,))


def checked_target(
    target: ArrayLike, cost: Cost, model: Model, shape: tuple[int, ...], axes: tuple[int, ...]
) -> Array:
    """Targets as numbers, (k,) or with one of these counts of leading axes."""
    name, x = type(cost).__name__, np.asarray(target, float)
    before = x.ndim - len(shape)
    if x.shape[max(before, 0) :] != shape or before not in (0, *axes):
        wanted = ", ".join(map(str, shape))
        raise InputError(
            f"the target of {name} has shape {x.shape}; expected ({wanted}) for {model.name!r}, or "
            f"(steps + 1, {wanted}) for a target that moves."
        )
    if not np.isfinite(x).all():
        raise InputError(f"the target of {name} has an entry that is not finite.")
    if isinstance(cost, FrameRotation) and np.abs(x @ x.swapaxes(-1, -2) - np.eye(3)).max() > 1e-6:
        raise InputError("the target of FrameRotation is not a rotation matrix, (3, 3).")
    return x.reshape(*x.shape[:before], -1)


def weights(value: ArrayLike, name: str, *shapes: tuple[int, ...]) -> Array:
    """Weights of one of these shapes: finite and not negative."""
    x = np.asarray(value, float)
    if x.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise InputError(f"{name} has shape {x.shape}; expected {wanted}.")
    if not (np.isfinite(x).all() and (x >= 0).all()):
        raise InputError(f"{name} is {value!r:.60}; expected numbers that are finite and >= 0.")
    return x


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
