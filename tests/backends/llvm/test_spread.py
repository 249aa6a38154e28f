"""Outputs whose numbers repeat: computed once, spread by tables, against the interpreter."""

import numpy as np
import pytest
from llvm_harness import Compiled, host, same_bits

from kinetree.engine import Graph, Node, Port, interpret
from kinetree.engine.llvm.spread import SMALLEST, SMALLEST_ONE, spread

WIDTHS = [("float64", 1), ("float64", 4), ("float64", 8), ("float32", 8)]


def repeating(size: int, products: int = 40) -> Graph:
    """Outputs of several shapes, made of zeros, twos, inputs and products in any order."""
    nodes = [Node("const", (), x) for x in (0.0, 2.0, 1.5)]
    nodes += [Node("input", (), (0, k)) for k in range(3)]
    for k in range(products):
        nodes.append(Node(("mul", "add")[k % 2], (3 + k % 3, len(nodes) - 1)))
    rng = np.random.default_rng(size)
    shapes = [(size // 5, 5), (), (3,), (0,), (size // 2,)]
    used = np.arange(3, len(nodes))
    results = []
    for shape in shapes:
        picks = rng.choice(used, np.prod(shape, dtype=int))
        picks[rng.random(len(picks)) < 0.6] = rng.integers(2)
        results.append(tuple(map(int, picks)))
    results[-1] = (*map(int, used), 0, 1, 2, *results[-1][len(used) + 3 :])
    outputs = tuple(Port(f"r{k}", shape) for k, shape in enumerate(shapes))
    return Graph(tuple(nodes), (Port("x", (3,)),), outputs, tuple(results))


# stored as they are, spread in batches, spread for single states too, and with memory from the heap
@pytest.mark.parametrize(
    "graph",
    [
        repeating(SMALLEST // 2),
        repeating(SMALLEST),
        repeating(2 * SMALLEST_ONE),
        repeating(60_000, 17_000),
    ],
    ids=["stored", "batches", "all", "heap"],
)
@pytest.mark.parametrize(("dtype", "lanes"), WIDTHS)
def test_every_element_has_the_bits_of_the_interpreter(graph, dtype, lanes):
    rng = np.random.default_rng(1)
    x = rng.uniform(0.5, 0.9, size=(2 * lanes + 1, 3)).astype(dtype)
    expected = interpret(graph, x)
    code = Compiled(graph, host(lanes, lanes), dtype)
    for found, right in zip(code.states(x), expected, strict=True):
        assert same_bits(found, right)
    single = code.one(x[-1])
    for found, right in zip(single, expected, strict=True):
        assert same_bits(found, right[-1])
    # arrays that are not contiguous are written number by number
    apart = [np.full((len(x), *p.shape, 2), 7.0, dtype) for p in graph.outputs]
    code.loop([x, *(a[..., 0] for a in apart)])
    for found, right in zip(apart, expected, strict=True):
        assert same_bits(found[..., 0].copy(), right)
        assert np.all(found[..., 1] == 7.0)


def test_tables_are_for_many_numbers_that_repeat():
    assert spread(repeating(SMALLEST // 2)) is None
    batches, everything = spread(repeating(SMALLEST)), spread(repeating(2 * SMALLEST_ONE))
    assert batches is not None and not batches.large
    assert everything is not None and everything.large
    size = 2 * SMALLEST
    nodes = tuple(Node("input", (), (0, k)) for k in range(size))
    port = Port("x", (size,))
    assert spread(Graph(nodes, (port,), (port,), (tuple(range(size)),))) is None
