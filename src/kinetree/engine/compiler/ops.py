"""The operations of a graph: one entry has all that passes, backends and exports know of one.

A new operation is a new entry, and a function in `elementary.py` where no processor has it.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree import scalars

Function = Callable[..., Any]
Partials = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Operation:
    """One operation on real numbers.

    arity: of its arguments. numpy: its meaning for floats, in arrays or alone. scalar: for scalars
    of every other kind. partials: derivatives from the arguments and the result; they are
    traced scalars. cost: floating-point operations that it counts for. cycles: of a processor from
    its beginning to its result. infix: formula of the arguments; "" for a function.

    llvm: statements that make `%n{i}` of `{a}`, `{b}` and `{c}`, of type `{T}`, which is `{F}` in
    the names of intrinsics, with masks of `{B}` and integers of `{I}`; "" for functions of
    `elementary.py`. c: expression, or name of a function. casadi, matlab: the same where they are
    not as in C; a text of MATLAB with "=" is a statement whose result is `{r}`.
    """

    arity: int
    numpy: Function
    scalar: Function
    partials: Partials
    cost: int = 0
    cycles: int = 40
    infix: str = ""
    llvm: str = ""
    c: str = ""
    casadi: str = ""
    matlab: str = ""

    def written(self, word: str, *args: str) -> str:
        """Return a text of this operation with its arguments; functions have only their names."""
        return word.format(*args) if "{" in word else f"{word}({', '.join(args)})"


def chosen(test: Any, positive: float, other: float) -> Any:
    """Return `positive` where a traced scalar is above 0, `other` elsewhere: two numbers."""
    one, two = (test.builder.constant(x) for x in (positive, other))
    return type(test)(test.builder, test.builder.apply("select", (test.node, one, two)))


def arithmetic(
    infix: str, function: Function, instruction: str, partials: Partials, cycles: int = 4
) -> Operation:
    """Return an operation that every language writes alike."""
    arity = infix.count("{")
    llvm = f"  %n{{i}} = {instruction} {{T}} {', '.join(('{a}', '{b}')[:arity])}"
    return Operation(arity, function, function, partials, 1, cycles, infix, llvm, infix)


def fused(infix: str, product: int, total: int) -> Operation:
    """Return product a b + total c, rounded once; one of the two signs may be -1."""
    negated = "{a}" if product < 0 else "{c}" if total < 0 else ""
    llvm = "  %n{i} = call {T} @llvm.fma.{F}({T} {a}, {T} {b}, {T} {c})"
    if negated:
        llvm = f"  %m{{i}} = fneg {{T}} {negated}\n" + llvm.replace(negated, "%m{i}")
    c = f"fma({'-' * (product < 0)}{{0}}, {{1}}, {'-' * (total < 0)}{{2}})"

    def function(a: Any, b: Any, c: Any) -> Any:
        return c - a * b if product < 0 else a * b - c if total < 0 else a * b + c

    def partials(a: Any, b: Any, c: Any, x: Any) -> tuple[Any, ...]:
        return (-b, -a, 1) if product < 0 else (b, a, total)

    return Operation(3, function, function, partials, 2, 4, infix, llvm, c)


# {a} where {above} - {below} > 0 and where {a} is NaN, {b} elsewhere. A difference is 0 for equal
# numbers only. A call would cost more: no register of vectors outlives it.
CHOICE = """\
  %d{{i}} = fsub {{T}} {above}, {below}
  %k{{i}} = bitcast {{T}} %d{{i}} to {{I}}
  %g{{i}} = icmp sgt {{I}} %k{{i}}, {{none}}
  %o{{i}} = fcmp ord {{T}} %d{{i}}, %d{{i}}
  %q{{i}} = and {{B}} %g{{i}}, %o{{i}}
  %u{{i}} = fcmp uno {{T}} {{a}}, {{a}}
  %z{{i}} = or {{B}} %q{{i}}, %u{{i}}
  %n{{i}} = select {{B}} %z{{i}}, {{T}} {{a}}, {{T}} {{b}}"""
# these comparisons raise no floating-point flag for a NaN, "less than" would
SIGN = """\
  %z{i} = fcmp oeq {T} {a}, {zero}
  %u{i} = fcmp uno {T} {a}, {a}
  %s{i} = call {T} @llvm.copysign.{F}({T} {one}, {T} {a})
  %t{i} = select {B} %z{i}, {T} {zero}, {T} %s{i}
  %n{i} = select {B} %u{i}, {T} {a}, {T} %t{i}"""
SELECT = """\
  %k{i} = bitcast {T} {a} to {I}
  %g{i} = icmp sgt {I} %k{i}, {none}
  %o{i} = fcmp ord {T} {a}, {a}
  %z{i} = and {B} %g{i}, %o{i}
  %n{i} = select {B} %z{i}, {T} {b}, {T} {c}"""
ABS = """\
  %k{i} = bitcast {T} {a} to {I}
  %s{i} = and {I} %k{i}, {magnitude}
  %n{i} = bitcast {I} %s{i} to {T}"""


def choice(
    sign: str, numpy: Function, scalar: Function, casadi: str, llvm: str, partials: Partials
) -> Operation:
    """Return the smaller or the larger of two numbers: NaN stays, b where they are equal."""
    c = f"(({{0}} {sign} {{1}}) || ({{0}} != {{0}})) ? {{0}} : {{1}}"
    matlab = f"if {{0}} {sign} {{1}} || isnan({{0}}), {{r}} = {{0}}; else, {{r}} = {{1}}; end"
    return Operation(2, numpy, scalar, partials, 0, 8, "", llvm, c, casadi, matlab)


OPERATIONS = {
    "add": arithmetic("{0} + {1}", operator.add, "fadd", lambda a, b, x: (1, 1)),
    "sub": arithmetic("{0} - {1}", operator.sub, "fsub", lambda a, b, x: (1, -1)),
    "mul": arithmetic("{0} * {1}", operator.mul, "fmul", lambda a, b, x: (b, a)),
    "div": arithmetic("{0} / {1}", operator.truediv, "fdiv", lambda a, b, x: (1 / b, -(x / b)), 24),
    "neg": arithmetic("-{0}", operator.neg, "fneg", lambda a, x: (-1,), 2),
    "fma": fused("{0} * {1} + {2}", 1, 1),
    "fms": fused("{0} * {1} - {2}", 1, -1),
    "fnma": fused("{2} - {0} * {1}", -1, 1),
    "sin": Operation(1, np.sin, scalars.sin, lambda a, x: (a.cos(),), c="sin"),
    "cos": Operation(1, np.cos, scalars.cos, lambda a, x: (-a.sin(),), c="cos"),
    "sqrt": Operation(
        1,
        np.sqrt,
        scalars.sqrt,
        lambda a, x: (0.5 / x,),
        cycles=32,
        llvm="  %n{i} = call {T} @llvm.sqrt.{F}({T} {a})",
        c="sqrt",
    ),
    "sign": Operation(  # no negative zero
        1,
        lambda a: np.sign(a) + 0,
        scalars.sign,
        lambda a, x: (0,),
        cycles=2,
        llvm=SIGN,
        c="({0} > 0) ? 1 : (({0} < 0) ? -1 : (({0} == 0) ? 0 : {0}))",
        casadi="sign",
        matlab="sign",
    ),
    "select": Operation(  # b where a > 0, c elsewhere and where a is NaN
        3,
        lambda a, b, c: np.where(a > 0, b, c),
        scalars.where,
        lambda a, b, c, x: (0, chosen(a, 1, 0), chosen(a, 0, 1)),
        cycles=2,
        llvm=SELECT,
        c="({0} > 0) ? {1} : {2}",
        casadi="if_else({0} > 0, {1}, {2})",
        matlab="if {0} > 0, {r} = {1}; else, {r} = {2}; end",
    ),
    "exp": Operation(1, np.exp, scalars.exp, lambda a, x: (x,), c="exp"),
    "log": Operation(1, np.log, scalars.log, lambda a, x: (1 / a,), c="log"),
    "tanh": Operation(1, np.tanh, scalars.tanh, lambda a, x: (scalars.tanh_slope(a),), c="tanh"),
    "atan2": Operation(  # angle of the point (x=b, y=a)
        2,
        np.arctan2,
        scalars.atan2,
        lambda a, b, x: (b / (a * a + b * b), -(a / (a * a + b * b))),
        c="atan2",
    ),
    "abs": Operation(
        1,
        np.abs,
        scalars.absolute,
        lambda a, x: (scalars.sign(a),),  # 0 at 0
        cycles=2,
        llvm=ABS,
        c="fabs",
        matlab="abs",
    ),
    "min": choice(
        "<",
        lambda a, b: np.where((a < b) | (a != a), a, b),
        scalars.minimum,
        "fmin",
        CHOICE.format(above="{b}", below="{a}"),
        lambda a, b, x: (chosen(b - a, 1, 0), chosen(b - a, 0, 1)),
    ),
    "max": choice(
        ">",
        lambda a, b: np.where((a > b) | (a != a), a, b),
        scalars.maximum,
        "fmax",
        CHOICE.format(above="{a}", below="{b}"),
        lambda a, b, x: (chosen(a - b, 1, 0), chosen(a - b, 0, 1)),
    ),
}
LEAVES = ("const", "input")
COMMUTATIVE = frozenset({"add", "mul"})
FUSED = frozenset({"fma", "fms", "fnma"})
