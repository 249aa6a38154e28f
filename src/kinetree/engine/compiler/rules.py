"""Simplification as a table: each line is an identity of real numbers, used from left to right.

A rule may change rounding, never the value in exact arithmetic, and never raises the number of
operations. A negative constant is the negation of a positive one, so that the rules of signs apply
to numbers too. Negations move outward, through products and functions, until a sum takes them in as
a subtraction. Constants move together and are folded. Sums and products match in either order of
their arguments.

The table is written in terms, small formulas that are kept as trees: a rule can be read, matched
against nodes, and tested on numbers. Matching is indexed by the operation and the kinds of its
arguments (`FORMS`), since most operations of a traced algorithm fit no rule.
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


def operator(op: str) -> Any:
    """Make an operator of terms."""
    return lambda *args: Term(op, tuple(map(term, args)))


def reflected(op: str) -> Any:
    """Make an operator for a number on the left."""
    return lambda self, other: Term(op, (term(other), self))


@dataclass(frozen=True, slots=True)
class Term:
    """A formula. `op` is an operation of the graph, or one of three kinds of leaf.

    The leaves are "number" (`value` is the number), "any" (a letter for any node) and "constant"
    (a letter for a constant node, which is never negative); `value` of a letter is its name.
    """

    op: str
    args: tuple["Term", ...] = ()
    value: str | int = ""

    __add__, __radd__ = operator("add"), reflected("add")
    __sub__, __rsub__ = operator("sub"), reflected("sub")
    __mul__, __rmul__ = operator("mul"), reflected("mul")
    __truediv__, __rtruediv__ = operator("div"), reflected("div")
    __neg__ = operator("neg")


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
Letters = dict[str | int, int]  # letter of a pattern -> node

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
    place where no rule can.
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
        made = simplifier(op, folds, op == "select" and known[0], tuple(fitting))
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
def simplifier(op: str, folds: bool, chooses: bool, fitting: tuple[int, ...]) -> Simplifier | None:
    """Return some rules of an operation as one function; None if there is nothing to do.

    folds: all arguments are numbers. chooses: the first argument of a choice is one.
    """
    rules = [rules_of(op)[k] for k in fitting]

    def simplify(nodes: Nodes, args: Sequence[int]) -> int | None:
        numbers = nodes.numbers
        if folds and (value := fold(op, [numbers[arg] for arg in args])) is not None:
            return nodes.constant(value)
        if chooses:
            return args[1] if (numbers[args[0]] or 0) > 0 else args[2]
        for pattern, replacement, *_ in rules:
            letters: Letters = {}
            for part, arg in zip(pattern.args, args, strict=True):
                if not match(nodes, part, arg, letters):
                    break
            else:
                made = build(nodes, replacement, letters)
                if made is not None:
                    return made
        return None

    return simplify if folds or chooses or rules else None


def match(nodes: Nodes, pattern: Term, node: int, letters: Letters) -> bool:
    """Test whether a node has the form of a pattern, and note the nodes of its letters."""
    op, args, value = pattern.op, pattern.args, pattern.value
    if op == "any":
        return letters.setdefault(value, node) == node
    if op == "number":
        return nodes.ops[node] == "const" and nodes.numbers[node] == value
    if op == "constant":
        return nodes.ops[node] == "const" and letters.setdefault(value, node) == node
    if nodes.ops[node] != op:
        return False
    found = nodes.args[node]
    if len(args) == 1:
        return match(nodes, args[0], found[0], letters)
    first = match(nodes, args[0], found[0], letters)
    return first and match(nodes, args[1], found[1], letters)


def build(nodes: Nodes, formula: Term, letters: Letters) -> int | None:
    """Build the right-hand side of a rule from the letters of the left.

    None where its constants leave the range of floats (1 / c, c tiny): the rule does not apply.
    """
    if formula.op == "any":
        return letters[formula.value]
    if formula.op == "number" or is_constant(formula):
        value = computed(nodes, formula, letters)
        return None if value is None else nodes.constant(value)
    parts: list[int] = []
    for arg in formula.args:
        part = build(nodes, arg, letters)
        if part is None:
            return None
        parts.append(part)
    return nodes.apply(formula.op, tuple(parts))


def computed(nodes: Nodes, formula: Term, letters: Letters) -> float | None:
    """Compute a formula of constants; None beyond the range of floats."""
    if formula.op == "number":
        return float(formula.value)
    if formula.op == "constant":
        return nodes.numbers[letters[formula.value]]
    return fold(formula.op, [computed(nodes, arg, letters) for arg in formula.args])


@cache
def is_constant(formula: Term) -> bool:
    """Return True for a formula whose letters all denote constants."""
    return formula.op != "any" and all(map(is_constant, formula.args))


def has_constants(formula: Term) -> bool:
    """Return True for a formula with a number or a letter for a constant."""
    return (not formula.args and formula.op != "any") or any(map(has_constants, formula.args))
