"""Drives of the joints of a compiled MJCF model: friction, armature, limits."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from kinetree.description.records import Friction, Limits
from kinetree.errors import ParseError

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


def joint_drives(model: Any, names: list[str], where: dict[int, str]) -> list[Drive]:
    """One entry per joint. MuJoCo counts q from `ref`: the joint stands at q - ref.

    where: file:line of the joints, by number.
    """
    reflected = {key: _reflected(model, f"actuator_{key}") for key in ("armature", "damping")}
    efforts = motor_efforts(model)
    result: list[Drive] = []
    for j, name in enumerate(names):
        i, type = int(model.jnt_dofadr[j]), int(model.jnt_type[j])
        values = {
            "damping": float(model.dof_damping[i]) + reflected["damping"][j],
            "frictionloss": float(model.dof_frictionloss[i]),
            "armature": float(model.dof_armature[i]) + reflected["armature"][j],
        }
        if disabled(model, "DAMPER"):
            values["damping"] = 0.0
        if disabled(model, "FRICTIONLOSS", "CONSTRAINT"):
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
                limits=_limits(model, j, efforts[j]),
            )
        )
    return result


def disabled(model: Any, *flags: str) -> bool:
    """Return True if <option> disables one of these."""
    return any(int(model.opt.disableflags) & DISABLE[flag] for flag in flags)


def is_motor(model: Any, a: int) -> bool:
    """Return True for a plain motor on a hinge or slide: force = a constant times its control."""
    return (
        on_joint(model, a)
        and int(model.actuator_gaintype[a]) == 0
        and int(model.actuator_biastype[a]) == 0
        and int(model.actuator_dyntype[a]) == 0
    )


def on_joint(model: Any, a: int) -> bool:
    """Return True if the actuator acts on one hinge or slide."""
    return int(model.actuator_trntype[a]) in (0, 1) and (
        int(model.jnt_type[int(model.actuator_trnid[a, 0])]) > BALL
    )


def actuator_count(model: Any) -> int:
    """Number of actuators; one may have several controls, so this is not always nu."""
    return len(model.actuator_trntype)


def gear(model: Any, a: int) -> float:
    """Transmission ratio of an actuator on one joint."""
    return float(model.actuator_gear[_address(model, "actuator_outadr", a), 0])


def _address(model: Any, key: str, a: int) -> int:
    """Row of actuator a in a table of controls or outputs; older versions have one row each."""
    table = getattr(model, key, None)
    return a if table is None else int(table[a])


def motor_efforts(model: Any) -> list[float]:
    """Largest force each joint's plain motors can give together; infinite where none bounds it."""
    bounds: dict[int, float] = {}
    for a in range(actuator_count(model)):
        if not is_motor(model, a):
            continue
        ratio, gain = abs(gear(model, a)), abs(float(model.actuator_gainprm[a, 0]))
        control = _address(model, "actuator_ctrladr", a)
        force = inf
        if model.actuator_forcelimited[a]:
            force = float(np.abs(model.actuator_forcerange[a]).max())
        if model.actuator_ctrllimited[control]:
            force = min(force, gain * float(np.abs(model.actuator_ctrlrange[control]).max()))
        j = int(model.actuator_trnid[a, 0])
        bounds[j] = bounds.get(j, 0.0) + (force * ratio if ratio else 0.0)
    return [bounds.get(j, inf) for j in range(model.njnt)]


def _limits(model: Any, j: int, effort: float) -> Limits:
    if model.jnt_actfrclimited[j]:
        effort = min(effort, float(np.abs(model.jnt_actfrcrange[j]).max()))
    if not model.jnt_limited[j] or int(model.jnt_type[j]) <= BALL:
        return Limits(effort=effort)
    lower, upper = (float(x) for x in model.jnt_range[j])
    return Limits(lower, upper, effort=effort)


def _reflected(model: Any, key: str) -> list[float]:
    """Armature or damping of the motors seen at each joint, through the gear: ratio^2 times."""
    result = [0.0] * model.njnt
    values = getattr(model, key, ())  # older versions have no such data
    for a in range(len(values)):
        if values[a] and on_joint(model, a):
            ratio = gear(model, a)
            result[int(model.actuator_trnid[a, 0])] += ratio * ratio * float(values[a])
    return result
