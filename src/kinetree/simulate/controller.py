"""Controller: the interface of all controllers, and a plain function as a controller."""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, read_only
from kinetree.core.containers import has_labels, refuse_labels
from kinetree.errors import InputError, ShapeError, argument
from kinetree.model import Model
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.motion.inputs import positive
from kinetree.motion.trajectory import Trajectory
from kinetree.present.labels import Axis, by_name, vector_by_name
from kinetree.scalars import Scalar
from kinetree.simulate.functions import (
    add_time,
    call,
    check_arguments,
    check_real,
    first_line,
    label,
)
from kinetree.simulate.inputs import TIME_SLACK, ExternalInputs, Input, shaped

HELD = "held"  # name of the held forces among the constants of a loop

MAX_SAMPLES = 1_000_000  # calls of a digital controller in a run

NamedFields = Mapping[str, Callable[[Model], Axis]]
SignalValues = Mapping[str, tuple[Array, ...]]
# a reference over time: a constant, a function of t, or a planned motion
Reference = ArrayLike | Trajectory | Callable[[Scalar], ArrayLike | tuple[ArrayLike, ...]]

OPAQUE = {
    "opaque": True
}  # metadata of a field with an object of the user, which is not looked into


@runtime_checkable
class Controller(Protocol):
    """Joint forces from the state of the robot, and the rate of the controller's own state z.

    A controller is a frozen record. Written with `kinetree.scalars`, it is traced and compiled
    into the loop of a simulation; the same code runs on plain numbers.
    """

    @property
    def signals(self) -> Mapping[str, Any]:
        """Functions of time that it follows, by name: t -> an array or a tuple of arrays."""
        ...

    def start(self, model: Model) -> Array:
        """Return its own state at the beginning, (m,); empty if it has no state.

        Args:
            model: the robot.
        """
        ...

    def act(
        self, model: Model, t: Any, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """Return tau, (n,), N m or N, and dz/dt, (m,).

        Args:
            model: the robot that moves; its data are arguments where a simulation varies them.
            t: time, s.
            q: joint positions, shape (nq,), rad or m.
            dq: joint rates, shape (n,), rad/s or m/s.
            z: the controller's own state, shape (m,), in its own units.
            given: the values of `signals` at t, by name, as tuples of arrays.
        """
        ...


class ByValue:
    """The part shared by records that keep what they were given: arrays and the like are copied."""

    def __post_init__(self) -> None:
        """Replace the arrays, lists and labelled values among the fields by copies."""
        for entry in fields(self):  # type: ignore[arg-type]
            value = getattr(self, entry.name, None)
            if entry.init and entry.metadata != OPAQUE:
                if isinstance(value, np.ndarray):
                    object.__setattr__(self, entry.name, read_only(value))
                elif isinstance(value, list) or has_labels(value):
                    object.__setattr__(self, entry.name, copy.deepcopy(value))


class Stateless(ByValue):
    """The part shared by controllers without a state of their own: z is empty."""

    def start(self, model: Model) -> Array:
        """Return an empty state, (0,).

        Args:
            model: the robot.
        """
        return np.zeros(0)


class ByFunction(ByValue):
    """The part shared by controllers that are a function of the user, perhaps of a reference."""

    named_fields: ClassVar[NamedFields] = {"reference": coordinate_axis}

    function: Callable[..., Any]
    reference: Reference | None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(
                f"a controller is {self.function!r}; expected a function law(t, q, dq) that "
                "returns tau, or one of kinetree.controllers."
            )
        super().__post_init__()
        _ = self.signals  # checks the reference

    @property
    def signals(self) -> Mapping[str, Any]:
        """The reference, by name."""
        return {} if self.reference is None else {"reference": as_reference(self.reference)}


@dataclass(frozen=True, eq=False)
class Law(ByFunction, Stateless):
    """A function tau = law(t, q, dq) as a controller; with a reference, law(t, q, dq, *values).

    Args:
        function: returns tau, (n,), N m or N, from t, q and dq, and the values of the reference.
        reference: positions, shape (nq,), rad or m: an array, a function of t, s, that
            returns an array or a tuple of arrays, or a Trajectory; None: no reference.
    """

    function: Callable[..., ArrayLike]
    reference: Reference | None = None

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        name = label(self.function)
        result = call(name, self.function, t, q, dq, *given.get("reference", ()))
        return as_forces(result, model, name), z


def as_forces(value: ArrayLike, model: Model, name: str) -> Array:
    """Joint forces that a function has returned, (n,), as a new array."""
    tau = np.array(by_name(value, dof_axis(model), "tau"))
    check_real(tau, name)
    if tau.shape != (model.n,):
        raise ShapeError(
            f"{name} returned an array of shape {tau.shape}; expected ({model.n},): one force for "
            f"each of {', '.join(model.dof_names)}."
        )
    return tau


def as_reference(value: Reference, name: str = "reference") -> Any:
    """Check a position (..., nq), a function of t, or a Trajectory; positions become arrays."""
    if callable(value) or hasattr(value, "ddq") or has_labels(value):
        return value  # labelled positions are aligned when the robot is known
    try:
        x = np.array(value, float)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is {value!r}; expected a position q (..., nq), a function of t that returns "
            "q, (q, dq) or (q, dq, ddq), or a Trajectory."
        ) from None
    if x.ndim == 0 or not np.isfinite(x).all():
        raise InputError(f"{name} is {x.tolist()}; expected finite positions (..., nq).")
    return x


