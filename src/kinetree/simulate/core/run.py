"""Run: what a simulation was asked for. It is checked once, and every stage receives it whole."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from inspect import Parameter, Signature
from typing import Any, Literal, Required, SupportsFloat, TypeAlias, TypedDict

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import is_one_of, switch
from kinetree.core.progress import Progress
from kinetree.dynamics.constraints.stepping import check_modes, check_stepping
from kinetree.dynamics.methods import METHODS, Method, check_contact_method
from kinetree.engine.kernels.ports import check_model
from kinetree.errors import InputError
from kinetree.model import HasModel, Model
from kinetree.model.inputs import (
    activation_axis,
    actuator_axis,
    coordinate_axis,
    dof_axis,
    link_axis,
)
from kinetree.motion.inputs import positive
from kinetree.present.axis import Axis
from kinetree.present.labels import Alignment
from kinetree.simulate.core.closure import closure_bounds, read_closure_time
from kinetree.simulate.core.controller import Controller
from kinetree.simulate.core.events import Event, Events, read_events
from kinetree.simulate.core.limits import Bound, joint_bounds
from kinetree.simulate.core.signals import Signal
from kinetree.simulate.core.sources import ForceInput
from kinetree.simulate.core.touching import AUTO, check_contact_step, residual_bounds
from kinetree.simulate.tuning import FIXED_STEP, MAX_STEPS, RESULT_STEP, WHOLE_STEPS

ADAPTIVE = "dop853"
ADAPTIVE_METHODS = (ADAPTIVE, "radau", "auto")
LIMITS = ("stop", "record", "ignore")
TARGETS = ("cpu", "cuda")
Law: TypeAlias = Callable[..., ArrayLike]  # tau from t, q and dq
Differentiable = Literal[
    "dop853", "rk4", "semi_implicit_euler", "implicit", "implicitfast", "euler"
]
MethodName = Literal[Differentiable, "radau", "auto"]
LimitsChoice = Literal["stop", "record", "ignore"]


class SimulationOptions(TypedDict, total=False):
    """Types of the options of `simulate` for editors; `Run` has their defaults."""

    duration: Required[float]
    dt: float | None
    method: MethodName
    tau: ForceInput | None
    F_ext: ForceInput | None
    controller: Controller | Law | None
    parameters: Mapping[str, ArrayLike] | None
    controls: ForceInput | None
    activation: StateLike | None
    drive_state: ArrayLike | None
    friction_state: ArrayLike | None
    every: int
    limits: LimitsChoice
    events: Events
    rtol: float
    atol: float
    max_step: float | None
    closure_time: float | None
    progress: bool | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """A simulation as it was asked for. `Robot.simulate` explains each option."""

    model: Model
    q0: StateLike
    dq0: StateLike | None = None
    duration: float
    dt: float | None = None
    method: MethodName = "auto"
    tau: ForceInput | None = None
    F_ext: ForceInput | None = None
    controller: Controller | Law | None = None
    parameters: Mapping[str, ArrayLike] | None = None
    controls: ForceInput | None = None
    activation: StateLike | None = None
    drive_state: ArrayLike | None = None
    friction_state: ArrayLike | None = None
    every: int = 1
    limits: LimitsChoice = "stop"
    events: Events = ()
    rtol: float = 1e-8
    atol: float = 1e-10
    max_step: float | None = None
    closure_time: float | None = None
    progress: bool | None = None
    target: Literal["cpu", "cuda"] = "cpu"

    @cached_property
    def fixed(self) -> Method | None:
        """The method of fixed steps; None: an adaptive one."""
        if is_one_of(self.method, ADAPTIVE_METHODS):
            return None
        if not is_one_of(self.method, METHODS):
            known = ", ".join([*METHODS, *ADAPTIVE_METHODS])
            raise InputError(f"method is {self.method!r}; choose one of {known}.")
        return METHODS[self.method]

    @cached_property
    def times(self) -> Array:
        """Times of the steps, or of the results of the adaptive method: 0, dt, ..., (T,), s."""
        default = RESULT_STEP if self.fixed is None else FIXED_STEP
        return time_grid(self.duration, default if self.dt is None else self.dt)

    @cached_property
    def pull_time(self) -> float | None:
        """Time constant in which errors of constraints decay, s; None: states are projected."""
        step = None if self.fixed is None else float(self.times[1] - self.times[0])
        return read_closure_time(self.model, self.closure_time, self.method, step)

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The limits that are watched, and the errors of constraints."""
        joints = () if self.limits == "ignore" else joint_bounds(self.model)
        closed = closure_bounds(self.model, self.pull_time, self.fixed)
        return joints + closed + residual_bounds(self.model, self.fixed)

    @cached_property
    def found_events(self) -> list[Event]:
        """The events to find."""
        return read_events(self.events)

    @property
    def code_key(self) -> Hashable:
        """The options that compiled code depends on; `Setup.code_key` is the other half."""
        method = self.method if self.fixed is not None else ADAPTIVE
        return self.target, method, len(self.bounds), self.pull_time is None

    @property
    def repeat_key(self) -> tuple[object, ...] | None:
        """All options of a run in which nothing but a constant tau acts; None for any other."""
        acting = self.F_ext, self.controller, self.parameters, self.controls, self.activation
        other = *acting, self.drive_state, self.friction_state, self.max_step, self.closure_time
        touching = self.model.contacts is not None
        if any(x is not None for x in other) or self.events or self.progress or touching:
            return None
        return self.duration, self.dt, self.method, self.every, self.limits

    def bar(self) -> Progress:
        """A progress bar over the times."""
        return Progress("simulating", float(self.times[-1]), self.progress)


