"""Rates of coordinates: dq/dt of quaternions and poses as numbers, for the adaptive method.

The adaptive method measures its error in the coordinates themselves and lets them move straight;
after each step quaternions are brought back to length 1.
"""

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, PLANAR, SPHERICAL
from kinetree.model import Joint, Model
from kinetree.scalars import cos, sin
from kinetree.spatial import cross
from kinetree.spatial.so3 import quaternion_rotation


def coordinate_rates(model: Model, q: Array, dq: Array) -> Array:
    """Time derivatives of the entries of q, (nq,), over any scalars."""
    parts = {}
    for joint in model.joints:
        if joint.follows is None:
            rate = joint_rates(joint, q[list(joint.coords)], dq[list(joint.dofs)])
            parts.update(zip(joint.coords, rate, strict=True))
    return np.array([parts[k] for k in range(model.nq)])


def joint_rates(joint: Joint, q: Array, v: Array) -> Array:
    """The same for one joint: half of q (0, w), R v, or v itself."""
    if joint.type == PLANAR:
        c, s = cos(q[0]), sin(q[0])
        return np.array([v[0], c * v[1] - s * v[2], s * v[1] + c * v[2]])
    if joint.type not in (SPHERICAL, FREE):
        return v
    turn, w = q[1:4], v[:3]
    rate = np.array([-(turn @ w), *(w * q[0] + cross(turn, w))]) / 2
    if joint.type == SPHERICAL:
        return rate
    return np.concatenate([rate, quaternion_rotation(q[:4]) @ v[3:]])


def plain(model: Model) -> bool:
    """Whether dq is the rate of q entry by entry."""
    return not {SPHERICAL, FREE, PLANAR} & set(model.joint_types)


def normalised(model: Model, x: Array) -> Array:
    """States (..., x) with quaternions of length 1."""
    own = [
        list(joint.coords[:4])
        for joint in model.joints
        if joint.type in (SPHERICAL, FREE) and joint.follows is None
    ]
    if not own:
        return x
    x = x.copy()
    for entries in own:
        x[..., entries] /= np.linalg.norm(x[..., entries], axis=-1, keepdims=True)
    return x
