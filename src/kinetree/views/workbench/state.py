"""State: what the workbench shows, as one frozen record, and what follows from it at once."""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.robot import Robot


@dataclass(frozen=True, eq=False)
class Push:
    """What the world does to one link: a force at a point, and a moment.

    point: in {i}, m. force, N, and moment, N m: in {s}, as an arrow on the screen has them.
    """

    link: int
    point: Array
    force: Array
    moment: Array


@dataclass(frozen=True, eq=False)
class State:
    """A robot in motion: q (nq,), dq and ddq (n,), what pushes it, and the unit of angles."""

    robot: Robot
    q: Array
    dq: Array
    ddq: Array
    push: Push | None = None
    degrees: bool = False

    def replace(self, **changes: Any) -> "State":
        """The same with some fields changed."""
        return replace(self, **changes)


def at_rest(robot: Robot, *, degrees: bool = False) -> State:
    """A robot that stands still at home."""
    return State(robot, home(robot), np.zeros(robot.n), np.zeros(robot.n), degrees=degrees)


def home(robot: Robot) -> Array:
    """Every joint at zero, or half-way between its limits where zero lies beyond them."""
    q = np.array(robot.neutral(), float)
    for joint in robot.model.joints:
        low, high = joint.limits.lower, joint.limits.upper
        if joint.follows is None and joint.screw is not None and not low <= 0 <= high:
            q[joint.coords[0]] = (
                (low + high) / 2 if isfinite(low + high) else max(low, min(high, 0))
            )
    return q


def link_poses(state: State) -> Array:
    """T_si of every link, (links, 4, 4)."""
    return np.asarray(state.robot.link_poses(state.q), float)


def external_wrenches(state: State) -> Array:
    """F_ext, (links, 6): the push as wrenches from the world onto the links, in {i}.

    A force f at p is the wrench (p x f, f); the moment is added, both turned from {s} into {i}.
    """
    F = np.zeros((len(state.robot.model.links), 6))
    push = state.push
    if push is not None:
        R_is = link_poses(state)[push.link, :3, :3].T
        f, n = R_is @ push.force, R_is @ push.moment
        F[push.link] = np.concatenate([n + np.cross(push.point, f), f])
    return F
