"""Motion of a frame: its twist and acceleration, from its Jacobian and its rate (`frames.py`).

A twist is expressed in one of three ways:

    "body"     V_b: angular velocity and velocity of the frame's origin, in the axes of {b}
    "space"    V_s = Ad(T_sb) V_b: the same twist in {s}, of the point at the origin of {s}
    "aligned"  V_a = (R_sb omega, R_sb v): of the frame's origin, in the axes of {s}

The acceleration is in each case the time derivative of this vector of six numbers. For "aligned" it
is hence the angular acceleration and the acceleration of the frame's origin as an accelerometer
without gravity would measure it; for "body" it is dV_b/dt = J_b ddq + dJ_b/dt dq.
"""

from kinetree.core.arrays import Array
from kinetree.dynamics.frames import body_walk, seen
from kinetree.dynamics.tree import Tree
from kinetree.model.model import Frame
from kinetree.model.quantity import quantity


@quantity(
    "q dq -> V: 6",
    meaning="twist (angular, linear) of the frame",
    unit="rad/s and m/s",
    formula="V = J dq",
    over="frame",
    choices=("expressed",),
)
def frame_velocity(tree: Tree, place: Frame, expressed: str, dq: Array) -> Array:
    """Twist (angular, linear) of a frame: V = J dq.

    Example:
        >>> robot.frame_velocity([0.1, 0.2], [1, 0.5], expressed='aligned').round(3)
        array([ 0.   ,  0.   ,  1.5  , -0.454,  2.141,  0.   ])
    """
    body = body_walk(tree, place)
    return seen(body, expressed, body.J @ dq)[0] @ (body.J @ dq)


@quantity(
    "q dq ddq -> dV: 6",
    meaning="rate of the twist; in aligned axes the acceleration of the frame's origin",
    unit="rad/s^2 and m/s^2",
    formula="dV = J ddq + dJ/dt dq",
    over="frame",
    choices=("expressed",),
)
def frame_acceleration(tree: Tree, place: Frame, expressed: str, dq: Array, ddq: Array) -> Array:
    """Time derivative of `frame_velocity`: dV = J ddq + dJ/dt dq.

    Example:
        >>> robot.frame_acceleration([0.1, 0.2], [1, 0.5], [0, 2], expressed='aligned').round(3)
        array([ 0.   ,  0.   ,  2.   , -3.187,  0.897,  0.   ])
    """
    body = body_walk(tree, place, dq)
    V = body.J @ dq
    X, turning = seen(body, expressed, V)
    return X @ (body.J @ ddq + body.dJ @ dq + turning @ V)
