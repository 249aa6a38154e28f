"""Model -> SDF text, the format of Gazebo: links, joints with limits, friction, springs, frames."""

from math import isinf, pi

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.tables import exact_number as number
from kinetree.errors import ModelError
from kinetree.files.description.joints import HELICAL, PRISMATIC, REVOLUTE, SCREW_TYPES, SPHERICAL
from kinetree.files.write.actuators import lost_actuators
from kinetree.files.write.losses import (
    Losses,
    Policy,
    check_policy,
    has_friction,
    in_floats,
    lost_contacts,
    lost_drive,
    lost_motors,
    shown,
    spring_place,
    symmetric_friction,
)
from kinetree.files.write.urdf import GRAVITY, roll_pitch_yaw
from kinetree.files.write.xml import Tag, check_names, document, numbers, unused
from kinetree.model import WORLD, Joint, JointSpring, Model, joint_pose
from kinetree.model.describe import link_names, own_frames
from kinetree.spatial.so3 import cross

BASE = "world"  # SDF's name of the base
WORDS = {REVOLUTE: "revolute", PRISMATIC: "prismatic", HELICAL: "screw", SPHERICAL: "ball"}
INERTIA = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}


def to_sdf(model: Model, *, losses: Policy = "warn") -> str:
    """Write the robot as SDF 1.11, which `read_sdf_text` reads back as the same robot.

    Numbers read back bit by bit, rotations and pitches up to rounding. The base is SDF's world: a
    base of another name becomes a link that is fixed to it, or a frame if it has no mass. Frames
    become <frame>, mimic joints <mimic>, springs of one joint <spring_stiffness>.

    Data that SDF cannot represent, or that its readers take from elsewhere, become comments, and
    one warning lists them: armature, rotors, drives, actuators, friction that differs by direction
    or is a function (the mean is written), springs between joints, constraints, gravity, which SDF
    keeps in the world and not in the model. Errors: free and planar joints, and moving links
    without mass, which SDF does not accept. Meshes and notes are not part of a model.

    Args:
        model: the robot, in numbers.
        losses: "warn", "error" or "allow": the reaction to data that SDF cannot represent.
    """
    check_policy(losses)
    model, lost = in_floats(model, "SDF"), Losses("SDF")
    check_names([model.name], "robot", "SDF")
    check_names(model.frames, "frame", "SDF")
    check_names((joint.name for joint in model.joints), "joint", "SDF")
    robot = _robot(model, lost)
    lost.report(model, losses)
    return document(Tag("sdf", {"version": "1.11"}).add(robot))


def _robot(model: Model, losses: Losses) -> Tag:
    """The element <model>."""
    names, robot = link_names(model), Tag("model", {"name": model.name})
    taken = {*model.frames, *(joint.name for joint in model.joints)}
    for i in [x for x in model.links if names[x] in {joint.name for joint in model.joints}]:
        renamed = unused(f"{names[i]}_link", taken)
        robot.add(losses.add(f"the name of link {names[i]!r}, which a joint has: {renamed!r}"))
        names[i] = renamed
    if not np.array_equal(model.gravity[3:], GRAVITY):
        robot.add(losses.add(f"gravity {numbers(model.gravity[3:])}"))
    constraints = () if model.constraints is None else model.constraints.given
    robot.add(*(losses.add(f"constraint {name!r}, which is left out") for name in constraints))
    base = model.base_name
    if model.base[0] or np.any(model.base[2]):
        name = unused(f"{BASE}_body", taken) if base == BASE else base
        joint = unused(f"{BASE}_joint", taken)
        ends = (_leaf("parent", BASE), _leaf("child", name))
        robot.add(Tag("link", {"name": name}).add(_inertial(model, WORLD)))
        robot.add(Tag("joint", {"name": joint, "type": "fixed"}).add(*ends))
        names[WORLD] = name
    elif base != BASE:
        names[WORLD] = BASE
        robot.add(losses.add(f"base {base!r} without mass: SDF's world takes its place"))
    springs = {x.coords[0]: x for x in model.springs if len(x.coords) == 1 and not x.play}
    for x in model.springs:
        if x not in springs.values():
            robot.add(losses.add(f"spring {x.name!r} {spring_place(model, x)}"))
    for i in model.links:
        M, joint = model.M_pi[i], model.joints[i]
        if joint.follows is None and joint.offset:
            M = M @ joint_pose(joint, np.zeros(len(joint.coords)))
        parent = names[model.parent[i]]
        # the frame of the model is that of the world
        near = {} if parent == BASE else {"relative_to": parent}
        link = Tag("link", {"name": names[i]}).add(_pose(M, **near))
        robot.add(link.add(_inertial(model, i)))
        spring = None if joint.follows else springs.get(joint.coords[0])
        robot.add(*_joint(joint, parent, names[i], spring, losses))
    for name, frame in own_frames(model).items():
        if names[frame.link] == BASE:
            robot.add(losses.add(f"frame {name!r} of the base, which is SDF's world"))
            continue
        robot.add(
            Tag("frame", {"name": name, "attached_to": names[frame.link]}).add(_pose(frame.T_if))
        )
    for rotor in model.rotors:
        values = shown(inertia=rotor.inertia, ratio=rotor.ratio)
        robot.add(losses.add(f"rotor of joint {model.joints[rotor.joint].name!r}: {values}"))
    robot.add(*lost_motors(model, losses), *lost_actuators(model, losses))
    return robot.add(*lost_contacts(model, losses))


