"""The words of SDF, its values and its versions, of which 1.2 to 1.6 are changed to 1.7.

SDF writes most values as the text of an element. Elements of other programs are counted in the
report; anything else that is not read is warned about, since it may change the dynamics.

These elements have a meaning that depends on the version:

- Axis of a joint: up to 1.4 in the axes of the model, in 1.5 and 1.6 only where it has
  <use_parent_model_frame>; since 1.7, expressed_in="__model__".
- Gravity: in <physics> up to 1.5; since 1.6, in <world>.
- frame of <pose>: the format never gave it a meaning, so `read_pose` refuses one with a name.
- Names: a joint may have the name of a link; `Reader.joint` keeps the two apart.

All else means the same in each version. The source is the list of conversions that the
specification of SDFormat has for each version.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import ParseError
from kinetree.files.description.element import MAX_NAME, Format, Part, known_words
from kinetree.files.description.findings import Findings
from kinetree.files.description.xml import Element, clip, show

SEPARATOR = "::"  # between the names of nested models
WORLD = "world"
MODEL_FRAME = "__model__"
FLAGS = {"true": True, "1": True, "false": False, "0": False}
ENDLESS = 1e16  # SDF's own default before 1.9; this and more means "no limit"
AXIS = "xyz dynamics limit mimic"
WORDS = known_words(
    sdf="world model | version | light actor",
    world="model include joint frame gravity | name | audio wind magnetic_field atmosphere gui "
    "physics scene light actor plugin road spherical_coordinates state population",
    model="static pose link joint frame model include | name canonical_link placement_frame "
    "namespace | self_collide allow_auto_disable plugin gripper enable_wind",
    include="uri name pose static placement_frame | merge | plugin namespace",
    link="pose inertial gravity kinematic velocity_decay visual collision | name | self_collide "
    "must_be_base_link enable_wind sensor projector audio_sink audio_source battery light "
    "particle_emitter",
    velocity_decay="linear angular",
    inertial="pose mass inertia | auto | density auto_inertia_params",
    inertia="ixx iyy izz ixy ixz iyz",
    joint="parent child pose axis axis2 thread_pitch screw_thread_pitch | name type | physics "
    "sensor gearbox_ratio gearbox_reference_body",
    axis=AXIS,
    axis2=AXIS,
    dynamics="damping friction spring_reference spring_stiffness",
    limit="lower upper effort velocity | | stiffness dissipation",
    mimic="multiplier offset reference | joint axis",
    frame="pose | name attached_to",
    pose="TEXT | relative_to frame rotation_format degrees",
    xyz="TEXT | expressed_in",
)
SDF = Format(WORDS, in_text=True)


def part_of(element: Element, owner: str, findings: Findings) -> Part:
    """The element as a part, after warnings about all in it that is not read."""
    return Part(element, owner, findings, SDF).checked()


def limit_of(part: Part, tag: str, default: float) -> float:
    """The number in a child, infinite if it is ENDLESS or beyond, or the word inf."""
    text = part.text(tag)
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return -math.inf if text.startswith("-") else math.inf
    value = part.number(tag, default, math.inf)
    return math.copysign(math.inf, value) if abs(value) >= ENDLESS else value


def flag_of(part: Part, tag: str, default: bool = False) -> bool:
    """The truth value in a child; `default` if there is no such child."""
    child = part.child(tag)
    return default if child is None else _flag(child, child.element.value, f"<{tag}>")


def flag_attribute(part: Part, name: str) -> bool:
    """The truth value of an attribute; False if it is absent."""
    return _flag(part, part.attributes.get(name, "false"), f"{name} of <{part.element.tag}>")


def _flag(part: Part, text: str, what: str) -> bool:
    value = FLAGS.get(text.strip().lower())
    if value is None:
        raise part.fault(f"{what} is {show(text.strip())}; expected true or false.")
    return value


def check_name(part: Part, name: str, is_strict: bool) -> str:
    """The name, unless SDF reserves it; `is_strict`: "::" is not allowed (SDF 1.8)."""
    is_reserved = name == WORLD or (name.startswith("__") and name.endswith("__"))
    if is_reserved or (is_strict and SEPARATOR in name):
        raise part.fault(f"the name {show(name)} is reserved by SDF, as '::' is; choose another.")
    if not name.strip() or len(name) > MAX_NAME:
        raise part.fault(f"the name has {len(name)} characters; expected 1 to {MAX_NAME}.")
    return name


def read_pose(owner: Part) -> tuple[Array, str]:
    """The <pose> of an element, shape (4, 4), and the name of the frame that it is relative to.

    The identity and an empty name where there is none. Six numbers are x y z roll pitch yaw,
    seven with rotation_format="quat_xyzw" x y z and a quaternion.
    """
    part = owner.child("pose")
    if part is None:
        return np.eye(4), ""
    attributes, text = part.element.attributes, part.element.value
    if attributes.get("frame", "").strip():  # an empty one, as Gazebo writes it, has no effect
        text = f"<pose> has frame={show(attributes['frame'])}, on which programs disagree"
        raise part.fault(f"{text}; expected relative_to, and version='1.7' or later of <sdf>.")
    form = attributes.get("rotation_format", "euler_rpy")
    if form not in ("euler_rpy", "quat_xyzw"):
        raise part.fault(f"rotation_format is {show(form)}; expected euler_rpy or quat_xyzw.")
    in_degrees = flag_attribute(part, "degrees")
    relative_to = attributes.get("relative_to", "").strip()
    if not text:
        return np.eye(4), relative_to
    written = f"<pose>{clip(text)}</pose>"
    numbers = part.own_numbers(6 if form == "euler_rpy" else 7)
    if form == "euler_rpy":
        return part.place(numbers[:3], numbers[3:], written, in_degrees), relative_to
    if in_degrees:
        raise part.fault("<pose> has a quaternion and degrees='true'; remove one of them.")
    return part.turned(numbers[:3], numbers[3:], written), relative_to


# versions

FIRST_WITH_FRAMES = (1, 7)  # poses relative to named frames, axes expressed in them
FIRST_WITH_JOINT_AXES = (1, 5)  # axes are in the frame of the joint
FIRST_WITH_WORLD_GRAVITY = (1, 6)
PARENT_FLAG = "use_parent_model_frame"
OLDEST, NEWEST = (1, 2), (1, 12)
OTHER_ROOTS = {
    "robot": "this is URDF; let the name of the file end with .urdf",
    "mujoco": "this is MJCF; let the name of the file end with .xml",
    "gazebo": "this is SDF before 1.3; convert it with 'gz sdf -p FILE > NEW.sdf'",
    "model": "put it into <sdf version='1.9'> ... </sdf>",
    "world": "put it into <sdf version='1.9'> ... </sdf>",
}


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
        hint = OTHER_ROOTS.get(root.tag, "check that this is an SDF file")
        raise ParseError(f"{root.place}: the root is <{clip(root.tag)}>, expected <sdf>; {hint}.")
    version, written = version_of(root), root.attributes.get("version")
    if version is None or version < OLDEST or version[0] > NEWEST[0]:
        text = f"<sdf> has the version {show(written or '')}; expected 1.2 to 1.12"
        raise ParseError(f"{root.place}: {text}. 'gz sdf -p FILE > NEW.sdf' converts older files.")
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
    for joint in (x for x in root.below() if x.tag == "joint"):
        for axis in (*joint.all("axis"), *joint.all("axis2")):
            _renew_axis(joint, axis, version < FIRST_WITH_JOINT_AXES)


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
        raise part.fault("<xyz> has expressed_in of SDF 1.7; correct the version, or remove it.")
