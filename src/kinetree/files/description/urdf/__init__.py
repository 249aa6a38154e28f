"""URDF -> records: faithful to the file; every assumption is noted with its line.

`elements` makes records of links and joints, `extensions` reports what is for simulators.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kinetree.errors import ParseError
from kinetree.files.description import records
from kinetree.files.description.collisions import Collisions, with_own_names
from kinetree.files.description.element import XACRO_HINT, Part
from kinetree.files.description.findings import Findings
from kinetree.files.description.joints import FIXED
from kinetree.files.description.source import decode, path_text, read_bytes
from kinetree.files.description.tree import check_file_tree, follow, listed
from kinetree.files.description.urdf.elements import (
    URDF,
    add_rotors,
    link_shapes,
    read_frame,
    read_joint,
    read_link,
)
from kinetree.files.description.urdf.extensions import note_extensions
from kinetree.files.description.xacro import expand_xacro
from kinetree.files.description.xml import Element, clip, parse_xml, show

SDF_HINT = "this is SDF; rename the file to .sdf and load it again"
OTHER_ROOTS = {
    "mujoco": "this is MJCF; rename the file to .xml and load it again",
    "mujocoinclude": "this is a part of an MJCF model; read the file that includes it",
    "sdf": SDF_HINT,
    "gazebo": SDF_HINT,
    "model": SDF_HINT,
    "world": SDF_HINT,
    "COLLADA": "this is a Collada mesh; give the URDF that uses it",
    "html": "this is a web page; download the raw file instead",
    "package": "this is the package.xml of a ROS package; give the URDF in it",
    "launch": "this is a ROS launch file; give the URDF that it loads",
}
WORLD_NAME = "world"


def read_urdf(
    path: str | os.PathLike[str], *, mimic: bool = True, text: str | bytes | None = None
) -> records.RobotDescription:
    """Read the robot of a URDF file; no other file is opened, meshes are kept as paths.

    Args:
        path: the file.
        mimic: False leaves every <mimic> out, right or wrong; all joints then move on their own.
        text: the content, if it is not in a file; `path` is then its name in messages.

    Raises:
        ParseError: the file is not a URDF; the message has file:line:column and the remedy.
    """
    name = Path(path_text(path)).name
    content = decode(read_bytes(path) if text is None else text, name)
    root, findings = parse_xml(content, name), Findings()
    if content.lstrip("\ufeff")[:1].isspace() and "<?xml" in content[:4096]:
        findings.warn(root, "blank lines before the XML declaration are skipped.")
    return _robot(root, findings, mimic)


def read_xacro(
    path: str | os.PathLike[str],
    folders: Sequence[str | os.PathLike[str]] = (),
    mimic: bool = True,
    arguments: Mapping[str, records.ArgumentValue] | None = None,
    text: str | None = None,
    environment: bool = False,
) -> records.RobotDescription:
    """Read the robot of a xacro file, or of a text called `path`, expanded first.

    It reads the files that it includes, in its own package, in packages that it uses and in
    `folders`; see `expand_xacro`.
    """
    findings = Findings()
    expanded = expand_xacro(path, folders, arguments, findings, text, environment)
    if not expanded.root.all("link") and expanded.macros and expanded.root.tag == "robot":
        raise ParseError(
            f"{expanded.root.place}: the file has no <link> of its own: it defines macros "
            f"({listed(expanded.macros, 6)}) and calls none that makes one. Load the file that "
            "includes this one."
        )
    return _robot(expanded.root, findings, mimic)


def _robot(root: Element, findings: Findings, mimic: bool) -> records.RobotDescription:
    _check_root(root)
    name = root.attributes.get("name", "").strip()
    if not name:
        name = "robot"
        findings.warn(root, "<robot> has no name; it is called 'robot'.", "robot-unnamed")
    _check_version(root, findings)
    Part(root, f"robot {show(name)}", findings, URDF).checked()
    note_extensions(root, findings)
    links = findings.each(partial(read_link, findings=findings), root.all("link"))
    joints = findings.each(partial(read_joint, findings=findings), root.all("joint"))
    findings.check()
    links = _with_world(links, joints, findings)
    if not links:
        raise ParseError(
            f"{root.place}: the robot has no <link>; expected at least one, in lower case and "
            f"directly under <robot>. To load a xacro file, {XACRO_HINT}."
        )
    check_file_tree(links, joints, root.tag)
    joints = follow(joints, findings) if mimic else [replace(j, mimic=None) for j in joints]
    joints = add_rotors(root.all("transmission"), joints, findings)
    _note_massless(links, joints, root, findings)
    frames = _frames(root, links, findings)
    shapes = link_shapes(root, findings)
    return records.RobotDescription(
        name=name,
        links=tuple(links),
        joints=tuple(joints),
        frames=tuple(frames),
        notes=findings.all_notes(),
        warnings=findings.all_warnings(),
        meshes=tuple(mesh for meshes, _ in shapes for mesh in meshes),
        collisions=Collisions(with_own_names(x for _, solids in shapes for x in solids)),
    )


def _check_root(root: Element) -> None:
    if root.tag == "robot":
        return
    known = OTHER_ROOTS.get(root.tag) or OTHER_ROOTS.get(root.tag.lower())
    if root.tag.lower() == "robot":
        known = "URDF is case sensitive, write it in lower case"
    elif root.tag.startswith("xacro:"):
        known = XACRO_HINT
    hint = known or "is it a URDF file?"
    raise ParseError(f"{root.place}: the root is <{clip(root.tag)}>, expected <robot>; {hint}.")


def _check_version(root: Element, findings: Findings) -> None:
    """Warn of an unknown version, and of quat_xyzw of URDF 1.1 in a file of version 1.0."""
    version = root.attributes.get("version", "1.0").strip()
    if version.partition(".")[0] != "1":
        findings.warn(root, f"<robot> has version {show(version)}; it is read as version 1.")
    if version not in ("1", "1.0"):
        return
    text = (
        "quat_xyzw is applied, and programs that follow the version of <robot> ignore it; add "
        'version="1.1" to <robot>, or write rpy.'
    )
    for owner in (*root.all("link"), *root.all("joint")):
        inside = [x for child in owner.children for x in (child, *child.children)]
        if any(x.tag == "origin" and "quat_xyzw" in x.attributes for x in inside):
            name = show(owner.attributes.get("name", ""))
            findings.warn_together(owner, text, f"{owner.tag} {name}")


def _with_world(
    links: list[records.LinkDescription], joints: list[records.JointDescription], findings: Findings
) -> list[records.LinkDescription]:
    """The links, with a massless 'world' when joints hang on it though it is not declared."""
    users = [joint for joint in joints if joint.parent == WORLD_NAME]
    if not users or any(link.name == WORLD_NAME for link in links):
        return links
    text = f"joint {show(users[0].name)} has parent 'world', which is not declared; a massless "
    note = records.Note(
        f"{text}link 'world' is added as the root.", users[0].where, code="no-world"
    )
    findings.warnings.append(note)
    return [records.LinkDescription(WORLD_NAME, where=users[0].where), *links]


def _note_massless(
    links: list[records.LinkDescription],
    joints: list[records.JointDescription],
    root: Element,
    findings: Findings,
) -> None:
    moving = {joint.child for joint in joints if joint.type != FIXED}
    empty = [link for link in links if not link.bodies and link.name in moving]
    if len(moving) > 1 and len(empty) == len(moving):
        findings.note(root, "no link that moves has an <inertial>: all are massless.")
        return
    for link in empty:
        text = f"link {show(link.name)} moves but has no <inertial>: massless."
        findings.notes.append(records.Note(text, link.where))


def _frames(
    root: Element, links: list[records.LinkDescription], findings: Findings
) -> list[records.FrameDescription]:
    """Frames on links that exist, with names that are free; warn about the others."""
    names = {link.name for link in links}
    taken = set(names)
    frames: list[records.FrameDescription] = []
    for element in root.all("frame"):
        frame = read_frame(element, findings)
        owner = f"frame {show(frame.name)}"
        if frame.link not in names:
            findings.warn(element, f"{owner} is fixed to {show(frame.link)}, which is not a link.")
        elif frame.name in taken:
            findings.warn(element, f"{owner} has the name of another frame or link; skipped.")
        else:
            frames.append(frame)
            taken.add(frame.name)
    return frames
