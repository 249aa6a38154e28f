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

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.drive_terms import Matrix, add_drives_to_mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.traced import over_tree
from kinetree.dynamics.tree import Pair, Step, Tree, body_onto
from kinetree.model import Model
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result
from kinetree.spatial.inertia import Moments
from kinetree.spatial.matrices import mirrored_half, solve


@labelled("n", "n")
def mass_matrix(model: Model, q: StateLike) -> Array:
    """M(q), (n, n), symmetric positive definite, armature and rotors included."""
    M = tree_mass_matrix(book_tree(model, q))
    return np.array(M.tolist()).reshape(model.n, model.n)


def tree_mass_matrix(tree: Tree) -> Array:
    """M(q), (n, n), with armature and rotors.

    It is an array of objects, so that entries of unrelated joints stay integers 0, which
    `factor_mass_matrix` takes as zeros by structure.
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


@labelled("n", "n")
def inverse_mass_matrix(model: Model, q: StateLike) -> Array:
    """M(q)^-1, (n, n), symmetric: accelerations for unit joint forces, armature included.

    Raises:
        SingularityError: a joint moves no inertia; the message names it.
    """
    M_inv = tree_inverse_mass_matrix(book_tree(model, q))
    return np.array(M_inv.tolist()).reshape(model.n, model.n)


def tree_inverse_mass_matrix(tree: Tree) -> Array:
    """M^-1, (n, n)."""
    return mirrored_half(mass_solver(tree)(np.eye(tree.model.n, dtype=int)))


def mass_solver(tree: Tree, M: Array | None = None) -> Callable[[Array], Array]:
    """Return the function that solves M X = B for X, (n,) or (n, k); M: if it is known already."""
    M = tree_mass_matrix(tree) if M is None else M
    factor = factor_mass_matrix(tree.model, M)
    return lambda B: solve(factor, B)


MASS_MATRIX = Quantity(
    "mass_matrix", "q",
    (
        Result(
            "M", "n n", "mass matrix with armature and rotors, symmetric",
            "kg m^2, kg m or kg by the types of the joints",
        ),
    ),
    "Mass matrix M(q), the inertia of the robot as its joints see it.",
    "M(q)",
    over_tree(tree_mass_matrix, 0),
    (
        "robot.mass_matrix([0.1, 0.2]).round(3)",
        "array([[43.137, 10.789],\n       [10.789,  3.34 ]])",
    ),
)  # fmt: skip
INVERSE_MASS_MATRIX = Quantity(
    "inverse_mass_matrix", "q",
    (Result("M_inv", "n n", "inverse of the mass matrix, symmetric", "1/(kg m^2) or the like"),),
    "Inverse of the mass matrix, M(q)^-1: joint accelerations for unit joint forces.",
    "M(q)^-1",
    over_tree(tree_inverse_mass_matrix, 0),
    (
        "robot.inverse_mass_matrix([0.1, 0.2]).round(3)",
        "array([[ 0.121, -0.39 ],\n       [-0.39 ,  1.558]])",
    ),
    solves=True,
)  # fmt: skip
