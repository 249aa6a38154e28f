"""Documents of SDF: the versions that are read, of which 1.2 to 1.6 are written as 1.7.

These elements have a meaning that depends on the version:

- Axis of a joint: up to 1.4 in the axes of the model, in 1.5 and 1.6 only where it has
  <use_parent_model_frame>; since 1.7, expressed_in="__model__".
- Gravity: in <physics> up to 1.5; since 1.6, in <world>.
- frame of <pose>: the format never gave it a meaning, so `read_pose` refuses one with a name.
- Names: a joint may have the name of a link; `Reader.joint` keeps the two apart.

All else means the same in each version. The source is the list of conversions that the
specification of SDFormat has for each version.
"""

from dataclasses import dataclass
from pathlib import Path

from kinetree.errors import ParseError
from kinetree.files.description.element import Part
from kinetree.files.description.findings import Findings
from kinetree.files.description.sdf.words import MODEL_FRAME, SDF, WORLD, flag_of, part_of
from kinetree.files.description.xml import Element, clip, show

FIRST_WITH_FRAMES = (1, 7)  # poses relative to named frames, axes expressed in them
FIRST_WITH_JOINT_AXES = (1, 5)  # axes are in the frame of the joint
FIRST_WITH_WORLD_GRAVITY = (1, 6)
PARENT_FLAG = "use_parent_model_frame"
OLDEST, NEWEST = (1, 2), (1, 12)
UPGRADE = "Convert the file with 'gz sdf -p FILE > NEW.sdf', which writes the newest version"


@dataclass(frozen=True)
class Document:
    """The root <sdf> of a file, its version, and the folder of the file; None for a text."""

    root: Element
    version: tuple[int, int]
    folder: Path | None
    chain: tuple[Path, ...] = ()  # real paths of this file and of those that include it


def document(root: Element, folder: Path | None, chain: tuple[Path, ...] = ()) -> Document:
    """The document of a root, its version checked, its elements those of SDF 1.7."""
    if root.tag != "sdf":
        hint = {
            "robot": "this is URDF; let the name of the file end with .urdf",
            "mujoco": "this is MJCF; let the name of the file end with .xml",
            "gazebo": "this is SDF before 1.3; convert it with 'gz sdf -p FILE > NEW.sdf'",
            "model": "put it into <sdf version='1.9'> ... </sdf>",
            "world": "put it into <sdf version='1.9'> ... </sdf>",
        }.get(root.tag, "check that this is an SDF file")
        raise ParseError(f"{root.place}: the root is <{clip(root.tag)}>, expected <sdf>; {hint}.")
    version = version_of(root)
    if version is None:
        written = root.attributes.get("version")
        what = "no version" if written is None else f"version {show(written)}"
        raise ParseError(f"{root.place}: <sdf> has {what}; expected one such as version='1.9'.")
    if version[0] > NEWEST[0]:
        raise ParseError(
            f"{root.place}: this is SDF {version[0]}.{version[1]}; expected {OLDEST[0]}."
            f"{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}, the versions known here."
        )
    if version < OLDEST:
        raise ParseError(
            f"{root.place}: this is SDF {version[0]}.{version[1]}; expected {OLDEST[0]}."
            f"{OLDEST[1]} or later, since elements had other names before. {UPGRADE}."
        )
    _renew(root, version)
    return Document(root, version, folder, chain)


def check_newest(found: Document, findings: Findings) -> None:
    """Warn about a version that is newer than the ones known here."""
    if found.version > NEWEST:
        text = f"SDF {found.version[0]}.{found.version[1]} is newer than the versions known here"
        findings.warn(found.root, f"{text}; it is read as {NEWEST[0]}.{NEWEST[1]}.")
    part_of(found.root, "<sdf>", findings)


def version_of(element: Element) -> tuple[int, int] | None:
    """The version of an element as two numbers; None if it has no such attribute."""
    words = element.attributes.get("version", "").strip().split(".")
    if len(words) < 2 or not all(x.isascii() and x.isdigit() and len(x) < 6 for x in words[:2]):
        return None
    return int(words[0]), int(words[1])


def _renew(root: Element, version: tuple[int, int]) -> None:
    """Change a document that was just parsed to one of SDF 1.7 with the same meaning."""
    if version >= FIRST_WITH_FRAMES:
        return
    if version < FIRST_WITH_WORLD_GRAVITY:
        for world in root.all(WORLD):
            for physics in world.all("physics"):
                world.children += physics.all("gravity")
    waiting = [root]
    while waiting:
        element = waiting.pop()
        waiting += element.children
        if element.tag == "joint":
            for axis in (*element.all("axis"), *element.all("axis2")):
                _renew_axis(element, axis, version < FIRST_WITH_JOINT_AXES)


def _renew_axis(joint: Element, axis: Element, default: bool) -> None:
    """Write <use_parent_model_frame> as expressed_in; `default`: its value where it is absent."""
    part = Part(axis, f"joint {show(joint.attributes.get('name', ''))}", Findings(), SDF)
    in_model = flag_of(part, PARENT_FLAG, default)
    axis.children = [child for child in axis.children if child.tag != PARENT_FLAG]
    if not in_model:
        return
    if not axis.all("xyz"):  # the default axis is in the axes of the model, too
        axis.children.append(Element("xyz", {}, axis.file, axis.line, axis.column, text="0 0 1"))
    xyz = axis.all("xyz")[0]
    if xyz.attributes.setdefault("expressed_in", MODEL_FRAME) != MODEL_FRAME:
        raise part.fault(
            "<xyz> has expressed_in of SDF 1.7, and by the version of the file its axis is in the "
            "frame of the model; correct the version of <sdf>, or remove expressed_in."
        )
