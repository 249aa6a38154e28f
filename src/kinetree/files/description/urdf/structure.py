"""Checks over all links and joints of a URDF: one tree, and mimic joints that can follow."""

from collections.abc import Sequence
from dataclasses import replace

from kinetree.errors import ParseError
from kinetree.files.description.findings import Findings
from kinetree.files.description.joints import FIXED, SCREW_TYPES
from kinetree.files.description.records import JointDescription, LinkDescription, Note
from kinetree.files.description.tree import check_file_tree, suggestion
from kinetree.files.description.xml import Element, show

WORLD_NAME = "world"
MIMIC_HINT = " Or read the file with mimic=False, so that all joints move on their own."


def check_structure(
    root: Element, links: Sequence[LinkDescription], joints: Sequence[JointDescription]
) -> None:
    """Raise ParseError unless links and joints form one tree."""
    if not links:
        raise ParseError(
            f"{root.place}: the robot has no <link>; expected at least one, in lower case and "
            "directly under <robot>. A xacro file must be expanded first."
        )
    check_file_tree(links, joints, root.tag)


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
            hint = suggestion(joint.mimic.joint, joints)
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
