"""Actuators of a compiled MJCF model: affine laws of force on hinges, slides and fixed tendons.

MuJoCo's compiler turns <motor>, <position>, <velocity>, <damper> and <intvelocity> into the numbers
of <general>, with defaults, classes, damping ratios and inherited ranges resolved; these are read.
The length of an actuator on a joint is gear times its position, and on a <fixed> tendon gear times
the sum of coefficient times position of its joints.

Muscles, PID and DC motors, adhesion, plugins, user functions, and transmissions to sites, bodies,
slider-cranks and spatial tendons are left out; `notes` names them.
"""

from math import inf, isfinite

import numpy as np

from kinetree.base.arrays import Array
from kinetree.files.description.actuators import LAGS, UNLIMITED, Actuator, Coefficients, Range
from kinetree.files.description.mjcf.compile import Compiled, unused
from kinetree.files.description.mjcf.drives import BALL
from kinetree.files.description.mjcf.springs import ALONG_JOINTS, coefficients, tendon_name

# in the order of MuJoCo's mjtTrn, mjtDyn, mjtGain and mjtBias
TRANSMISSIONS = ("joint", "joint in the parent's frame", "slider-crank", "tendon", "site", "body")
JOINT, IN_PARENT, TENDON = 0, 1, 3
DYNAMICS = ("none", "integrator", "filter", "filterexact")
LAWS = ("a constant", "affine")  # of gain; none or affine of bias


def actuators_of(compiled: Compiled) -> dict[str, Actuator]:
    """Actuators by name, those that are understood; without name, "#a<id>"."""
    names = actuator_names(compiled)
    return {names[a]: _actuator(compiled, a) for a in _read(compiled)}


def actuator_names(compiled: Compiled) -> list[str]:
    """Names of all actuators; one without name is "#a<id>"."""
    found = [compiled.model.actuator(a).name for a in range(_count(compiled))]
    taken = {name for name in found if name}
    return [name or unused(f"#a{a}", taken) for a, name in enumerate(found)]


def joint_ranges(compiled: Compiled) -> dict[int, Range]:
    """Least and most force of all actuators of a joint together, where it has actuators."""
    model, found = compiled.model, dict[int, Range]()
    for a in _read(compiled):
        for j in _joints(compiled, a):
            if model.jnt_actfrclimited[j]:
                low, high = (float(x) for x in model.jnt_actfrcrange[j])
                found[j] = low, high
    return found


def driven_tendons(compiled: Compiled) -> set[int]:
    """Tendons with an actuator that is read."""
    model = compiled.model
    return {
        int(model.actuator_trnid[a, 0])
        for a in _read(compiled)
        if int(model.actuator_trntype[a]) == TENDON
    }


def unread_actuators(compiled: Compiled) -> list[str]:
    """Actuators that are left out, each with the reason in brackets."""
    if _off(compiled):
        return []
    names = actuator_names(compiled)
    reasons = [(names[a], _reason(compiled, a)) for a in range(_count(compiled))]
    return [f"{name} ({reason})" for name, reason in reasons if reason]


def actuation_is_off(compiled: Compiled) -> bool:
    """Return True if <option> disables actuators that the file has."""
    return bool(_count(compiled)) and _off(compiled)


def _count(compiled: Compiled) -> int:
    return len(compiled.model.actuator_trntype)  # not nu: one actuator may have several controls


def _read(compiled: Compiled) -> list[int]:
    if _off(compiled):
        return []
    return [a for a in range(_count(compiled)) if not _reason(compiled, a)]


def _off(compiled: Compiled) -> bool:
    return _disables(compiled, "ACTUATION")


