"""The quantities that can be compiled: arguments, results, and the function to trace."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.centroidal import (
    tree_center_of_mass_jacobian,
    tree_centroidal_matrix,
    tree_centroidal_matrix_rate,
)
from kinetree.algorithms.coriolis_matrix import tree_coriolis_matrix
from kinetree.algorithms.derivatives.forward_dynamics import tree_forward_derivatives
from kinetree.algorithms.derivatives.inverse_dynamics import tree_derivatives
from kinetree.algorithms.energy import about, tree_kinetic_energy, tree_momentum
from kinetree.algorithms.forward_dynamics import tree_forward_dynamics
from kinetree.algorithms.frame_motion import (
    EXPRESSED,
    check_expressed,
    tree_frame_acceleration,
    tree_frame_velocity,
)
from kinetree.algorithms.inverse_dynamics import tree_bias_forces, tree_inverse_dynamics
from kinetree.algorithms.inverse_mass_matrix import tree_inverse_mass_matrix
from kinetree.algorithms.lean import lean_frame, lean_model, lean_tree
from kinetree.algorithms.mass_matrix import tree_mass_matrix
from kinetree.algorithms.momentum_balance import (
    tree_momentum_balance,
    tree_transposed_coriolis_forces,
)
from kinetree.algorithms.steps import METHODS
from kinetree.algorithms.task_space import (
    TOLERANCE,
    Task,
    TaskTerms,
    check_rank,
    task_rows,
    tree_task_space,
)
from kinetree.algorithms.tree import Tree
from kinetree.base.arrays import Array, is_numeric
from kinetree.base.tables import listing
from kinetree.errors import InputError, NameLookupError
from kinetree.formulations.springs import without_passive_forces
from kinetree.kernels import constrained
from kinetree.kernels.step import (
    ACTIVATION,
    CONTROLS,
    GAINS,
    PREFIX,
    gain_names,
    whole_step,
)
from kinetree.model import Model
from kinetree.model.constrain import tree_of
from kinetree.model.inputs import zeros

Make = Callable[..., Callable[..., Any]]  # of the model, regrouped, the frame, and its choices


@dataclass(frozen=True)
class Quantity:
    """A quantity that can be compiled: its arguments, the letters of its result, its function.

    `make(model, regrouped, frame)` returns the function of the arguments, ready to be traced.
    `regrouped` allows masses to be moved along the tree where the result does not depend on it.
    Quantities with `choices` take these as further options of `make`.
    """

    inputs: tuple[str, ...]
    dims: tuple[str, ...]
    make: Make
    doc: str
    wrenches: bool = False  # F_ext may follow as a further argument
    framed: bool = False  # it is a quantity of a frame
    several: tuple[tuple[str, tuple[str, ...]], ...] = ()  # names and letters of several results
    slope_of: tuple[str, tuple[str, ...]] | None = None  # derivative of a quantity by arguments
    step: bool = False  # it is composed of the graphs of a step, see step.py
    choices: tuple[str, ...] = ()  # of "expressed" and "rows"

    def options(
        self, name: str, *, expressed: str | None, rows: Sequence[int] | None
    ) -> dict[str, Any]:
        """Return the options of `make`, checked; raise InputError for one that it does not have."""
        given = {"expressed": expressed, "rows": rows}
        for key, value in given.items():
            if value is not None and key not in self.choices:
                having = [x for x, quantity in WHOLE_BODY.items() if key in quantity.choices]
                raise InputError(
                    f"{name} has no option {key}, which was given; "
                    f"{listing(having, 4)} {'has' if len(having) == 1 else 'have'} it."
                )
        found: dict[str, Any] = {}
        if "expressed" in self.choices:
            found["expressed"] = EXPRESSED[0] if expressed is None else expressed
            check_expressed(found["expressed"])
        if "rows" in self.choices:
            found["rows"] = tuple(task_rows(rows))
        return found

    def outputs(self, name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the name and the letters of each result."""
        return self.several or ((name, self.dims),)


