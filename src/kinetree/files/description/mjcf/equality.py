"""Equality constraints of an MJCF file: connect, weld and joint, as MuJoCo compiles them.

MuJoCo stores anchors and relative poses of the bodies at its reference position qpos0, whichever
form the file has. With x_1, R_1 of the first body (the world, if there is no second one), its
equations are, at a state,

    connect   x_1 + R_1 a_1 = x_2 + R_2 a_2           the points of two frames coincide
    weld      the same, and R_1 R_12 = R_2            the frames coincide
    joint     q_1 - r_1 = sum of c_k (q_2 - r_2)^k    k = 0 ... 4, with r the references of qpos0

and with sites the frames are those of the sites. In MuJoCo they are soft; here they are exact.
"""

from collections.abc import Iterable, Sequence
from math import comb
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.constraints import Constrained, Constraint, Couple, Loop
from kinetree.files.description.joints import FREE
from kinetree.files.description.mjcf.compile import Compiled, unused
from kinetree.files.description.mjcf.forces import disabled
from kinetree.files.description.mjcf.links import TYPES
from kinetree.files.description.records import FrameDescription
from kinetree.spatial.se3 import pose, translation
from kinetree.spatial.so3 import from_quaternion

READ = ("connect", "weld", "joint")


class Equality:
    """The equality constraints of a compiled model, with frames that they need.

    frames: those of the file, and the new ones. record: the constraints, None without any.
    idle: names of constraints between bodies that cannot move relative to each other.
    """

    def __init__(self, compiled: Compiled, frames: Sequence[FrameDescription]) -> None:
        self.compiled, self.m = compiled, compiled.model
        self.frames, self.idle = list(frames), list[str]()
        self.taken = {*compiled.body_names, *(x.name for x in frames)}
        sites = [s for s in range(self.m.nsite) if self.m.site(s).name]
        self.sites = {s: x.name for s, x in zip(sites, frames, strict=True)}
        records: dict[str, Constraint] = {}
        names = equality_names(compiled)
        for e in acting(compiled):
            if equality_type(compiled, e) in READ:
                record = self._record(e, names[e])
                if record is not None:
                    records[names[e]] = record
        self.record = None
        if records:
            self.record = Constrained(records, _motors(compiled), _reference(compiled))

    def _record(self, e: int, name: str) -> Constraint | None:
        """One constraint; None if it has no effect."""
        if equality_type(self.compiled, e) == "joint":
            return self._couple(e)
        m, data = self.m, np.array(self.m.eq_data[e])
        ends = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        is_site = int(m.eq_objtype[e]) == int(self.compiled.mujoco.mjtObj.mjOBJ_SITE)
        bodies = [int(m.site_bodyid[x]) for x in ends] if is_site else list(ends)
        if m.body_weldid[bodies[0]] == m.body_weldid[bodies[1]]:
            self.idle.append(name)
            return None
        weld = equality_type(self.compiled, e) == "weld"
        if is_site:
            a, b = (self.sites[x] for x in ends)
        elif weld:  # the anchor is given in the second body, its place in the first one with it
            turn = from_quaternion(data[6:10], f"relpose of constraint {name!r}")
            a = self._frame(f"{name}/1", bodies[0], pose(turn, data[3:6]))
            b = self._frame(f"{name}/2", bodies[1], translation(data[:3]))
        else:
            a = self._frame(f"{name}/1", bodies[0], translation(data[:3]))
            b = self._frame(f"{name}/2", bodies[1], translation(data[3:6]))
        # without torquescale the angular rows of a weld are zero
        return Loop(a, b, "pose" if weld and data[10] else "point")

    def _frame(self, name: str, body: int, T: Array) -> str:
        """The name of a frame in a body; that of the body itself if it is there already."""
        link = self.compiled.body_names[body]
        if np.array_equal(T, np.eye(4)):
            return link
        new_name = unused(name, self.taken)
        self.frames.append(FrameDescription(new_name, link, T))
        return new_name

    def _couple(self, e: int) -> Couple:
        """q_1 = r_1 + p(q_2 - r_2), with p(x - r) written out in powers of x."""
        m, names = self.m, self.compiled.joint_names
        first, second = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        c = [float(x) for x in m.eq_data[e][:5]]
        start = float(m.qpos0[m.jnt_qposadr[first]])
        if second < 0:
            return Couple(names[first], {}, start + c[0])
        r = float(m.qpos0[m.jnt_qposadr[second]])
        shifted = [
            sum(c[k] * comb(k, i) * (-r) ** (k - i) for k in range(i, 5)) if r else c[i]
            for i in range(5)
        ]
        powers = shifted[1:]
        while len(powers) > 1 and powers[-1] == 0:
            powers.pop()
        by = {} if powers == [0] else {names[second]: tuple(powers)}
        return Couple(names[first], by, start + shifted[0])


