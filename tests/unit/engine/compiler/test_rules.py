"""Each rule is an identity of numbers, and the index finds what the table says."""

import operator
from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kinetree import scalars
from kinetree.engine import OPERATIONS
from kinetree.engine.compiler.rules import RULES, term

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
    return OPERATIONS[formula.op][1] + sum(map(cost, formula.args))


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
