"""How coordinates move along tangent vectors: the derivative of `integrate` at rest."""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, PLANAR, SPHERICAL
from kinetree.model import Joint, Model, joint_pose
from kinetree.model.inputs import coordinates


def tangent_map(model: Model, q: Any) -> Array:
    """N(q), (nq, n): the rate of q is N dq, and integrate(q, v) = q + N v to first order in v."""
    q = coordinates(model, q)
    rows: list[list[Any]] = [[0] * model.n for _ in range(model.nq)]
    for joint in model.joints:
        if joint.follows is None:
            block = _block(joint, q[list(joint.coords)])
            for coordinate, entries in zip(joint.coords, block, strict=True):
                for d, entry in zip(joint.dofs, entries, strict=True):
                    rows[coordinate][d] = entry
    return np.array(rows).reshape(model.nq, model.n)


def _block(joint: Joint, q: Array) -> list[list[Any]]:
    """Rates of one joint's coordinates for unit rates."""
    if joint.type == SPHERICAL:
        return _quaternion_rates(q)
    if joint.type not in (FREE, PLANAR):
        return [[1]]
    R = joint_pose(joint, q)[:3, :3]
    if joint.type == PLANAR:
        return [[1, 0, 0], [0, *R[0, :2]], [0, *R[1, :2]]]
    turns = [[*row, 0, 0, 0] for row in _quaternion_rates(q[:4])]
    return [*turns, *([0, 0, 0, *row] for row in R)]


def _quaternion_rates(q: Array) -> list[list[Any]]:
    """Half the product of the quaternion (w, x, y, z) with (0, omega)."""
    w, x, y, z = q / 2
    return [[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]
