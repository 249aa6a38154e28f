"""Decisions that motions hardly show: what is refused, kept, or run by Python."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.simulate import Trajectory, signal
from kinetree.simulate.core.events import close
from kinetree.simulate.core.signals import TimeSource
from kinetree.simulate.core.sources import Source
from kinetree.simulate.gpu.inputs import number_type

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


def test_what_lies_on_a_gpu_counts_as_zeros_at_the_start():
    """Arrays of CuPy raise a TypeError where NumPy asks for them."""

    def at(times, ends):
        raise TypeError("no conversion unasked")

    source = Source(sampled=TimeSource(at, ((2,), (3, 6))))
    first, second = source.start_values()
    assert np.array_equal(first, np.zeros(2)) and np.array_equal(second, np.zeros((3, 6)))


def test_roots_are_closed_with_few_evaluations():
    """Bisection alone takes about 50."""
    for function, root in (
        (lambda s: s**3 - 0.3, 0.3 ** (1 / 3)),
        (lambda s: np.exp(5 * s) - 9.0, np.log(9.0) / 5),
        (lambda s: np.cos(2 * s), np.pi / 4),
    ):
        calls = []

        def counted(s, function=function, calls=calls):
            calls.append(s)
            return function(s)

        rising = function(1.0) > 0
        assert close(counted, 0.0, 1.0, rising) == pytest.approx(root, abs=4e-15)
        assert len(calls) < 30, len(calls)


def test_the_number_type_of_rollouts_is_that_of_q0():
    class Bare:
        """What says where its numbers are, and nothing else."""

        __cuda_array_interface__ = {}  # noqa: RUF012

    for q0 in ([0, 1], [0.5, 1.0], np.zeros(2), np.zeros(2, int), np.zeros(2, "float16"), Bare()):
        assert number_type(q0) == "float64"
    assert number_type(np.zeros(2, "float32")) == "float32"
