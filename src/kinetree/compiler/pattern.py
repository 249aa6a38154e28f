"""Terms: small algebraic formulas, the language that the table of rules is written in.

`x * (y + 0)` with letters from here is not computed but kept as a tree, so that a rule can be read,
matched against a graph, and tested on numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

COMMUTATIVE = frozenset({"add", "mul"})


@dataclass(frozen=True, slots=True)
class Term:
    """A formula. `op` is an operation of the graph, or one of three kinds of leaf.

    The leaves are "number" (`value` is the number), "any" (a letter for any node) and "constant"
    (a letter for a constant node, which is never negative); `value` of a letter is its name.
    """

    op: str
    args: tuple["Term", ...] = ()
    value: Any = None

    def __add__(self, other: "Term | int") -> "Term":
        return Term("add", (self, term(other)))

    def __radd__(self, other: int) -> "Term":
        return term(other) + self

    def __sub__(self, other: "Term | int") -> "Term":
        return Term("sub", (self, term(other)))

    def __rsub__(self, other: int) -> "Term":
        return term(other) - self

    def __mul__(self, other: "Term | int") -> "Term":
        return Term("mul", (self, term(other)))

    def __rmul__(self, other: int) -> "Term":
        return term(other) * self

    def __truediv__(self, other: "Term | int") -> "Term":
        return Term("div", (self, term(other)))

    def __rtruediv__(self, other: int) -> "Term":
        return term(other) / self

    def __neg__(self) -> "Term":
        return Term("neg", (self,))


def term(x: Term | int) -> Term:
    """A number as a term; a term as it is."""
    return x if isinstance(x, Term) else Term("number", value=x)


def anything(name: str) -> Term:
    """A letter that stands for any node."""
    return Term("any", value=name)


def constant(name: str) -> Term:
    """A letter that stands for a constant, zero or positive."""
    return Term("constant", value=name)


def function(op: str, x: Term) -> Term:
    """An elementary function of a term: `function("sin", x)`."""
    return Term(op, (x,))


def orders(formula: Term) -> Iterator[Term]:
    """The formula with the arguments of its sums and products in every order, each once."""
    seen: set[Term] = set()
    for args in product(*(tuple(orders(arg)) for arg in formula.args)):
        swaps = (args, args[::-1]) if formula.op in COMMUTATIVE else (args,)
        for swapped in swaps:
            variant = Term(formula.op, swapped, formula.value)
            if variant not in seen:
                seen.add(variant)
                yield variant
