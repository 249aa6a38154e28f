"""Forward dynamics: M by composite bodies, factored without fill, and solved for ddq."""

from dataclasses import replace

from kinetree.algorithms.book import book_tree
from kinetree.algorithms.inverse_dynamics import tree_inverse_dynamics
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.algorithms.tree import Tree
from kinetree.base.arrays import Array, StateLike
from kinetree.formulations.drives import (
    friction_forces,
    frictionless,
    load_coefficients,
    load_of,
)
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.model import Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import TipWrench, Wrenches, rates, zeros
from kinetree.model.labelled import labelled
from kinetree.spatial.matrices import solve


@labelled("n")
def forward_dynamics(
    model: Model,
    q: StateLike,
    dq: StateLike,
    tau: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
) -> Array:
    """ddq = M^-1 (tau - h + J^T F_ext), (n,), by composite bodies and a factor without fill.

    Args:
        model: the robot.
        q: joint positions, (nq,), rad or m, or quaternions.
        dq: joint rates, (n,), rad/s or m/s.
        tau: joint forces, (n,), N m or N.
        F_ext, F_tip: as in `inverse_dynamics`.

    Raises:
        SingularityError: a joint moves no inertia; the message names it.
    """
    without_constraints(
        model, "algorithms.forward_dynamics", "Use algorithms.constrained_forward_dynamics"
    )
    tree = book_tree(model, q, F_ext, F_tip)
    return tree_forward_dynamics(tree, rates(model, dq, "dq"), rates(model, tau, "tau"))


def tree_forward_dynamics(tree: Tree, dq: Array, tau: Array) -> Array:
    """ddq, (n,); sines, cosines and steps of the tree are shared by M and h."""
    driving, h = driving_forces(tree, dq, tau)
    return solve(factor_mass_matrix(tree.model, tree_mass_matrix(tree)), driving - h)


def driving_forces(tree: Tree, dq: Array, tau: Array) -> tuple[Array, Array]:
    """tau and h of M ddq = tau - h; with load friction, the load and h without friction, (n,)."""
    model = tree.model
    if not load_coefficients(model):
        return tau, tree_inverse_dynamics(tree, dq, zeros(model.n))
    load = load_of(model, dq, tau - friction_forces(model, dq))
    smooth = replace(tree, model=frictionless(model))
    return load, tree_inverse_dynamics(smooth, dq, zeros(model.n))
