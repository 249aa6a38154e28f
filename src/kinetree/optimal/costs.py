"""Costs: what a plan should do, as weighted residuals r of a state and the joint forces.

A cost adds dt w/2 |r|^2 for each step and w_f/2 |r|^2 for the last state. Weights w and w_f and the
target are numbers that may change from solve to solve; the residual itself is traced,
differentiated and compiled once for a robot (residuals.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from kinetree.core.arrays import ArrayLike


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

    def with_target(self, target: ArrayLike) -> Self:
        """The same cost with another target.

        Args:
            target: as in `Cost`.
        """
        return replace(self, target=target)


class Posture(Cost):
    """Distance of the joints from a position: the tangent vector from target to q.

    Args:
        target: joint positions, shape (nq,) or (steps + 1, nq), rad or m; None: the rest position.
        weight, final: as in `Cost`.
    """


class Rates(Cost):
    """Joint rates minus a target.

    Args:
        target: joint rates, shape (n,) or (steps + 1, n), rad/s or m/s; None: zero.
        weight, final: as in `Cost`.
    """


class Effort(Cost):
    """Joint forces of the motors minus a target. The last state has no forces.

    Args:
        target: joint forces, shape (n,) or (steps + 1, n), N m or N; None: zero.
        weight: as in `Cost`.
        final: as in `Cost`; expected to be zero.
    """


@dataclass(frozen=True, eq=False)
class FramePosition(Cost):
    """Position of a frame in the space frame minus a target.

    Args:
        target: position, shape (3,) or (steps + 1, 3), m; None: the origin.
        weight, final: as in `Cost`.
        frame: name of the frame; None: the tool.
    """

    frame: str | None = None


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


class CenterOfMass(Cost):
    """Centre of mass of the robot in the space frame minus a target.

    Args:
        target: position, shape (3,) or (steps + 1, 3), m; None: the origin.
        weight, final: as in `Cost`.
    """


class EffortChange(Cost):
    """Change of the motors' forces, or of the controls, from step to step, divided by dt.

    Before the first step they are those of `Problem.before`. The last state has none.

    Args:
        target: rates of change, shape (m,) or (steps + 1, m), N m/s or N/s; None: zero.
        weight: as in `Cost`.
        final: as in `Cost`; expected to be zero.
    """


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


class Momentum(Cost):
    """Momentum of the robot in the axes of the space frame minus a target.

    Args:
        target: angular momentum about the centre of mass and linear momentum, shape (6,) or
            (steps + 1, 6), N m s and N s; None: zero.
        weight, final: as in `Cost`.
    """


class JointPath(Cost):
    """Joint positions minus the nearest point of a path, at any time: the distance to the path.

    The path is straight between its points. Its length adds nothing: add a cost that moves on.

    Args:
        target: points of the path, shape (points, n), rad or m; the number of points is compiled.
        weight, final: as in `Cost`.
    """


@dataclass(frozen=True, eq=False)
class FramePath(Cost):
    """Position of a frame minus the nearest point of a path, as `JointPath`.

    Args:
        target: points of the path in the space frame, shape (points, 3), m.
        weight, final: as in `Cost`.
        frame: name of the frame; None: the tool.
    """

    frame: str | None = None


class SpeedLimits(Cost):
    """How far joint rates are beyond a share of the speed limits: zero inside, a soft barrier.

    Args:
        target: the share where the cost begins, shape (1,), dimensionless; None: 0.95.
        weight, final: as in `Cost`.
    """


class JointLimits(Cost):
    """How far joints are beyond a margin before their limits: zero inside, a soft barrier.

    Args:
        target: the margin where the cost begins, shape (1,), rad or m before the limit; None: 0.05.
        weight, final: as in `Cost`.
    """


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
