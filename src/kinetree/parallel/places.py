"""Random positions of a robot: within its limits, quaternions uniform over all rotations."""

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE, PLANAR, PRISMATIC, SPHERICAL
from kinetree.model import Joint, Model
from kinetree.parallel.philox import normals, uniforms

METRES = 1.0  # how far free and planar joints stand from the origin along each axis, at most


def anywhere(model: Model, seed: int, stream: str, samples: Array) -> Array:
    """Positions (S, nq) of the samples (S,)."""
    u = uniforms(seed, stream, samples, model.nq)
    low, high = (np.array(x) for x in zip(*_ranges(model), strict=True))
    q = low + (high - low) * u
    for joint in model.joints:
        if joint.follows is None and joint.type in (SPHERICAL, FREE):
            x = normals(seed, f"{stream}, turn of {joint.name}", samples, 4)
            squares = x * x
            length = np.sqrt(squares[:, 0] + squares[:, 1] + squares[:, 2] + squares[:, 3])
            q[:, list(joint.coords[:4])] = x / length[:, None]
    return q


def _ranges(model: Model) -> list[tuple[float, float]]:
    """Lowest and highest value of every coordinate."""
    return [
        span
        for joint in model.joints
        if joint.follows is None
        for span in ([_span(joint)] if len(joint.coords) == 1 else _spans(joint))
    ]


def _spans(joint: Joint) -> list[tuple[float, float]]:
    turns = [(-np.pi, np.pi)] if joint.type == PLANAR else [(0.0, 0.0)] * 4
    return turns + [(-METRES, METRES)] * (len(joint.coords) - len(turns))


def _span(joint: Joint) -> tuple[float, float]:
    """The limits of a joint; as far again beyond one where the other is missing."""
    reach = 0.5 if joint.type == PRISMATIC else np.pi
    low, high = joint.limits.lower, joint.limits.upper
    low = low if np.isfinite(low) else min(-reach, high - reach)
    high = high if np.isfinite(high) else max(reach, low + reach)
    return float(low), float(high)
