"""Joint forces that come late are found and moved back to their motion."""

import dataclasses

import numpy as np
import pytest
from identified_robots import BARE as DESCRIBED
from identified_robots import TRUE, arm_motion, covered

import kinetree as kt
from kinetree.identify import identify, make_recording, unknowns
from kinetree.identify.lag import find_lag

MOTION = arm_motion(TRUE, 10, 0.004)
SOUGHT = unknowns(DESCRIBED, "symmetric")


def late(lag, seed=0, encoder=2e-5, constant=0.0, robot=TRUE):
    """A recording whose forces are earlier by `lag` and pass a low-pass of a time constant, s."""
    rng = np.random.default_rng(seed)
    tau = robot.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq)
    tau = np.stack([np.interp(MOTION.t - lag, MOTION.t, x) for x in tau.T], axis=1)
    for k in range(1, len(tau) if constant else 0):
        tau[k] += np.exp(-0.004 / constant) * (tau[k - 1] - tau[k])
    tau = tau + 0.1 * rng.normal(size=tau.shape)
    q = MOTION.q + encoder * rng.normal(size=MOTION.q.shape)
    return make_recording(DESCRIBED, MOTION.t, q, tau)


@pytest.mark.parametrize("lag", [0.02, 0.004, -0.01])
def test_a_lag_is_found_within_its_error(lag):
    found = find_lag(SOUGHT, late(lag))
    assert found.sure and abs(found.value - lag) < min(4 * found.error, 1e-3)


def test_no_lag_is_found_where_there_is_none():
    sure = [find_lag(SOUGHT, late(0.0, seed)) for seed in range(4)]
    assert not any(x.sure for x in sure)
    assert np.std([x.value / x.error for x in sure]) < 2


def test_identify_removes_the_lag_and_its_intervals_cover():
    found = identify(DESCRIBED, late(0.02, seed=3), friction="symmetric", folds=2)
    assert found.lag.sure and found.lag.value == pytest.approx(0.02, abs=1e-3)
    assert np.nanmean(covered(found, TRUE)) > 0.8
    kept = identify(DESCRIBED, late(0.02, seed=3), friction="symmetric", folds=2, lag=0.0)
    assert np.all(found.error() < 0.8 * kept.error())


@pytest.mark.parametrize(("constant", "lag"), [(0.008, 0.0), (0.03, 0.01)])
def test_identify_removes_a_low_pass_of_the_forces_and_its_intervals_cover(constant, lag):
    found = identify(DESCRIBED, late(lag, seed=4, constant=constant), folds=2)
    assert found.lag.constant == pytest.approx(constant, rel=0.1)
    assert found.lag.value == pytest.approx(lag, abs=1.5e-3)
    assert found.verdict.word == "usable" and not found.sought.laws
    assert np.nanmean(covered(found, TRUE)) > 0.8
    text = next(x.text for x in found.warnings if x.kind == "lag")
    assert "smoothed with a time constant" in text


@pytest.mark.parametrize("sigmoid", [None, kt.Sigmoid(3.0, 8.0, 0.0)])
def test_a_delay_is_no_low_pass_whatever_the_friction(sigmoid):
    """Friction without a step is as smooth as that of a low-pass."""
    robot = TRUE
    if sigmoid is not None:
        robot = TRUE.with_friction(
            dict.fromkeys(TRUE.joint_names, kt.Friction(0.5, sigmoid=sigmoid))
        )
    found = identify(DESCRIBED, late(0.02, seed=5, robot=robot), folds=2)
    assert found.lag.constant == 0 and found.lag.value == pytest.approx(0.02, abs=1e-3)
    assert {x.kind for x in found.sought.laws} == ({"sigmoid"} if sigmoid else set())


def test_uneven_or_short_recordings_have_no_lag_to_find():
    data = late(0.0)
    assert find_lag(SOUGHT, data.part(slice(0, 60))) is None
    rng = np.random.default_rng(0)
    t = data.t + 0.001 * rng.random(len(data))
    assert find_lag(SOUGHT, dataclasses.replace(data, t=t)) is None
