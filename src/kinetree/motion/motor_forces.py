"""Forces of the motors: joint forces with the losses of gears, through coupled transmissions.

Dynamics give the joint forces tau of a motion. Where friction of a joint grows with its load, the
motor must give more while the load drives the motion and less while it brakes it. With b(dq) the
friction of the rate alone and load = tau - b,

    tau' = tau + c |load| sign(dq),   c = driving where load dq > 0, else braking

A gear of efficiency eta has (driving, braking) = (1/eta - 1, 1 - eta): the motor gives load / eta
or eta load. The loss depends on the sign of the load, so that tau' is not affine in ddq: it is no
part of the dynamics. Motors of coupled joints with transmission matrix N have tau_m with
N^T tau_m = tau'.
"""

from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.options import numbers
from kinetree.core.text import counted
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.model import Model
from kinetree.model.friction import is_zero
from kinetree.model.motors import DEPENDENT


def motor_forces(model: Model, tau: ArrayLike, dq: ArrayLike | None = None) -> Array:
    """Forces of the motors, see `Robot.motor_forces`."""
    tau = _joint_vectors(model, tau, "tau", "joint forces")
    if load_friction(model) is not None:
        if dq is None:
            raise InputError(
                f"motor_forces needs the rates dq, since joints of {model.name!r} lose part of the "
                "force by load friction; expected motor_forces(tau, dq)."
            )
        tau = drive_forces(model, tau, _joint_vectors(model, dq, "dq", "joint rates"))
    return _coupled_forces(model, tau) if model.motors else tau


def drive_forces(model: Model, tau: Array, dq: Array) -> Array:
    """tau', (..., n): joint forces with load friction; both (..., n)."""
    c = load_friction(model)
    if c is None:
        return tau
    friction = kernel(without_load_friction(model), "friction_forces")(dq)
    return with_losses(c, tau - friction, dq) + friction


def forces_in_motion(
    model: Model, q: Array, dq: Array, ddq: Array, tau: Array | None = None
) -> Array:
    """tau', (T, n), of a motion; tau: joint forces, None: those of inverse dynamics."""
    if tau is None:
        tau = kernel(without_load_friction(model), "inverse_dynamics")(q, dq, ddq)
    return drive_forces(model, tau, dq)


def load_friction(model: Model) -> Array | None:
    """Coefficients of load friction (driving, braking), (n, 2); None if there is none."""
    lossy = [joint for joint in model.joints if not is_zero(joint.friction.load)]
    if not lossy:
        return None
    c = np.zeros((model.n, 2))
    for joint in lossy:
        c[list(joint.dofs)] = [float(x) for x in joint.friction.load]
    return c


def without_load_friction(model: Model) -> Model:
    """The same robot with drives of efficiency 1 and without load friction."""
    joints = tuple(
        replace(
            joint,
            friction=replace(joint.friction, load=(0, 0)),
            drive=None if joint.drive is None else replace(joint.drive, efficiency=1),
        )
        for joint in model.joints
    )
    return model if load_friction(model) is None else model.replace(joints=joints)


def with_losses(c: Array | None, load: Array, dq: Array) -> Array:
    """load + c |load| sign(dq), (..., n), of loads and rates; c: (n, 2), None without losses."""
    if c is None:
        return load
    driven = np.sign(load) * np.sign(dq)
    return load * (1 + c[:, 0] * (driven > 0) - c[:, 1] * (driven < 0))


def _joint_vectors(model: Model, x: ArrayLike, name: str, what: str) -> Array:
    n = model.n
    found = numbers(x, name, f"{what}, shape (..., {n})")
    if found.ndim == 0 or found.shape[-1] != n:
        raise ShapeError(f"{name} has shape {found.shape}; expected (..., {n}), {what}.")
    return found


def _coupled_forces(model: Model, tau: Array) -> Array:
    """tau_m, (..., k), with N^T tau_m = tau at the joints of the motors."""
    motors, names = model.motors, model.dof_names
    dofs = sorted({d for motor in motors for d in motor.dofs})
    N = np.asarray(model.motor_matrix, float)[:, dofs]
    driven = ", ".join(names[d] for d in dofs)
    if len(motors) != len(dofs):
        raise ModelError(
            f"{counted(len(motors), 'motor')} for {counted(len(dofs), 'joint')} ({driven}): tau "
            "does not decide their forces; expected as many motors as joints. with_motors adds or "
            "removes some."
        )
    for k, motor in enumerate(motors):
        if np.linalg.matrix_rank(N[: k + 1], rtol=DEPENDENT) <= k:
            raise ModelError(
                f"the angle of motor {motor.name!r} follows from those of the motors before it, so "
                f"the motors cannot move {driven} independently; expected ratios of full rank."
            )
    return np.linalg.solve(N.T, tau[..., dofs, None])[..., 0]
