"""Motors and gears against the loads of a motion: torque and speed at the motor's shaft.

A joint that turns at dq with the joint force tau asks of a motor behind a gear of ratio r, with the
inertia J of its rotor and the efficiency eta of the gear:

    speed = r dq,    torque = J r ddq + tau / (r eta^s),    s = sign(tau dq)

While the motor drives, the gear's loss adds to its load; while the load drives the motor, it helps.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from kinetree.core.options import finite, typed
from kinetree.errors import InputError
from kinetree.model import HasModel, Model
from kinetree.model.constrain import without_constraints
from kinetree.motion.gear_losses import forces_in_motion
from kinetree.motion.inputs import check_single, model_for
from kinetree.motion.limits.check import mean
from kinetree.motion.limits.loads import finer
from kinetree.motion.record import Record


@dataclass(frozen=True)
class Motor:
    """A motor with its gear, as on a data sheet: numbers at the shaft of the motor.

    Args:
        name: of the motor and gear.
        ratio: turns of the motor for one of the joint; rad/m for a joint that slides.
        peak: largest torque, N m.
        rated: torque that it gives without end, N m, compared with the root mean square.
        speed: largest speed, rad/s.
        inertia: of the rotor about its axis, kg m^2; 0: it is part of the robot.
        efficiency: of the gear, above 0 and at most 1, dimensionless.
    """

    name: str
    ratio: float
    peak: float
    rated: float
    speed: float
    inertia: float = 0.0
    efficiency: float = 1.0


@dataclass(frozen=True)
class MotorLoad:
    """Torque and speed that a motion asks of a motor in the place of a joint's drive.

    Args:
        joint: name of the degree of freedom.
        motor: the motor and gear.
        peak_torque: largest torque, N m.
        rms_torque: root mean square of the torque, N m.
        peak_speed: largest speed, rad/s.
    """

    joint: str
    motor: Motor
    peak_torque: float
    rms_torque: float
    peak_speed: float

    @property
    def shares(self) -> tuple[float, float, float]:
        """Peak torque, root mean square and speed over what the motor gives, dimensionless."""
        motor = self.motor
        return (
            self.peak_torque / motor.peak,
            self.rms_torque / motor.rated,
            self.peak_speed / motor.speed,
        )

    @property
    def ok(self) -> bool:
        """True if the motor gives at least what the motion asks for."""
        return max(self.shares) <= 1


@typed
def motor_loads(
    robot: Model | HasModel | None, trajectory: Record, motors: Iterable[Motor]
) -> tuple[MotorLoad, ...]:
    """Torque and speed that a motion asks of each motor in the place of each joint's drive.

    Args:
        robot: the robot; None is the one that the trajectory was made with.
        trajectory: one motion; its joint forces, or those of inverse dynamics without.
        motors: candidates.

    Raises:
        InputError: a number of a motor is not possible, or its inertia or its loss is in the robot,
            too; the message names both.
    """
    model = model_for(trajectory, robot, "a choice of motors")
    without_constraints(model, "A choice of motors")
    check_single(trajectory, "a choice of motors")
    t, q, dq, ddq = finer(trajectory)
    tau = forces_in_motion(model, q, dq, ddq, trajectory.tau)
    chosen = [checked_motor(motor) for motor in motors]
    loads: list[MotorLoad] = []
    for k, name in enumerate(model.dof_names):
        for motor in chosen:
            _check_counted_once(model, k, motor)
            loss = motor.efficiency ** -np.sign(tau[:, k] * dq[:, k])
            torque = motor.inertia * motor.ratio * ddq[:, k] + tau[:, k] * loss / motor.ratio
            peak, speed = (float(np.max(np.abs(x))) for x in (torque, motor.ratio * dq[:, k]))
            rms = float(np.sqrt(mean(t, torque * torque)))
            loads.append(MotorLoad(name, motor, peak, rms, speed))
    return tuple(loads)


def checked_motor(motor: Motor) -> Motor:
    """The motor with plain floats; InputError names the motor and the number that is wrong."""
    if not isinstance(motor, Motor):
        raise InputError(f"motors has {motor!r:.60}; expected records Motor(...).")
    names = [x.name for x in fields(Motor) if x.name != "name"]
    values = {x: finite(getattr(motor, x), f"{x} of motor {motor.name!r}") for x in names}
    for name, x in values.items():
        if x < 0 or (x == 0 and name != "inertia") or (name == "efficiency" and x > 1):
            raise InputError(
                f"{name} of motor {motor.name!r} is {x:g}; expected it above 0, an efficiency of "
                "at most 1."
            )
    return Motor(motor.name, **values)


def _check_counted_once(model: Model, dof: int, motor: Motor) -> None:
    """Raise InputError if the rotor or the loss of a motor is part of the robot already."""
    i, joint = next(
        (i, x) for i, x in enumerate(model.joints) if x.follows is None and dof in x.dofs
    )
    rotates = joint.armature != 0 or any(x.joint == i for x in model.rotors)
    loses = joint.drive is not None and joint.drive.efficiency != 1
    twice = {"inertia": rotates and motor.inertia, "efficiency": loses and motor.efficiency != 1}
    for name in (x for x, y in twice.items() if y):
        raise InputError(
            f"motor {motor.name!r} has {name} {getattr(motor, name):g}, and joint {joint.name!r} "
            f"of {model.name!r} has the {name} of its own drive, which is part of its forces; "
            f"leave {name} out of the motor, or out of the robot."
        )
