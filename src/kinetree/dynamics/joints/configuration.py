"""Positions of all joints: neutral, at rest and random ones, and steps along tangent vectors (n,).

Joints of one degree of freedom add. Quaternions and poses are multiplied from the right by the
exponential of the joint's own twist, so that dq is the rate of `integrate` at v = 0.
"""

from math import isfinite, pi
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike, length
from kinetree.dynamics.joints import tangents
from kinetree.files.description.joints import FREE, PLANAR, PRISMATIC, SCREW_TYPES, SPHERICAL
from kinetree.model import Joint, Model, joint_pose
from kinetree.model.inputs import coordinates, rates
from kinetree.model.labelled import labelled
from kinetree.model.model import for_robots
from kinetree.spatial import inverse, log_se3


def neutral(model: Model) -> Array:
    """The position with every joint at zero; quaternions are (1, 0, 0, 0).

    Args:
        model: the robot.
    """
    q = np.zeros(model.nq)
    for joint in model.leaders:
        if joint.type in (SPHERICAL, FREE):
            q[joint.coords[0]] = 1
        elif joint.type != PLANAR:
            q[joint.coords[0]] = -joint.offset if joint.offset else 0
    return q


def rest_position(model: Model) -> Array:
    """The neutral position, except for joints whose limits exclude it: they are in the middle.

    A joint with one finite limit that excludes the neutral position stands at that limit. A
    simulation that begins outside the limits ends at once, and no robot of that kind can be where
    it begins.
    """
    q = np.array(neutral(model), float)
    for joint in model.leaders:
        if joint.type not in SCREW_TYPES:
            continue
        low, high, k = joint.limits.lower, joint.limits.upper, joint.coords[0]
        if not low <= q[k] <= high:
            middle = (low + high) / 2
            q[k] = middle if np.isfinite(middle) else max(low, min(high, q[k]))
    return q


@for_robots
def start_position(model: Model) -> Array:
    """The position in which commands, views and simulations begin where none is given, (nq,).

    Args:
        model: the robot.

    It is that of rest; for a robot with constraints, the closed position that was chosen when it
    was constrained (constraints/positions.py). A robot with contacts and a free base stands on the
    ground.
    """
    constraints = model.constraints
    q = rest_position(model) if constraints is None else np.array(constraints.home)
    if model.contacts is None:
        return q
    from kinetree.dynamics.contacts.start import free_base, on_ground  # for robots that have some

    return on_ground(model, q) if free_base(model) else q


def random(model: Model, rng: "np.random.Generator") -> Array:
    """A random position within the limits, or within half a turn or half a metre without limits.

    Args:
        model: the robot.
        rng: a NumPy generator.
    """
    return random_positions(model, rng, 1)[0]


def random_positions(model: Model, rng: "np.random.Generator", count: int) -> Array:
    """Random positions, (count, nq): those of `count` calls of `random`."""
    leaders = model.leaders
    if all(joint.type in SCREW_TYPES for joint in leaders):
        ranges = np.array([position_range(joint) for joint in leaders]).reshape(-1, 2)
        return rng.uniform(ranges[:, 0], ranges[:, 1], (count, model.nq))
    q = np.zeros((count, model.nq))
    for row in q:
        for joint in leaders:
            coords = list(joint.coords)
            if joint.type in (SPHERICAL, FREE):
                turn = rng.normal(size=4)
                row[coords] = [*turn / length(turn), *rng.uniform(-1, 1, len(coords) - 4)]
            else:
                row[coords] = rng.uniform(*position_range(joint))
    return q


def position_range(joint: Joint) -> tuple[Any, Any]:
    """Lower and upper end of a random position of a joint without quaternions, rad or m."""
    if joint.type == PLANAR:
        return (-pi, -1, -1), (pi, 1, 1)
    reach = 0.5 if joint.type == PRISMATIC else pi
    low, high = joint.limits.lower, joint.limits.upper
    low = low if isfinite(low) else min(-reach, high - reach)
    return low, high if isfinite(high) else max(reach, low + reach)


@labelled("nq")
def integrate(model: Model, q: StateLike, v: StateLike) -> Array:
    """The position reached from q, (nq,), along the tangent vector v, (n,).

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        v: tangent vector, shape (n,), rad or m: a rate times a time.
    """
    return tangents.integrate(model, coordinates(model, q), rates(model, v, "v"))


@labelled("n")
def difference(model: Model, q0: StateLike, q1: StateLike) -> Array:
    """Tangent vector v, (n,), with integrate(q0, v) = q1; turns take the shorter way.

    Args:
        model: the robot.
        q0: position to start from, shape (nq,), rad or m.
        q1: position to reach, shape (nq,), rad or m.
    """
    q0, q1 = coordinates(model, q0, "q0"), coordinates(model, q1, "q1")
    v = np.zeros(model.n)
    for joint in model.leaders:
        coords, dofs = list(joint.coords), list(joint.dofs)
        if joint.type in (SPHERICAL, FREE):
            step = log_se3(inverse(joint_pose(joint, q0[coords])) @ joint_pose(joint, q1[coords]))
            v[dofs] = step[: len(dofs)]
        elif joint.type == PLANAR:
            v[dofs] = _planar_difference(joint, q0[coords], q1[coords])
        else:
            v[dofs] = q1[coords] - q0[coords]
    return v


def _planar_difference(joint: Joint, q0: Array, q1: Array) -> Array:
    """Tangent vector of a planar joint; its angle counts full turns, so none are removed."""
    theta = q1[0] - q0[0]
    p = (inverse(joint_pose(joint, q0)) @ joint_pose(joint, q1))[:2, 3]
    half = theta / 2
    a = half / np.tan(half) if half != 0 else 1.0
    return np.array([theta, a * p[0] + half * p[1], a * p[1] - half * p[0]])
