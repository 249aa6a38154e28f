"""Recordings of a robot that exists only in the computer, with the noise of a real one."""

from typing import Any

import numpy as np

from kinetree.identify.recording import Recording, make_recording
from kinetree.trajectory import Trajectory


def simulated_recording(
    robot: Any,
    motion: Trajectory,
    *,
    encoder_noise: float = 0.0,
    torque_noise: Any = 0.0,
    seed: int = 0,
    cutoff: float | None = None,
) -> Recording:
    """What would be measured if the robot followed a motion exactly.

    Args:
        robot: the true one.
        motion: single, not a batch.
        encoder_noise: standard deviation of measured positions, rad or m. With 0 the motion's own
            rates and accelerations are recorded; otherwise they come from noisy positions.
        torque_noise: standard deviation of measured joint forces, a number or (n,).
        seed: of the noise.
        cutoff: of the low-pass of the positions, Hz; None looks for it in their spectrum.
    """
    rng = np.random.default_rng(seed)
    tau = robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    tau = tau + rng.normal(size=tau.shape) * np.asarray(torque_noise, float)
    if encoder_noise == 0:
        return make_recording(robot, motion.t, motion.q, tau, motion.dq, motion.ddq)
    q = motion.q + encoder_noise * rng.normal(size=motion.q.shape)
    return make_recording(robot, motion.t, q, tau, cutoff=cutoff)
