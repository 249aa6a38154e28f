"""Kernels of constrained robots: functions to trace, and quantities that cannot be honoured.

The functions run on the tree in lean frames, with the frames of the constraints moved into them.
Forward and inverse dynamics of a constrained robot honour its constraints under their own names;
terms of the equation of motion (M, C, g, h), energies and kinematics are those of the tree.
"""

from collections.abc import Callable
from typing import Any

from kinetree.algorithms.constraints.closures import placed, tree_constraints
from kinetree.algorithms.constraints.dynamics import (
    Items,
    tree_constrained_acceleration,
    tree_constrained_dynamics,
    tree_constrained_forces,
    tree_impulse,
    tree_motor_forces,
    tree_reduced,
)
from kinetree.algorithms.lean import LeanModel, lean_model, lean_tree
from kinetree.algorithms.tree import Tree
from kinetree.base.arrays import Array
from kinetree.errors import ModelError
from kinetree.model import Model
from kinetree.model.constrain import (
    CARRIED,
    constraints_of,
    moving_constraints,
    without_constraints,
)

Make = Callable[[Model, bool, str | None], Callable[..., Any]]

# quantities that a constrained robot does not have, and the way out
REFUSED = {
    "regressor": "The joint forces of a robot with constraints are not linear in its parameters "
    "alone; use the tree without constraints",
    "reference_regressor": "The joint forces of a robot with constraints are not linear in its "
    "parameters alone; use the tree without constraints",
    "task_space": "A frame of a robot with constraints moves less freely than its tree; use the "
    "tree without constraints",
    "momentum_balance": "The forces of constraints would be taken for contacts; use a robot "
    "without them",
}
HONOURED = (
    "inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)  # fmt: skip
OF_MOTORS = ("inverse_dynamics", "inverse_dynamics_derivatives")


def check_honoured(model: Model, name: str) -> None:
    """Raise ModelError for a quantity that would ignore the constraints of a robot."""
    if model.constraints is None:
        return
    if name in REFUSED:
        without_constraints(model, f"The quantity {name}", REFUSED[name])
    if name == "reduced_dynamics":
        moving_constraints(model, name, CARRIED)
    if name in OF_MOTORS and not model.constraints.sufficient:
        motors = ", ".join(model.dof_names[d] for d in model.constraints.actuated) or "none"
        raise ModelError(
            f"the motors of {model.name!r} ({motors}) cannot make every motion that its "
            f"constraints allow, so {name} has no answer for most motions. "
            "constrained_inverse_dynamics gives the nearest forces with their residual; "
            "robot.constrained(..., actuated=[...]) names more motors."
        )


def over_constraints(function: Callable[..., Any], rates: int, name: str) -> Make:
    """Trace a function of a tree, its constraints, q and some rates, in lean frames.

    Args:
        function: takes the tree, the constraints, q and `rates` further arguments.
        rates: the number of arguments besides q and F_ext, which may follow them.
        name: name of the quantity, for the error of a robot without constraints.
    """

    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
        constraints_of(model, name)
        lean = lean_model(model, regrouped=regrouped)
        items = lean_items(lean)
        return lambda q, *rest: function(lean_tree(lean, q, *rest[rates:]), items, q, *rest[:rates])

    return make


def lean_items(lean: LeanModel) -> Items:
    """The constraints in the lean frames."""
    return placed(lean.model, [link.place.X for link in lean.links])


def honouring(tree: Make, constrained: Make) -> Make:
    """One way to make a quantity for trees, and another one for robots with constraints."""

    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
        chosen = tree if model.constraints is None else constrained
        return chosen(model, regrouped, frame)

    return make


def _derivatives(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    from kinetree.algorithms.constraints.derivatives import constrained_forward_derivatives

    lean = lean_model(model, regrouped=regrouped)
    items = lean_items(lean)

    def function(q: Array, dq: Array, tau: Array, *F_ext: Array) -> tuple[Array, Array, Array]:
        tree = lean_tree(lean, q, *F_ext)
        return constrained_forward_derivatives(
            lambda x: lean_tree(lean, x), tree, items, q, dq, tau
        )

    return function


def _errors(tree: Tree, items: Items, q: Array) -> Array:
    return tree_constraints(tree, items, q).Phi


def _jacobian(tree: Tree, items: Items, q: Array) -> Array:
    return tree_constraints(tree, items, q).J


def _bias(tree: Tree, items: Items, q: Array, dq: Array) -> Array:
    return tree_constraints(tree, items, q, dq).gamma


ERRORS = over_constraints(_errors, 0, "constraint_errors")
MATRIX = over_constraints(_jacobian, 0, "constraint_jacobian")
BIAS = over_constraints(_bias, 1, "constraint_bias")
FORWARD = over_constraints(tree_constrained_acceleration, 2, "forward_dynamics")
FORWARD_FORCES = over_constraints(tree_constrained_dynamics, 2, "constrained_forward_dynamics")
INVERSE = over_constraints(tree_motor_forces, 2, "inverse_dynamics")
INVERSE_FORCES = over_constraints(tree_constrained_forces, 2, "constrained_inverse_dynamics")
IMPULSE = over_constraints(tree_impulse, 1, "constraint_impulse")
REDUCED = over_constraints(tree_reduced, 1, "reduced_dynamics")
DERIVATIVES: Make = _derivatives
