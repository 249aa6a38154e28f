"""Costs: what a plan should do, as weighted residuals r of a state and the joint forces.

A cost adds dt w/2 |r|^2 for each step and w_f/2 |r|^2 for the last state. Weights w and w_f and the
target are numbers that may change from solve to solve; the residual itself is traced,
differentiated and compiled once for a robot. A cost is a class with the residual and, where it is
not n, the number of its entries, and the shape of its target where that is another one.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike
from kinetree.dynamics.joints.configuration import rest_position
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.law import TracedLaw, traced_law
from kinetree.errors import InputError, KinetreeError
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.model.inputs import check_quaternions
from kinetree.optimal.chart import deviation, quaternion_of, rotation_vector
from kinetree.scalars import absolute, maximum
from kinetree.spatial.so3 import check_rotation

UNIT = 1e-6  # what the length of a quaternion may differ from 1 by, in float32 too


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


@dataclass(frozen=True, eq=False)
class Cost:
    """A weighted residual; the costs are those below.

    Args:
        target: as each cost states, shape (k,), or (steps + 1, k) for a path, SI units.
        weight: w of the steps, shape () or (entries of r,), 1 / (unit of r)^2 / s.
        final: w_f of the last state, shape () or (entries of r,), 1 / (unit of r)^2.
    """

    target: ArrayLike | None = None
    weight: ArrayLike = 0.0
    final: ArrayLike = 0.0
    _entries: ClassVar[int | None] = None  # of r; None: n
    _target: ClassVar[tuple[int, ...] | None] = None  # shape at one time; None: (entries,)
    _default: ClassVar[Any] = 0.0  # target where none is given, or this of a robot
    _forces: ClassVar[bool] = False  # the last state has none
    _changes: ClassVar[bool] = False  # of forces from step to step

    def _residual(self, at: Stage, target: Array) -> Array:
        """r at a stage, (size,), over any scalars; target: its numbers, (k,)."""
        raise NotImplementedError

    def _size(self, model: Model, m: int) -> int:
        """The number of entries of r, for m motors."""
        return model.n if self._entries is None else self._entries

    def _shape(self, model: Model, m: int) -> tuple[int, ...]:
        """The shape of the target at one time."""
        return self._target or (self._size(model, m),)

    def _check(self, model: Model) -> None:
        """Raise for a robot that the cost does not fit."""
        for frame in filter(None, (getattr(self, "frame", None), *getattr(self, "frames", ()))):
            model.frame(frame)  # an unknown frame names the known ones

    def _check_target(self, model: Model, x: Array) -> None:
        """Raise for numbers, (..., *shape), that are no target."""

    def _traced(self, model: Model, m: int, name: str) -> Self:
        """The cost with the graph of its function."""
        return self

    def _key(self) -> tuple[Hashable, ...]:
        """Everything that decides the graph of r, beside the robot."""
        names = [x.name for x in fields(self) if x.name not in ("target", "weight", "final")]
        return type(self), *(getattr(self, name) for name in names)


class Posture(Cost):
    """Distance of the joints from a position: the tangent vector from target to q.

    Args:
        target: joint positions, shape (nq,) or (steps + 1, nq), rad or m; None: the rest position.
        weight, final: as in `Cost`.
    """

    _default = staticmethod(rest_position)

    def _residual(self, at: Stage, target: Array) -> Array:
        return deviation(at.model, target, at.q, far=True)

    def _shape(self, model: Model, m: int) -> tuple[int, ...]:
        return (model.nq,)

    def _check_target(self, model: Model, x: Array) -> None:
        check_quaternions(model, x, "the target of Posture", UNIT)


class Rates(Cost):
    """Joint rates minus a target.

    Args:
        target: joint rates, shape (n,) or (steps + 1, n), rad/s or m/s; None: zero.
        weight, final: as in `Cost`.
    """

    def _residual(self, at: Stage, target: Array) -> Array:
        return at.dq - target


class Effort(Cost):
    """Joint forces of the motors minus a target. The last state has no forces.

    Args:
        target: joint forces, shape (n,) or (steps + 1, n), N m or N; None: zero.
        weight: as in `Cost`.
        final: as in `Cost`; expected to be zero.
    """

    _forces = True

    def _residual(self, at: Stage, target: Array) -> Array:
        assert at.tau is not None
        return at.tau - target


class EffortChange(Cost):
    """Change of the motors' forces, or of the controls, from step to step, divided by dt.

    Before the first step they are those of `Problem.before`. The last state has none.

    Args:
        target: rates of change, shape (m,) or (steps + 1, m), N m/s or N/s; None: zero.
        weight: as in `Cost`.
        final: as in `Cost`; expected to be zero.
    """

    _forces = _changes = True

    def _residual(self, at: Stage, target: Array) -> Array:
        assert at.change is not None
        return at.change - target

    def _size(self, model: Model, m: int) -> int:
        return m


@dataclass(frozen=True, eq=False)
class FramePosition(Cost):
    """Position of a frame in the space frame minus a target.

    Args:
        target: position, shape (3,) or (steps + 1, 3), m; None: the origin.
        weight, final: as in `Cost`.
        frame: name of the frame; None: the tool.
    """

    frame: str | None = None
    _entries = 3

    def _residual(self, at: Stage, target: Array) -> Array:
        return dynamics.pose(at.model, at.q, self.frame)[:3, 3] - target


@dataclass(frozen=True, eq=False)
class FrameRotation(Cost):
    """Rotation vector from a target to a frame, the shorter way, in the axes of the target.

    Args:
        target: rotation matrix, shape (3, 3) or (steps + 1, 3, 3), dimensionless; None: the axes of
            the space frame.
        weight, final: as in `Cost`.
        frame: name of the frame; None: the tool.
    """

    frame: str | None = None
    _entries, _target, _default = 3, (3, 3), np.eye(3).ravel()

    def _residual(self, at: Stage, target: Array) -> Array:
        R = dynamics.pose(at.model, at.q, self.frame)[:3, :3]
        return rotation_vector(quaternion_of(target.reshape(3, 3).T @ R))

    def _check_target(self, model: Model, x: Array) -> None:
        for R in x.reshape(-1, 3, 3):
            check_rotation(R, "the target of FrameRotation")


class CenterOfMass(Cost):
    """Centre of mass of the robot in the space frame minus a target.

    Args:
        target: position, shape (3,) or (steps + 1, 3), m; None: the origin.
        weight, final: as in `Cost`.
    """

    _entries = 3

    def _residual(self, at: Stage, target: Array) -> Array:
        return dynamics.center_of_mass(at.model, at.q) - target


@dataclass(frozen=True, eq=False)
class FrameTwist(Cost):
    """Twist (angular, linear) of a frame minus a target.

    Args:
        target: twist, shape (6,) or (steps + 1, 6), rad/s and m/s; None: zero.
        weight, final: as in `Cost`.
        frame: name of the frame; None: the tool.
        expressed: axes, as in `robot.frame_velocity`: "aligned" with the space frame at the origin
            of the frame, "body" or "space".
    """

    frame: str | None = None
    expressed: str = "aligned"
    _entries = 6

    def _residual(self, at: Stage, target: Array) -> Array:
        state = at.model, at.q, at.dq, self.frame
        return dynamics.frame_velocity(*state, expressed=self.expressed) - target


class Momentum(Cost):
    """Momentum of the robot in the axes of the space frame minus a target.

    Args:
        target: angular momentum about the centre of mass and linear momentum, shape (6,) or
            (steps + 1, 6), N m s and N s; None: zero.
        weight, final: as in `Cost`.
    """

    _entries = 6

    def _residual(self, at: Stage, target: Array) -> Array:
        return dynamics.centroidal_momentum(at.model, at.q, at.dq) - target


class Barrier(Cost):
    """How far joints or rates are beyond a margin before their limits, zero inside."""

    _target = (1,)

    def _limits(self, model: Model) -> list[tuple[int, int, float]]:
        """Entries of q or dq, the side of the limit (-1 or 1), and where it is."""
        raise NotImplementedError

    def _size(self, model: Model, m: int) -> int:
        return len(self._limits(model))

    def _check(self, model: Model) -> None:
        if not self._limits(model):
            raise InputError(
                f"{type(self).__name__} is a cost of limits that {model.name!r} does not have; "
                "leave it out."
            )

    def _check_target(self, model: Model, x: Array) -> None:
        if not (x >= 0).all():
            raise InputError(f"the target of {type(self).__name__} is {x!r:.60}; expected >= 0.")


class SpeedLimits(Barrier):
    """How far joint rates are beyond a share of the speed limits: zero inside, a soft barrier.

    Args:
        target: the share where the cost begins, shape (1,), dimensionless; None: 0.95.
        weight, final: as in `Cost`.
    """

    _default = 0.95

    def _limits(self, model: Model) -> list[tuple[int, int, float]]:
        speeds = bounds_of(model).velocity
        return [(d, 1, float(v)) for d, v in enumerate(speeds) if np.isfinite(v)]

    def _residual(self, at: Stage, target: Array) -> Array:
        limits = self._limits(at.model)
        return np.array([maximum(absolute(at.dq[d]) - target[0] * v, 0.0) for d, _, v in limits])


class JointLimits(Barrier):
    """How far joints are beyond a margin before their limits: zero inside, a soft barrier.

    Args:
        target: the margin where the cost begins, shape (1,), rad or m before the limit; None: 0.05.
        weight, final: as in `Cost`.
    """

    _default = 0.05

    def _limits(self, model: Model) -> list[tuple[int, int, float]]:
        bounds = bounds_of(model)
        return [
            (int(k), side, float(limits[d]))
            for d, k in enumerate(bounds.coords)
            for side, limits in ((-1, bounds.lower), (1, bounds.upper))
            if k >= 0 and np.isfinite(limits[d])
        ]

    def _residual(self, at: Stage, target: Array) -> Array:
        limits = self._limits(at.model)
        return np.array([maximum(target[0] + s * (at.q[k] - x), 0.0) for k, s, x in limits])


@dataclass(frozen=True, eq=False)
class Residual(Cost):
    """A residual of your own.

    Args:
        target: numbers for the function, shape (k,) or (steps + 1, k), in its units, which may
            change from solve to solve; None: it gets none.
        weight, final: as in `Cost`.
        function: of (t, q, dq, tau), then the poses (frames, 4, 4) if there are `frames`, then the
            target if there is one; returns the residual, shape (entries,). It is written with
            `kinetree.scalars` or NumPy, without a branch on its arguments, and traced when a
            problem is made, with the numbers that it knows then. At the last state tau is zero.
        entries: number of entries of the residual, dimensionless.
        frames: names of frames.
    """

    function: Callable[..., ArrayLike] | None = None
    entries: int = 1
    frames: tuple[str, ...] = ()

    def _residual(self, at: Stage, target: Array) -> Array:
        assert callable(self.function)
        tau = np.zeros(at.model.n) if at.tau is None else at.tau
        arguments: list[Any] = [at.t, at.q, at.dq, tau]
        if self.frames:
            poses = [dynamics.pose(at.model, at.q, frame) for frame in self.frames]
            arguments.append(np.array(poses))
        if self.target is not None:
            arguments.append(target)
        return np.atleast_1d(np.asarray(self.function(*arguments)))

    def _size(self, model: Model, m: int) -> int:
        return self.entries

    def _shape(self, model: Model, m: int) -> tuple[int, ...]:
        return (0,) if self.target is None else np.asarray(self.target).shape[-1:] or (1,)

    def _key(self) -> tuple[Hashable, ...]:
        return *Cost._key(self), () if self.target is None else np.asarray(self.target).shape[-1:]

    def _traced(self, model: Model, m: int, name: str) -> Self:
        if isinstance(self.function, TracedLaw):
            return self
        if not callable(self.function) or isinstance(self.frames, str) or self.entries < 1:
            raise InputError(
                f"cost {name!r} has the function {self.function!r:.60}, {self.entries!r} entries "
                f"and the frames {self.frames!r:.60}; expected a function of (t, q, dq, tau), at "
                "least one entry, and a tuple of names."
            )
        shapes = {"t": (), "q": (model.nq,), "dq": (model.n,), "tau": (model.n,)}
        shapes |= {"poses": (len(self.frames), 4, 4)} if self.frames else {}
        shapes |= {"target": self._shape(model, m)} if self.target is not None else {}
        try:
            law = traced_law(self.function, [Port(*each) for each in shapes.items()])
        except KinetreeError:
            raise
        except Exception as problem:  # whatever a function of the user raises
            raise InputError(
                f"the function of cost {name!r} could not be traced: {problem}; expected one of "
                f"({', '.join(shapes)}) that returns {self.entries} numbers."
            ) from problem
        sizes = [port.size for port in law.graph.outputs]
        if sizes != [self.entries]:
            raise InputError(
                f"the residual of cost {name!r} has {sizes} numbers; expected {self.entries}, as "
                "`entries` has."
            )
        return replace(self, function=law)
