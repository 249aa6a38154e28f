"""Polynomials -> readable closed forms: collected by rates, masses and angles, the shortest taken.

A coefficient is written in two ways and the one with fewer operations is kept:

    by masses   m1 L1^2 + m2 (L1^2 + 2 L1 L2 cos(theta2) + L2^2)
    by angles   L1 g (m1 + m2) cos(theta1) + L2 g m2 cos(theta1 + theta2)

A polynomial in cos and sin of the base angles of one group is written in one of these forms:

    products       cos^2(a),  cos(a) sin(b)             as it is stored
    other squares  1 - cos^2(a) as sin^2(a), angle by angle, if that has fewer terms
    sums           cos(a - b), sin(2 a + b), ...        each product of angles as a sum,
                   1 + cos(2 a) as 2 cos^2(a) and 1 - cos(2 a) as 2 sin^2(a)

The one with the fewest factors is taken; products if two are equally short. There is no search:
every step regroups finitely many terms, and equal robots give equal results.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import comb, gcd, lcm
from typing import TypeAlias

from kinetree.symbols.read import BaseAngle, Reader, exponentials
from kinetree.symbols.ring import (
    BITS,
    FIELD,
    Expression,
    Operand,
    Polynomial,
    Ring,
    Terms,
    expression,
    monomial_expression,
)

Waves: TypeAlias = dict[tuple[Expression, ...], Terms]  # trigonometric factors, one a group -> rest
Summands: TypeAlias = list[tuple[Fraction, Expression]]  # coefficient, trigonometric factor
Exponents: TypeAlias = tuple[tuple[int, int], ...]  # powers of (cos, sin) of every angle of a group
Sums: TypeAlias = dict[tuple[tuple[int, ...], bool], Fraction]  # (factors of angles, is a sine)
LONG = 300  # terms; longer coefficients are not tried by masses
MOST_FACTORS = 8  # of a product that is tried as sums; more would be too long to read


class Presenter:
    """Writes the polynomials of one robot, given the symbols of its rates and masses."""

    def __init__(
        self, reader: Reader, rates: Iterable[Expression], weights: Iterable[Expression]
    ) -> None:
        ring = reader.ring
        self.reader, self.ring = reader, ring
        self.groups = reader.groups
        self.rates = ring.fields(ring.index[x] for x in rates)
        self.weights = ring.fields(ring.index[x] for x in weights if x in ring.index)

    def present(self, x: Operand) -> Expression:
        """A polynomial (or a number) as a SymPy expression, collected by joint rates."""
        from sympy import Add, Mul, S

        polynomial = self.reader.read(x)
        if not isinstance(polynomial, Polynomial):
            return S(polynomial)
        parts = split(polynomial.terms, self.rates)
        if set(parts) == {0}:
            return self.coefficient(polynomial.terms)
        summands: list[Expression] = []
        for unit, ratios in proportional(self.ring, parts):
            number, unit = common_number(self.ring, unit)
            number, unit = without_minus(number, unit)
            factor = expression(self.ring, ratios)
            summands.append(Mul(self.ring.number.to_sympy(number), self.coefficient(unit), factor))
        return Add(*summands)

    def coefficient(self, terms: Terms) -> Expression:
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

    def _by_masses(self, terms: Terms) -> Expression:
        from sympy import Add, Mul

        summands: list[Expression] = []
        for unit, weights in proportional(self.ring, split(terms, self.weights)):
            number, unit = common_number(self.ring, unit)
            before = self.ring.number.to_sympy(number), expression(self.ring, weights)
            summands.append(Mul(*before, self._flat(unit)))
        return Add(*summands)

    def _flat(self, terms: Terms) -> Expression:
        """All terms multiplied out."""
        from sympy import Add, Mul

        waves = self._waves(terms, self.groups)
        summands = [
            Mul(self.ring.number.to_sympy(x), monomial_expression(self.ring, monomial), *factors)
            for factors, part in waves.items()
            for monomial, x in part.items()
        ]
        return Add(*summands)

    def _waves(self, terms: Terms, groups: list[list[BaseAngle]]) -> Waves:
        """Every group of angles in its shortest form, from the last group to the first."""
        if not groups:
            return {(): terms}
        *others, group = groups
        fields = self.ring.fields(k for angle in group for k in (angle.cosine, angle.sine))
        by_factor: dict[Expression, Terms] = {}
        for rest, polynomial in split(terms, ~fields).items():
            for x, factor in shortest_terms(self.ring, group, polynomial):
                part = by_factor.setdefault(factor, {})
                part[rest] = part.get(rest, 0) + x
        waves: Waves = {}
        for factor, part in by_factor.items():
            part = {monomial: x for monomial, x in part.items() if x}
            for factors, inner in self._waves(part, others).items():
                waves[(*factors, factor)] = inner
        return waves

    def _by_angles(self, waves: Waves) -> tuple[Expression, ...]:
        """Factors of the sum; common factors stand before a bracket, group by group.

        They are multiplied at the end: SymPy would distribute a number over a single bracket.
        """
        from sympy import Add, Mul

        if set(waves) == {()}:
            return factored(self.ring, waves[()])
        by_first: dict[Expression, Waves] = {}
        for (first, *rest), terms in waves.items():
            by_first.setdefault(first, {})[tuple(rest)] = terms
        if len(by_first) == 1:
            ((first, rest),) = by_first.items()
            return (first, *self._by_angles(rest))
        return (Add(*(Mul(first, *self._by_angles(rest)) for first, rest in by_first.items())),)


def split(terms: Terms, fields: int) -> dict[int, Terms]:
    """Terms collected by their part in some generators: {part: {rest: coefficient}}."""
    parts: dict[int, Terms] = {}
    for monomial, x in terms.items():
        part = monomial & fields
        parts.setdefault(part, {})[monomial - part] = x
    return parts


def proportional(ring: Ring, parts: dict[int, Terms]) -> list[tuple[Terms, Terms]]:
    """Group parts with the same coefficient up to a number: (coefficient, {part: ratio}).

    Ratios are whole numbers without a common divisor, the first of them positive.
    """
    classes: dict[frozenset[tuple[int, Fraction]], list[tuple[int, Fraction]]] = {}
    for part in sorted(parts):
        terms = parts[part]
        # two coefficients are proportional if they are equal after division by the leading one
        lead = terms[max(terms)]
        shape = frozenset((monomial, x / lead) for monomial, x in terms.items())
        classes.setdefault(shape, []).append((part, lead))
    groups: list[tuple[Terms, Terms]] = []
    for shape, leads in classes.items():
        number, ratios = common_number(ring, dict(leads), whole=True)
        if leads[0][1] < 0:
            number, ratios = -number, {part: -x for part, x in ratios.items()}
        groups.append(({monomial: x * number for monomial, x in shape}, ratios))
    return groups


def common_number(ring: Ring, terms: Terms, *, whole: bool = False) -> tuple[Fraction, Terms]:
    """A number to write before a bracket, and the terms in the bracket.

    It is the largest that leaves whole numbers; unless `whole`, it is taken out only if fewer
    numbers remain to be written.
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