def equality_type(compiled: Compiled, e: int) -> str:
    """Word of the file for the kind of a constraint."""
    return compiled.mujoco.mjtEq(int(compiled.model.eq_type[e])).name.removeprefix("mjEQ_").lower()


def equality_names(compiled: Compiled) -> list[str]:
    """Names of all constraints; one without name is called by its kind and number."""
    m = compiled.model
    taken = {m.equality(e).name for e in range(m.neq)}
    return [
        m.equality(e).name or unused(f"{equality_type(compiled, e)} {e}", taken)
        for e in range(m.neq)
    ]


def acting(compiled: Compiled) -> list[int]:
    """Constraints that are active, unless a flag disables all."""
    if disabled(compiled, "EQUALITY", "CONSTRAINT"):
        return []
    return [e for e in range(compiled.model.neq) if compiled.model.eq_active0[e]]


def ignored(compiled: Compiled) -> list[str]:
    """Names of active constraints that are not read: those of tendons and flexes."""
    names = equality_names(compiled)
    return [names[e] for e in acting(compiled) if equality_type(compiled, e) not in READ]


def inactive(compiled: Compiled) -> list[str]:
    """Names of constraints that the file switches off."""
    names, on = equality_names(compiled), acting(compiled)
    return [names[e] for e in range(compiled.model.neq) if e not in on]


def _motors(compiled: Compiled) -> tuple[str, ...] | None:
    """Joints that actuators drive, also by <fixed> tendons; None without any: all joints."""
    m, names = compiled.model, compiled.joint_names
    kinds = compiled.mujoco.mjtTrn
    driven: set[int] = set()
    for a in range(m.nu):
        kind, k = int(m.actuator_trntype[a]), int(m.actuator_trnid[a][0])
        if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            driven.add(k)
        elif kind == int(kinds.mjTRN_TENDON):
            driven |= set(_tendon_joints(compiled, k))
    return tuple(names[j] for j in sorted(driven)) or None


def _tendon_joints(compiled: Compiled, t: int) -> Iterable[int]:
    m = compiled.model
    first = int(m.tendon_adr[t])
    is_joint = int(compiled.mujoco.mjtWrap.mjWRAP_JOINT)
    for k in range(first, first + int(m.tendon_num[t])):
        if int(m.wrap_type[k]) == is_joint:
            yield int(m.wrap_objid[k])


def _reference(compiled: Compiled) -> dict[str, tuple[float, ...]]:
    """qpos0 by joint, in our order: of a free joint the quaternion before the position."""
    m: Any = compiled.model
    positions: dict[str, tuple[float, ...]] = {}
    for j, name in enumerate(compiled.joint_names):
        first = int(m.jnt_qposadr[j])
        last = int(m.jnt_qposadr[j + 1]) if j + 1 < m.njnt else int(m.nq)
        entries = [float(x) for x in m.qpos0[first:last]]
        positions[name] = tuple(
            entries[3:] + entries[:3] if TYPES[int(m.jnt_type[j])] == FREE else entries
        )
    return positions
