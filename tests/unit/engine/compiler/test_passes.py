"""Prune, share, factor, resolve signs, fuse: small graphs with known answers."""

from fractions import Fraction

import numpy as np
import pytest

from kinetree import scalars
from kinetree.engine import Graph, Node, Port, interpret, optimise, trace
from kinetree.engine.compiler.factor import factor
from kinetree.engine.compiler.graph import prune, share, text
from kinetree.engine.compiler.optimise import (
    MIN_SHARED_DIVISIONS,
    fuse,
    reciprocals,
    resolve_signs,
)

V = Port("v", (5,), ("n",))


def traced(function):
    """The graph of a function of five numbers."""
    return trace(lambda v: function(*v), [V])


def body(graph):
    return text(graph).splitlines()[1:]


def test_prune_drops_what_no_output_needs():
    nodes = (
        Node("input", value=(0, 0)),
        Node("input", value=(0, 1)),
        Node("neg", (1,)),
        Node("sin", (0,)),
    )
    graph = prune(Graph(nodes, (V,), (Port("y", ()),), ((3,),)))
    assert graph.nodes == (Node("input", value=(0, 0)), Node("sin", (0,)))
    assert graph.results == ((1,),)


def test_share_merges_what_became_equal():
    nodes = (
        Node("input", value=(0, 0)),
        Node("neg", (0,)),
        Node("neg", (0,)),
        Node("sin", (1,)),
        Node("sin", (2,)),
    )
    graph = share(Graph(nodes, (V,), (Port("y", (2,)),), ((3, 4),)))
    assert [node.op for node in graph.nodes] == ["input", "neg", "sin"]
    assert graph.results == ((2, 2),)


@pytest.mark.parametrize(
    ("function", "operations"),
    [
        (lambda a, b, c, d, e: a * b + a * c, 2),
        (lambda a, b, c, d, e: a * b - c * a, 2),
        (lambda a, b, c, d, e: a * b + c * d + a * e, 4),
        (lambda a, b, c, d, e: a * b * c + d * (a * e), 4),
        (lambda a, b, c, d, e: a * c + a * d + b * c + b * d, 3),
        (lambda a, b, c, d, e: 2.5 * a + 2.5 * b - 2.5 * c, 3),
        (lambda a, b, c, d, e: a * a + a * b, 2),
        (lambda a, b, c, d, e: a * b + c * d, 3),
        (lambda a, b, c, d, e: -(a * b) - a * c, 3),
    ],
)
def test_common_factors_are_taken_out(function, operations):
    assert factor(traced(function)).operations == operations


@pytest.mark.parametrize(
    ("function", "lines"),
    [
        (lambda a, b, c, d, e: -(a - b), ["%0 = v[1] - v[0]"]),
        (lambda a, b, c, d, e: -(2 * a), ["%0 = v[0] * -2.0"]),
        (lambda a, b, c, d, e: -(a * (b - c)), ["%0 = v[2] - v[1]", "%1 = v[0] * %0"]),
        (lambda a, b, c, d, e: -(a + (b - c)), ["%0 = v[2] - v[1]", "%1 = %0 - v[0]"]),
        (lambda a, b, c, d, e: -(3 / a), ["%0 = -3.0 / v[0]"]),
        (lambda a, b, c, d, e: -scalars.sin(a - b), ["%0 = v[1] - v[0]", "%1 = sin(%0)"]),
        (lambda a, b, c, d, e: scalars.sqrt(-(a - b)), ["%0 = v[1] - v[0]", "%1 = sqrt(%0)"]),
        (lambda a, b, c, d, e: -(a * b), ["%0 = v[0] * v[1]", "%1 = -%0"]),
        (lambda a, b, c, d, e: a * 0 - 7, []),
    ],
)
def test_signs_sink_where_they_are_free(function, lines):
    assert body(resolve_signs(traced(function)))[:-1] == lines


def test_a_sign_does_not_sink_into_a_value_used_elsewhere():
    graph = traced(lambda a, b, c, d, e: np.array([-(a - b), a - b, c * (b - a)]))
    assert resolve_signs(graph).count()["neg"] == 1
    assert resolve_signs(traced(lambda a, b, c, d, e: np.array(-7.0))).nodes == (
        Node("const", value=-7.0),
    )


@pytest.mark.parametrize(
    ("function", "lines"),
    [
        (lambda a, b, c, d, e: a * b + c, ["%0 = v[0] * v[1] + v[2]"]),
        (lambda a, b, c, d, e: c + a * b, ["%0 = v[0] * v[1] + v[2]"]),
        (lambda a, b, c, d, e: a * b - c, ["%0 = v[0] * v[1] - v[2]"]),
        (lambda a, b, c, d, e: c - a * b, ["%0 = v[2] - v[0] * v[1]"]),
        (lambda a, b, c, d, e: a * b + c * d, ["%0 = v[0] * v[1]", "%1 = v[2] * v[3] + %0"]),
        (lambda a, b, c, d, e: a * b - c * d, ["%0 = v[0] * v[1]", "%1 = %0 - v[2] * v[3]"]),
    ],
)
def test_single_products_are_fused(function, lines):
    assert body(fuse(traced(function)))[:-1] == lines


def test_a_product_with_two_uses_is_not_fused():
    graph = traced(lambda a, b, c, d, e: np.array([a * b + c, a * b + d]))
    assert fuse(graph) == graph


def test_a_fused_sum_that_existed_already_is_shared():
    nodes = (
        *(Node("input", value=(0, k)) for k in range(3)),
        Node("mul", (0, 1)),
        Node("add", (3, 2)),
        Node("fma", (0, 1, 2)),
    )
    graph = fuse(Graph(nodes, (V,), (Port("y", (2,)),), ((4, 5),)))
    assert graph.count() == {"input": 3, "fma": 1}


def quotients(count: int) -> Graph:
    """Elements of a vector over its last one, and that one over the first."""
    return trace(lambda x: np.array([*x[:count] / x[-1], x[-1] / x[0]]), [Port("x", (count + 1,))])


def test_many_divisions_by_one_number_are_one_division() -> None:
    counts = reciprocals(quotients(MIN_SHARED_DIVISIONS)).count()
    assert counts["div"] == 2
    assert counts["mul"] == MIN_SHARED_DIVISIONS


def test_few_divisions_stay() -> None:
    graph = quotients(MIN_SHARED_DIVISIONS - 1)
    assert reciprocals(graph) is graph


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


def test_a_reciprocal_that_is_there_is_taken() -> None:
    def function(x):
        return np.array([1 / x[0], *x[1:] / x[0]])

    counts = reciprocals(trace(function, [Port("x", (MIN_SHARED_DIVISIONS + 2,))])).count()
    assert counts["div"] == 1 and counts["mul"] == MIN_SHARED_DIVISIONS + 1 and counts["const"] == 1
