"""Joints held still: the same robot with fewer degrees of freedom."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, array, known, length, scalar
from kinetree.description.joints import FIXED, FREE, SCREW_TYPES, SPHERICAL
from kinetree.description.records import JointDescription, Note
from kinetree.errors import InputError, ModelError
from kinetree.model.build import build_model
from kinetree.model.describe import describe_model
from kinetree.model.joint import COORDINATES, Joint, joint_pose
from kinetree.model.model import Model


def lock(model: Model, values: Mapping[str, Any]) -> Model:
    """The robot with some joints held where they are put; they no longer appear in q.

    The links stay as frames, their inertias merged. A locked joint has no drive: its friction and
    limits end with it, and its rotor stands still, as part of the link that carries it. Joints that
    follow a locked one are locked with it.

    Args:
        model: the robot.
        values: joint name -> where it is held, as in q: a number (rad or m) or the coordinates of a
            spherical, planar or free joint (quaternions first, w x y z). Limits are not enforced.
    """
    if not isinstance(values, Mapping):
        raise InputError(
            f"lock needs a mapping from joint names to positions, such as {{'joint1': 0.5}}; found "
            f"{values!r}."
        )
    held = {name: _position(_lockable(model, name), value) for name, value in values.items()}
    description = describe_model(model)
    joints, notes = [], list(description.notes)
    for own, record in zip(model.joints, description.joints, strict=True):
        q = held.get(own.name if own.follows is None else own.follows)
        if q is None:
            joints.append(record)
            continue
        joints.append(_fixed(record, record.M_pc @ joint_pose(own, q)))
        text = f"with {own.follows!r}" if own.follows else f"at {', '.join(map(str, q.tolist()))}"
        notes.append(Note(f"joint {own.name!r} locked {text}"))
    changed = replace(description, joints=tuple(joints), notes=tuple(notes))
    return build_model(changed, unphysical="allow")


def _lockable(model: Model, name: str) -> Joint:
    joint = model.joint(name)
    if joint.follows is not None:
        raise ModelError(
            f"joint {name!r} follows {joint.follows!r} and has no position of its own; expected a "
            f"joint that moves by itself. Lock {joint.follows!r}, and {name!r} is locked with it."
        )
    return joint


def _position(joint: Joint, value: Any) -> Array:
    """The joint's own coordinates, checked."""
    what = f"position of joint {joint.name!r}"
    if joint.type in SCREW_TYPES:
        return np.array([scalar(value, f"{what} ({joint.type}, one number)")])
    parts = COORDINATES[joint.type]
    q = array(value, (len(parts),), f"{what} ({joint.type}: {', '.join(parts)})")
    values = known(q)
    if joint.type in (SPHERICAL, FREE) and values is not None:
        found = length(values[:4])
        if abs(found - 1) > 1e-9:
            raise InputError(
                f"{what} has the quaternion {values[:4].tolist()} of length {found:.12g}; expected "
                "length 1, in the order (w, x, y, z). Divide it by its length."
            )
    return q


def _fixed(record: JointDescription, M_pc: Array) -> JointDescription:
    return JointDescription(
        name=record.name, type=FIXED, parent=record.parent, child=record.child, M_pc=M_pc
    )
