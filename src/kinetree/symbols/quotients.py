"""Quotients of polynomials: cofactors and determinants of matrices, with common factors cancelled.

Inverses are written by cofactors, A^-1 = adj(A) / det(A), so that entries are quotients of
polynomials. Common factors are cancelled by exact division. Modulo sin^2 = 1 - cos^2 a quotient has
no unique leading term; in powers of z = exp(i a) and 1/z it has, and one division by leading terms
decides whether a polynomial is a multiple of another.
"""

from collections.abc import Sequence
from functools import reduce
from heapq import heapify, heappop, heappush
from typing import Any, TypeAlias

import numpy as np

from kinetree.core.arrays import Array
from kinetree.symbols.present import Presenter, common_powers, without_minus
from kinetree.symbols.read import BaseAngle, Reader, exponentials, turned
from kinetree.symbols.ring import (
    BITS,
    FIELD,
    Entry,
    Expression,
    Polynomial,
    Ring,
    monomial_expression,
)

MOST_STEPS = 200_000  # products of terms; longer divisions are not tried

Gaussian: TypeAlias = Any  # a complex rational x + i y of SymPy
Powers: TypeAlias = dict[int, Gaussian]  # monomials in z and other generators -> coefficient


def cofactors(A: Array) -> tuple[Array, Entry]:
    """adj(A) and det(A) of a square matrix of polynomials, by expansion along rows."""
    n = len(A)
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Entry] = {}

    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Entry:
        if not rows:
            return 1
        if (rows, columns) not in known:
            total: Entry = 0
            for k, column in enumerate(columns):
                entry = A[rows[0]][column]
                if entry != 0:
                    rest = minor(rows[1:], (*columns[:k], *columns[k + 1 :]))
                    total = total + (entry * rest if k % 2 == 0 else -(entry * rest))
            known[rows, columns] = total
        return known[rows, columns]

    every = tuple(range(n))
    without = [tuple(k for k in every if k != i) for i in every]
    adjugate = np.empty((n, n), object)
    for i in every:
        for j in every:
            adjugate[i, j] = minor(without[j], without[i]) * (-1) ** (i + j)
    return adjugate, minor(every, every)


def determinant_factors(A: Array) -> list[Entry]:
    """Determinants of the blocks of A after a permutation; their product is det(A) up to sign."""
    used = A != 0
    block = np.arange(len(A))  # of every row; a column joins the rows that have an entry in it
    for column in used.T:
        joined = np.isin(block, block[column])
        block[joined] = block[joined].min(initial=len(A))
    alike = (block == b for b in sorted(set(block.tolist())))
    return [cofactors(A[np.ix_(rows, used[rows].any(axis=0))])[1] for rows in alike]


def quotient(presenter: Presenter, numerator: Entry, denominators: Sequence[Entry]) -> Expression:
    """A polynomial divided by a product of others, with common powers and factors cancelled."""
    from sympy import Mul, S

    if not isinstance(numerator, Polynomial):
        return S(numerator)
    ring = presenter.ring
    left: list[Polynomial] = []
    for x in denominators:
        if not isinstance(x, Polynomial):  # a number
            numerator = numerator / x
            continue
        divided = divide(presenter.reader, numerator, x)
        if divided is None:
            left.append(x)
        else:
            numerator = divided
    top, powers = _without_powers(numerator)
    below: list[Expression] = []
    factor = monomial_expression(ring, powers)
    for x in left:
        rest, powers = _without_powers(x)
        sign, terms = without_minus(ring.number.one, rest.terms)
        factor = factor / ring.number.to_sympy(sign) / monomial_expression(ring, powers)
        below.append(1 / presenter.present(Polynomial(ring, terms)))
    return Mul(factor, _halved(presenter.present(top), below), *below)


def _halved(top: Expression, below: Sequence[Expression]) -> Expression:
    """sin(2 a) as 2 sin(a) cos(a) if the denominator has sin(a) or cos(a), which may cancel."""
    from sympy import Mul, cos, expand, sin

    powers = [x for factor in below for x in factor.as_powers_dict()]
    angles: set[Expression] = {x.args[0] for x in powers if isinstance(x, sin | cos)}
    double = {sin(expand(2 * a)): Mul(2, sin(a), cos(a)) for a in angles}
    return top.xreplace(double)


