"""Simplification as a table: each line is an identity of real numbers, used from left to right.

A rule may change rounding, never the value in exact arithmetic, and never raises the number of
operations. A negative constant is the negation of a positive one, so that the rules of signs apply
to numbers too. Negations move outward, through products and functions, until a sum takes them in as
a subtraction. Constants move together and are folded. Sums and products match in either order of
their arguments.

The table is written in terms, small formulas that are kept as trees: a rule can be read, matched
against nodes, and tested on numbers. Matching is indexed by the operation and the kinds of its
arguments (`FORMS`), since most operations of a traced algorithm fit no rule; rules that may fit
become a function of Python, since matching trees takes several times as long.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, NamedTuple, Protocol

from kinetree.engine.compiler.elementary import FUNCTIONS
from kinetree.engine.compiler.ops import COMMUTATIVE, FUSED, OPERATIONS
from kinetree.errors import GraphError


@dataclass(frozen=True, slots=True)
class Term:
    """A formula. `op` is an operation of the graph, or one of three kinds of leaf.

    The leaves are "number" (`value` is the number), "any" (a letter for any node) and "constant"
    (a letter for a constant node, which is never negative); `value` of a letter is its name.
    """

    op: str
    args: tuple["Term", ...] = ()
    value: str | int = ""

    def __add__(self, other: "Term | int") -> "Term":
        return Term("add", (self, term(other)))

    def __sub__(self, other: "Term | int") -> "Term":
        return Term("sub", (self, term(other)))

    def __mul__(self, other: "Term | int") -> "Term":
        return Term("mul", (self, term(other)))

    def __truediv__(self, other: "Term | int") -> "Term":
        return Term("div", (self, term(other)))

    def __rsub__(self, other: int) -> "Term":
        return term(other) - self

    def __rtruediv__(self, other: int) -> "Term":
        return term(other) / self

    def __neg__(self) -> "Term":
        return Term("neg", (self,))

    def __radd__(self, other: int) -> "Term":
        return term(other) + self

    def __rmul__(self, other: int) -> "Term":
        return term(other) * self


def term(x: Term | int) -> Term:
    """Return a number as a term, a term as it is."""
    return x if isinstance(x, Term) else Term("number", value=x)


def function(op: str) -> Callable[..., Term]:
    """Return the function that writes an operation of the graph in a rule."""
    return lambda *args: Term(op, args)


sin, cos, sign, where = map(function, ("sin", "cos", "sign", "select"))
exp, log, tanh, absolute = map(function, ("exp", "log", "tanh", "abs"))
minimum, maximum = map(function, ("min", "max"))
x, y = Term("any", value="x"), Term("any", value="y")
a, b, c = (Term("constant", value=name) for name in "abc")

# fmt: off
RULES: list[tuple[Term, Term | int]] = [
    # zero and one
    (x + 0, x), (x - 0, x), (0 - x, -x), (x - x, 0),
    (x * 0, 0), (x * 1, x), (0 / x, 0), (x / 1, x), (-term(0), 0),
    # signs move outward ...
    (-(-x), x),  # noqa: B002 (a double negation is meant)
    ((-x) * y, -(x * y)), ((-x) / y, -(x / y)), (x / (-y), -(x / y)),
    (sin(-x), -sin(x)), (cos(-x), cos(x)), (sign(-x), -sign(x)),
    (tanh(-x), -tanh(x)), (absolute(-x), absolute(x)),
    (minimum(-x, -y), -maximum(x, y)), (maximum(-x, -y), -minimum(x, y)),
    # ... until a sum takes them in
    (x + (-y), x - y), (x - (-y), x + y), ((-x) - y, -(x + y)),
    # a term that is added and subtracted again
    ((x + y) - y, x), ((x - y) + y, x), (x - (x - y), y), (x - (x + y), -y), ((x - y) - x, -y),
    # multiples of one term
    (x + x, 2 * x), (x + c * x, (1 + c) * x), (a * x + b * x, (a + b) * x),
    (x - c * x, (1 - c) * x), (c * x - x, (c - 1) * x), (a * x - b * x, (a - b) * x),
    # constants move together
    (a * (b * x), (a * b) * x), (x / c, (1 / c) * x),
    (a + (b + x), (a + b) + x), (a + (x - b), x + (a - b)), (a + (b - x), (a + b) - x),
    (a - (b + x), (a - b) - x), (a - (x - b), (a + b) - x), (a - (b - x), x + (a - b)),
    ((a + x) - b, x + (a - b)), ((x - a) - b, x - (a + b)), ((a - x) - b, (a - b) - x),
    # a choice between equals
    (where(y, x, x), x),
    (minimum(x, x), x), (maximum(x, x), x),
    # magnitudes
    (absolute(absolute(x)), absolute(x)), (absolute(exp(x)), exp(x)),
    (absolute(c * x), c * absolute(x)),
    (absolute(x) * absolute(x), x * x), (sign(x) * absolute(x), x),
    # a function and its inverse, which is defined everywhere
    (log(exp(x)), x),
    # Pythagoras
    (sin(x) * sin(x) + cos(x) * cos(x), 1),
]
# fmt: on

NOT_FOLDED = FUSED | {"neg"}  # a negation is how a negative constant is written
POSITIVE = {"sqrt": "square root", "log": "logarithm"}  # of numbers that are not negative


def fold(op: str, numbers: Sequence[float | None]) -> float | None:
    """Compute `op` of numbers that are known while tracing; None where it must be computed later.

    A result beyond the range of floats is not folded, nor one of exp, log, tanh and atan2, whose
    digits differ from library to library, unless it is exact.
    """
    if op == "div" and numbers[1] == 0:
        raise GraphError(
            "the traced function divides by the constant 0. A traced function is folded with all "
            "the constants of its model; look for a zero mass, length or norm among them."
        )
    if None in numbers or op in NOT_FOLDED:
        return None
    known = numbers[0]
    if op in POSITIVE and known is not None and known < 0:
        raise GraphError(
            f"the traced function takes the {POSITIVE[op]} of the constant {known!r}, which is "
            "negative. Look for the constants of the model that lead to it."
        )
    value = float(OPERATIONS[op].scalar(*numbers))
    known = op not in FUNCTIONS or value in (-1.0, 0.0, 1.0)
    return value if known and math.isfinite(value) else None


class Nodes(Protocol):
    """The part of `Builder` that rules read and use: nodes of numbers and of operations."""

    ops: list[str]
    args: list[tuple[int, ...]]
    numbers: list[float | None]

    def constant(self, value: float) -> int: ...  # noqa: D102
    def apply(self, op: str, args: tuple[int, ...]) -> int: ...  # noqa: D102


Simplifier = Callable[[Nodes, Sequence[int]], int | None]

# The kind of a node decides which rules are worth trying on what uses it. It is "0", "1" or "const"
# for these constants, "-const" for the negation of one, and else the operation, with " const"
# behind it where an argument of a sum, difference or product is a constant.
CONSTANTS = ("0", "1", "const")
WITH_CONSTANTS = ("add", "sub", "mul")


class Rule(NamedTuple):
    """One line of the table, with its sums and products in one order of their arguments.

    heads: the kinds that each argument of the pattern can match; None: every kind. twice: both
    arguments are one letter, so that they are of one kind. certain: it fits where the kinds do.
    """

    pattern: Term
    replacement: Term
    heads: tuple[frozenset[str] | None, ...]
    twice: bool
    certain: bool

    @classmethod
    def of(cls, pattern: Term, replacement: Term) -> "Rule":
        """Return the rule of a pattern and its replacement."""
        args = pattern.args
        leaves = [leaf for arg in args for leaf in arg.args or (arg,)]
        letters = [leaf.value for leaf in leaves if leaf.op == "any"]
        exact = [arg for arg in args if arg.op == "number" and arg.value in (0, 1)]
        certain = len(set(letters)) == len(letters) == len(leaves) - len(exact)
        certain = certain and (replacement.op == "number" or not has_constants(replacement))
        twice = len(args) == 2 and args[0] == args[1] and args[0].op == "any"
        return cls(pattern, replacement, tuple(map(head, args)), twice, certain)

    def fits(self, kinds: Sequence[str]) -> bool:
        """Return False where the kinds of the arguments exclude a match."""
        if self.twice and kinds[0] != kinds[1]:
            return False
        pairs = zip(self.heads, kinds, strict=True)
        return all([heads is None or kind in heads for heads, kind in pairs])


@cache
def rules_of(op: str) -> tuple[Rule, ...]:
    """Return the rules for an operation, with sums and products in every order of arguments."""
    return tuple(
        Rule.of(variant, term(replacement))
        for pattern, replacement in RULES
        if pattern.op == op
        for variant in orders(pattern)
    )


def orders(formula: Term) -> Iterator[Term]:
    """Iterate over the formula with its sums and products in every order, each variant once."""
    seen: set[Term] = set()
    for args in product(*(tuple(orders(arg)) for arg in formula.args)):
        swaps = (args, args[::-1]) if formula.op in COMMUTATIVE else (args,)
        for swapped in swaps:
            variant = Term(formula.op, swapped, formula.value)
            if variant not in seen:
                seen.add(variant)
                yield variant


def head(pattern: Term) -> frozenset[str] | None:
    """Return the kinds of node that a pattern can match; None: every kind."""
    match pattern.op:
        case "any":
            return None
        case "constant":
            return frozenset(CONSTANTS)
        case "number":
            return frozenset({str(pattern.value) if pattern.value in (0, 1) else "const"})
        case op:
            certain = any(arg.op in ("constant", "number") for arg in pattern.args)
            special = "-const" if op == "neg" else f"{op} const"
            return frozenset({special} if certain else {op, special})


class Forms(dict[tuple[str, ...], tuple[Simplifier | None, str]]):
    """By an operation and the kinds of its arguments: a function of its rules, and its own kind.

    The function returns the node of the first replacement, None if no rule fits; None is in its
    place where no rule can. Tracing spends most of its time on rules that do not fit in the end: in
    a function that is written for them, a test is the comparison of two numbers.
    """

    def __missing__(self, form: tuple[str, ...]) -> tuple[Simplifier | None, str]:
        op, *kinds = form
        known = [kind in CONSTANTS or kind == "-const" for kind in kinds]
        # a division by a known zero is an error
        folds = all(known) or (op == "div" and kinds[1] == "0")
        fitting: list[int] = []
        for k, rule in enumerate(rules_of(op)):
            if rule.fits(kinds):
                fitting.append(k)
                if rule.certain:
                    break
        made = simplifier(op, len(kinds), folds, op == "select" and known[0], tuple(fitting))
        constant = not set(CONSTANTS).isdisjoint(kinds)
        kind = op
        if constant and op == "neg":
            kind = "-const"
        elif constant and op in WITH_CONSTANTS:
            kind = f"{op} const"
        self[form] = made, kind
        return self[form]


FORMS = Forms()


@cache
def simplifier(
    op: str, arity: int, folds: bool, chooses: bool, fitting: tuple[int, ...]
) -> Simplifier | None:
    """Return some rules of an operation as one function of Python; None if there is nothing to do.

    folds: all arguments are numbers. chooses: the first argument of a choice is one.
    """
    if not (folds or chooses or fitting):
        return None
    scope: dict[str, Any] = {"fold": fold}
    rules = [rules_of(op)[k] for k in fitting]
    # the text is made from the table above alone
    exec("\n".join(RulesWriter(op, arity, folds, chooses, rules).lines), scope)
    return scope["simplify"]


class RulesWriter:
    """Writes the function `simplify(nodes, args)` of some rules, each a return inside of tests."""

    def __init__(
        self, op: str, arity: int, folds: bool, chooses: bool, rules: Sequence[Rule]
    ) -> None:
        self._names = 0
        self._depth = 1
        self._unpacked: dict[str, list[str]] = {}  # arguments of nodes that all rules can name
        places = [f"a{k}" for k in range(arity)]
        self.lines = [
            "def simplify(nodes, given):",
            f"    {', '.join(places)}, = given",
            "    ops, args, numbers = nodes.ops, nodes.args, nodes.numbers",
        ]
        if folds:
            numbers = ", ".join(f"numbers[{x}]" for x in places)
            value = self._let(f"fold({op!r}, [{numbers}])")
            self._line(f"if {value} is not None: return nodes.constant({value})")
        if chooses:
            self._line("return a1 if numbers[a0] > 0 else a2")
        for rule in rules:
            self._depth = 1
            letters: dict[str | int, str] = {}
            for place, arg in zip(places, rule.pattern.args, strict=True):
                self._match(arg, place, letters, known=True)
            self._line(f"return {self._make(rule.replacement, letters)}")

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _let(self, expression: str) -> str:
        name = self._name()
        self._line(f"{name} = {expression}")
        return name

    def _only_if(self, test: str) -> None:
        """Open a block; the rule ends, without a result, where its test fails."""
        self._line(f"if {test}:")
        self._depth += 1

    def _match(
        self, pattern: Term, node: str, letters: dict[str | int, str], known: bool = False
    ) -> None:
        """Test whether a node has the form of a pattern, and note the nodes of its letters.

        The kind of a node is tested unless it is known to fit.
        """
        op = pattern.op
        if op in ("any", "constant"):
            if op == "constant" and not known:
                self._only_if(f"ops[{node}] == 'const'")
            before = letters.setdefault(pattern.value, node)
            if before != node:
                self._only_if(f"{before} == {node}")
            return
        if op == "number":
            if not known:
                self._only_if(f"ops[{node}] == 'const'")
            if not known or pattern.value not in (0, 1):
                self._only_if(f"numbers[{node}] == {pattern.value}")
            return
        if not known:
            self._only_if(f"ops[{node}] == {op!r}")
        parts = self._unpacked.get(node)
        if parts is None:
            parts = [self._name() for _ in pattern.args]
            self._line(f"{', '.join(parts)}, = args[{node}]")
            if self._depth == 1:  # outside of all tests
                self._unpacked[node] = parts
        for part, arg in zip(parts, pattern.args, strict=True):
            self._match(arg, part, letters)

    def _name(self) -> str:
        self._names += 1
        return f"n{self._names}"

    def _make(self, formula: Term, letters: dict[str | int, str]) -> str:
        """Build the right-hand side of a rule from the letters of the left.

        The rule does not apply where its constants leave the range of floats (1 / c, c tiny).
        """
        if formula.op == "any":
            return letters[formula.value]
        if formula.op == "number":
            return self._let(f"nodes.constant({formula.value})")
        if is_constant(formula):
            value = self._let(computed(formula, letters))
            self._only_if(f"{value} is not None")
            return self._let(f"nodes.constant({value})")
        parts = [self._make(arg, letters) for arg in formula.args]
        return self._let(f"nodes.apply({formula.op!r}, ({''.join(f'{x}, ' for x in parts)}))")


def is_constant(formula: Term) -> bool:
    """Return True for a formula whose letters all denote constants."""
    return formula.op != "any" and all(map(is_constant, formula.args))


def has_constants(formula: Term) -> bool:
    """Return True for a formula with a number or a letter for a constant."""
    return (not formula.args and formula.op != "any") or any(map(has_constants, formula.args))


def computed(formula: Term, letters: dict[str | int, str]) -> str:
    """Return a formula of constants as Python; its value is None beyond the range of floats."""
    if formula.op == "number":
        return repr(float(formula.value))
    if formula.op == "constant":
        return f"numbers[{letters[formula.value]}]"
    parts = [computed(arg, letters) for arg in formula.args]
    return f"fold({formula.op!r}, [{', '.join(parts)}])"