def _over_tree(
    function: Callable[..., Any],
    rates: int,
    *,
    of: Callable[[Model], Model] = lambda model: model,
    whole: bool = False,
    solves: bool = False,
) -> Make:
    """Trace a function of a tree and of some rates, in lean frames.

    Args:
        function: takes the tree and, besides q, `rates` further arguments; F_ext may follow them.
        rates: the number of arguments besides q and F_ext.
        of: the robot whose tree it is.
        whole: masses stay on their own links, because the result is not only about joint forces.
        solves: the mass matrix must not be singular.
    """

    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
        if solves and regrouped:
            check_inertia(model)
        lean = lean_model(of(model), regrouped=regrouped and not whole)
        return lambda q, *rest: function(lean_tree(lean, q, *rest[rates:]), *rest[:rates])

    return make


def _solving(make: Make) -> Make:
    """The same, after a check that the mass matrix of the tree is not singular."""

    def checked(
        model: Model, regrouped: bool, frame: str | None, **choices: Any
    ) -> Callable[..., Any]:
        if regrouped:
            check_inertia(model)
        return make(model, regrouped, frame, **choices)

    return checked


def _gravity_forces(tree: Tree) -> Array:
    return tree_bias_forces(tree, zeros(tree.model.n))


def _mass_matrix_rate(tree: Tree, dq: Array) -> Array:
    C = tree_coriolis_matrix(tree, dq)
    return C + C.T


def _weightless(model: Model) -> Model:
    return without_passive_forces(model).with_gravity(zeros(3))


