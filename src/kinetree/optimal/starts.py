"""Which robots plan, and where a plan begins: holding forces, memory and the first noise."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import numbers
from kinetree.dynamics.dry_friction import dry_friction
from kinetree.dynamics.joints.actuation import actuate, check_step_actuators, check_step_drives
from kinetree.dynamics.joints.motors import refuse_dry_motors
from kinetree.engine.compiler.graph import Port
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError, ModelError
from kinetree.files.description.actuators import UNLIMITED
from kinetree.model import Model
from kinetree.model.bounds import bounds_of
from kinetree.optimal.numbers import checked
from kinetree.optimal.sampling import inverse
from kinetree.optimal.transcription import Bounds, Transcription, compiled


def check_robot(model: Model, controls: bool) -> None:
    """Raise for a robot whose motion is not smooth, or has a memory that a step does not keep."""
    if model.n == 0:
        raise ModelError(f"{model.name!r} cannot move; expected a robot with a joint.")
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
        most = np.full(len(motors), np.inf)
    elif not isinstance(limits, str):
        most = numbers(limits, "limits", "'robot', None or numbers")
        sound = most.shape in ((), (len(motors),)) and not isinstance(limits, bool)
        if not sound or not (most > 0).all():
            raise InputError(
                f"limits is {limits!r:.60}; expected a number > 0 for all motors, or a list of "
                f"{len(motors)}, one for each, in N m or N."
            )
        most = np.broadcast_to(most, (len(motors),))
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
        return np.array([inverse(x) for x in lightness]) / (problem.steps * problem.dt) ** 2
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
