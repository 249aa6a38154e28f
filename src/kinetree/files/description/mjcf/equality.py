"""Equality constraints of an MJCF file: connect, weld and joint, as MuJoCo compiles them.

MuJoCo stores anchors and relative poses of the bodies at its reference position qpos0, whichever
form the file has. With x_1, R_1 of the first body (the world, if there is no second one), its
equations are, at a state,

    connect   x_1 + R_1 a_1 = x_2 + R_2 a_2           the points of two frames coincide
    weld      the same, and R_1 R_12 = R_2            the frames coincide
    joint     q_1 - r_1 = sum of c_k (q_2 - r_2)^k    k = 0 ... 4, with r the references of qpos0

and with sites the frames are those of the sites. In MuJoCo they are soft; here they are exact.
"""

from collections.abc import Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.collisions import unused
from kinetree.files.description.constraints import Constrained, Constraint, Couple, Loop, shifted
from kinetree.files.description.joints import FREE
from kinetree.files.description.mjcf.bodies import TYPES, pose_of
from kinetree.files.description.mjcf.compile import Compiled
from kinetree.files.description.mjcf.forces import Forces
from kinetree.files.description.records import FrameDescription
from kinetree.spatial.se3 import translation

READ = ("connect", "weld", "joint")


class Equality:
    """The equality constraints of a compiled model, with frames that they need.

    frames: those of the file, and the new ones. record: the constraints, None without any. The
    others are listed by name: ignored ones, those that are not active, and idle ones, between
    bodies that cannot move relative to each other.
    """

    def __init__(
        self, compiled: Compiled, forces: Forces, frames: Sequence[FrameDescription]
    ) -> None:
        self.compiled, self.m = compiled, compiled.model
        self.frames = list(frames)
        self.taken = {*compiled.body_names, *(x.name for x in frames)}
        sites = [s for s in range(self.m.nsite) if self.m.site(s).name]
        self.sites = {s: x.name for s, x in zip(sites, frames, strict=True)}
        self.idle, self.ignored, self.inactive = list[str](), list[str](), list[str]()
        off = compiled.disabled("EQUALITY", "CONSTRAINT")
        records: dict[str, Constraint] = {}
        kinds = [compiled.mujoco.mjtEq(int(x)).name for x in self.m.eq_type]
        kinds = [kind.removeprefix("mjEQ_").lower() for kind in kinds]
        given = [self.m.equality(e).name for e in range(self.m.neq)]
        names = {name for name in given if name}
        for e, kind in enumerate(kinds):
            name = given[e] or unused(f"{kind} {e}", names)
            if off or not self.m.eq_active0[e]:
                self.inactive.append(name)
            elif kind not in READ:
                self.ignored.append(name)
            elif (record := self._record(e, kind, name)) is None:
                self.idle.append(name)
            else:
                records[name] = record
        motors = _motors(compiled, forces)
        self.record = Constrained(records, motors, _reference(compiled)) if records else None

    def _record(self, e: int, kind: str, name: str) -> Constraint | None:
        """One constraint; None if it has no effect."""
        if kind == "joint":
            return self._couple(e)
        m, data, weld = self.m, np.array(self.m.eq_data[e]), kind == "weld"
        ends = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        is_site = int(m.eq_objtype[e]) == int(self.compiled.mujoco.mjtObj.mjOBJ_SITE)
        bodies = [int(m.site_bodyid[x]) for x in ends] if is_site else list(ends)
        if m.body_weldid[bodies[0]] == m.body_weldid[bodies[1]]:
            return None
        if is_site:
            a, b = (self.sites[x] for x in ends)
        else:  # of a weld the anchor is given in the second body, its place in the first with it
            relpose = f"relpose of constraint {name!r}"
            first = pose_of(data[3:6], data[6:10], relpose) if weld else translation(data[:3])
            second = translation(data[:3] if weld else data[3:6])
            a = self._frame(f"{name}/1", bodies[0], first)
            b = self._frame(f"{name}/2", bodies[1], second)
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
        if r:
            c = shifted(c, -r)
        powers = c[1:]
        while len(powers) > 1 and powers[-1] == 0:
            powers.pop()
        by = {} if powers == [0] else {names[second]: tuple(powers)}
        return Couple(names[first], by, start + c[0])


def _motors(compiled: Compiled, forces: Forces) -> tuple[str, ...] | None:
    """Joints that actuators drive, also by <fixed> tendons; None without any: all joints."""
    m, names, driven = compiled.model, compiled.joint_names, set[int]()
    for a in range(m.nu):
        kind, k = int(m.actuator_trntype[a]), int(m.actuator_trnid[a][0])
        if kind in (0, 1):
            driven.add(k)
        elif kind == 3:
            driven |= {names.index(name) for name in forces.tendons[k].joints}
    return tuple(names[j] for j in sorted(driven)) or None


def _reference(compiled: Compiled) -> dict[str, tuple[float, ...]]:
    """qpos0 by joint, in our order: of a free joint the quaternion before the position."""
    m, positions = compiled.model, dict[str, tuple[float, ...]]()
    ends = [*map(int, m.jnt_qposadr), int(m.nq)]
    for j, name in enumerate(compiled.joint_names):
        entries = [float(x) for x in m.qpos0[ends[j] : ends[j + 1]]]
        is_free = TYPES[int(m.jnt_type[j])] == FREE
        positions[name] = tuple(entries[3:] + entries[:3] if is_free else entries)
    return positions
