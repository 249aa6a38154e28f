"""Expressions of xacro against Python's own: what both know has the same value in both."""

import math

import pytest

from kinetree.files.description.xacro import expressions
from kinetree.files.description.xacro.expressions import (
    MOST_ENTRIES,
    Evaluator,
    ExpressionError,
    literal,
)

NAMES = {
    "x": 3,
    "y": -0.25,
    "s": "Left_arm",
    "v": [4, 1, 3],
    "d": {"a": 1, "b": [2, 3], "long name": 5},
    "yes": True,
    "n": None,
}
TRUSTED = {**vars(math), **NAMES, "math": math}


def value(expression, **more):
    names = NAMES | more
    return Evaluator().value(expression, names.__getitem__)


EXPRESSIONS = [
    "x + 2 * y", "x - y - 1", "x / 7", "x // 2", "-7 % x", "x ** 3", "2 ** -1", "+x", "-x", "~x",
    "not x", "not n", "7 & 5", "7 | 8", "7 ^ 2", "64 >> 3", "x < 4", "x <= 3", "x > 3", "x >= 3",
    "x == 3", "x != 3", "1 < x < 3", "1 < x <= 3", "3 > x > 1", "n is None", "n is not None",
    "3 in v", "3 not in v", "'arm' in s", "'a' in d",
    "x and y", "0 and y", "0 or y", "x or y", "0 or '' or n", "1 and 2 and 3", "n or 0 and 5",
    "x if yes else y", "x if n else y", "[1, *v, 2]", "(1, *v)", "{1, 2} == {2, 1}",
    "{'k': x, 'l': y}", "d['b'][1]", "v[0]", "v[-1]", "v[1:]", "v[:1]", "v[::2]", "v[::-1]",
    "s[1:4]", "d['long name']", "(1, 2)[1]",
    "[i * i for i in v]", "[i for i in v if i > 1]", "[i for i in v if i > 1 if i < 4]",
    "[i + j for i in v for j in range(i)]", "[a + b for a, b in [(1, 2), (3, 4)]]",
    "[a + b + c for a, (b, c) in [(1, (2, 3))]]", "sum(i for i in v)", "[x for x in v]",
    "f'{x}_{s}'", "f'{y:.3f}'", "f'{s!r}'", "f'{x:>5}|'", "f'{v}'", "'%d_%s' % (x, s)",
    "abs(y)", "all(v)", "any([0, n])", "len(v)", "max(v)", "min(v)", "sum(v)",
    "bool(0)", "float('1.5')", "int('12')", "int('ff', 16)", "int()", "str(x)",
    "dict(a=1)", "list('ab')", "list()", "tuple(v)", "tuple()", "set(v) == {1, 3, 4}",
    "list(range(3))", "list(range(1, 7, 2))",
    "list(enumerate(v))", "list(enumerate(v, 1))", "list(reversed(v))", "sorted(v)",
    "sorted(v, reverse=True)", "list(zip(v, s))", "round(2.567, 2)", "round(2.567)",
    "math.pi", "pi", "sin(pi / 6)", "math.sqrt(2)", "hypot(3, 4)",
    "radians(180)", "atan2(1, -1)", "floor(y)", "copysign(1, y)", "fabs(y)", "e", "degrees(pi)",
    "s.lower()", "s.upper()", "s.split('_')", "s.startswith('Left')", "s.find('arm')",
    "s.removesuffix('_arm')", "' a '.strip()",
    "s.replace('arm', 'leg')", "'aaa'.replace('a', 'b', 2)",
    "'-'.join(['a', 'b'])", "''.join(s)", "v.count(3)", "v.index(3)", "(1, 2, 2).count(2)",
    "d.get('q', 7)", "list(d.keys())", "list(d.values())", "list(d.items())", "(2.0).is_integer()",
    "'a' 'b'", "1e3", "0x10", "True", "[1, 2] + [3]", "'ab' * 3", "3 * [0]", "-2 ** 2", "(1,)",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_has_python_s_value(expression):
    expected = eval(expression, dict(TRUSTED))
    found = value(expression)
    assert found == expected and type(found) is type(expected)


REFUSED = [  # what is not of the language, has no value, or would be too large
    "1 +", "unknown + 1", "d['q']", "d.q", "math.nothing", "math.factorial(5)", "v[7]", "x[0]",
    "cos()", "x(1)", "s.format(1)", "s.__class__", "v.append(1)", "x.real", "[i for i in x]",
    "[i for i in sin]", "list(math)", "[0 for d[0] in v]", "1 << 3", "[[1]] @ 2", "1j", "b'a'",
    "...", "{**d}", "dict(**d)", "lambda: 1", "{i for i in v}", "(yield)", "(q := 1)", "1 / 0",
    "sqrt(-1)", "'a' + 1", "int('x')", "2 ** 5000", "(-2) ** -5000", "'a' * 200000",
    "200000 * [0]", "range(200000)", "'%9999d' % 1", "'%*d' % (9, 1)", "f'{x:9999}'",
    "round(1.5, 500)", "('a' * 1000).join(['b'] * 1000)",
    "('a' * 1000).replace('a', 'b' * 1000)", "'é' * 60000 + 'é' * 60000",
]  # fmt: skip


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_not_of_the_language_is_refused(expression):
    with pytest.raises(ExpressionError):
        value(expression)


def test_a_near_key_is_named():
    with pytest.raises(ExpressionError):
        value("dict(colour=1).color")


def test_what_is_just_within_the_limits_is_allowed():
    assert len(value(f"'a' * {MOST_ENTRIES}")) == MOST_ENTRIES
    assert len(value(f"range({MOST_ENTRIES})")) == MOST_ENTRIES
    assert value("2 ** 2048") == 2**2048  # 2 has two bits: 4096 in all
    assert value("round(1.5, 400)") == 1.5 and value("'%999d' % 1") == "1".rjust(999)
    assert len(value("','.join(['a'] * 50000)")) == 99999
    with pytest.raises(ExpressionError):
        value(f"'a' * {MOST_ENTRIES + 1}")
    with pytest.raises(ExpressionError):
        value("2 ** 2049")
    with pytest.raises(ExpressionError):
        value("round(1.5, -401)")


def test_the_steps_of_all_expressions_of_a_file_are_counted(monkeypatch):
    monkeypatch.setattr(expressions, "MOST_STEPS", 10)
    evaluator = Evaluator()
    with pytest.raises(ExpressionError, match="more than 10 steps"):
        for _ in range(4):
            assert evaluator.value("1 + 2", NAMES.__getitem__) == 3
    monkeypatch.setattr(expressions, "MOST_STEPS", 1000)
    with pytest.raises(ExpressionError, match="more than 1000 steps"):  # a list of 4 is a step
        Evaluator().value("list(range(4000))", NAMES.__getitem__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 5), ("-5", -5), ("5.5", 5.5), ("1e-3", 1e-3), ("1_000", "1_000"), ("true", True),
        ("True", True), ("false", False), ("False", False), ("'5'", "5"), ("''", ""), ("'", "'"),
        ("'a", "'a"), ("abc", "abc"), ("", ""), ("TRUE", "TRUE"), (5, 5), (None, None),
        ("9" * 400, int("9" * 400)), ("9" * 401, "9" * 401), ("inf", math.inf), ("0x10", "0x10"),
    ],
)  # fmt: skip
def test_a_text_stands_for_a_number_or_itself(text, expected):
    found = literal(text)
    assert found == expected and type(found) is type(expected)
