"""Run: what a simulation was asked for. It is checked once, and every stage receives it whole."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, Required, SupportsFloat, TypeAlias, TypedDict

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import is_one_of, numbers, switch
from kinetree.core.progress import Progress
from kinetree.dynamics.constraints.stepping import check_modes
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.methods import METHODS, Method, check_contact_method
from kinetree.engine.kernels.memo import remembered
from kinetree.engine.kernels.ports import check_model
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.inputs import (
    activation_axis,
    actuator_axis,
    coordinate_axis,
    dof_axis,
    link_axis,
)
from kinetree.motion.inputs import positive
from kinetree.present.labels import Alignment, Axis
from kinetree.simulate.controller import Controller
from kinetree.simulate.events import Event, Events, Halt, read_events
from kinetree.simulate.inputs import ForceInput, Signal
from kinetree.simulate.limits import Bound, closure_bounds, joint_bounds, residual_bounds

LONGEST_STEP = 0.05  # s: in it a robot that has fallen by 0.2 m moves 0.1 m

FIXED_STEP = 0.001  # s: default dt of fixed steps
MAX_STEPS = 1e9  # duration / dt: more is taken for a mistyped dt
RESULT_STEP = 0.01  # s: default distance of results of the adaptive method
WHOLE_STEPS = 1e-9  # share by which duration / dt may miss a whole number: 2.0 - 1.95 is not 0.05

ADAPTIVE_METHODS = ("DOP853", "LSODA", "Radau", "BDF")  # by the names of scipy.integrate
STEP_LAW = "time_stepping"  # the method that places impacts and stops within steps
OF_FIXED_STEPS = ("dt", "every")  # options that an adaptive method does not have
OF_ADAPTIVE_STEPS = ("rtol", "atol", "max_step", "record", "breaks", "events")
LIMITS = ("stop", "error", "record", "ignore")
EFFORT_LIMITS = ("watch", "saturate")
TARGETS = ("cpu", "cuda")
Law: TypeAlias = Callable[..., ArrayLike]  # tau from t, q and dq
FixedMethod = Literal[
    "rk4", "time_stepping", "semi_implicit_euler", "implicit", "implicitfast", "euler"
]
MethodName = Literal[FixedMethod, "DOP853", "LSODA", "Radau", "BDF"]
LimitsChoice = Literal["stop", "error", "record", "ignore"]
EffortLimits = Literal["watch", "saturate"]


class SimulationOptions(TypedDict, total=False):
    """Types of the options of `simulate` for editors; `Run` has their defaults."""

    duration: Required[float]
    method: MethodName | None
    dt: float | None
    every: int | None
    record: float | None
    rtol: float | None
    atol: float | None
    max_step: float | None
    breaks: ArrayLike | None
    events: Events
    tau: ForceInput | None
    F_ext: ForceInput | None
    controller: Controller | Law | None
    parameters: Mapping[str, ArrayLike] | None
    controls: ForceInput | None
    activation: StateLike | None
    drive_state: ArrayLike | None
    friction_state: ArrayLike | None
    limits: LimitsChoice
    effort_limits: EffortLimits
    progress: bool | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """A simulation as it was asked for. `Robot.simulate` explains each option."""

    model: Model
    q0: StateLike
    dq0: StateLike | None = None
    duration: float
    method: MethodName | None = None
    dt: float | None = None
    every: int | None = None
    record: float | None = None
    rtol: float | None = None
    atol: float | None = None
    max_step: float | None = None
    breaks: ArrayLike | None = None
    events: Events = ()
    tau: ForceInput | None = None
    F_ext: ForceInput | None = None
    controller: Controller | Law | None = None
    parameters: Mapping[str, ArrayLike] | None = None
    controls: ForceInput | None = None
    activation: StateLike | None = None
    drive_state: ArrayLike | None = None
    friction_state: ArrayLike | None = None
    limits: LimitsChoice = "stop"
    effort_limits: EffortLimits = "watch"
    progress: bool | None = None
    target: Literal["cpu", "cuda"] = "cpu"

    @cached_property
    def method_name(self) -> str:
        """The method, or the one that is taken where none is given.

        That is rk4, and for robots with contacts or dry friction the method that places impacts
        and stops within steps.
        """
        if self.method is not None:
            return self.method
        rough = self.model.contacts is not None or dry_dofs(
            self.model, tuple(self.parameters or ())
        )
        return STEP_LAW if rough else "rk4"

    @cached_property
    def fixed(self) -> Method | None:
        """The method of fixed steps; None: an adaptive one."""
        if is_one_of(self.method_name, ADAPTIVE_METHODS):
            return None
        if not is_one_of(self.method_name, METHODS):
            known = ", ".join([*METHODS, *ADAPTIVE_METHODS])
            raise InputError(f"method is {self.method!r}; choose one of {known}.")
        return METHODS[self.method_name]

    @cached_property
    def times(self) -> Array:
        """Times of the steps, or of the results of an adaptive method: 0, dt, ..., (T,), s."""
        if self.fixed is None:
            return time_grid(
                self.duration, RESULT_STEP if self.record is None else self.record, "record"
            )
        return time_grid(self.duration, FIXED_STEP if self.dt is None else self.dt, "dt")

    @cached_property
    def stride(self) -> int:
        """Steps from record to record."""
        return 1 if self.every is None else int(self.every)

    @cached_property
    def break_times(self) -> Array:
        """Times at which steps of an adaptive method end, (K,), s."""
        times = numbers(() if self.breaks is None else self.breaks, "breaks", "times, s").ravel()
        if not np.isfinite(times).all():
            raise InputError(f"breaks are {times.tolist()!s:.60}; expected finite times, s.")
        return times

    @cached_property
    def solver_options(self) -> dict[str, float]:
        """Tolerances and longest step of an adaptive method, as far as they are given."""
        options = {"rtol": self.rtol, "atol": self.atol, "max_step": self.max_step}
        units = {"rtol": "", "atol": "", "max_step": "s"}
        return {
            name: positive(x, name, units[name]) for name, x in options.items() if x is not None
        }

    @property
    def saturates(self) -> bool:
        """Whether forces of laws are clipped to the limits of the joints."""
        return self.effort_limits == "saturate"

    @property
    def stops(self) -> bool:
        """Whether limits of positions stop joints."""
        return self.limits == "stop" and self.fixed is not None and self.fixed.impulsive

    @property
    def ending(self) -> tuple[str, ...]:
        """The quantities whose limits end the run; "stop" without stops: positions alone."""
        if self.limits == "error":
            return ("position", "velocity", "effort")
        return ("position",) if self.limits == "stop" and not self.stops else ()

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The limits that are watched, and the errors of constraints."""
        watched, varied = self.limits != "ignore", tuple(self.parameters or ())
        key = "bounds", self.method_name, watched, self.stops, varied

        def make() -> tuple[Bound, ...]:
            joints = joint_bounds(self.model) if watched else ()
            kept = tuple(x for x in joints if not (self.stops and x.quantity == "position"))
            closed = closure_bounds(self.model, self.fixed)
            return kept + closed + residual_bounds(self.model, self.fixed, varied, stops=self.stops)

        return remembered(self.model, key, make)

    @cached_property
    def found_events(self) -> list[Event]:
        """The events to find."""
        return [x for x in read_events(self.events) if isinstance(x, Event)]

    @property
    def halts(self) -> list[Halt]:
        """Ends of the motion from outside."""
        return [x for x in read_events(self.events) if isinstance(x, Halt)]

    @property
    def halted(self) -> bool:
        """True if the motion is to end now."""
        return any(halt.asked() for halt in self.halts)

    @property
    def code_key(self) -> Hashable:
        """The options that compiled code depends on; `Setup.code_key` is the other half."""
        method = "adaptive" if self.fixed is None else self.method_name
        return self.target, method, len(self.bounds), self.stops, self.saturates

    def bar(self) -> Progress:
        """A progress bar over the times."""
        return Progress("simulating", float(self.times[-1]), self.progress)


