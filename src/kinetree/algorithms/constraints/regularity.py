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
root of rounding only, about 1e-8, where the singular values of J are about 1e-8 instead of zero.
Therefore they are compared with the size of the rows of J at open positions nearby, and those below
1e-6 of it count as zero.
"""

from collections.abc import Sequence

import numpy as np

from kinetree.algorithms.book import book_tree
from kinetree.algorithms.configuration import integrate
from kinetree.algorithms.constraints.closures import placed, tree_constraints
from kinetree.base.arrays import Array
from kinetree.base.tables import listing
from kinetree.errors import InputError, SingularityError
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.model import Model
from kinetree.model.constraints import Constraints

RANK = 1e-6  # singular values below this part of the largest one count as zero
OPENED = 3  # open positions that give the size of the rows
APART = 0.1  # their distance from closed ones, rad or m
BENT = 1e-4  # part of gamma outside the columns of J that counts as more than rounding
NOISE = 1e-9  # the same relative to J t, for mechanisms in which gamma vanishes


def mass_root(model: Model, M: Array) -> Array:
    """The lower triangular L with M = L L^T of floats, (n, n).

    Raises:
        SingularityError: a joint moves no inertia; the message names it.
    """
    try:
        factor_mass_matrix(model, M)
        return np.linalg.cholesky(M)
    except SingularityError as problem:
        raise SingularityError(
            f"constrained motion of {model.name!r} needs a mass matrix that is not singular: "
            f"{problem}"
        ) from problem
    except np.linalg.LinAlgError as problem:
        raise SingularityError(
            f"the mass matrix of {model.name!r} is singular to rounding at a closed position. "
            "Give every link that a joint moves some mass, or the joint armature."
        ) from problem


def check_regular(
    model: Model, found: Constraints, closed: Sequence[tuple[Array, Array]], roots: Sequence[Array]
) -> None:
    """Raise InputError if first derivatives do not decide the motion at any of the positions.

    Args:
        model: the tree, of floats.
        found: its constraints.
        closed: closed positions, each with J, (m, n).
        roots: `mass_root` at each of them.
    """
    items = placed(model.replace(constraints=found))
    sizes = _row_sizes(model, found, closed, roots)
    pairs = zip(roots, (J for _, J in closed), strict=True)
    parts = [np.linalg.svd(np.linalg.solve(L, J.T).T / sizes[:, None]) for L, J in pairs]
    ranks = [int(np.sum(s > RANK * max(1.0, s.max(initial=0)))) for _, s, _ in parts]
    worst, opened = 0, 0.0
    for k, (q, _) in enumerate(closed):
        rank, (U, _, Vt) = ranks[k], parts[k]
        if rank < max(ranks):
            continue
        tangents, missed = Vt[rank:], U[:, rank:]
        if not tangents.size or not missed.size:
            return
        turn = np.random.default_rng((2017, k)).normal(size=len(tangents))
        t = np.linalg.solve(roots[k].T, tangents.T @ turn / np.linalg.norm(turn))
        bent = tree_constraints(book_tree(model, q), items, q, t).gamma.astype(float) / sizes
        outside = missed @ (missed.T @ bent)
        largest = float(np.abs(outside).max())
        if largest <= BENT * float(np.abs(bent).max()) + NOISE * float(np.abs(t).max()):
            return
        if largest > opened:
            worst, opened = int(np.argmax(np.abs(outside))), largest
    names = listing(list(found.given), 8)
    raise InputError(
        f"the constraints {names} of {model.name!r} can be closed only in singular positions, such "
        f"as bars stretched to their full reach: row {found.row_names[worst]!r} of constraint "
        f"{found.owner(worst)!r} loses its effect there, and accelerations and forces do not "
        "follow from the constraints. Make a bar or a rod longer or shorter, so that the mechanism "
        "is not at its limit; or describe joints that cannot move as fixed joints, and angles that "
        "cannot change as couplings."
    )


def _row_sizes(
    model: Model, found: Constraints, closed: Sequence[tuple[Array, Array]], roots: Sequence[Array]
) -> Array:
    """Typical lengths of the rows of J M^-1/2 at closed and open positions; inf for idle rows."""
    items = placed(model.replace(constraints=found))
    squares: list[Array] = []
    for k, ((q, J), L) in enumerate(zip(closed[:OPENED], roots[:OPENED], strict=True)):
        away = integrate(model, q, np.random.default_rng((17, k)).normal(size=model.n) * APART)
        opened = tree_constraints(book_tree(model, away), items, away).J.astype(float)
        squares += [np.sum(np.linalg.solve(L, x.T) ** 2, axis=0) for x in (J, opened)]
    sizes = np.sqrt(np.mean([x for x in squares if np.isfinite(x).all()], axis=0))
    return np.where(sizes > 1e-9 * sizes.max(initial=0), sizes, np.inf)


def margin(given: Constraints, J: Array, M: Array) -> Array:
    """The smallest eigenvalue of A = J M^-1 J^T, relative to its typical diagonal.

    Args:
        given: the constraints, with their choices.
        J: the Jacobian of all rows, shape (..., m, n).
        M: the mass matrix, shape (..., n, n).
    """
    rows, rank = list(given.kept), len(given.basis)
    measured = np.linalg.solve(np.linalg.cholesky(M), np.swapaxes(J[..., rows, :], -1, -2))
    values = np.linalg.svd(measured / np.sqrt(given.scales), compute_uv=False)
    return values[..., rank - 1] ** 2
