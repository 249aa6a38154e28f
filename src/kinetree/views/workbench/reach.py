"""The tool that is dragged: inverse kinematics from the present position."""

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.joints import FREE
from kinetree.robot import Robot


def reached(robot: Robot, q: Array, T: Array, frame: str | None) -> tuple[Array, bool]:
    """The position near q in which a frame is at the pose T, and whether it is reached.

    Where the orientation cannot be kept, the position alone counts; out of reach, the nearest
    position. A link on a free joint stays where it is, so that a leg moves and not the body.
    """
    model = robot.model
    name = model.frame_name(frame)
    assert name is not None
    bases = [i for i in model.links if model.joints[i].type == FREE]
    poses = np.asarray(robot.link_poses(q), float)
    held = {model.link_names[i]: poses[i] for i in bases if model.frames[name].link != i}
    found = None
    for target in (T[:3, 3],) if held or robot.n < 6 else (T, T[:3, 3]):
        found = robot.inverse_kinematics({name: target, **held}, q0=clamped(robot, q), restarts=0)
        if found.reached:
            break
    assert found is not None
    return np.asarray(found.q, float), bool(found.reached)


def clamped(robot: Robot, q: Array) -> Array:
    """The position with joints beyond their limits put at them."""
    q = np.array(q)
    for joint in robot.model.leaders:
        if joint.screw is not None:
            k = joint.coords[0]
            q[k] = np.clip(q[k], float(joint.limits.lower), float(joint.limits.upper))
    return q
