"""Cubics and quintics: their ends, their peaks, their derivatives."""

import numpy as np
import pytest

from kinetree.errors import InputError, ShapeError
from kinetree.motion import cubic, quintic
from kinetree.robots import panda, quadruped

Q0, Q1, T = np.array([0.3, -1.0]), np.array([1.3, 2.0]), 1.6


def test_the_cubic_has_its_ends_and_its_peaks():
    way = Q1 - Q0
    motion = cubic(Q0, Q1, T, dt=0.01)
    assert np.allclose(motion.q[[0, -1]], [Q0, Q1], rtol=0, atol=1e-14)
    assert np.allclose(motion.dq[[0, -1]], 0, atol=1e-14)
    assert np.allclose(motion.dq.max(axis=0), 1.5 * way / T, rtol=1e-14)
    assert np.allclose(motion.ddq[[0, -1]], [6 * way / T**2, -6 * way / T**2], rtol=1e-14)


def test_the_quintic_has_its_ends_and_its_peaks():
    way = Q1 - Q0
    motion = quintic(Q0, Q1, T, dt=T / 1000)
    assert np.allclose(motion.dq[[0, -1]], 0, atol=1e-14)
    assert np.allclose(motion.ddq[[0, -1]], 0, atol=1e-13)
    assert np.allclose(motion.dq.max(axis=0), 15 / 8 * way / T, rtol=1e-14)
    assert np.allclose(motion.ddq.max(axis=0), 10 / np.sqrt(3) * way / T**2, rtol=1e-5)


def test_given_rates_and_accelerations_are_met():
    ends = {"dq0": [1, 2], "dq1": -0.5, "ddq0": [0.3, 0.4], "ddq1": 2}
    motion = quintic(Q0, Q1, T, dt=0.4, **ends)
    assert np.allclose(motion.dq[[0, -1]], [[1, 2], [-0.5, -0.5]], rtol=1e-14)
    assert np.allclose(motion.ddq[[0, -1]], [[0.3, 0.4], [2, 2]], rtol=1e-12)
    assert np.allclose(cubic(Q0, Q1, T, dq0=1, dq1=[3, 4]).dq[[0, -1]], [[1, 1], [3, 4]])


@pytest.mark.parametrize("make", [cubic, quintic])
def test_rates_are_the_derivatives(make):
    motion = make(Q0, Q1, T, dt=1e-3, dq0=0.7)
    for x, dx in ((motion.q, motion.dq), (motion.dq, motion.ddq)):
        slope = (x[2:] - x[:-2]) / (motion.t[2:] - motion.t[:-2])[:, None]
        assert np.allclose(slope, dx[1:-1], atol=3e-5)  # h^2 / 6 of a third derivative below 180


def test_samples_are_uniform_and_no_further_apart_than_dt():
    assert len(quintic([0], [1], 0.3, 0.1)) == 4  # 0.3 / 0.1 is 2.9999999999999996
    motion = quintic([0], [1], 1, 0.3)
    assert np.allclose(np.diff(motion.t), 0.25) and motion.t[-1] == 1


def test_names_come_from_the_robot_or_the_caller():
    robot = panda()
    q = np.zeros(7)
    assert quintic(q, q + 1, 1, robot=robot).joint_names == robot.model.joint_names
    assert cubic(Q0, Q1, 1, joint_names=["a", "b"]).joint_names == ("a", "b")
    assert cubic(Q0, Q1, 1).joint_names == ("joint_1", "joint_2")


@pytest.mark.parametrize("dt", [0, -0.1, np.nan, np.inf, "slow"])
def test_a_step_that_is_none_is_refused(dt):
    with pytest.raises(InputError, match="dt is"):
        quintic(Q0, Q1, 1, dt)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([0, 1], [0, 1, 2], 1), r"q1 has 3 entries; expected 2"),
        (([0, np.nan], [0, 1], 1), r"q0\[1\] is nan"),
        (([0, 1], [0, 1], 0), r"duration is 0 s; expected a finite number above 0"),
        (([0, 1], [0, 1], 1e9, 1e-9), r"at most 10000000"),
    ],
)
def test_bad_arguments_are_named(arguments, says):
    with pytest.raises(InputError, match=says):
        quintic(*arguments)


def test_shapes_that_do_not_fit_the_robot_are_refused():
    with pytest.raises(ShapeError, match=r"q0 has 2 entries; expected 7 \(panda_joint1"):
        cubic(Q0, Q1, 1, robot=panda())
    with pytest.raises(InputError, match="give joint_names or robot"):
        cubic(np.zeros(7), np.ones(7), 1, robot=panda(), joint_names=list("abcdefg"))


def test_quaternions_are_no_vectors_to_interpolate():
    robot = quadruped()
    with pytest.raises(InputError, match="'base' of 'quadruped' is free"):
        quintic(robot.neutral(), robot.neutral(), 1, robot=robot)