def without_minus(number: Fraction, terms: Terms) -> tuple[Fraction, Terms]:
    """Move the minus sign of a sum with negative terms only to the number before it."""
    if len(terms) == 1 or any(x > 0 for x in terms.values()):
        return number, terms
    return -number, {monomial: -x for monomial, x in terms.items()}


def factored(ring: Ring, terms: Terms) -> tuple[Expression, Expression, Expression]:
    """A sum as three factors: its common number, its common powers, and the rest."""
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


def shortest_terms(ring: Ring, group: Sequence[BaseAngle], polynomial: Terms) -> Summands:
    """Summands of the shortest form of a polynomial in the cosines and sines of one group."""
    # the length of a form is the number of its factors; a constant term has no angle to write
    products = {_exponents(group, monomial): x for monomial, x in polynomial.items()}
    products = _fewest_squares(products, len(group))
    product_cost = sum(1 + sum(_cost(p) for p in exponents) for exponents in products)
    if max(sum(map(sum, exponents)) for exponents in products) <= MOST_FACTORS:
        sums = _sums(products)
        square = _square(sums)
        if 2 * len(sums) - _constants(sums) - (square is not None) < product_cost:
            terms = [_sum_term(ring, group, key, value) for key, value in sums.items()]
            return terms if square is None else _with_square(terms, *square)
    return [(x, _product(group, exponents)) for exponents, x in products.items()]


