"""The words of SDF, and its values: flags, names and poses, read strictly.

SDF writes most values as the text of an element. Elements of other programs are counted in the
report; anything else that is not read is warned about, since it may change the dynamics.
"""

import math

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.element import MAX_NAME, Format, Part, known_words
from kinetree.files.description.findings import Findings
from kinetree.files.description.xml import Element, clip, show

SEPARATOR = "::"  # between the names of nested models
WORLD = "world"
MODEL_FRAME = "__model__"
FLAGS = {"true": True, "1": True, "false": False, "0": False}
ENDLESS = 1e16  # SDF's own default before 1.9; this and more means "no limit"
AXIS = known_words("xyz dynamics limit mimic")
WORDS = {
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
    "inertia": known_words("ixx iyy izz ixy ixz iyz"),
    "joint": known_words(
        "parent child pose axis axis2 thread_pitch screw_thread_pitch",
        "name type",
        "physics sensor gearbox_ratio gearbox_reference_body",
    ),
    "axis": AXIS,
    "axis2": AXIS,
    "dynamics": known_words("damping friction spring_reference spring_stiffness"),
    "limit": known_words("lower upper effort velocity", "", "stiffness dissipation"),
    "mimic": known_words("multiplier offset reference", "joint axis"),
    "frame": known_words("pose", "name attached_to"),
    "pose": known_words("", "relative_to frame rotation_format degrees", text=True),
    "xyz": known_words("", "expressed_in", text=True),
}
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
    value = part.element.attributes.get(name, "false")
    return _flag(part, value, f"{name} of <{part.element.tag}>")


def _flag(part: Part, text: str, what: str) -> bool:
    value = FLAGS.get(text.strip().lower())
    if value is None:
        raise part.fault(f"{what} is {show(text.strip())}; expected true or false.")
    return value


def check_name(part: Part, name: str, is_strict: bool) -> str:
    """The name, unless SDF reserves it; `is_strict`: "::" is not allowed (SDF 1.8)."""
    if name == WORLD or (name.startswith("__") and name.endswith("__")):
        raise part.fault(f"the name {show(name)} is reserved by SDF; choose another.")
    if is_strict and SEPARATOR in name:
        raise part.fault(
            f"the name {show(name)} contains '::', which separates the names of nested models "
            "(since SDF 1.8); choose another."
        )
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
    written = f"<pose>{clip(text)}</pose>"
    numbers = part.own_numbers(6 if form == "euler_rpy" else 7)
    if form == "euler_rpy":
        return part.place(numbers[:3], numbers[3:], written, in_degrees), relative_to
    if in_degrees:
        raise part.fault("<pose> has a quaternion and degrees='true'; remove one of them.")
    return part.turned(numbers[:3], numbers[3:], written), relative_to
