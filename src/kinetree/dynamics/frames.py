"""Motion of frames: one recursion outward over links, and one walk inward from a frame.

Outward, links are seen from {c}, which carries them: the world, or a link. With r from the origin
of the parent to that of the link, and (w, l) = A dq of its joint, all in the axes of {c},

    omega_i = omega_p + w        v_i = v_p + omega_p x r + l
    alpha_i = alpha_p + omega_p x w
    a_i     = a_p + alpha_p x r + omega_p x (omega_p x r + 2 l) + w x l

alpha and a are those at ddq = 0: the acceleration of a point is its Jacobian times ddq, and a.

Inward, a joint of link j on the way from a frame {b} to the base moves {b} with the screw
c = Ad_bj A, a column of J_b. c changes only with the joints beyond j, because {b} itself is at rest
in its own axes: with V the twist of {b} relative to link j, dc/dt = ad(c) V. The walk has one step
for each link, less than half the operations of a recursion outward.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.tree import Tree, TreeLink
from kinetree.model import WORLD
from kinetree.model.inputs import zeros
from kinetree.model.model import Frame
from kinetree.model.quantity import check_expressed
from kinetree.spatial import Ad, ad, cross
from kinetree.spatial.se3 import pose, split


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """A frame fixed in a link, seen from {c} and in its axes, and its motion at ddq = 0.

    R, p: its axes and its origin. screws: twists of its link at `p` for unit rates of the link's
    joint, (6, k). omega, v, alpha, a: of the frame and of its origin, relative to {c}.
    """

    R: Array
    p: Array
    screws: Array
    omega: Array
    v: Array
    alpha: Array
    a: Array

    def at(self, x: Array) -> "FrameMotion":
        """The same of the point x of the link, (3,), given in its frame; `screws` stay."""
        r = self.R @ x
        swing = cross(self.omega, r)
        a = self.a + cross(self.alpha, r) + cross(self.omega, swing)
        return replace(self, p=self.p + r, v=self.v + swing, a=a)


def frame_motions(
    tree: Tree, dq: Array | None = None, links: Iterable[int] | None = None
) -> dict[int, FrameMotion]:
    """Frames of links and their motion, by link, parents first.

    dq: None: at rest. links: some links, parents first, all carried by one link, from which they
    are seen; None: all, from the world.
    """
    o = zeros(3)
    carrier = FrameMotion(np.eye(3, dtype=int), o, np.zeros((6, 0), int), o, o, o, o)

    def step(_: int, link: TreeLink, parent: FrameMotion) -> FrameMotion:
        R, r = link.to.outward(parent.R.T).T, parent.R @ link.to.p
        screws = np.concatenate([R @ link.A[:3], R @ link.A[3:]])
        omega, v, alpha, a = parent.omega, parent.v, parent.alpha, parent.a
        if dq is not None:
            rate = dq[list(link.dofs)]
            w, l = screws[:3] @ rate, screws[3:] @ rate
            a = a + cross(alpha, r) + cross(omega, cross(omega, r) + 2 * l) + cross(w, l)
            v = v + cross(omega, r) + l
            alpha = alpha + cross(omega, w)
            omega = omega + w
        return FrameMotion(R, parent.p + r, screws, omega, v, alpha, a)

    return tree.outward(carrier, step, links)


def point_columns(
    tree: Tree, frames: Mapping[int, FrameMotion], chain: Iterable[int], point: Array
) -> list[tuple[int, Array, Array]]:
    """Each degree of freedom on a chain, and (w, v) of a point at its end for the unit rate."""
    return [
        (d, screw[:3], screw[3:] + cross(screw[:3], point - frames[j].p))
        for j in chain
        for d, screw in zip(tree.links[j].dofs, frames[j].screws.T, strict=True)
    ]


def chains(tree: Tree, *ends: int) -> list[list[int]]:
    """Links from the last one that carries all ends to each of them, outward."""
    paths = [tree.path_inward(end)[::-1] for end in ends]
    shared = sum(len(set(links)) == 1 for links in zip(*paths, strict=False))
    return [path[shared:] for path in paths]


Seen = tuple[Array, Array, Array]  # R and p of a frame, and its twist


@dataclass(frozen=True, eq=False)
class BodyWalk:
    """J_b and dJ_b/dt of a frame, (6, n) each, and its pose T_sb, (4, 4)."""

    J: Array
    dJ: Array
    T_sb: Array


def body_walk(tree: Tree, place: Frame, dq: Array | None = None) -> BodyWalk:
    """Walk from a frame to the base; dJ_b/dt is zero where dq is None."""
    J, dJ = ([zeros(6)] * tree.model.n for _ in range(2))
    # {b} seen from a link, and its twist relative to that link, in {b}
    here = place.T_if[:3, :3], place.T_if[:3, 3], zeros(6)
    walk = dict.fromkeys([WORLD, *tree.path_inward(place.link)], here)
    for j, (R, x, V) in tree.inward(walk, _seen_from_parent):
        link = tree.links[j]
        axes = [(w, l + cross(w, x)) for w, l in map(split, link.A.T)]
        screws = [np.concatenate([R.T @ w, R.T @ l]) for w, l in axes]
        for d, c in zip(link.dofs, screws, strict=True):
            J[d] = J[d] + c
            if dq is not None:
                dJ[d] = dJ[d] + ad(c) @ V
        if dq is not None:
            moves = (c * dq[d] for d, c in zip(link.dofs, screws, strict=True))
            walk[j] = R, x, V + sum(moves)
    R, x, _ = walk[WORLD]
    columns = [np.array(x).reshape(-1, 6).T for x in (J, dJ)]
    return BodyWalk(columns[0], columns[1], pose(R, x))


def _seen_from_parent(_: int, link: TreeLink, x: Seen, parent: Seen) -> Seen:
    """A frame and its twist seen from the parent of the link."""
    R, p, V = x
    return link.to.inward(R), link.to.p + link.to.inward(p), V


def tree_pose(tree: Tree, place: Frame) -> Array:
    """T_sb of a frame, (4, 4)."""
    x = frame_motions(tree, None, tree.path_inward(place.link)[::-1])[place.link]
    return pose(x.R @ place.T_if[:3, :3], x.at(place.T_if[:3, 3]).p)


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
    return X @ body.J, X @ (body.dJ + turning @ body.J)


def seen(body: BodyWalk, expressed: str, V_b: Array) -> tuple[Array, Array]:
    """X and W, (6, 6) each, with V = X V_b and dX/dt = X W, for the axes that are asked for."""
    check_expressed(expressed)
    if expressed == "body":
        return np.eye(6, dtype=int), np.zeros((6, 6), int)
    if expressed == "space":
        return Ad(body.T_sb), ad(V_b)
    return Ad(pose(body.T_sb[:3, :3], zeros(3))), ad(np.concatenate([V_b[:3], zeros(3)]))
