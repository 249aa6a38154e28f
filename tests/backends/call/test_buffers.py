"""Large results use memory of earlier ones, and no memory is ever in two results."""

import ctypes
import gc
import os
import random
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
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


def test_a_result_that_is_gone_leaves_its_memory_to_the_next(arm, states):
    arrays = states(STATES, 3)
    first = arm(*arrays)
    at, expected = place(first), first.tobytes()
    del first
    second = arm(*arrays)
    assert place(second) == at and second.tobytes() == expected


def test_results_are_ordinary_arrays(arm, pair, states):
    made = [arm(*states(STATES, 3)), *pair(*states(9000, 2, count=2))]
    for x in made:
        assert x.nbytes >= buffers.LEAST
        plain = np.empty(x.shape, x.dtype)
        assert type(x) is np.ndarray and x.base is None
        assert str(x.flags) == str(plain.flags) and x.strides == plain.strides
        assert sys.getrefcount(x) == sys.getrefcount(plain) + 1  # also in the list
        assert place(x) % buffers.ALIGN == 0
        assert multiarray.get_handler_name(x) == "kinetree"
    assert multiarray.get_handler_name(arm(*states(10, 3))) == "default_allocator"


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


def test_large_batches_on_threads_use_the_pool(arm, states):
    arrays = states(20_000, 3)
    vectorcall.set_limit(arm, 10)
    arm._dispatch._states = 10
    arm._dispatch._least = 1
    from kinetree import threads

    with threads(2):
        first = arm(*arrays)
        at, expected = place(first), first.tobytes()
        del first
        assert place(arm(*arrays)) == at
    assert arm.gufunc(*arrays).tobytes() == expected


def test_results_of_hundreds_of_megabytes_use_the_pool_too():
    if buffers.limit() < buffers.LAZY:
        pytest.skip("this system keeps less")
    first = vectorcall.new_array((20_000_000,))
    at = place(first)
    del first
    assert place(vectorcall.new_array((5_000_000, 4))) == at


def test_the_pool_never_takes_much_more_than_results_did():
    """Of random sizes: results and buffers stay within WARM of the most that results ever took."""
    rng, living = random.Random(3), []
    pool = buffers._pools[0]
    others = pool[buffers.LIVE]

    def rounded(x):
        return -(-x.nbytes // buffers.PAGE) * buffers.PAGE

    peak = pool[buffers.PEAK]
    for turn in range(400):
        if living and rng.random() < 0.5:
            del living[rng.randrange(len(living))]
        else:
            size = rng.choice([5_000, 40_000, 2_000_000, 9_000_000, 40_000_000])
            living.append(vectorcall.new_array((rng.randrange(size // 2, size),)))
        if turn % 100 == 50:
            living.clear()
        own = sum(rounded(x) for x in living if x.nbytes >= buffers.LEAST)
        live, idle = pool[buffers.LIVE] - others, buffers.idle()[1]
        assert own <= live <= 1.5 * own + 8192 * len(living)  # of which a third may be unused
        peak = max(peak, pool[buffers.LIVE])
        assert pool[buffers.LIVE] + idle <= peak + buffers.WARM
        assert idle <= buffers.limit()
    living.clear()
    assert pool[buffers.LIVE] == others


def lazily_freed():
    """Bytes that the system may take from this process when it needs them."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    found = [line.split()[1] for line in lines if line.startswith("LazyFree:")]
    return 1024 * sum(map(int, found)) if found else None


LIMITED = """
import resource
from pathlib import Path
import numpy as np
import kinetree as kt

kernel = kt.robots.planar_2r().gravity_forces
kt.threads(1)
q = np.broadcast_to(np.zeros((1, 2)), (10_000_000, 2))
kernel(q[:5])
parts = [kernel(q[:1_400_000]) for _ in range(7)]  # 157 MB, which are free at once
del parts
pages = int(Path("/proc/self/statm").read_text().split()[0])
room = pages * resource.getpagesize() + 80_000_000
resource.setrlimit(resource.RLIMIT_AS, (room, room))
print(kernel(q).shape)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is that of Linux")
def test_buffers_are_freed_where_the_system_has_no_memory():
    # what is freed is returned, and nothing is compiled meanwhile
    settings = {"MALLOC_MMAP_THRESHOLD_": "1000000", "KINETREE_BACKGROUND": "0"}
    environment = {**os.environ, **settings}
    command = [sys.executable, "-c", LIMITED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "(10000000, 2)\n", done.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="the system lists no memory")
def test_the_system_may_take_buffers_beyond_those_kept_warm():
    if lazily_freed() is None or not buffers._pools[0][buffers.ADVISE]:
        pytest.skip("this system does not mark memory")
    kept, numbers = vectorcall.new_array((1_000_000,)), np.arange(1e6)
    kept[:] = numbers
    gone = vectorcall.new_array((buffers.WARM // 8 + 4_000_000,))
    gone[:] = 1
    at, size, before = place(gone), gone.nbytes, lazily_freed()
    del gone
    assert lazily_freed() - before > 0.9 * size
    again = vectorcall.new_array((size // 8,))
    assert place(again) == at
    again[:] = 2  # used again, and so no longer the system's
    assert lazily_freed() - before < 0.1 * size
    assert (again == 2).all() and (kept == numbers).all()


def test_records_of_rollouts_use_the_pool_and_leave_no_number_in_it():
    robot, q = kt.robots.planar_2r(), np.random.default_rng(0).normal(size=(200, 2))

    def run():
        motion = robot.simulate(q, duration=0.1, dt=1e-3, method="rk4", tau=lambda t, q, dq: -q)
        return [motion.q, motion.dq, motion.ddq, motion.tau]

    first = run()
    at, expected = sorted(map(place, first)), [x.tobytes() for x in first]
    for x in first:
        (x if x.base is None else x.base)[...] = np.nan
    del first, x
    second = run()
    assert [x.tobytes() for x in second] == expected
    assert sorted(map(place, second)) == at
    owners = [x if x.base is None else x.base for x in second]
    assert {multiarray.get_handler_name(x) for x in owners} == {"kinetree"}
