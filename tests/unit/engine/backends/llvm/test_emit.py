import numpy as np
import pytest
from llvm_graphs import chain, every_operation
from llvm_harness import Builder, Compiled, host, same_bits

from exact_graphs import interpret

LANES = {"float64": (1, 2, 4, 8), "float32": (1, 4, 8, 16)}
SPECIAL = [0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 3e-310, 1e30]


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of special numbers, and random ones, as states of three numbers."""
    rng = np.random.default_rng(3)
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    a = np.concatenate([a.ravel(), rng.normal(size=150)]).astype(dtype)
    b = np.concatenate([b.ravel(), rng.normal(size=150)]).astype(dtype)
    return np.stack([a, b, -a], 1), np.stack([b, a, a], 1)


@pytest.mark.parametrize("dtype", LANES)
def test_every_operation_means_what_the_interpreter_says(dtype: str) -> None:
    graph = every_operation()
    trigonometric = [
        k for k, i in enumerate(graph.results[0]) if graph.nodes[i].op in ("sin", "cos")
    ]
    inputs = pairs(dtype)
    expected = interpret(graph, *inputs)[0]
    tolerance = 2 * np.finfo(dtype).eps
    for lanes in LANES[dtype]:
        code = Compiled(graph, host(lanes, lanes), dtype)
        for found in (
            code.states(*inputs)[0],
            np.array([code.one(*s)[0] for s in zip(*inputs, strict=True)]),
        ):
            exact = np.delete(np.arange(found.shape[1]), trigonometric)
            assert same_bits(found[:, exact], expected[:, exact])
            np.testing.assert_allclose(
                found[:, trigonometric], expected[:, trigonometric], rtol=0, atol=tolerance
            )


@pytest.mark.parametrize("dtype", LANES)
def test_width_batch_and_place_do_not_change_a_bit(dtype: str) -> None:
    graph = chain()
    rng = np.random.default_rng(1)
    inputs = [rng.normal(size=(61, *p.shape)).astype(dtype) for p in graph.inputs]
    reference: list[np.ndarray] | None = None
    for lanes in LANES[dtype]:
        code = Compiled(graph, host(lanes, lanes), dtype)
        reference = reference or code.states(*inputs)
        for n in (0, 1, lanes - 1, lanes, lanes + 1, 61):
            for start in (0, 61 - n):
                found = code.states(*(a[start : start + n] for a in inputs))
                for x, y in zip(found, reference, strict=True):
                    assert same_bits(x, y[start : start + n])
        for k in range(61):
            found = code.one(*(a[k] for a in inputs))
            assert all(same_bits(x, y[k]) for x, y in zip(found, reference, strict=True))


@pytest.mark.parametrize("opt", [0, 3])
def test_effort_of_the_code_generator_does_not_change_a_bit(opt: int) -> None:
    graph = chain(7, seed=5)
    rng = np.random.default_rng(2)
    inputs = [rng.normal(size=(19, *p.shape)) for p in graph.inputs]
    found = Compiled(graph, host(8), opt=opt).states(*inputs)
    expected = Compiled(graph, host(8), opt=1).states(*inputs)
    assert all(map(same_bits, found, expected))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_a_bad_state_leaves_its_neighbours_alone(bad: float) -> None:
    graph = chain()
    rng = np.random.default_rng(4)
    inputs = [rng.normal(size=(21, *p.shape)) for p in graph.inputs]
    code = Compiled(graph, host(8))
    good = code.states(*inputs)
    for victim in (0, 9, 20):
        spoiled = [a.copy() for a in inputs]
        for a in spoiled:
            a[victim] = bad
        for x, y in zip(code.states(*spoiled), good, strict=True):
            assert same_bits(np.delete(x, victim, 0), np.delete(y, victim, 0))


def test_results_may_be_inputs_constants_and_repeated() -> None:
    b = Builder()
    x = b.input("x", 2)
    y = b.op("add", x[0], x[1])
    graph = b.graph([y, y, x[1], b.const(2.0)])
    code = Compiled(graph, host(4))
    inputs = np.arange(10.0).reshape(5, 2)
    expected = np.stack([inputs.sum(1), inputs.sum(1), inputs[:, 1], np.full(5, 2.0)], 1)
    assert same_bits(code.states(inputs)[0], expected)
    assert same_bits(code.one(inputs[3])[0], expected[3])


def test_buffers_too_large_for_the_stack() -> None:
    b = Builder()
    x = b.input("x", 40)
    square = [b.op("mul", i, j) for i in x for j in x]
    graph = b.graph(square * 12, shapes=[(12, 40, 40)])
    code = Compiled(graph, host(8))
    inputs = np.random.default_rng(5).normal(size=(9, 40))
    expected = np.repeat(np.einsum("si,sj->sij", inputs, inputs)[:, None], 12, 1)
    assert same_bits(code.states(inputs)[0], expected)


def test_single_precision_rounds_constants_to_nearest() -> None:
    b = Builder()
    x = b.input("x", 1)
    graph = b.graph([b.op("mul", x[0], b.const(0.1)), b.op("add", x[0], b.const(1e300))])
    code = Compiled(graph, host(4, 4), "float32")
    found = code.states(np.array([[3.0]], np.float32))[0][0]
    assert found.tolist() == [float(np.float32(3) * np.float32(0.1)), np.inf]
