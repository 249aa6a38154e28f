"""Joints of an MJCF file: axes, limits, friction, armature."""

from math import isinf

import numpy as np

from kinetree.description.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL
from kinetree.description.records import Limits
from kinetree.errors import ModelError
from kinetree.model import WORLD, Joint, Model
from kinetree.model.describe import rotor_ratio
from kinetree.spatial.so3 import cross
from kinetree.write.drives import shown, symmetric_friction
from kinetree.write.losses import Losses
from kinetree.write.mjcf_places import Step
from kinetree.write.xml import Tag, number, numbers

WORDS = {REVOLUTE: "hinge", PRISMATIC: "slide", SPHERICAL: "ball", FREE: "free"}
REFUSED = {
    HELICAL: "MuJoCo has no screw with a pitch; lock the joint",
    PLANAR: "two slides and a hinge would take its place with other coordinates, rates along the "
    "axes of the parent and not along its own; build the robot with those three joints",
}


def joint_tag(model: Model, step: Step, losses: Losses) -> list[Tag]:
    """<joint> of a step, and comments on what it cannot say."""
    joint = model.joints[step.link]
    _check(model, step.link)
    attributes = {"name": joint.name, "type": WORDS[joint.type]}
    if step.screw is not None:
        w, v = step.screw[:3], step.screw[3:]
        hinge = joint.type == REVOLUTE
        attributes["axis"] = numbers(w if hinge else v)
        point = cross(w, v)
        if hinge and np.any(point):
            attributes["pos"] = numbers(point)
        if joint.follows is None and joint.offset:
            attributes["ref"] = number(-joint.offset)
    limits, comments = _limits(joint, losses)
    viscous, coulomb, rest = symmetric_friction(joint, losses)
    armature, others = _armature(model, step.link, losses)
    values = {"armature": armature, "damping": viscous, "frictionloss": coulomb}
    drive = {key: number(value) for key, value in values.items() if value}
    return [*comments, *rest, *others, Tag("joint", attributes | limits | drive)]


def _check(model: Model, i: int) -> None:
    joint = model.joints[i]
    if joint.type in REFUSED:
        raise ModelError(
            f"joint {joint.name!r} is {joint.type}, which MJCF cannot say: {REFUSED[joint.type]}."
        )
    if joint.type != FREE:
        return
    if model.parent[i] != WORLD:
        raise ModelError(
            f"free joint {joint.name!r} hangs on {model.link_names[model.parent[i]]!r}, which "
            "moves; MuJoCo has free joints in the world only. Use another joint there."
        )
    if not np.array_equal(model.M_pi[i], np.eye(4)):
        raise ModelError(
            f"free joint {joint.name!r} counts q from a pose other than the origin of the world, "
            "where MuJoCo counts it from; expected the home pose 1. Build the robot with the "
            "identity there, and put the pose into q."
        )


def _limits(joint: Joint, losses: Losses) -> tuple[dict[str, str], list[Tag]]:
    limits, name = joint.limits, joint.name
    if joint.type in (SPHERICAL, FREE):
        text = f"limits of joint {name!r} ({joint.type}): {shown(**vars(limits))}"
        return {}, [] if limits == Limits() else [losses.add(text)]
    attributes, comments = {}, []
    ends = limits.lower, limits.upper
    if limits.lower == limits.upper:
        comments.append(losses.add(f"limits of joint {name!r}: lower = upper = {limits.lower:g}"))
    elif not all(map(isinf, ends)):
        attributes |= {"limited": "true", "range": numbers(ends)}
    if not isinf(limits.effort):
        if limits.effort:
            bounds = numbers((-limits.effort, limits.effort))
            attributes |= {"actuatorfrclimited": "true", "actuatorfrcrange": bounds}
        else:
            comments.append(losses.add(f"effort limit 0 of joint {name!r}"))
    if not isinf(limits.velocity):
        text = f"velocity limit {number(limits.velocity)} of joint {name!r}"
        comments.append(losses.add(text))
    return attributes, comments


def _armature(model: Model, i: int, losses: Losses) -> tuple[float, list[Tag]]:
    """Armature of the joint and what its rotor adds to it; comments on what that leaves out."""
    joint = model.joints[i]
    armature, comments = float(joint.armature), []
    for rotor in model.rotors:
        if rotor.joint != i:
            continue
        ratio = rotor_ratio(rotor, joint)
        armature += rotor.inertia * ratio * ratio
        if rotor.link != WORLD:
            values = shown(inertia=rotor.inertia, ratio=ratio)
            text = f"rotor of joint {joint.name!r} on {model.link_names[rotor.link]!r} about "
            text += f"{numbers(rotor.s)}: {values} (written as armature, without its gyroscope)"
            comments.append(losses.add(text))
    return armature, comments
