"""ActingForces: everything that moves a robot, and the key under which its code is remembered.

Compiled code is remembered by what it computes, never by the identity of a user's function. A
function counts as its traced graph with all constants; a controller of kinetree as the values of
its fields; arrays, signals and sampled references as their shapes, since their numbers are inputs
of the loop. Only the robot counts by identity, because a model never changes.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from kinetree.base.arrays import Array, ArrayLike, read_only
from kinetree.base.containers import has_labels, refuse_labels
from kinetree.base.labels import by_name
from kinetree.compiler.graph import Port
from kinetree.errors import InputError, warn
from kinetree.kernels.fingerprint import fingerprint, model_token
from kinetree.kernels.free import free_ports, with_free
from kinetree.kernels.memo import Recent, remembered
from kinetree.model import Model
from kinetree.model.inputs import dof_axis
from kinetree.scalars import Scalar
from kinetree.simulate.core.actuation import Actuation
from kinetree.simulate.core.controller import Controller, SignalValues
from kinetree.simulate.core.external import ExternalInputs, NamedParts, Parts
from kinetree.simulate.core.memory import label
from kinetree.simulate.core.purity import Examined, call, examine
from kinetree.simulate.core.sources import Source

OWN = "kinetree.controllers."  # modules whose controllers are fully described by their fields
REFERENCE = "reference"  # the field that is a signal, and is examined as such
RECENT = 32  # pieces of compiled code that are kept for each model
REMEDY = (
    "Declare what it remembers as the state of kinetree.controllers.Stateful, and give noise as "
    "kinetree.simulate.signal(t, values)."
)
Key = tuple[Any, ...]
State = tuple[Array, Array, Array]  # q, dq and z of one rollout
Code = TypeVar("Code")


@dataclass(frozen=True)
class Verdict:
    """The examination of everything that acts on a robot.

    robot: key of the robot with its friction functions. key: of everything that is compiled, None
    if forces come from Python. note: why numbers come from Python. doubt: evidence that a function
    is impure. unsteady: equal arguments gave different numbers.
    """

    robot: Key
    key: Key | None
    note: str | None = None
    doubt: str | None = None
    unsteady: bool = False


@dataclass(frozen=True, eq=False)
class ActingForces:
    """Everything that moves the robot: its controller, further forces, wrenches, changed data.

    parameters: names of the robot's data that are inputs, as in `Robot.compile(free=...)`.
    controls: of the actuators. actuation: what stands between commands and joint forces.
    """

    controller: Controller | None
    signals: Mapping[str, Source]
    tau: Source | None
    F_ext: Source | None
    parameters: tuple[str, ...] = ()
    verdict: Verdict | None = None
    controls: Source | None = None
    actuation: Actuation | None = None

    @property
    def constant(self) -> bool:
        """Whether the joint forces are the same at all times and states."""
        return self.steady_laws and self.actuation is None

    @property
    def steady_laws(self) -> bool:
        """Whether the forces of controller and tau are the same at all times and states."""
        return self.controller is None and (self.tau is None or self.tau.constant is not None)

    def joint_forces(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: NamedParts
    ) -> tuple[Array, Array]:
        """Return tau, (n,), and dz, (m,), as new arrays; laws get copies they cannot write."""
        q, dq = read_only(q), read_only(dq)
        tau, dz = np.zeros(model.n, int), z
        if self.controller is not None:
            values = {
                name: tuple(map(read_only, source.evaluate(t, q, dq, given.get(f"signal {name}"))))
                for name, source in self.signals.items()
            }
            tau, dz = _control(self.controller, model, t, q, dq, read_only(z), values)
        if self.tau is not None:
            tau = tau + self.tau.evaluate(t, q, dq, given.get("tau"))[0]
        return tau, dz

    def control(self, t: Scalar, q: Array, dq: Array, given: NamedParts) -> Array | None:
        """Return the controls of the actuators, (u,), or None."""
        if self.controls is None:
            return None
        return self.controls.evaluate(t, read_only(q), read_only(dq), given.get("controls"))[0]

    def wrenches(self, t: Scalar, q: Array, dq: Array, given: NamedParts) -> Array | None:
        """Return F_ext, (links, 6), or None."""
        if self.F_ext is None:
            return None
        return self.F_ext.evaluate(t, read_only(q), read_only(dq), given.get("F_ext"))[0]

    def changed_model(self, model: Model, given: NamedParts) -> Model:
        """Return the robot with the data that it was given."""
        values = [given[f"parameter {name}"][0] for name in self.parameters]
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


def examine_forces(
    model: Model, acting: ActingForces, external: ExternalInputs, start: State
) -> Verdict:
    """Examine everything that acts; start: q, dq and z of one rollout, (nq,), (n,), (m,)."""
    robot = model_key(model)
    found = {f"signal {name}": source.examined for name, source in acting.signals.items()}
    forces = {"tau": acting.tau, "F_ext": acting.F_ext, "controls": acting.controls}
    for name, source in forces.items():
        found[name] = None if source is None else _examined_force(model, name, source, start)
    own = None if acting.controller is None else value_key(acting.controller)
    if acting.controller is not None and own is None:
        found["controller"] = _examined_controller(model, acting, external, start)
    kinds = [(name, input_kind(external, name, x)) for name, x in found.items()]
    noted = [x for x in found.values() if x is not None and x.note is not None]
    doubts = [x.doubt for x in noted if x.doubt is not None]
    by_python = any(x is not None and x.digest is None and not x.sampled for x in found.values())
    return Verdict(
        robot=robot,
        key=None if by_python else (robot, own, *kinds),
        note=None if not noted else noted[0].note,
        doubt=doubts[0] if doubts else None,
        unsteady=any(x.unsteady for x in noted),
    )


def input_kind(external: ExternalInputs, name: str, found: Examined | None) -> str | None:
    """Return what decides the code for one input: its graph, or that its numbers are given."""
    if found is not None and not found.sampled:
        return found.digest
    if name in external.constants:
        return "constant"
    return "sampled" if name in external.sampled else None


def _examined_force(model: Model, name: str, source: Source, start: State) -> Examined | None:
    """Examine a law of t, q and dq; functions of time were examined when they were read."""
    if source.law is None:
        return source.examined
    q, dq, _ = start

    def function(t: Scalar, q: Array, dq: Array) -> Parts:
        return source.evaluate(t, read_only(q), read_only(dq), None)

    ports = [Port("t", ()), Port("q", q.shape), Port("dq", dq.shape)]
    context = name, model_token(model)
    return examine(label(source.law), function, ports, source.law, (0.0, q, dq), context)


def _examined_controller(
    model: Model, acting: ActingForces, external: ExternalInputs, start: State
) -> Examined:
    """Examine a controller as a function of t, q, dq, z, its signals and the robot's data."""
    controller = acting.controller
    assert controller is not None
    q, dq, z = start
    signals = {name: source.start_values() for name, source in acting.signals.items()}
    data = free_ports(model, acting.parameters)
    ports = [Port("t", ()), Port("q", q.shape), Port("dq", dq.shape), Port("z", z.shape)]
    ports += [Port(name, x.shape) for name, parts in signals.items() for x in parts]
    ports += data
    example = [0.0, q, dq, z, *(x for parts in signals.values() for x in parts)]
    example += [first_row(*external.constants[f"parameter {port.name}"]) for port in data]

    def function(t: Scalar, q: Array, dq: Array, z: Array, *rest: Array) -> Parts:
        values: dict[str, Parts] = {}
        at = 0
        for name, parts in signals.items():
            values[name] = tuple(map(read_only, rest[at : at + len(parts)]))
            at += len(parts)
        own = with_free(model, acting.parameters, rest[at:])
        state = read_only(q), read_only(dq), read_only(z)
        return _control(controller, own, t, *state, values)

    owner = getattr(controller, "function", None)  # of a Law or a Stateful law
    owner = owner if callable(owner) and is_own(controller, "kinetree.") else controller
    value, parts = fingerprint(controller), [len(parts) for parts in signals.values()]
    context = "controller", value, tuple(signals), *parts, model_token(model), acting.parameters
    known = None if value is None else context
    return examine(label(owner), function, ports, owner, example, known)


