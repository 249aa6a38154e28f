"""Prune, share, factor, resolve signs, fuse: small graphs with known answers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from kinetree import scalars
from kinetree.engine import Graph, Port, interpret, optimise, trace
from kinetree.engine.compiler.graph import text
from kinetree.engine.compiler.optimise import MIN_SHARED_DIVISIONS

V = Port("v", (5,), ("n",))


def traced(function):
    """The graph of a function of five numbers."""
    return trace(lambda v: function(*v), [V])


def test_text_tells_graphs_apart():
    graph = traced(lambda a, b, c, d, e: a * b + scalars.cos(c) / 0.1)
    assert text(graph) == (
        "input v(n=5)\n"
        "%0 = v[0] * v[1]\n"
        "%1 = cos(v[2])\n"
        "%2 = %1 * 10.0\n"
        "%3 = %0 + %2\n"
        "output out0() = %3\n"
    )
    named = replace(graph, outputs=(Port("y", (), ()),))
    assert text(named) != text(graph)


def quotients(count: int) -> Graph:
    """Elements of a vector over its last one, and that one over the first."""
    return trace(lambda x: np.array([*x[:count] / x[-1], x[-1] / x[0]]), [Port("x", (count + 1,))])


@pytest.mark.parametrize("count", [MIN_SHARED_DIVISIONS, 3 * MIN_SHARED_DIVISIONS])
def test_a_quotient_is_off_by_at_most_one_and_a_half_units(count: int) -> None:
    x = np.random.default_rng(count).normal(size=(200, count + 1))
    (found,) = interpret(optimise(quotients(count)), x)
    for row, given in zip(found, x, strict=True):
        for k in range(count):
            exact = Fraction(given[k]) / Fraction(given[-1])
            assert abs(Fraction(row[k]) - exact) <= Fraction(3, 2) * Fraction(
                abs(np.spacing(row[k]))
            )