def _without_powers(x: Polynomial) -> tuple[Polynomial, int]:
    powers = reduce(common_powers, x.terms)
    return Polynomial(x.ring, {m - powers: c for m, c in x.terms.items()}), powers


def divide(reader: Reader, x: Polynomial, divisor: Polynomial) -> Polynomial | None:
    """The polynomial x / divisor; None if it is not one, or if the division would take too long."""
    ring = reader.ring
    sines = ring.fields(angle.sine for angle in reader.angles)
    free = ring.fields(k for k in ring.squares) & ~sines  # roots and quaternions are not variables
    if any(monomial & free for monomial in divisor.terms):
        return None
    (top, raised), (below, lowered) = (_powers(reader.angles, p) for p in (x, divisor))
    if len(top) * len(below) > MOST_STEPS:
        return None
    powers = _divide(ring, top, below)
    return None if powers is None else _polynomial(reader, powers, raised - lowered)


def _powers(angles: list[BaseAngle], x: Polynomial) -> tuple[Powers, int]:
    """x in powers of z, shifted to make all exponents positive, and the shift of every angle."""
    from sympy import QQ_I

    degree = max(
        sum((m >> BITS * k & FIELD) for a in angles for k in (a.cosine, a.sine)) for m in x.terms
    )
    # the bits of a cosine take the exponent of z = exp(i a), those of the sine become empty
    raised = sum(degree << BITS * angle.cosine for angle in angles)
    total: Powers = {}
    for monomial, value in x.terms.items():
        waves = {monomial: QQ_I.convert(value)}
        for angle in angles:
            c, s = (monomial >> BITS * k & FIELD for k in (angle.cosine, angle.sine))
            angles_away = (c << BITS * angle.cosine) + (s << BITS * angle.sine)
            unit = QQ_I(0, -1) ** s / 2 ** (c + s)
            waves = {
                m - angles_away + (power << BITS * angle.cosine): v * unit * count
                for m, v in waves.items()
                for power, count in exponentials(c, s).items()
            }
        for m, v in waves.items():
            total[m + raised] = total.get(m + raised, 0) + v
    return {m: v for m, v in total.items() if v}, raised


def _divide(ring: Ring, top: Powers, below: Powers) -> Powers | None:
    """Division by leading terms in lexicographic order, which is that of the packed monomials."""
    # subtracting packed exponents borrows from the guard bit where an exponent would be negative
    guard = sum(1 << BITS * k + BITS - 1 for k in range(len(ring.generators)))
    lead = max(below)
    rest = dict(top)
    quotient: Powers = {}
    heap = [-m for m in rest]
    heapify(heap)
    while heap:
        monomial = -heappop(heap)
        value = rest.get(monomial)
        if not value:
            continue
        if ((monomial | guard) - lead) & guard != guard:  # some exponent would be negative
            return None
        factor, step = value / below[lead], monomial - lead
        quotient[step] = factor
        for m, v in below.items():
            if m + step not in rest:
                heappush(heap, -(m + step))
            rest[m + step] = rest.get(m + step, 0) - factor * v
    return quotient


def _polynomial(reader: Reader, powers: Powers, raised: int) -> Polynomial:
    """Convert back to cosines and sines: z^k = cos(k a) + i sin(k a)."""
    ring = reader.ring
    total: Entry = 0
    for monomial, value in powers.items():
        rest = monomial
        C: Entry = ring.constant(1)
        S: Entry = 0
        for angle in reader.angles:
            place = BITS * angle.cosine
            power = monomial >> place & FIELD
            rest -= power << place
            turns = power - (raised >> place & FIELD)
            c, s = (ring.variable(ring.generators[k]) for k in (angle.cosine, angle.sine))
            for _ in range(abs(turns)):
                C, S = turned(C, S, c, s if turns > 0 else -s)
        for part, number in ((C, value.x), (S, -value.y)):  # the imaginary parts add up to zero
            if number:
                total = total + Polynomial(ring, {rest: number}) * part
    assert isinstance(total, Polynomial)  # a quotient of non-zero polynomials
    return total
