"""States and batches enter machine code without NumPy's machinery, with the same results."""

import gc
import sys
import threading

import numpy as np
import pytest

from kinetree.engine import Kernel
from kinetree.engine.call import vectorcall
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

        kernel._enter_by(watched)
        return calls

    return watch


def read_only(a):
    a.flags.writeable = False
    return a


def outcome(call, *arrays, **options):
    """What a call gives, or its error, in a form that can be compared."""
    try:
        found = call(*arrays, **options)
    except Exception as error:
        return type(error), str(error)
    several = found if isinstance(found, tuple) else (found,)
    return [(type(x), x.dtype, x.shape, x.tobytes()) for x in several]


def forms_of(rng, x, batch):
    """The same numbers in one of several forms; a batch of equal states may lose its axis."""
    made = [
        x.copy(),
        np.asfortranarray(x),
        np.repeat(x, 2, axis=-1)[..., ::2],
        np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    ]
    if batch and (x == x[:1]).all():
        made += [x[0].copy(), x[:1].copy(), x[0].tolist(), tuple(x[0])]
    if not batch:
        made += [x.tolist(), tuple(x.tolist()), list(x), x[None][0]]
    return made[rng.integers(len(made))]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_numbers_in_any_form_give_the_same_bits(arm, pair, states, general, seed):
    rng = np.random.default_rng(seed)
    for kernel, n, count in ((arm, 3, 3), (pair, 2, 2)):
        calls = general(kernel)
        for _ in range(40):
            batch = int(rng.integers(0, 4)) * int(rng.integers(0, 8))
            arrays = [rng.normal(size=(batch, n) if batch else n) for _ in range(count)]
            for k in range(1, count):
                if batch and rng.random() < 0.5:
                    arrays[k] = np.repeat(arrays[k][:1], batch, axis=0)
            expected = outcome(kernel.gufunc, *arrays)
            formed = [arrays[0].copy(), *(forms_of(rng, x, batch) for x in arrays[1:])]
            assert outcome(kernel, *formed) == expected
            made = kernel(*arrays)
            several = made if isinstance(made, tuple) else (made,)
            outs = tuple(np.full(np.shape(x), np.nan) for x in several)
            assert kernel(*formed, out=outs if len(outs) > 1 else outs[0]) is not None
            assert [(x.shape, x.tobytes()) for x in outs] == [x[2:] for x in expected]
        assert calls == []


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
    for strided in (memory[::2], memory[::-1][2:6], memory[:, ::-1][:4]):
        single = [x[: len(strided)] for x in (dq, ddq)]
        expected = arm.gufunc(strided.copy(), *single)
        before = len(calls)
        found = arm(strided, *single, out=memory[: len(strided)])
        assert found.tobytes() == expected.tobytes() and len(calls) == before + 1
    vector = states(3)[0]
    expected = arm.gufunc(vector.copy(), dq[0], ddq[0])
    before = len(calls)
    assert arm(vector, dq[0], ddq[0], out=vector).tobytes() == expected.tobytes()
    assert len(calls) == before + 1
    calls, shared, two = general(pair), np.zeros(30), states(6, 2, count=2)
    pair(*two, out=(shared[:24].reshape(6, 2, 2), shared[20:26]))
    assert calls == [2]


def test_batches_leave_no_references_behind(arm, pair, states):
    arrays, two = states(6, 3), states(6, 2, count=2)
    kind = np.dtype(np.float64)
    gc.collect()  # of the tests before
    before = [sys.getrefcount(x) for x in (*arrays, *two, kind)]
    out, both = np.zeros((6, 3)), pair(*two)
    held = [sys.getrefcount(x) for x in (out, both, *both)]
    numbers = [0.1, 0.2, 0.3]
    single, lists = [x[0] for x in arrays], sys.getrefcount(numbers[0])
    for _ in range(100):
        arm(*arrays)
        pair(*two)
        arm(*arrays, out=out)
        arm(*arrays, out=(out,))
        pair(*two, out=both)
        pair(two[0][0], two[1][0])
        arm(numbers, tuple(numbers), single[0], out=out[0])
        arm(numbers, [1, 2, 3], numbers)
        for wrong in ([*numbers, 1.0], [0.1, 0.2, "x"], [10**400, 1, 2]):
            with pytest.raises((ValueError, TypeError)):
                arm(wrong, numbers, numbers)
    gc.collect()  # errors refer to the frames that raised them
    assert abs(sys.getrefcount(numbers[0]) - lists) < 50
    del single
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
    arrays = [np.broadcast_to(x, (2_000_000, 3)) for x in states(3)]
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
