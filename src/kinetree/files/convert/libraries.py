"""The conventions of Pinocchio, MuJoCo and Drake, one line per joint type."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import ModelError
from kinetree.files.convert.joints import (
    COS_SIN,
    UNCHANGED,
    JointOrder,
    blocks,
    constant,
    free_bias,
    from_roll_pitch_yaw,
    multiply,
    planar_bias,
    planar_turn,
    reordered,
    roll_pitch_yaw,
    rotations,
)
from kinetree.files.description.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL
from kinetree.model import WORLD, Model
from kinetree.spatial.so3 import quaternion

I = np.eye(3)
JointMaker = Callable[[Model, int], JointOrder]


@dataclass(frozen=True)
class Library:
    """A library: its form of each joint type, and the 6-vectors with the linear part first."""

    name: str
    joints: Mapping[str, JointMaker]
    linear_first: frozenset[str]


def always(order: JointOrder) -> JointMaker:
    """Maker of the same order for every joint of a type."""
    return lambda model, i: order


PLAIN = {type: always(UNCHANGED) for type in (REVOLUTE, PRISMATIC, HELICAL)}
# two slides and a hinge: (theta, x, y) -> (x, y, theta), with their rates
SLIDES_AND_HINGE = JointOrder(
    3, lambda q: q[..., [1, 2, 0]], lambda q: q[..., [2, 0, 1]], planar_turn, planar_bias
)


def pinocchio(continuous: frozenset[str]) -> Library:
    """Pinocchio; `continuous` names the revolute joints with cos and sin for coordinates."""
    planar = JointOrder(
        4,
        lambda q: np.stack([q[..., 1], q[..., 2], np.cos(q[..., 0]), np.sin(q[..., 0])], -1),
        lambda q: np.stack([np.arctan2(q[..., 3], q[..., 2]), q[..., 0], q[..., 1]], -1),
        constant(np.eye(3)[[1, 2, 0]]),
    )

    def revolute(model: Model, i: int) -> JointOrder:
        return COS_SIN if model.joints[i].name in continuous else UNCHANGED

    joints = PLAIN | {
        REVOLUTE: revolute,
        SPHERICAL: always(reordered([1, 2, 3, 0], I)),
        PLANAR: always(planar),
        FREE: always(reordered([4, 5, 6, 1, 2, 3, 0], blocks([[None, I], [I, None]]))),
    }
    return Library("Pinocchio", joints, frozenset({"twist", "wrench", "jacobian"}))


def mujoco() -> Library:
    """MuJoCo; xfrc_applied and the stack (jacp, jacr) have the linear part first."""
    joints = PLAIN | {
        HELICAL: _no_helical,
        SPHERICAL: always(reordered([0, 1, 2, 3], I)),
        PLANAR: always(SLIDES_AND_HINGE),
        FREE: _mujoco_free,
    }
    return Library("MuJoCo", joints, frozenset({"wrench", "jacobian"}))


def drake() -> Library:
    """Drake: everything angular first."""
    ball = JointOrder(3, roll_pitch_yaw, from_roll_pitch_yaw, rotations)

    def turn(q: Array) -> Array:
        R = rotations(q[..., :4])
        return blocks([[R, None], [None, R]])

    floating = JointOrder(7, lambda q: q, lambda q: q, turn, free_bias)
    joints = PLAIN | {
        SPHERICAL: always(ball),
        PLANAR: always(SLIDES_AND_HINGE),
        FREE: always(floating),
    }
    return Library("Drake", joints, frozenset())


def _no_helical(model: Model, i: int) -> JointOrder:
    raise ModelError(
        f"joint {model.joints[i].name!r} is helical, which MuJoCo does not have; expected "
        "revolute, prismatic, spherical, planar or free joints. Lock it first."
    )


def _mujoco_free(model: Model, i: int) -> JointOrder:
    """A body that floats in the world: q is its pose there, whatever its home pose M is."""
    if model.parent[i] != WORLD:
        raise ModelError(
            f"free joint {model.joints[i].name!r} hangs on {model.link_names[model.parent[i]]!r}, "
            "which moves; MuJoCo has free joints in the world only."
        )
    R, p = model.M_pi[i][:3, :3].astype(float), model.M_pi[i][:3, 3].astype(float)
    turn = np.eye(4)[0] if np.array_equal(R, I) else quaternion(R)
    back = turn * np.array([1, -1, -1, -1])

    def to_q(q: Array) -> Array:
        return np.concatenate([q[..., 4:] @ R.T + p, multiply(turn, q[..., :4])], -1)

    def from_q(q: Array) -> Array:
        return np.concatenate([multiply(back, q[..., 3:]), (q[..., :3] - p) @ R], -1)

    def X(q: Array) -> Array:
        return blocks([[None, R @ rotations(q[..., :4])], [I, None]])

    return JointOrder(7, to_q, from_q, X, free_bias)
