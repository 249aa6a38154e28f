"""Model -> description: the records from which `build_model` makes the same model again."""

import math
from dataclasses import replace

import numpy as np

from kinetree.errors import ModelError
from kinetree.files.description.records import (
    Body,
    FrameDescription,
    JointDescription,
    LinkDescription,
    Mimic,
    Note,
    RobotDescription,
    Rotor,
)
from kinetree.model.actuators import describe_actuators
from kinetree.model.build import build_model
from kinetree.model.constrain import without_constraints
from kinetree.model.friction import described_friction, without_efficiency
from kinetree.model.joint import Joint
from kinetree.model.model import WORLD, Frame, JointRotor, Model
from kinetree.model.motors import describe_motors
from kinetree.model.springs import describe_springs
from kinetree.scalars import Scalar


def describe_model(model: Model) -> RobotDescription:
    """Records of a model, with its own numbers: the inverse of `build_model`.

    Each moving link is one link with one body; links that were merged into others are frames. Every
    rotor names its link and axis, every mimic joint the joint at the end of its chain, and springs
    of mimic joints act on that joint.
    `build_model(describe_model(model), unphysical="allow")` is the same model: bit by bit, but for
    rotations and directions that were off by more than rounding, which it cleans.
    """
    without_constraints(model, "A description of links and joints")
    names = link_names(model)
    bodies = {WORLD: model.base}
    bodies |= {i: (model.m[i], model.com[i], model.I_com[i]) for i in model.links}
    rotors = _rotors(model)
    description = RobotDescription(
        name=model.name,
        links=tuple(LinkDescription(names[i], (Body(*body),)) for i, body in bodies.items()),
        joints=tuple(_joint(model, i, names, rotors.get(i)) for i in model.links),
        frames=tuple(
            FrameDescription(name, names[frame.link], frame.T_if)
            for name, frame in own_frames(model).items()
        ),
        tool=model.tool,
        gravity=model.gravity[3:],
        springs=describe_springs(model.springs, model.coordinate_names, link_names(model)),
        actuators=describe_actuators(model.actuators, model.coordinate_names, link_names(model)),
        motors=describe_motors(model.motors, model.coordinate_names),
        notes=model.notes,
        contacts=model.contacts,
        collisions=model.collisions,
    )
    return replace(description, warnings=_warnings(model, description))


def _warnings(model: Model, description: RobotDescription) -> tuple[Note, ...]:
    """The warnings of the model without those that building it again would repeat."""
    if not model.warnings:
        return ()
    anew = {note.text for note in build_model(description, unphysical="allow").warnings}
    return tuple(note for note in model.warnings if note.text not in anew)


def link_names(model: Model) -> dict[int, str]:
    """Names of the moving links by their number, and of the base by WORLD."""
    return {WORLD: model.base_name, **dict(enumerate(model.link_names))}


def own_frames(model: Model) -> dict[str, Frame]:
    """The frames besides those of the base and the moving links, by name."""
    links = {name: i for i, name in link_names(model).items()}
    for name, i in links.items():
        frame = model.frames.get(name)
        if frame is None or frame.link != i or not np.array_equal(frame.T_if, np.eye(4)):
            raise ModelError(
                f"the frame of link {name!r} of {model.name!r} is not at the link's own origin; "
                "expected one frame per link, at the identity. Give a moved frame another name."
            )
    return {name: frame for name, frame in model.frames.items() if name not in links}


def _joint(
    model: Model, i: int, names: dict[int, str], rotor: JointRotor | None
) -> JointDescription:
    joint = model.joints[i]
    follows = joint.follows is not None
    return JointDescription(
        name=joint.name,
        type=joint.type,
        parent=names[model.parent[i]],
        child=names[i],
        M_pc=model.M_pi[i],
        A=joint.screw,
        offset=0 if follows else joint.offset,
        mimic=Mimic(joint.follows, joint.scale, joint.offset) if joint.follows else None,
        friction=described_friction(without_efficiency(joint.friction, joint.drive)),
        armature=joint.armature,
        rotor=None if rotor is None else _rotor(rotor, joint, names),
        limits=joint.limits,
        drive=joint.drive,
        actuation=joint.actuation,
    )


def _rotors(model: Model) -> dict[int, JointRotor]:
    """The rotor of each joint that has one."""
    rotors: dict[int, JointRotor] = {}
    for rotor in model.rotors:
        if rotor.joint in rotors:
            raise ModelError(
                f"joint {model.joints[rotor.joint].name!r} of {model.name!r} has two rotors; "
                "expected one at most. Put their inertias, seen at the joint, into one."
            )
        rotors[rotor.joint] = rotor
    return rotors


def _rotor(rotor: JointRotor, joint: Joint, names: dict[int, str]) -> Rotor:
    return Rotor(rotor.inertia, rotor_ratio(rotor, joint), rotor.s, names[rotor.link])


def rotor_ratio(rotor: JointRotor, joint: Joint) -> Scalar:
    """Gear ratio to the joint itself: the model's is to the coordinate that the joint follows."""
    ratio, scale = rotor.ratio, joint.scale
    if scale == 1 or scale == 0:  # with scale 0 the rotor does not spin and the ratio is not known
        return ratio
    quotient = ratio / scale
    if not isinstance(quotient, float):
        return quotient
    near = (quotient, math.nextafter(quotient, math.inf), math.nextafter(quotient, -math.inf))
    return next((x for x in near if x * scale == ratio), quotient)
