"""New robots from old ones: joints locked, a part of the tree, a tool, another robot attached.

Each function takes a model or a robot, returns one of the same kind and keeps names: a link that no
longer moves by itself stays as a frame, its inertia merged into the link that carries it.
"""

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, scalar, times
from kinetree.core.containers import SERIES, label_kind
from kinetree.core.records import mapping, renamed
from kinetree.core.text import look_up
from kinetree.errors import InputError, ModelError
from kinetree.files.description.actuators import Actuator
from kinetree.files.description.joints import FIXED, SCREW_TYPES
from kinetree.files.description.records import (
    JointDescription,
    Motor,
    Note,
    RobotDescription,
    Spring,
)
from kinetree.model.constrain import without_constraints
from kinetree.model.contacts import contacts_on, joined_contacts, shapes_on
from kinetree.model.edit import edited, with_payload
from kinetree.model.elements import shifted_law
from kinetree.model.inputs import check_quaternion
from kinetree.model.joint import COORDINATES, home_rotation, joint_pose
from kinetree.model.model import ELEMENTS, WORLD, Frame, HasModel, Model, edit, model_of
from kinetree.scalars import Scalar
from kinetree.spatial.se3 import placement

Record = TypeVar("Record", Spring, Actuator, Motor)
AFTERWARDS = "Change the tree first, and add the constraints to the result"


@edit
def lock(model: Model, values: Mapping[str, ArrayLike]) -> Model:
    """The robot with some joints fixed at given positions; they no longer appear in q.

    The links stay as frames, their inertias merged. A locked joint has no drive: it loses its
    friction, limits and springs, and its rotor stands still, as part of the link that carries it.
    Joints that follow a locked one are locked with it. A spring between a locked joint and others
    stays on the others, its rest position shifted; actuators and motors likewise. One whose joints
    are all locked is left out, and a note names it.

    Args:
        model: the robot.
        values: {joint name: position}: a number, rad or m, or the coordinates (k,) of a spherical,
            planar or free joint, quaternions first (w x y z); limits are not enforced.
    """
    without_constraints(model, "lock", AFTERWARDS)
    if label_kind(type(values)) == SERIES:
        values = dict(values.items())
    values = mapping(values, "positions to lock", "{'joint1': 0.5}")
    held = {name: _position(model, name, value) for name, value in values.items()}
    description = model.description
    joints: list[JointDescription] = []
    notes = list(description.notes)
    for joint, record in zip(model.joints, description.joints, strict=True):
        q = held.get(joint.name if joint.follows is None else joint.follows)
        if q is None:
            joints.append(record)
            continue
        M_pc = times(record.M_pc, joint_pose(joint, q))
        joints.append(_weld(joint.name, record.parent, record.child, M_pc))
        at = f"with {joint.follows!r}" if joint.follows else f"at {', '.join(map(str, q.tolist()))}"
        notes.append(Note(f"joint {joint.name!r} locked {at}"))
    parts = {
        kind: {name: _held(x, held) for name, x in records.items()}
        for kind, records in elements_of(description).items()
    }
    return edited(model, joints=tuple(joints), notes=tuple(notes), **parts)


def _held(record: Record, held: Mapping[str, Array]) -> Record:
    """The part on the joints that still move; one whose joints are all locked is as it was."""
    joints = record.joints or {}
    moving = {name: c for name, c in joints.items() if name not in held}
    if not moving or len(moving) == len(joints):
        return record
    shift = sum(c * held[name][0] for name, c in joints.items() if name in held)
    changes = {}
    if isinstance(record, Spring):
        changes = {"rest": record.rest - shift}
    elif isinstance(record, Actuator):
        changes = shifted_law(record.gain, record.bias, float(shift))
    return replace(record, joints=moving, **changes)


def _weld(name: str, parent: str, child: str, T: Array) -> JointDescription:
    return JointDescription(name=name, type=FIXED, parent=parent, child=child, M_pc=T)


def _position(model: Model, name: str, value: ArrayLike) -> Array:
    """The joint's own coordinates, checked."""
    joint, what = model.joint(name), f"position of joint {name!r}"
    if joint.follows is not None:
        raise ModelError(
            f"joint {name!r} follows {joint.follows!r} and has no position of its own. Lock "
            f"{joint.follows!r}, and {name!r} is locked with it."
        )
    if joint.type in SCREW_TYPES:
        return np.array([scalar(value, f"{what} ({joint.type}, one number)")])
    parts = COORDINATES[joint.type]
    q = array(value, (len(parts),), f"{what} ({joint.type}: {', '.join(parts)})")
    check_quaternion(q, joint, what)
    return q


@edit
def subtree(model: Model, link: str) -> Model:
    """The robot from a link outward: that link becomes the base, its frame the new {s}.

    Gravity keeps its three components, now in the axes of `link`: the new base stands in the world
    as the old one did, and so does the ground of its contacts. `with_gravity` sets another. The
    tool is kept where it belongs to the part. A rotor that drives one of the joints from a link
    that is left out is put on the base; one that drives a joint that is left out stands still. What
    connects joints of the part with others, as springs, motors and mimic joints do, is an error.

    Args:
        model: the robot.
        link: name of a link that moves, or of the base.
    """
    without_constraints(model, "subtree", AFTERWARDS)
    names, numbers = model.names, {name: i for i, name in model.names.items()}
    root = look_up(numbers, link, "link")
    if root == WORLD:
        return model
    kept = [i for i in model.links if i != root and root in model.path(i)]
    inside = {names[i] for i in (root, *kept)}
    description = model.description
    inner = {model.joints[i].name for i in kept}
    joints = [_carried(model, root, description.joints[i], inside) for i in kept]
    frames = [frame for frame in description.frames if frame.link in inside]
    known = inside | {frame.name for frame in frames}
    note = Note(f"link {link!r} is the base, a part of {model.name!r}")
    elements = {
        kind: {name: x for name, x in records.items() if _is_part(name, x, inner, inside)}
        for kind, records in elements_of(description).items()
    }
    return edited(
        model,
        links=tuple(x for x in description.links if x.name in inside),
        joints=tuple(joints),
        frames=tuple(frames),
        tool=model.tool if model.tool in known else None,
        **elements,
        notes=(*model.notes, note),
        contacts=contacts_on(description.contacts, known),
        collisions=shapes_on(description.collisions, known),
    )


