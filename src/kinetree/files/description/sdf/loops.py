"""Closed loops of an SDF model: one joint of each loop becomes a constraint of the tree.

A hinge closes a loop as an axis that two links share, a ball as a point, and a fixed joint as a
pose. Joints are added to the tree one after the other, those that can close no loop first
(sliding, screw, universal and mimic joints, and joints to the world), then those with friction,
springs or limits, then the rest. A joint between links that are connected already closes a loop.
Loops that none of these can close stay in the joints, where the check of the tree refuses them.
"""

from collections.abc import Sequence

import numpy as np

from kinetree.base.arrays import Array, length, times
from kinetree.files.description.constraints import Constrained, Loop, LoopKind
from kinetree.files.description.findings import Findings
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import FIXED, REVOLUTE, SCREW_TYPES, SPHERICAL
from kinetree.files.description.records import FrameDescription, JointDescription, Limits, Note
from kinetree.files.description.sdf.frames import unique_name
from kinetree.files.description.sdf.joints import JointParts
from kinetree.files.description.sdf.parts import WORLD
from kinetree.files.description.sdf.structure import top_of
from kinetree.files.description.xml import show
from kinetree.spatial.se3 import inverse, pose
from kinetree.spatial.so3 import cross

KINDS: dict[str, LoopKind] = {REVOLUTE: "axis", SPHERICAL: "point", FIXED: "pose"}


class Loops:
    """The joints of a model without those that close loops, which are constraints.

    kept: records of the other joints. frames: two for each loop. loops: by the name of the joint.
    """

    def __init__(self, parts: Sequence[JointParts], findings: Findings, taken: set[str]) -> None:
        self.findings, self.taken = findings, taken
        self.frames: list[FrameDescription] = []
        self.loops: dict[str, Loop] = {}
        closing = _closing(parts)
        self.kept = [x for k, x in enumerate(parts) if k not in closing]
        for k in closing:
            self._close(parts[k])

    @property
    def record(self) -> Constrained | None:
        """The constraints, closed where all joints are at zero, as the file has them."""
        if not self.loops:
            return None
        joints = [x for part in self.kept for x in part.joints if x.type in SCREW_TYPES]
        return Constrained(self.loops, None, {x.name: (0.0,) for x in joints})

    def _close(self, part: JointParts) -> None:
        joint, *others = part.joints
        kind, child = KINDS[joint.type], joint.child
        T_b = _hinge(joint) if joint.type == REVOLUTE else np.eye(4)
        T_a = times(joint.M_pc, T_b)
        if others:  # a ball away from the origin of its child, with a link at the ball between them
            T_b, child = inverse(others[-1].M_pc), others[-1].child
        ends = self._frame(joint, 1, joint.parent, T_a), self._frame(joint, 2, child, T_b)
        self.loops[joint.name] = Loop(*ends, kind)
        text = f"joint {show(joint.name)} closes a loop: it is a constraint ({kind}), without an "
        self.findings.notes.append(Note(f"{text}entry in q.", joint.where))
        lost = _extras(part)
        if lost:
            text = f"joint {show(joint.name)} closes a loop, so these are left out: "
            self.findings.warnings.append(Note(f"{text}{', '.join(lost)}.", joint.where))

    def _frame(self, joint: JointDescription, k: int, link: str, T: Array) -> str:
        name = unique_name(f"{joint.name}/{k}", self.taken)
        self.taken.add(name)
        self.frames.append(FrameDescription(name, link, T))
        return name


def _closing(parts: Sequence[JointParts]) -> list[int]:
    """Numbers of the joints that close loops, in the order of the file."""
    mimicked = {x.mimic.joint for part in parts for x in part.joints if x.mimic is not None}
    connected, rigid = dict[str, str](), dict[str, str]()
    found: list[int] = []
    ranks = [_rank(part, mimicked) for part in parts]
    for k in sorted(range(len(parts)), key=lambda k: ranks[k]):
        first, *others = parts[k].joints
        ends = first.parent, (others or [first])[-1].child
        is_fixed = first.type == FIXED
        # a loop of fixed joints alone is no mechanism: it stays, and is refused
        moves = not (is_fixed and not _join(rigid, *ends))
        if not _join(connected, *ends) and ranks[k] > 0 and moves:
            found.append(k)
    return sorted(found)


def _join(group: dict[str, str], a: str, b: str) -> bool:
    """Put two links into one group; False if they are in the same one already."""
    a, b = top_of(group, a), top_of(group, b)
    group[a] = b
    return a != b


def _rank(part: JointParts, mimicked: set[str]) -> int:
    """0 for a joint that cannot close a loop, 1 for one with extras that would be lost, else 2."""
    joint = part.joints[0]
    follows = any(x.mimic is not None or x.name in mimicked for x in part.joints)
    is_ball = joint.type == SPHERICAL
    if joint.type not in KINDS or follows or WORLD == joint.parent:
        return 0
    if len(part.joints) > 1 and not is_ball:
        return 0
    return 1 if _extras(part) else 2


def _extras(part: JointParts) -> list[str]:
    """Words for properties of a joint that a constraint does not have."""
    joint = part.joints[0]
    given = {
        "limits": joint.limits != Limits(),
        "friction": joint.friction != Friction(),
        "springs": bool(part.springs),
    }
    return [word for word, is_there in given.items() if is_there]


def _hinge(joint: JointDescription) -> Array:
    """A frame on the axis of a hinge, in the child, with z along it."""
    assert joint.A is not None
    w, v = np.array(joint.A[:3], float), np.array(joint.A[3:], float)
    side = np.eye(3)[int(np.argmin(np.abs(w)))]
    x = cross(side, w) / length(cross(side, w))
    return pose(np.array([x, cross(w, x), w]).T, cross(w, v))
