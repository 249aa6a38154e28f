"""Jacobian of a frame and the rate of it by one walk from the frame to the base.

A joint of link j on the way moves the frame {b} with the screw c = Ad_bj A, a column of J_b. c
changes only with the joints beyond j, because {b} itself is at rest in its own axes: with V the
twist of {b} relative to link j, dc/dt = ad(c) V.

The walk has one step for each link, which is a piece: on a long way it becomes a loop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.pieces import is_recording, piece
from kinetree.dynamics.tree import Pair, Step, Tree
from kinetree.model.inputs import zeros
from kinetree.model.model import Frame
from kinetree.model.quantity import check_expressed
from kinetree.spatial import Ad, ad, cross
from kinetree.spatial.se3 import pose


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


@piece
def pose_inward(to: Step, R: Array, p: Array) -> tuple[Array, Array]:
    """Rotation and position of a frame, given in a link, in the frame of the link's parent."""
    columns = [to.inward(R[:, k]) for k in range(3)]
    return np.array(columns).T, to.p + to.inward(p)
