"""Control of joints: gravity compensation, PD, PD with gravity, PID, computed torque.

With the position error e = q_d - q and its rate de = dq_d - dq. The error of a spherical joint is
2 sin(angle / 2) about the axis of the shorter rotation to the reference (terms.py). Joints without
motors get no force: those of a free base, deflections of elastic joints, and those that
`robot.constrained(actuated=...)` leaves out. Of a robot with constraints, laws with terms of its
dynamics give the forces of the motors that have the same effect (terms.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kinetree.controllers.terms import (
    BY_JOINT,
    Following,
    Gained,
    RobotLike,
    allowed_acceleration,
    check_reference,
    errors,
    gain,
    motion,
    motor_forces,
    motor_gain,
    moved_model_for,
    require_motors,
    starting_inverse_dynamics,
    static_forces,
)
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import refuse_labels
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.inputs import dof_axis
from kinetree.scalars import Scalar, clip
from kinetree.simulate.controller import NamedFields, Reference, SignalValues, Stateless


@dataclass(frozen=True, eq=False)
class GravityCompensation(Gained, Stateless):
    """tau = g(q) - kd dq of the joints with motors: the robot floats, and kd above 0 stops it.

    Forces of springs are part of g here, so that an arm stays wherever it is put.

    Args:
        model: a robot with other parameters for the law; None: the controlled robot itself.
        kd: damping, N m s/rad or N s/m: a number, a diagonal of shape (n,), or a matrix (n, n).
    """

    named_fields: ClassVar[NamedFields] = {"kd": dof_axis}

    kd: ArrayLike = 0
    model: RobotLike | None = None

    @property
    def signals(self) -> Mapping[str, Any]:
        """No signals."""
        return {}

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        used = moved_model_for(self.model, model, "GravityCompensation")
        tau = static_forces(used, q) - motor_gain(model, self.kd, "kd") @ dq
        return motor_forces(used, q, tau), z


@dataclass(frozen=True, eq=False)
class PD(Following, Stateless):
    """tau = kp e + kd de, plus g(q) and the forces of springs if `gravity` is set.

    It acts on joints with motors: a gain that is one number is 0 for a free base, and an array with
    gains for joints without motors is refused.

    Args:
        reference: positions to follow, shape (nq,), rad or m: an array, a function of t, s, that
            returns q or (q, dq) or (q, dq, ddq), or a Trajectory. An array is a goal from the first
            moment on, a step; `kt.motion.within_limits` plans a motion to it, which the command
            line and the workbench do by themselves.
        kp: gain of the error, N m/rad or N/m: a number, a diagonal of shape (n,), or a matrix (n,
            n).
        kd: gain of the rate of the error, N m s/rad or N s/m: a number, a diagonal of shape (n,),
            or a matrix (n, n).
        gravity: whether to add g(q) of the robot; another robot adds its g(q).
    """

    named_fields: ClassVar[NamedFields] = BY_JOINT

    reference: Reference
    kp: ArrayLike
    kd: ArrayLike
    gravity: bool | RobotLike | None = False

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        e, de, _ = errors(model, q, dq, given)
        kp, kd = motor_gain(model, self.kp, "kp"), motor_gain(model, self.kd, "kd")
        return _with_gravity(kp @ e + kd @ de, self.gravity, model, q, "PD"), z


@dataclass(frozen=True, eq=False)
class PID(Following):
    """tau = kp e + kd de + ki z with dz = e, plus g(q) and forces of springs if `gravity` is set.

    Args:
        reference, kp, kd, gravity: as in `PD`.
        ki: gain of the integral, N m/(rad s) or N/(m s): a number, a diagonal of shape (n,), or a
            matrix (n, n).
        bound: the most of the integral that counts in tau, rad s or m s, against windup: a number
            or shape (n,); None: all of it.
    """

    named_fields: ClassVar[NamedFields] = {**BY_JOINT, "ki": dof_axis, "bound": dof_axis}

    reference: Reference
    kp: ArrayLike
    kd: ArrayLike
    ki: ArrayLike
    bound: ArrayLike | None = None
    gravity: bool | RobotLike | None = False

    def start(self, model: Model) -> Array:
        """Return the integral of the error at the beginning, (n,).

        Args:
            model: the robot.
        """
        return np.zeros(model.n)

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        e, de, _ = errors(model, q, dq, given)
        kp, kd = motor_gain(model, self.kp, "kp"), motor_gain(model, self.kd, "kd")
        held, dz = self._bounded(model, z, e)
        tau = kp @ e + kd @ de + motor_gain(model, self.ki, "ki") @ held
        return _with_gravity(tau, self.gravity, model, q, "PID"), dz

    def _bounded(self, model: Model, z: Array, e: Array) -> tuple[Array, Array]:
        """The integral within its bound, and its rate; beyond it, e only counts if it leads back.

        The excess is drawn back within a millisecond, faster than e can push.
        """
        if self.bound is None:
            return z, e
        refuse_labels(self.bound, "bound")
        bound = np.broadcast_to(np.asarray(self.bound, float), model.n)
        if not (bound > 0).all():
            raise InputError(f"bound of the integral is {self.bound}; expected above 0.")
        held = np.array([clip(x, -b, b) for x, b in zip(z, bound, strict=True)])
        return held, e + (held - z) * 1e3


@dataclass(frozen=True, eq=False)
class ComputedTorque(Following):
    """tau = M(q) (ddq_d + kd de + kp e) + h(q, dq): the error obeys dde + kd de + kp e = 0.

    This is exact for joints of one degree of freedom, whose error is e = q_d - q. The error of a
    spherical joint is 2 sin(angle / 2) about the axis of the shorter rotation to the reference, in
    body axes, and de is a difference of body rates, not the time derivative of e. A small error
    obeys the equation; a large one decays more slowly, since the length of e is at most 2. Shifts
    of a planar joint are in body axes, too. Every joint needs a motor, so that robots with a free
    base are refused.

    Dry friction of a joint at rest is fed forward in the direction in which the reference moves, so
    that the joint starts with it. A joint that rests beside a goal at rest stays there if its error
    asks for less than its dry friction; `meta["stuck"]` of the simulated motion lists such joints.

    Of a robot with constraints the errors of the independent joints (`kt.constraints.mobility`)
    obey it, and the other joints follow: their errors, gains and reference rates are not used. The
    positions of the reference must satisfy the constraints.

    Args:
        reference: as in `PD`.
        kp: gain of the error, 1/s^2: a number, a diagonal of shape (n,), or a matrix (n, n).
        kd: gain of the rate of the error, 1/s: a number, a diagonal of shape (n,), or a matrix (n,
            n). The default gains let an error decay without overshoot, as (1 + 10 t) exp(-10 t).
        model: a robot with other parameters for the law; None: the controlled robot itself.
    """

    named_fields: ClassVar[NamedFields] = BY_JOINT

    reference: Reference
    kp: ArrayLike = 100.0
    kd: ArrayLike = 20.0
    model: RobotLike | None = None

    def start(self, model: Model) -> Array:
        """Return an empty state, (0,); raise if the reference breaks constraints of the robot.

        Args:
            model: the robot.
        """
        check_reference(model, self.reference, "ComputedTorque")
        return np.zeros(0)

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        require_motors(model, "ComputedTorque")
        used = moved_model_for(self.model, model, "ComputedTorque")
        e, de, ddq_d = errors(model, q, dq, given)
        kp, kd = (_own_gain(used, x, name) for x, name in ((self.kp, "kp"), (self.kd, "kd")))
        ddq = allowed_acceleration(used, q, dq, ddq_d + kd @ de + kp @ e)
        dq_d = motion(model, given)[1]
        return motor_forces(used, q, starting_inverse_dynamics(used, q, dq, ddq, dq_d)), z


def _own_gain(model: Model, value: ArrayLike, name: str) -> Array:
    """A gain whose entries of joints that follow from the independent ones are zero."""
    matrix = gain(value, model.n, name)
    if model.constraints is None:
        return matrix
    counts = np.isin(np.arange(model.n), model.constraints.independent)
    return np.where(counts[:, None] & counts, matrix, 0)


def _with_gravity(
    tau: Array, gravity: bool | RobotLike | None, model: Model, q: Array, law: str
) -> Array:
    """Add g(q) and springs of the robot itself or of another to tau, or nothing."""
    if gravity is False or gravity is None:
        return tau
    used = moved_model_for(None if gravity is True else gravity, model, law)
    return motor_forces(used, q, tau + static_forces(used, q))
