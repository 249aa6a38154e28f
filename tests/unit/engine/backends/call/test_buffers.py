"""Large results use memory of earlier ones, and no memory is ever in two results."""

import ctypes
import gc
import os
import sys
import threading
import tracemalloc

import numpy as np
import pytest

from kinetree.engine import has_llvm
from kinetree.engine.call import buffers, vectorcall
from kinetree.engine.call import c_api as abi

POOLED = vectorcall.available() and has_llvm() and abi.handlers_as_expected()
pytestmark = pytest.mark.skipif(
    not POOLED or not buffers.limit(), reason="results have no pool here"
)

multiarray = np._core.multiarray if hasattr(np, "_core") else np.core.multiarray
STATES = 4096  # results of 98 kB
MANY = STATES * 3 * 8


@pytest.fixture(autouse=True)
def one_thread(arm, pair):
    """No batch goes to threads, and the pool begins without old buffers of these tests' size."""
    for kernel in (arm, pair):
        vectorcall.set_limit(kernel, 10**9)
    gc.collect()


def place(a):
    return a.__array_interface__["data"][0]


def keepers():
    """Ways to keep the memory of a result after the result itself is dropped."""
    return {
        "view": lambda x: x[:],
        "one number": lambda x: x[-1, -1:],
        "slice of a slice": lambda x: x[5:][::3][:, 1],
        "transposed": lambda x: x.T,
        "reshaped": lambda x: x.reshape(-1),
        "other type": lambda x: x.view(np.uint64),
        "memoryview": memoryview,
        "buffer": lambda x: np.frombuffer(memoryview(x).cast("B"), np.float64),
        "iterator": lambda x: x.flat,
        "ctypes": lambda x: np.ctypeslib.as_ctypes(x),
        "in a cycle": lambda x: (lambda held: held.append(held) or held)([x]),
    }


@pytest.mark.parametrize("kind", keepers())
def test_memory_that_is_referred_to_is_not_used_again(arm, states, kind):
    arrays = states(STATES, 3)
    result = arm(*arrays)
    expected, start = result.copy(), place(result)
    kept = keepers()[kind](result)
    del result
    others = [arm(*(x + k for x in arrays)) for k in range(1, 4)]
    assert all(abs(place(x) - start) >= MANY for x in others)
    memory = np.ctypeslib.as_array((ctypes.c_double * (STATES * 3)).from_address(start))
    assert memory.tobytes() == expected.tobytes()
    del kept


def test_many_results_at_once_share_nothing(arm, states):
    rng = np.random.default_rng(0)
    living = []
    for _ in range(150):
        n = int(rng.integers(1400, 6000))
        arrays = states(n, 3)
        living.append((arm(*arrays), arm.gufunc(*arrays).tobytes()))
        if len(living) > 6:
            del living[int(rng.integers(len(living)))]
        results = sorted((x for x, _ in living), key=place)
        ends = [place(x) + x.nbytes for x in results]
        assert all(end <= place(x) for end, x in zip(ends, results[1:], strict=False))
    assert all(x.tobytes() == expected for x, expected in living)


def test_results_can_change_their_size(arm, states):
    arrays = states(STATES, 3)
    for shape in ((10, 3), (STATES, 3), (3 * STATES, 3), (0,), (STATES * 20,)):
        result = arm(*arrays)
        expected = result.copy()
        expected.resize(shape, refcheck=False)
        result.resize(shape, refcheck=False)
        assert result.shape == shape and result.tobytes() == expected.tobytes()
        result[...] = 1  # all of it can be written


def test_threads_share_the_pool(arm, states):
    arrays = [states(STATES, 3) for _ in range(4)]
    expected = [arm.gufunc(*x).tobytes() for x in arrays]
    wrong = []

    def work(k):
        kept = []
        for turn in range(60):
            found = arm(*arrays[k])
            kept.append(found[turn % 7 :])
            if len(kept) > 3:
                kept.pop(0)
            if found.tobytes() != expected[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system counts no pages")
def test_a_hundred_thousand_calls_leave_nothing_behind(arm, pair, states):
    single, batch = states(3), states(1400, 3)
    numbers, out, two = [x.tolist() for x in single], np.zeros(3), states(4200, 2, count=2)

    def work(turns):
        for _ in range(turns):
            arm(*numbers)
            arm(*single, out=out)
            arm(*numbers, out=(out,))
            arm(single[0][None], *single[1:])
        for _ in range(turns // 40):
            arm(*batch)
            pair(*two)

    work(400)
    gc.collect()
    tracemalloc.start()
    before, size = tracemalloc.get_traced_memory()[0], resident()
    work(25_000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000
    assert resident() - size < 8_000_000  # a leak of one batch in ten would be larger
