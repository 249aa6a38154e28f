"""Forces at the joints of a compiled MJCF model: friction, armature, limits, springs, actuators.

MuJoCo pulls a joint towards `springref`, and a <fixed> tendon, whose length is the sum of
coefficient times position of its joints, towards `springlength`. Positions count as in q, which a
joint's `ref` shifts: a spring of `springref` 0 rests at q = 0, wherever the body is drawn. Springs
of ball and free joints, of tendons along a path (<spatial>) and with a range of slack are left out;
of springs that are not linear, the linear part is kept. Armature, friction and damping of <fixed>
tendons become motors.

MuJoCo's compiler turns <motor>, <position>, <velocity>, <damper> and <intvelocity> into the numbers
of <general>, with defaults, classes, damping ratios and inherited ranges resolved; these are read.
The length of an actuator on a joint is gear times its position, and on a tendon gear times the
length of the tendon. Muscles, PID and DC motors, adhesion, plugins, user functions, and
transmissions to sites, bodies, slider-cranks and tendons that wrap around geoms are left out.
`notes` names everything that is.
"""

from dataclasses import dataclass, replace
from math import inf, isfinite

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import ParseError
from kinetree.files.description.actuators import LAGS, UNLIMITED, Actuator, Coefficients, Range
from kinetree.files.description.friction import Friction
from kinetree.files.description.mjcf.compile import Compiled, unused
from kinetree.files.description.records import Limits, Motor, Spring

FREE, BALL = 0, 1  # MuJoCo's mjtJoint; sliders and hinges follow
ALONG_JOINTS, THROUGH_SITE = 1, 3  # MuJoCo's mjWRAP_JOINT and mjWRAP_SITE
# in the order of MuJoCo's mjtTrn, mjtDyn, mjtGain and mjtBias
TRANSMISSIONS = ("joint", "joint in the parent's frame", "slider-crank", "tendon", "site", "body")
ON_JOINT, TENDON = (0, 1), 3
DYNAMICS = ("none", "integrator", "filter", "filterexact")
LAWS = ("a constant", "affine")  # of gain; none or affine of bias


def disabled(compiled: Compiled, *flags: str) -> bool:
    """Return True if <option> disables one of these, named as in MuJoCo's mjtDisableBit."""
    bits = compiled.mujoco.mjtDisableBit
    off = int(compiled.model.opt.disableflags)
    return any(off & int(getattr(bits, f"mjDSBL_{flag}")) for flag in flags)


# ----- friction, armature and limits


@dataclass(frozen=True)
class JointForces:
    """The fields of a JointDescription that concern its forces, and the place of its zero."""

    offset: float = 0
    friction: Friction = Friction()
    armature: float = 0
    limits: Limits = Limits()


@dataclass(frozen=True)
class JointMotor:
    """An actuator as a joint sees it, its armature and damping before the gear.

    joint: number of the one hinge or slide that it acts on; None for anything else. effort: largest
    force at the joint of a plain motor, whose force is a constant times its control; None for
    other laws of force.
    """

    joint: int | None
    ratio: float
    effort: float | None
    armature: float
    damping: float


def joint_motors(compiled: Compiled) -> list[JointMotor]:
    """All actuators, in MuJoCo's order."""
    model, motors = compiled.model, list[JointMotor]()
    for a in range(_count(compiled)):
        j, ratio = int(model.actuator_trnid[a, 0]), _gear(compiled, a)
        on_joint = int(model.actuator_trntype[a]) in ON_JOINT and int(model.jnt_type[j]) > BALL
        laws = (model.actuator_gaintype, model.actuator_biastype, model.actuator_dyntype)
        effort = None
        if on_joint and not any(int(kind[a]) for kind in laws):
            force, u = inf, int(model.actuator_ctrladr[a])
            if model.actuator_forcelimited[a]:
                force = float(np.abs(model.actuator_forcerange[a]).max())
            if model.actuator_ctrllimited[u]:
                gain = abs(float(model.actuator_gainprm[a, 0]))
                force = min(force, gain * float(np.abs(model.actuator_ctrlrange[u]).max()))
            effort = force * abs(ratio) if ratio else 0.0  # not inf * 0, which is NaN
        inertia, damping = float(model.actuator_armature[a]), float(model.actuator_damping[a])
        motors.append(JointMotor(j if on_joint else None, ratio, effort, inertia, damping))
    return motors


