"""Quantities of robots with constraints, and those of trees that honour them or are refused.

The functions run on the tree in lean frames, with the frames of the constraints moved into them.
Forward and inverse dynamics of a constrained robot honour its constraints under their own names;
terms of the equation of motion (M, C, g, h), energies and kinematics are those of the tree.
"""

from collections.abc import Callable
from typing import Any

from kinetree.core.arrays import Array
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.dynamics import (
    Items,
    check_sufficient,
    tree_constrained_acceleration,
    tree_constrained_dynamics,
    tree_constrained_forces,
    tree_impulse,
    tree_motor_forces,
    tree_reduced,
)
from kinetree.dynamics.lean import LeanModel, lean_model, lean_tree
from kinetree.dynamics.regressor import regressor
from kinetree.model import Model
from kinetree.model.constrain import (
    CARRIED,
    constraints_of,
    moving_constraints,
    without_constraints,
)
from kinetree.model.quantity import Make, Quantity, Result, textbook

GEARED = (
    "gear = kt.constraints.Couple('joint2', {'joint1': -2})",
    "robot = kt.robots.planar_2r().constrained({'gear': gear})",
)  # the robot of the examples
# texts of several results fit on a line each: the documentation takes continued lines for others
LAMBDA = Result("lam", "m", "forces onto frame_b in axes of frame_a, of least norm", "N or N m")
OF_MOTORS = ("inverse_dynamics", "inverse_dynamics_derivatives", "regressor")


def check_honoured(model: Model, quantity: Quantity) -> None:
    """Raise ModelError for a quantity that would ignore the constraints of a robot."""
    if model.constraints is None:
        return
    name = quantity.name
    if quantity.refused:
        without_constraints(model, f"The quantity {name}", quantity.refused)
    if name == "reduced_dynamics":
        moving_constraints(model, name, CARRIED)
    if name in OF_MOTORS:
        check_sufficient(model, name)


