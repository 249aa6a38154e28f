"""Controller: the interface of all controllers, and a plain function as a controller."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, read_only
from kinetree.core.containers import has_labels, refuse_labels
from kinetree.errors import InputError, ShapeError
from kinetree.model import Model
from kinetree.model.inputs import coordinate_axis, dof_axis
from kinetree.motion.trajectory import Trajectory
from kinetree.present.labels import Axis, by_name, vector_by_name
from kinetree.scalars import Scalar
from kinetree.simulate.core.laws import call, check_real, label

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


@dataclass(frozen=True, eq=False)
class Law(Stateless):
    """A function tau = law(t, q, dq) as a controller; with a reference, law(t, q, dq, *values).

    Args:
        function: returns tau, (n,), N m or N, from t, q and dq, and the values of the reference.
        reference: positions, shape (nq,), rad or m: an array, a function of t, s, that
            returns an array or a tuple of arrays, or a Trajectory; None: no reference.
    """

    named_fields: ClassVar[NamedFields] = {"reference": coordinate_axis}

    function: Callable[..., ArrayLike]
    reference: Reference | None = None
    signals: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(
                f"a controller is {self.function!r}; expected a function law(t, q, dq) that "
                "returns tau, or one of kinetree.controllers."
            )
        super().__post_init__()
        object.__setattr__(self, "signals", reference_signals(self.reference))

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        law = self.function
        result = call(label(law), law, t, q, dq, *given.get("reference", ()))
        tau = np.array(by_name(result, dof_axis(model), "tau"))
        check_real(tau, label(law))
        if tau.shape != (model.n,):
            name = getattr(self.function, "__name__", "the control law")
            raise ShapeError(
                f"{name}(t, q, dq) returned an array of shape {tau.shape}; expected ({model.n},):"
                f" one force for each of {', '.join(model.dof_names)}."
            )
        return tau, z


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


def reference_signals(reference: Reference | None) -> Mapping[str, Any]:
    """The signals of a law with a reference, or without."""
    return {} if reference is None else {"reference": as_reference(reference)}


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
