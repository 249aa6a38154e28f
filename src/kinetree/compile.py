"""Where algorithms meet the compiler: a quantity of a robot becomes a kernel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.drives import frictionless
from kinetree.algorithms.inputs import zeros
from kinetree.algorithms.lean import coriolis_matrix as lean_coriolis
from kinetree.algorithms.lean import energy as lean_energy
from kinetree.algorithms.lean import inverse_dynamics as lean_inverse
from kinetree.algorithms.lean import mass_matrix as lean_mass
from kinetree.algorithms.lean import momentum as lean_momentum
from kinetree.algorithms.lean.model import lean_model
from kinetree.arrays import Array
from kinetree.backends.kernel import Kernel
from kinetree.compilable import check_model, check_options
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.errors import NameLookupError
from kinetree.free import free_ports, with_free
from kinetree.model import Model
from kinetree.traced import stored_graph


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


def trace_quantity(
    model: Model,
    name: str,
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
) -> Graph:
    """The optimised graph of a quantity of the robot; arguments as in `compile_kernel`."""
    quantity = _find(name)
    check_model(model)
    check_options(
        model,
        name,
        framed=quantity.framed,
        loaded=quantity.wrenches,
        frame=frame,
        wrenches=wrenches,
    )
    state = [_port(model, x) for x in quantity.inputs]
    loads = [Port("F_ext", (len(model.links), 6), ("l", "6"))] if wrenches else []
    extra = free_ports(model, free)
    given = len(state) + len(loads)

    def function(*arrays: Array) -> Any:
        changed = with_free(model, free, arrays[given:])
        return quantity.make(changed, not free, frame)(*arrays[:given])

    def make() -> Graph:
        return optimise(trace(function, [*state, *loads, *extra], [(name, quantity.dims)]))

    return stored_graph(model, (name, frame, wrenches, tuple(free)), make)


def compile_kernel(
    model: Model,
    name: str,
    *,
    frame: str | None = None,
    wrenches: bool = False,
    free: Sequence[str] = (),
) -> Kernel:
    """The kernel of a quantity, specialised to the robot.

    Args:
        model: the robot.
        name: one of `QUANTITIES`.
        frame: the frame of a pose or Jacobian; the tool when None.
        wrenches: with F_ext, (links, 6), as the last argument of the state.
        free: data that become further arguments instead of constants: some of
            "mass" (l,), "com" (l, 3), "inertia" (l, 3, 3) about the centre, "gravity" (3,),
            "friction" (l, 4): viscous and Coulomb coefficients, each for dq > 0 and dq < 0.
    """
    quantity = _find(name)
    graph = trace_quantity(model, name, frame=frame, wrenches=wrenches, free=free)
    doc = f"{name} of {model.name}: {quantity.doc}"
    if quantity.wrenches and not wrenches and not free:
        more = partial(compile_kernel, model, name, wrenches=True)
        return Kernel(graph, name, doc, more=("F_ext", more))
    return Kernel(graph, name, doc)


def check_inertia(model: Model) -> None:
    """Refuse a robot whose mass matrix is singular wherever one looks, naming the joint."""
    q, rest = algorithms.random(model, np.random.default_rng(0)), zeros(model.n)
    algorithms.forward_dynamics(model, q, rest, rest)


def _find(name: str) -> Quantity:
    if name not in QUANTITIES:
        raise NameLookupError(
            f"there is no quantity {name!r} to compile; choose {', '.join(QUANTITIES)}."
        )
    return QUANTITIES[name]


def _port(model: Model, name: str) -> Port:
    if name == "q":
        same = model.nq == model.n
        return Port("q", (model.nq,), ("n",) if same else ("nq",))
    return Port(name, (model.n,), ("n",))
