"""Laws as values: compiled code is remembered by what acts on the robot computes.

A user's function counts as its traced graph with all constants, a controller of kinetree as the
values of its fields. Arrays, signals and sampled references count as their shapes, since their
numbers are fed to the loop. Nothing counts by identity but the robot, which never changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, read_only
from kinetree.compiler.graph import Port
from kinetree.errors import InputError, warn
from kinetree.kernels.free import free_ports, with_free
from kinetree.model import Model
from kinetree.simulate.core.controller import Controller
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.purity import Examined, call, examine, label
from kinetree.simulate.core.sources import Parts, Source

OWN = "kinetree.controllers."  # modules whose controllers are what their fields are
FOLLOWED = "reference"  # the field that is a signal, and is examined as such
REMEDY = (
    "Declare what it remembers as the state of kinetree.controllers.Stateful, and give noise as "
    "kinetree.simulate.signal(t, values)."
)
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Verdict:
    """What acts on a robot, examined.

    robot: the robot with its friction functions, as a key. key: of everything that is compiled,
    None where forces come from Python. note: why numbers come from Python. doubt: what is impure.
    unsteady: equal arguments gave different numbers.
    """

    robot: Key
    key: Key | None
    note: str | None = None
    doubt: str | None = None
    unsteady: bool = False


@dataclass(frozen=True, eq=False)
class Actors:
    """Everything that moves the robot: its controller, further forces, wrenches, changed data."""

    controller: Controller | None
    signals: Mapping[str, Source]
    tau: Source | None
    F_ext: Source | None
    parameters: tuple[str, ...] = ()
    verdict: Verdict | None = None

    def forces(
        self, model: Model, t: Any, q: Array, dq: Array, z: Array, given: Mapping[str, Any]
    ) -> tuple[Array, Array]:
        """tau and dz, new arrays; laws are given copies that they cannot write into."""
        q, dq = read_only(q), read_only(dq)
        tau, dz = np.zeros(model.n, int), z
        if self.controller is not None:
            values = {
                name: tuple(map(read_only, source.evaluate(t, q, dq, given.get(f"signal {name}"))))
                for name, source in self.signals.items()
            }
            tau, dz = control(self.controller, model, t, q, dq, read_only(z), values)
        if self.tau is not None:
            tau = tau + self.tau.evaluate(t, q, dq, given.get("tau"))[0]
        return tau, dz

    def wrenches(self, t: Any, q: Array, dq: Array, given: Mapping[str, Any]) -> Array | None:
        """F_ext, (links, 6), or None."""
        if self.F_ext is None:
            return None
        return self.F_ext.evaluate(t, read_only(q), read_only(dq), given.get("F_ext"))[0]

    def changed(self, model: Model, given: Mapping[str, Any]) -> Model:
        """The robot with its changed data."""
        values = [given[f"parameter {name}"][0] for name in self.parameters]
        return with_free(model, self.parameters, values)


def control(
    controller: Controller, model: Model, t: Any, q: Array, dq: Array, z: Array, values: Any
) -> tuple[Array, Array]:
    """tau and dz of a controller, copied: it may return the same arrays every time."""
    name = label(controller, "the controller")
    tau, dz = call(name, controller.act, model, t, q, dq, z, values)
    return np.array(tau), np.array(dz)


def judge(
    model: Model, actors: Actors, external: ExternalInputs, start: tuple[Array, Array, Array]
) -> Verdict:
    """Examine everything that acts; start: q, dq and z of one rollout, (nq,), (n,), (m,)."""
    robot = model_key(model)
    found = {f"signal {name}": source.examined for name, source in actors.signals.items()}
    forces = {"tau": actors.tau, "F_ext": actors.F_ext}
    for name, source in forces.items():
        found[name] = None if source is None else examined_force(source, start)
    own = None if actors.controller is None else value_key(actors.controller)
    if actors.controller is not None and own is None:
        found["controller"] = examined_controller(model, actors, external, start)
    kinds = [(name, feed_kind(external, name, x)) for name, x in found.items()]
    told = [x for x in found.values() if x is not None and x.note is not None]
    doubts = [x.doubt for x in told if x.doubt is not None]
    by_python = any(x is not None and x.digest is None and not x.sampled for x in found.values())
    return Verdict(
        robot=robot,
        key=None if by_python else (robot, own, *kinds),
        note=None if not told else told[0].note,
        doubt=doubts[0] if doubts else None,
        unsteady=any(x.unsteady for x in told),
    )


def feed_kind(external: ExternalInputs, name: str, found: Examined | None) -> Any:
    """What decides the code for one input: its graph, or that it is fed."""
    if found is not None and not found.sampled:
        return found.digest
    return (
        "constant"
        if name in external.constants
        else "sampled"
        if name in external.sampled
        else None
    )


def examined_force(source: Source, start: tuple[Array, Array, Array]) -> Examined | None:
    """A law of t, q and dq; functions of time were examined where they were read."""
    if source.law is None:
        return source.examined
    q, dq, _ = start

    def function(t: Any, q: Array, dq: Array) -> Parts:
        return source.evaluate(t, read_only(q), read_only(dq), None)

    ports = [Port("t", ()), Port("q", q.shape), Port("dq", dq.shape)]
    return examine(label(source.law), function, ports, source.law, (0.0, q, dq))


def examined_controller(
    model: Model, actors: Actors, external: ExternalInputs, start: tuple[Array, Array, Array]
) -> Examined:
    """A controller as a function of t, q, dq, z, of what it follows and of the robot's data."""
    controller = actors.controller
    assert controller is not None
    q, dq, z = start
    signals = {name: source.start_values() for name, source in actors.signals.items()}
    data = free_ports(model, actors.parameters)
    ports = [Port("t", ()), Port("q", q.shape), Port("dq", dq.shape), Port("z", z.shape)]
    ports += [Port(name, x.shape) for name, parts in signals.items() for x in parts]
    ports += data
    example = [0.0, q, dq, z, *(x for parts in signals.values() for x in parts)]
    example += [first_row(*external.constants[f"parameter {port.name}"]) for port in data]

    def function(t: Any, q: Array, dq: Array, z: Array, *rest: Array) -> Parts:
        values, at = {}, 0
        for name, parts in signals.items():
            values[name] = tuple(map(read_only, rest[at : at + len(parts)]))
            at += len(parts)
        own = with_free(model, actors.parameters, rest[at:])
        state = read_only(q), read_only(dq), read_only(z)
        return control(controller, own, t, *state, values)

    owner = getattr(controller, "function", None)
    owner = owner if callable(owner) and is_own(controller, "kinetree.") else controller
    return examine(label(owner), function, ports, owner, example)


