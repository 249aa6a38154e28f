"""Calls of a CUDA kernel that come again: the same results, nothing read twice. Without a GPU."""

import sys
import threading

import numpy as np
import pytest
from cuda_stand_in import Device, HostArray, HostGpu, HostKernel, on_host

import kinetree as kt
from kinetree.engine import interpret
from kinetree.engine.cuda import kernel as kernels
from kinetree.engine.kernels import trace_quantity
from kinetree.errors import InputError, ShapeError

RNG = np.random.default_rng(5)


@pytest.fixture
def cp(monkeypatch):
    made = HostGpu(devices=2)
    monkeypatch.setitem(sys.modules, "cupy", made)
    return made


@pytest.fixture
def kernel(cp, monkeypatch):
    """Inverse dynamics of two joints; `reads` counts calls that were read from the start."""
    found = HostKernel(trace_quantity(kt.robots.planar_2r().model, "inverse_dynamics"), "forces")
    original = kernels.prepare

    def counted(*given):
        found.reads += 1
        return original(*given)

    monkeypatch.setattr(kernels, "prepare", counted)
    return found


def state(shape=(5, 2), dtype="float64", count=3):
    return [on_host(RNG.normal(size=shape).astype(dtype)) for _ in range(count)]


def right(kernel, given, found):
    expected = interpret(kernel.graph, *[np.asarray(x) for x in given])[0]
    assert isinstance(found, HostArray) and found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_a_call_like_one_before_is_launched_at_once(kernel, cp):
    for k in range(4):
        given = state()
        right(kernel, given, kernel(*given))
        assert kernel.reads == 1 and len(cp.launches) == k
    for shape, dtype in (((5, 2), "float32"), ((3, 2, 2), "float64"), ((2,), "float64")):
        for _ in range(2):
            given = state(shape, dtype)
            right(kernel, given, kernel(*given))
    assert kernel.reads == 4 and len(cp.launches) == 6


def test_results_of_two_calls_do_not_share_memory(kernel):
    given = state()
    made = [kernel(*given) for _ in range(3)]
    assert not any(np.shares_memory(x, y) for x in made for y in made if x is not y)


def test_strides_broadcasts_numbers_and_mixed_types_are_read_every_time(kernel):
    wide = on_host(RNG.normal(size=(5, 4)))
    q, dq, ddq = state()
    cases = [(wide[:, ::2], dq, ddq), (q[0].copy(), dq, ddq), (q.astype("float32"), dq, ddq)]
    for n, case in enumerate(cases):
        for k in range(2):
            right(kernel, case, kernel(*case))
            assert kernel.reads == 2 * n + k + 1
    right(kernel, (q, dq, ddq), kernel(q, dq, ddq=ddq))


def test_out_is_written_where_it_may_be(kernel, cp):
    given = state()
    kernel(*given)
    out = on_host(np.full((5, 2), np.nan))
    assert kernel(*given, out=out) is out and kernel(*given, out=(out,)) is out
    right(kernel, given, out)
    assert kernel.reads == 1 and len(cp.launches) == 2
    block = on_host(RNG.normal(size=(12, 2)))
    expected = interpret(kernel.graph, *[np.array(block[:5])] * 3)[0]
    kernel(block[:5], block[:5], block[:5], out=block[4:9])  # overlaps: a copy is needed
    np.testing.assert_array_equal(block[4:9], expected)
    assert kernel.reads == 2
    for bad in (on_host(np.zeros((4, 2))), on_host(np.zeros((5, 2), int))):
        with pytest.raises((ShapeError, InputError)):
            kernel(*given, out=bad)
    narrow = on_host(np.zeros((5, 2), "float32"))
    kernel(*given, out=narrow)  # as without plans: converted
    np.testing.assert_array_equal(narrow, np.asarray(kernel(*given), "float32"))


def test_mistakes_have_their_messages_after_good_calls(kernel):
    q, dq, ddq = state()
    kernel(q, dq, ddq)
    with pytest.raises(ShapeError, match="takes 3 arrays"):
        kernel(q, dq)
    with pytest.raises(ShapeError, match=r"\(5, 3\)"):
        kernel(q, dq, on_host(np.zeros((5, 3))))
    with pytest.raises(InputError, match="numpy"):
        kernel(q, dq, np.zeros((5, 2)))


def test_another_gpu_and_another_stream_are_noticed(kernel, cp):
    given = state()
    kernel(*given)
    cp.stream.ptr = 77
    kernel(*given)
    assert cp.streams == [77]
    with Device(1):  # current, while the arrays lie on the first one
        right(kernel, given, kernel(*given))
    assert kernel.reads == 2
    for x in given:
        x.lies_on = 1
    kernel(*given)
    assert kernel.reads == 3 and Device.current == 0


def test_threads_do_not_share_arguments(kernel, cp):
    """Each launch finds its own addresses, though another thread comes in between."""
    first = state()
    kernel(*first)
    kernel(*first)
    thread = threading.Thread(target=lambda: kernel(*first))
    thread.start()
    thread.join()
    one, other = cp.arguments[-2:]
    assert one != other and len(cp.launches) == 2
