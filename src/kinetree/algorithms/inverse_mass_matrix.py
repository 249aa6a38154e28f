"""M(q)^-1, and M^-1 times a matrix: the one place where task-space quantities solve with M.

M is factored as L^T D L without fill and solved for the columns of the unit matrix, whose zeros the
elimination skips. One half of the inverse is computed and mirrored, so that the result is symmetric
to the last digit.
"""

from collections.abc import Callable

import numpy as np

from kinetree.algorithms.book import book_tree
from kinetree.algorithms.lean import over_tree
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.algorithms.textbook.newton_euler import factor_mass_matrix
from kinetree.algorithms.tree import Tree
from kinetree.base.arrays import Array, StateLike
from kinetree.model import Model
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result
from kinetree.spatial.matrices import solve


@labelled("n", "n")
def inverse_mass_matrix(model: Model, q: StateLike) -> Array:
    """M(q)^-1, (n, n), symmetric: accelerations for unit joint forces, armature included.

    Raises:
        SingularityError: a joint moves no inertia; the message names it.
    """
    found = tree_inverse_mass_matrix(book_tree(model, q))
    return np.array(found.tolist()).reshape(model.n, model.n)


def tree_inverse_mass_matrix(tree: Tree) -> Array:
    """M^-1, (n, n)."""
    n = tree.model.n
    return mirrored_half(mass_solver(tree)(np.eye(n, dtype=int)))


def mass_solver(tree: Tree, M: Array | None = None) -> Callable[[Array], Array]:
    """Return the function that solves M X = B for X; B is (n,) or (n, k).

    Args:
        tree: the robot at one position.
        M: its mass matrix if it is known already; None: it is computed.
    """
    factor = factor_mass_matrix(tree.model, tree_mass_matrix(tree) if M is None else M)
    return lambda B: solve(factor, B)


def mirrored_half(X: Array) -> Array:
    """X with the entries below the diagonal mirrored above it, (n, n).

    The entries above the diagonal are then computed by no code that is compiled.
    """
    n = len(X)
    rows = [[X[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    return np.array(rows, dtype=object).reshape(n, n)


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
