"""Forward kinematics: poses of links and frames, their Jacobians, and the rates of these."""

from collections.abc import Callable

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.frames import frame_motions, tree_frame_jacobian, tree_pose
from kinetree.dynamics.traced import of_frame
from kinetree.dynamics.tree import Tree, TreeLink, placed_tree
from kinetree.model import Model
from kinetree.model.inputs import rates
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Make, Quantity, Result, textbook
from kinetree.spatial import ad, cross
from kinetree.spatial import pose as pose_from


@labelled("l", "4", "4")
def forward_kinematics(model: Model, q: StateLike) -> Array:
    """T_si of every link, (links, 4, 4): T_sp M_pi, times exp([A_i] q_i) or the joint's pose."""
    _, *links = frame_motions(placed_tree(model, q), None, model.links).values()
    return np.array([pose_from(link.R, link.p) for link in links]).reshape(-1, 4, 4)


@labelled("4", "4")
def pose(model: Model, q: StateLike, frame: str | None = None) -> Array:
    """T_sb of a frame, the tool when None, shape (4, 4)."""
    return tree_pose(placed_tree(model, q), model.frame(frame))


@labelled("l", "6", "n")
def link_jacobians(model: Model, q: StateLike) -> Array:
    """Body Jacobians of all links, (links, 6, n): V_i = J_i dq, the blocks of J(q) = L(q) A.

    J_i = Ad_ip J_p, and A_i in the columns of joint i.
    """
    return tree_link_jacobians(placed_tree(model, q))[0]


@labelled(("l", "6", "n"), ("l", "6", "n"))
def link_jacobian_rates(model: Model, q: StateLike, dq: StateLike) -> tuple[Array, Array]:
    """J_i and dJ_i/dt of all links, each (links, 6, n).

    dJ_i = Ad_ip dJ_p - ad(A_i dq_i) Ad_ip J_p.
    """
    return tree_link_jacobians(placed_tree(model, q), rates(model, dq, "dq"))


def tree_link_jacobians(tree: Tree, dq: Array | None = None) -> tuple[Array, Array]:
    """J_i and dJ_i/dt of all links, each (links, 6, n); the rates are zero where dq is None."""
    n = tree.model.n

    def carried(link: TreeLink, J: Array) -> Array:
        """Ad_ip J."""
        return np.concatenate(
            [link.to.outward(J[:3]), link.to.outward(J[3:] + cross(J[:3], link.to.p))]
        )

    def step(_: int, link: TreeLink, parent: tuple[Array, Array]) -> tuple[Array, Array]:
        dofs = list(link.dofs)
        own = np.zeros((6, n), link.A.dtype)
        own[:, dofs] = link.A
        J, dJ = (carried(link, x) for x in parent)
        if dq is not None:
            dJ = dJ - ad(link.A @ dq[dofs]) @ J
        return J + own, dJ

    nothing = np.zeros((6, n), int)
    _, *links = tree.outward((nothing, nothing), step).values()
    J, dJ = (np.array([x[k] for x in links]).reshape(len(links), 6, n) for k in range(2))
    return J, dJ


@labelled("6", "n")
def body_jacobian(model: Model, q: StateLike, frame: str | None = None) -> Array:
    """J_b of a frame (the tool when None), (6, n): its twist V_b = J_b dq in its own axes."""
    return tree_frame_jacobian(placed_tree(model, q), model.frame(frame), "body")[0]


@labelled("6", "n")
def space_jacobian(model: Model, q: StateLike, frame: str | None = None) -> Array:
    """J_s of a frame (the tool when None), (6, n): the same twist written in {s}."""
    return tree_frame_jacobian(placed_tree(model, q), model.frame(frame), "space")[0]


@labelled("6", "n")
def body_jacobian_rate(
    model: Model, q: StateLike, dq: StateLike, frame: str | None = None
) -> Array:
    """dJ_b/dt, (6, n)."""
    tree, place = placed_tree(model, q), model.frame(frame)
    return tree_frame_jacobian(tree, place, "body", rates(model, dq, "dq"))[1]


