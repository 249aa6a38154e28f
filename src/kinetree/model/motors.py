"""Motors of the model from their descriptions: coupled transmissions and checks.

Motor k turns at the sum of N_kj dq_j over its joints. Coupled wrists, parallelograms and
differentials have several joints in a row of N. A mimic joint acts through its leader, as in
springs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, known_number, scalar
from kinetree.errors import InputError
from kinetree.files.description.records import Motor
from kinetree.model.friction import JointFriction, is_zero, joint_friction
from kinetree.model.joint import Joint, is_plain
from kinetree.model.springs import joint_arms
from kinetree.scalars import Scalar

DEPENDENT = 1e-9  # share of a row of N left by the rows before it; rounding leaves 1e-15


@dataclass(frozen=True)
class GearedMotor:
    """A motor at the angle sum of arms[k] * q[coords[k]], and a constant of mimic joints.

    joints, dofs: the joints and the entries of dq and tau that belong to `coords`.
    """

    name: str
    joints: tuple[str, ...]
    coords: tuple[int, ...]
    dofs: tuple[int, ...]
    arms: tuple[Scalar, ...]
    inertia: Scalar
    friction: JointFriction

    @property
    def record(self) -> Motor:
        """The motor as a user gives it, on joints that move by themselves."""
        joints = dict(zip(self.joints, self.arms, strict=True))
        return Motor(joints, self.inertia, self.friction.record)

    def rate(self, dq: Array) -> Any:
        """The sum of arms times dq: of rates the motor's rate, of accelerations its own."""
        pairs = zip(self.dofs, self.arms, strict=True)
        parts: list[Any] = [dq[d] if is_plain(arm, 1) else dq[d] * arm for d, arm in pairs]
        return sum(parts[1:], parts[0])


def build_motor(name: str, motor: Motor, joints: Sequence[Joint]) -> GearedMotor:
    """The motor over the joints of a model."""
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
    over, _ = joint_arms("motor", name, motor.joints, joints)
    return GearedMotor(name, *over, inertia, friction)


def motor_matrix(motors: Sequence[GearedMotor], n: int) -> Array:
    """N, (k, n): the rates of the motors are N dq."""
    rows: list[list[Any]] = [[0] * n for _ in motors]
    for row, motor in zip(rows, motors, strict=True):
        for d, arm in zip(motor.dofs, motor.arms, strict=True):
            row[d] = arm
    return np.array(rows).reshape(len(motors), n)
