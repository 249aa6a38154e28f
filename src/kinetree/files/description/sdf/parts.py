"""Values in the elements of an SDF file: numbers, flags, names and poses, read strictly.

SDF writes most values as the text of an element. `VOCABULARY` lists the elements and attributes
that are read, and those of other programs, which are counted in the report; anything else is
warned about, since it may change the dynamics.
"""

import math
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.findings import Findings
from kinetree.files.description.urdf.parts import FAR_M, LARGE_ANGLE, MAX_NAME, Part
from kinetree.files.description.urdf.vocabulary import (
    check_attributes,
    check_no_text,
    known_words,
    near_word,
)
from kinetree.files.description.xml import Element, clip, show
from kinetree.spatial.se3 import pose
from kinetree.spatial.so3 import from_quaternion, rpy

SEPARATOR = "::"  # between the names of nested models
WORLD = "world"
MODEL_FRAME = "__model__"
FLAGS = {"true": True, "1": True, "false": False, "0": False}
ENDLESS = 1e16  # SDF's own default before 1.9; this and more means "no limit"


INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
VOCABULARY = {
    "sdf": known_words("world model", "version", "light actor"),
    "world": known_words(
        "model include joint frame gravity",
        "name",
        "audio wind magnetic_field atmosphere gui physics scene light actor plugin road "
        "spherical_coordinates state population",
    ),
    "model": known_words(
        "static pose link joint frame model include",
        "name canonical_link placement_frame namespace",
        "self_collide allow_auto_disable plugin gripper enable_wind",
    ),
    "include": known_words("uri name pose static placement_frame", "merge", "plugin namespace"),
    "link": known_words(
        "pose inertial gravity kinematic velocity_decay visual collision",
        "name",
        "self_collide must_be_base_link enable_wind sensor projector audio_sink audio_source "
        "battery light particle_emitter",
    ),
    "velocity_decay": known_words("linear angular"),
    "inertial": known_words("pose mass inertia", "auto", "density auto_inertia_params"),
    "inertia": known_words(" ".join(INERTIA)),
    "joint": known_words(
        "parent child pose axis axis2 thread_pitch screw_thread_pitch",
        "name type",
        "physics sensor gearbox_ratio gearbox_reference_body",
    ),
    "axis": known_words("xyz dynamics limit mimic"),
    "axis2": known_words("xyz dynamics limit mimic"),
    "dynamics": known_words("damping friction spring_reference spring_stiffness"),
    "limit": known_words("lower upper effort velocity", "", "stiffness dissipation"),
    "mimic": known_words("multiplier offset reference", "joint axis"),
    "frame": known_words("pose", "name attached_to"),
    "pose": known_words("", "relative_to frame rotation_format degrees"),
    "xyz": known_words("", "expressed_in"),
}
WITH_TEXT = ("pose", "xyz")
LEAF = known_words()


def part_of(element: Element, owner: str, findings: Findings) -> Part:
    """The element as a part, after warnings about all in it that is not read."""
    known = VOCABULARY.get(element.tag, LEAF)
    for child in element.children:
        prefix, _, local = child.tag.rpartition(":")
        if child.tag in known.children:
            continue
        text = f"<{clip(child.tag)}> in <{element.tag}> is not read"
        if child.tag in known.others or (prefix and element.tag not in ("joint", "model")):
            findings.count(child, text)
        else:
            near = "" if prefix or findings.is_full else near_word(local, known.children)
            findings.warn_together(child, f"{text}{near or '.'}", owner)
    check_attributes(element, owner, known, findings)
    if element.tag in VOCABULARY and element.tag not in WITH_TEXT:
        check_no_text(element, owner, findings)
    return Part(element, owner, findings)


def child_of(part: Part, tag: str) -> Part | None:
    """The one child of a tag, its own content checked; several are an error."""
    children = part.element.all(tag)
    if len(children) > 1:
        raise replace(part, element=children[1]).fault(
            f"<{part.element.tag}> has {len(children)} elements <{tag}>; expected one."
        )
    return part_of(children[0], part.owner, part.findings) if children else None


def text_of(part: Part, tag: str) -> str:
    """The text of a child, without blanks around it; empty if there is no such child."""
    child = child_of(part, tag)
    return "" if child is None else child.element.value


