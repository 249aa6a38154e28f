"""The tree of an SDF model: loops are refused, and joints that lead to the base are turned round.

SDF lets a joint name the link nearer to the base as its child. Such a joint is read as one from
that link to the other, with the opposite screw axis, so that its q means the same motion:
with T_pc(q) = M exp(A q), T_cp(q) = M^-1 exp(-Ad(M) A q).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kinetree.errors import ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.joints import FIXED, SCREW_TYPES
from kinetree.files.description.records import JointDescription, Note
from kinetree.files.description.tree import listed
from kinetree.files.description.xml import show
from kinetree.spatial.se3 import inverse, move_twist

Neighbours = dict[str, list[tuple[str, JointDescription]]]


def away_from(
    roots: Iterable[str], joints: Sequence[JointDescription], findings: Findings
) -> list[JointDescription]:
    """The joints, each from the link nearer to the root of its tree to the other one.

    Raises:
        ParseError: joints form a loop; the message has their names.
    """
    neighbours = _neighbours(joints)
    waiting = list(roots)
    near = set(waiting)
    turned: dict[str, JointDescription] = {}
    while waiting:
        link = waiting.pop()
        for other, joint in neighbours.get(link, []):
            if other in near:
                continue
            near.add(other)
            waiting.append(other)
            if joint.parent == other:
                turned[joint.name] = _turned(joint, findings)
    return [turned.get(joint.name, joint) for joint in joints]


def _turned(joint: JointDescription, findings: Findings) -> JointDescription:
    """The same joint from its child to its parent."""
    if joint.type not in (*SCREW_TYPES, FIXED):
        raise ParseError(
            f"{joint.where}: joint {show(joint.name)} has {show(joint.child)} as its child, which "
            f"is nearer to the base than its parent {show(joint.parent)}; a ball joint cannot be "
            "read that way. Swap <parent> and <child>."
        )
    text = f"joint {show(joint.name)} is read from its child {show(joint.child)}, which is nearer "
    findings.notes.append(Note(f"{text}to the base, to its parent; q means the same.", joint.where))
    A = None if joint.A is None else -move_twist(joint.M_pc, joint.A)
    return replace(joint, parent=joint.child, child=joint.parent, M_pc=inverse(joint.M_pc), A=A)


def trees(links: Sequence[str], joints: Sequence[JointDescription]) -> list[list[str]]:
    """The links in groups that joints connect, in the order of their first links."""
    group: dict[str, str] = {}
    for joint in joints:
        group[top_of(group, joint.parent)] = top_of(group, joint.child)
    found: dict[str, list[str]] = {}
    for link in links:
        found.setdefault(top_of(group, link), []).append(link)
    return list(found.values())


def top_of(group: dict[str, str], link: str) -> str:
    """The link that stands for the connected group of a link; `group` leads there."""
    while group.setdefault(link, link) != link:
        group[link] = group[group[link]]
        link = group[link]
    return link


def _neighbours(joints: Sequence[JointDescription]) -> Neighbours:
    """The joints at each link, with the link at their other end; raise ParseError for a loop."""
    joined: Neighbours = {}
    group: dict[str, str] = {}  # each link -> another of the same connected group

    for joint in joints:
        a, b = top_of(group, joint.parent), top_of(group, joint.child)
        if a == b:
            loop = [joint, *_way(joined, joint.parent, joint.child)]
            names = listed([show(x.name) for x in loop])
            raise ParseError(
                f"{joint.where}: the joints {names} form a loop; expected a tree. Cut the loop at "
                "one of them."
            )
        group[a] = b
        joined.setdefault(joint.parent, []).append((joint.child, joint))
        joined.setdefault(joint.child, []).append((joint.parent, joint))
    return joined


def _way(joined: Neighbours, start: str, end: str) -> list[JointDescription]:
    """The joints on the way between two connected links."""
    came: dict[str, tuple[str, JointDescription]] = {}
    waiting = [start]
    while waiting:
        link = waiting.pop()
        for other, joint in joined.get(link, []):
            if other != start and other not in came:
                came[other] = link, joint
                waiting.append(other)
    way: list[JointDescription] = []
    while end != start:
        end, joint = came[end]
        way.append(joint)
    return way