@labelled("6", "n")
def space_jacobian_rate(
    model: Model, q: StateLike, dq: StateLike, frame: str | None = None
) -> Array:
    """dJ_s/dt, (6, n): Ad_sb (dJ_b + ad(V_b) J_b)."""
    tree, place = placed_tree(model, q), model.frame(frame)
    return tree_frame_jacobian(tree, place, "space", rates(model, dq, "dq"))[1]


def _pose_of(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Array]:
    """Trace the pose of a frame."""
    make = of_frame(lambda tree, place, _: tree_pose(tree, place))
    return make(model, regrouped, frame, "space")


def _jacobian_of(expressed: str) -> Make:
    """Trace a Jacobian of a frame, or its rate where dq is an argument."""

    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Array]:
        walk = of_frame(tree_frame_jacobian)(model, regrouped, frame, expressed)
        return lambda q, *dq: walk(q, *dq)[len(dq)]

    return make


LINK_POSES = Quantity(
    "link_poses", "q",
    (Result("T_si", "l 4 4", "poses of the link frames in the space frame", "positions in m"),),
    "Poses T_si of all moving links in {s}, in the order of `robot.model.link_names`.",
    "T_si of every link",
    textbook(forward_kinematics),
    ("robot.link_poses([0.1, 0.2])[-1, :3, 3].round(3)", "array([0.995, 0.1  , 0.   ])"),
)  # fmt: skip
POSE = Quantity(
    "pose", "q",
    (Result("T_sb", "4 4", "pose of the frame in the space frame", "position in m"),),
    "Pose T_sb of a frame in {s}.",
    "T_sb of the frame",
    _pose_of,
    ("robot.pose([0.1, 0.2])[:3, 3].round(3)", "array([1.759, 0.336, 0.   ])"),
    framed=True,
)  # fmt: skip
BODY_JACOBIAN = Quantity(
    "body_jacobian", "q",
    (
        Result(
            "J_b", "6 n", "Jacobian of the twist in the axes of the frame",
            "rad/s and m/s for a unit of each rate",
        ),
    ),
    "Body Jacobian J_b of a frame: its twist (angular, linear) in its own axes is J_b dq.",
    "J_b",
    _jacobian_of("body"),
    (
        "robot.body_jacobian([0.1, 0.2])[:, 0].round(3)",
        "array([0.   , 0.   , 1.   , 0.199, 1.78 , 0.   ])",
    ),
    framed=True,
)  # fmt: skip
SPACE_JACOBIAN = Quantity(
    "space_jacobian", "q",
    (
        Result(
            "J_s", "6 n", "Jacobian of the twist in the space frame",
            "rad/s and m/s for a unit of each rate",
        ),
    ),
    "Space Jacobian J_s of a frame: its twist (angular, linear) in {s} is J_s dq.",
    "J_s",
    _jacobian_of("space"),
    (
        "robot.space_jacobian([0.1, 0.2])[:, 1].round(3)",
        "array([ 0.   ,  0.   ,  1.   ,  0.1  , -0.995,  0.   ])",
    ),
    framed=True,
)  # fmt: skip
BODY_JACOBIAN_RATE = Quantity(
    "body_jacobian_rate", "q dq",
    (Result("dJ_b", "6 n", "rate of the body Jacobian", "the units of J_b per second"),),
    "Rate of the body Jacobian of a frame, dJ_b/dt.",
    "dJ_b/dt",
    _jacobian_of("body"),
    (
        "robot.body_jacobian_rate([0.1, 0.2], [1, 0.5])[:, 0].round(3)",
        "array([ 0.   ,  0.   ,  0.   ,  0.49 , -0.099,  0.   ])",
    ),
    framed=True,
)  # fmt: skip
SPACE_JACOBIAN_RATE = Quantity(
    "space_jacobian_rate", "q dq",
    (Result("dJ_s", "6 n", "rate of the space Jacobian", "the units of J_s per second"),),
    "Rate of the space Jacobian of a frame, dJ_s/dt.",
    "dJ_s/dt",
    _jacobian_of("space"),
    (
        "robot.space_jacobian_rate([0.1, 0.2], [1, 0.5])[:, 1].round(3)",
        "array([0.   , 0.   , 0.   , 0.995, 0.1  , 0.   ])",
    ),
    framed=True,
)  # fmt: skip
