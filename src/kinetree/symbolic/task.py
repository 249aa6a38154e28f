"""Lambda(q), the mass that a frame shows to a force at it, in closed form.

With as many rows as degrees of freedom, Lambda = J^-T M J^-1; with fewer, (J M^-1 J^T)^-1. Inverses
are written by cofactors, J^-1 = adj(J) / det(J), so that entries are quotients of polynomials.
"""

from collections.abc import Sequence
from functools import reduce
from random import Random
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.errors import SingularityError
from kinetree.symbolic.present import Presenter, _common_powers
from kinetree.symbolic.ring import Polynomial, Ring, monomial_expression

ORDER = (3, 4, 5, 0, 1, 2)  # positions before orientations


def mass_at_frame(presenter: Presenter, J: Array, M: Array, rows: Sequence[int] | None) -> Any:
    """Lambda as a nested list of SymPy expressions, and the rows of J that it belongs to."""
    ring = presenter.ring
    sample = _sample(ring, J)
    chosen = independent_rows(sample) if rows is None else list(rows)
    if np.linalg.matrix_rank(sample[chosen], tol=1e-9) < len(chosen):
        raise SingularityError(
            f"rows {chosen} of the Jacobian depend on each other at every q; expected independent "
            f"ones, such as {independent_rows(sample)}."
        )
    J = J[chosen]
    k, n = J.shape
    if k == n:
        A, det = cofactors(J)
        numerator, denominators = A.T @ M @ A, (det, det)
    else:
        A, det_M = cofactors(M)
        B, det = cofactors(J @ A @ J.T)
        numerator, denominators = B * det_M, (det,)
    return [[quotient(presenter, x, denominators) for x in row] for row in numerator], chosen


def independent_rows(J: Array) -> list[int]:
    """Rows that are independent at a sample point, positions first, in the order of J."""
    chosen: list[int] = []
    for row in ORDER:
        if np.linalg.matrix_rank(J[[*chosen, row]], tol=1e-9) > len(chosen):
            chosen.append(row)
    return sorted(chosen)


def _sample(ring: Ring, J: Array) -> Array:
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


def quotient(presenter: Presenter, numerator: Any, denominators: Sequence[Any]) -> Any:
    """The fraction of a polynomial and a product of others, common powers cancelled."""
    from sympy import Mul, S

    if not isinstance(numerator, Polynomial):
        return S(numerator)
    ring = presenter.ring
    top, powers = _without_powers(numerator)
    below, factor = [], monomial_expression(ring, powers)
    for x in denominators:
        rest, powers = _without_powers(x)
        factor = factor / monomial_expression(ring, powers)
        below.append(1 / presenter.present(rest))
    return Mul(factor, presenter.present(top), *below)


def _without_powers(x: Polynomial) -> tuple[Polynomial, int]:
    powers = reduce(_common_powers, x.terms)
    return Polynomial(x.ring, {m - powers: c for m, c in x.terms.items()}), powers
