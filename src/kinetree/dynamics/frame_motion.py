"""Motion of a frame: its twist and acceleration, from its Jacobian and its rate (`frames.py`).

A twist is expressed in one of three ways:

    "body"     V_b: angular velocity and velocity of the frame's origin, in the axes of {b}
    "space"    V_s = Ad(T_sb) V_b: the same twist in {s}, of the point at the origin of {s}
    "aligned"  V_a = (R_sb omega, R_sb v): of the frame's origin, in the axes of {s}

The acceleration is in each case the time derivative of this vector of six numbers. For "aligned" it
is hence the angular acceleration and the acceleration of the frame's origin as an accelerometer
without gravity would measure it; for "body" it is dV_b/dt = J_b ddq + dJ_b/dt dq.
"""

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.frames import body_walk, seen
from kinetree.dynamics.traced import of_frame
from kinetree.dynamics.tree import Tree, placed_tree
from kinetree.model import Model
from kinetree.model.inputs import rates
from kinetree.model.labelled import labelled
from kinetree.model.model import Frame
from kinetree.model.quantity import Quantity, Result


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
    tree, place = placed_tree(model, q), model.frame(frame)
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
    tree, place = placed_tree(model, q), model.frame(frame)
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
