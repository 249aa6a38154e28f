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

from kinetree.core.arrays import Array
from kinetree.core.pieces import is_recording
from kinetree.dynamics.articulated import joint_inertia
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tiles import LARGE_TILE, factor_in_tiles
from kinetree.dynamics.tree import Tree
from kinetree.model.quantity import quantity
from kinetree.spatial.matrices import mirrored_half, solve


@quantity(
    "q -> M: n n",
    meaning="mass matrix with armature and rotors, symmetric",
    unit="kg m^2, kg m or kg by the types of the joints",
    formula="M(q)",
    loops=(200, 38, 0),
)
def mass_matrix(tree: Tree) -> Array:
    """Mass matrix M(q), the inertia of the robot as its joints see it.

    Example:
        >>> robot.mass_matrix([0.1, 0.2]).round(3)
        array([[43.137, 10.789],
               [10.789,  3.34 ]])
    """
    return joint_inertia(tree, tree.each(lambda link, _: link.body))[0]


@quantity(
    "q -> M_inv: n n",
    meaning="inverse of the mass matrix, symmetric",
    unit="1/(kg m^2) or the like",
    formula="M(q)^-1",
    solves=True,
    loops=(160, 30, 10),
)
def inverse_mass_matrix(tree: Tree) -> Array:
    """Inverse of the mass matrix, M(q)^-1: joint accelerations for unit joint forces.

    Example:
        >>> robot.inverse_mass_matrix([0.1, 0.2]).round(3)
        array([[ 0.121, -0.39 ],
               [-0.39 ,  1.558]])
    """
    n = tree.model.n
    if is_recording():  # of a large robot, as pieces
        from kinetree.dynamics.elimination import accelerations_of_unit_forces
        from kinetree.dynamics.grouping import finest

        groups = finest(tree.model)
        if all(group.is_hinge for group in groups):
            return accelerations_of_unit_forces(tree, groups)
        return mirrored_half(factor_in_tiles(mass_matrix(tree), LARGE_TILE).inverse())
    return mirrored_half(mass_solver(tree)(np.eye(n, dtype=int)))


def mass_solver(tree: Tree, M: Array | None = None) -> Callable[[Array], Array]:
    """Return the function that solves M X = B for X, (n,) or (n, k); M: if it is known already."""
    M = mass_matrix(tree) if M is None else M
    if is_recording():
        made = factor_in_tiles(M, LARGE_TILE)
        return lambda B: made.solve_outward(made.solve_inward(B))
    factor = factor_mass_matrix(tree.model, M)
    return lambda B: solve(factor, B)
