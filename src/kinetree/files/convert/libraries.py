"""The conventions of Pinocchio, MuJoCo and Drake, one line per joint type, over any leading axes.

For every joint the other library's rates are dq' = X dq, X orthogonal: a change of order and axes.
Where the library differentiates a linear velocity along fixed axes, ddq' = X (ddq + b) with
b = (0, omega x v).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import ModelError
from kinetree.files.description.joints import FREE, HELICAL, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL
from kinetree.model import WORLD, Model
from kinetree.spatial.so3 import quaternion

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation


def _same(x: Array) -> Array:
    return x


def _no_bias(dq: Array) -> Array:
    return np.zeros_like(dq)


@dataclass(frozen=True)
class JointOrder:
    """One joint of another library: nq coordinates; q to and from it; X(q), (..., k, k); b(dq)."""

    nq: int
    to_q: Callable[[Array], Array]
    from_q: Callable[[Array], Array]
    X: Callable[[Array], Array]
    b: Callable[[Array], Array] = _no_bias


def constant(X: Array) -> Callable[[Array], Array]:
    """X that does not depend on q."""
    return lambda q: X


def reordered(to: list[int], X: Array) -> JointOrder:
    """Coordinates in another order, rates by a constant X."""
    back = np.argsort(to)
    return JointOrder(len(to), lambda q: q[..., to], lambda q: q[..., back], constant(X))


UNCHANGED = JointOrder(1, _same, _same, constant(np.eye(1)))
COS_SIN = JointOrder(
    2,
    lambda q: np.concatenate([np.cos(q), np.sin(q)], -1),
    lambda q: np.arctan2(q[..., 1:], q[..., :1]),
    constant(np.eye(1)),
)


def turns(q: Array) -> "Rotation":
    """Rotations of unit quaternions (w, x, y, z), the leading axes in one."""
    from scipy.spatial.transform import Rotation  # here: few programs convert, and it loads slowly

    return Rotation.from_quat(q.reshape(-1, 4)[:, [1, 2, 3, 0]])


def quaternions(turned: "Rotation", lead: tuple[int, ...]) -> Array:
    """Unit quaternions (w, x, y, z), (..., 4)."""
    return turned.as_quat()[:, [3, 0, 1, 2]].reshape(*lead, 4)


def rotations(q: Array) -> Array:
    """Rotations of unit quaternions (w, x, y, z), (..., 3, 3)."""
    return turns(q).as_matrix().reshape(*q.shape[:-1], 3, 3)


def blocks(upper: Array, lower: Array, crossed: bool = False) -> Array:
    """(..., 6, 6) of two 3x3 blocks on the diagonal, or crossed: beside it."""
    k = 3 if crossed else 0
    X = np.zeros((*upper.shape[:-2], 6, 6))
    X[..., :3, k : k + 3], X[..., 3:, 3 - k : 6 - k] = upper, lower
    return X


def free_bias(dq: Array) -> Array:
    """(0, omega x v)."""
    w, v = dq[..., :3], dq[..., 3:]
    return np.concatenate([np.zeros_like(w), np.cross(w, v)], -1)


def planar_bias(dq: Array) -> Array:
    """(0, omega x v) in the plane."""
    w, vx, vy = np.moveaxis(dq, -1, 0)
    return np.stack([np.zeros_like(w), -w * vy, w * vx], -1)


def planar_turn(q: Array) -> Array:
    """X from (wz, vx, vy) in the body's axes to (dx, dy, dtheta)."""
    c, s = np.cos(q[..., 0]), np.sin(q[..., 0])
    zero, one = np.zeros_like(c), np.ones_like(c)
    rows = [[zero, c, -s], [zero, s, c], [one, zero, zero]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def roll_pitch_yaw(q: Array) -> Array:
    """Angles of rotations about fixed x, then y, then z, from quaternions (w, x, y, z)."""
    R = rotations(q)
    yaw = np.arctan2(R[..., 1, 0], R[..., 0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-R[..., 2, 0], c * R[..., 0, 0] + s * R[..., 1, 0])
    roll = np.arctan2(s * R[..., 0, 2] - c * R[..., 1, 2], c * R[..., 1, 1] - s * R[..., 0, 1])
    return np.stack([roll, pitch, yaw], -1)


def from_roll_pitch_yaw(angles: Array) -> Array:
    """Quaternions (w, x, y, z) of roll, pitch and yaw."""
    from scipy.spatial.transform import Rotation

    turned = Rotation.from_euler("xyz", angles.reshape(-1, 3))
    return quaternions(turned, angles.shape[:-1])


I = np.eye(3)
JointMaker = Callable[[Model, int], JointOrder]


@dataclass(frozen=True)
class Library:
    """A library: its form of each joint type, and the 6-vectors with the linear part first."""

    name: str
    joints: Mapping[str, JointOrder | JointMaker]
    linear_first: frozenset[str]

    def order(self, model: Model, i: int) -> JointOrder:
        """The form of a joint of a model."""
        form = self.joints[model.joints[i].type]
        return form if isinstance(form, JointOrder) else form(model, i)


PLAIN: dict[str, JointOrder | JointMaker] = dict.fromkeys((REVOLUTE, PRISMATIC, HELICAL), UNCHANGED)
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
        SPHERICAL: reordered([1, 2, 3, 0], I),
        PLANAR: planar,
        FREE: reordered([4, 5, 6, 1, 2, 3, 0], blocks(I, I, crossed=True)),
    }
    return Library("Pinocchio", joints, frozenset({"twist", "wrench", "jacobian"}))


def mujoco() -> Library:
    """MuJoCo; xfrc_applied and the stack (jacp, jacr) have the linear part first."""
    joints = PLAIN | {
        HELICAL: _no_helical,
        SPHERICAL: reordered([0, 1, 2, 3], I),
        PLANAR: SLIDES_AND_HINGE,
        FREE: _mujoco_free,
    }
    return Library("MuJoCo", joints, frozenset({"wrench", "jacobian"}))


def drake() -> Library:
    """Drake: everything angular first."""
    ball = JointOrder(3, roll_pitch_yaw, from_roll_pitch_yaw, rotations)

    def turn(q: Array) -> Array:
        R = rotations(q[..., :4])
        return blocks(R, R)

    floating = JointOrder(7, lambda q: q, lambda q: q, turn, free_bias)
    joints = PLAIN | {
        SPHERICAL: ball,
        PLANAR: SLIDES_AND_HINGE,
        FREE: floating,
    }
    return Library("Drake", joints, frozenset())


def _no_helical(model: Model, i: int) -> JointOrder:
    name = model.joints[i].name
    raise ModelError(f"joint {name!r} is helical, which MuJoCo does not have. Lock it first.")


def _mujoco_free(model: Model, i: int) -> JointOrder:
    """A body that floats in the world: q is its pose there, whatever its home pose M is."""
    if model.parent[i] != WORLD:
        text = f"free joint {model.joints[i].name!r} hangs on {model.link_names[model.parent[i]]!r}"
        raise ModelError(f"{text}, which moves; MuJoCo has free joints in the world only.")
    R, p = model.M_pi[i][:3, :3].astype(float), model.M_pi[i][:3, 3].astype(float)
    home = turns(quaternion(R))

    def to_q(q: Array) -> Array:
        turned = quaternions(home * turns(q[..., :4]), q.shape[:-1])
        return np.concatenate([q[..., 4:] @ R.T + p, turned], -1)

    def from_q(q: Array) -> Array:
        turned = quaternions(home.inv() * turns(q[..., 3:]), q.shape[:-1])
        return np.concatenate([turned, (q[..., :3] - p) @ R], -1)

    def X(q: Array) -> Array:
        return blocks(R @ rotations(q[..., :4]), I, crossed=True)

    return JointOrder(7, to_q, from_q, X, free_bias)
