"""ActingForces: everything that moves a robot, and the key under which its code is remembered.

Compiled code is remembered by what it computes, never by the identity of a user's function. A
function counts as its graph with all constants, traced at the beginning of each run; a controller
of kinetree as the values of its fields; arrays, signals and sampled references as their shapes,
since their numbers are inputs of the loop. Only the robot counts by identity: it never changes.
"""

from collections.abc import Callable, Hashable, Mapping
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
from kinetree.simulate.actuation import Actuation
from kinetree.simulate.controller import HELD, Controller, SignalValues, Stateless
from kinetree.simulate.functions import (
    Parts,
    UserFunction,
    call,
    check_arguments,
    label,
    user_function,
)
from kinetree.simulate.inputs import ExternalInputs, Input, NamedParts, Trials

KEPT_LOOPS = 32  # compiled loops for each model: a search over gains makes one for every value

OWN = "kinetree.controllers."  # modules whose controllers are fully described by their fields
SIGNAL = "signal "  # begins the names of what a controller follows
FROM_PYTHON = "python "  # begins the names of values that Python functions give
REFERENCE = "reference"  # the field that is a signal, and is read as such
Key = tuple[Any, ...]
Code = TypeVar("Code")


@dataclass(frozen=True, eq=False)
class Moment:
    """A time and state of one rollout; arrays that a function gets, it cannot write.

    model: the robot with its changed data. inputs: everything external by name. is_other: the robot
    has changes that a graph of the controller does not know as inputs.
    """

    model: Model
    t: Scalar
    q: Array
    dq: Array
    z: Array
    inputs: NamedParts
    is_other: bool = False

    def __post_init__(self) -> None:
        for name in ("q", "dq", "z"):
            object.__setattr__(self, name, read_only(getattr(self, name)))


@dataclass(frozen=True, eq=False)
class ActingForces:
    """Everything that moves the robot: its controller, further forces, wrenches, changed data.

    law: the controller as a function of the user, None if it is one of kinetree's.
    parameters: names of the robot's data that are inputs, as in `Robot.compile(free=...)`.
    controls: of the actuators. actuation: what stands between commands and joint forces.
    key: of the compiled code. python: names of those that run in Python, "controller" or names of
    inputs, whose values are then inputs of the code. note: why they do.
    """

    controller: Controller | None
    signals: Mapping[str, Input]
    tau: Input | None
    F_ext: Input | None
    parameters: tuple[str, ...] = ()
    controls: Input | None = None
    actuation: Actuation | None = None
    law: UserFunction | None = None
    key: Key = ()
    python: tuple[str, ...] = ()
    note: str | None = None

    @property
    def constant(self) -> bool:
        """True if the joint forces are the same at all times and states."""
        return self.steady_laws and self.actuation is None

    @property
    def steady_laws(self) -> bool:
        """True if the forces of controller and tau are the same at all times and states."""
        return self.controller is None and (self.tau is None or self.tau.constant is not None)

    def joint_forces(self, at: Moment) -> tuple[Array, Array]:
        """Return tau, (n,), and the rate dz of the controller's state, (m,), as new arrays."""
        tau, dz = np.zeros(at.model.n, int), np.array(at.z)
        if HELD in at.inputs:
            (tau,) = at.inputs[HELD]
        elif FROM_PYTHON + "controller" in at.inputs:
            tau, dz = np.split(at.inputs[FROM_PYTHON + "controller"][0], [at.model.n])
        elif self.controller is not None:
            tau, dz = self._controller_forces(at)
        given = self.value("tau", at)
        return (tau if given is None else tau + given), dz

    def _controller_forces(self, at: Moment) -> Parts:
        """tau and dz of the controller."""
        assert self.controller is not None
        values = {
            name: tuple(map(read_only, x.evaluate(at.t, at.q, at.dq, at.inputs.get(SIGNAL + name))))
            for name, x in self.signals.items()
        }
        if self.law is None or at.is_other:
            return _control(self.controller, at, values)
        data = [at.inputs[f"parameter {name}"][0] for name in self.parameters]
        return self.law(at.t, at.q, at.dq, at.z, *(x for v in values.values() for x in v), *data)

    def value(self, name: str, at: Moment) -> Array | None:
        """Return "tau", (n,), "F_ext", (links, 6), or "controls", (u,); None if there are none."""
        x: Input | None = getattr(self, name)
        if x is None:
            return None
        if FROM_PYTHON + name in at.inputs:
            return at.inputs[FROM_PYTHON + name][0].reshape(x.shapes[0])
        return x.evaluate(at.t, at.q, at.dq, at.inputs.get(name))[0]

    def python_results(self, at: Moment) -> Array:
        """Return the values of all that runs in Python, in one row."""
        rows = [np.zeros(0)]
        for name in self.python:
            if name == "controller":
                rows += self._controller_forces(at)
            else:
                rows += [np.ravel(np.asarray(self.value(name, at), float))]
        return np.concatenate(rows).astype(float)

    @property
    def inputs(self) -> dict[str, Input]:
        """All inputs by name."""
        named = {"tau": self.tau, "F_ext": self.F_ext, "controls": self.controls}
        named |= {SIGNAL + name: x for name, x in self.signals.items()}
        return {name: x for name, x in named.items() if x is not None}

    def changed_model(self, model: Model, inputs: NamedParts) -> Model:
        """Return the robot with the data that it was given."""
        values = [inputs[f"parameter {name}"][0] for name in self.parameters]
        return with_free(model, self.parameters, values)


