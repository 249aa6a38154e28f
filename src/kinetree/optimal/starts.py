"""Which robots plan, and where a plan begins: holding forces, memory and the first noise."""

from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.dynamics.dry_friction import dry_friction
from kinetree.dynamics.joints.actuation import actuate, check_step_actuators, check_step_drives
from kinetree.dynamics.joints.motors import refuse_dry_motors
from kinetree.engine.compiler.graph import Port
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError, ModelError
from kinetree.files.description.actuators import UNLIMITED
from kinetree.model import Model
from kinetree.optimal.numbers import checked
from kinetree.optimal.sampling import inverse
from kinetree.optimal.transcription import Transcription, compiled
from kinetree.robot import Robot


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


def control_ranges(this: Transcription) -> tuple[Array, Array]:
    """Least and most control of each actuator, (m,) each."""
    low, high = np.array([x.control_range for x in this.model.actuators], float).T
    return low, high


def holding(robot: Robot, this: Transcription, q: Array) -> Array:
    """Forces or controls that hold positions q, (B, nq), at rest, or nearly; (B, m)."""
    model, motors, rest = this.model, list(this.actuated), np.zeros((len(q), this.model.n))
    if model.constraints is None:
        tau = np.asarray(robot.gravity_forces(q))
    else:
        names = None if this.controls else [model.dof_names[k] for k in motors]
        held = remembered(
            model, ("held", names and tuple(names)), lambda: robot.constrained({}, actuated=names)
        )
        tau = np.nan_to_num(held.inverse_dynamics(q, rest, rest))  # NaN: motors cannot hold it
    if not this.controls:
        return tau[:, motors]
    # forces are linear in controls that act at once, in steady state
    steady = [
        replace(x, dynamics="none", control_range=UNLIMITED, force_range=UNLIMITED)
        for x in model.actuators
    ]
    free = model.replace(actuators=tuple(steady))
    ports = [Port("q", (model.nq,)), Port("dq", (model.n,)), Port("u", (len(steady),))]
    acts = remembered(
        model, "steady actuators", lambda: compiled(
            lambda q, dq, u: actuate(free, q, dq, u, np.zeros(0)).tau, ports, "actuators"
        ),
    )  # fmt: skip
    lasting = np.diag([float(x.dynamics != "integrator") for x in model.actuators])
    still = acts(q, rest, np.zeros((len(q), len(steady))))
    T = acts(q[:, None], rest[:, None], lasting) - still[:, None]
    u = np.einsum("bij,bi->bj", np.linalg.pinv(T), tau - still)
    return np.clip(u, *control_ranges(this))


def start_memory(
    robot: Robot, this: Transcription, q: Array, activation: ArrayLike | None,
    before: ArrayLike | None,
) -> Array:  # fmt: skip
    """z at the start, (B, z), for positions (B, nq); arguments as in `Problem`."""
    B, m, a = len(q), len(this.actuated), this.activations
    active = checked(np.zeros(a) if activation is None else activation, "activation", (a,))
    parts = [np.broadcast_to(active, (B, a))]
    last = None if before is None else checked(before, "before", (m,))
    if this.remembers:
        parts.append(holding(robot, this, q) if last is None else np.broadcast_to(last, (B, m)))
    return np.concatenate(parts, axis=1)


def first_noise(
    robot: Robot, this: Transcription, horizon: float, noise: ArrayLike | None, q: Array
) -> Array:
    """Forces of the motors for normal numbers of 1, as matrices (B, m, m), at positions (B, nq)."""
    motors, m = list(this.actuated), len(this.actuated)
    if noise is None and not this.controls:
        lightness = np.asarray(robot.inverse_mass_matrix(q))[:, motors][:, :, motors]
        return np.array([inverse(x) for x in lightness]) / horizon**2
    if noise is None:
        low, high = control_ranges(this)
        spread, wide = (high - low) / 4, ~np.isfinite(high - low)
        if wide.any():
            raise InputError(
                f"the control of actuator {this.model.actuators[int(np.argmax(wide))].name!r} has "
                "no range from which the noise of samples could follow; expected noise=, in units "
                "of the controls."
            )
    else:
        spread = checked(noise, "noise", (), (m,), expected="numbers > 0, in N m or N")
        if not (spread > 0).all():
            raise InputError(f"noise is {noise!r:.60}; expected numbers > 0, in N m or N.")
    return np.broadcast_to(np.diag(np.broadcast_to(spread, (m,))), (len(q), m, m))


def forces_of_controls(this: Transcription) -> Kernel:
    """The kernel of the joint forces of a state x and controls u."""
    key = "forces of controls", this.key
    return remembered(
        this.model, key, lambda: compiled(lambda x, u: this.acting(x, u)[0], this.ports[:2], "tau")
    )
