"""Whether the mimic joints of a URDF follow joints that can be followed."""

from collections.abc import Sequence

from kinetree.description.joints import FIXED, SCREW_TYPES
from kinetree.description.records import JointDescription, Note
from kinetree.description.urdf_tree import suggest
from kinetree.description.urdf_values import show
from kinetree.errors import ParseError


def check_mimics(joints: Sequence[JointDescription]) -> tuple[set[str], list[Note]]:
    """Leaders exist, move along one coordinate, and do not follow in a circle.

    Returns the joints whose mimic means nothing because the leader is fixed, with warnings.
    """
    by_name = {joint.name: joint for joint in joints}
    idle: set[str] = set()
    warnings: list[Note] = []
    for joint in (joint for joint in joints if joint.mimic is not None):
        assert joint.mimic is not None
        leader = by_name.get(joint.mimic.joint)
        who = f"joint {show(joint.name)} mimics {show(joint.mimic.joint)}"
        if leader is None:
            hint = suggest(joint.mimic.joint, by_name)
            raise ParseError(f"{joint.where}: {who}, which is no joint of the file.{hint}")
        if leader.type == FIXED:
            idle.add(joint.name)
            text = f"{who}, which is fixed and has no position; the mimic is ignored."
            warnings.append(Note(text, joint.where))
        elif leader.type not in SCREW_TYPES:
            raise ParseError(
                f"{joint.where}: {who}, which is {leader.type}; expected a joint with one "
                "coordinate (revolute, continuous or prismatic)."
            )
    _check_circles(by_name)
    return idle, warnings


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
                    f"{' -> '.join(map(show, circle))}; one of them must move on its own."
                )
            trail.append(name)
            seen.add(name)
            mimic = joints[name].mimic
            if mimic is None:
                break
            name = mimic.joint
        safe.update(trail)
