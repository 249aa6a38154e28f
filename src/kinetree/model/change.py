"""New models from old ones: other gravity, a payload, another kind of number."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, array
from kinetree.description.records import Friction
from kinetree.errors import InputError, NameLookupError
from kinetree.model.drives import joint_friction
from kinetree.model.joint import Joint, JointFriction
from kinetree.model.model import WORLD, Frame, Model
from kinetree.spatial.inertia import check_physical, compose, move_body


def free_fall(gravity: Any) -> Array:
    """(0, g), shape (6,), of a gravity vector in m/s^2."""
    return np.concatenate([np.zeros(3, int), array(gravity, (3,), "gravity")])


def with_gravity(model: Model, gravity: Any) -> Model:
    """See `Model.with_gravity`."""
    return model.replace(gravity=free_fall(gravity))


def with_friction(model: Model, friction: Mapping[str, Friction]) -> Model:
    """See `Model.with_friction`."""
    if not isinstance(friction, Mapping):
        raise InputError(
            f"friction is {friction!r}; expected it by joint, {{name: Friction(...)}}. "
            "For all alike: {name: friction for name in robot.model.joint_names}."
        )
    names = [joint.name for joint in model.joints]  # those that follow others rub too
    unknown = [name for name in friction if name not in names]
    if unknown:
        raise NameLookupError(
            f"{model.name!r} has no joint {unknown[0]!r} to give friction to; its joints are "
            f"{', '.join(names)}."
        )
    joints = [
        dataclasses.replace(joint, friction=joint_friction(friction[joint.name], joint.name))
        if joint.name in friction
        else joint
        for joint in model.joints
    ]
    return model.replace(joints=tuple(joints))


def with_payload(model: Model, m: Any, com: Any, I_com: Any, frame: str | None) -> Model:
    """See `Model.with_payload`."""
    name = f"payload on {(model.tool if frame is None else frame)!r}"
    body = check_physical(m, com, np.zeros((3, 3), int) if I_com is None else I_com, name)
    place = model.frame(frame)
    body = move_body(*body, place.T_if)
    if place.link == WORLD:
        return model.replace(base=compose(model.base, body))
    i = place.link
    own = (model.m[i], model.com[i], model.I_com[i])
    merged = compose(own, body)
    return model.replace(
        m=_with_entry(model.m, i, merged[0]),
        com=_with_entry(model.com, i, merged[1]),
        I_com=_with_entry(model.I_com, i, merged[2]),
    )


def astype(model: Model, scalar: Callable[[Any], Any]) -> Model:
    """See `Model.astype`."""

    def convert(x: Array) -> Array:
        entries = [scalar(v) for v in np.asarray(x).ravel().tolist()]
        if all(isinstance(v, float) for v in entries):
            return np.array(entries).reshape(np.shape(x))
        out = np.empty(len(entries), object)
        out[:] = entries
        return out.reshape(np.shape(x))

    def joint(x: Joint) -> Joint:
        friction = JointFriction(
            (scalar(x.friction.viscous[0]), scalar(x.friction.viscous[1])),
            (scalar(x.friction.coulomb[0]), scalar(x.friction.coulomb[1])),
            x.friction.function,
        )
        return dataclasses.replace(
            x,
            screw=None if x.screw is None else convert(x.screw),
            scale=x.scale if x.scale == 1 else scalar(x.scale),
            offset=x.offset if x.offset == 0 else scalar(x.offset),
            armature=scalar(x.armature),
            friction=friction,
        )

    arrays = {key: convert(getattr(model, key)) for key in ("M_pi", "m", "com", "I_com", "gravity")}
    return model.replace(
        **arrays,
        joints=tuple(joint(x) for x in model.joints),
        base=(scalar(model.base[0]), convert(model.base[1]), convert(model.base[2])),
        frames={name: Frame(x.link, convert(x.T_if)) for name, x in model.frames.items()},
        rotors=tuple(
            dataclasses.replace(x, inertia=scalar(x.inertia), ratio=scalar(x.ratio), s=convert(x.s))
            for x in model.rotors
        ),
    )


def _with_entry(x: Array, i: int, value: Any) -> Array:
    return np.array([value if k == i else x[k] for k in range(len(x))])
