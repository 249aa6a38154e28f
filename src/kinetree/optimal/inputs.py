"""What a problem is given: numbers of all stages, limits, and where plans begin, checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array
from kinetree.core.options import numbers
from kinetree.core.text import look_up
from kinetree.dynamics.dry_friction import dry_friction
from kinetree.dynamics.joints.actuation import actuate, check_step_actuators, check_step_drives
from kinetree.dynamics.joints.motors import refuse_dry_motors
from kinetree.engine.compiler.graph import Port
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.free import check_free, free_ports, free_values
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.files.description.actuators import UNLIMITED
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.optimal.costs import Cost
from kinetree.optimal.transcription import Bounds, Transcription, compiled

Costs = dict[str, Cost] | Sequence[Cost]


@dataclass(frozen=True, eq=False)
class Many:
    """What differs between `count` problems; `Problem.batch` describes the fields."""

    count: int
    targets: Mapping[str, ArrayLike]
    weights: Mapping[str, ArrayLike]
    finals: Mapping[str, ArrayLike]
    data: Mapping[str, ArrayLike]


def numbers_of(ocp: Transcription, N: int, B: int = 1, many: Many | None = None) -> Array:
    """The numbers p of all stages of B problems, (steps + 1, B, p)."""
    model, m, layout = ocp.model, len(ocp.actuated), ocp.layout
    p = np.empty((N + 1, B, layout.size))
    p[..., 0] = np.arange(N + 1)[:, None] * ocp.h
    for name, cost in ocp.costs.items():
        if cost._forces and np.asarray(cost.final).any():
            raise InputError(
                f"cost {name!r} is one of forces, which the last state does not have; expected no "
                "final weight."
            )
        shapes, aim = ((), (cost._size(model, m),)), target_of(cost, model, m, N)
        place = layout.weights[name]
        p[..., place] = weights(cost.weight, f"weight of cost {name!r}", *shapes)
        p[-1, :, place] = weights(cost.final, f"final weight of cost {name!r}", *shapes)
        p[..., layout.targets[name]] = aim if aim.ndim == 1 else aim[:, None]
    for name, place in layout.data.items():
        p[..., place] = free_values(model, name).ravel()
    return p if many is None else _with_many(ocp, many, p)


def _with_many(ocp: Transcription, many: Many, p: Array) -> Array:
    """Write the numbers in which the problems differ."""
    model, m, (rows, B, _) = ocp.model, len(ocp.actuated), p.shape
    for name in (*many.targets, *many.weights, *many.finals):
        look_up(ocp.costs, name, "a cost that differs")
    for name, target in many.targets.items():
        aim = checked_target(target, ocp.costs[name], model, m, ((B,), (B, rows)))
        p[..., ocp.layout.targets[name]] = aim if aim.ndim == 2 else aim.swapaxes(0, 1)
    for stages, values in ((slice(-1), many.weights), (slice(-1, None), many.finals)):
        for name, value in values.items():
            size = ocp.costs[name]._size(model, m)
            w = weights(value, f"weights of cost {name!r}", (B,), (B, size))
            p[stages, :, ocp.layout.weights[name]] = w.reshape(B, -1)
    for port in free_ports(model, tuple(many.data)):
        x = checked(many.data[port.name], port.name, (B, *port.shape))
        check_free(model, port.name, x)
        p[..., ocp.layout.data[port.name]] = x.reshape(B, -1)
    return p


def named(listed: Costs, model: Model, m: int) -> dict[str, Cost]:
    """Costs by name: the names that were given, or those of their classes.

    They have copies of their numbers and, where they have functions, the graphs of now.
    """
    if not isinstance(listed, dict):
        kinds = [type(cost).__name__.lower() for cost in listed]
        names = [x if kinds.count(x) == 1 else f"{x}_{k + 1}" for k, x in enumerate(kinds)]
        listed = dict(zip(names, listed, strict=True))
    if not listed:
        raise InputError("the problem has no cost; expected at least one.")
    return {name: settled(cost, model, m, name) for name, cost in listed.items()}


def settled(cost: Cost, model: Model, m: int, name: str) -> Cost:
    """The cost with copies of its numbers and, where it has a function, with its graph of now."""
    if not isinstance(cost, Cost) or type(cost)._residual is Cost._residual:
        raise InputError(
            f"cost {name!r} is a {type(cost).__name__}; expected a cost of kinetree.optimal."
        )
    arrays = {
        key: np.array(numbers(value, f"{key} of cost {name!r}", "numbers"))
        for key in ("target", "weight", "final")
        if (value := getattr(cost, key)) is not None
    }
    return replace(cost, **arrays)._traced(model, m, name)


def target_of(cost: Cost, model: Model, m: int, N: int) -> Array:
    """The target as numbers, (k,), or (N + 1, k) for one that moves, for m motors."""
    cost._check(model)
    if cost.target is None:
        default = cost._default(model) if callable(cost._default) else cost._default
        return np.broadcast_to(np.asarray(default), (prod(cost._shape(model, m)),))
    return checked_target(cost.target, cost, model, m, ((), (N + 1,)))


def checked_target(
    target: ArrayLike, cost: Cost, model: Model, m: int, leads: Sequence[tuple[int, ...]]
) -> Array:
    """Targets as numbers, (..., k), with one of these shapes of leading axes."""
    shape, name = cost._shape(model, m), f"the target of {type(cost).__name__}"
    x = checked(target, name, *((*lead, *shape) for lead in leads))
    cost._check_target(model, x)
    return x.reshape(*x.shape[: x.ndim - len(shape)], -1)


def checked(
    value: ArrayLike, name: str, *shapes: tuple[int, ...], expected: str = "numbers"
) -> Array:
    """Finite numbers of one of these shapes."""
    x = numbers(value, name, expected)
    if x.shape not in shapes:
        raise ShapeError(f"{name} has shape {x.shape}; expected {' or '.join(map(str, shapes))}.")
    return array(x, x.shape, name)


def weights(value: ArrayLike, name: str, *shapes: tuple[int, ...]) -> Array:
    """Weights of one of these shapes: finite and not negative."""
    x = checked(value, name, *shapes)
    if not (x >= 0).all():
        raise InputError(f"{name} is {value!r:.60}; expected numbers >= 0.")
    return x


def check_robot(model: Model, controls: bool) -> None:
    """Raise for a robot whose motion is not smooth, or has a memory that a step does not keep."""
    check_step_drives(model)
    if controls:
        check_step_actuators(model)
    refuse_dry_motors(model, "optimal control")
    dry = tuple(dry_friction(model))
    if dry:
        raise ModelError(
            f"joint {model.dof_names[dry[0]]!r} has dry friction, whose slope jumps at rest; "
            "expected friction that is smooth: robot.with_friction({joint: friction}) with "
            "Friction(sigmoid=Sigmoid(...)) or Friction(viscous) of kt.friction."
        )


def control_ranges(model: Model) -> tuple[Array, Array]:
    """Least and most control of each actuator, (m,) each."""
    low, high = np.array([x.control_range for x in model.actuators], float).T
    return low, high


def bounds_of_forces(problem: Any) -> Bounds:
    """Limits of the motors' forces, or of the controls, (m,) each."""
    model, motors, limits = problem.model, list(problem.motors), problem.limits
    if limits is None:
        most = np.array(np.inf)
    elif not isinstance(limits, str):
        most = numbers(limits, "limits", "'robot', None or numbers")
        sound = most.shape in ((), (len(motors),)) and not isinstance(limits, bool)
        if not sound or not (most > 0).all():
            raise InputError(
                f"limits is {limits!r:.60}; expected () or {(len(motors),)} numbers > 0."
            )
    elif limits != "robot":
        raise InputError(f"limits is {limits!r}; expected 'robot', None or numbers.")
    elif problem.controls:
        return Bounds(*control_ranges(model))
    else:
        most = bounds_of(model).effort[motors]
        if not (most > 0).all():
            name = model.dof_names[motors[int(np.argmin(most))]]
            raise InputError(
                f"joint {name!r} has an effort limit of {most.min():g}, so that its motor cannot "
                "act; expected other limits, or motors without it."
            )
    most = np.broadcast_to(most, (len(motors),))
    return Bounds(-most, most)


