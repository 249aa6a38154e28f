"""Recordings made of data frames."""

import numpy as np
import pandas as pd
import pytest

import kinetree as kt
from kinetree import identify
from kinetree.errors import InputError


@pytest.fixture(scope="module")
def robot():
    return kt.robots.planar_2r()


@pytest.fixture(scope="module")
def motion(robot):
    return kt.motion.sinusoid([0.1, 0.2], [0.3, 0.4], [0.5, 0.7], 2.0, 0.02, robot=robot)


def frames(robot, motion, t=None):
    """q, dq, ddq and tau with the joints in the reverse order, over an index of times."""
    tau = robot.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    rows = pd.Index(motion.t if t is None else t)
    names = robot.joint_names
    signals = {"q": motion.q, "dq": motion.dq, "ddq": motion.ddq, "tau": tau}
    return {
        name: pd.DataFrame(x, index=rows, columns=names).iloc[:, ::-1]
        for name, x in signals.items()
    }


def same(found, expected):
    for name in ("t", "q", "dq", "ddq", "tau"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("unit", ["s", "timedelta"])
def test_a_recording_is_made_of_frames(robot, motion, unit):
    t = motion.t if unit == "s" else pd.to_timedelta(np.round(motion.t, 9), unit="s")
    given = frames(robot, motion, t)
    plain = {name: x.to_numpy()[:, ::-1] for name, x in given.items()}
    found = identify.make_recording(robot, given["q"].index, **given)
    seconds = motion.t if unit == "s" else np.round(motion.t, 9)
    same(found, identify.make_recording(robot, seconds, **plain))


def test_a_recording_without_rates_is_made_of_frames(robot, motion):
    given = frames(robot, motion)
    found = identify.make_recording(robot, motion.t, given["q"], given["tau"], cutoff=5.0)
    plain = given["q"].to_numpy()[:, ::-1], given["tau"].to_numpy()[:, ::-1]
    same(found, identify.make_recording(robot, motion.t, *plain, cutoff=5.0))


def test_the_noise_of_drives_is_given_by_joint(robot, motion):
    first, second = robot.joint_names
    found = identify.simulated_recording(robot, motion, torque_noise={second: 0.2, first: 0.1})
    same(found, identify.simulated_recording(robot, motion, torque_noise=[0.1, 0.2]))
    with pytest.raises(InputError, match=r"torque_noise: .*missing"):
        identify.simulated_recording(robot, motion, torque_noise={first: 0.1})


def test_frames_that_do_not_fit_are_refused(robot, motion):
    given = frames(robot, motion)
    with pytest.raises(InputError, match="rows of q and tau are labelled differently"):
        identify.make_recording(robot, motion.t, given["q"], given["tau"].iloc[::-1])
    with pytest.raises(InputError, match="t has dates"):
        stamps = pd.date_range("2024-01-01", periods=len(motion), freq="20ms")
        identify.make_recording(robot, stamps, given["q"], given["tau"])
    given["q"].attrs["units"] = "deg"
    with pytest.raises(InputError, match="expected rad or m"):
        identify.make_recording(robot, motion.t, given["q"], given["tau"])


def test_a_recording_of_a_robot_with_another_order_is_refused():
    robot, t = kt.robots.planar_2r(), np.arange(60) * 0.02
    q = np.stack([np.sin(t), np.cos(2 * t)], -1)
    data = kt.identify.make_recording(robot, t, q, q)
    other = kt.Builder("other").link("base").link("a", 1.0, I_com=np.eye(3))
    other.link("b", 1.0, I_com=np.eye(3)).joint("joint2", "revolute", "base", "a")
    other = other.joint("joint1", "revolute", "a", "b", at=(1, 0, 0)).build()
    for use in (kt.identify.identify, kt.identify.identify_payload):
        with pytest.raises(InputError, match="recording has joint1, joint2; 'other' has joint2"):
            use(other, data)


def test_rollouts_refuse_a_reference_in_another_order():
    start, goal = {"joint2": 0.0, "joint1": 1.0}, {"joint1": 2.0, "joint2": 3.0}
    law = kt.controllers.PD(kt.motion.quintic(start, goal, duration=1.0, dt=0.1), 100.0, 1.0)
    with pytest.raises(InputError, match="Names and order must agree"):
        kt.parallel.rollouts(kt.robots.planar_2r(), 2, q0=[1, 0], duration=0.1, controller=law)
