"""Setup: states at the start of a run and everything that acts, read and checked."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from kinetree import dynamics
from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.containers import has_labels
from kinetree.dynamics.constraints.regularity import margin, weakest
from kinetree.dynamics.constraints.solve import MARGIN
from kinetree.dynamics.contacts.start import check_gaps, start_gaps
from kinetree.dynamics.joints.presliding import bristles
from kinetree.dynamics.joints.tangents import integrate
from kinetree.dynamics.state import StateSpace
from kinetree.engine.compiler.graph import Port
from kinetree.engine.kernels.free import check_free, free_ports, owners
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.model.constraints import CLOSED
from kinetree.model.inputs import actuator_axis, check_quaternions, coordinate_axis, dof_axis
from kinetree.motion.inputs import check_order
from kinetree.motion.trajectory import Trajectory
from kinetree.present.labels import Alignment
from kinetree.simulate.actuation import first_memory, read_actuation
from kinetree.simulate.controller import HELD, Controller, Sampled, Sampling, aligned, as_controller
from kinetree.simulate.forces import ActingForces, Code, first_row, recent, with_key
from kinetree.simulate.inputs import (
    ExternalInputs,
    Input,
    Signal,
    Trials,
    common_axes,
    constant,
    read_forces_input,
    read_reference,
    side_by_side,
)
from kinetree.simulate.options import Run

NEARLY_SINGULAR = 1e-2  # pivot of a recorded state next to a singular one: 0.1 rad from it


TRIED = 0.03  # rad or m, rad/s or m/s: beside the start, where functions are checked


@dataclass(frozen=True, eq=False)
class Setup:
    """Initial states x0 (B, x) of rollouts with leading axes `batch`, and all that acts on them.

    extra: count of numbers in the controller's own state, in the deflections of bristles and in the
    memory of actuators and drives that follow it. sampling: of a digital controller.
    """

    model: Model
    x0: Array
    batch: tuple[int, ...]
    acting: ActingForces
    external: ExternalInputs
    extra: int
    sampling: Sampling | None = None

    @property
    def code_key(self) -> Hashable:
        """What compiled code depends on; None if forces come from Python.

        Laws count by what they compute (forces.py).
        """
        acting = self.acting
        if acting.python:
            return None
        return acting.key, self.extra, self.external.code_key, acting.parameters, acting.actuation

    @property
    def controller_size(self) -> int:
        """Count of numbers in the controller's own state."""
        memory = 0 if self.acting.actuation is None else self.acting.actuation.size
        return self.extra - len(bristles(self.model)) - memory

    @property
    def space(self) -> StateSpace:
        """The space of the states, as far as records need it."""
        return StateSpace(self.model, self.extra)

    def described(self, run: Run, note: str | None, counts: Mapping[str, Any]) -> dict[str, Any]:
        """Method, controller and counts of a run, for `meta`; note: why forces come from Python."""
        controller = self.acting.controller
        note = self.sampling.note if note is None and self.sampling is not None else note
        references = {} if self.sampling is None else self.sampling.sampled
        end = float(run.times[-1])
        notes = [] if note is None else [note]
        for name, x in (*self.external.sampled.items(), *references.items()):
            notes += x.note(name.replace("signal ", "the "), end, adaptive=run.fixed is None)
        return {
            "method": run.method_name,
            "controller": "" if controller is None else type(controller).__name__,
            **counts,
            "note": " ".join(notes) or None,
            "compiled": note is None,
            **({"tau_held": True} if self.holds(run) else {}),
        }

    def holds(self, run: Run) -> bool:
        """Return True for joint forces that are given, and held between samples."""
        acting, tau = self.acting, self.acting.tau
        if acting.actuation is not None or (acting.controller is not None and not self.sampling):
            return False
        if isinstance(run.tau, Signal):
            return run.tau.kind == "hold"
        return self.sampling is not None if tau is None else tau.constant is not None


def read_setup(run: Run) -> Setup:
    """Read everything that acts, with leading axes that broadcast."""
    model = run.model
    actuation = read_actuation(model, run.controls is not None, run.fixed, run.times)
    q0 = read_positions(model, run.q0)
    dq0 = np.zeros(model.n)
    if run.dq0 is not None:
        dq0 = constant(run.dq0, (model.n,), "dq0", ", ".join(model.dof_names))
    trials = trial_states(model, q0, dq0, float(run.times[-1]))
    acting = replace(read_forces(model, run, trials), actuation=actuation)
    digital = acting.controller if isinstance(acting.controller, Sampled) else None
    references, acting = acting.signals, replace(acting, signals={}) if digital else acting
    external = external_inputs(model, acting, run.parameters or {})
    z0 = first_states(run, acting)
    batch = common_batch(q0, dq0, external, z0)
    parts = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q0, dq0, z0)]
    check_start(model, parts[0], parts[1])
    check_ground(model, parts[0], run.parameters or {})
    x0 = np.concatenate(parts, -1).reshape(math.prod(batch), -1)
    sampling = None
    if digital is not None:
        external = external.with_constant(HELD, np.zeros((*batch, model.n)))
        sampling = Sampling(digital, model, batch, external, references)
    acting = with_key(model, acting, external, trials)
    return Setup(model, x0, batch, acting, external, z0.shape[-1], sampling)