def aligned(controller: Any, model: Model) -> Any:
    """Return a controller of kinetree with its labelled fields in the order of the robot.

    `named_fields` of its class has the names along its fields; other fields may not be labelled.
    """
    axes: NamedFields | None = getattr(type(controller), "named_fields", None)
    if axes is None:
        return controller
    changed: dict[str, Any] = {}
    for entry in fields(controller):
        value = getattr(controller, entry.name)
        if hasattr(type(value), "named_fields"):
            plain = aligned(value, model)
        elif entry.init and entry.metadata != OPAQUE and has_labels(value):
            if entry.name not in axes:
                refuse_labels(value, f"{entry.name} of {type(controller).__name__}")
            read = by_name if entry.name == "reference" else vector_by_name
            plain = read(value, axes[entry.name](model), entry.name)
        else:
            continue
        if plain is not value:
            changed[entry.name] = plain
    return replace(controller, **changed) if changed else controller


def as_controller(value: Controller | Callable[..., ArrayLike]) -> Controller:
    """Return a controller as it is, the one that an MPC makes, and a function as a `Law`."""
    make = getattr(value, "controller", None)
    value = value if make is None else make()
    return value if isinstance(value, Controller) else Law(value)


@dataclass(frozen=True, eq=False)
class Sampled(ByFunction, Stateless):
    """A function tau = f(t, q, dq, state) as a digital controller, called once a sample.

    It runs in Python at t = 0, dt, 2 dt, ..., in this order, and tau is held in between; the end of
    a run is the first sample of the next one. `state` is an object that the function may change. At
    the end it is in `meta["controller_state"]`, an array of objects for a batch; given as
    `initial`, it continues the run.

    Args:
        function: returns tau, (n,), N m or N; called as f(t, q, dq, state, *values), without state
            if `initial` is None, and with the values of the reference if there is one.
        dt: sample time, s; for fixed steps a whole number of steps.
        initial: a function without arguments that makes the state of a rollout, or a value that is
            copied for each rollout at the beginning of a run; None: no state. Whatever can be
            called is called: give an object with `__call__` as `lambda: copy.copy(x)`.
        reference: positions, shape (nq,), rad or m: an array, a function of t, s, that
            returns an array or a tuple of arrays, or a Trajectory; None: no reference.
    """

    function: Callable[..., ArrayLike]
    dt: float
    initial: Any = field(default=None, metadata=OPAQUE)
    reference: Reference | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dt", positive(self.dt, "dt of Sampled", "s"))
        super().__post_init__()

    def act(
        self, model: Model, t: Any, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        # forces at any state would be calls that are not samples
        raise self.refusal()

    def refusal(self) -> InputError:
        """Return the error of whatever would call it besides a simulation."""
        return InputError(
            f"{label(self.function)} is Sampled: `simulate` calls it once a sample, and nothing "
            "else may. In a loop of your own, call the function itself; inside another controller, "
            "take kinetree.controllers.Stateful."
        )

    def states(self, batch: tuple[int, ...]) -> list[Any]:
        """Make the state of each rollout.

        Args:
            batch: leading axes of the rollouts.
        """
        rows, initial = range(math.prod(batch)), self.initial
        if callable(initial):
            return [initial() for _ in rows]
        each = isinstance(initial, np.ndarray) and initial.dtype == object
        given = initial.flat if each and batch and initial.shape == batch else [initial] * len(rows)
        try:
            return [copy.deepcopy(x) for x in given]
        except Exception as problem:
            raise InputError(
                f"the initial state of {label(self.function, 'the sampled controller')} cannot be "
                f"copied for a run: {first_line(problem, named=True)}. Give a function without "
                "arguments that makes it."
            ) from problem


class Sampling:
    """A digital controller in one run: the state of each rollout and its next sample.

    place: of the held forces among the constants p of a rollout.
    """

    def __init__(
        self,
        controller: Sampled,
        model: Model,
        batch: tuple[int, ...],
        external: ExternalInputs,
        references: Mapping[str, Input],
    ) -> None:
        self.controller, self.model, self.batch = controller, model, batch
        self.states = controller.states(batch)
        self.next = [0] * len(self.states)
        self.place = external.places[HELD]
        self.reference = references.get("reference")

    def steps(self, times: Array) -> int:
        """Return the fixed steps of one sample; raise InputError if it has no whole number."""
        h = float(times[1] - times[0])
        count = round(self.controller.dt / h)
        if count < 1 or abs(count * h - self.controller.dt) > TIME_SLACK * self.controller.dt:
            raise InputError(
                f"{self.name} has a sample time of {self.controller.dt:.9g} s; expected a whole "
                f"number of steps of {h:.9g} s, or {argument('method', 'DOP853')}."
            )
        return count

    def instants(self, end: float) -> Array:
        """Return the times of all samples before the end."""
        count = math.ceil(end / self.controller.dt * (1 - TIME_SLACK))
        if count > MAX_SAMPLES:
            raise InputError(
                f"{self.name} would be called {count:,} times; expected at most {MAX_SAMPLES:,}. "
                'Continue a shorter run: meta["controller_state"] is the next initial.'
            )
        return np.arange(count) * self.controller.dt

    @property
    def name(self) -> str:
        """The name of the function, for messages."""
        return label(self.controller.function, "the sampled controller")

    @property
    def note(self) -> str:
        """Why not all is compiled code, for `meta`."""
        return f"{self.name} is called in Python, every {self.controller.dt:.9g} s"

    def update(self, row: int, t: float, x: Array, p: Array) -> None:
        """Write the forces of a rollout that has come to a sample into its constants p.

        A rollout whose state is not finite keeps the forces that it has.
        """
        k, dt, function = self.next[row], self.controller.dt, self.controller.function
        if t < (k - TIME_SLACK) * dt or not np.isfinite(x).all():
            return
        self.next[row] += 1
        q, dq, _ = np.split(x, (self.model.nq, self.model.nq + self.model.n))
        state = [] if self.controller.initial is None else [self.states[row]]
        values = self.values(row, k * dt)
        if not k:
            names = "t", "q", "dq", *["state"] * len(state), *["reference"] * len(values)
            check_arguments(function, self.name, names)
        try:
            args = k * dt, read_only(q), read_only(dq), *state, *values
            result = call(self.name, function, *args)
        except Exception as problem:
            add_time(problem, self.name, k * dt)
            raise
        tau = by_name(result, dof_axis(self.model), "tau")
        p[self.place] = shaped(tau, (self.model.n,), f"of {self.name} at t = {k * dt:.6g} s")

    @property
    def sampled(self) -> dict[str, Input]:
        """The reference by name, if it is one over time."""
        x = self.reference
        return {} if x is None or x.at is None else {"the reference": x}

    def values(self, row: int, t: float) -> list[Array]:
        """Return the values of the reference for a rollout."""
        x, values = self.reference, list[Array]()
        parts = [] if x is None else zip(x.over(np.array([t])), x.shapes, strict=True)
        for (part,), shape in parts:
            try:
                wide = np.broadcast_to(part, (*self.batch, *shape))
            except ValueError:
                raise ShapeError(
                    f"the reference of {self.name} has values {part.shape} and the rollouts "
                    f"{self.batch}; expected equal axes, or a single motion."
                ) from None
            values.append(read_only(wide.reshape(-1, *shape)[row]))
        return values

    def final(self) -> Any:
        """Return the states at the end: an object, or an array of objects for a batch."""
        states = np.empty(len(self.states), object)
        for row, state in enumerate(self.states):  # a state may be a sequence
            states[row] = state
        return states.reshape(self.batch) if self.batch else self.states[0]
