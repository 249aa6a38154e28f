"""Decisions that motions hardly show: what is refused, kept, or run by Python."""

from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.simulate import Trajectory, event, signal
from kinetree.simulate.core.events import close
from kinetree.simulate.core.fixed_steps import FixedSteps
from kinetree.simulate.core.signals import TimeSource
from kinetree.simulate.core.sources import Source
from kinetree.simulate.gpu.inputs import number_type
from kinetree.simulate.tuning import CPU_OPERATIONS, CPU_TABLE, PYTHON_CALLS

ROBOT = kt.robots.double_pendulum()


def test_a_terminal_event_among_others_is_refused_for_a_batch():
    events = [event(lambda t, q, dq: q[0] - 1, terminal=True), event(lambda t, q, dq: q[1])]
    with pytest.raises(InputError, match="a terminal event was given for a batch"):
        ROBOT.simulate(np.zeros((2, 2)), duration=0.1, method="dop853", events=events)


def test_words_about_limits_are_known():
    with pytest.raises(InputError, match="limits is 'sometimes'; expected one of stop"):
        ROBOT.simulate([0.0, 0.0], duration=0.1, limits="sometimes")


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


def test_steps_of_one_call_follow_from_the_work_of_a_step():
    """Python's steps are slow: few go in one call, so that the bar moves and limits end a run."""

    def chunk(graph, count, table, operations=10**6):
        method, system = SimpleNamespace(stages=(None,) * 4), SimpleNamespace(graph=graph)
        machine = SimpleNamespace(work=CPU_OPERATIONS, table=CPU_TABLE)
        steps = SimpleNamespace(
            system=system, operations=operations, method=method, machine=machine
        )
        return FixedSteps.chunk(steps, count, table)

    for count in (1, 7, 10**9):
        by_python = chunk(None, count, 3)
        assert by_python == max(1, PYTHON_CALLS // (4 * count))
        compiled = chunk(object(), count, 3, 150)
        assert compiled == 1 or (
            compiled * 4 * count * 200 <= CPU_OPERATIONS and compiled * 12 <= CPU_TABLE
        )
    assert chunk(None, 7, 3, 10) == chunk(None, 7, 3)
    assert chunk(object(), 1, 1, 10) > chunk(object(), 1, 1) and chunk(object(), 1, CPU_TABLE) == 1
    assert chunk(object(), 1, 1, 150) > 10 * chunk(None, 1, 1)
