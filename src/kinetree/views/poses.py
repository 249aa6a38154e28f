"""Positions in which robots are shown at first, and the ground under those that have legs.

Arms stand as in the pictures of their data sheets. Only built-in robots are named here; others are
shown in the position of `kt.dynamics.start_position`.
"""

from itertools import product
from math import pi

import numpy as np

from kinetree.contacts import ContactPoint, on_ground
from kinetree.core.arrays import Array
from kinetree.dynamics.joints.configuration import start_position
from kinetree.model import Model
from kinetree.robot import Robot

# by the name of the robot: its positions, or those of joints whose names end so; rad and m
START: dict[str, list[float] | dict[str, float]] = {
    "Franka Panda": [0, -pi / 4, 0, -3 * pi / 4, 0, pi / 2, pi / 4],
    "Universal Robots UR5e": [pi, -2.2, 1.9, -1.27, -pi / 2, 0],
    "KUKA LBR iiwa 14 R820": [0, pi / 6, 0, -pi / 2, 0, pi / 3, 0],
    "Puma 560": [0.4, 1.14, -3.1, 0, 0.4, 0],
    "SCARA": [0.4, 0.9, -0.05, 0],
    "quadruped": {"swing": 0.7, "knee": -1.4},
    "hand": {"index_bend": 0.5, "middle_bend": 0.5, "ring_bend": 0.5, "little_bend": 0.5},
}
FRICTION = 0.8
TRUNK = (0.2, 0.1, 0.055)  # m, half edges of the quadruped's trunk


def shown_position(model: Model) -> Array:
    """The position in which a robot is shown at first, (nq,); one with legs stands."""
    q, wanted = start_position(model), START.get(model.name, {})
    names = model.coordinate_names
    if isinstance(wanted, list):
        q = np.array(wanted, float) if len(wanted) == len(q) else q
    else:
        for k, name in enumerate(names):
            q[k] = next((x for end, x in wanted.items() if name.endswith(end)), q[k])
    floats = model.contacts is not None and "base.z" in names
    return on_ground(model, q) if wanted and floats else q


def standing(robot: Robot) -> Robot:
    """A built-in robot with legs on level ground: feet, and what else hits it in a fall."""
    model, points = robot.model, list[ContactPoint]()
    if model.contacts is not None:
        return robot
    if robot.name == "quadruped":
        feet = [x for x in model.frames if x.endswith("_foot")]
        points += [ContactPoint(x, x, radius=0.02) for x in feet]
        for x, y in product((1, -1), (1, -1)):
            at = (x * TRUNK[0], y * TRUNK[1], -TRUNK[2])
            points.append(ContactPoint(f"trunk {len(points) - 3}", "trunk", at))
    elif robot.name == "humanoid":
        for side, (name, x) in product(("left", "right"), {"heel": -0.06, "toe": 0.17}.items()):
            points.append(ContactPoint(f"{side} {name}", f"{side}_sole", (x, 0, 0)))
        for part in ("head", "pelvis", "left_shank", "right_shank", "left_hand", "right_hand"):
            points.append(ContactPoint(part, part, radius=0.06))
    return robot.with_contacts(points, friction=FRICTION) if points else robot
