"""Motion of a frame: its Jacobian and the rate of it by one walk, its twist and acceleration.

The walk leads from the frame {b} inward to the base. A joint of link j on the way moves {b} with
the screw c = Ad_bj A, a column of J_b. c changes only with the joints beyond j, because {b} itself
is at rest in its own axes: with V the twist of {b} relative to link j, dc/dt = ad(c) V.

A twist is expressed in one of three ways:

    "body"     V_b: angular velocity and velocity of the frame's origin, in the axes of {b}
    "space"    V_s = Ad(T_sb) V_b: the same twist in {s}, of the point at the origin of {s}
    "aligned"  V_a = (R_sb omega, R_sb v): of the frame's origin, in the axes of {s}

The acceleration is in each case the time derivative of this vector of six numbers. For "aligned" it
is hence the angular acceleration and the acceleration of the frame's origin as an accelerometer
without gravity would measure it; for "body" it is dV_b/dt = J_b ddq + dJ_b/dt dq.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.algorithms.book import book_tree
from kinetree.algorithms.kinematics import pose_inward
from kinetree.algorithms.traced import of_frame
from kinetree.algorithms.tree import Pair, Tree
from kinetree.base.arrays import Array, StateLike
from kinetree.base.later import dataclass
from kinetree.base.pieces import is_recording, piece
from kinetree.model import Model
from kinetree.model.inputs import rates, zeros
from kinetree.model.labelled import labelled
from kinetree.model.model import Frame
from kinetree.model.quantity import Quantity, Result, check_expressed
from kinetree.spatial import Ad, ad, cross
from kinetree.spatial.se3 import pose


@labelled("6")
def frame_velocity(
    model: Model,
    q: StateLike,
    dq: StateLike,
    frame: str | None = None,
    *,
    expressed: str = "body",
) -> Array:
    """Twist (angular, linear) of a frame, J dq, shape (6,), rad/s and m/s."""
    tree, place = book_tree(model, q), model.frame(frame)
    return tree_frame_velocity(tree, place, expressed, rates(model, dq, "dq"))


@labelled("6")
def frame_acceleration(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    frame: str | None = None,
    *,
    expressed: str = "body",
) -> Array:
    """Time derivative of `frame_velocity`, J ddq + dJ/dt dq, shape (6,), rad/s^2 and m/s^2."""
    tree, place = book_tree(model, q), model.frame(frame)
    motion = rates(model, dq, "dq"), rates(model, ddq, "ddq")
    return tree_frame_acceleration(tree, place, expressed, *motion)


def tree_frame_velocity(tree: Tree, place: Frame, expressed: str, dq: Array) -> Array:
    """V of a frame, (6,); `place` is the frame in the tree's frame of its link."""
    body = body_walk(tree, place)
    return seen(body, expressed, body.J @ dq)[0] @ (body.J @ dq)


def tree_frame_acceleration(
    tree: Tree, place: Frame, expressed: str, dq: Array, ddq: Array
) -> Array:
    """dV/dt of a frame, (6,)."""
    body = body_walk(tree, place, dq)
    V = body.J @ dq
    X, turning = seen(body, expressed, V)
    return X @ (body.J @ ddq + body.dJ @ dq + turning @ V)


def tree_frame_jacobian(
    tree: Tree, place: Frame, expressed: str, dq: Array | None = None
) -> tuple[Array, Array]:
    """J of a frame and dJ/dt, (6, n) each: V = J dq, dV = J ddq + dJ/dt dq.

    The rate is zero where dq is None.
    """
    body = body_walk(tree, place, dq)
    if expressed == "body":
        return body.J, body.dJ
    X, turning = seen(body, expressed, zeros(6) if dq is None else body.J @ dq)
    if not is_recording():
        return in_axes(X, turning, body.J, body.dJ)
    columns = [in_axes(X, turning, c, dc) for c, dc in zip(body.J.T, body.dJ.T, strict=True)]
    J, dJ = zip(*columns, strict=True)
    return _matrix(J), _matrix(dJ)


@piece
def in_axes(X: Array, turning: Array, J: Array, dJ: Array) -> Pair:
    """Columns of J_b and dJ_b/dt in other axes; X and `turning` as in `seen`."""
    return X @ J, X @ (dJ + turning @ J)


