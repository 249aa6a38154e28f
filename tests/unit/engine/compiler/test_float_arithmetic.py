"""Graphs on Python floats, on arrays and in machine code give the same bits."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from single_operations import tabulated

from kinetree.engine.compiler import interpret
from kinetree.engine.compiler.array_arithmetic import sincos_value
from kinetree.engine.compiler.float_arithmetic import (
    HARD,
    SINGLE,
    TROUBLE,
    chosen_fma,
    exact_fma,
    sine_and_cosine,
    whole_fma,
)
from kinetree.engine.compiler.graph import OPERATIONS, Graph, Node, Port
from kinetree.engine.compiler.interpret import FLOATS, STATES_AS_FLOATS, run
from kinetree.engine.kernel import Kernel

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -3.25, 5e-324, -1e-310, 2.0**-1022, 1e308, 7e22, math.pi]


def graph_of(*ops):
    """Some operations of one to three arguments, each on the first elements of x."""
    nodes = [Node("input", (), (0, k)) for k in range(3)]
    nodes += [Node(op, tuple(range(OPERATIONS[op][0]))) for op in ops]
    count = len(ops)
    results = (tuple(range(3, 3 + count)),)
    return Graph(tuple(nodes), (Port("x", (3,)),), (Port("y", (count,)),), results)


OPS = [op for op in OPERATIONS if op not in ("const", "input")]


def states(seed, count):
    rng = np.random.default_rng(seed)
    usual = rng.uniform(-4, 4, (count, 3))
    wide = rng.choice([-1, 1], (count, 3)) * 10.0 ** rng.uniform(-250, 250, (count, 3))
    special = rng.choice(SPECIAL, (count, 3))
    return np.concatenate([usual, wide, special])


def same(a, b):
    """Equal bits; a NaN is a NaN."""
    a, b = np.asarray(a), np.asarray(b)
    unequal = a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}")
    return a.dtype == b.dtype and not (unequal & ~(np.isnan(a) & np.isnan(b))).any()


def bits(x):
    return np.float64(x).tobytes()


def test_one_state_many_states_and_machine_code_agree_for_each_operation():
    graph, x = graph_of(*OPS), states(3, 60)
    compiled = Kernel(graph)(x)
    assert len(x) > STATES_AS_FLOATS and same(interpret.interpret(graph, x)[0], compiled)
    assert same(np.array([interpret.interpret(graph, row)[0] for row in x]), compiled)
    narrow = np.clip(x, -1e30, 1e30).astype(np.float32)
    assert same(interpret.interpret(graph, narrow)[0], Kernel(graph)(narrow))


def test_python_floats_decide_what_they_can():
    """Only infinity and NaN are left to NumPy."""
    graph, x = graph_of(*[op for op in OPS if op not in ("div", "sqrt", "log")]), states(4, 40)[:40]
    for row in x.tolist():
        with np.errstate(all="ignore"):
            expected = run(graph, [[np.float64(v) for v in row]], FLOATS, np.float64)
        assert [bits(v) for v in run(graph, [row], SINGLE, float)] == [bits(v) for v in expected]


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_infinity_and_nan_leave_the_other_operations_alone(bad):
    graph, x = graph_of(*OPS), np.array([bad, 2.0, -1.0])
    assert same(interpret.interpret(graph, x)[0], Kernel(graph)(x))
    with pytest.raises(TROUBLE):
        whole_fma(bad, 1.0, 1.0)


def test_a_program_and_its_graph_have_the_same_bits():
    graph = graph_of(*OPS)
    program, x = tabulated(graph), states(5, 25)
    for given in (x, x[0], x[:3].astype(np.float32)):
        (a,), (b,) = interpret.interpret(program, given), interpret.interpret(graph, given)
        assert same(a, b)


def test_fused_products_are_those_of_fractions():
    random.seed(6)
    numbers = [random.choice((-1, 1)) * 2 ** random.uniform(-1000, 400) for _ in range(300)]
    cases = [*zip(numbers[:100], numbers[100:200], numbers[200:], strict=True), *HARD]
    for a, b, c in cases:
        total = Fraction(a) * Fraction(b) + Fraction(c)
        try:
            expected = total.numerator / total.denominator if total else a * b + c
        except OverflowError:
            expected = math.inf if total > 0 else -math.inf
        assert bits(exact_fma(a, b, c)) == bits(expected), (a, b, c)


def test_a_wrong_fma_of_the_platform_is_not_used(monkeypatch):
    monkeypatch.setattr(math, "fma", lambda a, b, c: a * b + c, raising=False)
    assert chosen_fma() is whole_fma  # it rounds twice

    def no_sign(a, b, c):  # +0 in place of -0, as in some C libraries
        return exact_fma(a, b, c) + 0.0

    monkeypatch.setattr(math, "fma", no_sign)
    assert chosen_fma() is whole_fma
    right = lambda a, b, c: exact_fma(a, b, c)  # noqa: E731
    monkeypatch.setattr(math, "fma", right)
    assert chosen_fma() is right


def test_sines_of_all_sizes_have_the_bits_of_machine_code():
    rng = np.random.default_rng(7)
    large = rng.choice([-1, 1], 300) * 10.0 ** rng.uniform(-300, 308, 300)
    edges = [131072.0, np.nextafter(131072.0, 1e6), -0.0, 0.0, 5e-324, 1.7976931348623157e308]
    x = np.concatenate([rng.uniform(-9, 9, 200), large, edges, np.arange(1, 99) * np.pi / 2])
    nodes = (Node("input", (), (0, 0)), Node("sin", (0,)), Node("cos", (0,)))
    kernel = Kernel(Graph(nodes, (Port("x", (1,)),), (Port("y", (2,)),), ((1, 2),)))
    expected = kernel(x[:, None])
    assert same(np.stack(sincos_value(x), -1), expected)
    assert same(np.array([sine_and_cosine(v) for v in x.tolist()]), expected)
    with np.errstate(over="ignore"):
        narrow = x.astype(np.float32)
    assert same(np.stack(sincos_value(narrow), -1), kernel(narrow[:, None]))
    assert all(math.isnan(v) for bad in (math.inf, math.nan) for v in sine_and_cosine(bad))
