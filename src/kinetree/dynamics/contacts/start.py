"""Positions in which a robot stands on the ground, and checks of the position it starts in."""

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.contacts.ground import contact_points
from kinetree.errors import InputError, ModelError, argument
from kinetree.files.description.contacts import Boxes, Ground
from kinetree.files.description.joints import FREE
from kinetree.model import WORLD, HasModel, Model, model_of
from kinetree.model.contacts import contacts_of_model
from kinetree.model.inputs import coordinates

DEEPEST_START = 0.01  # m: rounding and soft contacts of other simulators leave less
EXACT = 1e-12  # m: gap at which the robot stands
STANDING = 1e-6  # m: gap that rounding may leave
MAX_SHIFTS = 100


def check_gaps(model: Model, gaps: Array) -> None:
    """Raise InputError if a contact starts further inside the ground than DEEPEST_START.

    Args:
        model: a robot with contacts.
        gaps: of the contacts at the start, shape (..., c), m.
    """
    inside = ~(gaps >= -DEEPEST_START)
    if not inside.any():
        return
    *rollout, worst = (int(x) for x in np.unravel_index(int(np.argmin(gaps)), gaps.shape))
    name = contacts_of_model(model, "check_gaps").names[worst]
    where = f" of rollout {rollout}" if rollout else ""
    raise InputError(
        f"q0 puts contact {name!r}{where} {-gaps[(*rollout, worst)]:.3g} m inside the ground "
        f"({int(inside.sum())} contacts are inside); expected {DEEPEST_START:g} m at most. "
        "kt.contacts.on_ground(robot, q0) raises a robot on a free base until it stands."
    )


def start_gaps(ground: Ground, points: Array, gaps: Array) -> Array:
    """Gaps of a start, (..., c), m; the lower face of a box on the ground is not a way out of it.

    Args:
        ground: of the robot.
        points: points that touch, in {s}, shape (..., c, 3), m.
        gaps: their distances from the ground, shape (..., c), m.
    """
    if not isinstance(ground, Boxes):
        return gaps
    for box in ground.boxes:
        c, s = np.cos(float(box.yaw)), np.sin(float(box.yaw))
        x, y, z = np.moveaxis(points - np.asarray(box.centre, float), -1, 0)
        a, b, h = np.asarray(box.size, float) / 2
        outside = np.maximum(np.maximum(abs(c * x + s * y) - a, abs(c * y - s * x) - b), z - h)
        gaps = np.where(z > -h - DEEPEST_START, np.minimum(gaps, outside), gaps)
    return gaps


def on_ground(robot: Model | HasModel, q: StateLike, gap: float = 0.0) -> Array:
    """The position with its free base moved along z until the lowest contact touches.

    Args:
        robot: a Robot or a Model with contacts, whose base is on a free joint.
        q: joint positions, shape (nq,), rad or m.
        gap: gap of the lowest contact, m.

    Returns:
        q: shape (nq,), rad or m.
    """
    model = model_of(robot)
    ground = contacts_of_model(model, "on_ground").ground
    height = free_base(model)
    if height is None:
        raise ModelError(
            f"on_ground needs a robot whose base is on a free joint, and that of {model.name!r} is "
            f"not. Load it with {argument('floating', True)}, or choose q so that it stands."
        )
    q, error = np.array(coordinates(model, q), float), 0.0
    for _ in range(MAX_SHIFTS):
        points, gaps, _ = (np.asarray(x, float) for x in contact_points(model, q))
        error = gap - float(np.min(start_gaps(ground, points, gaps)))
        q[height] += error
        if abs(error) < EXACT:
            return q
    if abs(error) < STANDING:
        return q
    raise ModelError(
        "the base cannot be raised or lowered onto the ground, which is too steep below it; "
        "expected ground whose normal points up. Choose q so that the robot stands."
    )


def free_base(model: Model) -> int | None:
    """The entry of q that is the height of a free base; None if there is no such base."""
    bases = [i for i in model.links if model.parent[i] == WORLD]
    joints = [model.joints[i] for i in bases if model.joints[i].type == FREE]
    return joints[0].coords[6] if len(bases) == len(joints) == 1 else None