@dataclass(frozen=True, eq=False)
class BodyWalk:
    """J_b and dJ_b/dt of a frame, (6, n) each, and its pose T_sb, (4, 4)."""

    J: Array
    dJ: Array
    T_sb: Array


def body_walk(tree: Tree, place: Frame, dq: Array | None = None) -> BodyWalk:
    """Walk from a frame to the base; dJ_b/dt is zero where dq is None."""
    R, x = place.T_if[:3, :3], place.T_if[:3, 3]  # {b} seen from the link that the walk is at
    J, dJ = ([zeros(6)] * tree.model.n for _ in range(2))
    V = zeros(6)  # of {b} relative to that link, in {b}
    for j in tree.path_inward(place.link):
        link = tree.links[j]
        rate = None if dq is None else dq[list(link.dofs)]
        screws, changes, V = screws_of(link.A, R, x, V, rate)
        for d, c, dc in zip(link.dofs, screws, changes, strict=True):
            J[d] = J[d] + c
            dJ[d] = dJ[d] + dc
        R, x = pose_inward(link.to, R, x)
    return BodyWalk(_matrix(J), _matrix(dJ), pose(R, x))


@piece
def screws_of(
    A: Array, R: Array, x: Array, V: Array, rate: Array | None
) -> tuple[list[Array], list[Array], Array]:
    """Twists of {b} at (R, x) for unit rates of a joint's axes, their rates, and V beyond it.

    V: of {b} relative to the joint's link. The rates are zero where `rate` of the joint is None.
    """
    screws = [_moved(R, x, axis) for axis in A.T]
    if rate is None:
        return screws, [zeros(6)] * len(screws), V
    changes = [ad(c) @ V for c in screws]
    return screws, changes, V + sum(c * r for c, r in zip(screws, rate, strict=True))


def _moved(R: Array, x: Array, A: Array) -> Array:
    """Twist of the frame {b} at (R, x) for unit rate of an axis A, in {b}."""
    return np.concatenate([R.T @ A[:3], R.T @ (A[3:] + cross(A[:3], x))])


def _matrix(columns: Sequence[Any]) -> Array:
    return np.array(columns).reshape(-1, 6).T


def seen(body: BodyWalk, expressed: str, V_b: Array) -> tuple[Array, Array]:
    """X and W, (6, 6) each, with V = X V_b and dX/dt = X W, for the axes that are asked for."""
    check_expressed(expressed)
    if expressed == "body":
        return np.eye(6, dtype=int), np.zeros((6, 6), int)
    if expressed == "space":
        return Ad(body.T_sb), ad(V_b)
    return Ad(pose(body.T_sb[:3, :3], zeros(3))), ad(np.concatenate([V_b[:3], zeros(3)]))


FRAME_VELOCITY = Quantity(
    "frame_velocity", "q dq",
    (Result("V", "6", "twist (angular, linear) of the frame", "rad/s and m/s"),),
    "Twist (angular, linear) of a frame: V = J dq.",
    "V = J dq",
    of_frame(tree_frame_velocity),
    (
        "robot.frame_velocity([0.1, 0.2], [1, 0.5], expressed='aligned').round(3)",
        "array([ 0.   ,  0.   ,  1.5  , -0.454,  2.141,  0.   ])",
    ),
    framed=True, choices=("expressed",),
)  # fmt: skip
FRAME_ACCELERATION = Quantity(
    "frame_acceleration", "q dq ddq",
    (
        Result(
            "dV", "6", "rate of the twist; in aligned axes the acceleration of the frame's origin",
            "rad/s^2 and m/s^2",
        ),
    ),
    "Time derivative of `frame_velocity`: dV = J ddq + dJ/dt dq.",
    "dV = J ddq + dJ/dt dq",
    of_frame(tree_frame_acceleration),
    (
        "robot.frame_acceleration([0.1, 0.2], [1, 0.5], [0, 2], expressed='aligned').round(3)",
        "array([ 0.   ,  0.   ,  2.   , -3.187,  0.897,  0.   ])",
    ),
    framed=True, choices=("expressed",),
)  # fmt: skip
