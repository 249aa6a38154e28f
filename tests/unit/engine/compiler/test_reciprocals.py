from fractions import Fraction

import numpy as np
import pytest

from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import MANY, optimise, reciprocals
from kinetree.engine.compiler.trace import trace


def quotients(count: int) -> Graph:
    """Elements of a vector over its last one, and that one over the first."""
    return trace(lambda x: np.array([*x[:count] / x[-1], x[-1] / x[0]]), [Port("x", (count + 1,))])


def test_many_divisions_by_one_number_are_one_division() -> None:
    counts = reciprocals(quotients(MANY)).count()
    assert counts["div"] == 2
    assert counts["mul"] == MANY


def test_few_divisions_stay() -> None:
    graph = quotients(MANY - 1)
    assert reciprocals(graph) is graph


@pytest.mark.parametrize("count", [MANY, 3 * MANY])
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

    counts = reciprocals(trace(function, [Port("x", (MANY + 2,))])).count()
    assert counts["div"] == 1 and counts["mul"] == MANY + 1 and counts["const"] == 1


def test_products_with_a_reciprocal_that_are_there_already_stay_single() -> None:
    """x / d and x (1 / d) become the same product, in whichever order they come."""
    ports = [Port("x", (MANY,)), Port("d", ())]
    before = trace(lambda x, d: np.array([*(x * (1 / d)), *(x / d)]), ports)
    after = trace(lambda x, d: np.array([*(x / d), *(x * (1 / d))]), ports)
    for graph in (before, after):
        counts = optimise(graph).count()
        assert counts["div"] == 1 and counts["mul"] == MANY
