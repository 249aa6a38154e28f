"""What the joints of a URDF say besides their place: type, limits, friction, mimic, rotors."""

from math import copysign, isinf

import numpy as np

from kinetree.description.joints import (
    FREE,
    HELICAL,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    SCREW_TYPES,
    SPHERICAL,
)
from kinetree.description.records import Limits
from kinetree.errors import ModelError
from kinetree.model import WORLD, Joint, JointRotor, Model
from kinetree.model.describe import rotor_ratio
from kinetree.write.drives import has_friction, shown, symmetric_friction
from kinetree.write.losses import Losses
from kinetree.write.xml import Tag, number, numbers

WORDS = {REVOLUTE: "revolute", PRISMATIC: "prismatic", PLANAR: "planar", FREE: "floating"}
REFUSED = {
    HELICAL: "a screw with a pitch; lock it, or replace it by a prismatic joint with a mimic",
    SPHERICAL: "a ball with a quaternion; lock it, or replace it by three revolute joints",
}


def joint_word(model: Model, joint: Joint) -> str:
    """URDF's word for the joint: a hinge without ends is continuous.

    One that follows another is what that one is: Pinocchio has q = (cos, sin) of continuous joints.
    """
    if joint.type in REFUSED:
        raise ModelError(
            f"joint {joint.name!r} is {joint.type}, which URDF does not have: "
            f"{REFUSED[joint.type]}. Expected revolute, prismatic, planar or free joints."
        )
    followed = joint if joint.follows is None else model.joint(joint.follows)
    if joint.type == REVOLUTE and _is_endless(joint) and _is_endless(followed):
        return "continuous"
    return WORDS[joint.type]


def _is_endless(joint: Joint) -> bool:
    return isinf(joint.limits.lower) and isinf(joint.limits.upper)


def limit_tag(joint: Joint, word: str, infinity: float, losses: Losses) -> list[Tag]:
    """<limit>, or a comment where URDF has none; infinite limits as `to_urdf` describes.

    urdfdom, and with it ROS and Pinocchio, refuses a sliding or bounded joint without <limit>, and
    any <limit> without velocity and effort; lower and upper are 0 where it lacks them.
    """
    limits = joint.limits
    if word in ("planar", "floating"):
        text = f"limits of joint {joint.name!r} ({joint.type}): {shown(**vars(limits))}"
        return [] if limits == Limits() else [losses.add(text)]
    if word == "continuous" and limits == Limits():
        return []
    keys = ("lower", "upper", "velocity", "effort")
    values = {key: getattr(limits, key) for key in keys[2 * (word == "continuous") :]}
    finite = {key: copysign(infinity, x) if isinf(x) else x for key, x in values.items()}
    return [Tag("limit", {key: number(x) for key, x in finite.items()})]


def drive_tags(joint: Joint, losses: Losses) -> list[Tag]:
    """<dynamics> and <mimic>, and comments on armature and what else rubs."""
    tags: list[Tag] = []
    if joint.type in SCREW_TYPES:
        viscous, coulomb, comments = symmetric_friction(joint, losses)
        tags += comments
        if viscous or coulomb:
            values = {"damping": number(viscous), "friction": number(coulomb)}
            tags.append(Tag("dynamics", values))
    elif has_friction(joint):
        friction = joint.friction
        pairs = {"viscous": friction.viscous, "coulomb": friction.coulomb}
        text = ", ".join(f"{key} {number(a)} and {number(b)}" for key, (a, b) in pairs.items())
        tags.append(losses.add(f"friction of joint {joint.name!r} ({joint.type}): {text}"))
    if joint.armature:
        tags.append(losses.add(f"armature {number(joint.armature)} of joint {joint.name!r}"))
    if joint.follows is not None:
        values = {"multiplier": number(joint.scale), "offset": number(joint.offset)}
        tags.append(Tag("mimic", {"joint": joint.follows, **values}))
    return tags


def transmission_tag(model: Model, rotor: JointRotor, losses: Losses) -> Tag:
    """A rotor as a transmission: on the parent, about the joint's own axis; else a comment."""
    joint = model.joints[rotor.joint]
    ratio = rotor_ratio(rotor, joint)
    if rotor.link != model.parent[rotor.joint] or not _about_own_axis(model, rotor):
        carrier = model.base_name if rotor.link == WORLD else model.link_names[rotor.link]
        values = shown(inertia=rotor.inertia, ratio=ratio)
        axis = numbers(rotor.s)
        return losses.add(f"rotor of joint {joint.name!r} on {carrier!r} about {axis}: {values}")
    actuator = Tag("actuator", {"name": f"{joint.name}_motor"}).add(
        Tag("drake:rotor_inertia", {"value": number(rotor.inertia)}),
        Tag("drake:gear_ratio", {"value": number(ratio)}),
    )
    kind = Tag("type", text="transmission_interface/SimpleTransmission")
    transmission = Tag("transmission", {"name": f"{joint.name}_transmission"})
    return transmission.add(kind, Tag("joint", {"name": joint.name}), actuator)


def _about_own_axis(model: Model, rotor: JointRotor) -> bool:
    """Whether the rotor on the parent spins about the joint's axis, to rounding."""
    screw = model.joints[rotor.joint].screw
    assert screw is not None  # a joint with a rotor has one degree of freedom
    direction = screw[:3] if np.any(screw[:3]) else screw[3:]
    error = model.M_pi[rotor.joint][:3, :3] @ direction - rotor.s
    return float(np.abs(error).max()) < 1e-14