def numbers_in(
    part: Part, tag: str, count: int, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """The numbers in a child; without a default it is required."""
    child = child_of(part, tag)
    if child is None:
        if default is None:
            raise part.fault(f"<{part.element.tag}> has no <{tag}>.")
        return default
    text = child.element.value
    return child.parse(text, count, f"<{tag}>{clip(text)}</{tag}>")


def number_of(part: Part, tag: str, default: float) -> float:
    """The number in a child; `default` if there is no such child."""
    return numbers_in(part, tag, 1, (default,))[0]


def limit_of(part: Part, tag: str, default: float) -> float:
    """The number in a child, infinite if it is ENDLESS or beyond, or the word inf."""
    child = child_of(part, tag)
    if child is None:
        return default
    text = child.element.value
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return -math.inf if text.startswith("-") else math.inf
    value = child.parse(text, 1, f"<{tag}>{clip(text)}</{tag}>", math.inf)[0]
    return math.copysign(math.inf, value) if abs(value) >= ENDLESS else value


def flag_of(part: Part, tag: str, default: bool = False) -> bool:
    """The truth value in a child; `default` if there is no such child."""
    child = child_of(part, tag)
    return default if child is None else _flag(child, child.element.value, f"<{tag}>")


def flag_attribute(part: Part, name: str) -> bool:
    """The truth value of an attribute; False if it is absent."""
    value = part.element.attributes.get(name)
    return False if value is None else _flag(part, value, f"{name} of <{part.element.tag}>")


def _flag(part: Part, text: str, what: str) -> bool:
    value = FLAGS.get(text.strip().lower())
    if value is None:
        raise part.fault(f"{what} is {show(text.strip())}; expected true or false.")
    return value


def name_of(element: Element, findings: Findings, is_strict: bool) -> str:
    """The name of a link, joint, frame or model; `is_strict`: "::" is not allowed (SDF 1.8)."""
    part = Part(element, f"<{element.tag}>", findings)
    name = part.name("name")
    check_name(part, name, is_strict)
    return name


def check_name(part: Part, name: str, is_strict: bool) -> None:
    """Raise ParseError for a name that SDF reserves."""
    if name == WORLD or (name.startswith("__") and name.endswith("__")):
        raise part.fault(f"the name {show(name)} is reserved by SDF; choose another.")
    if is_strict and SEPARATOR in name:
        raise part.fault(
            f"the name {show(name)} contains '::', which separates the names of nested models "
            "(since SDF 1.8); choose another."
        )
    if not name.strip() or len(name) > MAX_NAME:
        raise part.fault(f"the name has {len(name)} characters; expected 1 to {MAX_NAME}.")


def read_pose(part: Part | None) -> tuple[Array, str]:
    """The pose of a <pose> element, shape (4, 4), and the frame that it is relative to.

    The identity and an empty name where there is none. Six numbers are x y z roll pitch yaw,
    seven with rotation_format="quat_xyzw" x y z and a quaternion.
    """
    if part is None:
        return np.eye(4), ""
    attributes, text = part.element.attributes, part.element.value
    if attributes.get("frame", "").strip():  # an empty one, as Gazebo writes it, has no effect
        raise part.fault(
            f"<pose> has frame={show(attributes['frame'])}, which programs read in different ways; "
            "expected relative_to, and version='1.7' or later of <sdf>."
        )
    form = attributes.get("rotation_format", "euler_rpy")
    if form not in ("euler_rpy", "quat_xyzw"):
        raise part.fault(f"rotation_format is {show(form)}; expected euler_rpy or quat_xyzw.")
    in_degrees = flag_attribute(part, "degrees")
    relative_to = attributes.get("relative_to", "").strip()
    if not text:
        return np.eye(4), relative_to
    is_quaternion = form == "quat_xyzw"
    entries = part.parse(text, 7 if is_quaternion else 6, f"<pose>{clip(text)}</pose>")
    p, rotation = entries[:3], entries[3:]
    if max(map(abs, p)) > FAR_M:
        part.warn(
            f"<pose>{clip(text)}</pose> is more than {FAR_M:g} m away; lengths are in "
            "metres, are these millimetres?"
        )
    if is_quaternion:
        if in_degrees:
            raise part.fault("<pose> has a quaternion and degrees='true'; remove one of them.")
        x, y, z, w = part.unit(rotation, "the quaternion of <pose>")
        return pose(from_quaternion((w, x, y, z)), np.array(p)), relative_to
    angles = [math.radians(x) for x in rotation] if in_degrees else list(rotation)
    if max(map(abs, rotation)) > (360 if in_degrees else LARGE_ANGLE):
        unit = "degrees" if in_degrees else "radians"
        part.warn(
            f"<pose>{clip(text)}</pose> turns by more than a turn; its angles are in {unit}"
            f"{'' if in_degrees else ', unless it has degrees=true'}."
        )
    return pose(rpy(*angles) if any(angles) else np.eye(3), np.array(p)), relative_to
