"""Springs of joints, between joints and between points: energy, joint forces and their slopes.

With x what a spring measures, the sum a . q of joint positions or the length of a path (paths.py),
a = dx/dq, and damping c,

    U = k/2 (x - rest)^2,    tau = a (k (x - rest) + c a . dq),    d tau/d q = k a a^T

and of a path, whose arms change, further terms. With play w, x - rest is less by its part within
+-w/2, and k and c are 0 there.

tau is the force that the drives need against the springs, on the left side of
M ddq + c + g + springs + friction = tau. Both are linear in the stiffness k and the preload k rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.joints.friction import frictionless
from kinetree.dynamics.joints.gains import arm_forces, arm_gains, arm_rate
from kinetree.dynamics.joints.paths import Segment, path_length, segments
from kinetree.dynamics.tree import Tree, placed_tree
from kinetree.errors import ModelError
from kinetree.model import JointSpring, Model
from kinetree.model.inputs import coordinates
from kinetree.model.joint import is_plain
from kinetree.model.labelled import labelled
from kinetree.model.quantity import quantity
from kinetree.scalars import Scalar, absolute, clip, where
from kinetree.spatial.matrices import dense


@quantity("q -> tau_s: n", over="model")
def spring_forces(model: Model, q: StateLike) -> Array:
    """Joint forces against springs: the gradient of their energy; zero without springs.

    Returns:
        tau_s: joint forces against springs [N m or N].

    Example:
        >>> robot.with_springs({'joint2': kt.joints.Spring(10, rest=0.1)}).spring_forces([0.1, 0.3])
        array([0., 2.])
    """
    return Springs(model, coordinates(model, q)).forces


@dataclass(frozen=True, eq=False)
class SpringState:
    """A spring at a position: what it measures, x, and its arms dx/dq by degree of freedom.

    segments: of a spring between points.
    """

    spring: JointSpring
    x: Scalar
    arms: dict[int, Any]
    segments: Sequence[Segment] = ()

    @property
    def extension(self) -> Scalar:
        """x - rest, less its part within the play."""
        free = self.x if is_plain(self.spring.rest, 0) else self.x - self.spring.rest
        half = self.spring.play / 2
        return free if is_plain(half, 0) else free - clip(free, -half, half)

    @property
    def stiffness(self) -> Scalar:
        """Slope of the force by x."""
        return self._beyond_play(self.spring.stiffness)

    @property
    def damping(self) -> Scalar:
        """Slope of the force by dx/dt."""
        return self._beyond_play(self.spring.damping)

    def _beyond_play(self, value: Scalar) -> Scalar:
        return value if is_plain(self.spring.play, 0) else where(absolute(self.extension), value, 0)


@dataclass(frozen=True, eq=False)
class Springs:
    """The springs of a robot at a position q, (nq,)."""

    model: Model
    q: Array

    @cached_property
    def acting(self) -> list[SpringState]:
        """The springs that act; those of stiffness and damping 0 need no operations."""
        springs = self.model.springs
        idle = [is_plain(x.stiffness, 0) and is_plain(x.damping, 0) for x in springs]
        return [self.state(x) for x, none in zip(springs, idle, strict=True) if not none]

    @cached_property
    def _tree(self) -> Tree:
        return placed_tree(self.model, self.q)

    def state(self, spring: JointSpring) -> SpringState:
        """A spring at the position."""
        if not spring.points:
            return SpringState(spring, position(spring, self.q), spring.arm_of_dof)
        parts = segments(self._tree, spring.points)
        return SpringState(spring, *path_length(parts), parts)

    @cached_property
    def damped(self) -> list[SpringState]:
        """Those with damping."""
        return [x for x in self.acting if not is_plain(x.spring.damping, 0)]

    @cached_property
    def forces(self) -> Array:
        """Joint forces at rest, (n,)."""
        # explain: spring
        pulls = [(x.arms, x.extension * x.spring.stiffness) for x in self.acting]
        return arm_forces(self.model.n, pulls)

    def at(self, dq: Array) -> Array:
        """Joint forces at rates dq, (n,)."""
        if not self.damped:
            return self.forces
        dampers = [(x.arms, arm_rate(x.arms, dq) * x.damping) for x in self.damped]
        return self.forces + arm_forces(self.model.n, dampers)

    @property
    def energy(self) -> Any:
        """The sum of k/2 (x - rest)^2."""
        energy = 0
        for x in self.acting:
            energy = energy + x.extension * x.extension * x.spring.stiffness / 2
        return energy

    def slopes(self, dq: Array) -> tuple[Array, Array]:
        """d tau/d q and d tau/d dq, (n, n) each."""
        n = self.model.n
        by_q, by_dq = self.stiffness(), self.damping()
        for x in self.acting:
            if x.segments:
                bends = sum((part.bends(n) for part in x.segments[1:]), x.segments[0].bends(n))
                force = x.extension * x.spring.stiffness
                if not is_plain(x.spring.damping, 0):
                    force = force + arm_rate(x.arms, dq) * x.damping
                    arms = np.array([x.arms.get(d, 0) for d in range(n)])
                    by_q = by_q + np.outer(arms, dq @ bends) * x.damping
                by_q = by_q + bends * force
        return by_q, by_dq

    def stiffness(self) -> Array:
        """The sum of k a a^T, (n, n)."""
        return dense(arm_gains(self.model.n, [(x.arms, x.stiffness) for x in self.acting]))

    def damping(self) -> Array:
        """The sum of c a a^T, (n, n)."""
        return dense(arm_gains(self.model.n, [(x.arms, x.damping) for x in self.damped]))


@labelled()
def spring_energy(model: Model, q: StateLike) -> Any:
    """Energy in the springs, J: the sum of stiffness / 2 (x - rest)^2.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
    """
    return Springs(model, coordinates(model, q)).energy


def spring_columns(model: Model, q: Array) -> list[Array]:
    """Joint forces of every spring over its stiffness and over its preload, (n, 2) each."""
    columns, springs = [], Springs(model, q)
    for spring in model.springs:
        if not (is_plain(spring.play, 0) and is_plain(spring.damping, 0)):
            raise ModelError(
                f"spring {spring.name!r} has play or damping, for which the parameters have no "
                "entry; expected a spring without, and viscous friction of joints for damping."
            )
        pull = springs.state(spring)
        a = np.array([pull.arms.get(d, 0) for d in range(model.n)])
        columns.append(np.array([a * pull.x, -a]).T)
    return columns


def position(spring: JointSpring, q: Array) -> Scalar:
    """x, the sum of joint positions times the coefficients of the spring."""
    return sum((q[k] * arm for k, arm in zip(spring.coords, spring.arms, strict=True)), start=0)


def without_passive_forces(model: Model) -> Model:
    """The robot without joint friction and springs."""
    return frictionless(model).replace(springs=())
