"""ActingForces: everything that moves a robot, and the key under which its code is remembered.

Compiled code is remembered by what it computes, never by the identity of a user's function. A
function counts as its graph with all constants, traced at the beginning of each run; a controller
of kinetree as the values of its fields; arrays, signals and sampled references as their shapes,
since their numbers are inputs of the loop. Only the robot counts by identity: it never changes.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, read_only
from kinetree.core.containers import has_labels, refuse_labels
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.law import TracedLaw
from kinetree.engine.kernels.free import free_ports, with_free
from kinetree.engine.kernels.memo import Recent, remembered
from kinetree.model import Model
from kinetree.model.inputs import dof_axis
from kinetree.present.labels import by_name
from kinetree.scalars import Scalar
from kinetree.simulate.core.actuation import Actuation
from kinetree.simulate.core.controller import Controller, Law, SignalValues, Stateless
from kinetree.simulate.core.external import ExternalInputs, NamedParts
from kinetree.simulate.core.laws import (
    Parts,
    UserFunction,
    call,
    check_arguments,
    label,
    user_function,
)
from kinetree.simulate.core.sampling import HELD, Sampled
from kinetree.simulate.core.sources import Source, shaped, with_results
from kinetree.simulate.tuning import KEPT_LOOPS

OWN = "kinetree.controllers."  # modules whose controllers are fully described by their fields
REFERENCE = "reference"  # the field that is a signal, and is read as such
Key = tuple[Any, ...]
Code = TypeVar("Code")
# t, q, dq, z of the controller and external inputs, plain numbers
PlainState = tuple[float, Array, Array, Array, NamedParts]


@dataclass(frozen=True, eq=False)
class ActingForces:
    """Everything that moves the robot: its controller, further forces, wrenches, changed data.

    law: the controller as a function of the user, None if it is one of kinetree's.
    parameters: names of the robot's data that are inputs, as in `Robot.compile(free=...)`.
    controls: of the actuators. actuation: what stands between commands and joint forces.
    key: of the compiled code, None if forces come from Python. note: why they do.
    """

    controller: Controller | None
    signals: Mapping[str, Source]
    tau: Source | None
    F_ext: Source | None
    parameters: tuple[str, ...] = ()
    controls: Source | None = None
    actuation: Actuation | None = None
    law: UserFunction | None = None
    key: Key | None = None
    note: str | None = None

    @property
    def constant(self) -> bool:
        """True if the joint forces are the same at all times and states."""
        return self.steady_laws and self.actuation is None

    @property
    def steady_laws(self) -> bool:
        """True if the forces of controller and tau are the same at all times and states."""
        return self.controller is None and (self.tau is None or self.tau.constant is not None)

    def joint_forces(
        self,
        model: Model,
        t: Scalar,
        q: Array,
        dq: Array,
        z: Array,
        inputs: NamedParts,
        other_model: bool,
    ) -> tuple[Array, Array]:
        """Return tau, (n,), and dz, (m,), as new arrays; laws get copies they cannot write.

        other_model: the robot has data besides `parameters` that a graph of the controller does
        not know as inputs.
        """
        q, dq = read_only(q), read_only(dq)
        tau, dz = np.zeros(model.n, int), z
        if HELD in inputs:
            (tau,) = inputs[HELD]
        elif self.controller is not None:
            values = self.signal_values(t, q, dq, inputs)
            if self.law is None or other_model:
                tau, dz = _control(self.controller, model, t, q, dq, read_only(z), values)
            else:
                tau, dz = self.law(*self.law_arguments(t, q, dq, z, values, inputs))
        if self.tau is not None:
            tau = tau + self.tau.evaluate(t, q, dq, inputs.get("tau"))[0]
        return tau, dz

    def signal_values(self, t: Scalar, q: Array, dq: Array, inputs: NamedParts) -> SignalValues:
        """Return the values of the controller's signals, by name."""
        return {
            name: tuple(map(read_only, source.evaluate(t, q, dq, inputs.get(f"signal {name}"))))
            for name, source in self.signals.items()
        }

    def law_arguments(
        self, t: Scalar, q: Array, dq: Array, z: Array, values: SignalValues, inputs: NamedParts
    ) -> list[Any]:
        """Return the arguments of `law`: the state, values of signals, data of the robot."""
        data = [inputs[f"parameter {name}"][0] for name in self.parameters]
        return [t, q, dq, read_only(z), *(x for parts in values.values() for x in parts), *data]

    def sources(self) -> list[Source]:
        """Return all sources of forces and references."""
        sources = (*self.signals.values(), self.tau, self.F_ext, self.controls)
        return [source for source in sources if source is not None]

    def functions(self) -> Iterator[UserFunction]:
        """Iterate over all functions of the user."""
        for source in self.sources():
            yield from (x for x in (source.law, source.called) if x is not None)
        if self.law is not None:
            yield self.law

    def verify(self, states: Sequence[PlainState]) -> None:
        """Compare functions of the user with their graphs."""
        for function, arguments in self.calls(states, lambda function: function.comparable):
            function.verify(arguments)

    def calls(
        self, states: Sequence[PlainState], chosen: Callable[[UserFunction], bool]
    ) -> Iterator[tuple[UserFunction, list[Sequence[Any]]]]:
        """Iterate over chosen functions of the user, with their arguments at some states."""
        for source in self.sources():
            if source.law is not None and chosen(source.law):
                yield source.law, [x[:1] if source.timed else x[:3] for x in states]
        if self.law is not None and chosen(self.law):
            with_values = [(x, self.signal_values(*x[:3], x[4])) for x in states]
            yield self.law, [self.law_arguments(*x[:4], values, x[4]) for x, values in with_values]

    def control(self, t: Scalar, q: Array, dq: Array, inputs: NamedParts) -> Array | None:
        """Return the controls of the actuators, (u,), or None."""
        if self.controls is None:
            return None
        return self.controls.evaluate(t, read_only(q), read_only(dq), inputs.get("controls"))[0]

    def wrenches(self, t: Scalar, q: Array, dq: Array, inputs: NamedParts) -> Array | None:
        """Return F_ext, (links, 6), or None."""
        if self.F_ext is None:
            return None
        return self.F_ext.evaluate(t, read_only(q), read_only(dq), inputs.get("F_ext"))[0]

    def changed_model(self, model: Model, inputs: NamedParts) -> Model:
        """Return the robot with the data that it was given."""
        values = [inputs[f"parameter {name}"][0] for name in self.parameters]
        return with_free(model, self.parameters, values)


