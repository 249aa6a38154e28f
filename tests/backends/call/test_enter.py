"""States and batches enter machine code without NumPy's machinery, with the same results."""

import fractions
import gc
import sys
import threading

import numpy as np
import pytest

from kinetree.engine import Kernel, Port, trace
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


class Mine(np.ndarray):
    """Another type of array, which may have a meaning of its own."""


# other forms of an argument in a batch of five states
ENTERED = {
    "one state": lambda a: a[0],
    "one row": lambda a: a[:1],
    "reversed": lambda a: a[::-1],
    "every second": lambda a: np.repeat(a, 2, axis=0)[::2],
    "columns": lambda a: np.asfortranarray(a),
    "core reversed": lambda a: a[:, ::-1],
    "repeated": lambda a: np.broadcast_to(a[0], a.shape),
    "list": lambda a: a[0].tolist(),
    "tuple": lambda a: tuple(a[0].tolist()),
    "list of NumPy's": lambda a: list(a[0]),
    "whole numbers": lambda a: [1, -2, 0],
    "read-only": lambda a: read_only(a.copy()),
}
LEFT = {
    "empty": lambda a: a[:0],
    "two axes": lambda a: a[None],
    "float32": lambda a: a.astype("f4"),
    "other bytes": lambda a: a.astype(">f8"),
    "integers": lambda a: a.astype(int),
    "other type": lambda a: a.view(Mine),
    "nested list": lambda a: a.tolist(),
    "list of arrays": lambda a: [np.array(x) for x in a[0]],
    "list of float32": lambda a: list(a[0].astype("f4")),
    "list of bools": lambda a: [True, False, True],
    "bool among floats": lambda a: [True, 0.5, 0.5],
    "large whole number": lambda a: [2**53 + 1, 0, 0],
    "larger": lambda a: [2**64, 0, 0],
    "unaligned": lambda a: unaligned(a),
}


def read_only(a):
    a.flags.writeable = False
    return a


def unaligned(a):
    memory = np.zeros(a.nbytes + 1, np.uint8)
    view = memory[1:].view(np.float64).reshape(a.shape)
    view[:] = a
    return view


def outcome(call, *arrays, **options):
    """What a call gives, or its error, in a form that can be compared."""
    try:
        found = call(*arrays, **options)
    except Exception as error:
        return type(error), str(error)
    several = found if isinstance(found, tuple) else (found,)
    return [(type(x), x.dtype, x.shape, x.tobytes()) for x in several]


@pytest.mark.parametrize("form", ENTERED)
@pytest.mark.parametrize("place", range(3))
def test_forms_of_an_argument_enter_with_numpy_s_result(arm, states, general, form, place):
    calls, arrays = general(arm), list(states(5, 3))
    arrays[place] = ENTERED[form](arrays[place])
    assert outcome(arm, *arrays) == outcome(arm.gufunc, *arrays)
    assert calls == []


@pytest.mark.parametrize("form", LEFT)
@pytest.mark.parametrize("single", [False, True])
def test_everything_else_is_left_to_the_general_call(arm, states, general, form, single):
    calls, (q, dq, ddq) = general(arm), states(5, 3)
    other = [LEFT[form](q), *((dq[0], ddq[0]) if single else (dq, ddq))]
    assert outcome(arm, *other) == outcome(arm._dispatch.call, *other)
    assert calls == [3]


@pytest.mark.parametrize(
    "wrong",
    [
        [0.1, 0.2],
        [0.1, 0.2, 0.3, 0.4],
        [0.1, "0.2", 0.3],
        [0.1, None, 0.3],
        [0.1, [0.2], 0.3],
        [10**400, 0, 0],
        [0.1, 1j, 0.2],
        [fractions.Fraction(1, 3), 0, 0],
        np.zeros(2),
        np.zeros((3, 2)),
        np.zeros(3, complex),
        np.zeros((2, 2, 3, 1)),
        np.array(["a", "b", "c"]),
        "abc",
        None,
        1.5,
        {},
        range(3, 9),
    ],
    ids=lambda x: repr(x)[:25],
)
def test_errors_are_those_of_the_general_call(arm, states, wrong):
    q, dq, ddq = states(3)
    for arrays in ((wrong, dq, ddq), (q, dq, wrong), (wrong, wrong, wrong)):
        assert outcome(arm, *arrays) == outcome(arm._dispatch.call, *arrays)
        out = np.zeros(3)
        assert outcome(arm, *arrays, out=out) == outcome(arm._dispatch.call, *arrays, out=out)


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


@pytest.mark.parametrize("batch", [(), (1,), (7,), (40,)])
def test_float32_enters_after_its_first_call(arm_graph, states, general, batch):
    kernel = Kernel(arm_graph)
    calls = general(kernel)
    arrays = [x.astype("f4") for x in states(*batch, 3)]
    expected = outcome(kernel.gufunc, *arrays)
    assert outcome(kernel, *arrays) == expected
    out = np.zeros((*batch, 3), np.float32)
    assert kernel(*arrays, out=out) is out
    assert out.tobytes() == expected[0][3]
    assert outcome(kernel, *(x[..., ::-1][..., ::-1] for x in arrays)) == expected
    assert calls == []
    wide = np.zeros((*batch, 3))  # NumPy converts the result
    assert kernel(*arrays, out=wide) is wide and calls == [3]
    assert (wide == out).all()


