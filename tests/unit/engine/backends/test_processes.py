"""Kernels in forked and spawned processes."""

import multiprocessing
import os
import threading
import warnings

import numpy as np
import pytest
from eager_kernels import eager

from kinetree.engine.call.threads import run
from kinetree.kernels import threads


def answer(kernel, arrays):
    """Run in the other process: a batch on two threads that are really there, and one state."""
    meeting = threading.Barrier(2, timeout=60)
    run([meeting.wait] * 2, 2)
    eager(kernel)
    with threads(2):
        batch = kernel(*arrays)
    return os.getpid(), batch.tobytes(), kernel(*(a[0] for a in arrays)).tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_kernels_work_in_other_processes(arm, states, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    arrays = states(300, 3)
    expected = answer(arm, arrays)  # also starts threads here, which a forked child must not use
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of fork as such
        with multiprocessing.get_context(method).Pool(2) as pool:
            answers = pool.starmap_async(answer, [(arm, arrays)] * 4).get(timeout=180)
    for pid, batch, single in answers:
        assert pid != os.getpid()
        assert (batch, single) == expected[1:]


can_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def exit_code_of_child(task):
    """What a forked child that runs the task ends with: 0 where the task returns True."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            right = task()
        except BaseException:
            right = False
        os._exit(0 if right else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@can_fork
def test_a_forked_child_uses_the_kernel_it_inherited(arm, states):
    arrays = states(300, 3)
    expected = answer(arm, arrays)
    assert exit_code_of_child(lambda: answer(arm, arrays)[1:] == expected[1:]) == 0
    assert np.isfinite(arm(*arrays)).all()
