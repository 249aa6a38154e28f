"""M(q) by composite bodies, its inverse, and M^-1 times a matrix.

Everything beyond joint i moves with it as one body, whose mass moments are summed from the leaves
inward. Its momentum for unit rate of the joint is carried inward and projected on the axes of the
ancestors. Entries of unrelated joints are exact zeros. `textbook` has M by Jacobians and by n
calls of inverse dynamics, to check against.

For the inverse M is factored as L^T D L without fill and solved for the columns of the unit matrix,
whose zeros the elimination skips. A large robot takes articulated bodies (`elimination.py`), or, if
rotors, mimic joints or joints of several degrees of freedom tie joints together, inverts L in
tiles. One half of the inverse is computed and mirrored, so that it is symmetric to the last digit.
"""

from collections.abc import Callable

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.pieces import is_recording
from kinetree.dynamics.articulated import joint_inertia
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tiles import LARGE_TILE, factor_in_tiles
from kinetree.dynamics.traced import over_tree
from kinetree.dynamics.tree import Tree
from kinetree.model import Model
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result
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
    return joint_inertia(tree, tree.each(lambda link, _: link.body))[0]


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
    n = tree.model.n
    if is_recording():  # of a large robot, as pieces
        from kinetree.dynamics.elimination import accelerations_of_unit_forces
        from kinetree.dynamics.grouping import finest

        groups = finest(tree.model)
        if all(group.is_hinge for group in groups):
            return accelerations_of_unit_forces(tree, groups)
        return mirrored_half(factor_in_tiles(tree_mass_matrix(tree), LARGE_TILE).inverse())
    return mirrored_half(mass_solver(tree)(np.eye(n, dtype=int)))


def mass_solver(tree: Tree, M: Array | None = None) -> Callable[[Array], Array]:
    """Return the function that solves M X = B for X, (n,) or (n, k); M: if it is known already."""
    M = tree_mass_matrix(tree) if M is None else M
    if is_recording():
        made = factor_in_tiles(M, LARGE_TILE)
        return lambda B: made.solve_outward(made.solve_inward(B))
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
