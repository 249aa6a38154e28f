"""Plain batches enter machine code without NumPy's machinery, and nobody can tell."""

import sys
import threading

import numpy as np
import pytest

from kinetree.backends.call import vectorcall
from kinetree.backends.kernel import Kernel
from kinetree.errors import ShapeError

pytestmark = pytest.mark.skipif(
    not vectorcall.available(), reason="this Python has no direct calls"
)


@pytest.fixture
def general(monkeypatch):
    """What reaches the general call of a kernel."""

    def watch(kernel):
        calls, call = [], kernel._general

        def watched(*arrays, **options):
            calls.append(len(arrays))
            return call(*arrays, **options)

        kernel._general = watched
        vectorcall.set_entry(kernel, kernel._compiled.entry(), watched, kernel._dispatch.large)
        return calls

    return watch


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 100])
def test_a_batch_is_that_of_the_gufunc(arm, states, general, size):
    calls, arrays = general(arm), states(size, 3)
    assert arm(*arrays).tobytes() == arm.gufunc(*arrays).tobytes()
    assert calls == []


def test_several_outputs_and_numbers(pair, line_kernel, states, general):
    calls = [general(pair), general(line_kernel)]
    q, dq = states(21, 2, count=2)
    for one, other in zip(pair(q, dq), pair.gufunc(q, dq), strict=True):
        assert one.shape == other.shape and one.tobytes() == other.tobytes()
    numbers = states(21)
    assert line_kernel(*numbers).tobytes() == line_kernel.gufunc(*numbers).tobytes()
    assert calls == [[], []]


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a[:0],
        lambda a: a[0],
        lambda a: a[:1],
        lambda a: a[None],
        lambda a: a.astype("f4"),
        lambda a: a[::-1],
        lambda a: np.asfortranarray(a),
        lambda a: a.astype(">f8"),
        lambda a: a.view(type("Mine", (np.ndarray,), {})),
        lambda a: a.tolist(),
    ],
)
def test_everything_else_is_left_to_numpy(arm, states, general, change):
    calls, (q, dq, ddq) = general(arm), states(5, 3)
    other = [change(q), change(dq), change(ddq)] if len(change(q)) == 0 else [change(q), dq, ddq]
    expected = arm.gufunc(*other)
    found = arm(*other)
    assert found.shape == expected.shape and found.tobytes() == expected.tobytes()
    assert calls == [3]


@pytest.mark.parametrize("size", [1, 8, 33])
def test_results_go_where_they_are_wanted(arm, pair, states, general, size):
    calls = [general(arm), general(pair)]
    arrays, (q, dq) = states(size, 3), states(size, 2, count=2)
    out = np.full((size, 3), np.nan)
    assert arm(*arrays, out=out) is out
    assert out.tobytes() == arm.gufunc(*arrays).tobytes()
    both = (np.full((size, 2, 2), np.nan), np.full(size, np.nan))
    found = pair(q, dq, out=both)
    assert isinstance(found, tuple) and found[0] is both[0] and found[1] is both[1]
    for one, other in zip(both, pair.gufunc(q, dq), strict=True):
        assert one.tobytes() == other.tobytes()
    assert calls == [[], []]


def read_only(a):
    a.flags.writeable = False
    return a


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a[::-1],
        lambda a: np.asfortranarray(a),
        lambda a: a.astype("f8").view(type("Mine", (np.ndarray,), {})),
        lambda a: a.astype(">f8"),
        lambda a: (a,),
        lambda a: None,
    ],
)
def test_other_places_are_left_to_numpy(arm, states, general, make):
    calls, arrays = general(arm), states(5, 3)
    out = make(np.zeros((5, 3)))
    found = arm(*arrays, out=out)
    assert np.array_equal(found, arm.gufunc(*arrays))
    assert calls == [3]


