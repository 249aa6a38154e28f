"""Motors of the model from their descriptions: coupled transmissions and checks.

Motor k turns at the sum of N_kj dq_j over its joints. Coupled wrists, parallelograms and
differentials have several joints in a row of N. A mimic joint acts through its leader, as in
springs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, known_number, scalar
from kinetree.errors import InputError
from kinetree.files.description.records import Motor
from kinetree.model.friction import JointFriction, described_friction, is_zero, joint_friction
from kinetree.model.joint import Joint, changed_by_name, is_plain
from kinetree.model.springs import joint_coefficients, leader_of
from kinetree.scalars import Scalar

DEPENDENT = 1e-9  # share of a row of N left by the rows before it; rounding leaves 1e-15


@dataclass(frozen=True)
class GearedMotor:
    """A motor at the angle sum of arms[k] * q[coords[k]], and a constant of mimic joints.

    dofs: the entries of dq and tau that belong to `coords`.
    """

    name: str
    coords: tuple[int, ...]
    dofs: tuple[int, ...]
    arms: tuple[Scalar, ...]
    inertia: Scalar
    friction: JointFriction

    def rate(self, dq: Array) -> Any:
        """The sum of arms times dq: of rates the motor's rate, of accelerations its own."""
        pairs = zip(self.dofs, self.arms, strict=True)
        parts: list[Any] = [dq[d] if is_plain(arm, 1) else dq[d] * arm for d, arm in pairs]
        return sum(parts[1:], parts[0])


def build_motors(motors: Mapping[str, Motor], joints: Sequence[Joint]) -> tuple[GearedMotor, ...]:
    """Motors by name, over the joints of a model."""
    return tuple(_build(name, motor, joints) for name, motor in motors.items())


def changed_motors(
    own: Sequence[GearedMotor], changes: Mapping[str, Motor | None], joints: Sequence[Joint]
) -> tuple[GearedMotor, ...]:
    """The motors with some added or replaced by name; None removes one."""
    return changed_by_name(
        "motor",
        own,
        changes,
        lambda name, motor: _build(name, motor, joints),
        "such as {'motor6': Motor({'joint5': 1, 'joint6': 1}, inertia=0.02)}.",
    )


def _build(name: str, motor: Motor, joints: Sequence[Joint]) -> GearedMotor:
    if not isinstance(motor, Motor):
        raise InputError(f"motor {name!r} is {motor!r:.60}; expected a record Motor(...).")
    inertia = scalar(motor.inertia, f"inertia of motor {name!r}")
    number = known_number(inertia)
    if number is not None and number < 0:
        raise InputError(f"inertia of motor {name!r} is {inertia}; expected >= 0, kg m^2.")
    friction = joint_friction(motor.friction, name, kind="motor")
    if not is_zero(friction.load):
        raise InputError(
            f"motor {name!r} has load friction; expected friction that depends on its rate. Give "
            "the load friction to the joints that it drives."
        )
    arms: dict[Joint, Scalar] = {}  # of the joints that move by themselves
    for joint, ratio in joint_coefficients("motor", name, motor.joints, joints):
        leader = leader_of(joint, joints)
        arm = ratio if is_plain(joint.scale, 1) else ratio * joint.scale
        arms[leader] = arms[leader] + arm if leader in arms else arm
    coords, dofs = (tuple(getattr(x, key)[0] for x in arms) for key in ("coords", "dofs"))
    return GearedMotor(name, coords, dofs, tuple(arms.values()), inertia, friction)


def describe_motors(
    motors: Iterable[GearedMotor], coordinate_names: Sequence[str]
) -> dict[str, Motor]:
    """Records from which `build_motors` makes the same motors again."""
    return {
        x.name: Motor(
            {coordinate_names[k]: arm for k, arm in zip(x.coords, x.arms, strict=True)},
            x.inertia,
            described_friction(x.friction),
        )
        for x in motors
    }


def held_motor(motor: Motor, held: Mapping[str, Array]) -> Motor:
    """The motor of the joints that still move; one whose joints are all locked is as it was."""
    moving = {name: ratio for name, ratio in motor.joints.items() if name not in held}
    return replace(motor, joints=moving) if moving else motor


def motor_matrix(motors: Sequence[GearedMotor], n: int) -> Array:
    """N, (k, n): the rates of the motors are N dq."""
    rows: list[list[Any]] = [[0] * n for _ in motors]
    for row, motor in zip(rows, motors, strict=True):
        for d, arm in zip(motor.dofs, motor.arms, strict=True):
            row[d] = arm
    return np.array(rows).reshape(len(motors), n)