def trial_states(model: Model, q: Array, dq: Array, end: float) -> Trials:
    """The start of the first rollout, and a state beside it at the end of the run."""
    q, dq = first_row(q, (model.nq,)), first_row(dq, (model.n,))
    aside = TRIED * np.linspace(0.5, 1.0, model.n)
    return [(0.0, q, dq), (end, np.asarray(integrate(model, q, aside), float), dq + aside)]


def read_forces(model: Model, run: Run, trials: Trials) -> ActingForces:
    """Everything that acts on the robot, as it is now."""
    controller = None if run.controller is None else aligned(as_controller(run.controller), model)
    signals = {} if controller is None else controller.signals
    for name, value in signals.items():
        if isinstance(value, Trajectory):
            check_order(value, model, name)
    ports = [Port("t", ()), Port("q", (model.nq,)), Port("dq", (model.n,))]
    dofs, actuators = dof_axis(model), actuator_axis(model)
    tau = (model.n,), "tau", ", ".join(model.dof_names), dofs
    controls = (len(model.actuators),), "controls", ", ".join(model.actuator_names), actuators
    wrenches = (len(model.links), 6), "F_ext", "(moment, force) onto every link", None
    return ActingForces(
        controller=controller,
        signals={
            name: read_reference(value, name, trials, partial(_by_name, model, name))
            for name, value in signals.items()
        },
        tau=read_forces_input(run.tau, *tau, ports, trials),
        F_ext=read_forces_input(run.F_ext, *wrenches, ports, trials),
        parameters=tuple(run.parameters or ()),
        controls=read_forces_input(run.controls, *controls, ports, trials),
    )


def _by_name(model: Model, name: str, value: Any) -> Any:
    """Align labelled values of a reference: q, or a tuple of q, dq and ddq."""
    parts = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    if not any(map(has_labels, parts)):
        return value
    axes = coordinate_axis(model), dof_axis(model), dof_axis(model)
    labelled = list(zip(parts, axes, (name, f"d{name}", f"dd{name}"), strict=False))
    values = Alignment(labelled).values
    return tuple(values) if isinstance(value, tuple) else values[0]


def first_state(model: Model, controller: Controller | None) -> Array:
    """The controller's state at the beginning, (..., m)."""
    if controller is None:
        return np.zeros(0)
    z0 = np.array(controller.start(model), float)
    if z0.ndim == 0 or not np.isfinite(z0).all():
        raise ShapeError(
            f"the state of {type(controller).__name__} at the start is {z0.tolist()}; expected "
            "finite numbers (..., m)."
        )
    return z0


def first_states(run: Run, acting: ActingForces) -> Array:
    """States of the controller, of bristles, actuators and drives, (..., m), at the start."""
    memory = first_memory(run.model, acting.actuation, run.activation, run.drive_state)
    states = {
        "the controller's state": first_state(run.model, acting.controller),
        "friction_state": _deflections(run),
        "activation and drive_state": memory,
    }
    return side_by_side(states)


def _deflections(run: Run) -> Array:
    """Deflections of the bristles of joints with presliding at the start, (..., m)."""
    names = [x.name for x in bristles(run.model)]
    varied = (run.parameters or {}).get("friction")
    for i, joint in enumerate(run.model.joints if varied is not None else ()):
        lowest = np.min(np.asarray(varied, float)[..., i, 2:])  # Coulomb friction
        if joint.friction.presliding is not None and lowest <= 0:
            raise InputError(
                f"parameter friction gives joint {joint.name!r} the Coulomb friction {lowest:g}; "
                "expected above 0, which its presliding approaches in sliding."
            )
    if run.friction_state is None:
        return np.zeros(len(names))
    if not names:
        raise InputError(
            f"friction_state is given, but no friction of {run.model.name!r} has presliding; "
            "leave it out."
        )
    return constant(run.friction_state, (len(names),), "friction_state", ", ".join(names))


def external_inputs(
    model: Model, acting: ActingForces, parameters: Mapping[str, ArrayLike]
) -> ExternalInputs:
    """The numbers that all sources need, by name."""
    constants = {name: x for name, x in acting.inputs.items() if x.constant is not None}
    for port in free_ports(model, acting.parameters) if parameters else ():
        listed = "3 numbers" if port.name == "gravity" else ", ".join(owners(model, port.name))
        value = constant(parameters[port.name], port.shape, f"parameter {port.name}", listed)
        check_free(model, port.name, value)
        constants[f"parameter {port.name}"] = Input.of_constant(value, port.shape)
    sampled = {name: x for name, x in acting.inputs.items() if x.at is not None}
    return ExternalInputs(constants, sampled)


