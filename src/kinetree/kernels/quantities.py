"""What can be compiled: every quantity's arguments, results, and the function to trace."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.derivatives.forward_dynamics import lean_forward_derivatives
from kinetree.algorithms.derivatives.inverse_dynamics import tree_derivatives
from kinetree.algorithms.derivatives.tree import lean_tree
from kinetree.algorithms.lean import coriolis_matrix as lean_coriolis
from kinetree.algorithms.lean import energy as lean_energy
from kinetree.algorithms.lean import inverse_dynamics as lean_inverse
from kinetree.algorithms.lean import mass_matrix as lean_mass
from kinetree.algorithms.lean import momentum as lean_momentum
from kinetree.algorithms.lean.model import lean_model
from kinetree.base.arrays import Array
from kinetree.errors import NameLookupError
from kinetree.formulations.drives import frictionless
from kinetree.model import Model
from kinetree.model.inputs import zeros


@dataclass(frozen=True)
class Quantity:
    """What can be compiled: its arguments, the letters of its result, and how to trace it.

    `make(model, regrouped, frame)` returns the function of the arguments.
    """

    inputs: tuple[str, ...]
    dims: tuple[str, ...]
    make: Callable[[Model, bool, str | None], Callable[..., Any]]
    doc: str
    wrenches: bool = False  # whether F_ext may follow as a further argument
    framed: bool = False  # whether it belongs to a frame
    several: tuple[tuple[str, tuple[str, ...]], ...] = ()  # names and letters of several results
    slope_of: tuple[str, tuple[str, ...]] | None = None  # the quantity and arguments it is d/d of

    def outputs(self, name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Name and letters of each result."""
        return self.several or ((name, self.dims),)


