"""Matching: the table of rules made ready to run, indexed by what a node and its arguments are.

Most operations of a traced algorithm fit no rule, and the index says so after one lookup.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from kinetree.compiler.fold import fold
from kinetree.compiler.pattern import Term, orders, term
from kinetree.compiler.rules import RULES

if TYPE_CHECKING:
    from kinetree.compiler.builder import Builder

Bindings = dict[str, int]
Matcher = Callable[["Builder", int, Bindings], bool]
Maker = Callable[["Builder", Bindings], int | None]
Evaluator = Callable[["Builder", Bindings], float | None]


class Rule:
    """One line of the table, made ready to run: `rule(builder, args)` is a node, or None."""

    __slots__ = ("heads", "make", "matchers", "op")

    def __init__(self, pattern: Term, replacement: Term) -> None:
        self.op = pattern.op
        self.heads = tuple(head(arg) for arg in pattern.args)
        self.matchers = tuple(matcher(arg) for arg in pattern.args)
        self.make = maker(replacement)

    def __call__(self, builder: "Builder", args: Sequence[int]) -> int | None:
        """The node that replaces `op(*args)`, or None where the pattern does not fit."""
        bindings: Bindings = {}
        for fits, node in zip(self.matchers, args, strict=True):
            if not fits(builder, node, bindings):
                return None
        return self.make(builder, bindings)

    def admits(self, op: str, kinds: tuple[str, ...]) -> bool:
        """Whether the operation and the kinds of its arguments leave a chance to match."""
        if op != self.op:
            return False
        return all(
            heads is None or kind in heads for heads, kind in zip(self.heads, kinds, strict=True)
        )


def head(pattern: Term) -> frozenset[str] | None:
    """Kinds of node that a pattern can match (None: every kind); see `Builder.kinds`."""
    match pattern.op:
        case "any":
            return None
        case "constant":
            return frozenset({"0", "1", "const"})
        case "number":
            return frozenset({str(pattern.value) if pattern.value in (0, 1) else "const"})
        case op:
            return frozenset({op})


def matcher(pattern: Term) -> Matcher:
    """A function that tells whether a node has the form of a pattern, and binds its letters."""
    name, value, op = pattern.value, pattern.value, pattern.op

    def fits_any(builder: "Builder", node: int, bindings: Bindings) -> bool:
        return bindings.setdefault(name, node) == node

    def fits_constant(builder: "Builder", node: int, bindings: Bindings) -> bool:
        return builder.ops[node] == "const" and bindings.setdefault(name, node) == node

    def fits_number(builder: "Builder", node: int, bindings: Bindings) -> bool:
        return builder.ops[node] == "const" and builder.numbers[node] == value

    if op in ("any", "constant", "number"):
        return {"any": fits_any, "constant": fits_constant, "number": fits_number}[op]
    parts = tuple(matcher(arg) for arg in pattern.args)

    def fits_operation(builder: "Builder", node: int, bindings: Bindings) -> bool:
        if builder.ops[node] != op:
            return False
        for fits, arg in zip(parts, builder.args[node], strict=True):
            if not fits(builder, arg, bindings):
                return False
        return True

    return fits_operation


def maker(replacement: Term) -> Maker:
    """A function that builds the right-hand side of a rule from the letters of the left.

    It gives None where the constants of the rule leave the range of floats (1 / c, c tiny).
    """
    name, op = replacement.value, replacement.op
    if is_constant(replacement):
        number = evaluator(replacement)

        def make_constant(builder: "Builder", bindings: Bindings) -> int | None:
            value = number(builder, bindings)
            return None if value is None else builder.constant(value)

        return make_constant
    if op == "any":
        return lambda builder, bindings: bindings[name]
    parts = tuple(maker(arg) for arg in replacement.args)

    def make_operation(builder: "Builder", bindings: Bindings) -> int | None:
        nodes: list[int] = []
        for make in parts:
            node = make(builder, bindings)
            if node is None:
                return None
            nodes.append(node)
        return builder.apply(op, tuple(nodes))

    return make_operation


def is_constant(formula: Term) -> bool:
    """Whether a formula has no letter but constants."""
    return formula.op != "any" and all(map(is_constant, formula.args))


def evaluator(formula: Term) -> Evaluator:
    """A function that computes a formula of constants, None where it leaves the range of floats."""
    if formula.op == "number":
        return lambda builder, bindings: formula.value
    if formula.op == "constant":
        return lambda builder, bindings: builder.numbers[bindings[formula.value]]
    parts = tuple(evaluator(arg) for arg in formula.args)
    return lambda builder, bindings: fold(formula.op, [part(builder, bindings) for part in parts])


@cache
def compiled() -> tuple[Rule, ...]:
    """Every rule, with its sums and products in every order of their arguments."""
    return tuple(
        Rule(variant, term(replacement))
        for pattern, replacement in RULES
        for variant in orders(pattern)
    )


@cache
def candidates(op: str, kinds: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules worth trying on `op` of arguments of these kinds, in the order of the table."""
    return tuple(rule for rule in compiled() if rule.admits(op, kinds))
