"""Derivatives of constrained forward dynamics, by the implicit function theorem.

ddq and lambda satisfy, at every state,

    tau(q, dq, ddq) - J^T lambda = tau,     J ddq + gamma = 0

where tau(q, dq, ddq) is inverse dynamics of the tree. Differentiating both at fixed tau gives the
same system again, with other right sides, for every direction of q and dq:

    M d ddq - J^T d lambda = -(d tau(q, dq, ddq) - d(J^T) lambda),    J d ddq = -(dJ ddq + d gamma)

and M d ddq - J^T d lambda = d tau, J d ddq = 0 for a change of tau. The derivatives of inverse
dynamics are those of the tree; those of J^T lambda and of J ddq + gamma at fixed lambda and ddq are
taken with dual numbers, which run through the same code (closures.py).

Where rows depend on each other in a way that changes with q (mobility.py), J loses rank only on the
constraints: ddq then has derivatives along motions that the constraints allow, and the results in
other directions have no meaning.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.closures import Constrained, item_dofs, tree_constraints
from kinetree.dynamics.constraints.dynamics import Items, Kkt
from kinetree.dynamics.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.joints.tangents import tangent_map
from kinetree.dynamics.tree import Tree
from kinetree.model.inputs import zeros
from kinetree.spatial.duals import Dual

MakeTree = Callable[[Array], Tree]


def constrained_forward_derivatives(
    tree_at: MakeTree, tree: Tree, items: Items, q: Array, dq: Array, tau: Array
) -> tuple[Array, Array, Array]:
    """d ddq/d q, d ddq/d dq and d ddq/d tau, each (n, n); q is moved along tangent vectors.

    tree_at: makes the tree at a position, for dual numbers; loads do not matter. tree: that at q,
    with its loads. items: the constraints in the frames of the tree.
    """
    model = tree.model
    kkt = Kkt(tree, tree_constraints(tree, items, q, dq))
    h = inverse_dynamics(tree, dq, zeros(model.n))
    ddq, lam = kkt.accelerate(tau - h)
    if kkt.dependent:  # other forces with the same sum change with q in other ways
        lam = kkt.shared(lam)[kkt.rows]
    by_q, by_dq = inverse_dynamics_derivatives(tree, dq, ddq)
    moving = sorted({d for item in items for d in item_dofs(tree, item)})
    force, motion = np.zeros((model.n, model.n), object), np.zeros((len(lam), model.n), object)
    turned = np.zeros((len(lam), model.n), object)
    kept = kkt.rows
    tangents = tangent_map(model, q)
    for d in moving:
        shifted = np.array([Dual(x, v) for x, v in zip(q, tangents[:, d], strict=True)])
        moved = tree_constraints(tree_at(shifted), items, shifted, dq)
        force[:, d] = _slopes(moved.J[kept].T @ lam)
        motion[:, d] = _slopes(_acceleration(moved, kept, ddq))
        faster = np.array([Dual(x, int(k == d)) for k, x in enumerate(dq)])
        turned[:, d] = _slopes(tree_constraints(tree, items, q, faster).gamma[kept])
    da_dq = kkt.accelerate(force - by_q, -motion)[0]
    da_dv = kkt.accelerate(-by_dq, -turned)[0]
    one, none = np.eye(model.n, dtype=int), np.zeros((len(lam), model.n), int)
    return da_dq, da_dv, kkt.accelerate(one, none)[0]


def _acceleration(at: Constrained, kept: list[int], ddq: Array) -> Array:
    return at.J[kept] @ ddq + at.gamma[kept]


def _slopes(x: Array) -> list[Any]:
    return [entry.slope if isinstance(entry, Dual) else 0 for entry in x]
