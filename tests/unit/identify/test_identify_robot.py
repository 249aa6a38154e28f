"""From noisy recordings to robots: errors like the noise, intervals that cover, real bodies."""

import numpy as np
import pytest
from identified_robots import arm_motion, exists, misjudged, spatial_arm, with_drives

import kinetree as kt
from kinetree.errors import InputError
from kinetree.identify import identify, make_recording, simulated_recording
from kinetree.identify.band import bands_of
from kinetree.motion import excitation

PANDA_NOISE = np.array([0.5] * 4 + [0.2] * 3)
ENCODER = 2e-5


def covered(found, true):
    """1 for intervals that contain the true base parameters, 0 for others, NaN: withheld."""
    truth = found.base.K @ found.sought.values(true.model)
    low, high = found.interval().T
    return np.where(np.isnan(low), np.nan, (low <= truth) & (truth <= high))


@pytest.mark.parametrize("encoder", [ENCODER, 5e-4])  # 18 bits a turn, and 13
def test_intervals_cover_the_truth_in_20_experiments_and_every_robot_exists(encoder):
    """20 x 17 intervals, correlated within one experiment: 0.95 +- 0.015, within 0.90 to 0.99.

    `python tools/identification_corruptions.py --corruptions clean --robots 100` has random robots.
    """
    true, described = with_drives(spatial_arm()), misjudged(spatial_arm())
    motion, shares = arm_motion(true), []
    for seed in range(20):
        data = simulated_recording(true, motion, encoder_noise=encoder, torque_noise=0.2, seed=seed)
        found = identify(described, data, folds=2, friction="symmetric")
        shares.append(covered(found, true))
        assert exists(found.robot.model)
    each = np.nanmean(shares, axis=0)
    assert 0.90 <= np.nanmean(shares) <= 0.99 and np.isnan(shares).mean() < 0.06  # withheld
    assert each.min() > 0.75  # no parameter is left out: 0.95 less 5 of its deviations


def test_the_panda_with_noise_friction_and_armature():
    true, described = with_drives(kt.robots.panda()), misjudged(kt.robots.panda())
    motion = excitation(described, 15, 0.01, harmonics=8, seed=3)
    shares = []
    for seed in range(5):
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
    assert 0.90 <= np.mean(shares) <= 0.99


@pytest.mark.parametrize("method", ["ordinary", "weighted", "robust"])
@pytest.mark.parametrize("friction", ["symmetric", "directional"])
def test_without_noise_the_robot_is_found(method, friction):
    true = with_drives(spatial_arm())
    data = simulated_recording(true, arm_motion(true))
    found = identify(misjudged(spatial_arm()), data, method=method, friction=friction)
    truth = found.base.K @ found.sought.values(true.model)
    assert np.abs(found.fit.beta - truth).max() < 1e-9
    assert np.abs(found.error()).max() < 1e-5 * np.abs(data.tau).max()
    assert exists(found.robot.model)


def test_outliers_are_left_to_the_robust_method():
    true = with_drives(spatial_arm())
    data = simulated_recording(true, arm_motion(true), torque_noise=0.05, seed=4)
    tau = data.tau.copy()
    tau[::17] += 30
    wild = make_recording(true, data.t, data.q, tau, data.dq, data.ddq)
    found = identify(spatial_arm(), wild, test=data, method="robust")
    plain = identify(spatial_arm(), wild, test=data, method="weighted")
    assert np.all(found.error(physical=False) < 0.06)
    assert plain.error(physical=False).max() > 5 * found.error(physical=False).max()


def test_low_passed_forces_are_fitted_as_well():
    true = with_drives(spatial_arm())
    motion, shares = arm_motion(true, 10, 0.005), []
    for seed in range(10):
        data = simulated_recording(true, motion, encoder_noise=ENCODER, torque_noise=1.0, seed=seed)
        found = identify(spatial_arm(), data, torque_cutoff=8.0, folds=2)
        shares.append(np.nanmean(covered(found, true)))
    assert np.all(found.error() < 1.25)
    assert found.fit.sigma.max() < 0.5  # 100 Hz of noise cut down to 8 Hz: a factor of 3.5
    assert np.mean(shares) > 0.85


def test_bodies_exist_even_when_there_is_more_noise_than_signal():
    true = with_drives(spatial_arm())
    for seed in range(5):
        data = simulated_recording(true, arm_motion(true, 4), torque_noise=30.0, seed=seed)
        found = identify(misjudged(spatial_arm()), data, folds=2)
        assert exists(found.robot.model)


def test_a_strong_prior_keeps_the_description():
    true, described = with_drives(spatial_arm()), misjudged(spatial_arm())
    data = simulated_recording(true, arm_motion(true), torque_noise=0.2)
    found = identify(described, data, prior=1e-6, friction="known", armature=False)
    assert np.allclose(found.robot.model.m, described.model.m, rtol=1e-3)
    found = identify(described, data, prior=1.0)
    assert abs(found.robot.model.m.sum() - described.model.m.sum()) > 0.01


def test_what_has_no_effect_is_told_and_stays_near_the_description():
    true, described = with_drives(spatial_arm()), spatial_arm()
    data = simulated_recording(true, arm_motion(true), torque_noise=0.1)
    found = identify(described, data)
    status = dict(zip(found.sought.names, found.base.status(), strict=True))
    assert status["m[turret]"] == "no effect"  # it turns about the vertical
    assert found.robot.model.m[0] == pytest.approx(described.model.m[0], rel=0.1)
    assert found.estimate.learned[found.sought.names.index("m[turret]")] < 0.2
    assert found.estimate.learned[found.sought.names.index("coulomb[lift]")] > 0.9


def test_point_masses_and_sliding_joints_can_be_described():
    true = with_drives(kt.robots.rp())
    motion = excitation(true, 10, 0.02, seed=1, reach=0.3)
    data = simulated_recording(true, motion, torque_noise=0.05)
    found = identify(kt.robots.rp(), data)
    assert exists(found.robot.model) and np.all(found.error() < 0.07)


@pytest.mark.parametrize(
    "name", ["planar_2r", "scara", "ur5e", pytest.param("hand", marks=pytest.mark.many)]
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


def test_options_out_of_range_are_refused():
    robot = spatial_arm()
    data = simulated_recording(robot, arm_motion(robot), torque_noise=0.1)
    for options, text in (
        ({"method": "best"}, "ordinary, weighted, robust"),
        ({"hold_out": 0.95}, "share from 0 to 0.8"),
        ({"prior": 0}, "above 0"),
        ({"folds": 1}, "2 stretches"),
        ({"torque_cutoff": 1e3}, "half the sampling"),
    ):
        with pytest.raises(InputError, match=text):
            identify(robot, data, **options)
    with pytest.raises(InputError, match="a probability"):
        identify(robot, data).interval(95)
