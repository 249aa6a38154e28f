"""Solve the symmetric systems of constrained dynamics, in straight-line code.

For rows of full rank the matrix A of J M^-1 J^T (or J J^T) is positive definite, and A x = b has
one solution. In a singular position of the mechanism A loses rank, and a division by zero would
follow. Therefore a small part of the typical diagonal is added, mu_i = EPS s_i, and its effect is
taken away again by a fixed number K of proximal steps (the method of multipliers; Carpentier,
Budhiraja and Mansard 2021 use it for contacts),

    x_k = x_(k-1) + (A + mu)^-1 (b - A x_(k-1)),    x_0 = 0,   k = 1 ... K

Scale rows and columns by 1/sqrt(s_i), so that mu becomes EPS times the identity, and let sigma be
an eigenvalue of the scaled A. The error of the component of x along its eigenvector is multiplied
by EPS / (sigma + EPS) in every step, so after K steps

    x_K = x (1 - (EPS / (sigma + EPS))^K)

With EPS = 2^-36 (1.5e-11) and K = 3, the relative error is below 1e-14 where sigma > 7e-7, below
1e-6 where sigma > 1.5e-9, and the component is damped towards zero as sigma vanishes. The steps
are iterative refinement too: they remove the rounding errors of the factor. Exact numbers
(SymPy, mpmath, fractions) are solved without mu, once; their rows must be independent.

Rows whose dependency changes with q are all kept (mobility.py), and A is singular everywhere. Let
u be the unit of rounding, 1.1e-16. A right side in the range of A has a part of about u outside it,
which K steps turn into K u / EPS of x along the null space of A. Both this and the error of the
other components are small for EPS = 2^-26 (1.5e-8) and K = 6: noise of 5e-8, and a relative error
below 1e-14 where sigma > 3.3e-6. The noise does not reach J^T x, since J^T is zero on the null
space of A. A right side b may be out of the range: rates that the constraints forbid, columns of
derivatives. The part that A cannot reach is what is left of b after K steps, (mu (A + mu)^-1)^K b;
it is computed in this form, in which rounding errors are smallest, and subtracted before. In
float32, u is 6e-8 and EPS = 2^-12 (2.4e-4): noise of 1e-3, and errors below 1e-2 where
sigma > 4e-4.

**Margin.** Where a pivot of the scaled A is below MARGIN, rounding and damping decide the digits of
x, so x is not a number there (plain floats raise an error), rather than a wrong one. A pivot is the
square of the distance of a row from those eliminated before, relative to its typical length: about
the square of the angle from a dead centre, 1.7e-4 rad for MARGIN. The smallest eigenvalue sigma is
smaller than the smallest pivot, 14 times for a slider-crank with equal bars. Up to 40 times, the
relative error of accelerations and forces is below 1e-5. Where A is singular everywhere, as many
pivots as it has independent rows must be above DEPENDENT_MARGIN, 64 times DEPENDENT_EPS.

Among all lambda with the same J^T lambda, the one of least norm is in the range of G = J J^T. The
part of any of them that G cannot reach is subtracted in the same way, with mu the same for all
rows, so that the norm is not weighted; and once more, which removes rounding errors of the first.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.errors import SingularityError
from kinetree.scalars import absolute, where
from kinetree.spatial.matrices import Column, Factor, factor, is_zero, product, solve

EPS = 2.0**-36
STEPS = 3
DEPENDENT_EPS = 2.0**-26
DEPENDENT_STEPS = 6
MARGIN = 2.0**-25  # of a typical diagonal of A: the least pivot for which results are given
DEPENDENT_MARGIN = 2.0**-20
DEPENDENT_EPS_FLOAT32 = 2.0**-12
DEPENDENT_MARGIN_FLOAT32 = 2.0**-6
MARGIN_FLOAT32 = 2.0**-14  # errors there are below 1e-2
LEAST_PIVOT = 2.0**-40  # of the diagonal: columns closer than 1e-6 rad to the span of others
LEAST_PIVOT_FLOAT32 = 2.0**-18


class Proximal:
    """A symmetric positive matrix A, (m, m), factored once for any number of right sides.

    Args:
        scales: typical values of its diagonal, (m,).
        names: names of its rows, for messages.
        dependent: whether A has less than full rank everywhere.
        rank: number of rows that are independent in general; None: results are given at singular
            positions too, where they are damped.
        margin: MARGIN, or the part of it that the weights of the rows leave.
    """

    def __init__(
        self,
        A: Array,
        scales: Sequence[Any],
        names: Sequence[str],
        *,
        dependent: bool = False,
        rank: int | None = None,
        margin: float = MARGIN,
    ) -> None:
        self.A, self.dependent = A, dependent
        self.rounds = has_floats(A)
        self.mu: list[Any] = []
        raised = A
        if self.rounds:
            part = dependent_part(A[0, 0] + scales[0]) if dependent else EPS
            self.mu = [part * s for s in scales]
            mu = [[x if i == j else 0 for j in range(len(A))] for i, x in enumerate(self.mu)]
            raised = A + np.array(mu, dtype=object).reshape(A.shape)
        self.factor: Factor = factor(raised, [f"constraint row {name!r}" for name in names])
        self.sound: Any = 1
        if self.rounds and rank is not None:
            single = max(margin, MARGIN_FLOAT32)
            least = (DEPENDENT_MARGIN, DEPENDENT_MARGIN_FLOAT32) if dependent else (margin, single)
            self.sound = _sound(self.factor.D, scales, rank, least, names)

    def solve(self, b: Array) -> Array:
        """X of A x = b; b is (m,) or (m, k)."""
        if not self.rounds:
            return solve(self.factor, b)
        if not self.dependent:
            return self.steps(b, STEPS) * self.sound
        return self.steps(self.reached(b), DEPENDENT_STEPS) * self.sound

    def steps(self, b: Array, count: int) -> Array:
        """X after a number of proximal steps."""
        x = solve(self.factor, b)
        for _ in range(count - 1):
            x = x + solve(self.factor, b - self.A @ x)
        return x

    def reached(self, b: Array) -> Array:
        """B without the part that A, which is dependent, cannot reach."""
        left = b
        for _ in range(DEPENDENT_STEPS):
            left = (solve(self.factor, left).T * np.array(self.mu, dtype=object)).T
        return b - left


def _sound(
    pivots: Sequence[Any], scales: Sequence[Any], rank: int, margins: tuple[float, float],
    names: Sequence[str],
) -> Any:  # fmt: skip
    """1, or NaN where fewer than `rank` pivots are above the margin; plain floats raise.

    margins: of float64 and of float32.
    """
    one = pivots[0] + scales[0] if len(pivots) else 1  # positive, of the type of the results
    least = float_choice(one, *margins)
    above = [pivot - least * s for pivot, s in zip(pivots, scales, strict=True)]
    if all(isinstance(x, float) for x in above):
        clear = [x > 0 for x in above]
        if not all(map(math.isfinite, above)) or clear.count(True) >= rank:
            return 1
        worst = min(range(len(above)), key=lambda k: above[k] / scales[k])
        raise SingularityError(
            f"the position is singular, or nearly: constraint row {names[worst]!r} has "
            f"{max(pivots[worst] / scales[worst], 0.0):.2g} of its typical effect that the others "
            f"do not have, and results need {margins[0]:.2g} (the square of the angle from a dead "
            "centre, about). Move the mechanism away from it."
        )
    if rank == len(above):
        sound: Any = 1
        for x in above:
            sound = where(x, sound, 0)
        return one_or_nan(sound)
    count = sum((where(x, 1, 0) for x in above), 0)
    return one_or_nan(where(count - (rank - 0.5), 1, 0))


def dependent_part(x: Any) -> Any:
    """The part of the diagonal that is added where A is singular everywhere, for the type of x."""
    return float_choice(x, DEPENDENT_EPS, DEPENDENT_EPS_FLOAT32)


def least_norm(J: Array, lam: Array, names: Sequence[str]) -> Array:
    """The forces of least norm with the same J^T lambda; floats, and J of less than full rank."""
    G = gram(J, [1] * J.shape[1])
    trace = sum(G.diagonal())
    proximal = Proximal(G, [trace] * len(G), names, dependent=True)
    return proximal.reached(proximal.reached(lam))


def has_floats(*arrays: Array) -> bool:
    """Return True for numbers that round: floats of any size, and traced scalars."""
    kinds = {type(x) for a in arrays for x in np.ravel(np.asarray(a, dtype=object))}
    return any(
        issubclass(k, float | np.floating) or k.__module__.startswith("kinetree") for k in kinds
    )


def entries(row: Array) -> Column:
    """Entries of a row by their places, without exact zeros."""
    if row.dtype == np.float64:
        places = row.nonzero()[0]
        return dict(zip(places.tolist(), row[places].tolist(), strict=True))
    return {d: x for d, x in enumerate(row.tolist()) if not is_zero(x)}


def symmetric_product(B: Array, C: Array) -> Array:
    """B C^T, (m, m), which is known to be symmetric; mirrored entries are computed once."""
    m, left, right = len(B), [entries(row) for row in B], [entries(row) for row in C]
    half = [[product(left[a], right[b]) for b in range(a + 1)] for a in range(m)]
    full = [[half[max(a, b)][min(a, b)] for b in range(m)] for a in range(m)]
    return np.array(full, dtype=object).reshape(m, m)


def gram(J: Array, weights: Sequence[Any]) -> Array:
    """J diag(weights) J^T, (m, m), symmetric to the last digit."""
    return symmetric_product(J * np.array(weights, dtype=object), J)


def solve_general(B: Array, C: Array, names: Sequence[str] = ()) -> tuple[Array, Any]:
    """X of B X = C for B (m, k) of rank k and C (m, c), and a factor: 1, or NaN if X is not unique.

    The normal equations B^T B X = B^T C need no choice of pivots. Numbers that round take two steps
    of refinement with the residual of the equations themselves. A pivot, divided by the diagonal,
    is the square of the sine of the angle between a column of B and those eliminated before.
    Refinement removes the rounding errors of the factor where it is above LEAST_PIVOT; below, X is
    not determined to the digits that it has, and the factor is NaN, since straight-line code cannot
    raise an error. Rows of B beyond k agree with the others.

    names: names of the entries of X, for the error that plain floats raise.
    """
    G = gram(B.T, [1] * len(B))
    try:
        normal = factor(G, [f"rate {k}" for k in range(len(G))])
    except SingularityError as problem:
        raise not_determined(names) from problem
    if not has_floats(B):
        return solve(normal, B.T @ C), 1
    least = float_choice(G[0, 0], LEAST_PIVOT, LEAST_PIVOT_FLOAT32) if len(G) else 0
    sound: Any = 1
    for k, pivot in enumerate(normal.D):
        if is_zero(G[k, k] - pivot):
            continue  # the column is orthogonal to the others at every position
        above = pivot - least * G[k, k]
        if isinstance(above, float) and not above > 0:
            raise not_determined(names)
        sound = where(above, sound, 0)
    X = solve(normal, B.T @ C)
    for _ in range(STEPS - 1):
        X = X + solve(normal, B.T @ (C - B @ X))
    return X, one_or_nan(sound)


def not_determined(names: Sequence[str]) -> SingularityError:
    """The error for rates that do not follow from the independent ones."""
    return SingularityError(
        f"the rates of {listing(list(names), 8)} do not follow from the independent joints at this "
        "position (a dead centre, or a singular position); choose other independent joints, "
        "robot.constrained(..., independent=[...]), or another position."
    )


def one_or_nan(sound: Any) -> Any:
    """1 for 1, and not a number for 0, in code without branches."""
    return sound if isinstance(sound, int) else absolute(sound) / sound


def float_choice(x: Any, double: float, single: float) -> Any:
    """One number where a positive x is a float64, and another one where it is a float32."""
    t = x * 2.0**-100  # its square is zero in float32
    return where(t * t, double, single)