def _control(controller: Controller, at: Moment, values: SignalValues) -> tuple[Array, Array]:
    """tau and dz of a controller, copied: it may return the same arrays every time."""
    model = at.model
    name = label(controller, "the controller")
    tau, dz = call(name, controller.act, model, at.t, at.q, at.dq, at.z, values)
    refuse_labels(dz, f"the rate of the state of {name}")
    return np.array(by_name(tau, dof_axis(model), "tau")), np.array(dz)


def with_key(
    model: Model, acting: ActingForces, external: ExternalInputs, trials: Trials
) -> ActingForces:
    """The forces with the key of their code: everything that acts, as it is now."""
    fields_key = None if acting.controller is None else value_key(acting.controller)
    if acting.controller is not None and fields_key is None and HELD not in external.constants:
        acting = replace(acting, law=_controller_law(model, acting, external, trials))
    laws = {name: x.law for name, x in acting.inputs.items()} | {"controller": acting.law}
    untraced = {k: x for k, x in laws.items() if x is not None and x.traced is None}
    notes = [law.note for law in untraced.values()]
    kinds = [(name, x.kind) for name, x in acting.inputs.items()]
    kinds.append(("controller", None if acting.law is None else acting.law.key))
    key = (model, fields_key, *kinds)
    return replace(acting, key=key, python=tuple(untraced), note=notes[0] if notes else None)


def _controller_law(
    model: Model, acting: ActingForces, external: ExternalInputs, trials: Trials
) -> UserFunction:
    """A controller as a function of t, q, dq, z, its signals and the robot's data."""
    controller = acting.controller
    assert controller is not None
    start = first_row(controller.start(model), np.shape(controller.start(model))[-1:])
    signals = acting.signals
    state = [Port("t", ()), Port("q", (model.nq,)), Port("dq", (model.n,))]
    ports = [*state, Port("z", start.shape)]
    ports += [Port(name, shape) for name, x in signals.items() for shape in x.shapes]
    ports += free_ports(model, acting.parameters)

    def function(t: Scalar, q: Array, dq: Array, z: Array, *signals_and_data: Array) -> Parts:
        rest = iter(signals_and_data)
        values = {k: tuple(read_only(next(rest)) for _ in x.shapes) for k, x in signals.items()}
        changed = with_free(model, acting.parameters, list(rest))
        return _control(controller, Moment(changed, t, q, dq, z, {}), values)

    owner = getattr(controller, "function", None)  # of a Law or a Stateful law
    owner = owner if callable(owner) and is_own(controller, "kinetree.") else controller
    name, states = label(owner), list[list[Any]]()
    if not isinstance(owner, TracedLaw):
        if owner is not controller:
            parts = [name for name, x in signals.items() for _ in x.shapes]
            memory = () if isinstance(controller, Stateless) else ("z",)
            check_arguments(owner, name, ("t", "q", "dq", *memory, *parts))
        data = [external.constants[f"parameter {x}"].first_values(0.0) for x in acting.parameters]
        for t, q, dq in trials:
            values = [v for x in (*signals.values(),) for v in x.first_values(t)]
            states.append([t, q, dq, start, *values, *(v for x in data for v in x)])
    law = user_function(name, function, ports, states)
    return law if states else replace(law, plain=None)


def first_row(x: ArrayLike, shape: tuple[int, ...]) -> Array:
    """The numbers of the first rollout of an array (..., *shape)."""
    x = np.asarray(x, float)
    return x[(0,) * (x.ndim - len(shape))]


def value_key(controller: object) -> Key | None:
    """Key of a controller of kinetree: the values of its fields; None for any other."""
    if not (is_own(controller, OWN) and is_dataclass(controller)):
        return None
    named = [x.name for x in fields(controller) if x.name != REFERENCE]
    keys = [field_key(getattr(controller, name)) for name in named]
    return None if None in keys else (type(controller), *keys)


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


def recent(model: Model, kind: str, key: Hashable, make: Callable[[], Code]) -> Code:
    """Return the code of one kind that was made for an equal key before, or make it now.

    The latest KEPT_LOOPS pieces are kept with the model.
    """
    kept: Recent[Code] = remembered(model, ("simulate", kind), lambda: Recent(KEPT_LOOPS))
    return kept.find(key, make)
