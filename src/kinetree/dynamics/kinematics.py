"""Forward kinematics: poses of links and frames, their Jacobians and motion, and the rates of all.

A twist is expressed in one of three ways:

    "body"     V_b: angular velocity and velocity of the frame's origin, in the axes of {b}
    "space"    V_s = Ad(T_sb) V_b: the same twist in {s}, of the point at the origin of {s}
    "aligned"  V_a = (R_sb omega, R_sb v): of the frame's origin, in the axes of {s}

The acceleration is in each case the time derivative of this vector of six numbers. For "aligned" it
is hence the angular acceleration and the acceleration of the frame's origin as an accelerometer
without gravity would measure it; for "body" it is dV_b/dt = J_b ddq + dJ_b/dt dq.
"""

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.frames import body_walk, frame_motions, seen, tree_frame_jacobian, tree_pose
from kinetree.dynamics.tree import Tree, placed_tree
from kinetree.model import Model
from kinetree.model.labelled import labelled
from kinetree.model.model import Frame
from kinetree.model.quantity import quantity
from kinetree.spatial import pose as pose_from


@quantity("q -> T_si: l 4 4", over="model")
def link_poses(model: Model, q: StateLike) -> Array:
    """Poses T_si of all moving links in {s}, in the order of `robot.model.link_names`.

    Returns:
        T_si: poses of the link frames in the space frame [positions in m].

    Example:
        >>> robot.link_poses([0.1, 0.2])[-1, :3, 3].round(3)
        array([0.995, 0.1  , 0.   ])
    """
    return forward_kinematics(model, q)


@labelled("l", "4", "4")
def forward_kinematics(model: Model, q: StateLike) -> Array:
    """T_si of every link, (links, 4, 4): T_sp M_pi, times exp([A_i] q_i) or the joint's pose.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
    """
    _, *links = frame_motions(placed_tree(model, q), None, model.links).values()
    return np.array([pose_from(link.R, link.p) for link in links]).reshape(-1, 4, 4)


@labelled("l", "6", "n")
def link_jacobians(model: Model, q: StateLike) -> Array:
    """Body Jacobians of all links, (links, 6, n): V_i = J_i dq, the blocks of J(q) = L(q) A.

    J_i = Ad_ip J_p, and A_i in the columns of joint i.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
    """
    return tree_link_jacobians(placed_tree(model, q))


def tree_link_jacobians(tree: Tree) -> Array:
    """J_i of all links, (links, 6, n): their twists for the unit rate of every joint."""
    _, *twists = tree.twists(np.eye(tree.model.n, dtype=int)).values()
    return np.array([np.concatenate(x) for x in twists]).reshape(len(twists), 6, tree.model.n)


@quantity("q -> T_sb: 4 4", over="frame")
def pose(tree: Tree, frame: Frame) -> Array:
    """Pose T_sb of a frame in {s}.

    Returns:
        T_sb: pose of the frame in the space frame [position in m].

    Example:
        >>> robot.pose([0.1, 0.2])[:3, 3].round(3)
        array([1.759, 0.336, 0.   ])
    """
    return tree_pose(tree, frame)


@quantity("q -> J_b: 6 n", over="frame")
def body_jacobian(tree: Tree, frame: Frame) -> Array:
    """Body Jacobian J_b of a frame: its twist (angular, linear) in its own axes is J_b dq.

    Returns:
        J_b: Jacobian of the twist in the axes of the frame [rad/s and m/s for a unit of each rate].

    Example:
        >>> robot.body_jacobian([0.1, 0.2])[:, 0].round(3)
        array([0.   , 0.   , 1.   , 0.199, 1.78 , 0.   ])
    """
    return tree_frame_jacobian(tree, frame, "body")[0]


@quantity("q -> J_s: 6 n", over="frame")
def space_jacobian(tree: Tree, frame: Frame) -> Array:
    """Space Jacobian J_s of a frame: its twist (angular, linear) in {s} is J_s dq.

    Returns:
        J_s: Jacobian of the twist in the space frame [rad/s and m/s for a unit of each rate].

    Example:
        >>> robot.space_jacobian([0.1, 0.2])[:, 1].round(3)
        array([ 0.   ,  0.   ,  1.   ,  0.1  , -0.995,  0.   ])
    """
    return tree_frame_jacobian(tree, frame, "space")[0]


@quantity("q dq -> dJ_b: 6 n", over="frame", method=False)
def body_jacobian_rate(tree: Tree, frame: Frame, dq: Array) -> Array:
    """Rate of the body Jacobian of a frame, dJ_b/dt.

    Returns:
        dJ_b: rate of the body Jacobian [the units of J_b per second].

    Example:
        >>> robot.compile("body_jacobian_rate")([0.1, 0.2], [1, 0.5])[:, 0].round(3)
        array([ 0.   ,  0.   ,  0.   ,  0.49 , -0.099,  0.   ])
    """
    return tree_frame_jacobian(tree, frame, "body", dq)[1]


@quantity("q dq -> dJ_s: 6 n", over="frame", method=False)
def space_jacobian_rate(tree: Tree, frame: Frame, dq: Array) -> Array:
    """Rate of the space Jacobian of a frame, dJ_s/dt.

    Returns:
        dJ_s: rate of the space Jacobian [the units of J_s per second].

    Example:
        >>> robot.compile("space_jacobian_rate")([0.1, 0.2], [1, 0.5])[:, 1].round(3)
        array([0.   , 0.   , 0.   , 0.995, 0.1  , 0.   ])
    """
    return tree_frame_jacobian(tree, frame, "space", dq)[1]


@quantity("q dq -> V: 6", over="frame", choices=("expressed",))
def frame_velocity(tree: Tree, place: Frame, expressed: str, dq: Array) -> Array:
    """Twist (angular, linear) of a frame: V = J dq.

    Returns:
        V: twist (angular, linear) of the frame [rad/s and m/s].

    Example:
        >>> robot.frame_velocity([0.1, 0.2], [1, 0.5], expressed='aligned').round(3)
        array([ 0.   ,  0.   ,  1.5  , -0.454,  2.141,  0.   ])
    """
    body = body_walk(tree, place)
    return seen(body, expressed, body.J @ dq)[0] @ (body.J @ dq)


@quantity("q dq ddq -> dV: 6", over="frame", choices=("expressed",))
def frame_acceleration(tree: Tree, place: Frame, expressed: str, dq: Array, ddq: Array) -> Array:
    """Time derivative of `frame_velocity`: dV = J ddq + dJ/dt dq.

    Returns:
        dV: rate of the twist; in aligned axes the acceleration of the frame's origin [rad/s^2 and
            m/s^2].

    Example:
        >>> robot.frame_acceleration([0.1, 0.2], [1, 0.5], [0, 2], expressed='aligned').round(3)
        array([ 0.   ,  0.   ,  2.   , -3.187,  0.897,  0.   ])
    """
    body = body_walk(tree, place, dq)
    V = body.J @ dq
    X, turning = seen(body, expressed, V)
    return X @ (body.J @ ddq + body.dJ @ dq + turning @ V)