def run_signature(robot: str) -> Signature:
    """The signature of a function of a robot and the options of a Run."""
    parameters = [Parameter(robot, Parameter.POSITIONAL_OR_KEYWORD, annotation=Model | HasModel)]
    for option in fields(Run)[1:]:
        by_place = option.name in ("q0", "dq0")
        kind = Parameter.POSITIONAL_OR_KEYWORD if by_place else Parameter.KEYWORD_ONLY
        default = Parameter.empty if option.default is MISSING else option.default
        parameters.append(Parameter(option.name, kind, default=default, annotation=option.type))
    return Signature(parameters)


def checked(run: Run) -> Run:
    """The run with labelled arrays in the order of the robot; raise if its options are wrong.

    States and forces are read by `read_setup`.
    """
    if not is_one_of(run.target, TARGETS):
        raise InputError(f"target is {run.target!r:.60}; expected 'cpu' or 'cuda'.")
    if run.parameters is not None and not isinstance(run.parameters, Mapping):
        raise InputError(
            f"parameters are {run.parameters!r:.60}; expected values by name, such as "
            "{'mass': (..., links)}."
        )
    model = run.model
    if model.contacts is not None and isinstance(run.method, str) and run.method == "auto":
        run = replace(run, method=AUTO)
    _ = run.fixed  # reads the method
    check_contact_method(model, run.method)
    if ("simulate", "checked") not in model.memo:  # once for each robot
        check_model(model)
        model.memo["simulate", "checked"] = True
    fixed = run.fixed
    check_stepping(model, run.parameters or ())
    if fixed is None:
        check_modes(model)
    check_contact_step(model, float(run.times[1] - run.times[0]))
    if not is_one_of(run.limits, LIMITS):
        raise InputError(f"limits is {run.limits!r}; expected one of {', '.join(LIMITS)}.")
    every = run.every
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise InputError(f"every is {every!r}; expected a whole number of steps, 1 or more.")
    _ = run.bounds  # reads closure_time
    if run.progress is not None:
        switch(run.progress, "progress")
    if fixed is None:
        positive(run.rtol, "rtol", "")
        positive(run.atol, "atol", "")
        if run.max_step is not None:
            positive(run.max_step, "max_step", "s")
    elif run.found_events:
        raise InputError(
            f"events are found by adaptive methods, such as {ADAPTIVE!r}; method is {fixed.name!r}."
        )
    elif run.max_step is not None:
        raise InputError(
            "max_step is for adaptive methods, which choose their steps; method "
            f"{fixed.name!r} takes steps of dt."
        )
    return _aligned(run)


def _aligned(run: Run) -> Run:
    """The run with labelled arrays in the order of the robot, as plain arrays."""
    model, parameters = run.model, dict(run.parameters or {})
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
    labelled: list[tuple[object, Axis | None, str]] = []
    for name, axis in axes.items():
        value = getattr(run, name)
        value = value.ordered(axis, name) if isinstance(value, Signal) else value
        labelled.append((value, axis, name))
    for name, value in parameters.items():
        labelled.append((value, link_axis(model) if name == "mass" else None, f"parameter {name}"))
    values = Alignment(labelled).values
    plain: dict[str, Any] = dict(zip(axes, values, strict=False))
    if parameters:
        plain["parameters"] = dict(zip(parameters, values[len(axes) :], strict=True))
    changed = {name: x for name, x in plain.items() if x is not getattr(run, name)}
    return replace(run, **changed) if changed else run


def time_grid(duration: SupportsFloat, dt: SupportsFloat) -> Array:
    """Times 0, dt, 2 dt, ..., duration; the last step is shorter if dt does not divide it."""
    duration, dt = positive(duration, "duration", "s"), positive(dt, "dt", "s")
    if dt > duration * (1 + WHOLE_STEPS):
        raise InputError(
            f"dt is {dt:g} s, longer than the duration of {duration:g} s; expected less."
        )
    steps = duration / dt
    if steps > MAX_STEPS:
        raise InputError(f"duration / dt is {steps:.3g} steps; choose a larger dt.")
    near = abs(steps - round(steps)) < WHOLE_STEPS * steps
    whole = round(steps) if near else math.floor(steps)
    times = np.arange(whole + 1) * dt
    if abs(whole * dt - duration) <= WHOLE_STEPS * duration:
        times[-1] = duration
        return times
    return np.append(times, duration)