def _exponents(group: Sequence[BaseAngle], monomial: int) -> Exponents:
    """(power of cos, power of sin) of every angle of the group."""
    return tuple(
        (monomial >> BITS * angle.cosine & FIELD, monomial >> BITS * angle.sine & FIELD)
        for angle in group
    )


def _cost(powers: tuple[int, int]) -> int:
    """Factors to write: cos(a) is one, cos^2(a) is two."""
    return sum(min(power, 2) for power in powers)


def _constants(sums: Sums) -> int:
    return sum(1 for angles, _ in sums if not any(angles))


def _fewest_squares(products: dict[Exponents, Fraction], angles: int) -> dict[Exponents, Fraction]:
    """Apply cos^2 = 1 - sin^2 to each angle in turn, if fewer terms are left."""
    for k in range(angles):
        other = _in_sines(products, k)
        if len(other) < len(products):
            products = other
    return products


def _in_sines(products: dict[Exponents, Fraction], k: int) -> dict[Exponents, Fraction]:
    """Even powers of cos of angle k as powers of sin: cos^2j = (1 - sin^2)^j."""
    in_sines: dict[Exponents, Fraction] = {}
    for exponents, x in products.items():
        c, s = exponents[k]
        pairs, odd = divmod(c, 2)
        for j in range(pairs + 1):
            key = (*exponents[:k], (odd, s + 2 * j), *exponents[k + 1 :])
            in_sines[key] = in_sines.get(key, 0) + x * comb(pairs, j) * (-1) ** j
    return {key: x for key, x in in_sines.items() if x}


def _sums(products: dict[Exponents, Fraction]) -> Sums:
    """Coefficients of cos(k . angles) (False) and sin(k . angles) (True), k's first entry > 0.

    With s sines in a product, its wave z_1^k_1 z_2^k_2 ... has the factor i^-s, and the mirror
    image -k is its complex conjugate: together they are 2 cos, 2 sin, -2 cos or -2 sin.
    """
    sums: Sums = {}
    for exponents, x in products.items():
        waves = {(): x / 2 ** sum(map(sum, exponents))}
        for c, s in exponents:
            powers = exponentials(c, s).items()
            waves = {(*turns, k): y * n for turns, y in waves.items() for k, n in powers}
        sines = sum(s for _, s in exponents)
        for turns, y in waves.items():
            first = next((k for k in turns if k), 0)
            if first >= 0:
                key = turns, sines % 2 == 1
                both = (2 if first else 1) * (-1 if sines % 4 > 1 else 1)
                sums[key] = sums.get(key, 0) + y * both
    return {key: x for key, x in sums.items() if x}


def _square(sums: Sums) -> tuple[int, int] | None:
    """Positions of a constant and of a cosine of an even angle that make one square together."""
    keys = list(sums)
    for i, (turns, _) in enumerate(keys):
        if any(turns):
            continue
        for j, (other, sine) in enumerate(keys):
            even = any(other) and not any(k % 2 for k in other)
            if even and not sine and abs(sums[keys[i]]) == abs(sums[keys[j]]):
                return i, j
    return None


def _with_square(terms: Summands, constant: int, cosine: int) -> Summands:
    """x + x cos(2 a) = 2 x cos^2(a), x - x cos(2 a) = 2 x sin^2(a)."""
    from sympy import cos, expand, sin

    (x, _), (y, factor) = terms[constant], terms[cosine]
    angle = expand(factor.args[0] / 2)
    square = (cos if x == y else sin)(angle) ** 2
    return [(2 * x, square)] + [t for k, t in enumerate(terms) if k not in (constant, cosine)]


def _sum_term(
    ring: Ring, group: Sequence[BaseAngle], key: tuple[tuple[int, ...], bool], x: Fraction
) -> tuple[Fraction, Expression]:
    from sympy import Add, cos, expand, sin

    turns, sine = key
    angle = expand(Add(*(k * base.angle for k, base in zip(turns, group, strict=True))))
    sign, factor = (sin if sine else cos)(angle).as_coeff_Mul()  # sin(-a) comes out as -sin(a)
    return x * ring.number.from_sympy(sign), factor


def _product(group: Sequence[BaseAngle], exponents: Exponents) -> Expression:
    from sympy import Mul, cos, sin

    return Mul(
        *(
            factor
            for base, (c, s) in zip(group, exponents, strict=True)
            for factor in (cos(base.angle) ** c, sin(base.angle) ** s)
        )
    )