def motor_efforts(compiled: Compiled) -> list[float]:
    """Largest force of the plain motors of each joint together; infinite where there is none."""
    bounds: dict[int, float] = {}
    for x in joint_motors(compiled):
        if x.joint is not None and x.effort is not None:
            bounds[x.joint] = bounds.get(x.joint, 0.0) + x.effort
    return [bounds.get(j, inf) for j in range(compiled.model.njnt)]


def joint_forces(compiled: Compiled, where: dict[int, str]) -> list[JointForces]:
    """One entry per joint. MuJoCo counts q from `ref`: the joint stands at q - ref.

    where: file:line of the joints, by number.
    """
    model, efforts, result = compiled.model, motor_efforts(compiled), []
    armature, damping = [0.0] * model.njnt, [0.0] * model.njnt  # of the motors, seen at the joints
    for x in joint_motors(compiled):
        for total, value in ((armature, x.armature), (damping, x.damping)):
            if x.joint is not None and value:  # the square of a huge ratio times 0 would be NaN
                total[x.joint] += x.ratio * x.ratio * value
    for j, name in enumerate(compiled.joint_names):
        i, type = int(model.jnt_dofadr[j]), int(model.jnt_type[j])
        values = {
            "damping": float(model.dof_damping[i]) + damping[j],
            "frictionloss": float(model.dof_frictionloss[i]),
            "armature": 0.0 if type == FREE else float(model.dof_armature[i]) + armature[j],
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
            JointForces(
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


# ----- springs


def springs_of(compiled: Compiled) -> dict[str, Spring]:
    """Springs and dampers by the names of their joints and tendons, as far as <option> has them."""
    model, names, off = compiled.model, compiled.joint_names, disabled(compiled, "SPRING")
    springs: dict[str, Spring] = {}
    for j, name in enumerate(names):
        stiffness = 0.0 if off else float(model.jnt_stiffness[j])
        if stiffness and int(model.jnt_type[j]) > BALL:
            rest = float(model.qpos_spring[int(model.jnt_qposadr[j])])
            springs[name] = _spring(stiffness, rest, None, f"joint {name!r}", compiled)
    taken = set(names)
    for t in filter(lambda t: is_spring(compiled, t), range(model.ntendon)):
        name, along = tendon_name(compiled, t), _is_fixed(compiled, t)
        stiffness = 0.0 if off else float(model.tendon_stiffness[t])
        low, high = (float(x) if stiffness else 0.0 for x in model.tendon_lengthspring[t])
        key = unused(f"tendon/{name}" if name in taken else name, taken)
        ends = coefficients(compiled, t) if along else None
        rest, play = low if low == high else (low + high) / 2, high - low
        spring = _spring(stiffness, rest, ends, f"tendon {name!r}", compiled)
        damping = 0.0 if disabled(compiled, "DAMPER") else float(model.tendon_damping[t])
        points = None if along else path_points(compiled, t)
        springs[key] = replace(spring, damping=damping, points=points, play=play)
    return springs


def _spring(
    stiffness: float, rest: float, joints: dict[str, float] | None, name: str, compiled: Compiled
) -> Spring:
    if not (isfinite(stiffness) and stiffness >= 0 and isfinite(rest)):
        raise ParseError(
            f"{compiled.nodes[0].file}: {name} has stiffness {stiffness:g} and rests at {rest:g}; "
            "expected finite numbers, and a stiffness >= 0."
        )
    return Spring(stiffness, rest, joints)


def is_spring(compiled: Compiled, t: int) -> bool:
    """Return True if tendon t is a spring between joints or points that is read."""
    low, high = (float(x) for x in compiled.model.tendon_lengthspring[t])
    stiff = bool(compiled.model.tendon_stiffness[t]) and not disabled(compiled, "SPRING")
    damped = bool(compiled.model.tendon_damping[t]) and not disabled(compiled, "DAMPER")
    ends = coefficients(compiled, t) if _is_fixed(compiled, t) else path_points(compiled, t)
    # within a dead band, dampers act in MuJoCo and not here
    return (low == high or not damped if stiff else damped) and bool(ends)


def path_points(compiled: Compiled, t: int) -> list[tuple[str, tuple[float, ...]]]:
    """Body and position of each site of a <spatial> tendon.

    None if it passes more than sites, or has all of them on one body.
    """
    points = _sites(compiled, t)
    return points if len({name for name, _ in points}) > 1 else []


def is_on_one_body(compiled: Compiled, t: int) -> bool:
    """Return True for a <spatial> tendon whose sites are on one body: its length is constant."""
    return len({name for name, _ in _sites(compiled, t)}) == 1


def _sites(compiled: Compiled, t: int) -> list[tuple[str, tuple[float, ...]]]:
    """Body and position of each site of a <spatial> tendon; none if it passes more than sites."""
    model, first = compiled.model, int(compiled.model.tendon_adr[t])
    points: list[tuple[str, tuple[float, ...]]] = []
    for w in range(first, first + int(model.tendon_num[t])):
        if int(model.wrap_type[w]) != THROUGH_SITE:
            return []
        site = int(model.wrap_objid[w])
        body = compiled.body_names[int(model.site_bodyid[site])]
        points.append((body, tuple(map(float, model.site_pos[site]))))
    return points


def _is_fixed(compiled: Compiled, t: int) -> bool:
    """Return True for a <fixed> tendon, a sum of joint positions."""
    model = compiled.model
    return int(model.wrap_type[int(model.tendon_adr[t])]) == ALONG_JOINTS


def coefficients(compiled: Compiled, t: int) -> dict[str, float]:
    """Coefficients of the joints of a <fixed> tendon that are not zero, by name."""
    model, sums = compiled.model, dict[str, float]()
    first = int(model.tendon_adr[t])
    for w in range(first, first + int(model.tendon_num[t])):
        name = compiled.joint_names[int(model.wrap_objid[w])]
        sums[name] = sums.get(name, 0.0) + float(model.wrap_prm[w])
    return {name: c for name, c in sums.items() if c}


def tendon_name(compiled: Compiled, t: int) -> str:
    """Name of a tendon; one without name is "tendon <id>"."""
    return compiled.model.tendon(t).name or f"tendon {t}"


def unread_joint_springs(compiled: Compiled) -> list[str]:
    """Ball and free joints that have a spring."""
    if disabled(compiled, "SPRING"):
        return []
    model = compiled.model
    return [
        name
        for j, name in enumerate(compiled.joint_names)
        if int(model.jnt_type[j]) <= BALL and (model.jnt_stiffness[j] or _is_curved(compiled, j))
    ]


def curved_springs(compiled: Compiled) -> list[str]:
    """Hinges, slides and tendons whose spring is not linear, or yields."""
    if disabled(compiled, "SPRING"):
        return []
    model, names = compiled.model, compiled.joint_names
    joints = [j for j in range(model.njnt) if int(model.jnt_type[j]) > BALL]
    tendons = [t for t in range(model.ntendon) if is_spring(compiled, t)]
    return [
        *(names[j] for j in joints if _is_curved(compiled, j)),
        *(tendon_name(compiled, t) for t in tendons if _is_curved(compiled, t, "tendon")),
    ]


def _is_curved(compiled: Compiled, k: int, kind: str = "jnt") -> bool:
    """Return True for a polynomial or plastic spring."""
    poly, stiffness, springyield = (
        getattr(compiled.model, f"{kind}_{x}")[k]
        for x in ("stiffnesspoly", "stiffness", "springyield")
    )
    return bool(poly.any()) or bool(stiffness and springyield)


def has_curved_damping(compiled: Compiled, kind: str, k: int) -> bool:
    """Return True if the damping of a "dof", "actuator" or "tendon" is not linear in the speed."""
    poly = getattr(compiled.model, f"{kind}_dampingpoly")[k]
    return bool(poly.any()) and not disabled(compiled, "DAMPER")


def has_other_effects(compiled: Compiled, t: int) -> bool:
    """Return True if tendon t changes the motion by more than a spring or motor that is read."""
    others = ["limited"]
    others += [] if is_motor(compiled, t) else ["frictionloss", "armature"]
    others += [] if is_spring(compiled, t) or is_motor(compiled, t) else ["damping"]
    slack = not is_spring(compiled, t) and not disabled(compiled, "SPRING")
    others += ["stiffness"] if slack else []
    acts = any(getattr(compiled.model, f"tendon_{x}")[t] for x in others)
    curved = slack and _is_curved(compiled, t, "tendon")
    return acts or curved or has_curved_damping(compiled, "tendon", t)


# ----- motors of coupled joints


def motors_of(compiled: Compiled) -> dict[str, Motor]:
    """Armature, friction and damping of <fixed> tendons, by name; damping of springs is theirs."""
    motors: dict[str, Motor] = {}
    for t in filter(lambda t: is_motor(compiled, t), range(compiled.model.ntendon)):
        values = _motor_values(compiled, t)
        name = tendon_name(compiled, t)
        for key, value in values.items():
            if not (isfinite(value) and value >= 0):
                raise ParseError(
                    f"{compiled.nodes[0].file}: {key} of tendon {name!r} is {value:g}; expected a "
                    "finite number >= 0."
                )
        friction = Friction(values["damping"], values["frictionloss"])
        motors[name] = Motor(coefficients(compiled, t), values["armature"], friction)
    return motors


def is_motor(compiled: Compiled, t: int) -> bool:
    """Return True if tendon t is a sum of hinges and slides with inertia or friction."""
    names, kinds = compiled.joint_names, compiled.model.jnt_type
    ends = coefficients(compiled, t) if _is_fixed(compiled, t) else {}
    plain = all(int(kinds[names.index(name)]) > BALL for name in ends)
    return bool(ends) and plain and any(_motor_values(compiled, t).values())


def _motor_values(compiled: Compiled, t: int) -> dict[str, float]:
    keys = ("armature", "damping", "frictionloss")
    values = {key: float(getattr(compiled.model, f"tendon_{key}")[t]) for key in keys}
    if is_spring(compiled, t) or disabled(compiled, "DAMPER"):
        values["damping"] = 0.0
    if disabled(compiled, "FRICTIONLOSS", "CONSTRAINT"):
        values["frictionloss"] = 0.0
    return values


# ----- actuators


def actuators_of(compiled: Compiled) -> dict[str, Actuator]:
    """Actuators by name, those that are understood; without name, "#a<id>"."""
    names = _actuator_names(compiled)
    return {names[a]: _actuator(compiled, a) for a in _understood(compiled)}


def joint_ranges(compiled: Compiled) -> dict[int, Range]:
    """Least and most force of all actuators of a joint together, where it has actuators."""
    model, ranges = compiled.model, dict[int, Range]()
    for a in _understood(compiled):
        for j in map(compiled.joint_names.index, _gears(compiled, a)):
            if model.jnt_actfrclimited[j]:
                low, high = (float(x) for x in model.jnt_actfrcrange[j])
                ranges[j] = low, high
    return ranges


def driven_tendons(compiled: Compiled) -> set[int]:
    """Tendons with an actuator that is read."""
    model = compiled.model
    on_tendon = [a for a in _understood(compiled) if int(model.actuator_trntype[a]) == TENDON]
    return {int(model.actuator_trnid[a, 0]) for a in on_tendon}


def unread_actuators(compiled: Compiled) -> list[str]:
    """Actuators that are left out, each with the reason in brackets."""
    if disabled(compiled, "ACTUATION"):
        return []
    reasons = [(name, _reason(compiled, a)) for a, name in enumerate(_actuator_names(compiled))]
    return [f"{name} ({reason})" for name, reason in reasons if reason]


def actuation_is_off(compiled: Compiled) -> bool:
    """Return True if <option> disables actuators that the file has."""
    return bool(_count(compiled)) and disabled(compiled, "ACTUATION")


def _actuator_names(compiled: Compiled) -> list[str]:
    names = [compiled.model.actuator(a).name for a in range(_count(compiled))]
    taken = {name for name in names if name}
    return [name or unused(f"#a{a}", taken) for a, name in enumerate(names)]


def _count(compiled: Compiled) -> int:
    return len(compiled.model.actuator_trntype)  # not nu: one actuator may have several controls


def _understood(compiled: Compiled) -> list[int]:
    """Numbers of the actuators that are read."""
    if disabled(compiled, "ACTUATION"):
        return []
    return [a for a in range(_count(compiled)) if not _reason(compiled, a)]


def _reason(compiled: Compiled, a: int) -> str:
    """Why an actuator is left out; empty if it is read."""
    model, mujoco = compiled.model, compiled.mujoco
    if int(model.actuator_plugin[a]) >= 0:
        return "plugin"
    laws = {
        "dynamics": (int(model.actuator_dyntype[a]), len(DYNAMICS), mujoco.mjtDyn),
        "gain": (int(model.actuator_gaintype[a]), len(LAWS), mujoco.mjtGain),
        "bias": (int(model.actuator_biastype[a]), len(LAWS), mujoco.mjtBias),
    }
    for word, (number, known, enum) in laws.items():
        if number >= known:
            return f"{word} {enum(number).name.partition('_')[2].lower()}"
    kind, k = int(model.actuator_trntype[a]), int(model.actuator_trnid[a, 0])
    if kind not in (*ON_JOINT, TENDON):
        is_known = kind < len(TRANSMISSIONS)
        return f"on a {TRANSMISSIONS[kind] if is_known else 'another transmission'}"
    if kind == TENDON and not (_is_fixed(compiled, k) or path_points(compiled, k)):
        return "on a spatial tendon that is not a path through sites of several bodies"
    if kind != TENDON and int(model.jnt_type[k]) <= BALL:
        return "on a ball or free joint"
    return _reason_of_numbers(compiled, a)


def _reason_of_numbers(compiled: Compiled, a: int) -> str:
    """Why an actuator of a known kind is left out."""
    model = compiled.model
    if int(model.actuator_ctrlnum[a]) != 1 or int(model.actuator_outnum[a]) != 1:
        return "several controls or outputs"
    group = int(model.actuator_group[a])
    if 0 <= group <= 30 and int(model.opt.disableactuator) >> group & 1:
        return f"its group {group} is disabled"
    if int(model.actuator_actnum[a]) > 1:
        return "several activations"
    if DYNAMICS[int(model.actuator_dyntype[a])] in LAGS and not model.actuator_dynprm[a, 0] > 0:
        return "a time constant that is not positive"
    t = int(model.actuator_trnid[a, 0])
    if int(model.actuator_trntype[a]) == TENDON and model.tendon_actfrclimited[t]:
        return f"tendon {tendon_name(compiled, t)} has an actuatorfrcrange"
    delay = float(model.actuator_delay[a])
    if delay and int(model.actuator_history[a][1]) != 0:
        return "interpolated delay"
    spatial = _path(compiled, a) is not None
    if not (_gear(compiled, a) if spatial else any(_gears(compiled, a).values())):
        return "gear 0"
    numbers = (model.actuator_gainprm[a, :3], model.actuator_biasprm[a, :3], [delay])
    return "" if np.isfinite(np.concatenate(numbers)).all() else "numbers that are not finite"


def _gear(compiled: Compiled, a: int) -> float:
    model = compiled.model
    return float(model.actuator_gear[int(model.actuator_outadr[a]), 0])


def _gears(compiled: Compiled, a: int) -> dict[str, float]:
    """Gear of each joint that an actuator drives, by name."""
    k, gear = int(compiled.model.actuator_trnid[a, 0]), _gear(compiled, a)
    if int(compiled.model.actuator_trntype[a]) != TENDON:
        return {compiled.joint_names[k]: gear}
    if not _is_fixed(compiled, k):
        return {}
    return {name: gear * c for name, c in coefficients(compiled, k).items()}


def _path(compiled: Compiled, a: int) -> list[tuple[str, tuple[float, ...]]] | None:
    """Points of the spatial tendon that an actuator acts on; None if it acts on joints."""
    model, t = compiled.model, int(compiled.model.actuator_trnid[a, 0])
    along = int(model.actuator_trntype[a]) == TENDON and not _is_fixed(compiled, t)
    return path_points(compiled, t) if along else None


def _actuator(compiled: Compiled, a: int) -> Actuator:
    model, points = compiled.model, _path(compiled, a)
    dynamics = DYNAMICS[int(model.actuator_dyntype[a])]
    affine = int(model.actuator_gaintype[a]), int(model.actuator_biastype[a])
    gain, bias = (_three(x[a]) for x in (model.actuator_gainprm, model.actuator_biasprm))
    u = int(model.actuator_ctrladr[a])
    clamped = model.actuator_ctrllimited[u] and not disabled(compiled, "CLAMPCTRL")
    has_state = dynamics != "none"
    force_range = _range(model.actuator_forcerange[a], model.actuator_forcelimited[a])
    if points is not None:  # of a path, the force counts behind the gear, and the length is its own
        gear = _gear(compiled, a)
        gain, bias = ((gear * x, gear * gear * y, gear * gear * z) for x, y, z in (gain, bias))
        low, high = sorted(gear * x for x in force_range)
        force_range = low, high
    return Actuator(
        {name: gear for name, gear in _gears(compiled, a).items() if gear},
        gain if affine[0] else (gain[0], 0.0, 0.0),
        bias if affine[1] else (0.0, 0.0, 0.0),
        dynamics=dynamics,
        time_constant=float(model.actuator_dynprm[a, 0]) if dynamics in LAGS else 0.0,
        delay=float(model.actuator_delay[a]),
        early=bool(model.actuator_actearly[a]) and has_state,
        control_range=_range(model.actuator_ctrlrange[u], clamped),
        force_range=force_range,
        activation_range=_range(
            model.actuator_actrange[a], model.actuator_actlimited[a] and has_state
        ),
        points=points,
    )


def _three(prm: Array) -> Coefficients:
    a, b, c = (float(x) for x in prm[:3])
    return a, b, c


def _range(values: Array, is_limited: bool) -> Range:
    if not is_limited:
        return UNLIMITED
    low, high = (float(x) for x in values)
    return (low if isfinite(low) else -inf), (high if isfinite(high) else inf)
