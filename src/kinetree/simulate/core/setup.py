"""The arguments of a simulation, read and checked: states, times, and everything that acts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, SupportsFloat, cast

import numpy as np

from kinetree.base.arrays import Array, ArrayLike, StateLike
from kinetree.base.axis import Axis
from kinetree.base.containers import has_labels
from kinetree.base.labels import Alignment
from kinetree.base.options import is_one_of, numbers, switch
from kinetree.base.progress import Progress
from kinetree.description.joints import FREE as FREE_JOINT
from kinetree.description.joints import SPHERICAL
from kinetree.errors import InputError, ShapeError
from kinetree.kernels.compile import check_model
from kinetree.kernels.free import free_ports
from kinetree.model import Model
from kinetree.model.inputs import (
    activation_axis,
    actuator_axis,
    coordinate_axis,
    dof_axis,
    link_axis,
)
from kinetree.motion.inputs import check_order, positive
from kinetree.motion.trajectory import Trajectory
from kinetree.simulate.core.actuation import Actuation, first_memory
from kinetree.simulate.core.closure import check_start, closure_bounds, read_closure_time
from kinetree.simulate.core.controller import Controller, aligned, as_controller
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.forces import ActingForces, Code, judged, recent
from kinetree.simulate.core.limits import Bound, joint_bounds
from kinetree.simulate.core.sampling import HELD, Sampled, Sampling
from kinetree.simulate.core.signals import Signal, TimeSource
from kinetree.simulate.core.sources import ForceInput, constant, force_source, time_source
from kinetree.simulate.core.switches import PYTHON_SAMPLES

ADAPTIVE = "dop853"
LIMITS = ("stop", "record", "ignore")
FIXED_STEP, RESULT_STEP = 0.001, 0.01  # s: the default dt; of results of the adaptive method


@dataclass(frozen=True, eq=False, kw_only=True)
class Arguments:
    """The state and everything that acts, as the user gave them; see `simulate`."""

    q0: StateLike
    dq0: StateLike | None = None
    tau: ForceInput | None = None
    F_ext: ForceInput | None = None
    controller: Controller | Callable[..., ArrayLike] | None = None
    parameters: Mapping[str, ArrayLike] | None = None
    controls: ForceInput | None = None
    activation: StateLike | None = None
    drive_state: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class Setup:
    """Initial states x0 (B, x) of rollouts with leading axes `batch`, and all that acts on them.

    extra: count of numbers in the controller's own state, and in the memory of actuators and
    drives that follows it. sampling: of a digital controller.
    """

    x0: Array
    batch: tuple[int, ...]
    acting: ActingForces
    external: ExternalInputs
    extra: int
    sampling: Sampling | None = None

    def described(
        self, method: str, note: str | None, extra: Mapping[str, object]
    ) -> dict[str, object]:
        """How a motion was found, for its `meta`."""
        controller = self.acting.controller
        name = "" if controller is None else type(controller).__name__
        note = self.sampling.note if note is None and self.sampling is not None else note
        compiled = note is None
        if compiled and method == ADAPTIVE:
            note = self.sampled_note
        return {
            "method": method,
            "controller": name,
            **extra,
            "note": note,
            "compiled": compiled,
        }

    @property
    def sampled_note(self) -> str | None:
        """What adaptive steps may miss of a function of time that cannot be traced, for `meta`."""
        for source in self.acting.sources():
            if source.called is not None:
                return (
                    f"{source.called.name} runs in Python: it is sampled at "
                    f"{PYTHON_SAMPLES + 1:,} times of the run, and a pulse shorter than the "
                    f"duration / {PYTHON_SAMPLES:,} can be missed. Write it with where, or give a "
                    "max_step shorter than the pulse."
                )
        return None


@dataclass(frozen=True, eq=False)
class Plan:
    """What a simulation computes: times 0, dt, ..., (T,), of which every so many are recorded.

    limits: "stop", "record" or "ignore". bounds: the limits that are watched. closure_time: in
    which errors of constraints decay, s; None: states are projected onto the constraints.
    """

    method: str
    times: Array
    every: int
    limits: str
    bounds: tuple[Bound, ...]
    progress: bool | None = None
    closure_time: float | None = None

    def bar(self) -> Progress:
        """A progress bar over the times."""
        return Progress("simulating", float(self.times[-1]), self.progress)


def check_once(model: Model) -> None:
    """Raise ModelError for a robot that cannot be simulated; looked at once for each robot."""
    if ("simulate", "checked") not in model.memo:
        check_model(model)
        model.memo["simulate", "checked"] = True


def read_plan(
    model: Model,
    method: str,
    duration: float,
    dt: float | None,
    limits: str,
    every: int = 1,
    progress: bool | None = None,
    closure_time: float | None = None,
) -> Plan:
    """Check the times and options of a simulation."""
    default = RESULT_STEP if method == ADAPTIVE else FIXED_STEP
    times = grid(duration, default if dt is None else dt)
    if not is_one_of(limits, LIMITS):
        raise InputError(f"limits is {limits!r}; expected one of {', '.join(LIMITS)}.")
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise InputError(f"every is {every!r}; expected a whole number of steps, 1 or more.")
    step = None if method == ADAPTIVE else float(times[1] - times[0])
    T = read_closure_time(model, closure_time, method, step)
    bounds = () if limits == "ignore" else joint_bounds(model)
    bounds += closure_bounds(model, T, method)
    bar = None if progress is None else switch(progress, "progress")
    return Plan(method, times, int(every), limits, bounds, bar, T)


def aligned_arguments(model: Model, arguments: Arguments) -> Arguments:
    """Return the arguments with labelled arrays in the order of the robot, as plain arrays."""
    parameters = dict(arguments.parameters or {})
    rates = dof_axis(model)
    tau, F_ext, controls = arguments.tau, arguments.F_ext, arguments.controls
    if isinstance(tau, Signal):
        tau = tau.ordered(rates, "tau")
    if isinstance(controls, Signal):
        controls = controls.ordered(actuator_axis(model), "controls")
    if isinstance(F_ext, Signal):
        F_ext = F_ext.ordered(None, "F_ext")
    given: list[tuple[object, Axis | None, str]] = [
        (arguments.q0, coordinate_axis(model), "q0"),
        (arguments.dq0, rates, "dq0"),
        (tau, rates, "tau"),
        (F_ext, None, "F_ext"),
        (controls, actuator_axis(model), "controls"),
        (arguments.activation, activation_axis(model), "activation"),
        (arguments.drive_state, None, "drive_state"),
    ]
    for name, value in parameters.items():
        given.append((value, link_axis(model) if name == "mass" else None, f"parameter {name}"))
    q0, dq0, tau, F_ext, controls, activation, drive_state, *rest = Alignment(given).values
    values = dict(zip(parameters, rest, strict=True)) if parameters else arguments.parameters
    return replace(
        arguments, q0=q0, dq0=dq0, tau=tau, F_ext=F_ext, parameters=values, controls=controls,
        activation=activation, drive_state=drive_state,
    )  # fmt: skip


def read_setup(model: Model, arguments: Arguments, actuation: Actuation | None = None) -> Setup:
    """Read everything that acts, with leading axes that broadcast."""
    q0 = read_positions(model, arguments.q0)
    dq0 = np.zeros(model.n) if arguments.dq0 is None else read_rates(model, arguments.dq0)
    acting = replace(read_forces(model, arguments), actuation=actuation)
    inputs = replace(acting, signals={}) if isinstance(acting.controller, Sampled) else acting
    external = external_inputs(model, inputs, arguments.parameters or {})
    z0, _ = first_states(model, acting, arguments)
    batch = common_batch(q0, dq0, external, z0)
    if 0 in batch:
        raise ShapeError(
            f"the leading axes of the rollouts are {batch}, which is no rollout at all; give at "
            "least one state."
        )
    parts = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q0, dq0, z0)]
    check_start(model, parts[0], parts[1])
    x0 = np.concatenate(parts, -1).reshape(math.prod(batch), -1)
    sampling = None
    if isinstance(acting.controller, Sampled):
        held = np.zeros((*batch, model.n)), (model.n,)
        external = replace(external, constants={**external.constants, HELD: held})
        sampling = Sampling(acting.controller, model, batch, external, acting.signals)
        acting = replace(acting, signals={})
    acting = judged(model, acting, external)
    return Setup(x0, batch, acting, external, z0.shape[-1], sampling)


def read_forces(model: Model, arguments: Arguments) -> ActingForces:
    """Everything that acts on the robot, as it is now."""
    given = arguments.controller
    controller = None if given is None else aligned(as_controller(given), model)
    signals = {} if controller is None else controller.signals
    wrenches = (len(model.links), 6), "F_ext", "(moment, force) onto every link"
    shapes = (model.nq,), (model.n,)
    for name, value in signals.items():
        if isinstance(value, Trajectory):
            check_order(value, model, name)
    return ActingForces(
        controller=controller,
        signals={
            name: time_source(value, name, partial(_by_name, model, name))
            for name, value in signals.items()
        },
        tau=force_source(
            arguments.tau,
            (model.n,),
            "tau",
            ", ".join(model.dof_names),
            dof_axis(model),
            state=shapes,
        ),
        F_ext=force_source(arguments.F_ext, *wrenches, state=shapes),
        parameters=tuple(arguments.parameters or ()),
        controls=force_source(
            arguments.controls,
            (len(model.actuators),),
            "controls",
            ", ".join(model.actuator_names),
            actuator_axis(model),
            state=shapes,
        ),
    )


def _by_name(model: Model, name: str, found: Any) -> Any:
    """Align labelled values of a reference: q, or a tuple of q, dq and ddq."""
    parts = cast("tuple[object, ...]", found) if isinstance(found, tuple) else (found,)
    if not any(map(has_labels, parts)):
        return found
    axes = coordinate_axis(model), dof_axis(model), dof_axis(model)
    given = list(zip(parts, axes, (name, f"d{name}", f"dd{name}"), strict=False))
    values = Alignment(given).values
    return tuple(values) if isinstance(found, tuple) else values[0]


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


def first_states(model: Model, acting: ActingForces, arguments: Arguments) -> tuple[Array, int]:
    """The controller's state and the memory of actuators and drives, (..., m); size of the first.

    Args:
        model: the robot.
        acting: everything that acts.
        arguments: with the activations and the state of the drives at the start.
    """
    own = first_state(model, acting.controller)
    size = len(model.activation_names)
    states = ", ".join(model.activation_names)
    states = states or f"no actuator of {model.name!r} has a state; leave it out"
    given = {
        "activation": None
        if arguments.activation is None
        else constant(arguments.activation, (size,), "activation", states),
        "drive_state": None
        if arguments.drive_state is None
        else numbers(arguments.drive_state, "drive_state", "an array of numbers"),
    }
    memory = first_memory(model, acting.actuation, given)
    if not memory.shape[-1]:
        return own, own.shape[-1]
    try:
        batch = np.broadcast_shapes(own.shape[:-1], memory.shape[:-1])
    except ValueError:
        raise ShapeError(
            f"the controller's state has leading axes {own.shape[:-1]} and that of actuators and "
            f"drives {memory.shape[:-1]}, which do not broadcast; each axis must be equal or 1."
        ) from None
    parts = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (own, memory)]
    return np.concatenate(parts, -1), own.shape[-1]


def external_inputs(
    model: Model, acting: ActingForces, parameters: Mapping[str, ArrayLike]
) -> ExternalInputs:
    """The numbers that all sources need, by name."""
    constants: dict[str, tuple[Array, tuple[int, ...]]] = {}
    sampled: dict[str, TimeSource] = {}
    forces = (
        ("tau", acting.tau, (model.n,)),
        ("F_ext", acting.F_ext, (len(model.links), 6)),
        ("controls", acting.controls, (len(model.actuators),)),
    )
    for name, source, shape in forces:
        if source is not None and source.constant is not None:
            constants[name] = source.constant, shape
    for name, source in acting.signals.items():
        if source.constant is not None:
            constants[f"signal {name}"] = source.constant, source.constant.shape[-1:]
    for port in free_ports(model, acting.parameters):
        what = "3 numbers" if port.name == "gravity" else ", ".join(model.link_names)
        value = constant(parameters[port.name], port.shape, f"parameter {port.name}", what)
        constants[f"parameter {port.name}"] = value, port.shape
    named = {"tau": acting.tau, "F_ext": acting.F_ext, "controls": acting.controls}
    named |= {f"signal {name}": source for name, source in acting.signals.items()}
    for name, source in named.items():
        if source is not None and source.sampled is not None:
            sampled[name] = source.sampled
    return ExternalInputs(constants, sampled)


def common_batch(q0: Array, dq0: Array, external: ExternalInputs, z0: Array) -> tuple[int, ...]:
    """Leading axes of all arguments together."""
    names = ["q0", "dq0", "the controller's state", *external.constants, *external.sampled]
    shapes = [q0.shape[:-1], dq0.shape[:-1], z0.shape[:-1], *external.batches]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        pairs = zip(names, shapes, strict=True)
        listed = ", ".join(f"{name} {shape}" for name, shape in pairs if shape)
        raise ShapeError(
            f"the leading axes of the rollouts do not broadcast: {listed}. Each axis must be "
            "equal or 1."
        ) from None


def remembered_loop(
    model: Model, setup: Setup, rest: tuple[object, ...], make: Callable[[], Code]
) -> Code:
    """Return the loop made before for the same robot, laws and shapes, or make it now.

    Laws count by what they compute (forces.py). A loop that calls Python is not kept, since the
    user's functions are part of it.
    """
    verdict, acting, external = setup.acting.verdict, setup.acting, setup.external
    if verdict is None or verdict.key is None:
        return make()
    shapes = [(name, shape) for name, (_, shape) in external.constants.items()]
    sampled = [(name, source.shapes) for name, source in external.sampled.items()]
    rest = acting.actuation, rest
    key = verdict.key, setup.extra, tuple(shapes), tuple(sampled), acting.parameters, rest

    def compiled(loop: Code) -> bool:
        system = getattr(loop, "system", None)
        return system is None or system.graph is not None

    return recent(model, "loops", key, make, compiled)


def read_positions(model: Model, q0: StateLike) -> Array:
    """Read initial positions, (..., nq), with quaternions of length 1."""
    q = constant(q0, (model.nq,), "q0", ", ".join(model.coordinate_names))
    check_quaternions(model, q, "q0")
    return q


def read_rates(model: Model, dq0: StateLike) -> Array:
    """Read initial rates, (..., n)."""
    return constant(dq0, (model.n,), "dq0", ", ".join(model.dof_names))


def check_quaternions(model: Model, q: Array, name: str) -> None:
    """Raise InputError if a quaternion in positions (..., nq) does not have length 1."""
    for joint in model.joints:
        if joint.type in (SPHERICAL, FREE_JOINT):
            length = np.linalg.norm(q[..., list(joint.coords[:4])], axis=-1)
            bad = np.argwhere(abs(length - 1) > 1e-9)
            if len(bad):
                at = tuple(int(k) for k in bad[0])
                raise InputError(
                    f"the quaternion of joint {joint.name!r} in {name}{list(at) or ''} has length "
                    f"{float(length[at]):.12g}; expected 1. Divide it by its length."
                )


def grid(duration: SupportsFloat, dt: SupportsFloat) -> Array:
    """Times 0, dt, 2 dt, ..., duration; the last step is shorter if dt does not divide it."""
    duration, dt = positive(duration, "duration", "s"), positive(dt, "dt", "s")
    if dt > duration * (1 + 1e-9):  # 2.0 - 1.95 is a little less than 0.05
        raise InputError(
            f"dt is {dt:g} s, longer than the duration of {duration:g} s; expected less."
        )
    steps = duration / dt
    if steps > 1e9:
        raise InputError(f"duration / dt is {steps:.3g} steps; choose a larger dt.")
    whole = round(steps) if abs(steps - round(steps)) < 1e-9 * steps else math.floor(steps)
    times = np.arange(whole + 1) * dt
    if abs(whole * dt - duration) <= 1e-9 * duration:
        times[-1] = duration
        return times
    return np.append(times, duration)
