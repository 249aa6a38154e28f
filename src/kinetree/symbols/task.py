"""Lambda(q), the mass that a frame shows to a force at it, in closed form.

With as many rows as degrees of freedom, Lambda = J^-T M J^-1; with fewer, (J M^-1 J^T)^-1. Inverses
are written by cofactors, J^-1 = adj(J) / det(J), so that entries are quotients of polynomials.
"""

from collections.abc import Sequence
from functools import reduce
from random import Random
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import SingularityError
from kinetree.symbols.division import divide
from kinetree.symbols.present import Presenter, common_powers, without_minus
from kinetree.symbols.ring import Polynomial, Ring, monomial_expression

ORDER = (3, 4, 5, 0, 1, 2)  # positions before orientations
RANK = 1e-9  # smallest singular value of independent rows, all entries being around 1


def mass_at_frame(presenter: Presenter, J: Array, M: Array, rows: Sequence[int]) -> Any:
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
    symbols = sorted({s for x in ring.generators for s in x.free_symbols}, key=str)
    values = {symbol: random.uniform(0.5, 1.5) for symbol in symbols}
    generators = [float(x.subs(values)) for x in ring.generators]

    def value(x: Any) -> float:
        if not isinstance(x, Polynomial):
            return float(x)
        return sum(
            float(c) * float(np.prod([generators[k] ** p for k, p in ring.powers(monomial)]))
            for monomial, c in x.terms.items()
        )

    return np.array([[value(x) for x in row] for row in J])


def cofactors(A: Array) -> tuple[Array, Any]:
    """adj(A) and det(A) of a square matrix of polynomials, by expansion along rows."""
    n = len(A)
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Any] = {}

    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
        if not rows:
            return 1
        if (rows, columns) not in known:
            total: Any = 0
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


def determinant_factors(A: Array) -> list[Any]:
    """Determinants of the blocks that rows and columns of A fall into; their product up to sign."""
    n = len(A)
    block = list(range(n))  # of every row; a column joins the rows that have an entry in it
    for j in range(n):
        rows = [i for i in range(n) if isinstance(A[i][j], Polynomial) or A[i][j] != 0]
        joined = {block[i] for i in rows}
        block = [min(joined) if b in joined else b for b in block]
    factors = []
    for b in sorted(set(block)):
        rows = [i for i in range(n) if block[i] == b]
        held = any_entry(A[rows])
        factors.append(cofactors(A[np.ix_(rows, held)])[1])
    return factors


def any_entry(rows: Array) -> list[int]:
    """Columns that are not zero."""
    return [
        j
        for j in range(rows.shape[1])
        if any(isinstance(x, Polynomial) or x != 0 for x in rows[:, j])
    ]


def quotient(presenter: Presenter, numerator: Any, denominators: Sequence[Any]) -> Any:
    """The fraction of a polynomial and a product of others, common powers and factors cancelled."""
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
        numerator = numerator if divided is None else divided
        left += [x] if divided is None else []
    top, powers = _without_powers(numerator)
    below, factor = [], monomial_expression(ring, powers)
    for x in left:
        rest, powers = _without_powers(x)
        sign, terms = without_minus(ring.number.one, rest.terms)
        factor = factor / ring.number.to_sympy(sign) / monomial_expression(ring, powers)
        below.append(1 / presenter.present(Polynomial(ring, terms)))
    return Mul(factor, _halved(presenter.present(top), below), *below)


def _halved(top: Any, below: Sequence[Any]) -> Any:
    """sin(2 a) as 2 sin(a) cos(a) where a factor sin(a) or cos(a) stands below and may cancel."""
    from sympy import Mul, cos, expand, sin

    powers = [x for factor in below for x in factor.as_powers_dict()]
    angles: set[Any] = {x.args[0] for x in powers if isinstance(x, sin | cos)}
    double = {sin(expand(2 * a)): Mul(2, sin(a), cos(a)) for a in angles}
    return top.xreplace(double)


def _without_powers(x: Polynomial) -> tuple[Polynomial, int]:
    powers = reduce(common_powers, x.terms)
    return Polynomial(x.ring, {m - powers: c for m, c in x.terms.items()}), powers
