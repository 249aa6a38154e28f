"""One group of angles in the shortest of its forms: products of cosines and sines, or sums.

A polynomial in cos and sin of the base angles of one group is written in one of

    products       cos^2(a),  cos(a) sin(b)             as it is stored
    other squares  1 - cos^2(a) as sin^2(a), angle by angle, where that has fewer terms
    sums           cos(a - b), sin(2 a + b), ...        each product of angles as a sum,
                   1 + cos(2 a) as 2 cos^2(a) and 1 - cos(2 a) as 2 sin^2(a)

whichever has the fewest factors; products where two are equally short.
"""

from collections.abc import Sequence
from typing import Any

from kinetree.symbols.read import BaseAngle
from kinetree.symbols.ring import BITS, FIELD, Ring

Terms = list[tuple[Any, Any]]  # (coefficient, SymPy expression of the trigonometric factor)
MOST_FACTORS = 8  # beyond, a product has more sums than anyone would read


def shortest_terms(ring: Ring, group: Sequence[BaseAngle], polynomial: dict[int, Any]) -> Terms:
    """Terms of the shortest form of a polynomial in the cosines and sines of one group."""
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


def _exponents(group: Sequence[BaseAngle], monomial: int) -> tuple[tuple[int, int], ...]:
    """(power of cos, power of sin) of every angle of the group."""
    return tuple(
        (monomial >> BITS * angle.cosine & FIELD, monomial >> BITS * angle.sine & FIELD)
        for angle in group
    )


def _cost(powers: tuple[int, int]) -> int:
    """Factors to write: cos(a) is one, cos^2(a) is two."""
    return sum(min(power, 2) for power in powers)


def _constants(sums: dict[Any, Any]) -> int:
    return sum(1 for angles, _ in sums if not any(angles))


def _fewest_squares(products: dict[Any, Any], angles: int) -> dict[Any, Any]:
    """cos^2 = 1 - sin^2 applied to each angle in turn, kept where fewer terms are left."""
    for k in range(angles):
        other = _in_sines(products, k)
        if len(other) < len(products):
            products = other
    return products


def _in_sines(products: dict[Any, Any], k: int) -> dict[Any, Any]:
    """Even powers of cos of angle k as powers of sin: cos^2j = (1 - sin^2)^j."""
    from math import comb

    found: dict[Any, Any] = {}
    for exponents, x in products.items():
        c, s = exponents[k]
        pairs, odd = divmod(c, 2)
        for j in range(pairs + 1):
            key = (*exponents[:k], (odd, s + 2 * j), *exponents[k + 1 :])
            found[key] = found.get(key, 0) + x * comb(pairs, j) * (-1) ** j
    return {key: x for key, x in found.items() if x}


def _sums(products: dict[Any, Any]) -> dict[tuple[tuple[int, ...], bool], Any]:
    """Coefficients of cos(k . angles) (False) and sin(k . angles) (True), k's first entry > 0.

    Through exp(i a): cos a = (z + 1/z) / 2, sin a = (z - 1/z) / 2i. A factor i^p of a term is kept
    as p mod 4 beside the exponents of z.
    """
    waves: dict[tuple[tuple[int, ...], int], Any] = {}
    for exponents, x in products.items():
        for key, value in _waves(exponents, x).items():
            waves[key] = waves.get(key, 0) + value
    sums: dict[tuple[tuple[int, ...], bool], Any] = {}
    for (turns, power), x in waves.items():
        sign = _sign(turns)
        if sign < 0 or not x:  # its mirror image is the complex conjugate and says the same
            continue
        x = x if sign == 0 else 2 * x
        x = -x if power in (1, 2) else x  # i z + c.c. = -2 sin, -z + c.c. = -2 cos
        key = (turns, power % 2 == 1)
        sums[key] = sums.get(key, 0) + x
    return {key: x for key, x in sums.items() if x}


def _square(sums: dict[tuple[tuple[int, ...], bool], Any]) -> tuple[int, int] | None:
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


def _with_square(terms: Terms, constant: int, cosine: int) -> Terms:
    """x + x cos(2 a) = 2 x cos^2(a), x - x cos(2 a) = 2 x sin^2(a)."""
    from sympy import cos, expand, sin

    (x, _), (y, factor) = terms[constant], terms[cosine]
    angle = expand(factor.args[0] / 2)
    square = (cos if x == y else sin)(angle) ** 2
    return [(2 * x, square)] + [t for k, t in enumerate(terms) if k not in (constant, cosine)]


def _waves(exponents: Any, x: Any) -> dict[tuple[tuple[int, ...], int], Any]:
    """One product as a sum of exponentials."""
    waves: dict[tuple[tuple[int, ...], int], Any] = {((0,) * len(exponents), 0): x}
    for k, (c, s) in enumerate(exponents):
        for sine in (False,) * c + (True,) * s:
            split: dict[tuple[tuple[int, ...], int], Any] = {}
            for (turns, power), value in waves.items():
                for step in (1, -1):
                    moved = (*turns[:k], turns[k] + step, *turns[k + 1 :])
                    phase = (power + (2 + step if sine else 0)) % 4  # 1 / i = i^3
                    key = (moved, phase)
                    split[key] = split.get(key, 0) + value / 2
            waves = split
    return waves


def _sign(turns: tuple[int, ...]) -> int:
    return next((1 if k > 0 else -1 for k in turns if k), 0)


def _sum_term(
    ring: Ring, group: Sequence[BaseAngle], key: tuple[tuple[int, ...], bool], x: Any
) -> tuple[Any, Any]:
    from sympy import Add, cos, expand, sin

    turns, sine = key
    angle = expand(Add(*(k * base.angle for k, base in zip(turns, group, strict=True))))
    sign, factor = (sin if sine else cos)(angle).as_coeff_Mul()  # sin(-a) comes out as -sin(a)
    return x * ring.number.from_sympy(sign), factor


def _product(group: Sequence[BaseAngle], exponents: Any) -> Any:
    from sympy import Mul, cos, sin

    return Mul(
        *(
            factor
            for base, (c, s) in zip(group, exponents, strict=True)
            for factor in (cos(base.angle) ** c, sin(base.angle) ** s)
        )
    )
