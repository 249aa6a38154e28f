"""M(q) by composite bodies, its inverse, and M^-1 times a matrix.

Everything beyond joint i moves with it as one body, whose mass moments are summed from the leaves
inward. Its momentum for unit rate of the joint is carried inward and projected on the axes of the
ancestors. Entries of unrelated joints are exact zeros. `textbook` has M by Jacobians and by n
calls of inverse dynamics, to check against.

For the inverse M is factored as L^T D L without fill and solved for the columns of the unit matrix,
whose zeros the elimination skips. One half of the inverse is computed and mirrored, so that it is
symmetric to the last digit.
"""

from collections.abc import Callable

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.drive_terms import Matrix, add_drives_to_mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import Pair, Step, Tree, body_onto
from kinetree.model.quantity import quantity
from kinetree.spatial.inertia import Moments
from kinetree.spatial.matrices import mirrored_half, solve


@quantity(
    "q -> M: n n",
    meaning="mass matrix with armature and rotors, symmetric",
    unit="kg m^2, kg m or kg by the types of the joints",
    formula="M(q)",
)
def mass_matrix(tree: Tree) -> Array:
    """Mass matrix M(q), the inertia of the robot as its joints see it.

    Example:
        >>> robot.mass_matrix([0.1, 0.2]).round(3)
        array([[43.137, 10.789],
               [10.789,  3.34 ]])
    """
    n = tree.model.n
    M: Matrix = [[0] * n for _ in range(n)]
    bodies = {i: link.body for i, link in enumerate(tree.links)}
    for i, body in tree.inward(bodies, body_onto, after=True):
        link = tree.links[i]
        for k, column in enumerate(link.dofs):
            momentum = unit_momentum(body, link.A[:3, k], link.A[3:, k])
            _add_column(tree, M, i, column, *momentum)
    add_drives_to_mass_matrix(tree, M)
    # of objects: entries of unrelated joints stay integers 0, zeros by structure when M is factored
    return np.array(M, dtype=object).reshape(n, n)


def _add_column(tree: Tree, M: Matrix, i: int, column: int, f: Array, n: Array) -> None:
    """Add entries in `column` for joint i and its ancestors, from momentum (f, n) in frame i."""
    for j in tree.path_inward(i):
        link = tree.links[j]
        entries, f, n = pass_momentum(link.to, link.A, f, n)
        for row, entry in zip(link.dofs, entries, strict=True):
            if j == i and row > column:
                continue  # the other half of the joint's own block follows from its own column
            M[row][column] = M[row][column] + entry
            if (j, row) != (i, column):
                M[column][row] = M[column][row] + entry


def unit_momentum(body: Moments, w: Array, l: Array) -> Pair:
    """The momentum of a body for a unit rate of its joint along (w, l)."""
    return body.momentum(w, l)


def pass_momentum(to: Step, A: Array, f: Array, n: Array) -> tuple[Array, Array, Array]:
    """A momentum on a joint's axes, (k,), and as the parent's: f and n."""
    return A.T @ np.concatenate([n, f]), *to.pair_inward(f, n)


@quantity(
    "q -> M_inv: n n",
    meaning="inverse of the mass matrix, symmetric",
    unit="1/(kg m^2) or the like",
    formula="M(q)^-1",
    solves=True,
)
def inverse_mass_matrix(tree: Tree) -> Array:
    """Inverse of the mass matrix, M(q)^-1: joint accelerations for unit joint forces.

    Example:
        >>> robot.inverse_mass_matrix([0.1, 0.2]).round(3)
        array([[ 0.121, -0.39 ],
               [-0.39 ,  1.558]])
    """
    return mirrored_half(mass_solver(tree)(np.eye(tree.model.n, dtype=int)))


def mass_solver(tree: Tree, M: Array | None = None) -> Callable[[Array], Array]:
    """Return the function that solves M X = B for X, (n,) or (n, k); M: if it is known already."""
    M = mass_matrix(tree) if M is None else M
    factor = factor_mass_matrix(tree.model, M)
    return lambda B: solve(factor, B)
