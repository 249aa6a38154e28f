"""Cubic and quintic motions from one position to another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.motion.hermite import cubic_coefficients, quintic_coefficients
from kinetree.motion.inputs import ends, joint_vector, make, sample_times
from kinetree.motion.pieces import polynomials
from kinetree.trajectory import Trajectory


def cubic(
    q0: Any,
    q1: Any,
    duration: float,
    dt: float = 0.01,
    *,
    dq0: Any = 0,
    dq1: Any = 0,
    robot: Any = None,
    joint_names: Sequence[str] = (),
    name: str = "cubic",
) -> Trajectory:
    """The cubic in time from q0 to q1, (n,), with given rates at both ends.

    Rest to rest, the speed peaks at 3/2 of the mean, and the acceleration, 6 (q1 - q0) / T^2 at
    the start and the opposite at the end, jumps there. `dt` is the largest step between samples.
    """
    q0, q1 = ends(q0, q1, robot)
    t = sample_times(duration, dt)
    rates = (joint_vector(dq0, len(q0), "dq0"), joint_vector(dq1, len(q0), "dq1"))
    c = cubic_coefficients(t[-1], q0, rates[0], q1, rates[1])
    curve = polynomials([0, t[-1]], np.stack(c)[:, None], end=(q1, rates[1]))
    return make(t, curve(t), robot, joint_names, name, curve)


def quintic(
    q0: Any,
    q1: Any,
    duration: float,
    dt: float = 0.01,
    *,
    dq0: Any = 0,
    dq1: Any = 0,
    ddq0: Any = 0,
    ddq1: Any = 0,
    robot: Any = None,
    joint_names: Sequence[str] = (),
    name: str = "quintic",
) -> Trajectory:
    """The quintic in time from q0 to q1, (n,), with given rates and accelerations at both ends.

    Rest to rest, the speed peaks at 15/8 of the mean and the acceleration at
    10 / sqrt(3) (q1 - q0) / T^2; nothing jumps. `dt` is the largest step between samples.
    """
    q0, q1 = ends(q0, q1, robot)
    t, n = sample_times(duration, dt), len(q0)
    left = (q0, joint_vector(dq0, n, "dq0"), joint_vector(ddq0, n, "ddq0"))
    right = (q1, joint_vector(dq1, n, "dq1"), joint_vector(ddq1, n, "ddq1"))
    c = quintic_coefficients(t[-1], *left, *right)
    curve = polynomials([0, t[-1]], np.stack(c)[:, None], end=right)
    return make(t, curve(t), robot, joint_names, name, curve)
