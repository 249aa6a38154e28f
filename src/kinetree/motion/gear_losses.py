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

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import numbers
from kinetree.core.text import counted
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError, ModelError, ShapeError
from kinetree.model import HasModel, Model, bounds_of, model_of
from kinetree.model.elements import DEPENDENT
from kinetree.model.friction import is_zero
from kinetree.model.inputs import dof_axis
from kinetree.model.model import edit
from kinetree.present.labels import Alignment


def motor_forces(robot: Model | HasModel, tau: ArrayLike, dq: ArrayLike | None = None) -> Array:
    """Forces of the motors for joint forces tau: with the losses of gears, and coupled motors.

    Load friction, such as that of a drive of efficiency eta, is added to tau: the motor gives
    load / eta while it drives the motion, and eta * load while the load drives the motor; load
    is tau less the other friction. No other quantity has it, since it depends on the sign of
    tau. Motors of coupled joints, `with_motors`, then have N^T tau_m = tau, N the
    `model.motor_matrix`.

    Args:
        robot: a Robot or a Model.
        tau: joint forces without load friction, shape (..., n), N m or N.
        dq: joint rates, shape (..., n), rad/s or m/s; None: without load friction they do not
            matter.

    Returns:
        tau_m: shape (..., n), at the joints; of a robot with `model.motors` (..., k), N m, in
        their order.

    Example:
        >>> Drive, Motor = kt.joints.Drive, kt.joints.Motor
        >>> arm = kt.robots.planar_2r().with_drives({"joint1": Drive(efficiency=0.8)})
        >>> tau = kt.motion.without_load_friction(arm).gravity_forces([0.1, 0.2])
        >>> kt.motion.motor_forces(arm, tau, [1, 0]).round(3)
        array([455.07 ,  71.226])
        >>> wrist = {"m1": Motor({"joint1": 1}), "m2": Motor({"joint1": 1, "joint2": 1})}
        >>> kt.motion.motor_forces(kt.robots.planar_2r().with_motors(wrist), [5, 3])
        array([2., 3.])
    """
    model = model_of(robot)
    tau = _joint_vectors(model, tau, "tau", "joint forces")
    if load_friction(model) is not None:
        if dq is None:
            raise InputError(f"{model.name!r} has load friction; expected motor_forces(tau, dq).")
        tau = drive_forces(model, tau, _joint_vectors(model, dq, "dq", "joint rates"))
    return _coupled_forces(model, tau) if model.motors else tau


def force_limits(robot: Model | HasModel, dq: StateLike | None = None) -> tuple[Array, Array]:
    """Least and most joint forces at given rates, each of shape (..., n), N m or N.

    The effort limits of the joints, and the peak and torque-speed curve of their drives, the
    narrowest of them; infinite without a limit. See `kt.joints.Drive`.

    Args:
        robot: a Robot or a Model.
        dq: joint rates, shape (..., n), rad/s or m/s; None: at standstill.

    Example:
        >>> motor = kt.joints.Drive(curve=[(0, 80), (3, 80), (6, 0)])
        >>> arm = kt.robots.planar_2r().with_drives({"joint1": motor})
        >>> kt.motion.force_limits(arm, [5, 0])[1].round(3)
        array([26.667,    inf])
    """
    model = model_of(robot)
    given = np.zeros(model.n) if dq is None else dq
    aligned = Alignment([(given, dof_axis(model), "dq")]).values[0]
    return bounds_of(model).forces(_joint_vectors(model, aligned, "dq", "joint rates"))


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
    found = tau
    if found is None:
        found = np.asarray(kernel(without_load_friction(model), "inverse_dynamics")(q, dq, ddq))
    return drive_forces(model, found, dq)


def load_friction(model: Model) -> Array | None:
    """Coefficients of load friction (driving, braking), (n, 2); None if there is none."""
    lossy = [joint for joint in model.joints if not is_zero(joint.loss)]
    if not lossy:
        return None
    c = np.zeros((model.n, 2))
    for joint in lossy:
        c[list(joint.dofs)] = [float(x) for x in joint.loss]
    return c


@edit
def without_load_friction(model: Model) -> Model:
    """The same robot with gears without loss: drives of efficiency 1, no load friction.

    Dynamics refuse a robot with load friction; `motor_forces` applies it.

    Args:
        model: the robot.
    """
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


def _joint_vectors(model: Model, x: object, name: str, what: str) -> Array:
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
    if len(motors) != len(dofs) or np.linalg.matrix_rank(N, rtol=DEPENDENT) < len(dofs):
        raise ModelError(
            f"tau does not decide the forces of {counted(len(motors), 'motor')} for "
            f"{counted(len(dofs), 'joint')} ({driven}); expected as many motors as joints, with "
            "ratios of full rank. with_motors adds or removes some."
        )
    return np.linalg.solve(N.T, tau[..., dofs, None])[..., 0]