def _control(
    controller: Controller,
    model: Model,
    t: Scalar,
    q: Array,
    dq: Array,
    z: Array,
    values: SignalValues,
) -> tuple[Array, Array]:
    """tau and dz of a controller, copied: it may return the same arrays every time."""
    name = label(controller, "the controller")
    tau, dz = call(name, controller.act, model, t, q, dq, z, values)
    refuse_labels(dz, f"the rate of the state of {name}")
    return np.array(by_name(tau, dof_axis(model), "tau")), np.array(dz)


def with_key(model: Model, acting: ActingForces, external: ExternalInputs) -> ActingForces:
    """The forces with the key of their code: everything that acts, as it is now."""
    fields_key = None if acting.controller is None else value_key(acting.controller)
    if acting.controller is not None and fields_key is None and HELD not in external.constants:
        acting = replace(acting, law=_controller_law(model, acting, external))
    sources = {f"signal {name}": source for name, source in acting.signals.items()}
    sources |= {"tau": acting.tau, "F_ext": acting.F_ext, "controls": acting.controls}
    laws = {name: source.law for name, source in sources.items() if source is not None}
    laws |= {"controller": acting.law}
    kinds = [(name, input_kind(external, name, law)) for name, law in laws.items()]
    notes = [law.note for law in laws.values() if law is not None and law.traced is None]
    key = None if notes else (model, fields_key, *kinds)
    return replace(acting, key=key, note=notes[0] if notes else None)


def input_kind(external: ExternalInputs, name: str, law: UserFunction | None) -> str | None:
    """Return what decides the code for one input: its graph, or that its numbers are given."""
    if law is not None:
        return law.key
    if name in external.constants:
        return "constant"
    return "sampled" if name in external.sampled else None


