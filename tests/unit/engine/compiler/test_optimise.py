"""The whole way: what comes out means what went in, and costs no more."""

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from random_programs import ARITHMETIC, FUNCTIONS, INPUTS, programs, run

from kinetree.engine import Port, interpret, optimise, trace

numbers = st.fractions(min_value=-4, max_value=4, max_denominator=16)
states = st.tuples(numbers, numbers, numbers, numbers)


def graph_of(steps, last=3):
    return trace(lambda u, w: np.array(run(steps, u, w)[-last:]), INPUTS)


def as_arrays(state, kind):
    values = [kind(x) for x in state]
    return np.array(values[:3], dtype=object), np.array(values[3], dtype=object)


def to_mpf(x):
    return mpmath.mpf(x.numerator) / x.denominator


# Programs are short here: long chains of constants would need more than 53 bits to fold exactly.
@given(steps=programs(longest=7), state=states)
def test_exact_arithmetic_is_not_changed(steps, state):
    expected = run(steps, state[:3], state[3])[-3:]
    graph = graph_of(steps)
    for stage in (graph, optimise(graph)):
        (found,) = interpret(stage, *as_arrays(state, Fraction))
        assert list(found) == expected


@given(steps=programs((*ARITHMETIC, *FUNCTIONS)), state=states)
def test_fifty_digits_are_not_changed(steps, state):
    with mpmath.workdps(50):
        u, w = as_arrays(state, to_mpf)
        values = run(steps, u, w.item())
        scale = max(1, *(abs(v) for v in values))
        (found,) = interpret(optimise(graph_of(steps)), u, w)
        # Folded constants are floats, so they carry 53 bits.
        assert max(abs(found - np.array(values[-3:]))) <= 1e-13 * scale


@given(steps=programs((*ARITHMETIC, *FUNCTIONS)))
def test_equal_graphs_give_equal_results(steps):
    assert optimise(graph_of(steps)) == optimise(graph_of(steps))


NEGATED = ("sqrt", "select", "exp", "log", "atan2", "min", "max")


@given(steps=programs((*ARITHMETIC, *FUNCTIONS)))
def test_nothing_trivial_survives(steps):
    graph = optimise(graph_of(steps))
    uses = graph.uses()
    for node in graph.nodes:
        values = [graph.nodes[arg].value for arg in node.args]
        if node.op in ("mul", "fma", "fms", "fnma"):
            assert not {0.0, 1.0, -1.0}.intersection(v for v in values[:2] if type(v) is float)
        if node.op in ("add", "sub"):
            assert 0.0 not in values
        if node.op not in NEGATED:  # elsewhere a lone negation is taken in
            assert all(graph.nodes[arg].op != "neg" or uses[arg] > 1 for arg in node.args)


def test_ports_are_kept_even_where_unused():
    inputs = (Port("q", (2,), ("n",)), Port("dq", (2,), ("n",)))
    graph = optimise(trace(lambda q, dq: q * 2, inputs, [("y", ("n",))]))
    assert graph.inputs == inputs
    assert graph == replace(graph, outputs=(Port("y", (2,), ("n",)),))


def test_long_chains_do_not_run_out_of_stack():
    n = 3000
    V = Port("v", (n,), ("n",))

    def chains(v):
        product, total = v[0], v[0]
        for x in v[1:]:
            product, total = product * x, total * 0.5 + x
        return np.array([-product, -total, -sum(v)])

    graph = optimise(trace(chains, [V]))
    assert graph.operations <= (1 + 2 + 1) * (n - 1) + 3
