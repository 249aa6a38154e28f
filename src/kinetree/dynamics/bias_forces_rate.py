"""dh/dt, the rate of the bias forces along a motion: feed-forward of the rate of joint forces.

h(q, dq) changes along the tangent vector dq of the position and along ddq of the rates, so with the
slopes of inverse dynamics at zero acceleration

    dh/dt = (d tau/d q)(q, dq, 0) dq + (d tau/d dq)(q, dq, 0) ddq

Dry friction counts with its slope beside rest.
"""

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.derivatives.inverse_dynamics import tree_derivatives
from kinetree.dynamics.traced import over_tree
from kinetree.dynamics.tree import Tree
from kinetree.model import Model
from kinetree.model.constrain import tree_of
from kinetree.model.inputs import rates, zeros
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result


@labelled("n")
def bias_forces_rate(model: Model, q: StateLike, dq: StateLike, ddq: StateLike) -> Array:
    """dh/dt, (n,), along a motion: the rate of c + g + springs + friction."""
    tree = book_tree(tree_of(model), q)
    return tree_bias_forces_rate(tree, rates(model, dq, "dq"), rates(model, ddq, "ddq"))


def tree_bias_forces_rate(tree: Tree, dq: Array, ddq: Array) -> Array:
    """dh/dt, (n,), of a tree."""
    dtau_dq, dtau_dv = tree_derivatives(tree, dq, zeros(tree.model.n))
    return dtau_dq @ dq + dtau_dv @ ddq


BIAS_FORCES_RATE = Quantity(
    "bias_forces_rate", "q dq ddq",
    (Result("dh", "n", "rate of the joint forces at zero acceleration", "N m/s or N/s"),),
    "Rate of `bias_forces` along a motion: dh/dt, with h = c + g + springs + friction.",
    "dh/dt along dq and ddq",
    over_tree(tree_bias_forces_rate, 2),
    ("robot.bias_forces_rate([0.1, 0.2], [1, 0.5], [0, 2]).round(3)", "array([-76.145, -29.325])"),
    weighs=True,
)  # fmt: skip
