"""dh/dt, the rate of the bias forces along a motion: feed-forward of the rate of joint forces.

h(q, dq) changes along the tangent vector dq of the position and along ddq of the rates, so with the
slopes of inverse dynamics at zero acceleration

    dh/dt = (d tau/d q)(q, dq, 0) dq + (d tau/d dq)(q, dq, 0) ddq

Dry friction counts with its slope beside rest.
"""

from kinetree.core.arrays import Array
from kinetree.dynamics.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from kinetree.dynamics.tree import Tree
from kinetree.model.inputs import zeros
from kinetree.model.quantity import quantity


@quantity("q dq ddq -> dh: n", weighs=True, method=False)
def bias_forces_rate(tree: Tree, dq: Array, ddq: Array) -> Array:
    """Rate of `bias_forces` along a motion: dh/dt, with h = c + g + springs + friction.

    Returns:
        dh: rate of the joint forces at zero acceleration [N m/s or N/s].

    Example:
        >>> robot.compile("bias_forces_rate")([0.1, 0.2], [1, 0.5], [0, 2]).round(3)
        array([-76.145, -29.325])
    """
    dtau_dq, dtau_dv = inverse_dynamics_derivatives(tree, dq, zeros(tree.model.n))
    return dtau_dq @ dq + dtau_dv @ ddq
