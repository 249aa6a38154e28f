"""Decisions that motions hardly show: what is refused, kept, or run by Python."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.simulate import Trajectory, signal

ROBOT = kt.robots.double_pendulum()


def test_times_that_are_not_numbers_make_no_trajectory():
    rest = dict.fromkeys(("q", "dq", "ddq"), np.zeros((2, 2)))
    for bad in (np.nan, np.inf):
        with pytest.raises(InputError, match=r"t\[1\]"):
            Trajectory(t=[0.0, bad], **rest)


def test_a_law_with_a_memory_has_no_derivative():
    total = [0.0]

    def law(t, q, dq):
        total[0] += 1.0
        return -dq * total[0]

    with pytest.raises(InputError, match=r"different results.*Stateful"):
        ROBOT.sensitivities([0.1, 0.2], duration=0.05, tau=law)


def test_a_function_of_time_that_cannot_be_traced_leaves_the_rest_compiled():
    """It is sampled, and the loop stays in compiled code."""

    def pulse(t):
        return np.array([2.0, 0.0]) if 0.02 < t < 0.05 else np.zeros(2)

    options = {"duration": 0.1, "method": "rk4", "dt": 1e-3}
    motion = ROBOT.simulate([0.1, 0.2], tau=pulse, **options)
    assert motion.meta["compiled"]
    held = ROBOT.simulate([0.1, 0.2], tau=signal([0.0], [[0.0, 0.0]]), **options)
    assert np.array_equal(motion.q[:20], held.q[:20]) and abs(motion.q - held.q).max() > 1e-5


def test_sampled_functions_share_one_loop():
    """Their numbers are fed, so that one compiled loop runs them all."""

    def torque(size):
        return lambda t: np.array([size if t > 0.003 else 0.0, 0.0])

    options = {"duration": 0.01, "method": "rk4", "dt": 1e-3}
    ROBOT.model.memo.pop(("simulate", "loops"), None)
    first = ROBOT.simulate([0.1, 0.2], tau=torque(1.0), **options)
    remembered = ROBOT.model.memo["simulate", "loops"]
    assert len(remembered) == 1
    second = ROBOT.simulate([0.1, 0.2], tau=torque(5.0), **options)
    assert len(remembered) == 1 and abs(second.q - first.q).max() > 1e-6
