"""Whether the mimic joints of a URDF follow joints that can be followed."""

from collections.abc import Sequence
from dataclasses import replace

from kinetree.description.joints import FIXED, SCREW_TYPES
from kinetree.description.records import JointDescription, Note
from kinetree.description.urdf_findings import Findings
from kinetree.description.urdf_tree import suggest
from kinetree.description.urdf_values import show
from kinetree.errors import ParseError

WAY_OUT = " Or read the file with mimic=False, so that all joints move on their own."


def follow(joints: Sequence[JointDescription], findings: Findings) -> list[JointDescription]:
    """The joints, once leaders are known to exist, to have one coordinate and to form no circle.

    A leader that is fixed leads nobody: its followers move on their own, with a warning.
    """
    by_name = {joint.name: joint for joint in joints}
    _check_leaders(by_name)
    _check_circles(by_name)
    result = list(joints)
    for k, joint in enumerate(joints):
        if joint.mimic is not None and by_name[joint.mimic.joint].type == FIXED:
            text = f"{_who(joint)}, which is fixed and has no position; the mimic is ignored."
            findings.warnings.append(Note(text, joint.where))
            result[k] = replace(joint, mimic=None)
    return result


def _check_leaders(joints: dict[str, JointDescription]) -> None:
    for joint in joints.values():
        if joint.mimic is None:
            continue
        leader = joints.get(joint.mimic.joint)
        if leader is None:
            hint = suggest(joint.mimic.joint, joints)
            text = f"{_who(joint)}, which is no joint of the file.{hint}"
            raise ParseError(f"{joint.where}: {text}{WAY_OUT}")
        if leader.type not in (*SCREW_TYPES, FIXED):
            raise ParseError(
                f"{joint.where}: {_who(joint)}, which is {leader.type}; expected a joint with one "
                f"coordinate (revolute, continuous or prismatic).{WAY_OUT}"
            )


def _who(joint: JointDescription) -> str:
    leader = "" if joint.mimic is None else joint.mimic.joint
    return f"joint {show(joint.name)} mimics {show(leader)}"


def _check_circles(joints: dict[str, JointDescription]) -> None:
    safe: set[str] = set()
    for start in joints:
        trail: list[str] = []
        seen: set[str] = set()
        name = start
        while name not in safe:
            if name in seen:
                circle = [*trail[trail.index(name) :][:8], name]
                raise ParseError(
                    f"{joints[name].where}: mimic joints follow each other in a circle: "
                    f"{' -> '.join(map(show, circle))}; one of them must move on its own.{WAY_OUT}"
                )
            trail.append(name)
            seen.add(name)
            mimic = joints[name].mimic
            if mimic is None:
                break
            name = mimic.joint
        safe.update(trail)