def _controller_law(model: Model, acting: ActingForces, external: ExternalInputs) -> UserFunction:
    """A controller as a function of t, q, dq, z, its signals and the robot's data."""
    controller = acting.controller
    assert controller is not None
    size = np.shape(controller.start(model))[-1]
    signals = {name: source.start_values() for name, source in acting.signals.items()}
    state = [Port("t", ()), Port("q", (model.nq,)), Port("dq", (model.n,))]
    ports = [*state, Port("z", (size,))]
    ports += [Port(name, x.shape) for name, parts in signals.items() for x in parts]
    ports += free_ports(model, acting.parameters)

    def function(t: Scalar, q: Array, dq: Array, z: Array, *signals_and_data: Array) -> Parts:
        values: dict[str, Parts] = {}
        at = 0
        for name, parts in signals.items():
            values[name] = tuple(map(read_only, signals_and_data[at : at + len(parts)]))
            at += len(parts)
        changed = with_free(model, acting.parameters, signals_and_data[at:])
        return _control(controller, changed, t, read_only(q), read_only(dq), read_only(z), values)

    owner = getattr(controller, "function", None)  # of a Law or a Stateful law
    owner = owner if callable(owner) and is_own(controller, "kinetree.") else controller
    alone = type(controller) is Law and not signals and not acting.parameters
    if alone and isinstance(owner, TracedLaw):
        return _kept_law(model, owner, state)
    if owner is not controller and not isinstance(controller, Sampled):
        parts = [name for name, values in signals.items() for _ in values]
        named = ("t", "q", "dq", *([] if isinstance(controller, Stateless) else ["z"]), *parts)
        check_arguments(owner, label(owner), named)
    traced = user_function(label(owner), function, ports)
    return replace(traced, plain=None) if isinstance(owner, TracedLaw) else traced


def _kept_law(model: Model, law: TracedLaw, state: list[Port]) -> UserFunction:
    """A law of t, q and dq that was traced before (`kinetree.simulate.law`), as a controller."""
    with_results(label(law), law, lambda x: shaped(x, (model.n,), "controller"), state)
    return ControllerLaw(label(law), None, law)


class ControllerLaw(UserFunction):
    """A law of t, q and dq with the empty state z of a controller."""

    def __call__(self, *args: Any) -> Parts:
        """Return tau, and z as it is."""
        t, q, dq, z = args
        return (*super().__call__(t, q, dq), z)


def first_row(x: ArrayLike, shape: tuple[int, ...]) -> Array:
    """The numbers of the first rollout of an array (..., *shape)."""
    x = np.asarray(x, float)
    return x[(0,) * (x.ndim - len(shape))]


def value_key(controller: object) -> Key | None:
    """Key of a controller of kinetree: the values of its fields; None for any other."""
    if not (is_own(controller, OWN) and is_dataclass(controller)):
        return None
    key: list[Any] = [type(controller)]
    for field in fields(controller):
        if field.name == REFERENCE:
            continue
        value = field_key(getattr(controller, field.name))
        if value is None:
            return None
        key.append(value)
    return tuple(key)


def is_own(x: object, package: str) -> bool:
    """Return True if the class of an object is kinetree's own, not a subclass of the user's."""
    return f"{type(x).__module__}.".startswith(package)


def field_key(x: Any) -> Key | None:
    """Key of the value of a field, or None if the controller must be traced instead."""
    if isinstance(x, str | bool | type(None)):
        return type(x).__name__, x
    if isinstance(getattr(x, "model", x), Model):
        return (getattr(x, "model", x),)
    if is_own(x, OWN):
        return value_key(x)
    if callable(x) or has_labels(x):
        return None
    try:
        numbers = np.asarray(x, float)
    except (TypeError, ValueError):
        return None
    return numbers.shape, numbers.tobytes()


def recent(
    model: Model, kind: str, key: Hashable, make: Callable[[], Code], keep: Callable[[Code], bool]
) -> Code:
    """Return the code of one kind that was made for an equal key before, or make it now.

    The latest KEPT_LOOPS pieces are kept with the model. `keep` decides whether a new one is kept.
    """

    def empty() -> Recent[Code]:
        return Recent(KEPT_LOOPS)

    return remembered(model, ("simulate", kind), empty).find(key, make, keep)
