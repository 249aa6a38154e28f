"""Motors of coupled transmissions: their inertia and friction, as the joints feel them.

Motor k turns at theta' = a . dq, with a its row of the transmission matrix. Its inertia J and its
friction b(theta') need the joint forces

    tau = a (J a . ddq + b(a . dq)),    M: J a a^T,    d tau/d dq: b' a a^T

Ratios are constant, so there is no force of velocity, and no term in C. Dry friction holds a motor,
not a joint: fixed steps find what it holds in the rates of `MotorRates` (dry_friction.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.gains import arm_forces
from kinetree.errors import InputError
from kinetree.files.description.friction import Friction
from kinetree.model import GearedMotor, Model
from kinetree.model.elements import DEPENDENT, motor_matrix
from kinetree.model.friction import is_zero
from kinetree.model.joint import is_plain


def at_joints(model: Model, force: Callable[[GearedMotor], Any]) -> Array:
    """Joint forces, (n,), of a force of every motor; those without any are 0 as integers."""
    pulls = [(x.arm_of_dof, force(x)) for x in model.motors]
    return arm_forces(model.n, [pair for pair in pulls if not is_plain(pair[1], 0)])


def inertia_forces(model: Model, ddq: Array) -> Array:
    """Joint forces that accelerate the motors, (n,); of rates instead, their momentum."""
    return at_joints(model, lambda x: x.rate(ddq) * x.inertia)  # explain: motor


def with_frictions(model: Model, change: Callable[[Friction], Friction]) -> Model:
    """The robot with another friction in its joints and motors."""
    joints = tuple(replace(x, friction=change(x.friction)) for x in model.joints)
    return with_motor_friction(model.replace(joints=joints), change)


def with_motor_friction(model: Model, change: Callable[[Friction], Friction]) -> Model:
    """The robot with another friction in its motors."""
    if not model.motors:
        return model
    motors = tuple(replace(x, friction=change(x.friction)) for x in model.motors)
    return model.replace(motors=motors)


@dataclass(frozen=True, eq=False)
class MotorRates:
    """Rates v = T dq, (n,), in which the dry friction of joints and of motors has one entry each.

    The rate of each motor with dry friction takes the place of that of one of its joints, its
    entry in `places`. T, T_inv: (n, n).
    """

    places: dict[int, GearedMotor]
    T: Array
    T_inv: Array

    def equations(self, M: Array, b: Array) -> tuple[Array, Array]:
        """M and b of M ddq = b, for dv/dt in the place of ddq."""
        from kinetree.spatial.matrices import is_symmetric, mirrored_half  # for coupled motors

        turned = self.T_inv.T @ M @ self.T_inv
        return mirrored_half(turned) if is_symmetric(M) else turned, self.T_inv.T @ b


def motor_rates(model: Model) -> MotorRates | None:
    """The rates in which motors with dry friction hold; None without any.

    Raises:
        InputError: dry friction of the motor and of its joints, or constraints, with which a motor
            cannot be held.
    """
    dry = [x for x in model.motors if is_dry(x.friction)]
    if not dry:
        return None
    smooth = "Describe its dry friction by a steep kt.friction.Sigmoid, which is smooth."
    if model.constraints is not None:
        raise InputError(
            f"motor {dry[0].name!r} has dry friction, and {model.name!r} constraints; expected a "
            f"motor that holds without them. {smooth}"
        )
    taken = {d for joint in model.joints if is_dry(joint.friction) for d in joint.dofs}
    T: Array = np.eye(model.n, dtype=int).astype(object)
    places: dict[int, GearedMotor] = {}
    rows = [np.asarray(x, float) for x in motor_matrix(dry, model.n)]
    for k, motor in enumerate(dry):
        free = [d for d in range(model.n) if d not in taken and d not in places]
        d = max(free, key=lambda d: abs(rows[k][d]), default=0)
        if not free or abs(rows[k][d]) <= DEPENDENT * max(abs(float(x)) for x in motor.arms):
            raise InputError(
                f"the dry friction of motor {motor.name!r}, of its joints and of other motors acts "
                f"along more directions than they have; expected one for each joint. {smooth}"
            )
        rows = [x if j <= k else x - rows[k] * (x[d] / rows[k][d]) for j, x in enumerate(rows)]
        places[d], T[d] = motor, motor_matrix([motor], model.n)[0]
    # eliminated from the last to the first, so that no pivot is 0
    order = np.ix_(*[[*(d for d in range(model.n) if d not in places), *reversed(places)]] * 2)
    T_inv = T.copy()
    from kinetree.spatial.matrices import solve_unsymmetric  # for coupled motors

    T_inv[order] = solve_unsymmetric(T[order], np.eye(model.n, dtype=int).astype(object))
    return MotorRates(places, T, T_inv)


def refuse_dry_motors(model: Model, what: str) -> None:
    """Raise InputError if a motor has dry friction; what: the computation that cannot have it."""
    dry = [x.name for x in model.motors if is_dry(x.friction)]
    if dry:
        raise InputError(
            f"{what} cannot hold motor {dry[0]!r}, which has dry friction; expected simulate with "
            "a fixed-step method such as 'rk4' or 'implicit', or smooth friction "
            "(kt.friction.Sigmoid)."
        )


def is_dry(friction: Friction) -> bool:
    """Return True for Coulomb or Stribeck friction."""
    return friction.stribeck is not None or not is_zero(friction.coulomb)
