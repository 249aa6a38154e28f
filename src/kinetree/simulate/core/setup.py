"""The arguments of a simulation, checked: states, times, and what acts on the robot."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.description.joints import FREE as FREE_JOINT
from kinetree.description.joints import SPHERICAL
from kinetree.errors import InputError, ShapeError
from kinetree.kernels.free import free_ports
from kinetree.model import Model
from kinetree.simulate.core.controller import Controller, as_controller
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.forces import Actors, judge
from kinetree.simulate.core.signals import Sampled
from kinetree.simulate.core.sources import Source, constant, force_source, time_source


@dataclass(frozen=True, eq=False)
class Setup:
    """Initial states x0 (B, x) of rollouts with leading axes `batch`, and all that acts on them."""

    x0: Array
    batch: tuple[int, ...]
    actors: Actors
    external: ExternalInputs
    extra: int


def read_setup(
    model: Model,
    q0: Any,
    dq0: Any,
    tau: Any,
    F_ext: Any,
    controller: Any,
    parameters: Mapping[str, Any] | None,
) -> Setup:
    """Everything that acts, with leading axes that broadcast."""
    q0 = positions(model, q0)
    dq0 = np.zeros(model.n) if dq0 is None else rates(model, dq0)
    acting = None if controller is None else as_controller(controller)
    sources = {} if acting is None else dict(acting.signals)
    signals = {name: time_source(value, name) for name, value in sources.items()}
    links = len(model.links)
    actors = Actors(
        controller=acting,
        signals=signals,
        tau=force_source(tau, (model.n,), "tau", ", ".join(model.dof_names)),
        F_ext=force_source(F_ext, (links, 6), "F_ext", "(moment, force) onto every link"),
        parameters=tuple(parameters or ()),
    )
    external = external_inputs(model, actors, parameters or {})
    z0 = first_state(model, acting)
    batch = common_batch(q0, dq0, external, z0)
    if 0 in batch:
        raise ShapeError(
            f"the leading axes of the rollouts are {batch}, none at all; give at least one state."
        )
    parts = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q0, dq0, z0)]
    x0 = np.concatenate(parts, -1).reshape(math.prod(batch), -1)
    sizes = (model.nq, model.nq + model.n)
    q, dq, z = np.split(x0[0], sizes)
    actors = replace(actors, verdict=judge(model, actors, external, (q, dq, z)))
    return Setup(x0, batch, actors, external, z0.shape[-1])


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


def external_inputs(model: Model, actors: Actors, parameters: Mapping[str, Any]) -> ExternalInputs:
    """What the sources need, by name."""
    constants: dict[str, tuple[Array, tuple[int, ...]]] = {}
    sampled: dict[str, Sampled] = {}
    forces = (("tau", actors.tau, (model.n,)), ("F_ext", actors.F_ext, (len(model.links), 6)))
    for name, source, shape in forces:
        if source is not None and source.constant is not None:
            constants[name] = source.constant, shape
    for name, source in actors.signals.items():
        if source.constant is not None:
            constants[f"signal {name}"] = source.constant, source.constant.shape[-1:]
    for port in free_ports(model, actors.parameters):
        what = "3 numbers" if port.name == "gravity" else ", ".join(model.link_names)
        value = constant(parameters[port.name], port.shape, f"parameter {port.name}", what)
        constants[f"parameter {port.name}"] = value, port.shape
    named: dict[str, Source | None] = {"tau": actors.tau, "F_ext": actors.F_ext}
    named |= {f"signal {name}": source for name, source in actors.signals.items()}
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


def positions(model: Model, q0: Any) -> Array:
    """Initial positions, (..., nq), quaternions of length 1."""
    q0 = constant(q0, (model.nq,), "q0", ", ".join(model.coordinate_names))
    check_quaternions(model, q0, "q0")
    return q0


def check_quaternions(model: Model, q: Array, name: str) -> None:
    """Refuse positions, (..., nq), whose quaternions are no rotations."""
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


def rates(model: Model, dq0: Any) -> Array:
    """Initial rates, (..., n)."""
    return constant(dq0, (model.n,), "dq0", ", ".join(model.dof_names))


def positive(value: Any, name: str, unit: str) -> float:
    """A finite number above zero."""
    of = f" of {unit}" if unit else ""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; expected a number{of}.") from None
    if not (number > 0 and math.isfinite(number)):
        raise InputError(
            f"{name} is {number:g}{unit and ' '}{unit}; expected a finite number above 0."
        )
    return number


def grid(duration: Any, dt: Any) -> Array:
    """Times 0, dt, 2 dt, ..., duration; the last step is shorter where dt does not divide it."""
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


def known_controller(controller: Controller | None) -> str:
    """What the record says about it."""
    return "" if controller is None else type(controller).__name__
