"""Recorded rates are used where they are better than differentiated positions."""

import numpy as np
import pytest
from identified_robots import TRUE as ROBOT
from identified_robots import arm_motion

from kinetree.identify import make_recording

MOTION = arm_motion(ROBOT, 20, 0.005)
TAU = ROBOT.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq)
RNG = np.random.default_rng(0)
NOISE, OTHER = RNG.normal(size=(2, *MOTION.q.shape))


def error(data):
    """Error of the accelerations in units of the motion's, the largest of the joints."""
    at = np.searchsorted(MOTION.t, data.t - 1e-9)
    return (np.std(data.ddq - MOTION.ddq[at], axis=0) / MOTION.ddq.std(axis=0)).max()


def made(q_noise, dq_noise, ddq=None):
    q, dq = MOTION.q + q_noise * NOISE, MOTION.dq + dq_noise * OTHER
    return make_recording(ROBOT, MOTION.t, q, TAU, dq, ddq)


def test_the_column_with_less_noise_gives_the_accelerations():
    good_rates, good_positions = made(1e-3, 1e-3), made(1e-6, 1e-1)
    assert any("accelerations from dq" in x for x in good_rates.notes)
    assert any("accelerations from q" in x for x in good_positions.notes)
    alone = make_recording(ROBOT, MOTION.t, MOTION.q + 1e-3 * NOISE, TAU)
    assert error(good_rates) < 0.7 * error(alone)
    assert error(good_positions) < 0.01


@pytest.mark.parametrize("other", [
    np.stack([np.interp(MOTION.t - 0.1, MOTION.t, x) for x in MOTION.dq.T], axis=1),
    0.8 * MOTION.dq,
    0 * MOTION.dq,
])  # fmt: skip
def test_rates_that_are_late_scaled_or_zero_are_not_used(other):
    data = make_recording(ROBOT, MOTION.t, MOTION.q + 1e-5 * NOISE, TAU, other)
    assert any("is not the slope of q" in x for x in data.notes)
    assert error(data) < 0.02


def test_clean_rates_and_accelerations_are_used_as_recorded():
    data = make_recording(ROBOT, MOTION.t, MOTION.q, TAU, MOTION.dq, MOTION.ddq)
    assert data.cutoff is None
    assert np.array_equal(data.ddq, MOTION.ddq)
    zero = 0 * MOTION.q
    rest = make_recording(ROBOT, MOTION.t, MOTION.q, TAU, zero, zero)
    assert not rest.dq.any() and any("positions held still" in x for x in rest.notes)


def test_noise_of_joints_at_rest_does_not_choose_the_cutoff():
    own = np.array([0, 1, 0])
    q = MOTION.q * own + 2e-5 * NOISE
    alone = make_recording(ROBOT, MOTION.t, q, ROBOT.inverse_dynamics(q, MOTION.dq * own, 0 * q))
    all_move = made(2e-5, 10.0)
    assert 0.5 < alone.cutoff / all_move.cutoff < 2


def test_a_notch_between_harmonics_is_not_the_end_of_the_motion():
    t = np.arange(0, 30, 0.005)
    slow, fast = (np.sin(2 * np.pi * f * t)[:, None] for f in (0.1, 0.8))
    q = (slow + 0.02 * fast) * np.ones(3) + 1e-6 * RNG.normal(size=(len(t), 3))
    assert make_recording(ROBOT, t, q, 0 * q + fast).cutoff > 1.0
