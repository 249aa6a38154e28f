"""From noisy recordings to robots: errors like the noise, intervals that cover, real bodies."""

import numpy as np
import pytest
from identified_robots import (
    ARM,
    BARE,
    TRUE,
    arm_motion,
    covered,
    exists,
    misjudged,
    with_drives,
)

import kinetree as kt
from kinetree.errors import InputError
from kinetree.identify import identify, make_recording, simulated_recording
from kinetree.identify.band import bands_of
from kinetree.motion import excitation

PANDA_NOISE = np.array([0.5] * 4 + [0.2] * 3)
ENCODER = 2e-5  # rad: 18 bits a turn
MOTION = arm_motion()


@pytest.mark.parametrize("encoder", [ENCODER, pytest.param(5e-4, marks=pytest.mark.many)])
def test_intervals_cover_the_truth_and_every_robot_exists(encoder, experiments):
    """20 x 17 intervals, correlated within one experiment: 0.95 +- 0.015, within 0.90 to 0.99.

    `python tools/identification_corruptions.py --corruptions clean --robots 100` has random robots.
    """
    shares, count = [], experiments(6, 20)
    for seed in range(count):
        data = simulated_recording(TRUE, MOTION, encoder_noise=encoder, torque_noise=0.2, seed=seed)
        found = identify(BARE, data, folds=2, friction="symmetric")
        shares.append(covered(found, TRUE))
        assert exists(found.robot.model)
    slack = 0.02 * (count < 20)
    assert 0.90 - slack <= np.nanmean(shares) <= 0.99 + slack
    assert np.isnan(shares).mean() < 0.06  # withheld
    assert np.nanmean(shares, axis=0).min() > 0.75 - 8 * slack  # no parameter is left out


def test_the_panda_with_noise_friction_and_armature(experiments):
    true, described = with_drives(kt.robots.panda()), misjudged(kt.robots.panda())
    motion = excitation(described, 15, 0.01, harmonics=8, seed=3)
    shares = []
    for seed in range(experiments(1, 5)):
        data = simulated_recording(
            true, motion, encoder_noise=ENCODER, torque_noise=PANDA_NOISE, seed=seed
        )
        found = identify(described, data, folds=2, friction="symmetric")
        shares.append(np.nanmean(covered(found, true)))
        # white noise after the low-pass; some 60 held-out rows give it to 10%, parameters add some
        noise = PANDA_NOISE * np.linalg.norm(bands_of(found.train)[0].weights(9, 10))
        for physical in (True, False):
            assert np.all(found.error(physical=physical) < 1.6 * noise)
        assert np.all(np.abs(found.fit.sigma / noise - 1) < 0.35)
        assert exists(found.robot.model)
        before = data.tau - described.inverse_dynamics(data.q, data.dq, data.ddq)
        assert np.all(np.sqrt((before**2).mean(axis=0)) > 2 * PANDA_NOISE)
    assert 0.88 <= np.mean(shares) <= 1


@pytest.mark.parametrize(
    ("method", "friction"),
    [("ordinary", "symmetric"), ("weighted", "directional"), ("robust", "symmetric")],
)
def test_without_noise_the_robot_is_found(method, friction):
    data = simulated_recording(TRUE, MOTION)
    found = identify(BARE, data, method=method, friction=friction)
    truth = found.base.K @ found.sought.values(TRUE.model)
    assert np.abs(found.fit.beta - truth).max() < 1e-9
    assert np.abs(found.error()).max() < 1e-5 * np.abs(data.tau).max()
    assert exists(found.robot.model)


def test_outliers_are_left_to_the_robust_method():
    data = simulated_recording(TRUE, MOTION, torque_noise=0.05, seed=4)
    tau = data.tau.copy()
    tau[::17] += 30
    wild = make_recording(TRUE, data.t, data.q, tau, data.dq, data.ddq)
    robust, plain = (identify(ARM, wild, test=data, method=x) for x in ("robust", "weighted"))
    assert np.all(robust.error(physical=False) < 0.06)
    assert plain.error(physical=False).max() > 5 * robust.error(physical=False).max()


