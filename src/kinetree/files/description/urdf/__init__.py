"""URDF -> records: faithful to the file; every assumption is noted with its line.

`elements` makes records of links and joints. Elements for simulators, <gazebo> and <mujoco>, are
listed in a note; what changes the motion there, such as a spring or a joint that closes a loop, is
a warning.
"""

from functools import partial

from kinetree.errors import ParseError
from kinetree.files.description import records
from kinetree.files.description.element import XACRO_HINT, Part
from kinetree.files.description.findings import Findings
from kinetree.files.description.source import RobotFile
from kinetree.files.description.tree import free_frames, listed, robot_of
from kinetree.files.description.urdf.elements import (
    URDF,
    add_rotors,
    link_shapes,
    read_frame,
    read_joint,
    read_link,
)
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


def read_urdf(file: RobotFile) -> records.RobotDescription:
    """Read the robot of a URDF file; no other file is opened, meshes are kept as paths.

    Raises:
        ParseError: the file is not a URDF; the message has file:line:column and the remedy.
    """
    content = file.content()
    root, findings = parse_xml(content, file.name), Findings()
    if content.lstrip("\ufeff")[:1].isspace() and "<?xml" in content[:4096]:
        findings.warn(root, "blank lines before the XML declaration are skipped.")
    return _robot(root, findings, file.mimic)


def read_xacro(file: RobotFile) -> records.RobotDescription:
    """Read the robot of a xacro file, expanded first; see `expand_xacro`."""
    findings = Findings()
    root, macros = expand_xacro(file, findings)
    if not root.all("link") and macros and root.tag == "robot":
        text = f"the file has no <link> of its own, only macros ({listed(macros, 6)})"
        raise ParseError(f"{root.place}: {text}. Load the file that includes this one.")
    return _robot(root, findings, file.mimic)


def _robot(root: Element, findings: Findings, mimic: bool) -> records.RobotDescription:
    _check_root(root)
    name, version = (root.attributes.get(x, "").strip() for x in ("name", "version"))
    if not name:
        name = "robot"
        findings.warn(root, "<robot> has no name; it is called 'robot'.", "robot-unnamed")
    if version.partition(".")[0] not in ("", "1"):
        findings.warn(root, f"<robot> has version {show(version)}; it is read as version 1.")
    Part(root, f"robot {show(name)}", findings, URDF).checked()
    note_extensions(root, findings)
    links = findings.each(partial(read_link, findings=findings), root.all("link"))
    joints = findings.each(partial(read_joint, findings=findings), root.all("joint"))
    findings.check()
    links = _with_world(links, joints, findings)
    if not links:
        text = "the robot has no <link>; expected some, in lower case, directly under <robot>"
        raise ParseError(f"{root.place}: {text}. To load a xacro file, {XACRO_HINT}.")
    joints = add_rotors(root.all("transmission"), joints, findings)
    given = [(x, read_frame(x, findings)) for x in root.all("frame")]
    frames = tuple(free_frames(given, links, findings))
    shapes = link_shapes(root, findings)
    return robot_of(name, links, joints, shapes, findings, mimic, frames=frames)


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


# elements for simulators: not read, and never in silence


EXTENSIONS = ("gazebo", "mujoco")
MOST_NAMES = 8  # in one note
# elements and attributes that change the motion, with their values that do not
ZERO = ("", "0", "false")
EFFECTS = {
    **dict.fromkeys(("turnGravityOff", "kinematic", "static", "springStiffness"), ZERO),
    **dict.fromkeys(("dampingFactor", "velocity_decay", "fluid_added_mass"), ZERO),
    **dict.fromkeys(("joint", "link"), ()),
    "gravity": ("1", "true"),
    "option.gravity": ("0 0 -9.81",),
    "option.wind": ("0 0 0",),
    **dict.fromkeys(("option.density", "option.viscosity", "compiler.balanceinertia"), ZERO),
    **dict.fromkeys(("compiler.boundmass", "compiler.boundinertia"), ZERO),
    "compiler.settotalmass": ("-1",),
    "compiler.inertiafromgeom": ("false", "auto"),
}


def note_extensions(root: Element, findings: Findings) -> None:
    """Add a note on the contents of the elements for simulators, and warn of what matters."""
    for element in (x for x in root.children if x.tag in EXTENSIONS):
        names = list(dict.fromkeys(f"<{clip(x.tag)}>" for x in element.children))
        more = " ..." if len(names) > MOST_NAMES else ""
        listed = ", ".join(names[:MOST_NAMES]) + more
        findings.count(element, f"<{element.tag}> is for simulators and is not read: {listed}")
        of = element.attributes.get("reference", "").strip()
        owner = f"<{element.tag}>{f' of {show(of)}' if of else ''}"
        for child in element.children:
            values = {child.tag: child.value} if child.tag in EFFECTS else {}
            values |= {f"{child.tag}.{key}": value for key, value in child.attributes.items()}
            for name, value in values.items():
                if name in EFFECTS and not _is_idle(value, EFFECTS[name]):
                    tag, _, key = name.partition(".")
                    what = f"{key} of <{tag}>" if key else f"<{tag}>"
                    text = f"{what} changes the motion there and is not read."
                    findings.warn_together(child, text, owner)


def _is_idle(value: str, idle: tuple[str, ...]) -> bool:
    value = " ".join(value.lower().split())
    try:
        return value in idle or (idle is ZERO and float(value) == 0)
    except ValueError:
        return False