def holding(problem: Any, q: Array) -> Array:
    """Forces or controls that hold positions q, (B, nq), at rest, or nearly; (B, m)."""
    model, motors, rest = problem.model, list(problem.motors), np.zeros((len(q), problem.model.n))
    if model.constraints is None:
        tau = np.asarray(problem.robot.gravity_forces(q))
    else:
        names = None if problem.controls else tuple(model.dof_names[k] for k in motors)
        make = partial(problem.robot.constrained, {}, actuated=names)
        held = remembered(model, ("held", names), make)
        tau = np.nan_to_num(held.inverse_dynamics(q, rest, rest))  # NaN: motors cannot hold it
    if not problem.controls:
        return tau[:, motors]
    # forces are linear in controls that act at once, in steady state
    acts = remembered(model, "steady actuators", partial(steady_actuators, model))
    lasting = np.diag([float(x.dynamics != "integrator") for x in model.actuators])
    still = acts(q, rest, np.zeros((len(q), len(lasting))))
    T = acts(q[:, None], rest[:, None], lasting) - still[:, None]
    u = np.einsum("bij,bi->bj", np.linalg.pinv(T), tau - still)
    return np.clip(u, *control_ranges(model))


def steady_actuators(model: Model) -> Kernel:
    """Joint forces of q, dq and controls that have acted for long, without limits."""
    free = dict.fromkeys(("control_range", "force_range"), UNLIMITED)
    steady = tuple(replace(x, dynamics="none", **free) for x in model.actuators)
    unlimited = model.replace(actuators=steady)
    ports = [Port("q", (model.nq,)), Port("dq", (model.n,)), Port("u", (len(steady),))]

    def forces(q: Array, dq: Array, u: Array) -> Array:
        return actuate(unlimited, q, dq, u, np.zeros(0)).tau

    return compiled(forces, ports, "actuators")


