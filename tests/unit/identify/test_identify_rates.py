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
    assert good_rates.spectrum.sources == ("dq",) * 3
    assert good_positions.spectrum.sources == ("q",) * 3
    assert "from recorded dq have" in " ".join(good_positions.notes)
    alone = make_recording(ROBOT, MOTION.t, MOTION.q + 1e-3 * NOISE, TAU)
    assert error(good_rates) < 0.7 * error(alone)
    assert error(good_positions) < 0.01


@pytest.mark.parametrize("lag", [0.02, -0.015])
def test_late_rates_are_not_used_as_they_are(lag):
    late = np.stack([np.interp(MOTION.t - lag, MOTION.t, x) for x in MOTION.dq.T], axis=1)
    positions = make_recording(ROBOT, MOTION.t, MOTION.q + 1e-5 * NOISE, TAU, late)
    assert positions.spectrum.sources == ("q",) * 3
    word = "behind" if lag > 0 else "ahead of"
    assert any(f"is {word} the slope of q" in x and "from positions" in x for x in positions.notes)
    shifted = make_recording(ROBOT, MOTION.t, MOTION.q + 3e-3 * NOISE, TAU, late)
    assert any("it was shifted" in x for x in shifted.notes)
    assert shifted.spectrum.sources == ("dq",) * 3
    assert error(shifted) < 0.05


def test_rates_of_the_wrong_scale_are_noted_and_not_used():
    data = make_recording(ROBOT, MOTION.t, MOTION.q + 1e-5 * NOISE, TAU, 0.9 * MOTION.dq)
    assert data.spectrum.sources == ("q",) * 3
    assert any("0.9 times for" in x for x in data.notes)


def test_clean_rates_and_accelerations_are_used_as_recorded():
    data = make_recording(ROBOT, MOTION.t, MOTION.q, TAU, MOTION.dq, MOTION.ddq)
    assert data.spectrum is None and data.cutoff is None
    assert np.array_equal(data.ddq, MOTION.ddq)


def test_zeros_in_place_of_rates_are_not_rates():
    q, zero = MOTION.q + 1e-6 * NOISE, 0 * MOTION.q
    plain = make_recording(ROBOT, MOTION.t, q, TAU)
    for given in ((zero,), (zero, MOTION.ddq + NOISE), (MOTION.dq + 0.1 * NOISE, zero)):
        data = make_recording(ROBOT, MOTION.t, q, TAU, *given)
        assert any("is zero although q changes; not used" in x for x in data.notes)
        assert data.spectrum.sources == ("q",) * 3
        assert np.allclose(data.ddq, plain.ddq, atol=0.01 * np.abs(plain.ddq).max())
    rest = make_recording(ROBOT, MOTION.t, MOTION.q, TAU, zero, zero)
    assert not rest.dq.any() and any("positions held still" in x for x in rest.notes)


def test_noise_of_joints_at_rest_does_not_choose_the_cutoff():
    own = np.array([0, 1, 0])
    q = MOTION.q * own + 2e-5 * NOISE
    alone = make_recording(ROBOT, MOTION.t, q, ROBOT.inverse_dynamics(q, MOTION.dq * own, 0 * q))
    all_move = made(2e-5, 10.0)
    assert 0.5 < alone.cutoff / all_move.cutoff < 2
