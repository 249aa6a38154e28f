"""Threads that share a batch in machine code compute every state once, and nothing else."""

import ctypes
import threading

import eager_kernels
import numpy as np
import pytest

from kinetree import threads
from kinetree.engine.call import shares
from kinetree.engine.call.gufunc import InnerLoop
from kinetree.engine.call.shares import Share
from kinetree.engine.call.vectorcall import shared_code, usable
from kinetree.engine.compiler.graph import Port

pytestmark = pytest.mark.skipif(not usable(), reason="this Python does not enter machine code")
LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


@pytest.fixture
def eager(arm):
    """A kernel that takes threads for any batch."""
    return eager_kernels.eager(arm)


@pytest.fixture
def made(monkeypatch):
    """Every share that was made, or None where a batch is cut in Python."""
    found, make = [], shares.share

    def watched(*arguments):
        found.append(make(*arguments))
        return found[-1]

    monkeypatch.setattr(shares, "share", watched)
    return found


def counting():
    """An inner loop that adds 1 to the first number of each state of its second array."""
    seen, lock = [], threading.Lock()

    def loop(places, count, steps, data):
        n = ctypes.c_int64.from_address(count).value
        step = ctypes.c_int64.from_address(steps + 8).value
        first = ctypes.c_void_p.from_address(places + 8).value
        for k in range(n):
            ctypes.c_double.from_address(first + k * step).value += 1
        with lock:
            seen.append(n)

    function = LOOP(loop)
    address = ctypes.cast(function, ctypes.c_void_p).value
    return InnerLoop("float64", address, function), seen


@pytest.mark.parametrize("size", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize("turn", [1, 2, 100])
def test_each_state_is_computed_once(size, turn):
    loop, seen = counting()
    x, out = np.zeros((size, 3)), np.zeros((size, 3))
    one = Share([Port("x", (3,)), Port("y", (3,))], [x, out], loop, (size, 64, turn))
    function = shared_code().address("share")
    helpers = [threading.Thread(target=one.enter, args=(function,)) for _ in range(4)]
    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()
    assert not one.left()
    assert (out[:, 0] == 1).all() and not out[:, 1:].any() and not x.any()
    assert sorted(seen, reverse=True) == [64] * (size // 64) + [size % 64] * (size % 64 > 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_plain_batches_are_shared_and_others_are_not(eager, states, made, dtype):
    """By strides, axes and types: with the bits of one thread in every case."""
    x = [y.astype(dtype) for y in states(60, 50, 3)]
    line = [y.reshape(-1, 3) for y in x]
    misaligned = np.zeros(line[0].nbytes + 1, np.uint8)[1:].view(dtype).reshape(-1, 3)
    misaligned[:] = line[0]
    one, wide = line[0][5], np.zeros((3000, 6), dtype)
    wide[:, ::2] = line[0]  # numbers of a state need not be neighbours
    cases = {
        True: [
            (line, None), (x, None), ([y[::-2] for y in line], None), ([one, *line[1:]], None),
            ([line[0][5:6], *line[1:]], None), ([one, x[1], x[2]], None),
            ([one[None, None], x[1], x[2]], None), ([wide[:, ::2], *line[1:]], None),
            (line, np.zeros((6000, 3), dtype)[::2]),
        ],
        False: [
            ([y[:, ::2] for y in x], None), ([x[0][:, :1], x[1], x[2]], None),
            ([misaligned, *line[1:]], None), (x, np.zeros((60, 100, 3), dtype)[:, ::2]),
            ([line[0].astype("f2"), *line[1:]], None),
            ([y.astype(y.dtype.newbyteorder()) for y in line], None),
        ],
    }  # fmt: skip
    for shared, given in cases.items():
        for arrays, out in given:
            options = {} if out is None else {"out": out}
            with threads(1):
                expected = np.array(eager(*arrays, **options))
            if out is not None:
                out[:] = np.nan
            made.clear()
            with threads(3):
                result = eager(*arrays, **options)
            assert np.array_equal(result, expected) and result.dtype == expected.dtype
            assert [share is not None for share in made if share is not None] == [True] * shared
