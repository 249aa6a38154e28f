"""Derivatives of ddq = M^-1 (tau - h) from those of inverse dynamics.

Inverse and forward dynamics undo each other, tau(q, dq, ddq(q, dq, tau)) = tau, hence

    d ddq/d q = -M^-1 d tau/d q,    d ddq/d dq = -M^-1 d tau/d dq,    d ddq/d tau = M^-1

with the derivatives of tau taken at the acceleration ddq that tau gives.
"""

from kinetree.algorithms.book import book_tree
from kinetree.algorithms.derivatives.inverse_dynamics import tree_derivatives
from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.algorithms.tree import Tree
from kinetree.base.arrays import Array, ArrayLike
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.model import Model
from kinetree.model.inputs import Wrenches, rates, zeros
from kinetree.spatial.factor import InverseFactor, solve


def forward_dynamics_derivatives(
    model: Model, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, F_ext: Wrenches = None
) -> tuple[Array, Array, Array]:
    """Partial derivatives of ddq = forward_dynamics(q, dq, tau, F_ext).

    Args:
        model: the robot.
        q, dq, tau: state and joint forces, (nq,), (n,), (n,).
        F_ext: wrenches onto the links, (links, 6), constant in the link frames.

    Returns:
        d ddq/d q (along tangent vectors of `integrate`), d ddq/d dq and d ddq/d tau = M^-1,
        each (n, n).
    """
    tree = book_tree(model, q, F_ext)
    return tree_forward_derivatives(tree, rates(model, dq, "dq"), rates(model, tau, "tau"))


def tree_forward_derivatives(tree: Tree, dq: Array, tau: Array) -> tuple[Array, Array, Array]:
    """The same of a tree; steps, velocities and composite bodies are shared."""
    tree = tree.with_loads_in_frames()
    h = tree_inverse_dynamics(tree, dq, zeros(tree.model.n))
    M = factor_mass_matrix(tree.model, tree_mass_matrix(tree))
    by_q, by_dq = tree_derivatives(tree, dq, solve(M, tau - h))
    inverse = InverseFactor(M)
    return inverse.times(-by_q), inverse.times(-by_dq), inverse.matrix()
