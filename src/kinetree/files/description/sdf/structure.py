"""The tree of an SDF model: joints that lead to the base are turned round, loops are constraints.

SDF lets a joint name the link nearer to the base as its child. Such a joint is read as one from
that link to the other, with the opposite screw axis, so that its q means the same motion:
with T_pc(q) = M exp(A q), T_cp(q) = M^-1 exp(-Ad(M) A q).

One joint of each closed loop becomes a constraint of the tree: a hinge an axis that two links
share, a ball a point, and a fixed joint a pose. Joints are added to the tree one after the other,
those that can close no loop first (sliding, screw, universal and mimic joints, and joints to the
world), then those with friction, springs or limits, then the others. A joint between links that are
connected already closes a loop. Loops that none of these can close stay in the joints, where the
check of the tree refuses them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array, length, times
from kinetree.errors import ParseError
from kinetree.files.description.collisions import unused
from kinetree.files.description.constraints import Constrained, Loop, LoopKind
from kinetree.files.description.findings import Findings
from kinetree.files.description.friction import Friction
from kinetree.files.description.joints import FIXED, REVOLUTE, SCREW_TYPES, SPHERICAL
from kinetree.files.description.records import FrameDescription, JointDescription, Limits, Note
from kinetree.files.description.sdf.elements import JointParts
from kinetree.files.description.sdf.format import WORLD
from kinetree.files.description.xml import show
from kinetree.spatial.se3 import inverse, move_twist, pose
from kinetree.spatial.so3 import cross

Groups = dict[str, str]  # each link -> another of the same connected group


def away_from(
    roots: Iterable[str], joints: Sequence[JointDescription], findings: Findings
) -> list[JointDescription]:
    """The joints, each from the link nearer to the root of its tree to the other one."""
    neighbours: dict[str, list[tuple[str, JointDescription]]] = {}
    for joint in joints:
        neighbours.setdefault(joint.parent, []).append((joint.child, joint))
        neighbours.setdefault(joint.child, []).append((joint.parent, joint))
    waiting = list(roots)
    near = set(waiting)
    turned: dict[str, JointDescription] = {}
    while waiting:
        for other, joint in neighbours.get(waiting.pop(), []):
            if other not in near:
                near.add(other)
                waiting.append(other)
                if joint.parent == other:
                    turned[joint.name] = _turned(joint, findings)
    return [turned.get(joint.name, joint) for joint in joints]


def _turned(joint: JointDescription, findings: Findings) -> JointDescription:
    """The same joint from its child to its parent."""
    name, child = f"joint {show(joint.name)}", show(joint.child)
    if joint.type not in (*SCREW_TYPES, FIXED):
        text = f"{name} has {child} as its child, which is nearer to the base than its parent"
        raise ParseError(f"{joint.where}: {text}. Swap <parent> and <child> of a ball joint.")
    text = f"{name} is read from its child {child} to its parent; q means the same."
    findings.notes.append(Note(text, joint.where))
    A = None if joint.A is None else -move_twist(joint.M_pc, joint.A)
    return replace(joint, parent=joint.child, child=joint.parent, M_pc=inverse(joint.M_pc), A=A)


def trees(links: Sequence[str], joints: Sequence[JointDescription]) -> list[list[str]]:
    """The links in groups that joints connect, in the order of their first links."""
    group: Groups = {}
    for joint in joints:
        _join(group, joint.parent, joint.child)
    groups: dict[str, list[str]] = {}
    for link in links:
        groups.setdefault(_top(group, link), []).append(link)
    return list(groups.values())


def _top(group: Groups, link: str) -> str:
    """The link that stands for the connected group of a link."""
    while group.setdefault(link, link) != link:
        group[link] = group[group[link]]
        link = group[link]
    return link


def _join(group: Groups, a: str, b: str) -> bool:
    """Put two links into one group; False if they are in the same one already."""
    a, b = _top(group, a), _top(group, b)
    group[a] = b
    return a != b


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
        closes = f"joint {show(joint.name)} closes a loop"
        text = f"{closes}: it is a constraint ({kind}), without an entry in q."
        self.findings.notes.append(Note(text, joint.where))
        if lost := _extras(part):
            text = f"{closes}, so these are left out: {', '.join(lost)}."
            self.findings.warnings.append(Note(text, joint.where))

    def _frame(self, joint: JointDescription, k: int, link: str, T: Array) -> str:
        name = unused(f"{joint.name}/{k}", self.taken)
        self.frames.append(FrameDescription(name, link, T))
        return name


def _closing(parts: Sequence[JointParts]) -> list[int]:
    """Numbers of the joints that close loops, in the order of the file."""
    mimicked = {x.mimic.joint for part in parts for x in part.joints if x.mimic is not None}
    connected, rigid, closing = Groups(), Groups(), list[int]()
    ranks = [_rank(part, mimicked) for part in parts]
    for k in sorted(range(len(parts)), key=lambda k: ranks[k]):
        first, *others = parts[k].joints
        ends = first.parent, (others or [first])[-1].child
        # a loop of fixed joints alone is no mechanism: it stays, and is refused
        is_rigid = first.type == FIXED and not _join(rigid, *ends)
        if not _join(connected, *ends) and ranks[k] > 0 and not is_rigid:
            closing.append(k)
    return sorted(closing)


def _rank(part: JointParts, mimicked: set[str]) -> int:
    """0 for a joint that cannot close a loop, 1 for one with extras that would be lost, else 2."""
    joint = part.joints[0]
    follows = any(x.mimic is not None or x.name in mimicked for x in part.joints)
    is_single = len(part.joints) == 1 or joint.type == SPHERICAL
    if joint.type not in KINDS or follows or not is_single or WORLD == joint.parent:
        return 0
    return 1 if _extras(part) else 2


def _extras(part: JointParts) -> list[str]:
    """Words for properties of a joint that a constraint does not have."""
    joint = part.joints[0]
    extras = {
        "limits": joint.limits != Limits(),
        "friction": joint.friction != Friction(),
        "springs": bool(part.springs),
    }
    return [word for word, is_there in extras.items() if is_there]


def _hinge(joint: JointDescription) -> Array:
    """A frame on the axis of a hinge, in the child, with z along it."""
    assert joint.A is not None
    w, v = np.array(joint.A[:3], float), np.array(joint.A[3:], float)
    side = np.eye(3)[int(np.argmin(np.abs(w)))]
    x = cross(side, w) / length(cross(side, w))
    return pose(np.array([x, cross(w, x), w]).T, cross(w, v))