def test_float32_is_compiled_by_the_first_call(arm_graph, states, general):
    kernel = Kernel(arm_graph)
    calls, arrays = general(kernel), [x.astype("f4") for x in states(3)]
    first, second = kernel(*arrays), kernel(*arrays)
    assert first.tobytes() == second.tobytes() and first.dtype == second.dtype == np.float32
    assert calls == [3]


def scaled_graph():
    """y = x dt: an argument without dimensions beside a vector."""
    return trace(lambda x, dt: x * dt, [Port("x", (3,)), Port("dt", ())], [("y", ())])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_numbers_enter_beside_arrays(general, states, dtype):
    kernel = Kernel(scaled_graph())
    kernel.gufunc  # noqa: B018  compiles float32
    calls = general(kernel)
    for batch in ((), (1,), (6,)):
        x = states(*batch, 3)[0].astype(dtype)
        assert outcome(kernel, x, 0.1) == outcome(kernel.gufunc, x, 0.1)
        assert outcome(kernel, x.tolist() if not batch else x, 0.3)[0][2] == (*batch, 3)
    assert calls == []
    for dt in (0.0, -0.1, np.nan, np.inf, 1, True, np.float32(0.1), 1e-60, 1e60):
        x = states(3)[0].astype(dtype)
        with np.errstate(all="ignore"):
            assert outcome(kernel, x, dt) == outcome(kernel._dispatch.call, x, dt)


def loaded_kernel():
    """x + 2 with an optional further argument F: x + 2 F, and the calls that made it."""
    made = []

    def larger():
        made.append(1)
        ports = [Port("x", (3,)), Port("F", (2, 3))]
        return Kernel(trace(lambda x, F: x + 2 * F[0] + F[1], ports, [("y", ())]), "loaded")

    small = trace(lambda x: x + 2, [Port("x", (3,))], [("y", ())])
    return Kernel(small, "sum", more=("F", larger)), made


def test_a_further_argument_enters_the_larger_kernel(states, general):
    kernel, made = loaded_kernel()
    calls = general(kernel)
    x, F = states(3)[0], states(2, 3)[0]
    expected = x + 2 * F[0] + F[1]
    assert np.allclose(kernel(x, F), expected) and calls == [2]  # makes it
    calls.clear()
    out = np.zeros(3)
    for found in (
        kernel(x, F),
        kernel(x, F=F),
        kernel(x.tolist(), F),
        kernel(x, F, out=out),
        kernel(x, F=F, out=out),
    ):
        assert np.allclose(found, expected)
    assert found is out
    assert kernel(x[None], F).shape == (1, 3)
    assert np.array_equal(kernel(x, None), x + 2) and np.array_equal(kernel(x, F=None), x + 2)
    assert calls == [] and made == [1]
    assert np.allclose(kernel(x, out=out, F=F), expected)  # in the other order: the general call
    assert np.allclose(kernel(x=x, F=F), expected)
    assert len(calls) == 2
    with pytest.raises(ShapeError, match="F has shape"):
        kernel(x, F[:1])
    with pytest.raises(TypeError):
        kernel(x, F, F=F)


@pytest.mark.parametrize("batch", [(), (1,), (5,)])
def test_out_may_be_a_tuple_of_one_or_none(arm, states, general, batch):
    calls, arrays = general(arm), states(*batch, 3)
    expected, out = arm.gufunc(*arrays), np.zeros((*batch, 3))
    assert arm(*arrays, out=(out,)) is out and out.tobytes() == expected.tobytes()
    assert arm(*arrays, out=None).tobytes() == expected.tobytes()
    assert calls == []


@pytest.mark.parametrize(
    "out",
    [
        np.zeros(2),
        np.zeros((1, 3)),
        np.zeros(3, int),
        np.zeros(3, "f4"),
        np.zeros(3, ">f8"),
        read_only(np.zeros(3)),
        np.zeros(6)[::2],
        (np.zeros(3), np.zeros(3)),
        (),
        (None,),
        [0.0, 0.0, 0.0],
        "abc",
        3,
    ],
    ids=lambda x: repr(x)[:25],
)
def test_other_places_for_one_state_are_for_the_general_call(arm, states, general, out):
    calls, arrays = general(arm), states(3)
    assert outcome(arm, *arrays, out=out) == outcome(arm._dispatch.call, *arrays, out=out)
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


def test_large_batches_are_left_to_threads(arm, states, general):
    calls, arrays = general(arm), states(30, 3)
    vectorcall.set_limit(arm, 30)
    assert arm(*(a[:29] for a in arrays)).shape == (29, 3) and calls == []
    assert arm(*arrays).shape == (30, 3) and calls == [3]


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
