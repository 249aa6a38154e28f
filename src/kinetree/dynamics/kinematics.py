"""Forward kinematics: poses of links and frames, their Jacobians, and the rates of these."""

from collections.abc import Callable, Iterable

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.pieces import is_recording
from kinetree.dynamics.traced import of_frame
from kinetree.model import WORLD, Model
from kinetree.model.inputs import columns, coordinates, link_pose, rates
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Make, Quantity, Result, textbook
from kinetree.spatial import Ad, ad, inverse
from kinetree.spatial import pose as pose_from


@labelled("l", "4", "4")
def forward_kinematics(model: Model, q: StateLike) -> Array:
    """T_si of every link, (links, 4, 4): T_sp M_pi, times exp([A_i] q_i) or the joint's pose."""
    q = coordinates(model, q)
    T_si = {WORLD: np.eye(4, dtype=int)}
    for i in model.links:
        T_si[i] = T_si[model.parent[i]] @ link_pose(model, i, q)
    return np.array([T_si[i] for i in model.links]).reshape(-1, 4, 4)


@labelled("4", "4")
def pose(model: Model, q: StateLike, frame: str | None = None) -> Array:
    """T_sb of a frame, the tool when None, shape (4, 4)."""
    place = model.frame(frame)
    if place.link == WORLD:
        return np.array(place.T_if)
    return forward_kinematics(model, q)[place.link] @ place.T_if


def _jacobian_of(expressed: str) -> Make:
    """Trace a Jacobian of a frame, or its rate where dq is an argument, by a walk inward.

    J_i = Ad_ip J_p carries the columns of all joints before link i past it. A walk from the frame
    to the base (`walk.py`) has one step for each joint: less than half the operations of a Panda.
    """

    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Array]:
        from kinetree.dynamics.walk import tree_frame_jacobian

        walk = of_frame(tree_frame_jacobian)(model, regrouped, frame, expressed)
        return lambda q, *dq: walk(q, *dq)[len(dq)]

    return make


def _pose_of(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Array]:
    """Trace the pose of a frame; of a long robot as a loop, in lean frames, from the frame inward.

    The loop has a piece for each link, whose frame may be any: only in lean frames are the axes of
    all joints the same.
    """
    if not is_recording():
        return lambda q: pose(model, q, frame)
    from kinetree.dynamics.lean import lean_frame, lean_model, lean_tree
    from kinetree.dynamics.walk import pose_inward

    lean = lean_model(model, regrouped=regrouped)
    place = lean_frame(lean, frame)

    def function(q: Array) -> Array:
        tree = lean_tree(lean, q)
        R, p = place.T_if[:3, :3], place.T_if[:3, 3]
        for i in tree.path_inward(place.link):
            R, p = pose_inward(tree.links[i].to, R, p)
        return pose_from(R, p)

    return function


@labelled("l", "6", "n")
def link_jacobians(model: Model, q: StateLike) -> Array:
    """Body Jacobians of all links, (links, 6, n): V_i = J_i dq, the blocks of J(q) = L(q) A.

    J_i = Ad_ip J_p, and A_i in the columns of joint i.
    """
    return _stacked(model, _jacobians(model, coordinates(model, q), None, model.links)[0])


@labelled(("l", "6", "n"), ("l", "6", "n"))
def link_jacobian_rates(model: Model, q: StateLike, dq: StateLike) -> tuple[Array, Array]:
    """J_i and dJ_i/dt of all links, each (links, 6, n).

    dJ_i = Ad_ip dJ_p - ad(A_i dq_i) Ad_ip J_p.
    """
    J, dJ = _jacobians(model, coordinates(model, q), rates(model, dq, "dq"), model.links)
    return _stacked(model, J), _stacked(model, dJ)


def _jacobians(
    model: Model, q: Array, dq: Array | None, links: Iterable[int]
) -> tuple[dict[int, Array], dict[int, Array]]:
    """J_i, and dJ_i where dq is given, of the links in an order that has parents first."""
    J = {WORLD: np.zeros((6, model.n), int)}
    dJ = {WORLD: J[WORLD]}
    for i in links:
        p, A = model.parent[i], model.A[i]
        Ad_ip = Ad(inverse(link_pose(model, i, q)))
        carried = Ad_ip @ J[p]
        J[i] = carried + A @ columns(model, i)
        if dq is not None:
            dq_i = dq[list(model.joints[i].dofs)]
            dJ[i] = Ad_ip @ dJ[p] - ad(A @ dq_i) @ carried
    return J, dJ


def _stacked(model: Model, x: dict[int, Array]) -> Array:
    return np.array([x[i] for i in model.links]).reshape(len(model.links), 6, model.n)


@labelled("6", "n")
def body_jacobian(model: Model, q: StateLike, frame: str | None = None) -> Array:
    """J_b of a frame (the tool when None), (6, n): its twist V_b = J_b dq in its own axes."""
    place = model.frame(frame)
    if place.link == WORLD:
        return np.zeros((6, model.n))
    J, _ = _jacobians(model, coordinates(model, q), None, model.path(place.link))
    return Ad(inverse(place.T_if)) @ J[place.link]


@labelled("6", "n")
def space_jacobian(model: Model, q: StateLike, frame: str | None = None) -> Array:
    """J_s of a frame (the tool when None), (6, n): the same twist written in {s}."""
    return Ad(pose(model, q, frame)) @ body_jacobian(model, q, frame)


@labelled("6", "n")
def body_jacobian_rate(
    model: Model, q: StateLike, dq: StateLike, frame: str | None = None
) -> Array:
    """dJ_b/dt, (6, n)."""
    place = model.frame(frame)
    if place.link == WORLD:
        return np.zeros((6, model.n))
    q, dq = coordinates(model, q), rates(model, dq, "dq")
    _, dJ = _jacobians(model, q, dq, model.path(place.link))
    return Ad(inverse(place.T_if)) @ dJ[place.link]


@labelled("6", "n")
def space_jacobian_rate(
    model: Model, q: StateLike, dq: StateLike, frame: str | None = None
) -> Array:
    """dJ_s/dt, (6, n): Ad_sb (dJ_b + ad(V_b) J_b)."""
    J, dJ = body_jacobian(model, q, frame), body_jacobian_rate(model, q, dq, frame)
    V_b = J @ rates(model, dq, "dq")
    return Ad(pose(model, q, frame)) @ (dJ + ad(V_b) @ J)


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
