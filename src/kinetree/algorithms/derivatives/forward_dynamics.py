"""Derivatives of ddq = M^-1 (tau - h) from those of inverse dynamics.

Where inverse and forward dynamics hold together, tau(q, dq, ddq(q, dq, tau)) = tau, hence

    d ddq/d q = -M^-1 d tau/d q,    d ddq/d dq = -M^-1 d tau/d dq,    d ddq/d tau = M^-1

with the derivatives of tau taken at the acceleration ddq that tau gives.
"""

from typing import Any

import numpy as np

from kinetree.algorithms.derivatives.inverse_dynamics import (
    inverse_dynamics_derivatives,
    tree_derivatives,
)
from kinetree.algorithms.derivatives.tree import lean_tree
from kinetree.algorithms.inverse_dynamics import inverse_dynamics
from kinetree.algorithms.lean.inverse_dynamics import recursion
from kinetree.algorithms.lean.mass_matrix import composite
from kinetree.algorithms.lean.model import LeanModel
from kinetree.algorithms.mass_matrix import mass_matrix
from kinetree.base.arrays import Array
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.model import Model
from kinetree.model.inputs import Wrenches, rates, zeros
from kinetree.spatial.factor import Factor, InverseFactor, solve


def forward_dynamics_derivatives(
    model: Model, q: Any, dq: Any, tau: Any, F_ext: Wrenches = None
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
    tau = rates(model, tau, "tau")
    M = factor_mass_matrix(model, mass_matrix(model, q))
    ddq = solve(M, tau - inverse_dynamics(model, q, dq, zeros(model.n), F_ext))
    return _solved(M, *inverse_dynamics_derivatives(model, q, dq, ddq, F_ext))


def lean_forward_derivatives(
    lean: LeanModel, q: Array, dq: Array, tau: Array, F_ext: Array | None = None
) -> tuple[Array, Array, Array]:
    """The same in lean frames; steps, velocities and composite bodies are shared."""
    tree = lean_tree(lean, q, F_ext)
    steps = [branch.to for branch in tree.branches]
    n = lean.model.n
    h = recursion(lean, steps, dq, zeros(n), F_ext)
    M = factor_mass_matrix(lean.model, np.array(composite(lean, steps), dtype=object))
    return _solved(M, *tree_derivatives(tree, dq, solve(M, tau - h)))


def _solved(M: Factor, by_q: Array, by_dq: Array) -> tuple[Array, Array, Array]:
    inverse = InverseFactor(M)
    return inverse.times(-by_q), inverse.times(-by_dq), inverse.matrix()
