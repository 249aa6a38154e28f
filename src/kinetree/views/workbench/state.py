"""State: what the workbench shows, as one frozen record, and the wrench of the push in it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.robot import Robot
from kinetree.views.loops import closed_rest


@dataclass(frozen=True, eq=False)
class Push:
    """An external force at a point of one link, and a moment.

    point: in {i}, m. force, N, and moment, N m: in {s}, the frame of the arrow on the screen.
    """

    link: int
    point: Array
    force: Array
    moment: Array


@dataclass(frozen=True, eq=False)
class State:
    """A robot in motion: q (nq,), dq and ddq (n,), the push on it, and the unit of angles."""

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
    """A robot that stands still in its position of rest, closed if it has constraints."""
    q, zero = closed_rest(robot)[0], np.zeros(robot.n)
    return State(robot, q, zero, zero.copy(), degrees=degrees)


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
