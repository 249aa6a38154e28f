"""Threads change how long a batch takes and nothing else."""

import threading

import eager_kernels
import numpy as np
import pytest

from kinetree.engine import Kernel
from kinetree.engine.call import dispatch
from kinetree.engine.call import threads as module
from kinetree.engine.call.threads import thread_count
from kinetree.kernels import threads


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    """Every test starts with one thread and leaves nothing behind."""
    monkeypatch.setattr(module, "_chosen", [])
    threads(1)


@pytest.fixture
def eager(arm):
    """A kernel that takes threads for any batch."""
    return eager_kernels.eager(arm)


@pytest.fixture
def runs(monkeypatch):
    """The number of threads of each call that was cut."""
    counts, run = [], module.run

    def watched(pieces, count):
        counts.append(count)
        run(pieces, count)

    monkeypatch.setattr(dispatch, "run", watched)
    return counts


@pytest.mark.parametrize("count", [2, 3, 8])
@pytest.mark.parametrize("size", [1, 63, 64, 1000, 5001])
def test_results_do_not_depend_on_the_number_of_threads(eager, states, runs, count, size):
    arrays = states(size, 3)
    expected = eager(*arrays)
    with threads(count):
        result = eager(*arrays)
        out = np.empty_like(result)
        assert eager(*arrays, out=out) is out
    assert result.tobytes() == expected.tobytes() == out.tobytes()
    assert len(runs) == 2  # with threads, twice; without, not at all


def test_broadcasting_and_axes(eager, states, runs):
    q, dq, ddq = states(3)[0], states(700, 3)[0], states(5, 1, 3)[0]
    expected = eager(q, dq, ddq)
    with threads(2):
        assert eager(q, dq, ddq).tobytes() == expected.tobytes()
        assert (
            eager(q, dq[::-2], ddq).tobytes() == np.ascontiguousarray(expected[:, ::-2]).tobytes()
        )
    assert all(count > 1 for count in runs) and len(runs) == 2


def test_number_types(eager, states, runs):
    for kind, result in (("f4", "f4"), ("f2", "f8"), ("f8", "f8"), (">f8", "f8")):
        arrays = [array.astype(kind) for array in states(900, 3)]
        expected = eager(*arrays)
        with threads(2):
            got = eager(*arrays)
        assert got.dtype == expected.dtype == np.dtype(result)
        assert got.tobytes() == expected.tobytes()
    assert len(runs) == 4


def test_kernels_without_float32_return_float64(arm_graph, states, runs):
    kernel = eager_kernels.eager(Kernel(arm_graph, dtypes=("float64",)))
    arrays = [array.astype("f4") for array in states(900, 3)]
    with threads(2):
        result = kernel(*arrays)
    assert result.dtype == np.float64 and len(runs) == 1
    assert result.tobytes() == kernel(*arrays).tobytes()


def test_several_outputs(pair, states, runs):
    eager_kernels.eager(pair)
    q, dq = states(800, 2, count=2)
    expected = pair(q, dq)
    with threads(2):
        got = pair(q, dq)
    assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]
    assert len(runs) == 1


def test_overlap_is_left_to_numpy(eager, states, runs):
    arrays = states(1000, 3)
    expected = eager(*arrays)
    longer = np.concatenate([arrays[0], np.zeros((1, 3))])
    with threads(4):
        result = eager(longer[:-1], arrays[1], arrays[2], out=longer[1:])
    assert result.tobytes() == expected.tobytes()
    assert runs == []


def test_small_batches_stay_in_one_thread(arm, states, runs):
    with threads(2):
        arm(*states(100, 3))
    assert runs == []


def test_error_settings_reach_the_threads():
    seen = []
    pieces = [lambda: seen.append(np.geterr()["over"])] * 20
    with np.errstate(over="raise"):
        module.run(pieces, 4)
    assert seen == ["raise"] * 20


def test_block_sets_this_thread_and_restores():
    threads(3)
    seen = []
    with threads(5):
        assert thread_count() == 5
        other = threading.Thread(target=lambda: seen.append(thread_count()))
        other.start()
        other.join()
        with threads(7):
            assert thread_count() == 7
        assert thread_count() == 5
    assert seen == [3]
    assert thread_count() == 3


def test_block_restores_after_an_error():
    with pytest.raises(KeyError), threads(5):
        raise KeyError
    assert thread_count() == 1


def test_blocks_that_begin_between_each_other_leave_nothing_behind():
    """As two threads may: both are made before either begins."""
    one, other = threads(5), threads(7)
    with one, other:
        assert thread_count() == 7
    assert thread_count() == 1
