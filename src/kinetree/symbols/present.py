"""Polynomials -> readable closed forms: collected by rates, masses and angles, the shortest taken.

A coefficient is written in two ways and the one with fewer operations is kept:

    by masses   m1 L1^2 + m2 (L1^2 + 2 L1 L2 cos(theta2) + L2^2)
    by angles   L1 g (m1 + m2) cos(theta1) + L2 g m2 cos(theta1 + theta2)

Nothing is searched for: every step is a regrouping of finitely many terms, and equal robots give
equal results.
"""

from collections.abc import Iterable
from functools import reduce
from math import gcd, lcm
from typing import Any

from kinetree.symbols.read import Reader
from kinetree.symbols.ring import BITS, Polynomial, Ring, expression, monomial_expression
from kinetree.symbols.trigonometry import shortest_terms

Terms = dict[int, Any]  # monomial -> coefficient
Waves = dict[tuple[Any, ...], Terms]  # trigonometric factors, one a group -> their coefficient
LONG = 300  # with more terms, the way by masses is not tried


class Presenter:
    """Writes the polynomials of one robot; knows its rates and its masses."""

    def __init__(self, reader: Reader, rates: Iterable[Any], weights: Iterable[Any]) -> None:
        ring = reader.ring
        self.reader, self.ring = reader, ring
        self.groups = reader.groups
        self.rates = ring.fields(ring.index[x] for x in rates)
        self.weights = ring.fields(ring.index[x] for x in weights if x in ring.index)

    def present(self, x: Any) -> Any:
        """A SymPy expression of a polynomial (or a number), collected by joint rates."""
        from sympy import Add, Mul, S

        x = self.reader.read(x)
        if not isinstance(x, Polynomial):
            return S(x)
        parts = split(x.terms, self.rates)
        if set(parts) == {0}:
            return self.coefficient(x.terms)
        summands = []
        for unit, ratios in proportional(self.ring, parts):
            number, unit = common_number(self.ring, unit)
            number, unit = without_minus(number, unit)
            factor = expression(self.ring, ratios)
            summands.append(Mul(self.ring.number.to_sympy(number), self.coefficient(unit), factor))
        return Add(*summands)

    def coefficient(self, terms: Terms) -> Any:
        """The shorter of the two ways to write a polynomial without rates."""
        from sympy import Mul, count_ops

        by_angles = Mul(*self._by_angles(self._waves(terms, self.groups)))
        if len(terms) > LONG or not self._linear_in_weights(terms):
            return by_angles
        by_masses = self._by_masses(terms)
        return by_masses if count_ops(by_masses) <= count_ops(by_angles) else by_angles

    def _linear_in_weights(self, terms: Terms) -> bool:
        degrees = {sum(p for _, p in self.ring.powers(m & self.weights)) for m in terms}
        return degrees <= {0, 1} and 1 in degrees

    def _by_masses(self, terms: Terms) -> Any:
        from sympy import Add, Mul

        summands = []
        for unit, weights in proportional(self.ring, split(terms, self.weights)):
            number, unit = common_number(self.ring, unit)
            before = self.ring.number.to_sympy(number), expression(self.ring, weights)
            summands.append(Mul(*before, self._flat(unit)))
        return Add(*summands)

    def _flat(self, terms: Terms) -> Any:
        """All terms multiplied out."""
        from sympy import Add, Mul

        waves = self._waves(terms, self.groups)
        summands = [
            Mul(self.ring.number.to_sympy(x), monomial_expression(self.ring, monomial), *factors)
            for factors, part in waves.items()
            for monomial, x in part.items()
        ]
        return Add(*summands)

    def _waves(self, terms: Terms, groups: list[Any]) -> Waves:
        """Every group of angles in its shortest form, from the last group to the first."""
        if not groups:
            return {(): terms}
        *others, group = groups
        fields = self.ring.fields(k for angle in group for k in (angle.cosine, angle.sine))
        by_factor: dict[Any, Terms] = {}
        for rest, polynomial in split(terms, ~fields).items():
            for x, factor in shortest_terms(self.ring, group, polynomial):
                part = by_factor.setdefault(factor, {})
                part[rest] = part.get(rest, 0) + x
        found: Waves = {}
        for factor, part in by_factor.items():
            part = {monomial: x for monomial, x in part.items() if x}
            for factors, inner in self._waves(part, others).items():
                found[(*factors, factor)] = inner
        return found

    def _by_angles(self, waves: Waves) -> tuple[Any, ...]:
        """Factors of the sum; what several terms share stands before a bracket, group by group.

        They are multiplied together at last: SymPy would carry a number into a bracket alone.
        """
        from sympy import Add, Mul

        if set(waves) == {()}:
            return factored(self.ring, waves[()])
        by_first: dict[Any, Waves] = {}
        for (first, *rest), terms in waves.items():
            by_first.setdefault(first, {})[tuple(rest)] = terms
        if len(by_first) == 1:
            ((first, rest),) = by_first.items()
            return (first, *self._by_angles(rest))
        return (Add(*(Mul(first, *self._by_angles(rest)) for first, rest in by_first.items())),)