def elements_of(description: RobotDescription) -> dict[str, dict[str, Any]]:
    """Springs, actuators and motors by the field of the description, each by name."""
    return {x: dict(getattr(description, x)) for x in ELEMENTS}


def _is_part(name: str, record: Any, joints: Set[str], links: Set[str]) -> bool:
    """Whether an element acts on some of the joints, or passes points of some of the links."""
    if getattr(record, "points", None) is not None:
        return any(of in links for of, _ in record.points)
    return not joints.isdisjoint(record.joints or (name,))


def _carried(
    model: Model, root: int, joint: JointDescription, inside: set[str]
) -> JointDescription:
    """The joint, its rotor on the base if the link that carried it is left out."""
    rotor = joint.rotor
    if rotor is None or rotor.link in inside:
        return joint
    carrier = next(i for i, name in model.names.items() if name == rotor.link)
    axis = times(home_rotation(model, root, carrier), np.asarray(rotor.axis))
    moved = replace(rotor, axis=axis, link=model.link_names[root])
    return replace(joint, rotor=moved)


@edit
def with_tool(
    model: Model,
    name: str,
    at: ArrayLike = (0, 0, 0),
    frame: str | None = None,
    *,
    m: Scalar | None = None,
    com: ArrayLike = (0, 0, 0),
    I_com: ArrayLike | None = None,
) -> Model:
    """The same robot with a new tool frame, and a body there if m is given.

    Args:
        model: the robot.
        name: name of the new frame.
        at: its position, shape (3,), m, or pose, shape (4, 4), in `frame`.
        frame: name of a frame of the robot; None: the tool that it has.
        m: mass of the tool, kg; None: it weighs nothing.
        com: centre of mass in the new frame, shape (3,), m.
        I_com: inertia about the centre of mass in the axes of the new frame, shape (3, 3), kg m^2;
            None: a point mass.
    """
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of the tool is {name!r:.60}; expected a text.")
    if name in model.frames:
        raise ModelError(
            f"{model.name!r} has a frame {name!r} already; expected a new name for the tool."
        )
    place = model.frame(frame)
    T = placement(at, f"'at' of frame {name!r}")
    frames = {**model.frames, name: Frame(place.link, times(place.T_if, T))}
    changed = model.replace(frames=frames, tool=name)
    if m is not None:
        return with_payload(changed, m, com, I_com)
    if I_com is not None or np.any(array(com, (3,), "com") != 0):
        raise InputError(f"tool {name!r} has com or I_com, but no mass; give m as well.")
    return changed


@edit
def attach(
    model: Model, other: Model | HasModel, frame: str | None = None, prefix: str = ""
) -> Model:
    """Join two robots: the base of the other is fixed to a frame of this one.

    q is that of this robot, then that of the other. Gravity is that of this one, the tool that of
    the other, whose base stays as a frame.

    Args:
        model: the robot.
        other: the robot that is carried.
        frame: frame of this robot that the other's base is put at; None: the tool.
        prefix: written before every name of the other, where names would clash.
    """
    other = model_of(other)
    for robot in (model, other):
        without_constraints(robot, "attach", AFTERWARDS)
    place, ours = model.frame(frame), model.description
    theirs = renamed(other.description, lambda name: prefix + name)
    both = sorted(_named_parts(ours) & _named_parts(theirs))
    if both:
        raise ModelError(
            f"{model.name!r} and {other.name!r} both have a {both[0]}; expected every name once. "
            f"Pass a prefix for the attached robot, such as prefix='{other.name}/'."
        )
    base, name = f"{prefix}{other.base_name}", f"{prefix}{other.base_name}/fixed"
    weld = _weld(name, model.names[place.link], base, place.T_if)
    shapes = (*ours.collisions.shapes, *theirs.collisions.shapes)
    lists = ("links", "frames", "notes", "warnings")
    joined: dict[str, Any] = {x: (*getattr(ours, x), *getattr(theirs, x)) for x in lists}
    joined |= {x: {**records, **getattr(theirs, x)} for x, records in elements_of(ours).items()}
    return edited(
        model,
        **joined,
        joints=(*ours.joints, weld, *theirs.joints),
        tool=theirs.tool,
        contacts=joined_contacts(ours.contacts, theirs.contacts),
        collisions=replace(ours.collisions, shapes=shapes),
    )


def _named_parts(x: RobotDescription) -> set[str]:
    """The kind and name of every part that needs a name of its own."""
    named = {"frame": (*x.links, *x.frames), "joint": x.joints}
    parts = {f"{kind} {part.name!r}" for kind, several in named.items() for part in several}
    elements = elements_of(x).items()
    return parts | {f"{kind[:-1]} {name!r}" for kind, records in elements for name in records}
