"""Forward kinematics: the pose of every link, and of any frame."""

from typing import Any

import numpy as np

from kinetree.algorithms.inputs import coordinates, link_pose
from kinetree.base.arrays import Array
from kinetree.model import WORLD, Model


def forward_kinematics(model: Model, q: Any) -> Array:
    """T_si of every link, (links, 4, 4): T_sp M_pi, times exp([A_i] q_i) or what the joint does."""
    q = coordinates(model, q)
    T_si = {WORLD: np.eye(4, dtype=int)}
    for i in model.links:
        T_si[i] = T_si[model.parent[i]] @ link_pose(model, i, q)
    return np.array([T_si[i] for i in model.links]).reshape(-1, 4, 4)


def pose(model: Model, q: Any, frame: str | None = None) -> Array:
    """T_sb of a frame, the tool when None, shape (4, 4)."""
    place = model.frame(frame)
    if place.link == WORLD:
        return np.array(place.T_if)
    return forward_kinematics(model, q)[place.link] @ place.T_if
