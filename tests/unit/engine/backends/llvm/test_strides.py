import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llvm_graphs import chain
from llvm_harness import Builder, Compiled, host, same_bits

N = 21
WIDTHS = [
    *[("float64", lanes) for lanes in (1, 2, 4, 8)],
    *[("float32", lanes) for lanes in (4, 16)],
]


def strided(a: np.ndarray, form: str) -> np.ndarray:
    """The same numbers in another place of memory; axis 0 is the states."""
    if form == "contiguous":
        return a.copy()
    if form == "wide rows":
        room = np.full((a.shape[0], *a.shape[1:-1], a.shape[-1] + 3), np.nan, a.dtype)
        room[..., 1:-2] = a
        return room[..., 1:-2]
    if form == "every other state":
        return np.repeat(a, 2, 0)[::2]
    if form == "backwards":
        return a[::-1].copy()[::-1]
    if form == "core backwards":
        return a[..., ::-1].copy()[..., ::-1]
    assert form == "columns"
    return np.asfortranarray(a)


FORMS = ["contiguous", "wide rows", "every other state", "backwards", "core backwards", "columns"]


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_strides_do_not_change_a_bit(dtype: str, lanes: int) -> None:
    graph = chain(7)
    rng = np.random.default_rng(7)
    code = Compiled(graph, host(lanes, lanes), dtype)
    inputs = [rng.normal(size=(N, *p.shape)).astype(dtype) for p in graph.inputs]
    expected = code.states(*inputs)
    for k, form in enumerate(FORMS):
        other = FORMS[(k + 1) % len(FORMS)]
        # scalars have no core to stride over
        ins = [strided(a, form if a.ndim > 1 else "every other state") for a in inputs]
        outs = [strided(np.zeros_like(e), other if e.ndim > 1 else "backwards") for e in expected]
        code.loop([*ins, *outs])
        for x, y in zip(outs, expected, strict=True):
            assert same_bits(x, y), form


@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_an_input_that_does_not_move_is_the_same_for_all_states(dtype: str, lanes: int) -> None:
    graph = chain(4)
    rng = np.random.default_rng(8)
    code = Compiled(graph, host(lanes, lanes), dtype)
    inputs = [rng.normal(size=(N, *p.shape)).astype(dtype) for p in graph.inputs]
    for fixed in range(len(inputs)):
        still = [np.broadcast_to(a[3], a.shape) if k == fixed else a for k, a in enumerate(inputs)]
        full = [np.ascontiguousarray(a) for a in still]
        assert all(map(same_bits, code.states(*still), code.states(*full)))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 18, 33, 44])
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_rows_of_any_length_arrive_in_place(dtype: str, lanes: int, size: int) -> None:
    b = Builder()
    x = b.input("x", size)
    graph = b.graph([b.op("neg", i) for i in x])
    code = Compiled(graph, host(lanes, lanes), dtype)
    data = np.arange(N * size, dtype=dtype).reshape(N, size)
    assert same_bits(code.states(data)[0], -data)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_nothing_outside_the_arrays_is_written(lanes: int) -> None:
    b = Builder()
    x = b.input("x", 5)
    graph = b.graph([b.op("neg", i) for i in x])
    code = Compiled(graph, host(lanes))
    for n in (1, lanes, lanes + 3):
        room = np.full(n * 5 + 40, 7.0)
        out = room[20 : 20 + n * 5].reshape(n, 5)
        code.loop([np.ones((n, 5)), out])
        assert np.all(out == -1.0)
        assert np.all(room[:20] == 7.0)
        assert np.all(room[20 + n * 5 :] == 7.0)


@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_output_may_take_the_place_of_an_input(lanes: int) -> None:
    b = Builder()
    x, y = b.input("x", 3), b.input("y", 3)
    graph = b.graph([b.op("fma", x[(k + 1) % 3], y[k], x[(k + 2) % 3]) for k in range(3)])
    code = Compiled(graph, host(lanes))
    rng = np.random.default_rng(9)
    p, q = rng.normal(size=(N, 3)), rng.normal(size=(N, 3))
    expected = code.states(p, q)[0]
    code.loop([p, q, p])
    assert same_bits(p, expected)


@pytest.mark.skipif(os.name != "posix", reason="needs mprotect")
def test_nothing_outside_the_arrays_is_read() -> None:
    script = Path(__file__).with_name("guarded_reads.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.stdout == "survived\n", done.stderr
