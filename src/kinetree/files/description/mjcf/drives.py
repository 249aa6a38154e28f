"""Drives of the joints of a compiled MJCF model: friction, armature, limits.

Versions of MuJoCo differ in the tables of actuators: newer ones let an actuator have several
controls, and give it armature and damping.
"""

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from kinetree.errors import ParseError
from kinetree.files.description.friction import Friction
from kinetree.files.description.mjcf.compile import Compiled
from kinetree.files.description.records import Limits

FREE, BALL = 0, 1  # MuJoCo's mjtJoint; sliders and hinges follow
# MuJoCo's mjtDisableBit: what <flag name="disable"/> of <option> switches off
DISABLE = {
    "CONSTRAINT": 1, "EQUALITY": 2, "FRICTIONLOSS": 4, "SPRING": 32, "DAMPER": 64, "GRAVITY": 128,
}  # fmt: skip


@dataclass(frozen=True)
class Drive:
    """The fields of a JointDescription that concern its drive, and the place of its zero."""

    offset: float = 0
    friction: Friction = Friction()
    armature: float = 0
    limits: Limits = Limits()


@dataclass(frozen=True)
class Actuator:
    """An actuator, its armature and damping before the gear.

    joint: number of the one hinge or slide that it acts on; None for anything else. effort: largest
    force at the joint of a plain motor, whose force is a constant times its control; None for
    other laws of force.
    """

    joint: int | None
    ratio: float
    effort: float | None
    armature: float
    damping: float


def disabled(compiled: Compiled, *flags: str) -> bool:
    """Return True if <option> disables one of these."""
    return any(int(compiled.model.opt.disableflags) & DISABLE[flag] for flag in flags)


def actuators(compiled: Compiled) -> list[Actuator]:
    """All actuators, in MuJoCo's order."""
    model, found = compiled.model, []
    count = len(model.actuator_trntype)  # not nu: one actuator may have several controls
    outputs = getattr(model, "actuator_outadr", range(count))
    controls = getattr(model, "actuator_ctrladr", range(count))
    armature = getattr(model, "actuator_armature", np.zeros(count))
    damping = getattr(model, "actuator_damping", np.zeros(count))
    for a in range(count):
        j, ratio = int(model.actuator_trnid[a, 0]), float(model.actuator_gear[int(outputs[a]), 0])
        on_joint = int(model.actuator_trntype[a]) in (0, 1) and int(model.jnt_type[j]) > BALL
        plain = (model.actuator_gaintype, model.actuator_biastype, model.actuator_dyntype)
        effort = None
        if on_joint and not any(int(kind[a]) for kind in plain):
            force, control = inf, int(controls[a])
            if model.actuator_forcelimited[a]:
                force = float(np.abs(model.actuator_forcerange[a]).max())
            if model.actuator_ctrllimited[control]:
                gain = abs(float(model.actuator_gainprm[a, 0]))
                force = min(force, gain * float(np.abs(model.actuator_ctrlrange[control]).max()))
            effort = force * abs(ratio) if ratio else 0.0  # not inf * 0, which is NaN
        inertia, friction = float(armature[a]), float(damping[a])
        found.append(Actuator(j if on_joint else None, ratio, effort, inertia, friction))
    return found


def motor_efforts(compiled: Compiled) -> list[float]:
    """Largest force of the plain motors of each joint together; infinite where there is none."""
    bounds: dict[int, float] = {}
    for x in actuators(compiled):
        if x.joint is not None and x.effort is not None:
            bounds[x.joint] = bounds.get(x.joint, 0.0) + x.effort
    return [bounds.get(j, inf) for j in range(compiled.model.njnt)]


def joint_drives(compiled: Compiled, where: dict[int, str]) -> list[Drive]:
    """One entry per joint. MuJoCo counts q from `ref`: the joint stands at q - ref.

    where: file:line of the joints, by number.
    """
    model, efforts, result = compiled.model, motor_efforts(compiled), []
    armature, damping = [0.0] * model.njnt, [0.0] * model.njnt  # of the motors, seen at the joints
    for x in actuators(compiled):
        for total, value in ((armature, x.armature), (damping, x.damping)):
            if x.joint is not None and value:  # the square of a huge ratio times 0 would be NaN
                total[x.joint] += x.ratio * x.ratio * value
    for j, name in enumerate(compiled.joint_names):
        i, type = int(model.jnt_dofadr[j]), int(model.jnt_type[j])
        values = {
            "damping": float(model.dof_damping[i]) + damping[j],
            "frictionloss": float(model.dof_frictionloss[i]),
            "armature": float(model.dof_armature[i]) + armature[j],
        }
        if disabled(compiled, "DAMPER"):
            values["damping"] = 0.0
        if disabled(compiled, "FRICTIONLOSS", "CONSTRAINT"):
            values["frictionloss"] = 0.0
        for key, value in values.items():
            if not (isfinite(value) and value >= 0):
                raise ParseError(
                    f"{where.get(j, 'model')}: {key} of joint {name!r} is {value:g}; expected a "
                    "finite number >= 0."
                )
        result.append(
            Drive(
                offset=-float(model.qpos0[int(model.jnt_qposadr[j])]) if type > BALL else 0,
                friction=Friction(values["damping"], values["frictionloss"]),
                armature=values["armature"],
                limits=_limits(compiled, j, efforts[j]),
            )
        )
    return result


def _limits(compiled: Compiled, j: int, effort: float) -> Limits:
    model = compiled.model
    if model.jnt_actfrclimited[j]:
        effort = min(effort, float(np.abs(model.jnt_actfrcrange[j]).max()))
    if not model.jnt_limited[j] or int(model.jnt_type[j]) <= BALL:
        return Limits(effort=effort)
    lower, upper = (float(x) for x in model.jnt_range[j])
    return Limits(lower, upper, effort=effort)