def start_memory(problem: Any, q: Array) -> Array:
    """Activations and forces before the start, (B, z), for positions (B, nq)."""
    ocp, B, before = problem.transcription, len(q), problem.before
    m, a = len(ocp.actuated), ocp.activations
    active = np.zeros(a) if problem.activation is None else problem.activation
    parts = [np.broadcast_to(checked(active, "activation", (a,)), (B, a))]
    last = None if before is None else checked(before, "before", (m,))
    if ocp.remembers:
        parts.append(holding(problem, q) if last is None else np.broadcast_to(last, (B, m)))
    return np.concatenate(parts, axis=1)


def first_noise(problem: Any, noise: ArrayLike | None, q: Array) -> Array:
    """Forces of the motors for normal numbers of 1, as matrices (B, m, m), at positions (B, nq)."""
    motors, m = list(problem.motors), len(problem.motors)
    if noise is None and not problem.controls:
        lightness = np.asarray(problem.robot.inverse_mass_matrix(q))[:, motors][:, :, motors]
        return np.linalg.inv(lightness) / (problem.steps * problem.dt) ** 2
    if noise is None:
        low, high = control_ranges(problem.model)
        spread, wide = (high - low) / 4, ~np.isfinite(high - low)
        if wide.any():
            name = problem.model.actuators[int(np.argmax(wide))].name
            raise InputError(
                f"the control of actuator {name!r} has no range from which the noise of samples "
                "could follow; expected noise=, in units of the controls."
            )
    else:
        spread = checked(noise, "noise", (), (m,), expected="numbers > 0, in N m or N")
        if not (spread > 0).all():
            raise InputError(f"noise is {noise!r:.60}; expected numbers > 0, in N m or N.")
    return np.broadcast_to(np.diag(np.broadcast_to(spread, (m,))), (len(q), m, m))


def forces_of_controls(ocp: Transcription) -> Kernel:
    """The kernel of the joint forces of a state x and controls u."""

    def forces(x: Array, u: Array) -> Array:
        return ocp.acting(x, u)[0]

    key = "forces of controls", ocp.key
    return remembered(ocp.model, key, partial(compiled, forces, ocp.ports[:2], "tau"))
