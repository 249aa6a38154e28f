"""Quantities of robots with constraints, and those of trees that honour them or are refused.

The functions run on the tree in lean frames, with the frames of the constraints moved into them.
Forward and inverse dynamics of a constrained robot honour its constraints under their own names;
terms of the equation of motion (M, C, g, h), energies and kinematics are those of the tree.
"""

from collections.abc import Callable
from typing import Any

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.closures import lean_items, tree_constraints
from kinetree.dynamics.constraints.dynamics import (
    Items,
    check_sufficient,
    tree_constrained_acceleration,
    tree_motor_forces,
)
from kinetree.dynamics.lean import lean_model, lean_tree
from kinetree.dynamics.regressor import regressor
from kinetree.dynamics.traced import traced
from kinetree.dynamics.tree import Tree
from kinetree.model import Model
from kinetree.model.constrain import (
    without_constraints,
)
from kinetree.model.quantity import Make, Quantity, quantity

OF_MOTORS = ("inverse_dynamics", "inverse_dynamics_derivatives", "regressor")


def check_honoured(model: Model, quantity: Quantity) -> None:
    """Raise ModelError for a quantity that would ignore the constraints of a robot."""
    if model.constraints is None:
        return
    name = quantity.name
    if quantity.refused:
        without_constraints(model, f"The quantity {name}", quantity.refused)
    if name in OF_MOTORS:
        check_sufficient(model, name)


def _derivatives(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    from kinetree.dynamics.constraints.derivatives import constrained_forward_derivatives

    lean = lean_model(model, regrouped=regrouped)
    items = lean_items(lean)

    def function(q: Array, dq: Array, tau: Array, *F_ext: Array) -> tuple[Array, Array, Array]:
        tree = lean_tree(lean, q, *F_ext)
        return constrained_forward_derivatives(
            lambda x: lean_tree(lean, x), tree, items, q, dq, tau
        )

    return function


@quantity("q -> Phi: m", over="constraints", method=False)
def constraint_errors(tree: Tree, items: Items, q: Array) -> Array:
    """Errors Phi(q) of all equations of the constraints, as in `mobility.rows`.

    Returns:
        Phi: errors of the equations, 0 where they are satisfied [rad or m].

    Example:
        >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
        >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
        >>> robot.compile("constraint_errors")([0.1, 0.2]).round(3)
        array([0.4])
    """
    return tree_constraints(tree, items, q).Phi


@quantity("q -> J: m n", over="constraints", method=False)
def constraint_jacobian(tree: Tree, items: Items, q: Array) -> Array:
    """Jacobian J of the constraints: dPhi/dt = J dq.

    Returns:
        J: derivative of Phi [units of Phi per unit of each rate].

    Example:
        >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
        >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
        >>> robot.compile("constraint_jacobian")([0.1, -0.2])
        array([[2., 1.]])
    """
    return tree_constraints(tree, items, q).J


@quantity("q dq -> gamma: m", over="constraints", method=False)
def constraint_bias(tree: Tree, items: Items, q: Array, dq: Array) -> Array:
    """Bias gamma = dJ/dt dq of the constraints: d^2 Phi/dt^2 = J ddq + gamma.

    Returns:
        gamma: dJ/dt dq [rad/s^2 or m/s^2].

    Example:
        >>> gear = kt.constraints.Couple('joint2', {'joint1': -2})
        >>> robot = kt.robots.planar_2r().constrained({'gear': gear})
        >>> robot.compile("constraint_bias")([0.1, -0.2], [1, -2])
        array([0.])
    """
    return tree_constraints(tree, items, q, dq).gamma


# how a robot with constraints computes quantities of trees that honour them
HONOURED: dict[str, Make] = {
    "inverse_dynamics": traced(tree_motor_forces, "constraints", 2),
    "forward_dynamics": traced(tree_constrained_acceleration, "constraints", 2),
    "forward_dynamics_derivatives": _derivatives,
    "regressor": traced(regressor, "model", 2),
}


def honours(quantity: Quantity) -> bool:
    """Return True for a quantity of trees that honours the constraints of a robot."""
    return (quantity.name if quantity.slope_of is None else quantity.slope_of[0]) in HONOURED
