"""Residuals of the costs, over any scalars, and the checks of their numbers."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike, array
from kinetree.core.options import count, numbers
from kinetree.dynamics.joints.configuration import rest_position
from kinetree.dynamics.state import quaternions
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.law import TracedLaw, traced_law
from kinetree.errors import InputError, KinetreeError, ShapeError
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.model.quantity import check_expressed
from kinetree.optimal import costs
from kinetree.optimal.chart import deviation, quaternion_of, rotation_vector
from kinetree.optimal.costs import Cost
from kinetree.scalars import absolute, maximum, minimum, where
from kinetree.spatial.so3 import check_rotation

Costs = dict[str, Cost] | Sequence[Cost]
NOTHING = "is a NoneType"  # in the message about a function that returns None


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

    residual: of the cost, the stage and the target. size: entries of the residual, or these of the
    cost, a robot and the number of motors. shape: of the target, or this of the cost and a robot;
    None: (size,). default: the target where none is given, or this of a robot. forces: it depends
    on tau, which the last state does not have. changes: it depends on the change of u. path: the
    target is a polyline, as many points as it has.
    """

    residual: Callable[[Any, Stage, Array], Array]
    size: int | Callable[[Any, Model, int], int]
    shape: tuple[int, ...] | Callable[[Any, Model], tuple[int, ...]] | None = None
    default: ArrayLike | Callable[[Model], Array] = 0.0
    forces: bool = False
    changes: bool = False
    path: bool = False


def place_of(cost: Any, stage: Stage) -> Array:
    """The origin of the frame of a cost, (3,)."""
    return dynamics.pose(stage.model, stage.q, cost.frame)[:3, 3]


def turn_of(cost: costs.FrameRotation, stage: Stage, target: Array) -> Array:
    """The rotation vector from the target to the frame, (3,)."""
    R = dynamics.pose(stage.model, stage.q, cost.frame)[:3, :3]
    return rotation_vector(quaternion_of(target.reshape(3, 3).T @ R))


def twist_of(cost: costs.FrameTwist, stage: Stage, target: Array) -> Array:
    """The difference of the twist of the frame from the target, (6,)."""
    at = stage.model, stage.q, stage.dq, cost.frame
    return dynamics.frame_velocity(*at, expressed=cost.expressed) - target


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


def beyond_limits(cost: costs.JointLimits, stage: Stage, target: Array) -> Array:
    """For each limit of a joint, how far q is beyond the margin before it, or 0."""
    beyond = []
    for k, side, limit in limited(stage.model):
        beyond.append(maximum(target[0] + side * (stage.q[k] - limit), 0.0))
    return np.array(beyond)


def limited(model: Model) -> list[tuple[int, int, float]]:
    """The limits: their coordinates, -1 for a lower and 1 for an upper one, and their numbers."""
    bounds = bounds_of(model)
    sides = [(-1, bounds.lower), (1, bounds.upper)]
    return [
        (int(k), side, float(limits[d]))
        for d, k in enumerate(bounds.coords)
        for side, limits in sides
        if k >= 0 and np.isfinite(limits[d])
    ]


def beyond_speeds(cost: costs.SpeedLimits, stage: Stage, target: Array) -> Array:
    """For each rate with a limit, how far its size is beyond the share of it, or 0."""
    beyond = [maximum(absolute(stage.dq[d]) - target[0] * v, 0.0) for d, v in speeds(stage.model)]
    return np.array(beyond)


def speeds(model: Model) -> list[tuple[int, float]]:
    """The degrees of freedom with a speed limit, and this."""
    return [(d, float(v)) for d, v in enumerate(bounds_of(model).velocity) if np.isfinite(v)]


def of_function(cost: costs.Residual, stage: Stage, target: Array) -> Array:
    """The result of the user's function, (entries,)."""
    assert callable(cost.function)
    tau = np.zeros(stage.model.n) if stage.tau is None else stage.tau
    arguments: list[Any] = [stage.t, stage.q, stage.dq, tau]
    if cost.frames:
        poses = [dynamics.pose(stage.model, stage.q, frame) for frame in cost.frames]
        arguments.append(np.array(poses))
    if cost.target is not None:
        arguments.append(target)
    return np.atleast_1d(np.asarray(cost.function(*arguments)))