def _disables(compiled: Compiled, flag: str) -> bool:
    bit = int(getattr(compiled.mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
    return bool(int(compiled.model.opt.disableflags) & bit)


def _reason(compiled: Compiled, a: int) -> str:
    """Why an actuator is left out; empty if it is read."""
    model = compiled.model
    kind = int(model.actuator_trntype[a])
    owner = TRANSMISSIONS[kind] if kind < len(TRANSMISSIONS) else "another transmission"
    laws = {
        "dynamics": (int(model.actuator_dyntype[a]), len(DYNAMICS), compiled.mujoco.mjtDyn),
        "gain": (int(model.actuator_gaintype[a]), len(LAWS), compiled.mujoco.mjtGain),
        "bias": (int(model.actuator_biastype[a]), len(LAWS), compiled.mujoco.mjtBias),
    }
    if int(getattr(model, "actuator_plugin", np.full(_count(compiled), -1))[a]) >= 0:
        return "plugin"
    for word, (number, known, enum) in laws.items():
        if number >= known:
            return f"{word} {enum(number).name.partition('_')[2].lower()}"
    if kind not in (JOINT, IN_PARENT, TENDON):
        return f"on a {owner}"
    if kind == TENDON and not _is_fixed(compiled, int(model.actuator_trnid[a, 0])):
        return "on a spatial tendon"
    if kind != TENDON and int(model.jnt_type[int(model.actuator_trnid[a, 0])]) <= BALL:
        return "on a ball or free joint"
    return _reason_of_numbers(compiled, a)


def _reason_of_numbers(compiled: Compiled, a: int) -> str:
    """Why an actuator of a known kind is left out."""
    model = compiled.model
    several = [getattr(model, f"actuator_{x}num", None) for x in ("ctrl", "out")]
    if any(counts is not None and int(counts[a]) != 1 for counts in several):
        return "several controls or outputs"
    group = int(model.actuator_group[a])
    if 0 <= group <= 30 and int(model.opt.disableactuator) >> group & 1:
        return f"its group {group} is disabled"
    if int(model.actuator_actnum[a]) > 1:
        return "several activations"
    if DYNAMICS[int(model.actuator_dyntype[a])] in LAGS and not model.actuator_dynprm[a, 0] > 0:
        return "a time constant that is not positive"
    if int(model.actuator_trntype[a]) == TENDON:
        t = int(model.actuator_trnid[a, 0])
        if model.tendon_actfrclimited[t]:
            return f"tendon {tendon_name(compiled, t)} has an actuatorfrcrange"
    history = getattr(model, "actuator_history", None)
    if history is not None and _delay(compiled, a) and int(history[a][1]) != 0:
        return "interpolated delay"
    if not any(_gears(compiled, a).values()):
        return "gear 0"
    prm = (model.actuator_gainprm[a, :3], model.actuator_biasprm[a, :3], [_delay(compiled, a)])
    if not np.isfinite(np.concatenate(prm)).all():
        return "numbers that are not finite"
    return ""


def _is_fixed(compiled: Compiled, t: int) -> bool:
    """Return True for a <fixed> tendon, a sum of joint positions."""
    model = compiled.model
    return int(model.wrap_type[int(model.tendon_adr[t])]) == ALONG_JOINTS


def _delay(compiled: Compiled, a: int) -> float:
    delays = getattr(compiled.model, "actuator_delay", None)
    return 0.0 if delays is None else float(delays[a])


def _joints(compiled: Compiled, a: int) -> list[int]:
    """Numbers of the joints that an actuator drives."""
    names = compiled.joint_names
    return [names.index(name) for name in _gears(compiled, a)]


def _gears(compiled: Compiled, a: int) -> dict[str, float]:
    """Gear of each joint, by name."""
    model = compiled.model
    outputs = getattr(model, "actuator_outadr", range(_count(compiled)))
    gear = float(model.actuator_gear[int(outputs[a]), 0])
    k = int(model.actuator_trnid[a, 0])
    if int(model.actuator_trntype[a]) != TENDON:
        return {compiled.joint_names[k]: gear}
    return {name: gear * c for name, c in coefficients(compiled, k).items()}


def _actuator(compiled: Compiled, a: int) -> Actuator:
    model = compiled.model
    dynamics = DYNAMICS[int(model.actuator_dyntype[a])]
    affine = int(model.actuator_gaintype[a]), int(model.actuator_biastype[a])
    gain, bias = (_three(x[a]) for x in (model.actuator_gainprm, model.actuator_biasprm))
    controls = getattr(model, "actuator_ctrladr", range(_count(compiled)))
    u = int(controls[a])
    clamped = bool(model.actuator_ctrllimited[u]) and not _disables(compiled, "CLAMPCTRL")
    return Actuator(
        {name: gear for name, gear in _gears(compiled, a).items() if gear},
        gain if affine[0] else (gain[0], 0.0, 0.0),
        bias if affine[1] else (0.0, 0.0, 0.0),
        dynamics=dynamics,
        time_constant=float(model.actuator_dynprm[a, 0]) if dynamics in LAGS else 0.0,
        delay=_delay(compiled, a),
        early=bool(model.actuator_actearly[a]) and dynamics != "none",
        control_range=_range(model.actuator_ctrlrange[u]) if clamped else UNLIMITED,
        force_range=_range(model.actuator_forcerange[a])
        if model.actuator_forcelimited[a]
        else UNLIMITED,
        activation_range=_range(model.actuator_actrange[a])
        if model.actuator_actlimited[a] and dynamics != "none"
        else UNLIMITED,
    )


def _three(prm: Array) -> Coefficients:
    a, b, c = (float(x) for x in prm[:3])
    return a, b, c


def _range(values: Array) -> Range:
    low, high = (float(x) for x in values)
    return (low if isfinite(low) else -inf), (high if isfinite(high) else inf)
