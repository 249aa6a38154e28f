"""Sinusoids and excitations: formulas, limits, rest at both ends."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.model import bounds_of
from kinetree.motion import excitation, resample, sinusoid


def test_a_sinusoid_is_its_formula():
    motion = sinusoid([0, 1], [2, 3], [0.5, 1], 3, 0.01, phase=[0.1, 0])
    t, w = motion.t, 2 * np.pi
    assert np.allclose(motion.q[:, 0], 2 * np.sin(w / 2 * t + 0.1), atol=1e-14)
    assert np.allclose(motion.dq[:, 1], 3 * w * np.cos(w * t), atol=1e-12)
    assert np.allclose(motion.ddq[:, 1], -3 * w * w * np.sin(w * t), atol=1e-11)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", [kt.robots.panda, kt.robots.scara, kt.robots.puma_560])
def test_an_excitation_stays_within_its_share_of_the_limits(make, seed):
    robot = make()
    motion = excitation(robot, 10, 0.002, use=0.7, seed=seed)
    bounds = bounds_of(robot.model)
    middle, room = (bounds.lower + bounds.upper) / 2, (bounds.upper - bounds.lower) / 2
    limited = np.isfinite(room)
    used = np.abs(motion.q - np.where(limited, middle, 0)).max(0) / np.where(limited, room, 1)
    fast = np.abs(motion.dq).max(axis=0) / bounds.velocity
    assert np.all(used <= 0.7 * (1 + 1e-12)) and np.all(fast <= 0.7 * (1 + 1e-12))
    assert np.allclose(np.maximum(used, fast), 0.7, rtol=1e-3)  # one of them is reached


def test_an_excitation_starts_and_ends_at_rest_and_repeats_itself():
    robot = kt.robots.panda()
    motion = excitation(robot, 12, 0.01, periods=3)
    for name in ("dq", "ddq"):
        assert np.abs(getattr(motion, name)[[0, -1]]).max() < 1e-11
    assert np.allclose(motion.q[:400], motion.q[400:800], rtol=0, atol=1e-12)
    assert robot.check(motion).violations == () or all(
        v.quantity == "torque" for v in robot.check(motion).violations
    )


def test_rates_belong_to_positions():
    motion = excitation(kt.robots.ur5e(), 5, 0.01)
    fine = resample(motion, 0.001)
    slope = (fine.q[2:] - fine.q[:-2]) / 0.002
    assert np.allclose(slope, fine.dq[1:-1], atol=1e-4)


def test_a_center_of_ones_own_and_robots_without_limits():
    robot = kt.robots.double_pendulum()
    motion = excitation(robot, 5, center=[0.3, -0.2], reach=0.4, use=1.0)
    assert np.allclose(motion.q[0], [0.3, -0.2])
    assert np.abs(motion.q - motion.q[0]).max() == pytest.approx(0.4, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"harmonics": 2}, "harmonics is 2"),
        ({"use": 0}, "use is 0"),
        ({"center": np.full(7, 9.0)}, "center of joint .* leaves no room"),
        ({"dt": 0}, "dt is 0 s"),
    ],
)
def test_bad_arguments_are_named(options, says):
    with pytest.raises(InputError, match=says):
        excitation(kt.robots.panda(), 5, **options)
