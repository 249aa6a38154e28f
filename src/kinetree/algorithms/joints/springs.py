"""Springs of joints and between joints: their energy, joint forces and stiffness matrix.

With x = a . q the sum of joint positions that a spring measures,

    U = k/2 (x - rest)^2,    tau = k a (x - rest),    d tau/d q = k a a^T

tau is the force that the drives need against the springs, on the left side of
M ddq + c + g + springs + friction = tau. Both are linear in the stiffness k and the preload k rest.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree.algorithms.joints.friction import frictionless
from kinetree.base.arrays import Array, StateLike
from kinetree.model import JointSpring, Model
from kinetree.model.documented import documented
from kinetree.model.inputs import coordinates, zeros
from kinetree.model.joint import is_plain
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result, textbook
from kinetree.scalars import Scalar


@labelled("n")
def spring_forces(model: Model, q: StateLike) -> Array:
    """Joint forces against the springs, (n,), N m or N; zeros for a robot without springs."""
    return joint_spring_forces(model, coordinates(model, q))


def joint_spring_forces(model: Model, q: Array) -> Array:
    """`spring_forces` of checked positions."""
    forces: list[Any] = [0] * model.n
    for spring in active_springs(model):
        pull = extension(spring, q) * spring.stiffness
        for d, arm in zip(spring.dofs, spring.arms, strict=True):
            part = pull if is_plain(arm, 1) else pull * arm
            forces[d] = part if is_plain(forces[d], 0) else forces[d] + part
    return np.array(forces) if model.n else zeros(0)


@labelled()
def spring_energy(model: Model, q: StateLike) -> Any:
    """Energy in the springs, J: the sum of stiffness / 2 (x - rest)^2."""
    q = coordinates(model, q)
    energy = 0
    for spring in active_springs(model):
        x = extension(spring, q)
        energy = energy + x * x * spring.stiffness / 2
    return energy


@documented
def spring_stiffness(model: Model) -> Array:
    """d tau/d q of the springs, (n, n), symmetric and positive semi-definite, constant."""
    K: list[list[Any]] = [[0] * model.n for _ in range(model.n)]
    for spring in active_springs(model):
        for row, a in zip(spring.dofs, spring.arms, strict=True):
            for column, b in zip(spring.dofs, spring.arms, strict=True):
                K[row][column] = K[row][column] + spring.stiffness * (a * b)
    return np.array(K).reshape(model.n, model.n)


def spring_columns(model: Model, q: Array) -> list[Array]:
    """Joint forces of every spring over its stiffness and over its preload, (n, 2) each."""
    columns = []
    for spring in model.springs:
        a = arm_vector(model, spring)
        columns.append(np.array([a * position(spring, q), -a]).T)
    return columns


def spring_energies(model: Model, q: Array) -> list[Any]:
    """Energy of every spring over its stiffness and over its preload, without that at x = 0.

    k/2 (x - rest)^2 = k x^2/2 - (k rest) x + k rest^2/2.
    """
    positions = [position(spring, q) for spring in model.springs]
    return [part for x in positions for part in (x * x / 2, -x)]


def arm_vector(model: Model, spring: JointSpring) -> Array:
    """a with x = a . q along the degrees of freedom, (n,)."""
    arms = dict(zip(spring.dofs, spring.arms, strict=True))
    return np.array([arms.get(d, 0) for d in range(model.n)])


def position(spring: JointSpring, q: Array) -> Scalar:
    """x, the sum of joint positions times the coefficients of the spring."""
    pairs = zip(spring.coords, spring.arms, strict=True)
    parts: list[Any] = [q[k] if is_plain(arm, 1) else q[k] * arm for k, arm in pairs]
    return sum(parts[1:], parts[0])


def extension(spring: JointSpring, q: Array) -> Scalar:
    """x - rest."""
    x = position(spring, q)
    return x if is_plain(spring.rest, 0) else x - spring.rest


def active_springs(model: Model) -> Iterator[JointSpring]:
    """The springs, without those of stiffness 0, which need no operations."""
    return (spring for spring in model.springs if not is_plain(spring.stiffness, 0))


def without_springs(model: Model) -> Model:
    """The robot without springs."""
    return model.replace(springs=()) if model.springs else model


def without_passive_forces(model: Model) -> Model:
    """The robot without joint friction and springs."""
    return without_springs(frictionless(model))


SPRING_FORCES = Quantity(
    "spring_forces", "q",
    (Result("tau_s", "n", "joint forces against springs", "N m or N"),),
    "Joint forces against springs: the gradient of their energy; zero without springs.",
    "sum of k a (a . q - rest)",
    textbook(spring_forces),
    (
        "robot.with_springs({'joint2': kt.Spring(10, rest=0.1)}).spring_forces([0.1, 0.3])",
        "array([0., 2.])",
    ),
)  # fmt: skip
