"""The tree of a description: names are unique, and joints connect all links to one root.

Messages begin with file:line where the records have it, so that readers of files can use them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kinetree.core.text import nearest, show
from kinetree.errors import ModelError, NameLookupError, ParseError, argument
from kinetree.files.description import records
from kinetree.files.description.collisions import Collisions, CollisionShape, with_own_names
from kinetree.files.description.findings import Findings
from kinetree.files.description.joints import FIXED, SCREW_TYPES
from kinetree.files.description.xml import Element

Links = Sequence[records.LinkDescription]
Joints = Sequence[records.JointDescription]
MAX_NAMES = 8  # in one message


def mimic_hint() -> str:
    """The way out for files whose mimic joints cannot be followed."""
    return f" With {argument('mimic', False)} all joints move on their own."


def check_tree(links: Links, joints: Joints, robot: str) -> str:
    """Raise unless links and joints form one tree; return the name of its root link.

    robot: its name, for messages.
    """
    if not links:
        raise ModelError(f"{robot!r} has no links; expected at least one.")
    check_unique(((link.name, link.where) for link in links), "link")
    check_unique(((joint.name, joint.where) for joint in joints), "joint")
    parents = _parents({link.name for link in links}, joints)
    _check_loops(links, parents)
    roots = [link for link in links if link.name not in parents]
    if len(roots) > 1:
        text = f"{len(roots)} links have no parent: {listed([show(x.name) for x in roots])}"
        text += "; expected one root. Connect the others by joints."
        raise ModelError(f"{_at(roots[1].where)}{text}")
    return roots[0].name


def robot_of(
    name: str,
    links: Links,
    joints: Joints,
    shapes: Iterable[CollisionShape],
    findings: Findings,
    mimic: bool,
    **more: Any,
) -> records.RobotDescription:
    """The description of a URDF or SDF file; ParseError unless links and joints form a tree.

    shapes: for contacts. mimic: False lets all joints move on
    their own. more: further fields.
    """
    try:
        check_tree(links, joints, name)
    except (ModelError, NameLookupError) as error:
        raise ParseError(str(error)) from None
    joints = follow(joints, findings) if mimic else [replace(x, mimic=None) for x in joints]
    return records.RobotDescription(
        name=name,
        links=tuple(links),
        joints=tuple(joints),
        collisions=Collisions(with_own_names(iter(shapes))),
        notes=findings.all_notes(),
        warnings=findings.all_warnings(),
        **more,
    )


def free_frames(
    frames: Iterable[tuple[Element, records.FrameDescription]],
    links: Links,
    findings: Findings,
) -> list[records.FrameDescription]:
    """The frames on links that exist, with names that are free; a warning about the others."""
    names = {link.name for link in links}
    taken, kept = set(names), list[records.FrameDescription]()
    for element, frame in frames:
        owner = f"frame {show(frame.name)}"
        if frame.link not in names:
            findings.warn(element, f"{owner} is fixed to {show(frame.link)}, which is not a link.")
        elif frame.name in taken:
            findings.warn(element, f"{owner} has the name of another frame or link; skipped.")
        else:
            kept.append(frame)
            taken.add(frame.name)
    return kept


def check_unique(entries: Iterable[tuple[str, str]], kind: str) -> None:
    """Raise ModelError if two (name, where) of one kind have the same name."""
    first: dict[str, str] = {}
    for name, where in entries:
        if name in first:
            other = f", the other at {first[name]}" if first[name] else ""
            raise ModelError(f"{_at(where)}two {kind}s are called {show(name)}{other}; rename one.")
        first[name] = where


def listed(names: Sequence[str], most: int = MAX_NAMES) -> str:
    """The first names of a message, with the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def suggestion(name: str, names: Iterable[str]) -> str:
    """A hint: the nearest of the known names, or a few of them."""
    known = sorted(names)
    hint = nearest(name.strip(), known)
    some = ", ".join(map(show, known[:MAX_NAMES]))
    return hint or f" There are {some}{' and more' if len(known) > MAX_NAMES else ''}."


def _parents(names: set[str], joints: Joints) -> dict[str, records.JointDescription]:
    """The joint above each link."""
    parents: dict[str, records.JointDescription] = {}
    for joint in joints:
        start = f"{_at(joint.where)}joint {show(joint.name)}"
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in names:
                text = f"{start} has {end} {show(link)}, which is not a link."
                raise NameLookupError(f"{text}{suggestion(link, names)}")
        if joint.parent == joint.child:
            raise ModelError(f"{start} joins {show(joint.child)} to itself; expected two links.")
        if joint.child in parents:
            both = f"{show(parents[joint.child].name)} and {show(joint.name)}"
            text = f"{_at(joint.where)}link {show(joint.child)} is the child of two joints, {both}"
            raise ModelError(f"{text}; a tree allows one. Cut the loop at one of them.")
        parents[joint.child] = joint
    return parents


def _check_loops(links: Links, parents: dict[str, records.JointDescription]) -> None:
    """Raise ModelError if a link is above itself."""
    loop = first_circle((x.name for x in links), {x: y.parent for x, y in parents.items()})
    if loop:
        joints = ", ".join(show(parents[x].name) for x in loop[:MAX_NAMES])
        text = f"{_at(parents[loop[0]].where)}the joints {joints} form a loop of links"
        raise ModelError(f"{text}; expected a tree. Cut it at one of them.")


def follow(joints: Joints, findings: Findings) -> list[records.JointDescription]:
    """The joints, after a check that leaders exist, have one coordinate and form no circle.

    The followers of a fixed joint move on their own, with a warning.
    """
    by_name = {joint.name: joint for joint in joints}
    followed: dict[str, str] = {}
    for joint in (x for x in joints if x.mimic is not None):
        assert joint.mimic is not None
        leader = by_name.get(joint.mimic.joint)
        text = f"joint {show(joint.name)} mimics {show(joint.mimic.joint)}, which is"
        if leader is None:
            hint = f"{suggestion(joint.mimic.joint, by_name)}{mimic_hint()}"
            raise ParseError(f"{joint.where}: {text} not a joint of the file.{hint}")
        if leader.type == FIXED:
            text = f"{text} fixed and has no position; the mimic is ignored."
            findings.warnings.append(records.Note(text, joint.where))
        elif leader.type not in SCREW_TYPES:
            text = f"{text} {leader.type}; expected a joint with one coordinate.{mimic_hint()}"
            raise ParseError(f"{joint.where}: {text}")
        else:
            followed[joint.name] = leader.name
    if circle := first_circle(by_name, followed):
        text = f"mimic joints follow each other in a circle: {listed([*map(show, circle)])}"
        raise ParseError(f"{by_name[circle[0]].where}: {text}.{mimic_hint()}")
    return [x if x.name in followed else replace(x, mimic=None) for x in joints]


def first_circle(starts: Iterable[str], following: Mapping[str, str]) -> list[str]:
    """The names of the first circle on the ways from `starts`, or []; each is visited once.

    following: the name after another; a way ends at a name without one.
    """
    safe: set[str] = set()
    for name in starts:
        trail: dict[str, None] = {}  # an ordered set
        while name in following and name not in safe:
            if name in trail:
                return list(trail)[list(trail).index(name) :]
            trail[name] = None
            name = following[name]
        safe.update(trail)
    return []


def _at(where: str) -> str:
    return f"{where}: " if where else ""