def shown_parts(acting: ActingForces, start: int, model: Model) -> dict[str, tuple[int, int]]:
    """Place and size of the controls and of the commands to drives, recorded from `start` on."""
    actuation, found = acting.actuation, dict[str, tuple[int, int]]()
    if actuation is None:
        return found
    if acting.controls is not None:
        found["controls"] = start, len(model.actuators)
        start += len(model.actuators)
    if actuation.driven:
        found["command"] = start, model.n
    return found


def first_row(x: ArrayLike, shape: tuple[int, ...]) -> Array:
    """The numbers of the first rollout of an array (..., *shape)."""
    x = np.asarray(x, float)
    return x[(0,) * (x.ndim - len(shape))]


def model_key(model: Model) -> Key:
    """Key of a robot: itself, and the graphs of its friction functions, which users write."""
    found: list[str | None] = []
    for joint in model.joints:
        function = joint.friction.function
        if function is not None:
            name = f"the friction function of joint {joint.name!r}"

            def friction(dq: Scalar, f: Callable[..., Any] = function) -> Parts:
                return (np.asarray(f(dq)),)

            seen = examine(name, friction, [Port("dq", ())], function, (0.1,), "friction")
            if seen.doubt is not None:
                raise InputError(
                    f"{seen.doubt}; expected a force that depends on dq alone. Give forces that "
                    "remember something as a controller, kinetree.controllers.Stateful."
                )
            found.append(seen.digest)
    return model, *found