def test_places_that_cannot_be_written_are_refused(arm, pair, states, general):
    calls, arrays = general(arm), states(5, 3)
    with pytest.raises(TypeError, match=r"out for tau .* cannot be written"):
        arm(*arrays, out=read_only(np.zeros((5, 3))))
    with pytest.raises(ShapeError, match="out for tau"):
        arm(*arrays, out=np.zeros((4, 3)))
    with pytest.raises(TypeError):
        arm(*arrays, out=np.zeros((5, 3)), nonsense=1)
    assert calls == [3, 3, 3]
    with pytest.raises((TypeError, ValueError)):
        pair(*states(5, 2, count=2), out=(np.zeros((5, 2, 2)),))


def test_overlapping_memory_is_left_to_numpy(arm, pair, states, general):
    calls, (q, dq, ddq) = general(arm), states(6, 3)
    expected = arm.gufunc(q, dq, ddq)
    memory = np.zeros((8, 3))
    memory[:6] = q
    found = arm(memory[:6], dq, ddq, out=memory[1:7])
    assert found.tobytes() == expected.tobytes() and calls == [3]
    q = memory[2:8]
    q[:] = states(6, 3)[0]
    expected = arm.gufunc(q.copy(), dq, ddq)
    assert arm(q, dq, ddq, out=q).tobytes() == expected.tobytes() and calls == [3, 3]
    neighbours = np.zeros((12, 3))  # side by side is not overlapping
    arm(neighbours[:6], dq, ddq, out=neighbours[6:])
    assert calls == [3, 3]
    calls, shared, two = general(pair), np.zeros(30), states(6, 2, count=2)
    pair(*two, out=(shared[:24].reshape(6, 2, 2), shared[20:26]))
    assert calls == [2]


def test_names_that_only_look_like_out(arm, states, general):
    """A name that was made at run time is another object: NumPy sorts it out."""
    calls, arrays, out = general(arm), states(5, 3), np.zeros((5, 3))
    assert arm(*arrays, **{"".join(["o", "u", "t"]): out}) is out
    assert out.tobytes() == arm.gufunc(*arrays).tobytes()
    assert calls in ([], [3])


def test_large_batches_are_left_to_threads(arm, states, general):
    calls, arrays = general(arm), states(30, 3)
    vectorcall.set_limit(arm, 30)
    assert arm(*(a[:29] for a in arrays)).shape == (29, 3) and calls == []
    assert arm(*arrays).shape == (30, 3) and calls == [3]


def test_batches_of_different_sizes_are_explained(arm, states):
    q, dq, ddq = states(6, 3)
    with pytest.raises(ShapeError, match="do not broadcast"):
        arm(q, dq[:5], ddq)
    with pytest.raises(ShapeError, match="dq has shape"):
        arm(q, dq[:, :2].copy(), ddq)


def test_batches_leave_no_references_behind(arm, pair, states):
    arrays, two = states(6, 3), states(6, 2, count=2)
    kind = np.dtype(np.float64)
    before = [sys.getrefcount(x) for x in (*arrays, *two, kind)]
    out, both = np.zeros((6, 3)), pair(*two)
    held = [sys.getrefcount(x) for x in (out, both, *both)]
    for _ in range(100):
        arm(*arrays)
        pair(*two)
        arm(*arrays, out=out)
        pair(*two, out=both)
    assert [sys.getrefcount(x) for x in (out, both, *both)] == held
    after = [sys.getrefcount(x) for x in (*arrays, *two, kind)]
    assert after[:-1] == before[:-1]
    assert abs(after[-1] - before[-1]) < 50
    M, energy = pair(*two)
    assert sys.getrefcount(M) == sys.getrefcount(energy) == 2
    assert M.flags.owndata and M.flags.writeable


def test_others_run_while_a_batch_is_computed(arm_graph, states):
    """The loop runs without the GIL: a thread counts on while another is inside one batch."""
    kernel = Kernel(arm_graph)
    vectorcall.set_limit(kernel, 10**9)
    arrays = states(2_000_000, 3)
    entered, left, inside = threading.Event(), threading.Event(), []

    def compute():
        entered.set()
        kernel(*arrays)
        left.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # the counting thread gets its turns only where the GIL is let go
    try:
        worker = threading.Thread(target=compute)
        worker.start()
        entered.wait()
        inside.append(not left.is_set())
        worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert inside == [True]
