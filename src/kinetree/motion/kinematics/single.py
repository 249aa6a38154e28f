"""One pose from a start near it: one call of machine code, without the search around it."""

from math import inf, pi
from typing import Any

import numpy as np

from kinetree.model import Model
from kinetree.model.bounds import Bounds
from kinetree.motion.kinematics.descent import POSE, Task, descent_kernel
from kinetree.motion.kinematics.problem import FAR, SEARCH_PROGRESS, SEARCH_ROUNDS, START_DAMPING
from kinetree.motion.kinematics.result import IKResult
from kinetree.motion.kinematics.targets import ROUNDED

NUMBERS = [np.float64(x) for x in (FAR, START_DAMPING, 1, SEARCH_ROUNDS, FAR, FAR)]  # of State.at

REACHED, RESTARTS = np.array(True)[()], np.array(0)[()]


def near_start(
    model: Model, T: Any, q0: Any, frame: str | None, tolerance: float, bounds: Bounds
) -> IKResult | None:
    """The result for plain arrays T, (4, 4), and q0, (nq,); None: the search has to decide.

    For so few numbers, checks in Python take less time than those of NumPy.

    Args:
        model: the robot.
        T: the pose.
        q0: the start.
        frame: frame to move.
        tolerance: as of `inverse_kinematics`.
        bounds: the limits of the joints.
    """
    plain = type(T) is type(q0) is np.ndarray and T.dtype == q0.dtype == float
    if not (plain and type(tolerance) is float and isinstance(frame, str | None)) or (
        T.shape != (4, 4) or q0.shape != (model.n,) or model.nq != model.n
    ):
        return None
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = T.tolist()
    off = (
        a * a + d * d + g * g - 1, b * b + e * e + h * h - 1, c * c + f * f + i * i - 1,
        a * b + d * e + g * h, a * c + d * f + g * i, b * c + e * f + h * i,
    )  # fmt: skip
    right = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g) > 0  # not for NaN
    if not (right and max(map(abs, off)) <= ROUNDED / 2 and -inf < x + y + z < inf):
        return None
    kernel = descent_kernel(model, (Task(POSE, frame),))
    start = q0.tolist()
    limits = zip(bounds.lower.tolist(), start, bounds.upper.tolist(), strict=True)
    within = bounds.coords.tolist() == [*range(model.n)] and all(u <= v <= w for u, v, w in limits)
    if last != [0, 0, 0, 1] or not within:
        return None
    zero = np.zeros(model.n)
    options = tolerance, SEARCH_PROGRESS, 1.0
    q, *_, angle, distance = kernel(
        q0, zero, *NUMBERS, bounds.lower, bounds.upper, np.ones((1, 2)), *options, zero, T
    )
    turned = any(abs(v - u) > pi for v, u in zip(q.tolist(), start, strict=True))
    if turned or not max(angle, distance) <= tolerance * tolerance:
        return None
    return IKResult(q, REACHED, np.sqrt(distance), np.sqrt(angle), RESTARTS)
