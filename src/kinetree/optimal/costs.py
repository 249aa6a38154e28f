"""Costs: what a plan should do, as residuals r of a state and the joint forces.

A cost adds dt w/2 |r|^2 for each step and w_f/2 |r|^2 for the last state. Weights w and w_f and the
target are numbers that may change from solve to solve; the residual itself is traced,
differentiated and compiled once for a robot.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.joints.configuration import rest_position
from kinetree.base.arrays import Array, ArrayLike
from kinetree.errors import InputError
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


@dataclass(frozen=True, eq=False)
class Cost:
    """A weighted residual.

    Args:
        target: what the residual is measured from; a leading axis of steps + 1 makes it a path.
            None: zero, or the rest position.
        weight: w of the steps, one number or one for each entry of the residual.
        final: w_f of the last state, in the same way.
    """

    target: ArrayLike | None = None
    weight: ArrayLike = 0.0
    final: ArrayLike = 0.0

    # shapes of residual and target, in letters of shapes; and whether the residual depends on tau,
    # which the last state does not have
    shapes: ClassVar[tuple[str, tuple[str, ...]]] = ("n", ("n",))
    forces: ClassVar[bool] = False

    def size(self, model: Model) -> int:
        """The number of entries of the residual."""
        return _size(self.shapes[0], model)

    def aim_shape(self, model: Model) -> tuple[int, ...]:
        """The shape of the target of one state."""
        return tuple(_size(letter, model) for letter in self.shapes[1])

    def aim(self, model: Model) -> Array:
        """The target as numbers, (k,), or (steps + 1, k) for a path."""
        shape = self.aim_shape(model)
        if self.target is None:
            return self.default(model)
        x = np.asarray(self.target, float)
        if x.shape[-len(shape) :] != shape or x.ndim > len(shape) + 1:
            wanted = ", ".join(map(str, shape))
            raise InputError(
                f"the target of {type(self).__name__} has shape {x.shape}; expected ({wanted}), or "
                f"(steps + 1, {wanted}) for a path."
            )
        if not np.isfinite(x).all():
            raise InputError(
                f"the target of {type(self).__name__} has an entry that is not finite."
            )
        return x.reshape(*x.shape[: x.ndim - len(shape)], -1)

    def default(self, model: Model) -> Array:
        """The target where none is given."""
        return np.zeros(int(np.prod(self.aim_shape(model))))

    def key(self, model: Model) -> tuple[Hashable, ...]:
        """What decides the graph of the residual, beside the robot."""
        return (type(self), getattr(self, "frame", None))

    def residual(self, stage: Stage, target: Array) -> Array:
        """The residual, (size,), over any scalars."""
        raise NotImplementedError

    def with_target(self, target: ArrayLike) -> Self:
        """The same cost with another target."""
        return replace(self, target=target)


class Posture(Cost):
    """Distance of the joints from a position (nq,): the tangent vector from target to q."""

    shapes = ("n", ("nq",))

    def default(self, model: Model) -> Array:
        """The rest position."""
        return rest_position(model)

    def residual(self, stage: Stage, target: Array) -> Array:
        """The tangent vector from target to q, (n,)."""
        return deviation(stage.model, target, stage.q)


class Rates(Cost):
    """Joint rates minus a target (n,)."""

    def residual(self, stage: Stage, target: Array) -> Array:
        """The difference dq - target, (n,)."""
        return stage.dq - target


class Effort(Cost):
    """Joint forces of the motors minus a target (n,)."""

    forces = True

    def residual(self, stage: Stage, target: Array) -> Array:
        """The difference tau - target, (n,)."""
        assert stage.tau is not None
        return stage.tau - target


@dataclass(frozen=True, eq=False)
class FramePosition(Cost):
    """Position of a frame in the space frame minus a target (3,), m.

    Args:
        frame: name of the frame; None: the tool.
    """

    frame: str | None = None
    shapes = ("3", ("3",))

    def residual(self, stage: Stage, target: Array) -> Array:
        """The difference p - target, (3,)."""
        return algorithms.pose(stage.model, stage.q, self.frame)[:3, 3] - target


@dataclass(frozen=True, eq=False)
class FrameRotation(Cost):
    """Rotation of a frame against a target (3, 3): |r|^2 = 4 (1 - cos(angle)) / 2.

    Args:
        frame: name of the frame; None: the tool.
    """

    frame: str | None = None
    shapes = ("9", ("3", "3"))

    def aim(self, model: Model) -> Array:
        """The rotation matrices, row by row."""
        rows = super().aim(model)
        R = rows.reshape(*rows.shape[:-1], 3, 3)
        if np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max() > 1e-6:
            raise InputError("the target of FrameRotation is not a rotation matrix, (3, 3).")
        return rows

    def default(self, model: Model) -> Array:
        """The axes of the space frame."""
        return np.eye(3).ravel()

    def residual(self, stage: Stage, target: Array) -> Array:
        """The entries of (R - target) / sqrt(2), whose square is about that of a small angle."""
        R = algorithms.pose(stage.model, stage.q, self.frame)[:3, :3]
        return (R.ravel() - target) * 0.5**0.5


class CenterOfMass(Cost):
    """Centre of mass of the robot in the space frame minus a target (3,), m."""

    shapes = ("3", ("3",))

    def residual(self, stage: Stage, target: Array) -> Array:
        """The difference p - target, (3,)."""
        return algorithms.center_of_mass(stage.model, stage.q) - target


@dataclass(frozen=True, eq=False)
class JointLimits(Cost):
    """How far joints are beyond a margin before their limits; zero inside, so a soft barrier.

    The target (1,) is the margin, rad or m before the limit, where the cost begins.
    """

    target: ArrayLike | None = (0.05,)
    shapes = ("limits", ("1",))

    def residual(self, stage: Stage, target: Array) -> Array:
        """For each limit of a joint, how far q is beyond target before it, or 0."""
        beyond = []
        for k, low, high in limited(stage.model):
            q = stage.q[k]
            beyond += [maximum(target[0] + low - q, 0.0), maximum(target[0] + q - high, 0.0)]
        return np.array(beyond)


@dataclass(frozen=True, eq=False)
class Residual(Cost):
    """A residual of your own.

    Args:
        function: of (t, q, dq, tau) returns the residual, (entries,); written with
            `kinetree.scalars` or NumPy, without a branch on its arguments. At the last state tau is
            zero.
        entries: how many there are.
    """

    function: Callable[[Any, Array, Array, Array], ArrayLike] | None = None
    entries: int = 1
    shapes = ("1", ("0",))

    def size(self, model: Model) -> int:
        """The number of entries of the residual."""
        return self.entries

    def key(self, model: Model) -> tuple[Hashable, ...]:
        """The function itself."""
        return (self.function, self.entries)

    def residual(self, stage: Stage, target: Array) -> Array:
        """What the function returns."""
        if not callable(self.function):
            raise InputError("Residual has no function; expected one of (t, q, dq, tau).")
        tau = np.zeros(stage.model.n) if stage.tau is None else stage.tau
        r = np.atleast_1d(np.asarray(self.function(stage.t, stage.q, stage.dq, tau)))
        if r.shape != (self.entries,):
            raise InputError(
                f"the residual returned shape {r.shape}; expected ({self.entries},), as its "
                "`entries` say."
            )
        return r


def limited(model: Model) -> list[tuple[int, float, float]]:
    """The coordinates with limits, and these."""
    joints = [joint for joint in model.joints if joint.follows is None and len(joint.coords) == 1]
    limits = [(joint.coords[0], joint.limits.lower, joint.limits.upper) for joint in joints]
    return [(k, float(low), float(high)) for k, low, high in limits if np.isfinite(high - low)]


def _size(letter: str, model: Model) -> int:
    sizes = {"n": model.n, "nq": model.nq}
    if letter == "limits":
        return 2 * len(limited(model))
    return sizes[letter] if letter in sizes else int(letter)


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
        raise InputError("the problem has no cost; expected at least one.")
    return dict(costs)