def checked(run: Run) -> Run:
    """The run with labelled arrays in the order of the robot; raise if its options are wrong.

    States and forces are read by `read_setup`.
    """
    choices = {"target": TARGETS, "limits": LIMITS, "effort_limits": EFFORT_LIMITS}
    for name, words in choices.items():
        if not is_one_of(getattr(run, name), words):
            listed = ", ".join(map(repr, words))
            raise InputError(f"{name} is {getattr(run, name)!r:.60}; expected one of {listed}.")
    if run.parameters is not None and not isinstance(run.parameters, Mapping):
        raise InputError(
            f"parameters are {run.parameters!r:.60}; expected values by name, such as "
            "{'mass': (..., links)}."
        )
    model, fixed = run.model, run.fixed
    varied = tuple(run.parameters or ())
    remembered(model, ("steps", run.method_name, varied), partial(_check_robot, run, varied))
    if model.contacts is not None and run.times[1] > LONGEST_STEP:
        raise InputError(
            f"dt is {run.times[1]:g} s, and {model.name!r} has contacts, which stop a robot up to "
            f"one step above the ground; expected {LONGEST_STEP:g} s at most, better 0.001 s."
        )
    _check_kinds(run, fixed)
    every = 1 if run.every is None else run.every
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise InputError(f"every is {every!r}; expected a whole number of steps, 1 or more.")
    _ = run.bounds, run.solver_options, run.break_times, run.found_events  # reads them
    if run.progress is not None:
        switch(run.progress, "progress")
    return _aligned(run)