def common_batch(q0: Array, dq0: Array, external: ExternalInputs, z0: Array) -> tuple[int, ...]:
    """Leading axes of all arguments together."""
    states = {"q0": q0, "dq0": dq0, "the controller's state": z0}
    axes = {name: x.shape[:-1] for name, x in states.items()}
    inputs = {**external.constants, **external.sampled}
    return common_axes(axes | {name: x.batch for name, x in inputs.items()})


def read_positions(model: Model, q0: StateLike) -> Array:
    """Read initial positions, (..., nq), with quaternions of length 1."""
    q = constant(q0, (model.nq,), "q0", ", ".join(model.coordinate_names))
    check_quaternions(model, q, "q0")
    return q


def remembered_loop(run: Run, setup: Setup, make: Callable[[], Code]) -> Code:
    """Return the loop made before for an equal run of equal laws, or make it now.

    A loop that calls Python is not kept, since the user's functions are part of it.
    """
    if setup.code_key is None:
        return make()
    return recent(run.model, "loops", (run.code_key, setup.code_key), make)


def check_start(model: Model, q0: Array, dq0: Array) -> None:
    """Raise InputError if the constraints are not satisfied at the start.

    Args:
        model: the robot.
        q0: positions, (..., nq).
        dq0: rates, (..., n).
    """
    constraints = model.constraints
    if constraints is None:
        return

    def value(name: str) -> Array:
        # a kernel takes 0.2 to 0.5 s to compile, a plain algorithm 1 to 25 ms for one position
        plain = q0.ndim == 1
        x = getattr(dynamics, name)(model, q0) if plain else kernel(model, name)(q0)
        return np.asarray(x, float)

    errors = np.abs(value("constraint_errors"))
    at = np.unravel_index(int(np.nanargmax(errors)), errors.shape)
    if not errors[at] <= constraints.tolerance:
        row = int(at[-1])
        raise InputError(
            f"q0 does not satisfy the constraints of {model.name!r}{_rollout(at)}: constraint "
            f"{constraints.owner(row)!r} is open by {errors[at]:.3g} (row "
            f"{constraints.row_names[row]!r}, rad or m); expected at most "
            f"{constraints.tolerance:g}. kt.constraints.project(robot, q0) closes it."
        )
    J = value("constraint_jacobian")
    rates = np.abs(np.einsum("...ij,...j->...i", J, dq0))
    share = rates / (1 + np.einsum("...ij,...j->...i", np.abs(J), np.abs(dq0)))
    at = np.unravel_index(int(np.nanargmax(share)), share.shape)
    if not share[at] <= CLOSED:
        row = int(at[-1])
        raise InputError(
            f"dq0 breaks the constraints of {model.name!r}{_rollout(at)}: constraint "
            f"{constraints.owner(row)!r} opens at {rates[at]:.3g} (row "
            f"{constraints.row_names[row]!r}, rad/s or m/s); expected 0. "
            "kt.constraints.project_rates(robot, q0, dq0) gives the nearest rates that do not."
        )
    away = margin(constraints, J, value("mass_matrix"))
    for at in map(tuple, np.argwhere(~(away > NEARLY_SINGULAR))):
        name, pivot = weakest(model, q0[at])
        if pivot <= MARGIN:
            raise InputError(
                f"q0 is a singular position of {model.name!r}{_rollout((*at, 0))}, or nearly: "
                f"{singular_words(name, pivot)}"
            )


def singular_words(name: str, pivot: float) -> str:
    """Why a simulation cannot be in a singular position, and what to do."""
    return (
        f"constraint {name!r} loses its effect there ({pivot:.2g} of it is left, and results need "
        f"{MARGIN:.2g}), and accelerations do not follow from it. Start elsewhere, for example at "
        "robot.neutral(), and keep the mechanism away from stretched and folded bars."
    )


def _rollout(at: tuple[Any, ...]) -> str:
    """The index of a rollout in a message; empty for a single one."""
    return f" in rollout {[int(k) for k in at[:-1]]}" if len(at) > 1 else ""


def check_ground(model: Model, q0: Array, parameters: Mapping[str, ArrayLike]) -> None:
    """Raise InputError if contacts start inside the ground.

    Args:
        model: the robot.
        q0: positions, (..., nq).
        parameters: of the run, among which may be the ground.
    """
    if model.contacts is not None:
        free = tuple(name for name in parameters if name == "ground")
        data = [parameters[name] for name in free]
        points, gaps, _ = kernel(model, "contact_points", free=free)(q0, *data)
        gaps = gaps if free else start_gaps(model.contacts.ground, points, gaps)
        check_gaps(model, np.asarray(gaps))