def split(terms: Terms, fields: int) -> dict[int, Terms]:
    """Terms collected by their part in some generators: {part: {rest: coefficient}}."""
    found: dict[int, Terms] = {}
    for monomial, x in terms.items():
        part = monomial & fields
        found.setdefault(part, {})[monomial - part] = x
    return found


def proportional(ring: Ring, parts: dict[int, Terms]) -> list[tuple[Terms, Terms]]:
    """Parts with the same coefficient up to a number, together: (coefficient, {part: ratio}).

    Ratios are whole numbers without a common divisor, the first of them positive.
    """
    classes: dict[Any, list[tuple[int, Any]]] = {}
    for part in sorted(parts):
        terms = parts[part]
        lead = terms[max(terms)]
        shape = frozenset((monomial, x / lead) for monomial, x in terms.items())
        classes.setdefault(shape, []).append((part, lead))
    found = []
    for shape, leads in classes.items():
        number, ratios = common_number(ring, dict(leads), whole=True)
        if leads[0][1] < 0:
            number, ratios = -number, {part: -x for part, x in ratios.items()}
        found.append(({monomial: x * number for monomial, x in shape}, ratios))
    return found


def common_number(ring: Ring, terms: Terms, *, whole: bool = False) -> tuple[Any, Terms]:
    """A number to write before a bracket, and what stays in it.

    It is the largest that leaves whole numbers; unless `whole`, it is taken out only where no more
    numbers are to be written than before.
    """
    values = list(terms.values())
    numerator = reduce(gcd, (int(x.numerator) for x in values))
    number = ring.number(numerator, reduce(lcm, (int(x.denominator) for x in values)))
    rest = {monomial: x / number for monomial, x in terms.items()}
    if whole or _numbers(rest) < _numbers(terms):
        return number, rest
    return ring.number.one, terms


def _numbers(terms: Terms) -> int:
    return sum(abs(x) != 1 for x in terms.values())


def without_minus(number: Any, terms: Terms) -> tuple[Any, Terms]:
    """A sum of nothing but negative terms turned, with the minus sign before it."""
    if len(terms) == 1 or any(x > 0 for x in terms.values()):
        return number, terms
    return -number, {monomial: -x for monomial, x in terms.items()}


def factored(ring: Ring, terms: Terms) -> tuple[Any, Any, Any]:
    """A sum as three factors: its common number, its common powers, and what is left."""
    common = reduce(common_powers, terms)
    number, rest = common_number(ring, {m - common: x for m, x in terms.items()})
    number, rest = without_minus(number, rest)
    outside = monomial_expression(ring, common)
    return ring.number.to_sympy(number), outside, expression(ring, rest)


def common_powers(a: int, b: int) -> int:
    """The smaller exponent of every generator."""
    common, place, field = 0, 0, (1 << BITS) - 1
    while a and b:
        common |= min(a & field, b & field) << place
        a, b, place = a >> BITS, b >> BITS, place + BITS
    return common