def test_low_passed_forces_are_fitted_as_well(experiments):
    motion, shares = arm_motion(TRUE, 10, 0.005), []
    for seed in range(experiments(2, 10)):
        data = simulated_recording(TRUE, motion, encoder_noise=ENCODER, torque_noise=1.0, seed=seed)
        found = identify(ARM, data, torque_cutoff=8.0, folds=2)
        shares.append(np.nanmean(covered(found, TRUE)))
    assert np.all(found.error() < 1.25)
    assert found.fit.sigma.max() < 0.5  # 100 Hz of noise cut down to 8 Hz: a factor of 3.5
    assert np.mean(shares) > 0.85


def test_bodies_exist_even_when_there_is_more_noise_than_signal(experiments):
    for seed in range(experiments(2, 5)):
        data = simulated_recording(TRUE, arm_motion(duration=4), torque_noise=30.0, seed=seed)
        assert exists(identify(BARE, data, folds=2).robot.model)


def test_a_strong_prior_keeps_the_description():
    data = simulated_recording(TRUE, MOTION, torque_noise=0.2)
    strong = identify(BARE, data, prior=1e-6, friction="known", armature=False)
    assert np.allclose(strong.robot.model.m, BARE.model.m, rtol=1e-3)
    usual = identify(BARE, data, prior=1.0)
    assert abs(usual.robot.model.m.sum() - BARE.model.m.sum()) > 0.01


def test_what_has_no_effect_is_told_and_stays_near_the_description():
    found = identify(ARM, simulated_recording(TRUE, MOTION, torque_noise=0.1))
    names = found.sought.names
    assert found.base.status()[names.index("m[turret]")] == "no effect"  # it turns about z
    assert found.robot.model.m[0] == pytest.approx(ARM.model.m[0], rel=0.1)
    assert found.estimate.learned[names.index("m[turret]")] < 0.2
    assert found.estimate.learned[names.index("coulomb[lift]")] > 0.9


def test_point_masses_and_sliding_joints_can_be_described():
    true = with_drives(kt.robots.rp())
    motion = excitation(true, 10, 0.02, seed=1, reach=0.3)
    found = identify(kt.robots.rp(), simulated_recording(true, motion, torque_noise=0.05))
    assert exists(found.robot.model) and np.all(found.error() < 0.07)


@pytest.mark.parametrize(
    "name",
    ["planar_2r", "scara", *(pytest.param(x, marks=pytest.mark.many) for x in ("ur5e", "hand"))],
)
def test_robots_without_friction_are_found_as_quickly(name):
    """The best friction is then zero or would be negative, at the edge of the possible."""
    true = getattr(kt.robots, name)()
    motion = excitation(true, 15, 0.02, harmonics=6, seed=2)
    forces = true.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    noise = 0.01 * np.abs(forces).max()
    data = simulated_recording(true, motion, torque_noise=noise)
    found = identify(true, data, folds=2, friction="symmetric", lag=0.0)
    assert found.estimate.rounds < 100
    assert exists(found.robot.model) and np.all(found.error() < 1.4 * noise)


def test_options_out_of_range_are_refused(sound):
    data = simulated_recording(ARM, MOTION, torque_noise=0.1)
    for options, text in (
        ({"method": "best"}, "ordinary, weighted, robust"),
        ({"hold_out": 0.81}, "share from 0 to 0.8"),
        ({"prior": 0}, "above 0"),
        ({"folds": 1}, "2 stretches"),
        ({"torque_cutoff": 1e3}, "half the sampling"),
    ):
        with pytest.raises(InputError, match=text):
            identify(ARM, data, **options)
    for level in (0.0, 1.0, 95):
        for interval in (sound.interval, sound.margin):
            with pytest.raises(InputError, match="a probability"):
                interval(level)