def settled(cost: Cost, model: Model, m: int, name: str) -> Cost:
    """The cost with copies of its numbers and, where it has a function, with its graph of now."""
    arrays = {
        key: np.array(numbers(value, f"{key} of cost {name!r}", "numbers"))
        for key in ("target", "weight", "final")
        if (value := getattr(cost, key)) is not None
    }
    cost = replace(cost, **arrays)
    if not isinstance(cost, costs.Residual) or isinstance(cost.function, TracedLaw):
        return cost
    if count(cost.entries, f"entries of cost {name!r}") < 1 or not callable(cost.function):
        raise InputError(
            f"cost {name!r} has {cost.entries!r} entries and the function {cost.function!r:.60}; "
            "expected at least one entry, and a function of (t, q, dq, tau)."
        )
    if isinstance(cost.frames, str):
        raise InputError(
            f"frames of cost {name!r} is {cost.frames!r}; expected a tuple, ({cost.frames!r},)."
        )
    shapes = {"t": (), "q": (model.nq,), "dq": (model.n,), "tau": (model.n,)}
    shapes |= {"poses": (len(cost.frames), 4, 4)} if cost.frames else {}
    shapes |= {"target": shape_of(cost, model, m)} if cost.target is not None else {}
    try:
        law = traced_law(cost.function, [Port(*each) for each in shapes.items()])
    except KinetreeError as problem:
        if NOTHING not in str(problem):
            raise
        raise InputError(
            f"the residual of cost {name!r} returned None; expected shape ({cost.entries},)."
        ) from problem
    except Exception as problem:  # whatever a function of the user raises
        raise InputError(
            f"the function of cost {name!r} could not be traced: {problem}; expected one of "
            f"({', '.join(shapes)}) that returns {cost.entries} numbers."
        ) from problem
    sizes = [port.shape for port in law.graph.outputs]
    if sizes not in ([(cost.entries,)], [()] if cost.entries == 1 else []):
        raise InputError(
            f"the residual of cost {name!r} returned shape {', '.join(map(str, sizes))}; expected "
            f"({cost.entries},), as `entries` has."
        )
    return replace(cost, function=law)


def of_dofs(cost: Cost, model: Model, m: int) -> int:
    """The number of degrees of freedom."""
    return model.n


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
    costs.Posture: Kind(
        lambda cost, at, target: deviation(at.model, target, at.q, far=True), of_dofs,
        lambda cost, model: (model.nq,), rest_position,
    ),
    costs.Rates: Kind(lambda cost, at, target: at.dq - target, of_dofs),
    costs.Effort: Kind(lambda cost, at, target: at.tau - target, of_dofs, forces=True),
    costs.EffortChange: Kind(
        lambda cost, at, target: at.change - target, lambda cost, model, m: m, forces=True,
        changes=True,
    ),
    costs.FramePosition: Kind(lambda cost, at, target: place_of(cost, at) - target, 3),
    costs.FrameRotation: Kind(turn_of, 3, (3, 3), np.eye(3).ravel()),
    costs.FrameTwist: Kind(twist_of, 6),
    costs.CenterOfMass: Kind(
        lambda cost, at, target: dynamics.center_of_mass(at.model, at.q) - target, 3
    ),
    costs.Momentum: Kind(
        lambda cost, at, target: dynamics.centroidal_momentum(at.model, at.q, at.dq) - target, 6
    ),
    costs.JointPath: Kind(
        lambda cost, at, target: near_path(at.q, target.reshape(-1, at.model.n)), of_dofs,
        lambda cost, model: path_points(cost, model.n), path=True,
    ),
    costs.FramePath: Kind(
        lambda cost, at, target: near_path(place_of(cost, at), target.reshape(-1, 3)), 3,
        lambda cost, model: path_points(cost, 3), path=True,
    ),
    costs.JointLimits: Kind(
        beyond_limits, lambda cost, model, m: len(limited(model)), (1,), 0.05
    ),
    costs.SpeedLimits: Kind(
        beyond_speeds, lambda cost, model, m: len(speeds(model)), (1,), 0.95
    ),
    costs.Residual: Kind(
        of_function, lambda cost, model, m: cost.entries,
        lambda cost, model: (0,) if cost.target is None else np.shape(cost.target)[-1:] or (1,),
    ),
}  # fmt: skip


