"""Pushing a robot: a force as an arrow in the scene, and the link that it is dropped on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.model import Model
from kinetree.views.bodies import link_points
from kinetree.views.workbench.state import Push, State, link_poses

STRONG = 0.25  # a first push, in weights of the robot
LONG = 0.3  # its arrow, in extents


def weight(model: Model) -> float:
    """Mass times 9.81, N, that of no gravity too: a measure for forces."""
    return max(9.81 * float(np.sum(np.asarray(model.m, float))), 1e-3)


def metres_per_newton(model: Model, extent: float) -> float:
    """How long a force is drawn."""
    return LONG * extent / (STRONG * weight(model))


def first_push(state: State) -> Push:
    """Down on the tool, with a quarter of the robot's weight."""
    model = state.robot.model
    tool = model.frame()
    link = max(tool.link, 0)
    point = np.asarray(tool.T_if, float)[:3, 3] if tool.link >= 0 else np.zeros(3)
    return Push(link, point, np.array([0, 0, -STRONG * weight(model)]), np.zeros(3))


def with_push(state: State, function: Callable[..., Push], *arguments: Any) -> State:
    """The state with another push made of the present one; without a push, as it is."""
    if state.push is None:
        return state
    return state.replace(push=function(state, state.push, *arguments))


def point_in_space(state: State, push: Push) -> Array:
    """The point of attack in {s}."""
    T = link_poses(state)[push.link]
    return T[:3, :3] @ push.point + T[:3, 3]


def moved_point(state: State, push: Push, p: Array) -> Push:
    """The same push at a point p of {s}, still on its link."""
    T = link_poses(state)[push.link]
    return Push(push.link, T[:3, :3].T @ (p - T[:3, 3]), push.force, push.moment)


def dropped_on(state: State, push: Push, p: Array) -> Push:
    """The push on the link that passes nearest to p of {s}, at the nearest point of its line."""
    best: tuple[float, int, Array] | None = None
    for i, T in enumerate(link_poses(state)):
        local = T[:3, :3].T @ (p - T[:3, 3])
        start, ends = link_points(state.robot.model, i)
        for end in ends or [start]:
            near = nearest(local, start, end)
            distance = float(np.linalg.norm(near - local))
            if best is None or distance < best[0] - 1e-12:
                best = (distance, i, near)
    if best is None:
        return push
    return Push(best[1], best[2], push.force, push.moment)


def nearest(p: Array, start: Array, end: Array) -> Array:
    """The point of a stretch from start to end that is nearest to p."""
    way = end - start
    length = float(way @ way)
    share = 0.0 if length == 0 else float(np.clip((p - start) @ way / length, 0, 1))
    return start + share * way
