"""Lambda(q), the mass that a frame shows to a force at it, in closed form.

With as many rows as degrees of freedom, Lambda = J^-T M J^-1; with fewer, (J M^-1 J^T)^-1. Inverses
are written by cofactors, J^-1 = adj(J) / det(J), so that entries are quotients of polynomials.

Common factors are cancelled by exact division. Modulo sin^2 = 1 - cos^2 a quotient has no unique
leading term; in powers of z = exp(i a) and 1/z it has, and one division by leading terms decides
whether a polynomial is a multiple of another.
"""

from collections.abc import Sequence
from functools import reduce
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any, TypeAlias

import numpy as np

from kinetree.core.arrays import Array
from kinetree.errors import SingularityError
from kinetree.symbols.present import Presenter, common_powers, without_minus
from kinetree.symbols.read import BaseAngle, Reader, turned
from kinetree.symbols.ring import (
    BITS,
    FIELD,
    Entry,
    Expression,
    Polynomial,
    Ring,
    monomial_expression,
)

ORDER = (3, 4, 5, 0, 1, 2)  # positions before orientations
RANK = 1e-9  # smallest singular value of independent rows, with entries around 1
MOST_STEPS = 200_000  # products of terms; longer divisions are not tried

Gaussian: TypeAlias = Any  # a complex rational x + i y of SymPy
Powers: TypeAlias = dict[int, Gaussian]  # monomials in z and other generators -> coefficient


def mass_at_frame(
    presenter: Presenter, J: Array, M: Array, rows: Sequence[int]
) -> list[list[Expression]]:
    """Lambda of some rows of J as a nested list of SymPy expressions."""
    values = sample(presenter.ring, J)
    if np.linalg.matrix_rank(values[rows], tol=RANK) < len(rows):
        raise SingularityError(
            f"rows {rows} of the Jacobian depend on each other at every q; expected independent "
            f"ones, such as {independent_rows(values)}."
        )
    J = J[rows]
    k, n = J.shape
    if k == n:
        A, _ = cofactors(J)
        numerator, denominators = A.T @ M @ A, determinant_factors(J) * 2
    else:
        A, det_M = cofactors(M)
        B = J @ A @ J.T
        numerator, denominators = cofactors(B)[0] * det_M, determinant_factors(B)
    return [[quotient(presenter, x, denominators) for x in row] for row in numerator]


def independent_rows(J: Array) -> list[int]:
    """Rows that are independent at a sample point, positions first, in the order of J."""
    chosen: list[int] = []
    for row in ORDER:
        if np.linalg.matrix_rank(J[[*chosen, row]], tol=RANK) > len(chosen):
            chosen.append(row)
    return sorted(chosen)


def sample(ring: Ring, J: Array) -> Array:
    """J at random angles and parameters, always the same."""
    random = Random(1)
    # the rank at one random point is the rank almost everywhere; a fixed seed makes it repeatable
    symbols = sorted({s for x in ring.generators for s in x.free_symbols}, key=str)
    values = {symbol: random.uniform(0.5, 1.5) for symbol in symbols}
    generators = [float(x.subs(values)) for x in ring.generators]

    def value(x: Entry) -> float:
        if not isinstance(x, Polynomial):
            return float(x)
        return sum(
            float(c) * float(np.prod([generators[k] ** p for k, p in ring.powers(monomial)]))
            for monomial, c in x.terms.items()
        )

    return np.array([[value(x) for x in row] for row in J])


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
                if isinstance(entry, Polynomial) or entry != 0:
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
    n = len(A)
    block = list(range(n))  # of every row; a column joins the rows that have an entry in it
    for j in range(n):
        rows = [i for i in range(n) if isinstance(A[i][j], Polynomial) or A[i][j] != 0]
        joined = {block[i] for i in rows}
        block = [min(joined) if b in joined else b for b in block]
    factors: list[Entry] = []
    for b in sorted(set(block)):
        rows = [i for i in range(n) if block[i] == b]
        factors.append(cofactors(A[np.ix_(rows, nonzero_columns(A[rows]))])[1])
    return factors


def nonzero_columns(rows: Array) -> list[int]:
    """Columns that are not zero."""
    return [
        j
        for j in range(rows.shape[1])
        if any(isinstance(x, Polynomial) or x != 0 for x in rows[:, j])
    ]


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
            waves = {m - (c << BITS * angle.cosine) - (s << BITS * angle.sine): v
                     for m, v in waves.items()}  # fmt: skip
            z = 1 << BITS * angle.cosine
            for factor in (QQ_I(1, 0),) * c + (QQ_I(0, 1),) * s:
                split: Powers = {}
                sine = factor.y != 0  # sin a = -i (z - 1/z) / 2
                for m, v in waves.items():
                    half = -factor * v / 2 if sine else v / 2
                    split[m + z] = split.get(m + z, 0) + half
                    split[m - z] = split.get(m - z, 0) + (-half if sine else half)
                waves = split
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