def size_of(cost: Cost, model: Model, m: int) -> int:
    """The number of entries of the residual, for m motors."""
    size = KINDS[type(cost)].size
    return size if isinstance(size, int) else size(cost, model, m)


def shape_of(cost: Cost, model: Model, m: int) -> tuple[int, ...]:
    """The shape of the target at one time, for m motors."""
    shape = KINDS[type(cost)].shape
    return shape(cost, model) if callable(shape) else shape or (size_of(cost, model, m),)


def key_of(cost: Cost) -> tuple[Hashable, ...]:
    """Everything that decides the graph of the residual, beside the robot."""
    names = [
        field.name for field in fields(cost) if field.name not in ("target", "weight", "final")
    ]
    counted = cost.target is not None and (
        KINDS[type(cost)].path or isinstance(cost, costs.Residual)
    )
    shape = np.asarray(cost.target).shape if counted else ()
    points = shape[-2:] if KINDS[type(cost)].path else shape[-1:]
    return type(cost), *(getattr(cost, name) for name in names), points


def target_of(cost: Cost, model: Model, m: int) -> Array:
    """The target as numbers, (k,), or (steps + 1, k) for one that moves, for m motors."""
    kind = KINDS[type(cost)]
    places: dict[str, Any] = {**vars(cost)}
    for frame in (*places.get("frames", ()), *([places["frame"]] if "frame" in places else [])):
        model.frame(frame)  # an unknown frame names the known ones
    if isinstance(cost, costs.FrameTwist):
        check_expressed(cost.expressed)
    if isinstance(cost, costs.JointPath) and model.nq != model.n:
        raise InputError(
            f"JointPath is a path of coordinates that add, and {model.name!r} has joints that turn "
            "freely; expected a FramePath, or a Posture whose target moves."
        )
    if size_of(cost, model, m) == 0:
        raise InputError(
            f"{type(cost).__name__} is a cost of limits that {model.name!r} does not have; leave "
            "it out."
        )
    shape = shape_of(cost, model, m)
    if cost.target is None:
        default = kind.default(model) if callable(kind.default) else kind.default
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
    if isinstance(cost, costs.FrameRotation):
        for R in x.reshape(-1, 3, 3):
            check_rotation(R, "the target of FrameRotation")
    if isinstance(cost, costs.JointLimits | costs.SpeedLimits):
        check_barrier(cost, model, x)
    if isinstance(cost, costs.Posture):
        for entries in quaternions(model):
            size = np.linalg.norm(x[..., entries], axis=-1)
            if not (np.abs(size - 1) <= 1e-6).all():
                raise InputError(
                    f"the target of Posture has a quaternion of length {np.ravel(size)[0]:.9g}; "
                    "expected length 1, in the order (w, x, y, z)."
                )
    return x.reshape(*x.shape[:before], -1)


def check_barrier(cost: costs.JointLimits | costs.SpeedLimits, model: Model, x: Array) -> None:
    """Raise InputError for a margin, or share, that leaves a joint no room without a cost."""
    least, most = np.finfo(float).tiny, np.inf
    expected = "shares > 0 of the speed limits"
    if isinstance(cost, costs.JointLimits):
        bounds = bounds_of(model)
        least, most = 0.0, float((bounds.upper - bounds.lower)[bounds.coords >= 0].min()) / 2
        expected = f"margins from 0 to {most:g} rad or m, half the range of the narrowest joint"
    if not ((x >= least) & (x <= most)).all():
        raise InputError(f"the target of {type(cost).__name__} is {x!r:.60}; expected {expected}.")


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


def named(listed: Costs) -> dict[str, Cost]:
    """Costs by name: the names that were given, or those of their classes."""
    if not isinstance(listed, dict | list | tuple):
        raise InputError(f"costs is a {type(listed).__name__}; expected a list or dict of costs.")
    if not isinstance(listed, dict):
        kinds = [type(cost).__name__.lower() for cost in listed]
        names = [x if kinds.count(x) == 1 else f"{x}_{k + 1}" for k, x in enumerate(kinds)]
        listed = dict(zip(names, listed, strict=True))
    for name, cost in listed.items():
        if type(cost) not in KINDS:
            raise InputError(
                f"cost {name!r} is a {type(cost).__name__}; expected a cost of kinetree.optimal."
            )
    if not listed:
        raise InputError("the problem has no cost; expected at least one.")
    return dict(listed)