def _centroidal_momentum(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    lean = lean_model(model, regrouped=False)
    return lambda q, dq: about(
        algorithms.center_of_mass(model, q), tree_momentum(lean_tree(lean, q), dq)
    )


def _textbook(function: Callable[..., Any], framed: bool = False) -> Make:
    """Trace a function of the model and the state as it is written."""

    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
        return lambda *state: function(model, *state, *([frame] if framed else []))

    return make


def _of_frame(function: Callable[..., Any]) -> Make:
    """Trace a function of a tree, a frame, the axes of its twist, and some rates."""

    def make(
        model: Model, regrouped: bool, frame: str | None, expressed: str
    ) -> Callable[..., Any]:
        lean = lean_model(model, regrouped=regrouped)
        place = lean_frame(lean, frame)
        return lambda q, *motion: function(lean_tree(lean, q), place, expressed, *motion)

    return make


def task_maker(
    *, by_twist: bool = False, option: Literal["damping", "tolerance"] | None = None
) -> Make:
    """Trace the terms of a task; NaN where J has lost rank.

    Args:
        by_twist: the second argument is the twist V instead of dq.
        option: a third argument; None: no damping, and the usual tolerance.
    """

    def make(
        model: Model, regrouped: bool, frame: str | None, expressed: str, rows: tuple[int, ...]
    ) -> Callable[..., Any]:
        if option != "damping":  # a task that is singular wherever one looks is refused
            somewhere = algorithms.random(model, np.random.default_rng(0))
            limit = TOLERANCE if option is None else NOTHING
            check_rank(model, somewhere, frame, expressed, rows, limit)
        lean = lean_model(model, regrouped=regrouped)
        task = Task(lean_frame(lean, frame), expressed, rows)

        def function(q: Array, motion: Array, *more: Any) -> TaskTerms:
            options = {"tolerance": TOLERANCE} if option is None else {option: more[0]}
            twist = motion if by_twist else None
            return tree_task_space(lean_tree(lean, q), task, motion, V=twist, **options)

        return function

    return make


NOTHING = 1e-12  # singular value of a Jacobian that is zero up to rounding
Q, V, ACCELERATION, FORCE = ("q",), ("q", "dq"), ("q", "dq", "ddq"), ("q", "dq", "tau")
VECTOR, SQUARE, JACOBIAN = ("n",), ("n", "n"), ("6", "n")

# the quantities with one result for each joint, link or frame
QUANTITIES: dict[str, Quantity] = {
    "inverse_dynamics": Quantity(
        ACCELERATION, VECTOR,
        constrained.honouring(_over_tree(tree_inverse_dynamics, 2), constrained.INVERSE),
        "tau = M ddq + h - J^T F_ext", wrenches=True,
    ),
    "forward_dynamics": Quantity(
        FORCE, VECTOR,
        constrained.honouring(
            _over_tree(tree_forward_dynamics, 2, solves=True), _solving(constrained.FORWARD)
        ),
        "ddq = M^-1 (tau - h + J^T F_ext)", wrenches=True,
    ),
    "mass_matrix": Quantity(Q, SQUARE, _over_tree(tree_mass_matrix, 0), "M(q)"),
    "bias_forces": Quantity(
        V, VECTOR, _over_tree(tree_bias_forces, 1), "h(q, dq) = c + g + springs + friction",
        wrenches=True,
    ),
    "gravity_forces": Quantity(
        Q, VECTOR, _over_tree(_gravity_forces, 0, of=without_passive_forces), "g(q)"
    ),
    "coriolis_forces": Quantity(
        V, VECTOR, _over_tree(tree_bias_forces, 1, of=_weightless), "c(q, dq) = C dq"
    ),
    "coriolis_matrix": Quantity(
        V, SQUARE, _over_tree(tree_coriolis_matrix, 1), "C(q, dq), dM - 2C skew"
    ),
    "mass_matrix_rate": Quantity(V, SQUARE, _over_tree(_mass_matrix_rate, 1), "dM/dt"),
    "kinetic_energy": Quantity(V, (), _over_tree(tree_kinetic_energy, 1), "dq^T M dq / 2, J"),
    "potential_energy": Quantity(
        Q, (), _textbook(algorithms.potential_energy), "- sum of m g . x, and springs, J"
    ),
    "center_of_mass": Quantity(
        Q, ("3",), _textbook(algorithms.center_of_mass), "centre of mass in {s}, m"
    ),
    "momentum": Quantity(
        V, ("6",), _over_tree(tree_momentum, 1, whole=True), "(angular, linear) in {s}"
    ),
    "centroidal_momentum": Quantity(
        V, ("6",), _centroidal_momentum, "about the centre of mass"
    ),
    "friction_forces": Quantity(
        ("dq",), VECTOR, _textbook(algorithms.friction_forces), "b(dq)"
    ),
    "spring_forces": Quantity(
        Q, VECTOR, _textbook(algorithms.spring_forces), "sum of k a (a . q - rest)"
    ),
    "link_poses": Quantity(
        Q, ("l", "4", "4"), _textbook(algorithms.forward_kinematics), "T_si of every link"
    ),
    "pose": Quantity(
        Q, ("4", "4"), _textbook(algorithms.pose, True), "T_sb of the frame", framed=True
    ),
    "body_jacobian": Quantity(
        Q, JACOBIAN, _textbook(algorithms.body_jacobian, True), "J_b", framed=True
    ),
    "space_jacobian": Quantity(
        Q, JACOBIAN, _textbook(algorithms.space_jacobian, True), "J_s", framed=True
    ),
    "body_jacobian_rate": Quantity(
        V, JACOBIAN, _textbook(algorithms.body_jacobian_rate, True), "dJ_b/dt", framed=True
    ),
    "space_jacobian_rate": Quantity(
        V, JACOBIAN, _textbook(algorithms.space_jacobian_rate, True), "dJ_s/dt", framed=True
    ),
}  # fmt: skip

# derived from the dynamics: several results, or parameters instead of joints
DERIVED: dict[str, Quantity] = {
    "inverse_dynamics_derivatives": Quantity(
        ACCELERATION, (), _over_tree(tree_derivatives, 2), "d tau/d q, d tau/d dq", wrenches=True,
        several=(("dtau_dq", SQUARE), ("dtau_dv", SQUARE)),
        slope_of=("inverse_dynamics", ("q", "dq")),
    ),
    "forward_dynamics_derivatives": Quantity(
        FORCE, (),
        constrained.honouring(
            _over_tree(tree_forward_derivatives, 2, solves=True),
            _solving(constrained.DERIVATIVES),
        ),
        "d ddq/d q, d ddq/d dq, d ddq/d tau", wrenches=True,
        several=(("da_dq", SQUARE), ("da_dv", SQUARE), ("da_dtau", SQUARE)),
    ),
    "regressor": Quantity(
        ACCELERATION, ("n", "p"), _textbook(algorithms.regressor), "Y, tau = Y pi"
    ),
    "energy_regressor": Quantity(
        V, (), _textbook(algorithms.energy_regressor), "y_T, y_U: energies = y pi",
        several=(("y_T", ("p",)), ("y_U", ("p",))),
    ),
    "momentum_regressor": Quantity(
        V, ("6", "p"), _textbook(algorithms.momentum_regressor), "momentum = Y pi"
    ),
}  # fmt: skip

# balances for observers, which compare them over time
BALANCES: dict[str, Quantity] = {
    "momentum_balance": Quantity(
        FORCE, (), _over_tree(tree_momentum_balance, 2), "p = M dq and dp/dt without contacts",
        several=(("p", VECTOR), ("f", VECTOR)),
    ),
}  # fmt: skip

# terms of task-space and whole-body control; k counts the rows of a task
REFERENCE = (*V, "dq_r", "ddq_r")
WHOLE_BODY: dict[str, Quantity] = {
    "inverse_mass_matrix": Quantity(
        Q, SQUARE, _over_tree(tree_inverse_mass_matrix, 0, solves=True), "M(q)^-1"
    ),
    "transposed_coriolis_forces": Quantity(
        V, VECTOR, _over_tree(tree_transposed_coriolis_forces, 1), "C^T dq = dM/dt dq - c"
    ),
    "center_of_mass_jacobian": Quantity(
        Q, ("3", "n"), _over_tree(tree_center_of_mass_jacobian, 0, whole=True),
        "velocity of the centre of mass is J dq",
    ),
    "centroidal_momentum_matrix": Quantity(
        Q, JACOBIAN, _over_tree(tree_centroidal_matrix, 0, whole=True), "A_G, h_G = A_G dq"
    ),
    "centroidal_momentum_matrix_rate": Quantity(
        V, JACOBIAN, _over_tree(tree_centroidal_matrix_rate, 1, whole=True), "dA_G/dt"
    ),
    "reference_regressor": Quantity(
        REFERENCE, ("n", "p"), _textbook(algorithms.reference_regressor),
        "Y, Y pi = M ddq_r + C dq_r + g",
    ),
    "frame_velocity": Quantity(
        V, ("6",), _of_frame(tree_frame_velocity), "V = J dq", framed=True, choices=("expressed",)
    ),
    "frame_acceleration": Quantity(
        ACCELERATION, ("6",), _of_frame(tree_frame_acceleration), "dV = J ddq + dJ/dt dq",
        framed=True, choices=("expressed",),
    ),
    "task_space": Quantity(
        V, (), _solving(task_maker()), "J, dJ, Lambda, eta = mu + p + ..., J_bar, N of a frame",
        framed=True, choices=("expressed", "rows"),
        several=(
            ("J", ("k", "n")), ("dJ", ("k", "n")), ("Lambda", ("k", "k")), ("eta", ("k",)),
            ("mu", ("k",)), ("p", ("k",)), ("J_bar", ("n", "k")), ("N", SQUARE),
        ),
    ),
}  # fmt: skip

# quantities of robots with constraints; m counts equations, d degrees of freedom
ROWS = ("m",)
CONSTRAINED: dict[str, Quantity] = {
    "constraint_errors": Quantity(Q, ROWS, constrained.ERRORS, "Phi(q)"),
    "constraint_jacobian": Quantity(Q, ("m", "n"), constrained.MATRIX, "J, dPhi/dt = J dq"),
    "constraint_bias": Quantity(V, ROWS, constrained.BIAS, "gamma = dJ/dt dq"),
    "constrained_forward_dynamics": Quantity(
        FORCE, (), _solving(constrained.FORWARD_FORCES), "ddq, lambda, J ddq + gamma",
        wrenches=True, several=(("ddq", VECTOR), ("lam", ROWS), ("residual", ROWS)),
    ),
    "constrained_inverse_dynamics": Quantity(
        ACCELERATION, (), _solving(constrained.INVERSE_FORCES), "tau, lambda, two residuals",
        wrenches=True,
        several=(
            ("tau", VECTOR), ("lam", ROWS), ("force_residual", VECTOR), ("motion_residual", ROWS),
        ),
    ),
    "constraint_impulse": Quantity(
        V, (), _solving(constrained.IMPULSE), "dq after constraints close, impulse, J dq",
        several=(("dq_after", VECTOR), ("impulse", ROWS), ("residual", ROWS)),
    ),
    "reduced_dynamics": Quantity(
        V, (), constrained.REDUCED, "M_r, h_r, N of the independent rates",
        several=(("M_r", ("d", "d")), ("h_r", ("d",)), ("N", ("n", "d"))),
    ),
}  # fmt: skip

# one step of `simulate`: the state after the time dt
STEP, STATE = (*FORCE, "dt"), (("q_next", ("nq",)), ("dq_next", VECTOR))
STEPS: dict[str, Quantity] = {
    f"{PREFIX}{name}": Quantity(
        STEP, (), whole_step(f"{PREFIX}{name}"), f"q and dq after dt, by {name}", wrenches=True,
        several=STATE, step=True,
    )
    for name in METHODS
}  # fmt: skip
STEPS |= {
    f"{PREFIX}{name}{GAINS}": Quantity(
        (*STEP, *gain_names(method)), (), whole_step(f"{PREFIX}{name}{GAINS}"),
        f"q and dq after dt, by {name}, with slopes of tau", wrenches=True, several=STATE,
        step=True,
    )
    for name, method in METHODS.items() if method.implicit
}  # fmt: skip

# the same with controls of actuators, and with their activations
ACTIVATED = (*STATE, ("activation_next", ("a",)))
CONTROLLED: dict[str, Quantity] = {
    f"{PREFIX}{name}{kind}": Quantity(
        (*STEP, *more), (), whole_step(f"{PREFIX}{name}{kind}"),
        f"state after dt, by {name}, with actuators", wrenches=True, several=several, step=True,
    )
    for name in METHODS
    for kind, more, several in (
        (CONTROLS, ("controls",), STATE), (ACTIVATION, ("controls", "activation"), ACTIVATED),
    )
}  # fmt: skip


SOLID = 1e-12  # share of the whole robot's inertia that counts as inertia


def check_inertia(model: Model) -> None:
    """Raise an error that names the joint if the mass matrix is singular in every position."""
    if _is_solid(model):
        return
    q, rest = algorithms.random(model, np.random.default_rng(0)), zeros(model.n)
    algorithms.forward_dynamics(tree_of(model), q, rest, rest)


def _is_solid(model: Model) -> bool:
    """Return True if every link has mass and inertia, so that no motion is without energy."""
    m, I = np.asarray(model.m), np.asarray(model.I_com)
    if not (is_numeric(m) and is_numeric(I)):
        return False
    m, I = m.astype(float), I.astype(float)
    size = float(np.abs(np.asarray(model.M_pi, float)[:, :3, 3]).sum())
    mass = float(np.abs(m).sum())
    least = np.linalg.eigvalsh(I)[:, 0].min(initial=np.inf)
    return bool(m.min(initial=np.inf) > SOLID * mass and least > SOLID * mass * size * size)


def find_quantity(name: str) -> Quantity:
    """Return the quantity of that name, of any table."""
    known = QUANTITIES | DERIVED | BALANCES | WHOLE_BODY | CONSTRAINED | STEPS | CONTROLLED
    if name not in known:
        raise NameLookupError(
            f"there is no quantity {name!r} to compile; choose {', '.join(known)}."
        )
    return known[name]