def over_constraints(function: Callable[..., Any], rates: int, name: str) -> Make:
    """Trace a function of a tree, its constraints, q and some rates, in lean frames.

    function: takes the tree, the constraints, q and `rates` further arguments. rates: the number of
    arguments besides q and F_ext, which may follow them. name: name of the quantity, for the error
    of a robot without constraints.
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


CONSTRAINT_ERRORS = Quantity(
    "constraint_errors", "q",
    (Result("Phi", "m", "errors of the equations, 0 where they are satisfied", "rad or m"),),
    "Errors Phi(q) of all equations of the constraints, as in `mobility.rows`.",
    "Phi(q)",
    over_constraints(lambda *at: tree_constraints(*at).Phi, 0, "constraint_errors"),
    ("robot.constraint_errors([0.1, 0.2]).round(3)", "array([0.4])"),
    GEARED,
)  # fmt: skip
CONSTRAINT_JACOBIAN = Quantity(
    "constraint_jacobian", "q",
    (Result("J", "m n", "derivative of Phi", "units of Phi per unit of each rate"),),
    "Jacobian J of the constraints: dPhi/dt = J dq.",
    "J, dPhi/dt = J dq",
    over_constraints(lambda *at: tree_constraints(*at).J, 0, "constraint_jacobian"),
    ("robot.constraint_jacobian([0.1, -0.2])", "array([[2., 1.]])"),
    GEARED,
)  # fmt: skip
CONSTRAINT_BIAS = Quantity(
    "constraint_bias", "q dq",
    (Result("gamma", "m", "dJ/dt dq", "rad/s^2 or m/s^2"),),
    "Bias gamma = dJ/dt dq of the constraints: d^2 Phi/dt^2 = J ddq + gamma.",
    "gamma = dJ/dt dq",
    over_constraints(lambda *at: tree_constraints(*at).gamma, 1, "constraint_bias"),
    ("robot.constraint_bias([0.1, -0.2], [1, -2])", "array([0.])"),
    GEARED,
)  # fmt: skip
CONSTRAINED_FORWARD_DYNAMICS = Quantity(
    "constrained_forward_dynamics", "q dq tau",
    (
        Result("ddq", "n", "joint accelerations", "rad/s^2 or m/s^2"),
        LAMBDA,
        Result("residual", "m", "J ddq + gamma", "rad/s^2 or m/s^2; 0 if Phi stays 0"),
    ),
    "Accelerations and forces of constraints: M ddq + h = tau + J^T lambda, J ddq + gamma = 0.",
    "ddq and lambda of M ddq + h = tau + J^T lambda, J ddq + gamma = 0",
    over_constraints(tree_constrained_dynamics, 2, "constrained_forward_dynamics"),
    (
        "robot.constrained_forward_dynamics([0.1, -0.2], [1, -2], [0, 0])[1].round(3)",
        "array([4.419])",
    ),
    GEARED,
    wrenches=True, solves=True, weighs=True,
    remark=(
        "residual = J ddq + gamma is zero up to rounding. Larger entries mean that the position "
        "is singular, or very near: the constraints are then missed by this acceleration, and "
        "lam is damped instead of growing without bound. Small entries do not prove the opposite."
    ),
)  # fmt: skip
CONSTRAINED_INVERSE_DYNAMICS = Quantity(
    "constrained_inverse_dynamics", "q dq ddq",
    (
        Result("tau", "n", "motor forces of least weighted norm, 0 without motor", "N m or N"),
        LAMBDA,
        Result("force_residual", "n", "M ddq + h - tau - J^T lambda", "N m or N"),
        Result("motion_residual", "m", "J ddq + gamma", "rad/s^2 or m/s^2; 0 if Phi stays 0"),
    ),
    "Forces of the motors and of the constraints: tau + J^T lambda = M ddq + h.",
    "tau and lambda with tau + J^T lambda = M ddq + h",
    over_constraints(tree_constrained_forces, 2, "constrained_inverse_dynamics"),
    (
        "robot.constrained_inverse_dynamics([0.1, -0.2], [1, -2], [1, -2])[0].round(3)",
        "array([ 47.002, -94.004])",
    ),
    GEARED,
    wrenches=True, solves=True, weighs=True,
    remark=(
        "motion_residual is not zero if the constraints forbid ddq; force_residual is not zero if "
        "the motors cannot make the motion. tau and lam are an answer only where both are zero."
    ),
)  # fmt: skip
CONSTRAINT_IMPULSE = Quantity(
    "constraint_impulse", "q dq",
    (
        Result("dq_after", "n", "the nearest rates that are allowed", "rad/s or m/s"),
        Result("impulse", "m", "impulses of the equations", "N s or N m s"),
        Result("residual", "m", "J dq_after", "rad/s or m/s"),
    ),
    "Impulse of constraints that close without rebound: M (dq_after - dq) = J^T impulse.",
    "dq after constraints close, impulse, J dq",
    over_constraints(tree_impulse, 1, "constraint_impulse"),
    ("robot.constraint_impulse([0.1, -0.2], [1, 0])[0].round(3)", "array([ 1.616, -3.232])"),
    GEARED,
    solves=True,
    remark="residual = J dq_after is zero up to rounding, except at singular positions.",
)  # fmt: skip
REDUCED_DYNAMICS = Quantity(
    "reduced_dynamics", "q dq",
    (
        Result("M_r", "d d", "mass matrix N^T M N of the rates", "kg m^2, kg m or kg"),
        Result("h_r", "d", "forces of the independent rates without acceleration", "N m or N"),
        Result("N", "n d", "rates of all joints per independent one", "NaN at a dead centre"),
    ),
    "Equation of motion of the independent rates y': M_r y'' + h_r = N^T tau, dq = N y'.",
    "M_r, h_r, N of the independent rates",
    over_constraints(tree_reduced, 1, "reduced_dynamics"),
    ("robot.reduced_dynamics([0.1, -0.2], [1, -2])[2].round(3)", "array([[ 1.],\n       [-2.]])"),
    GEARED,
    weighs=True,
    remark="M_r, h_r and N are NaN where dy does not determine all rates, as at a dead centre.",
)  # fmt: skip

# how a robot with constraints computes quantities of trees that honour them
HONOURED: dict[str, Make] = {
    "inverse_dynamics": over_constraints(tree_motor_forces, 2, "inverse_dynamics"),
    "forward_dynamics": over_constraints(tree_constrained_acceleration, 2, "forward_dynamics"),
    "forward_dynamics_derivatives": _derivatives,
    "regressor": textbook(regressor),
}


def honours(quantity: Quantity) -> bool:
    """Return True for a quantity of trees that honours the constraints of a robot."""
    return (quantity.name if quantity.slope_of is None else quantity.slope_of[0]) in HONOURED