def first_row(x: Any, shape: tuple[int, ...]) -> Array:
    """The numbers of the first rollout of an array (..., *shape)."""
    x = np.asarray(x, float)
    return x[(0,) * (x.ndim - len(shape))]


def model_key(model: Model) -> Key:
    """A robot: itself, and the graphs of its friction functions, which are code of the user."""
    found = []
    for joint in model.joints:
        function = joint.friction.function
        if function is not None:
            name = f"the friction function of joint {joint.name!r}"
            seen = examine(
                name,
                lambda dq, f=function: (np.asarray(f(dq)),),
                [Port("dq", ())],
                function,
                (0.1,),
            )
            if seen.doubt is not None:
                raise InputError(
                    f"{seen.doubt}; expected a force that depends on dq alone. Give forces that "
                    "remember something as a controller, kinetree.controllers.Stateful."
                )
            found.append(seen.digest)
    return model, *found


def value_key(controller: Any) -> Key | None:
    """A controller of kinetree as the values of its fields; None for any other."""
    if not (is_own(controller, OWN) and is_dataclass(controller)):
        return None
    found: list[Any] = [type(controller)]
    for field in fields(controller):
        if field.name == FOLLOWED:
            continue
        value = plain(getattr(controller, field.name))
        if value is None:
            return None
        found.append(value)
    return tuple(found)


def is_own(x: Any, package: str) -> bool:
    """Whether the very class of an object is kinetree's, not a subclass of the user's."""
    return f"{type(x).__module__}.".startswith(package)


def plain(x: Any) -> Any:
    """A value that can be compared, or None where it must be traced instead."""
    if isinstance(x, str | bool | type(None)):
        return type(x).__name__, x
    if isinstance(getattr(x, "model", x), Model):
        return model_key(getattr(x, "model", x))
    if is_own(x, OWN):
        return value_key(x)
    if callable(x):
        return None
    try:
        numbers = np.asarray(x, float)
    except (TypeError, ValueError):
        return None
    return numbers.shape, numbers.tobytes()


def python_note(verdict: Verdict | None) -> str | None:
    """Why numbers come from Python where the loop itself is compiled."""
    if verdict is None or verdict.note is None:
        return None
    return f"values over time come from Python, not from compiled code: {verdict.note}"


def check_steady(verdict: Verdict | None, method: str, calls: int | None) -> None:
    """Warn of laws that are no functions of t, q and dq; refuse them for adaptive steps.

    calls: of a law in a step; None for the adaptive method, whose error control would shorten its
    steps without end where a repeated call gives other numbers.
    """
    if verdict is None or verdict.doubt is None:
        return
    if calls is None and verdict.unsteady:
        raise InputError(
            f"{verdict.doubt}: it is no function of t, q and dq, so {method!r} can neither repeat "
            f"a step nor estimate its error. {REMEDY} Fixed steps such as method='euler' run it as "
            "it is."
        )
    times = {None: "also at trial states", 1: "once a step"}.get(calls, f"{calls} times a step")
    depends = "" if verdict.unsteady else "where its values depend on it, "
    warn(
        f"{verdict.doubt}. It is run as it is, in Python, and {depends}the motion depends on how "
        f"often it is called: {method!r} calls it {times}, for each rollout of a batch. {REMEDY}"
    )
