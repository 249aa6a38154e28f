"""Threads that wait in machine code: jobs are whole when they return, whoever took part."""

import os
import signal
import threading
import time

import eager_kernels
import numpy as np
import pytest

from kinetree.engine.call import crew as module
from kinetree.engine.call.vectorcall import usable
from kinetree.kernels import threads

pytestmark = pytest.mark.skipif(not usable(), reason="this Python does not enter machine code")


@pytest.fixture
def eager(arm):
    """A kernel that takes threads for any batch."""
    return eager_kernels.eager(arm)


def expected(kernel, arrays):
    with threads(1):
        return np.array(kernel(*arrays))


@pytest.mark.parametrize("count", [2, 5, 24])
def test_a_job_is_whole_when_it_returns(eager, states, count):
    """Thousands of small jobs: those that come late find the next one, or none."""
    arrays = states(640, 3)
    right, out = expected(eager, arrays), np.empty((640, 3))
    with threads(count):
        for k in range(3000):
            size = 64 * (1 + k % 10)
            out[:] = np.nan
            eager(*(x[:size] for x in arrays), out=out[:size])
            assert np.array_equal(out[:size], right[:size]) and np.isnan(out[size:]).all()


def test_several_threads_of_the_user_share_one_crew(eager, states):
    """One has the helpers, the others go on without; all results are right."""
    problems = []

    def work(seed):
        try:
            arrays = [x + seed for x in states(2000, 3)]
            right = expected(eager, arrays)
            with threads(4):
                for _ in range(100):
                    assert np.array_equal(eager(*arrays), right)
        except BaseException as problem:
            problems.append(problem)

    users = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert problems == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_a_crew_of_its_own(eager, states):
    arrays = states(1000, 3)
    right = expected(eager, arrays)
    with threads(4):
        assert np.array_equal(eager(*arrays), right)
        child = os.fork()
        if not child:
            good = not module._crews and np.array_equal(eager(*arrays), right)
            os._exit(0 if good and len(module._crews) == 1 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert np.array_equal(eager(*arrays), right)


def raise_interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_an_interrupted_crew_is_free(eager, states):
    """At any place of the code around short jobs; one of 150 interruptions kept it before."""
    arrays = states(640, 3)
    before = signal.signal(signal.SIGALRM, raise_interrupt)
    try:
        for k in range(2000):
            with threads(2), pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1.5e-7 * k)
                while True:
                    eager(*arrays)
            assert module._crews[-1]._taken == {}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_long_work_can_be_interrupted(eager, states, monkeypatch):
    """Between two turns, of which a batch of any length has several."""
    monkeypatch.setattr("kinetree.engine.call.shares.OPERATIONS", 10**6)
    arrays = [np.repeat(x, 40, axis=0) for x in states(50_000, 3)]
    right = expected(eager, arrays)

    before = signal.signal(signal.SIGALRM, raise_interrupt)
    try:
        with threads(2), pytest.raises(KeyboardInterrupt):
            start = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            while time.monotonic() < start + 60:
                eager(*arrays)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with threads(2):
        assert np.array_equal(eager(*arrays), right)  # the crew is free again
