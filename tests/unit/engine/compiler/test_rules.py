"""Each rule is an identity of numbers, and the index finds what the table says."""

import operator
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kinetree import scalars
from kinetree.engine import OPERATIONS
from kinetree.engine.compiler.builder import Builder
from kinetree.engine.compiler.rules import RULES, orders, term
from kinetree.errors import GraphError

MEANING = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sign": scalars.sign,
    "select": scalars.where,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "tanh": mpmath.tanh,
    "abs": abs,
    "min": min,
    "max": max,
}
SMOOTH = {"sin", "cos", "exp", "log", "tanh"}
IDS = [f"rule {k}: {pattern.op}" for k, (pattern, _) in enumerate(RULES)]
fractions = st.fractions(min_value=-9, max_value=9, max_denominator=64)


def value(formula, letters):
    if formula.op in ("any", "constant"):
        return letters[formula.value]
    if formula.op == "number":
        return Fraction(formula.value)
    return MEANING[formula.op](*(value(arg, letters) for arg in formula.args))


def ops(formula):
    return {formula.op}.union(*map(ops, formula.args))


def cost(formula):
    """Operations of a formula; what has no letter but constants is folded and costs nothing."""
    if not formula.args or not has_any(formula):
        return 0
    return OPERATIONS[formula.op].cost + sum(map(cost, formula.args))


def has_any(formula):
    return formula.op == "any" or any(map(has_any, formula.args))


@pytest.mark.parametrize(("pattern", "replacement"), RULES, ids=IDS)
@settings(max_examples=6)  # identities of rational functions: one wrong sign shows in any example
@given(data=st.data())
def test_both_sides_have_one_value(pattern, replacement, data):
    letters = {name: data.draw(fractions) for name in "xy"}
    letters |= {name: abs(data.draw(fractions)) for name in "abc"}
    smooth = ops(pattern) & SMOOTH
    with mpmath.workdps(50):
        if smooth:
            letters = {k: mpmath.mpf(v.numerator) / v.denominator for k, v in letters.items()}
        try:
            left, right = value(pattern, letters), value(term(replacement), letters)
        except ZeroDivisionError:
            assume(False)
        assert abs(left - right) < 1e-45 if smooth else left == right


@pytest.mark.parametrize(("pattern", "replacement"), RULES, ids=IDS)
def test_no_rule_costs_operations(pattern, replacement):
    assert cost(term(replacement)) <= cost(pattern)


def built(builder, formula, letters):
    if formula.op in ("any", "constant"):
        return letters[formula.value]
    if formula.op == "number":
        return builder.constant(formula.value)
    return builder.apply(formula.op, tuple(built(builder, arg, letters) for arg in formula.args))


@pytest.mark.parametrize(("pattern", "replacement"), RULES, ids=IDS)
def test_the_index_finds_every_rule_in_every_order_of_arguments(pattern, replacement):
    for variant in orders(pattern):
        builder = Builder()
        letters = {name: builder.input(0, k) for k, name in enumerate("xy")}
        letters |= {name: builder.constant(0.25 * 3**k) for k, name in enumerate("abc")}
        node = built(builder, variant, letters)
        assert node == built(builder, term(replacement), letters)


def test_a_choice_and_a_fold_by_constants_need_no_rule():
    builder = Builder()
    x, y = builder.input(0, 0), builder.input(0, 1)
    three, minus_two = builder.constant(3), builder.constant(-2)
    assert builder.apply("select", (three, x, y)) == x
    assert builder.apply("select", (minus_two, x, y)) == y
    assert builder.apply("mul", (three, minus_two)) == builder.constant(-6)
    with pytest.raises(GraphError, match="divides by the constant 0"):
        builder.apply("div", (x, builder.constant(0)))
