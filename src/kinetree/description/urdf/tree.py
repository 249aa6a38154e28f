"""Checks over all links and joints of a URDF: one tree, and mimic joints that can follow."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches

from kinetree.description.findings import Findings
from kinetree.description.joints import FIXED, SCREW_TYPES
from kinetree.description.records import JointDescription, LinkDescription, Note
from kinetree.description.xml import show
from kinetree.errors import ParseError

WORLD_NAME = "world"
MIMIC_HINT = " Or read the file with mimic=False, so that all joints move on their own."


def add_world(
    links: list[LinkDescription], joints: list[JointDescription], findings: Findings
) -> list[LinkDescription]:
    """The links, with a massless 'world' when joints hang on it though it is not declared."""
    users = [joint for joint in joints if joint.parent == WORLD_NAME]
    if not users or any(link.name == WORLD_NAME for link in links):
        return links
    text = f"joint {show(users[0].name)} has parent 'world', which is not declared; a massless "
    findings.warnings.append(Note(f"{text}link 'world' is added as the root.", users[0].where))
    return [LinkDescription(WORLD_NAME, where=users[0].where), *links]


def check_tree(
    links: Sequence[LinkDescription], joints: Sequence[JointDescription], place: str
) -> None:
    """Raise ParseError unless links and joints form one tree.

    place: file:line:column of the robot.
    """
    if not links:
        raise ParseError(
            f"{place}: the robot has no <link>; expected at least one, in lower case and directly "
            "under <robot>. A xacro file must be expanded first."
        )
    _check_names(links, "link")
    _check_names(joints, "joint")
    parents = _parents({link.name for link in links}, joints)
    _check_loops(parents)
    roots = [link for link in links if link.name not in parents]
    if len(roots) > 1:
        found = ", ".join(f"{show(root.name)} ({root.where})" for root in roots[:8])
        more = "" if len(roots) <= 8 else f" and {len(roots) - 8} more"
        raise ParseError(
            f"{roots[1].where}: {len(roots)} links have no parent: {found}{more}; expected one "
            "root. Connect the others by joints (of type 'fixed' if they do not move)."
        )


def _check_names(entries: Sequence[LinkDescription | JointDescription], kind: str) -> None:
    first: dict[str, str] = {}
    for entry in entries:
        if entry.name in first:
            raise ParseError(
                f"{entry.where}: two {kind}s are called {show(entry.name)}, the other at "
                f"{first[entry.name]}; every {kind} needs its own name."
            )
        first[entry.name] = entry.where


def _parents(names: set[str], joints: Sequence[JointDescription]) -> dict[str, JointDescription]:
    """The joint above each link."""
    parents: dict[str, JointDescription] = {}
    for joint in joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in names:
                raise ParseError(
                    f"{joint.where}: joint {show(joint.name)} has {end} {show(link)}, which is not "
                    f"a link of the file.{_suggestion(link, names)}"
                )
        if joint.parent == joint.child:
            raise ParseError(
                f"{joint.where}: joint {show(joint.name)} joins {show(joint.child)} to itself; "
                "expected two different links as parent and child."
            )
        if joint.child in parents:
            other = parents[joint.child]
            raise ParseError(
                f"{joint.where}: link {show(joint.child)} is the child of two joints, "
                f"{show(other.name)} ({other.where}) and {show(joint.name)}; a tree allows one. "
                "Cut the loop at one of them."
            )
        parents[joint.child] = joint
    return parents


def _check_loops(parents: dict[str, JointDescription]) -> None:
    """Raise if a link is above itself; each link is visited once."""
    safe: set[str] = set()
    for start in parents:
        trail: dict[str, JointDescription] = {}
        link = start
        while link in parents and link not in safe:
            if link in trail:
                loop = list(trail.values())[list(trail).index(link) :]
                names = ", ".join(show(joint.name) for joint in loop[:8])
                raise ParseError(
                    f"{loop[0].where}: joints {names} form a loop of links, here {show(link)}; "
                    "expected a tree with one link that is not a child. Cut the loop at one joint."
                )
            trail[link] = parents[link]
            link = parents[link].parent
        safe.update(trail)


def follow(joints: Sequence[JointDescription], findings: Findings) -> list[JointDescription]:
    """The joints, after a check that leaders exist, have one coordinate and form no circle.

    The followers of a fixed joint move on their own, with a warning.
    """
    by_name = {joint.name: joint for joint in joints}
    _check_leaders(by_name)
    _check_circles(by_name)
    result = list(joints)
    for k, joint in enumerate(joints):
        if joint.mimic is not None and by_name[joint.mimic.joint].type == FIXED:
            text = f"{_mimics(joint)}, which is fixed and has no position; the mimic is ignored."
            findings.warnings.append(Note(text, joint.where))
            result[k] = replace(joint, mimic=None)
    return result


def _check_leaders(joints: dict[str, JointDescription]) -> None:
    for joint in joints.values():
        if joint.mimic is None:
            continue
        leader = joints.get(joint.mimic.joint)
        if leader is None:
            hint = _suggestion(joint.mimic.joint, joints)
            text = f"{_mimics(joint)}, which is not a joint of the file.{hint}"
            raise ParseError(f"{joint.where}: {text}{MIMIC_HINT}")
        if leader.type not in (*SCREW_TYPES, FIXED):
            raise ParseError(
                f"{joint.where}: {_mimics(joint)}, which is {leader.type}; expected a joint with "
                f"one coordinate (revolute, continuous or prismatic).{MIMIC_HINT}"
            )


def _check_circles(joints: dict[str, JointDescription]) -> None:
    safe: set[str] = set()
    for start in joints:
        trail: dict[str, None] = {}  # an ordered set
        name = start
        while name not in safe:
            if name in trail:
                circle = [*list(trail)[list(trail).index(name) :][:8], name]
                raise ParseError(
                    f"{joints[name].where}: mimic joints follow each other in a circle: "
                    f"{' -> '.join(map(show, circle))}; one of them must move on its own."
                    f"{MIMIC_HINT}"
                )
            trail[name] = None
            mimic = joints[name].mimic
            if mimic is None:
                break
            name = mimic.joint
        safe.update(trail)


def _mimics(joint: JointDescription) -> str:
    leader = "" if joint.mimic is None else joint.mimic.joint
    return f"joint {show(joint.name)} mimics {show(leader)}"


def _suggestion(name: str, names: Iterable[str]) -> str:
    """A hint: the nearest of the known names, or a few of them."""
    known = sorted(names)
    same = [other for other in known if other.strip().lower() == name.strip().lower()]
    near = same or get_close_matches(name[:60], known[:2000], 1)
    if near:
        return f" Was {show(near[0])} meant? (Case and blanks count.)"
    some = ", ".join(map(show, known[:8]))
    return f" There are {some}{' and more' if len(known) > 8 else ''}."
