"""Forces at the joints of a compiled MJCF model: friction, armature, limits, springs, actuators.

MuJoCo pulls a joint towards `springref`, and a <fixed> tendon, whose length is the sum of
coefficient times position of its joints, towards `springlength`. Positions count as in q, which a
joint's `ref` shifts: a spring of `springref` 0 rests at q = 0, wherever the body is drawn. Springs
of ball and free joints, and with a range of slack, are left out; of springs that are not linear,
the linear part is kept. Armature, friction and damping of <fixed> tendons become motors.

MuJoCo's compiler turns <motor>, <position>, <velocity>, <damper> and <intvelocity> into the numbers
of <general>, with defaults, classes, damping ratios and inherited ranges resolved; these are read.
The length of an actuator on a joint is gear times its position, and on a tendon gear times the
length of the tendon. Muscles, PID and DC motors, adhesion, plugins, user functions, and
transmissions to sites, bodies, slider-cranks and tendons that wrap around geoms are left out.
`notes` names everything that is.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import ParseError
from kinetree.files.description.actuators import LAGS, UNLIMITED, Actuator, Coefficients, Range
from kinetree.files.description.collisions import unused
from kinetree.files.description.friction import Friction
from kinetree.files.description.mjcf.compile import Compiled, named
from kinetree.files.description.records import Limits, Motor, Spring

FREE, BALL = 0, 1  # MuJoCo's mjtJoint; sliders and hinges follow
ALONG_JOINTS, THROUGH_SITE = 1, 3  # MuJoCo's mjWRAP_JOINT and mjWRAP_SITE
ON_JOINT, TENDON = (0, 1), 3  # of MuJoCo's mjtTrn
DYNAMICS = ("none", "integrator", "filter", "filterexact")  # the first of MuJoCo's mjtDyn
LAWS = 2  # known ones of mjtGain and mjtBias: a constant and an affine law
SiteOnBody = tuple[str, tuple[float, ...]]  # body, and position in it


@dataclass(frozen=True)
class Tendon:
    """A tendon: of joints (<fixed>, coefficients by name), or through sites of several bodies.

    bodies: number of bodies whose sites it passes, if it passes nothing else. other_effects:
    whether it changes the motion by more than a spring or motor that is read.
    """

    name: str
    joints: dict[str, float]
    points: list[SiteOnBody]
    bodies: int
    spring: Spring | None
    motor: Motor | None
    other_effects: bool


@dataclass(frozen=True)
class Motion:
    """An actuator as MuJoCo has it: the joint that it acts on, its ratio, and what it is read as.

    joint: number of the one hinge or slide that it acts on; None for anything else. tendon: number
    of its tendon. effort: largest force at the joint of a plain motor, whose force is a constant
    times its control; None for other laws. armature, damping: before the gear. reason: why it is
    left out. gears: by the joints that it drives.
    """

    name: str
    joint: int | None
    tendon: int | None
    ratio: float
    effort: float | None
    armature: float
    damping: float
    reason: str
    gears: dict[str, float]
    record: Actuator | None


class Forces:
    """All that acts at the joints of a compiled model besides rigid bodies."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.m = compiled, compiled.model
        disabled = compiled.disabled
        self.no_springs, self.no_dampers = disabled("SPRING"), disabled("DAMPER")
        self.no_friction = disabled("FRICTIONLOSS", "CONSTRAINT")
        self.tendons = [self._tendon(t) for t in range(self.m.ntendon)]
        # not nu: one actuator may have several controls
        names = [self.m.actuator(a).name for a in range(len(self.m.actuator_trntype))]
        self.motions = [self._motion(a, x) for a, x in enumerate(named(names, "#a", 0))]
        self.is_passive = disabled("ACTUATION")

    def is_simple(self, j: int) -> bool:
        """Return True for a hinge or slide."""
        return int(self.m.jnt_type[j]) > BALL

    # joints

    def of_joint(self, j: int, where: str) -> dict[str, Any]:
        """Fields of a JointDescription that concern its forces, and the place of its zero.

        MuJoCo counts q from `ref`: the joint stands at q - ref.
        """
        m, name, i = self.m, self.compiled.joint_names[j], int(self.m.jnt_dofadr[j])
        armature, damping = 0.0, 0.0  # of its motors, seen at the joint
        for x in self.motions:
            if x.joint == j:  # the square of a huge ratio times 0 would be NaN
                armature += x.ratio * x.ratio * x.armature if x.armature else 0.0
                damping += x.ratio * x.ratio * x.damping if x.damping else 0.0
        values = {
            "damping": 0.0 if self.no_dampers else float(m.dof_damping[i]) + damping,
            "frictionloss": 0.0 if self.no_friction else float(m.dof_frictionloss[i]),
            "armature": float(m.dof_armature[i]) + armature if int(m.jnt_type[j]) != FREE else 0.0,
        }
        self._check(values, f"joint {name!r}", where)
        offset = -float(m.qpos0[int(m.jnt_qposadr[j])]) if self.is_simple(j) else 0
        return {
            "offset": offset,
            "friction": Friction(values["damping"], values["frictionloss"]),
            "armature": values["armature"],
            "limits": self._limits(j),
            "actuation": self.joint_ranges.get(j, UNLIMITED),
        }

    @cached_property
    def efforts(self) -> dict[int, float]:
        """Largest force of the plain motors of a joint together, where it has some."""
        bounds: dict[int, float] = {}
        for x in self.motions:
            if x.joint is not None and x.effort is not None:
                bounds[x.joint] = bounds.get(x.joint, 0.0) + x.effort
        return bounds

    def _limits(self, j: int) -> Limits:
        m, effort = self.m, self.efforts.get(j, inf)
        if m.jnt_actfrclimited[j]:
            effort = min(effort, float(np.abs(m.jnt_actfrcrange[j]).max()))
        if not m.jnt_limited[j] or not self.is_simple(j):
            return Limits(effort=effort)
        lower, upper = (float(x) for x in m.jnt_range[j])
        return Limits(lower, upper, effort=effort)

    # springs and motors

    @cached_property
    def springs(self) -> dict[str, Spring]:
        """Springs and dampers by the names of their joints and tendons."""
        m, names, springs = self.m, self.compiled.joint_names, dict[str, Spring]()
        for j, name in enumerate(names):
            stiffness = 0.0 if self.no_springs else float(m.jnt_stiffness[j])
            if stiffness and self.is_simple(j):
                rest = float(m.qpos_spring[int(m.jnt_qposadr[j])])
                self._check({"stiffness": stiffness, "distance": abs(rest)}, f"spring of {name!r}")
                springs[name] = Spring(stiffness, rest)
        taken = set(names)
        for x in self.tendons:
            if x.spring is not None:
                key = f"tendon/{x.name}" if x.name in taken else x.name
                springs[unused(key, taken)] = x.spring
        return springs

    def _check(self, values: dict[str, float], owner: str, where: str = "") -> None:
        for key, value in values.items():
            if not (isfinite(value) and value >= 0):
                text = f"{key} of {owner} is {value:g}; expected a finite number >= 0."
                raise ParseError(f"{where or self.compiled.document.nodes[0].where}: {text}")

    @property
    def motors(self) -> dict[str, Motor]:
        """Armature, friction and damping of <fixed> tendons; damping of springs is theirs."""
        return {x.name: x.motor for x in self.tendons if x.motor is not None}

    def _tendon(self, t: int) -> Tendon:
        m, name = self.m, self.m.tendon(t).name or f"tendon {t}"
        joints, path = self._joints_of(t), self._sites_of(t)
        bodies = len({body for body, _ in path})
        points = path if bodies > 1 else []
        stiffness = 0.0 if self.no_springs else float(m.tendon_stiffness[t])
        values = {
            "armature": float(m.tendon_armature[t]),
            "damping": 0.0 if self.no_dampers else float(m.tendon_damping[t]),
            "frictionloss": 0.0 if self.no_friction else float(m.tendon_frictionloss[t]),
        }
        low, high = (float(x) for x in m.tendon_lengthspring[t])
        damping = values["damping"]
        # within a dead band, dampers act in MuJoCo and not here
        acts = (low == high or not damping) if stiffness else bool(damping)
        spring = motor = None
        if acts and (joints or points):
            low, high = (low, high) if stiffness else (0.0, 0.0)
            rest = low if low == high else (low + high) / 2
            through = points if not joints else None
            spring = Spring(stiffness, rest, joints or None, damping, through, high - low)
            self._check({"stiffness": stiffness, "distance": abs(rest)}, f"tendon {name!r}")
            values["damping"] = 0.0
        known = self.compiled.joint_names.index
        if joints and any(values.values()) and all(self.is_simple(known(x)) for x in joints):
            self._check(values, f"tendon {name!r}")
            friction = Friction(values["damping"], values["frictionloss"])
            motor = Motor(joints, values["armature"], friction)
        others = [m.tendon_limited[t], self.is_curved(t, "tendon", "damping")]
        others += [] if motor else [m.tendon_frictionloss[t], m.tendon_armature[t]]
        others += [] if motor or spring else [m.tendon_damping[t]]
        if not spring and not self.no_springs:
            others += [m.tendon_stiffness[t], self.is_curved(t, "tendon")]
        return Tendon(name, joints, points, bodies, spring, motor, any(others))

    def _wraps(self, t: int) -> range:
        first = int(self.m.tendon_adr[t])
        return range(first, first + int(self.m.tendon_num[t]))

    def _joints_of(self, t: int) -> dict[str, float]:
        """Coefficients of the joints of a <fixed> tendon that are not zero, by name."""
        m, sums = self.m, dict[str, float]()
        for w in self._wraps(t):
            if int(m.wrap_type[w]) == ALONG_JOINTS:
                name = self.compiled.joint_names[int(m.wrap_objid[w])]
                sums[name] = sums.get(name, 0.0) + float(m.wrap_prm[w])
        return {name: c for name, c in sums.items() if c}

    def _sites_of(self, t: int) -> list[SiteOnBody]:
        """The sites of a <spatial> tendon; none if it passes more than sites."""
        m = self.m
        if any(int(m.wrap_type[w]) != THROUGH_SITE for w in self._wraps(t)):
            return []
        sites = [int(m.wrap_objid[w]) for w in self._wraps(t)]
        names = [self.compiled.body_names[int(m.site_bodyid[s])] for s in sites]
        positions = [tuple(map(float, m.site_pos[s])) for s in sites]
        return list(zip(names, positions, strict=True))

    def is_fixed(self, t: int) -> bool:
        """Return True for a <fixed> tendon, a sum of joint positions."""
        return int(self.m.wrap_type[int(self.m.tendon_adr[t])]) == ALONG_JOINTS

    def is_curved(self, k: int, kind: str = "jnt", part: str = "stiffness") -> bool:
        """Return True for a spring that is not linear, or yields; for damping not linear in dq."""
        off = self.no_springs if part == "stiffness" else self.no_dampers
        poly = getattr(self.m, f"{kind}_{part}poly")[k]
        yields = part == "stiffness" and (
            getattr(self.m, f"{kind}_stiffness")[k] and getattr(self.m, f"{kind}_springyield")[k]
        )
        return not off and bool(poly.any() or yields)

    # actuators

    @property
    def actuators(self) -> dict[str, Actuator]:
        """Actuators by name, those that are understood; without name, "#a<id>"."""
        return {x.name: x.record for x in self.read if x.record is not None}

    @property
    def read(self) -> list[Motion]:
        """The actuators that are read; none if <option> disables them."""
        return [x for x in self.motions if not x.reason and not self.is_passive]

    @cached_property
    def joint_ranges(self) -> dict[int, Range]:
        """Least and most force of all actuators of a joint together, where it has actuators."""
        driven = {self.compiled.joint_names.index(name) for x in self.read for name in x.gears}
        limited = [j for j in driven if self.m.jnt_actfrclimited[j]]
        return {j: _pair(self.m.jnt_actfrcrange[j]) for j in limited}

    def _motion(self, a: int, name: str) -> Motion:
        m, k = self.m, int(self.m.actuator_trnid[a, 0])
        kind = int(m.actuator_trntype[a])
        ratio = float(m.actuator_gear[int(m.actuator_outadr[a]), 0])
        joint = k if kind in ON_JOINT and self.is_simple(k) else None
        tendon = k if kind == TENDON else None
        gears = {} if joint is None else {self.compiled.joint_names[joint]: ratio}
        if tendon is not None:
            gears = {x: ratio * c for x, c in self.tendons[tendon].joints.items()}
        effort = None
        laws = (m.actuator_gaintype, m.actuator_biastype, m.actuator_dyntype)
        if joint is not None and not any(int(law[a]) for law in laws):
            effort = self._motor_force(a) * abs(ratio) if ratio else 0.0  # inf * 0 is NaN
        reason = self._reason(a, joint, tendon, ratio, gears)
        record = None if reason else self._actuator(a, tendon, ratio, gears)
        armature, damping = float(m.actuator_armature[a]), float(m.actuator_damping[a])
        return Motion(name, joint, tendon, ratio, effort, armature, damping, reason, gears, record)

    def _motor_force(self, a: int) -> float:
        """Largest force of a plain motor before the gear."""
        m, force, u = self.m, inf, int(self.m.actuator_ctrladr[a])
        if m.actuator_forcelimited[a]:
            force = float(np.abs(m.actuator_forcerange[a]).max())
        if m.actuator_ctrllimited[u]:
            gain = abs(float(m.actuator_gainprm[a, 0]))
            force = min(force, gain * float(np.abs(m.actuator_ctrlrange[u]).max()))
        return force

    def _reason(
        self, a: int, joint: int | None, tendon: int | None, ratio: float, gears: dict[str, float]
    ) -> str:
        """Why an actuator is left out; empty if it is read."""
        m, kind, mujoco = self.m, int(self.m.actuator_trntype[a]), self.compiled.mujoco
        laws = [
            (mujoco.mjtDyn, int(m.actuator_dyntype[a]), len(DYNAMICS)),
            (mujoco.mjtGain, int(m.actuator_gaintype[a]), LAWS),
            (mujoco.mjtBias, int(m.actuator_biastype[a]), LAWS),
        ]
        unknown = [enum(k).name.removeprefix("mj").lower() for enum, k, known in laws if k >= known]
        place = mujoco.mjtTrn(kind).name.partition("_")[2].lower()
        on_path = tendon is not None and bool(self.tendons[tendon].points)
        is_fixed = tendon is not None and self.is_fixed(tendon)
        group, delay = int(m.actuator_group[a]), m.actuator_delay[a]
        several = (m.actuator_ctrlnum[a], m.actuator_outnum[a], max(1, m.actuator_actnum[a]))
        lags = DYNAMICS[min(int(m.actuator_dyntype[a]), 3)] in LAGS
        numbers = (m.actuator_gainprm[a, :3], m.actuator_biasprm[a, :3], [delay])
        reasons = {
            "plugin": int(m.actuator_plugin[a]) >= 0,
            ", ".join(unknown): bool(unknown),
            f"on a {place} that is no hinge, slide, sum of joints or path": (
                joint is None and not (is_fixed or on_path)
            ),
            "several controls, outputs or activations": any(x != 1 for x in several),
            f"its group {group} is disabled": 0 <= group <= 30
            and int(m.opt.disableactuator) >> group & 1,
            "a time constant that is not positive": lags and not m.actuator_dynprm[a, 0] > 0,
            "a tendon with an actuatorfrcrange": tendon is not None
            and m.tendon_actfrclimited[tendon],
            "interpolated delay": delay and int(m.actuator_history[a][1]) != 0,
            "gear 0": not any(gears.values()) if gears or is_fixed else not ratio,
            "numbers that are not finite": not np.isfinite(np.concatenate(numbers)).all(),
        }
        return next((text for text, is_so in reasons.items() if is_so), "")

    def _actuator(
        self, a: int, tendon: int | None, ratio: float, gears: dict[str, float]
    ) -> Actuator:
        m, u = self.m, int(self.m.actuator_ctrladr[a])
        points = None if tendon is None or self.is_fixed(tendon) else self.tendons[tendon].points
        dynamics = DYNAMICS[int(m.actuator_dyntype[a])]
        gain, bias = (_three(x[a]) for x in (m.actuator_gainprm, m.actuator_biasprm))
        gain = gain if int(m.actuator_gaintype[a]) else (gain[0], 0.0, 0.0)
        bias = bias if int(m.actuator_biastype[a]) else (0.0, 0.0, 0.0)
        clamped = m.actuator_ctrllimited[u] and not self.compiled.disabled("CLAMPCTRL")
        force_range = _range(m.actuator_forcerange[a], m.actuator_forcelimited[a])
        if points is not None:  # the force counts behind the gear, the length is that of the path
            gain, bias = ((ratio * x, ratio**2 * y, ratio**2 * z) for x, y, z in (gain, bias))
            low, high = sorted(ratio * x for x in force_range)
            force_range = low, high
        has_state = dynamics != "none"
        return Actuator(
            {name: gear for name, gear in gears.items() if gear},
            gain,
            bias,
            dynamics=dynamics,
            time_constant=float(m.actuator_dynprm[a, 0]) if dynamics in LAGS else 0.0,
            delay=float(m.actuator_delay[a]),
            early=bool(m.actuator_actearly[a]) and has_state,
            control_range=_range(m.actuator_ctrlrange[u], clamped),
            force_range=force_range,
            activation_range=_range(m.actuator_actrange[a], m.actuator_actlimited[a] and has_state),
            points=points,
        )


def _three(prm: Array) -> Coefficients:
    a, b, c = (float(x) for x in prm[:3])
    return a, b, c


def _pair(values: Array) -> Range:
    low, high = (float(x) for x in values)
    return low, high


def _range(values: Array, is_limited: bool) -> Range:
    if not is_limited:
        return UNLIMITED
    low, high = _pair(values)
    return (low if isfinite(low) else -inf), (high if isfinite(high) else inf)