def _check_robot(run: Run, varied: Sequence[str]) -> bool:
    """Raise InputError if the method cannot step the robot; once for each robot and method."""
    check_contact_method(run.model, run.method_name)
    check_model(run.model)
    if run.fixed is None:
        check_modes(run.model, varied)
    return True


def _check_kinds(run: Run, fixed: Method | None) -> None:
    """Raise InputError for options of the other kind of methods."""
    kind, names, others = "methods of fixed steps", OF_FIXED_STEPS, METHODS
    if fixed is not None:
        kind, names, others = "adaptive methods", OF_ADAPTIVE_STEPS, ADAPTIVE_METHODS
    given = [name for name in names if getattr(run, name) is not None]
    if "events" in given and not run.found_events:
        given.remove("events")
    if given:
        raise InputError(
            f"{given[0]} is for {kind} ({', '.join(others)}); method is {run.method_name!r}. "
            f"Leave {given[0]} out, or choose another method."
        )


def _aligned(run: Run) -> Run:
    """The run with labelled arrays in the order of the robot, as plain arrays."""
    model, varied = run.model, {f"parameter {k}": x for k, x in (run.parameters or {}).items()}
    axes: dict[str, Axis | None] = {
        "q0": coordinate_axis(model),
        "dq0": dof_axis(model),
        "tau": dof_axis(model),
        "F_ext": None,
        "controls": actuator_axis(model),
        "activation": activation_axis(model),
        "drive_state": None,
        "friction_state": None,
    }
    given = {name: getattr(run, name) for name in axes} | varied
    given = {k: x.ordered(axes[k], k) if isinstance(x, Signal) else x for k, x in given.items()}
    all_axes = axes | dict.fromkeys(varied) | {"parameter mass": link_axis(model)}
    labelled = [(x, all_axes[name], name) for name, x in given.items()]
    plain = dict(zip(given, Alignment(labelled).values, strict=True))
    changed: dict[str, Any] = {k: plain[k] for k in axes if plain[k] is not getattr(run, k)}
    if varied:
        changed["parameters"] = {k.partition(" ")[2]: plain[k] for k in varied}
    return replace(run, **changed) if changed else run


def time_grid(duration: SupportsFloat, dt: SupportsFloat, name: str) -> Array:
    """Times 0, dt, 2 dt, ..., duration; the last step is shorter if dt does not divide it."""
    duration, dt = positive(duration, "duration", "s"), positive(dt, name, "s")
    if dt > duration * (1 + WHOLE_STEPS):
        raise InputError(
            f"{name} is {dt:g} s, longer than the duration of {duration:g} s; expected less."
        )
    steps = duration / dt
    if steps > MAX_STEPS:
        raise InputError(f"duration / {name} is {steps:.3g} steps; choose a larger {name}.")
    near = abs(steps - round(steps)) < WHOLE_STEPS * steps
    whole = round(steps) if near else math.floor(steps)
    times = np.arange(whole + 1) * dt
    if abs(whole * dt - duration) <= WHOLE_STEPS * duration:
        times[-1] = duration
        return times
    return np.append(times, duration)