def value_key(controller: object) -> Key | None:
    """Key of a controller of kinetree: the values of its fields; None for any other."""
    if not (is_own(controller, OWN) and is_dataclass(controller)):
        return None
    found: list[Any] = [type(controller)]
    for field in fields(controller):
        if field.name == REFERENCE:
            continue
        value = field_key(getattr(controller, field.name))
        if value is None:
            return None
        found.append(value)
    return tuple(found)


def is_own(x: object, package: str) -> bool:
    """Return True if the class of an object is kinetree's own, not a subclass of the user's."""
    return f"{type(x).__module__}.".startswith(package)


def field_key(x: Any) -> Key | None:
    """Key of the value of a field, or None if the controller must be traced instead."""
    if isinstance(x, str | bool | type(None)):
        return type(x).__name__, x
    if isinstance(getattr(x, "model", x), Model):
        return model_key(getattr(x, "model", x))
    if is_own(x, OWN):
        return value_key(x)
    if callable(x) or has_labels(x):
        return None
    try:
        numbers = np.asarray(x, float)
    except (TypeError, ValueError):
        return None
    return numbers.shape, numbers.tobytes()


def python_note(verdict: Verdict | None) -> str | None:
    """Why numbers come from Python although the loop itself is compiled, or None."""
    if verdict is None or verdict.note is None:
        return None
    return f"values over time come from Python, not from compiled code: {verdict.note}"


def check_steady(verdict: Verdict | None, method: str, calls: int | None) -> None:
    """Warn of laws that are not functions of t, q and dq; refuse them for adaptive steps.

    calls: of a law in a step; None for the adaptive method, whose error control would shorten its
    steps without end if a repeated call gave other numbers.
    """
    if verdict is None or verdict.doubt is None:
        return
    if calls is None and verdict.unsteady:
        raise InputError(
            f"{verdict.doubt}: it is not a function of t, q and dq, so {method!r} can neither "
            f"repeat a step nor estimate its error. {REMEDY} Fixed steps such as method='euler' "
            "run it as it is."
        )
    times = {None: "also at trial states", 1: "once a step"}.get(calls, f"{calls} times a step")
    depends = "" if verdict.unsteady else "where its values depend on it, "
    warn(
        f"{verdict.doubt}. It is run as it is, in Python, and {depends}the motion depends on how "
        f"often it is called: {method!r} calls it {times}, for each rollout of a batch. {REMEDY}"
    )


def recent(
    model: Model, kind: str, key: Hashable, make: Callable[[], Code], keep: Callable[[Code], bool]
) -> Code:
    """Return the code of one kind that was made for an equal key before, or make it now.

    The latest RECENT pieces are kept with the model: a search over gains makes a new loop for every
    value, which must not fill the memory. `keep` decides whether a new piece is kept at all.
    """

    def empty() -> Recent[Code]:
        return Recent(RECENT)

    return remembered(model, ("simulate", kind), empty).find(key, make, keep)
