"""Springs of joints, between joints and between points: energy, joint forces and their slopes.

With x what a spring measures, the sum a . q of joint positions or the length of a path (paths.py),
a = dx/dq, and damping c,

    U = k/2 (x - rest)^2,    tau = a (k (x - rest) + c a . dq),    d tau/d q = k a a^T

and of a path, whose arms change, further terms. With play w, x - rest is less by its part within
+-w/2, and k and c are 0 there.

tau is the force that the drives need against the springs, on the left side of
M ddq + c + g + springs + friction = tau. Both are linear in the stiffness k and the preload k rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.joints.friction import frictionless
from kinetree.dynamics.joints.paths import Stretch, path_length, stretches
from kinetree.dynamics.tree import Tree, placed_tree
from kinetree.errors import InputError, ModelError
from kinetree.model import JointSpring, Model
from kinetree.model.documented import documented
from kinetree.model.inputs import coordinates, zeros
from kinetree.model.joint import is_plain
from kinetree.model.labelled import labelled
from kinetree.model.quantity import quantity
from kinetree.scalars import Scalar, absolute, clip, where


@quantity(
    "q -> tau_s: n",
    meaning="joint forces against springs",
    unit="N m or N",
    formula="sum of k a (a . q - rest)",
    over="model",
)
def spring_forces(model: Model, q: StateLike) -> Array:
    """Joint forces against springs: the gradient of their energy; zero without springs.

    Example:
        >>> robot.with_springs({'joint2': kt.joints.Spring(10, rest=0.1)}).spring_forces([0.1, 0.3])
        array([0., 2.])
    """
    return joint_spring_forces(model, coordinates(model, q))


def joint_spring_forces(model: Model, q: Array) -> Array:
    """`spring_forces` of checked positions."""
    return Springs(model, q).forces


@dataclass(frozen=True, eq=False)
class Pull:
    """A spring at a position: what it measures, x, and its arms dx/dq by degree of freedom.

    stretches: of a spring between points.
    """

    spring: JointSpring
    x: Scalar
    arms: dict[int, Any]
    stretches: Sequence[Stretch] = ()

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

    def rate(self, dq: Array) -> Any:
        """dx/dt."""
        return sum((dq[d] * arm for d, arm in self.arms.items()), start=0)


@dataclass(frozen=True, eq=False)
class Springs:
    """The springs of a robot at a position q, (nq,)."""

    model: Model
    q: Array

    def __post_init__(self) -> None:
        _ = self.forces  # before the operations of the links: their order decides the last bits

    @cached_property
    def pulls(self) -> list[Pull]:
        """The springs that act."""
        return [self.pull(spring) for spring in active_springs(self.model)]

    @cached_property
    def _tree(self) -> Tree:
        return placed_tree(self.model, self.q)

    def pull(self, spring: JointSpring) -> Pull:
        """A spring at the position."""
        if not spring.points:
            arms = dict(zip(spring.dofs, spring.arms, strict=True))
            return Pull(spring, position(spring, self.q), arms)
        parts = stretches(self._tree, spring.points)
        return Pull(spring, *path_length(parts), parts)

    @cached_property
    def damped(self) -> list[Pull]:
        """Those with damping."""
        return [x for x in self.pulls if not is_plain(x.spring.damping, 0)]

    @cached_property
    def forces(self) -> Array:
        """Joint forces at rest, (n,)."""
        pulls = [(x.arms, x.extension * x.spring.stiffness) for x in self.pulls]  # explain: spring
        return self._joint_forces([x for x in pulls if not is_plain(x[1], 0)])

    def at(self, dq: Array) -> Array:
        """Joint forces at rates dq, (n,)."""
        if not self.damped:
            return self.forces
        return self.forces + self._joint_forces(
            [(x.arms, x.rate(dq) * x.damping) for x in self.damped]
        )

    def _joint_forces(self, pulls: Sequence[tuple[dict[int, Any], Any]]) -> Array:
        forces: list[Any] = [0] * self.model.n
        for arms, pull in pulls:
            for d, arm in arms.items():
                part = pull if is_plain(arm, 1) else pull * arm
                forces[d] = part if is_plain(forces[d], 0) else forces[d] + part
        return np.array(forces) if self.model.n else zeros(0)

    def slopes(self, dq: Array) -> tuple[Array, Array]:
        """d tau/d q and d tau/d dq, (n, n) each."""
        n = self.model.n
        by_q, by_dq = self.stiffness(), self.damping()
        for x in self.pulls:
            if x.stretches:
                bends = sum((part.bends(n) for part in x.stretches[1:]), x.stretches[0].bends(n))
                force = x.extension * x.spring.stiffness
                if not is_plain(x.spring.damping, 0):
                    force = force + x.rate(dq) * x.damping
                    arms = np.array([x.arms.get(d, 0) for d in range(n)])
                    by_q = by_q + np.outer(arms, dq @ bends) * x.damping
                by_q = by_q + bends * force
        return by_q, by_dq

    def stiffness(self) -> Array:
        """The sum of k a a^T, (n, n)."""
        return self._squares([(x.arms, x.stiffness) for x in self.pulls])

    def damping(self) -> Array:
        """The sum of c a a^T, (n, n)."""
        return self._squares([(x.arms, x.damping) for x in self.damped])

    def _squares(self, parts: Sequence[tuple[dict[int, Any], Any]]) -> Array:
        K: list[list[Any]] = [[0] * self.model.n for _ in range(self.model.n)]
        for arms, size in parts:
            for row, a in arms.items():
                for column, b in arms.items():
                    K[row][column] = K[row][column] + size * (a * b)
        return np.array(K).reshape(self.model.n, self.model.n)


@labelled()
def spring_energy(model: Model, q: StateLike) -> Any:
    """Energy in the springs, J: the sum of stiffness / 2 (x - rest)^2."""
    q = coordinates(model, q)
    energy = 0
    for pull in Springs(model, q).pulls:
        x = pull.extension
        energy = energy + x * x * pull.spring.stiffness / 2
    return energy


@documented
def spring_stiffness(model: Model, q: StateLike | None = None) -> Array:
    """Stiffness k a a^T of the springs, (n, n), symmetric and positive semi-definite.

    It is d tau/d q, and constant, but for springs between points, which change their direction,
    and springs with play.

    Args:
        q: joint positions, (nq,), rad or m; None: for springs that do not need them.
    """
    if q is None and any(x.points or not is_plain(x.play, 0) for x in model.springs):
        raise InputError(
            f"{model.name!r} has springs between points or with play, whose stiffness depends on "
            "q; give q."
        )
    return Springs(model, zeros(model.nq) if q is None else coordinates(model, q)).stiffness()


def spring_columns(model: Model, q: Array) -> list[Array]:
    """Joint forces of every spring over its stiffness and over its preload, (n, 2) each."""
    columns = []
    _refuse_play(model)
    springs = Springs(model, q)
    for spring in model.springs:
        if not is_plain(spring.damping, 0):
            raise ModelError(
                f"spring {spring.name!r} has damping, for which pi has no entry; expected viscous "
                "friction of joints, or a spring without damping."
            )
        pull = springs.pull(spring)
        a = np.array([pull.arms.get(d, 0) for d in range(model.n)])
        columns.append(np.array([a * pull.x, -a]).T)
    return columns


def spring_energies(model: Model, q: Array) -> list[Any]:
    """Energy of every spring over its stiffness and over its preload, without that at x = 0.

    k/2 (x - rest)^2 = k x^2/2 - (k rest) x + k rest^2/2.
    """
    _refuse_play(model)
    springs = Springs(model, q)
    positions = [springs.pull(spring).x for spring in model.springs]
    return [part for x in positions for part in (x * x / 2, -x)]


def _refuse_play(model: Model) -> None:
    for spring in model.springs:
        if not is_plain(spring.play, 0):
            raise ModelError(
                f"spring {spring.name!r} has play, so its force is not linear in its stiffness and "
                "rest position; expected a spring without play."
            )


def position(spring: JointSpring, q: Array) -> Scalar:
    """x, the sum of joint positions times the coefficients of the spring."""
    pairs = zip(spring.coords, spring.arms, strict=True)
    parts: list[Any] = [q[k] if is_plain(arm, 1) else q[k] * arm for k, arm in pairs]
    return sum(parts[1:], parts[0])


def active_springs(model: Model) -> Iterator[JointSpring]:
    """The springs, without those of stiffness and damping 0, which need no operations."""
    return (
        spring
        for spring in model.springs
        if not (is_plain(spring.stiffness, 0) and is_plain(spring.damping, 0))
    )


def without_springs(model: Model) -> Model:
    """The robot without springs."""
    return model.replace(springs=()) if model.springs else model


def without_passive_forces(model: Model) -> Model:
    """The robot without joint friction and springs."""
    return without_springs(frictionless(model))
