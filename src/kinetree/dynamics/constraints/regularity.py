"""Singular positions: mechanisms that have no others are refused, and the margin of a position.

First derivatives decide the motion of a mechanism where its closed positions near q form a surface
whose tangent vectors t are those with J t = 0. Where a motion begins with such a t, its second
derivative a satisfies J a + gamma(q, t) = 0. So gamma(q, t) must be a sum of columns of J for every
t, and a random t shows whether it is.

It is not at a singular position. Most mechanisms have single ones: dead centres, and positions in
which branches of the motion cross. A mechanism that is stretched to its limit (a four-bar whose
base is as long as the other three bars together, a rod at full reach) has no other positions.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.dynamics import eliminated_rows
from kinetree.dynamics.constraints.ranks import Singular, beside, decomposed
from kinetree.dynamics.constraints.samples import Samples
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.errors import InputError, SingularityError
from kinetree.model import Model
from kinetree.model.constrain import constraints_of
from kinetree.model.constraints import Constraints

# part of gamma of a constraint outside the columns of J that counts as more than rounding; 0.1 to 1
# where the mechanism is stretched
BENT = 1e-4
NOISE = 1e-9  # the same relative to J t, for mechanisms in which gamma vanishes


@dataclass(frozen=True, eq=False)
class ClosedPosition:
    """A position on the constraints, (nq,), with J, (m, n), M, and J L^-1 D^-1/2, (m, n).

    The rows of the latter have the lengths of those of J M^-1/2, with M = L^T D L.
    """

    q: Array
    J: Array
    M: Array
    measured: Array


def closed_at(model: Model, q: Array) -> ClosedPosition:
    """J and M at a position of a model of floats.

    Raises:
        SingularityError: a joint moves no inertia; the message names it.
    """
    tree = book_tree(model, q)
    J, M = tree_constraints(tree, placed(model), q).J.astype(float), mass_matrix(tree).astype(float)
    try:
        factor = factor_mass_matrix(model, M)
    except SingularityError as problem:
        raise SingularityError(
            f"constrained motion of {model.name!r} needs a mass matrix that is not singular: "
            f"{problem}"
        ) from problem
    measured = eliminated_rows(factor, J)[0].astype(float) / np.sqrt(np.array(factor.D, float))
    return ClosedPosition(q, J, M, measured)


def check_regular(model: Model, samples: Samples) -> None:
    """Raise InputError unless first derivatives decide the motion at some position."""
    constraints, sizes = constraints_of(model, "mobility"), samples.sizes
    owners = [constraints.owner(row) for row in range(len(sizes.rows))]
    spaces = [sample_space(model, samples, q) for q in samples.positions]
    rank, row = max(len(x.s) for x in spaces), 0
    for k, (q, space) in enumerate(zip(samples.positions, spaces, strict=True)):
        if len(space.s) < rank:
            continue
        t = sizes.rates * beside(space.V, np.random.default_rng((2017, k)).normal(size=model.n))
        gamma = tree_constraints(book_tree(model, q), placed(model), q, t).gamma / sizes.rows
        largest = np.array([np.abs(gamma[[x == y for y in owners]]).max() for x in owners])
        noise = NOISE * np.abs(t).max(initial=0)
        missed = np.abs(beside(space.U, gamma.astype(float))) - BENT * largest - noise
        if (missed <= 0).all():
            return
        row = int(np.argmax(missed))
    raise InputError(
        f"the constraints {listing(list(constraints.given), 8)} of {model.name!r} can be closed "
        f"only in singular positions, such as bars stretched to their full reach: row "
        f"{constraints.row_names[row]!r} of constraint {owners[row]!r} loses its effect there, and "
        "accelerations and forces do not follow from the constraints. Make a bar or a rod longer "
        "or shorter, so that the mechanism is not at its limit; or describe joints that cannot "
        "move as fixed joints, and angles that cannot change as couplings."
    )


def sample_space(model: Model, samples: Samples, *positions: Array) -> Singular:
    """Singular values of J without units, of several positions side by side."""
    sizes, items = samples.sizes, placed(model)
    trees = ((book_tree(model, q), q) for q in positions)
    Js = [tree_constraints(tree, items, q).J.astype(float) * sizes.rates for tree, q in trees]
    return decomposed(np.concatenate(Js, axis=1) / sizes.rows[:, None], 0.0, samples.least)


def distance(model: Model, at: ClosedPosition) -> float:
    """The least eigenvalue of all systems that dynamics solves at a position: 0 at singular ones.

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
    return min(float(np.linalg.svd(A, compute_uv=False)[rank - 1]) ** 2 for A in systems)


def weakest(model: Model, q: Array) -> tuple[str, float]:
    """The constraint that loses its effect first at a position, and its margin."""
    constraints = constraints_of(model, "weakest")
    rows, scales = list(constraints.kept), np.sqrt(np.array(constraints.scales))
    at = closed_at(model.astype(float), q)
    U, s, _ = np.linalg.svd(at.measured[rows] / scales[:, None], full_matrices=False)
    last = len(constraints.basis) - 1
    row = rows[int(np.argmax(np.abs(U[:, last])))]
    return constraints.owner(row), float(s[last]) ** 2


def margin(constraints: Constraints, J: Array, M: Array) -> Array:
    """The smallest eigenvalue of A = J M^-1 J^T, relative to its typical diagonal.

    J: the Jacobian of all rows, shape (..., m, n). M: the mass matrix, shape (..., n, n).
    """
    rows, rank = list(constraints.kept), len(constraints.basis)
    measured = np.linalg.solve(np.linalg.cholesky(M), np.swapaxes(J[..., rows, :], -1, -2))
    values = np.linalg.svd(measured / np.sqrt(constraints.scales), compute_uv=False)
    return values[..., rank - 1] ** 2