def _inertial(model: Model, i: int) -> Tag:
    """<inertial> of link i, which SDF needs: without one it takes 1 kg."""
    m, com, I = model.base if i == WORLD else (model.m[i], model.com[i], model.I_com[i])
    if i != WORLD and not float(m) > 0:
        raise ModelError(
            f"link {model.link_names[i]!r} moves and has the mass {float(m):g} kg; expected > 0, "
            "which SDF requires. Give it a small mass, or fix its joint."
        )
    moments = Tag("inertia").add(*(_leaf(key, number(I[at])) for key, at in INERTIA.items()))
    return Tag("inertial").add(
        _leaf("pose", f"{numbers(com)} 0 0 0"), _leaf("mass", number(m)), moments
    )


def _joint(
    joint: Joint, parent: str, child: str, spring: JointSpring | None, losses: Losses
) -> list[Tag]:
    """A joint at its axis, and comments on what SDF cannot represent of it.

    A spring over a multiple of the position is one over the position itself; its damping is that
    of the joint.
    """
    if joint.type not in WORDS:
        raise ModelError(
            f"joint {joint.name!r} is {joint.type}, which SDF does not have. Expected revolute, "
            "prismatic, helical or spherical joints. Lock it, or leave out --floating (in Python, "
            "floating)."
        )
    tag = Tag("joint", {"name": joint.name, "type": WORDS[joint.type]})
    comments = lost_drive(joint, losses)
    if joint.armature:
        comments.append(losses.add(f"armature {number(joint.armature)} of joint {joint.name!r}"))
    if joint.screw is None or joint.type not in SCREW_TYPES:
        if has_friction(joint):
            comments.append(losses.add(f"friction of the ball joint {joint.name!r}"))
        return [tag.add(_leaf("parent", parent), _leaf("child", child)), *comments]
    w, v = joint.screw[:3], joint.screw[3:]
    place = np.eye(4)
    if joint.type != PRISMATIC:
        place[:3, 3] = cross(w, v)  # the point of the axis nearest the origin of the link
        tag.add(_pose(place) if np.any(place[:3, 3]) else None)
    tag.add(_leaf("parent", parent), _leaf("child", child))
    if joint.type == HELICAL:
        tag.add(_leaf("screw_thread_pitch", number(2 * pi * float(w @ v))))
    axis = Tag("axis").add(_leaf("xyz", numbers(v if joint.type == PRISMATIC else w)))
    limits = {key: value for key, value in vars(joint.limits).items() if not isinf(value)}
    if limits:
        axis.add(Tag("limit").add(*(_leaf(key, number(x)) for key, x in limits.items())))
    viscous, coulomb, laws = symmetric_friction(joint, losses)
    arm = 1 if spring is None else spring.arms[0]
    more = 0 if spring is None else spring.damping * arm * arm
    friction = {"damping": viscous + more if more else viscous, "friction": coulomb}
    dynamics = {key: number(x) for key, x in friction.items() if x}
    if spring is not None:
        dynamics["spring_reference"] = number(spring.rest if arm == 1 else spring.rest / arm)
        dynamics["spring_stiffness"] = number(spring.stiffness * arm * arm)
    if dynamics:
        axis.add(Tag("dynamics").add(*(_leaf(key, x) for key, x in dynamics.items())))
    if joint.follows is not None:
        values = {"multiplier": joint.scale, "offset": joint.offset, "reference": 0}
        followed = Tag("mimic", {"joint": joint.follows})
        axis.add(followed.add(*(_leaf(key, number(x)) for key, x in values.items())))
    return [tag.add(axis), *comments, *laws]


def _pose(T: Array, **attributes: str) -> Tag:
    """<pose> of a frame, with roll, pitch and yaw."""
    angles = roll_pitch_yaw(T[:3, :3])
    return Tag("pose", attributes, text=f"{numbers(T[:3, 3])} {numbers(angles)}")


def _leaf(name: str, text: str) -> Tag:
    return Tag(name, text=text)
