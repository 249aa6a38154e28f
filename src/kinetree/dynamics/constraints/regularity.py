"""Singular positions: mechanisms that have no others are refused, and the margin of a position.

First derivatives decide the motion of a mechanism where its closed positions near q form a surface
whose tangent vectors t are those with J t = 0. Where a motion begins with such a t, its second
derivative a satisfies J a + gamma(q, t) = 0. So gamma(q, t) must be a sum of columns of J for every
t, and a random t shows whether it is.

It is not at a singular position. Most mechanisms have single ones: dead centres, and positions in
which branches of the motion cross. A mechanism that is stretched to its limit (a four-bar whose
base is as long as the other three bars together, a rod at full reach) has no other positions: J has
a lower rank at every one of them, though the mechanism cannot move along t, and forces and
accelerations do not follow from J and gamma. Newton's method reaches such a position to the square
root of rounding only, about 1e-8, where rows of J are about 1e-8 instead of zero. Therefore they
are compared with the size of the rows of J at open positions nearby, and those below RANK of it
count as zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, plain_floats, tree_constraints
from kinetree.dynamics.constraints.dynamics import eliminated_rows
from kinetree.dynamics.constraints.row_space import dots, outside, row_space
from kinetree.dynamics.joints.configuration import integrate
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.errors import InputError, SingularityError
from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.model.constraints import Closure, Constraints, Coupling
from kinetree.spatial.matrices import Factor, solve_outward

# rows closer to the span of others than this part of their length count as dependent. A mechanism
# that is always singular comes down to 2e-6 at most (the square root of rounding, over APART), one
# that can be moved by 1e-6 of its size stays above 1e-3
RANK = 3e-5
OPENED = 3  # open positions that give the size of the rows
APART = 0.1  # their distance from closed ones, rad or m
# part of gamma of a constraint outside the columns of J that counts as more than rounding; 0.1 to 1
# where the mechanism is stretched, 1e-3 for lengths of a file with eight digits
BENT = 1e-2
NOISE = 1e-9  # the same relative to J t, for mechanisms in which gamma vanishes


class OnlySingularError(InputError):
    """Constraints that can be closed in singular positions only."""


@dataclass(frozen=True, eq=False)
class ClosedPosition:
    """A position on the constraints: q, (nq,); J, (m, n); M and its factor; J M^-1/2, (m, n)."""

    q: Array
    J: Array
    M: Array
    factor: Factor
    measured: Array


def closed_at(model: Model, q: Array, J: Array) -> ClosedPosition:
    """Measure the rows of J, (m, n), at a position of a model of floats.

    Raises:
        SingularityError: a joint moves no inertia; the message names it.
    """
    M = np.asarray(mass_matrix(book_tree(model, q)), float)
    try:
        factor = factor_mass_matrix(model, M)
    except SingularityError as problem:
        raise SingularityError(
            f"constrained motion of {model.name!r} needs a mass matrix that is not singular: "
            f"{problem}"
        ) from problem
    return ClosedPosition(q, J, M, factor, measured(factor, J))


def measured(M: Factor, J: Array) -> Array:
    """J L^-1 D^-1/2 with M = L^T D L, (m, n): its rows have the lengths of those of J M^-1/2."""
    return eliminated_rows(M, J)[0].astype(float) / np.sqrt(np.array(M.D, float))


def check_regular(model: Model, constraints: Constraints, closed: Sequence[ClosedPosition]) -> None:
    """Raise OnlySingularError unless first derivatives decide the motion at some position."""
    items = placed(model.replace(constraints=constraints))
    sizes = _row_sizes(model, items, closed)
    spaces = [row_space(at.measured / sizes[:, None], RANK, RANK) for at in closed]
    rank = max(space.rank for space in spaces)
    worst, opened, owners = 0, 0.0, [constraints.owner(row) for row in range(len(sizes))]
    for k, (at, space) in enumerate(zip(closed, spaces, strict=True)):
        if space.rank < rank:
            continue
        if rank in (model.n, len(sizes)):
            return
        turn = space.across(np.random.default_rng((2017, k)).normal(size=model.n))
        t = solve_outward(at.factor, turn * np.sqrt(np.array(at.factor.D, float)))
        t = t / float(np.sqrt(dots(turn, turn)))
        bent = tree_constraints(book_tree(model, at.q), items, at.q, t).gamma.astype(float) / sizes
        missed, noise = np.abs(outside(space, bent)), NOISE * float(np.abs(t).max())
        largest = [float(np.abs(bent[[o == owner for o in owners]]).max()) for owner in owners]
        too_much = missed - BENT * np.array(largest) - noise
        if (too_much <= 0).all():
            return
        if too_much.max() > opened:
            worst, opened = int(np.argmax(too_much)), float(too_much.max())
    names = listing(list(constraints.given), 8)
    raise OnlySingularError(
        f"the constraints {names} of {model.name!r} can be closed only in singular positions, such "
        f"as bars stretched to their full reach: row {constraints.row_names[worst]!r} of "
        f"constraint {constraints.owner(worst)!r} loses its effect there, and accelerations and "
        "forces do not follow from the constraints. Make a bar or a rod longer or shorter, so that "
        "the mechanism is not at its limit; or describe joints that cannot move as fixed joints, "
        "and angles that cannot change as couplings."
    )


def _row_sizes(
    model: Model, items: Sequence[Closure | Coupling], closed: Sequence[ClosedPosition]
) -> Array:
    """Typical lengths of the rows of J M^-1/2 at closed and open positions; inf for idle rows."""
    around = opened(model, items, closed)
    pairs = zip(closed, around, strict=False)
    squares = [dots(x.measured, x.measured) for pair in pairs for x in pair]
    sizes = np.sqrt(np.mean([x for x in squares if np.isfinite(x).all()], axis=0))
    return np.where(sizes > 1e-9 * sizes.max(initial=0), sizes, np.inf)


def opened(
    model: Model, items: Sequence[Closure | Coupling], closed: Sequence[ClosedPosition]
) -> list[ClosedPosition]:
    """Open positions near some closed ones, with J there, measured by M of the closed ones."""
    around: list[ClosedPosition] = []
    for k, at in enumerate(closed[:OPENED]):
        q = integrate(model, at.q, np.random.default_rng((17, k)).normal(size=model.n) * APART)
        J = tree_constraints(book_tree(model, q), items, q).J.astype(float)
        around.append(replace(at, q=q, J=J, measured=measured(at.factor, J)))
    return around


def distance(model: Model, at: ClosedPosition) -> float:
    """The least pivot of all systems that dynamics solves at a position: 0 at singular ones.

    These are the constraints themselves, the rates that follow from the independent ones, and the
    forces that follow from the motors where the joints without motors decide them.
    """
    constraints = constraints_of(model, "distance")
    rows, rank = list(constraints.kept), len(constraints.basis)
    scales = np.sqrt(np.array(constraints.scales))[:, None]
    followers = [d for d in range(model.n) if d not in constraints.independent]
    systems = [at.measured[rows] / scales]
    systems.append((at.J[rows] / scales / np.sqrt(np.diag(at.M)))[:, followers])
    if constraints.passive:
        u = [d for d in range(model.n) if d not in constraints.actuated]
        systems.append(at.J[rows][:, u] / np.sqrt(np.array(constraints.force_scales))[:, None])
    pivots = [row_space(A, 0.0).pivots for A in systems]
    return min(x[rank - 1] ** 2 if len(x) >= rank else 0.0 for x in pivots)


def weakest(model: Model, q: Array) -> tuple[str, float]:
    """The constraint that loses its effect first at a position, and its pivot (solve.py)."""
    constraints, plain = constraints_of(model, "weakest"), plain_floats(model)
    J = tree_constraints(book_tree(plain, q), placed(plain), q).J.astype(float)
    rows, rank = list(constraints.kept), len(constraints.basis)
    measured = (
        closed_at(plain, q, J).measured[rows] / np.sqrt(np.array(constraints.scales))[:, None]
    )
    space = row_space(measured, 0.0)
    if space.rank < rank:
        row = next(row for row in range(len(rows)) if row not in space.rows)
        return constraints.owner(rows[row]), 0.0
    return constraints.owner(rows[space.rows[rank - 1]]), space.pivots[rank - 1] ** 2


def margin(constraints: Constraints, J: Array, M: Array) -> Array:
    """The smallest eigenvalue of A = J M^-1 J^T, relative to its typical diagonal.

    J: the Jacobian of all rows, shape (..., m, n). M: the mass matrix, shape (..., n, n).
    """
    rows, rank = list(constraints.kept), len(constraints.basis)
    measured = np.linalg.solve(np.linalg.cholesky(M), np.swapaxes(J[..., rows, :], -1, -2))
    values = np.linalg.svd(measured / np.sqrt(constraints.scales), compute_uv=False)
    return values[..., rank - 1] ** 2