def _inverse_dynamics(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    return partial(lean_inverse.inverse_dynamics, lean_model(model, regrouped=regrouped))


def _forward_dynamics(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    if regrouped:
        check_inertia(model)
    return partial(lean_mass.forward_dynamics, lean_model(model, regrouped=regrouped))


def _mass_matrix(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    return partial(lean_mass.mass_matrix, lean_model(model, regrouped=regrouped))


def _bias_forces(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    return partial(lean_inverse.bias_forces, lean_model(model, regrouped=regrouped))


def _gravity_forces(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    lean, rest = lean_model(frictionless(model), regrouped=regrouped), zeros(model.n)
    return lambda q: lean_inverse.inverse_dynamics(lean, q, rest, rest)


def _coriolis_forces(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    still = frictionless(model).with_gravity(zeros(3))
    return partial(lean_inverse.bias_forces, lean_model(still, regrouped=regrouped))


def _coriolis_matrix(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    return partial(lean_coriolis.coriolis_matrix, lean_model(model, regrouped=regrouped))


def _mass_matrix_rate(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    return partial(lean_coriolis.mass_matrix_rate, lean_model(model, regrouped=regrouped))


def _momentum(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    return partial(lean_momentum.momentum, lean_model(model, regrouped=False))


def _centroidal_momentum(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    lean = lean_model(model, regrouped=False)
    return lambda q, dq: lean_momentum.centroidal_momentum(
        lean, q, dq, algorithms.center_of_mass(model, q)
    )


def _kinetic_energy(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    lean = lean_model(model, regrouped=regrouped)
    return lambda q, dq: lean_energy.kinetic_energy(lean, q, dq)


def _textbook(function: Callable[..., Any], framed: bool = False) -> Any:
    def make(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
        return lambda *state: function(model, *state, *([frame] if framed else []))

    return make


QUANTITIES: dict[str, Quantity] = {
    "inverse_dynamics": Quantity(
        ("q", "dq", "ddq"), ("n",), _inverse_dynamics, "tau = M ddq + h - J^T F_ext", wrenches=True
    ),
    "forward_dynamics": Quantity(
        ("q", "dq", "tau"), ("n",), _forward_dynamics, "ddq = M^-1 (tau - h + J^T F_ext)", True
    ),
    "mass_matrix": Quantity(("q",), ("n", "n"), _mass_matrix, "M(q)"),
    "bias_forces": Quantity(("q", "dq"), ("n",), _bias_forces, "h(q, dq) = c + g + friction", True),
    "gravity_forces": Quantity(("q",), ("n",), _gravity_forces, "g(q)"),
    "coriolis_forces": Quantity(("q", "dq"), ("n",), _coriolis_forces, "c(q, dq) = C dq"),
    "coriolis_matrix": Quantity(
        ("q", "dq"), ("n", "n"), _coriolis_matrix, "C(q, dq), dM - 2C skew"
    ),
    "mass_matrix_rate": Quantity(("q", "dq"), ("n", "n"), _mass_matrix_rate, "dM/dt"),
    "kinetic_energy": Quantity(("q", "dq"), (), _kinetic_energy, "dq^T M dq / 2, J"),
    "potential_energy": Quantity(
        ("q",), (), _textbook(algorithms.potential_energy), "- sum of m g . x, J"
    ),
    "center_of_mass": Quantity(
        ("q",), ("3",), _textbook(algorithms.center_of_mass), "centre of mass in {s}, m"
    ),
    "momentum": Quantity(("q", "dq"), ("6",), _momentum, "(angular, linear) in {s}"),
    "centroidal_momentum": Quantity(
        ("q", "dq"), ("6",), _centroidal_momentum, "about the centre of mass"
    ),
    "friction_forces": Quantity(
        ("dq",), ("n",), _textbook(algorithms.friction_forces), "b(dq)"
    ),
    "link_poses": Quantity(
        ("q",), ("l", "4", "4"), _textbook(algorithms.forward_kinematics), "T_si of every link"
    ),
    "pose": Quantity(
        ("q",), ("4", "4"), _textbook(algorithms.pose, True), "T_sb of the frame", framed=True
    ),
    "body_jacobian": Quantity(
        ("q",), ("6", "n"), _textbook(algorithms.body_jacobian, True), "J_b", framed=True
    ),
    "space_jacobian": Quantity(
        ("q",), ("6", "n"), _textbook(algorithms.space_jacobian, True), "J_s", framed=True
    ),
    "body_jacobian_rate": Quantity(
        ("q", "dq"), ("6", "n"), _textbook(algorithms.body_jacobian_rate, True), "dJ_b/dt",
        framed=True,
    ),
    "space_jacobian_rate": Quantity(
        ("q", "dq"), ("6", "n"), _textbook(algorithms.space_jacobian_rate, True), "dJ_s/dt",
        framed=True,
    ),
}  # fmt: skip


def _inverse_derivatives(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    lean = lean_model(model, regrouped=regrouped)

    def derivatives(q: Array, dq: Array, ddq: Array, F_ext: Array | None = None) -> Any:
        return tree_derivatives(lean_tree(lean, q, F_ext), dq, ddq)

    return derivatives


def _forward_derivatives(model: Model, regrouped: bool, frame: str | None) -> Callable[..., Any]:
    if regrouped:
        check_inertia(model)
    return partial(lean_forward_derivatives, lean_model(model, regrouped=regrouped))


SQUARE = ("n", "n")

# what is derived from the dynamics: several results, or parameters instead of joints
DERIVED: dict[str, Quantity] = {
    "inverse_dynamics_derivatives": Quantity(
        ("q", "dq", "ddq"), (), _inverse_derivatives, "d tau/d q, d tau/d dq", wrenches=True,
        several=(("dtau_dq", SQUARE), ("dtau_dv", SQUARE)),
        slope_of=("inverse_dynamics", ("q", "dq")),
    ),
    "forward_dynamics_derivatives": Quantity(
        ("q", "dq", "tau"), (), _forward_derivatives, "d ddq/d q, d ddq/d dq, d ddq/d tau",
        wrenches=True, several=(("da_dq", SQUARE), ("da_dv", SQUARE), ("da_dtau", SQUARE)),
    ),
    "regressor": Quantity(
        ("q", "dq", "ddq"), ("n", "p"), _textbook(algorithms.regressor), "Y, tau = Y pi"
    ),
    "energy_regressor": Quantity(
        ("q", "dq"), (), _textbook(algorithms.energy_regressor), "y_T, y_U: energies = y pi",
        several=(("y_T", ("p",)), ("y_U", ("p",))),
    ),
    "momentum_regressor": Quantity(
        ("q", "dq"), ("6", "p"), _textbook(algorithms.momentum_regressor), "momentum = Y pi"
    ),
}  # fmt: skip


def check_inertia(model: Model) -> None:
    """Refuse a robot whose mass matrix is singular wherever one looks, naming the joint."""
    q, rest = algorithms.random(model, np.random.default_rng(0)), zeros(model.n)
    algorithms.forward_dynamics(model, q, rest, rest)


def find_quantity(name: str) -> Quantity:
    """The quantity of that name, of either table."""
    known = QUANTITIES | DERIVED
    if name not in known:
        raise NameLookupError(
            f"there is no quantity {name!r} to compile; choose {', '.join(known)}."
        )
    return known[name]
