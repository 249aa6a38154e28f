"""Costs: what a plan should do, as residuals r of a state and the joint forces.

A cost adds dt w/2 |r|^2 for each step and w_f/2 |r|^2 for the last state. Weights w and w_f and the
target are numbers that may change from solve to solve; the residual itself is traced, differentiated
and compiled once for a robot.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.joints.configuration import rest_position
from kinetree.base.arrays import Array, ArrayLike
from kinetree.errors import InputError, KinetreeError
from kinetree.model import Model
from kinetree.optimal.chart import deviation
from kinetree.scalars import maximum


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Cost:
    """A weighted residual.

    Args:
        weight: w of the steps, one number or one for each entry of the residual.
        final: w_f of the last state, in the same way.
    """

    weight: ArrayLike = 0.0
    final: ArrayLike = 0.0

    forces = False  # the residual depends on tau, which the last state does not have

    def size(self, model: Model) -> int:
        """The number of entries of the residual."""
        raise NotImplementedError

    def aim(self, model: Model) -> Array:
        """The target as numbers, (..., k) with a leading axis of steps + 1 where it moves."""
        return np.zeros(0)

    def aim_size(self, model: Model) -> int:
        """The number of entries of the target."""
        return self.size(model)

    def key(self, model: Model) -> tuple[Hashable, ...]:
        """What decides the graph of the residual, beside the robot."""
        return (type(self), self.size(model), getattr(self, "frame", None))

    def residual(self, stage: Stage, target: Array) -> Array:
        """The residual, (size,), over any scalars."""
        raise NotImplementedError

    def with_target(self, target: ArrayLike) -> Self:
        """The same cost with another target."""
        return replace(self, target=target)


@dataclass(frozen=True, eq=False)
class Posture(Cost):
    """Distance of the joints from a position: the tangent vector from target to q.

    Args:
        target: joint positions, (nq,), or (steps + 1, nq) for a path; None: the rest position.
    """

    target: ArrayLike | None = None

    def size(self, model: Model) -> int:
        return model.n

    def aim_size(self, model: Model) -> int:
        return model.nq

    def aim(self, model: Model) -> Array:
        return rest_position(model) if self.target is None else as_numbers(self, self.target)

    def residual(self, stage: Stage, target: Array) -> Array:
        return deviation(stage.model, target, stage.q)


@dataclass(frozen=True, eq=False)
class Rates(Cost):
    """Joint rates minus a target.

    Args:
        target: joint rates, (n,), or (steps + 1, n) for a path; None: zero.
    """

    target: ArrayLike | None = None

    def size(self, model: Model) -> int:
        return model.n

    def aim(self, model: Model) -> Array:
        return np.zeros(model.n) if self.target is None else as_numbers(self, self.target)

    def residual(self, stage: Stage, target: Array) -> Array:
        return stage.dq - target


@dataclass(frozen=True, eq=False)
class Effort(Cost):
    """Joint forces of the motors minus a target.

    Args:
        target: joint forces, (n,), or (steps + 1, n) for a path; None: zero.
    """

    target: ArrayLike | None = None
    forces = True

    def size(self, model: Model) -> int:
        return model.n

    def aim(self, model: Model) -> Array:
        return np.zeros(model.n) if self.target is None else as_numbers(self, self.target)

    def residual(self, stage: Stage, target: Array) -> Array:
        assert stage.tau is not None
        return stage.tau - target


@dataclass(frozen=True, eq=False)
class FramePosition(Cost):
    """Position of a frame in the space frame minus a target, m.

    Args:
        target: (3,), or (steps + 1, 3) for a path.
        frame: name of the frame; None: the tool.
    """

    target: ArrayLike = (0.0, 0.0, 0.0)
    frame: str | None = None

    def size(self, model: Model) -> int:
        model.frame(self.frame)  # an unknown frame names the known ones
        return 3

    def aim(self, model: Model) -> Array:
        return as_numbers(self, self.target)

    def residual(self, stage: Stage, target: Array) -> Array:
        return algorithms.pose(stage.model, stage.q, self.frame)[:3, 3] - target


@dataclass(frozen=True, eq=False)
class FrameRotation(Cost):
    """Rotation of a frame against a target: |r|^2 = 2 (1 - cos(angle)), about the angle squared.

    Args:
        target: rotation matrix, (3, 3), or (steps + 1, 3, 3) for a path.
        frame: name of the frame; None: the tool.
    """

    target: ArrayLike = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    frame: str | None = None

    def size(self, model: Model) -> int:
        model.frame(self.frame)
        return 9

    def aim(self, model: Model) -> Array:
        R = as_numbers(self, self.target)
        if R.shape[-2:] != (3, 3) or np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max() > 1e-6:
            raise InputError(
                f"target of FrameRotation has shape {R.shape}; expected rotation matrices (3, 3)."
            )
        return R.reshape(*R.shape[:-2], 9)

    def residual(self, stage: Stage, target: Array) -> Array:
        R = algorithms.pose(stage.model, stage.q, self.frame)[:3, :3]
        return (R.ravel() - target) * 0.5**0.5


@dataclass(frozen=True, eq=False)
class CenterOfMass(Cost):
    """Centre of mass of the robot in the space frame minus a target, m.

    Args:
        target: (3,), or (steps + 1, 3) for a path.
    """

    target: ArrayLike = (0.0, 0.0, 0.0)

    def size(self, model: Model) -> int:
        return 3

    def aim(self, model: Model) -> Array:
        return as_numbers(self, self.target)

    def residual(self, stage: Stage, target: Array) -> Array:
        return algorithms.center_of_mass(stage.model, stage.q) - target


@dataclass(frozen=True, eq=False)
class JointLimits(Cost):
    """How far joints are beyond a margin before their limits; zero inside, so a soft barrier.

    Args:
        margin: rad or m before the limit where the cost begins.
    """

    margin: float = 0.05

    def size(self, model: Model) -> int:
        return 2 * len(self._limited(model))

    def aim_size(self, model: Model) -> int:
        return 1

    def aim(self, model: Model) -> Array:
        return np.array([float(self.margin)])

    def _limited(self, model: Model) -> list[tuple[int, float, float]]:
        limits = [(joint, joint.limits) for joint in model.joints if joint.follows is None]
        return [
            (joint.coords[0], float(x.lower), float(x.upper))
            for joint, x in limits
            if len(joint.coords) == 1 and np.isfinite([x.lower, x.upper]).all()
        ]

    def residual(self, stage: Stage, target: Array) -> Array:
        beyond = []
        for k, low, high in self._limited(stage.model):
            q, margin = stage.q[k], target[0]
            beyond += [maximum(low + margin - q, 0.0), maximum(q - high + margin, 0.0)]
        return np.array(beyond)


@dataclass(frozen=True, eq=False)
class Residual(Cost):
    """A residual of your own.

    Args:
        function: of (t, q, dq, tau) returns the residual, (k,); written with `kinetree.scalars` or
            NumPy, without a branch on its arguments. For the last state tau is zero.
        entries: k.
    """

    function: Callable[[Any, Array, Array, Array], ArrayLike]
    entries: int = 1

    forces = True

    def size(self, model: Model) -> int:
        return self.entries

    def aim_size(self, model: Model) -> int:
        return 0

    def key(self, model: Model) -> tuple[Hashable, ...]:
        return (self.function, self.entries)

    def residual(self, stage: Stage, target: Array) -> Array:
        tau = np.zeros(stage.model.n) if stage.tau is None else stage.tau
        r = np.atleast_1d(np.asarray(self.function(stage.t, stage.q, stage.dq, tau)))
        if r.shape != (self.entries,):
            raise InputError(
                f"the residual returned shape {r.shape}; expected ({self.entries},), as its "
                "`entries` say."
            )
        return r


def as_numbers(cost: Cost, value: ArrayLike) -> Array:
    """A target as finite numbers."""
    x = np.asarray(value, float)
    if not np.isfinite(x).all():
        raise InputError(f"target of {type(cost).__name__} has an entry that is not finite.")
    return x


def weights(value: ArrayLike, size: int, name: str) -> Array:
    """Weights, (size,): finite and not negative."""
    x = np.asarray(value, float)
    if x.shape not in ((), (size,)):
        raise InputError(f"{name} has shape {x.shape}; expected one number or {size}.")
    if not (np.isfinite(x).all() and (x >= 0).all()):
        raise InputError(f"{name} is {value!r:.60}; expected numbers that are finite and >= 0.")
    return np.broadcast_to(x, (size,))


Costs = dict[str, Cost] | Sequence[Cost]


def named(costs: Costs) -> dict[str, Cost]:
    """Costs by name: the names that were given, or those of their classes."""
    if not isinstance(costs, dict):
        kinds = [type(cost).__name__.lower() for cost in costs]
        costs = {
            kind if kinds.count(kind) == 1 else f"{kind}_{k + 1}": cost
            for k, (kind, cost) in enumerate(zip(kinds, costs, strict=True))
        }
    for name, cost in costs.items():
        if not isinstance(cost, Cost):
            raise InputError(
                f"cost {name!r} is a {type(cost).__name__}; expected a cost of kinetree.optimal."
            )
    if not costs:
        raise KinetreeError("the problem has no cost; expected at least one.")
    return dict(costs)
