"""URDF -> records: faithful to the file; every assumption is noted with its line.

`parts` reads values strictly, `vocabulary` reports unknown elements; `elements` makes records of
links and joints, and checks that they form a tree; `transmissions` adds rotors.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kinetree.errors import InputError, ParseError
from kinetree.files.description.collisions import Collisions, with_own_names
from kinetree.files.description.findings import Findings
from kinetree.files.description.joints import FIXED
from kinetree.files.description.records import (
    ArgumentValue,
    FrameDescription,
    LinkDescription,
    RobotDescription,
)
from kinetree.files.description.source import decode, path_text, read_bytes
from kinetree.files.description.urdf.elements import (
    add_world,
    check_structure,
    follow,
    read_collisions,
    read_frame,
    read_joint,
    read_link,
    read_meshes,
)
from kinetree.files.description.urdf.transmissions import add_rotors
from kinetree.files.description.urdf.vocabulary import XACRO_HINT, check_words, note_extensions
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


def read_urdf(
    path: str | os.PathLike[str],
    *,
    package_paths: Sequence[str | os.PathLike[str]] = (),
    mimic: bool = True,
    arguments: Mapping[str, ArgumentValue] | None = None,
    environment: bool = False,
) -> RobotDescription:
    """Read the robot of a URDF file, or of a .xacro file, which is expanded first.

    No other file is opened for a URDF: meshes are kept as paths. A xacro file reads the files that
    it includes, in its own package, in packages that it uses and in `package_paths`.

    Args:
        path: the file.
        package_paths: folders with ROS packages, for $(find ...) in xacro files.
        mimic: False leaves every <mimic> out, right or wrong; all joints then move on their own.
        arguments: values of the <xacro:arg> elements of a xacro file.
        environment: whether a xacro file sees environment variables.

    Raises:
        ParseError: the file is not a URDF; the message has file:line:column and the remedy.
    """
    file = Path(path_text(path)).name
    if not file.lower().endswith(".xacro"):
        refuse_arguments(file, arguments)
        return read_urdf_text(read_bytes(path), name=file, mimic=mimic)
    return read_xacro(path, package_paths, mimic, arguments, None, environment)


def read_xacro(
    path: str | os.PathLike[str],
    package_paths: Sequence[str | os.PathLike[str]] = (),
    mimic: bool = True,
    arguments: Mapping[str, ArgumentValue] | None = None,
    text: str | None = None,
    environment: bool = False,
) -> RobotDescription:
    """Read the robot of a xacro file, or of a text called `path`; the rest as of `read_urdf`."""
    findings = Findings()
    expanded = expand_xacro(path, package_paths, arguments, findings, text, environment)
    if not expanded.root.all("link") and expanded.macros and expanded.root.tag == "robot":
        names = ", ".join(expanded.macros[:6])
        raise ParseError(
            f"{expanded.root.place}: the file has no <link> of its own: it defines macros "
            f"({names}{' and more' if len(expanded.macros) > 6 else ''}) and calls none that makes "
            "one. Load the file that includes this one."
        )
    return _robot(expanded.root, findings, mimic)


def refuse_arguments(file: str, arguments: Mapping[str, ArgumentValue] | None) -> None:
    """Raise InputError if arguments are given for a file that takes none."""
    if arguments:
        raise InputError(
            f"{file} takes no arguments, found {', '.join(map(str, arguments))}; expected them for "
            ".xacro files only. Leave arguments= (--arg) out, or load the .xacro file."
        )


def read_urdf_text(
    text: str | bytes, *, name: str = "robot.urdf", mimic: bool = True
) -> RobotDescription:
    """Read the robot of a URDF text; `name` is the file in messages, the rest as of `read_urdf`."""
    text = decode(text, name)
    root = parse_xml(text, name)
    findings = Findings()
    if text.lstrip("\ufeff")[:1].isspace() and "<?xml" in text[:4096]:
        findings.warn(root, "blank lines before the XML declaration are skipped.")
    return _robot(root, findings, mimic)


def _warn_of_quaternions(root: Element, findings: Findings) -> None:
    """Warn of links and joints with quat_xyzw, which belongs to version 1.1 of URDF."""
    text = (
        "quat_xyzw is applied, and programs that follow the version of <robot> ignore it; add "
        'version="1.1" to <robot>, or write rpy.'
    )
    for owner in (*root.all("link"), *root.all("joint")):
        inside = [x for child in owner.children for x in (child, *child.children)]
        if any(x.tag == "origin" and "quat_xyzw" in x.attributes for x in inside):
            name = owner.attributes.get("name", "")
            findings.warn_together(owner, text, f"{owner.tag} {show(name)}")


def _robot(root: Element, findings: Findings, mimic: bool) -> RobotDescription:
    _check_root(root)
    name = root.attributes.get("name", "").strip()
    if not name:
        name = "robot"
        findings.warn(root, "<robot> has no name; it is called 'robot'.")
    version = root.attributes.get("version", "1.0").strip()
    if version.partition(".")[0] != "1":
        findings.warn(root, f"<robot> has version {show(version)}; it is read as version 1.")
    if version in ("1", "1.0"):
        _warn_of_quaternions(root, findings)
    check_words(root, f"robot {show(name)}", findings)
    note_extensions(root, findings)
    links = [read_link(element, findings) for element in root.all("link")]
    joints = [read_joint(element, findings) for element in root.all("joint")]
    links = add_world(links, joints, findings)
    check_structure(root, links, joints)
    joints = follow(joints, findings) if mimic else [replace(j, mimic=None) for j in joints]
    joints = add_rotors(root.all("transmission"), joints, findings)
    moving = {joint.child for joint in joints if joint.type != FIXED}
    empty = {link.name for link in links if not link.bodies}
    if len(moving) > 1 and moving <= empty:
        findings.note(root, "no link that moves has an <inertial>: all are massless.")
        empty = set[str]()
    for element in root.all("link"):
        link = element.attributes["name"]
        if link in moving and link in empty:
            findings.note(element, f"link {show(link)} moves but has no <inertial>: massless.")
    frames = _frames(root, links, findings)
    meshes = [mesh for element in root.all("link") for mesh in read_meshes(element, findings)]
    return RobotDescription(
        name=name,
        links=tuple(links),
        joints=tuple(joints),
        frames=tuple(frames),
        notes=findings.all_notes(),
        warnings=findings.all_warnings(),
        meshes=tuple(meshes),
        collisions=Collisions(with_own_names(read_collisions(root))),
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


def _frames(
    root: Element, links: list[LinkDescription], findings: Findings
) -> list[FrameDescription]:
    """Frames on links that exist, with names that are free; warn about the others."""
    names = {link.name for link in links}
    taken = set(names)
    frames: list[FrameDescription] = []
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
