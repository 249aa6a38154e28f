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
from kinetree.dynamics.articulated import joint_inertia
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import Tree
from kinetree.model.quantity import quantity
from kinetree.spatial.matrices import mirrored_half, solve


@quantity("q -> M: n n")
def mass_matrix(tree: Tree) -> Array:
    """Mass matrix M(q), the inertia of the robot as its joints see it.

    Returns:
        M: mass matrix with armature and rotors, symmetric [kg m^2, kg m or kg by the types of the
            joints].

    Example:
        >>> robot.mass_matrix([0.1, 0.2]).round(3)
        array([[43.137, 10.789],
               [10.789,  3.34 ]])
    """
    return joint_inertia(tree, tree.each(lambda link, _: link.body))[0]


@quantity("q -> M_inv: n n", solves=True)
def inverse_mass_matrix(tree: Tree) -> Array:
    """Inverse of the mass matrix, M(q)^-1: joint accelerations for unit joint forces.

    Returns:
        M_inv: inverse of the mass matrix, symmetric [1/(kg m^2) or the like].

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
