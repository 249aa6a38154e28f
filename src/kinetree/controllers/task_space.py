"""Control of a frame: operational space and impedance, with a posture in the null space.

All six-vectors have the axes of {s} and belong to the origin of the frame: (angular, linear). With
J, its bias a_0 = (dJ/dt) dq, and Lambda = (J M^-1 J^T)^-1,

    tau = J^T F + M ddq_0 + h,    F = Lambda (dV_d + kd eV + kp e - a_0 - J ddq_0)

moves the frame as wanted, whatever ddq_0 the posture asks for: only the part of it that does not
move the frame remains (Khatib).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from kinetree import dynamics
from kinetree.controllers.terms import (
    BY_JOINT,
    Gained,
    RobotLike,
    as_reference,
    errors,
    gain,
    model_for,
    solve_mass_matrix,
    tree_forces,
)
from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import refuse_labels
from kinetree.errors import ShapeError
from kinetree.model import Model
from kinetree.model.quantity import task_rows
from kinetree.scalars import Scalar
from kinetree.simulate.controller import NamedFields, Reference, SignalValues, Stateless
from kinetree.spatial import cross, unskew
from kinetree.spatial.matrices import factor, solve
from kinetree.spatial.se3 import check_pose

ALL = (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True, eq=False)
class Task:
    """The motion of a frame and its reference.

    J (k, n) and a_0 of the frame in `model`; pose error, twist error, wanted dV (k,); ddq_0 of the
    posture (n,); Lambda as a function.
    """

    model: Model
    J: Array
    bias: Array
    e: Array
    eV: Array
    wanted: Array
    ddq_0: Array
    Lambda: Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Posture(Gained):
    """Motion in the null space: ddq_0 = kp (q_p - q) - kd dq, or towards a moving reference.

    Args:
        reference: positions to follow, as in `PD`.
        kp: gain of the error, 1/s^2: a number or shape (n,).
        kd: gain of the rate, 1/s: a number or shape (n,).
    """

    named_fields: ClassVar[NamedFields] = BY_JOINT

    reference: Reference
    kp: ArrayLike
    kd: ArrayLike


class FrameLaw(Gained, Stateless):
    """The part shared by laws of a frame: the frame, its robot and its reference."""

    named_fields: ClassVar[NamedFields] = {}  # poses and gains of a frame have no joints

    reference: Reference
    frame: str | None
    posture: Posture | None
    rows: Sequence[int]
    damping: float
    model: RobotLike | None

    @property
    def signals(self) -> Mapping[str, Any]:
        """The reference of the frame, and that of the posture."""
        reference, posture = self.reference, self.posture
        signals: dict[str, Any] = {
            "reference": reference if callable(reference) else as_pose(reference)
        }
        return (
            signals if posture is None else signals | {"posture": as_reference(posture.reference)}
        )


@dataclass(frozen=True, eq=False)
class OperationalSpace(FrameLaw):
    """The frame follows its reference: the error obeys deV + kd eV + kp e = 0.

    Args:
        reference: pose to follow in {s}, shape (4, 4), position in m: an array, or a function of t,
            s, that returns T_d, (T_d, V_d) or (T_d, V_d, dV_d).
        kp: gain of the error, 1/s^2: a number or shape (k,) for k rows.
        kd: gain of the rate of the error, 1/s: a number or shape (k,).
        frame: name of the frame; None: the tool.
        posture: motion in the null space of the task; None: no such motion.
        rows: which of (wx, wy, wz, vx, vy, vz) are controlled.
        damping: its square is added to J M^-1 J^T, against singularities; in the units of its
            square root.
        model: a robot with other parameters for the law; None: the controlled robot itself.
    """

    reference: Reference
    kp: ArrayLike
    kd: ArrayLike
    frame: str | None = None
    posture: Posture | None = None
    rows: Sequence[int] = ALL
    damping: float = 0.0
    model: RobotLike | None = None

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        task = read_task(self, model, q, dq, given)
        kp, kd = gain(self.kp, len(task.e), "kp"), gain(self.kd, len(task.e), "kd")
        wanted = task.wanted + kd @ task.eV + kp @ task.e
        F = task.Lambda(wanted - task.bias - task.J @ task.ddq_0)
        return joint_forces(task, q, dq, F), z


@dataclass(frozen=True, eq=False)
class Impedance(FrameLaw):
    """The frame yields like a spring and a damper: Lambda deV + D eV + K e = -F_ext.

    F = Lambda (dV_d - a_0 - J ddq_0) + D eV + K e: the robot keeps its own effective mass, so that
    no force has to be measured.

    Args:
        K: stiffness, N m/rad and N/m: a number or shape (k,) for k rows.
        D: damping, N m s/rad and N s/m: a number or shape (k,).
        reference, frame, posture, rows, damping, model: as in `OperationalSpace`.
    """

    reference: Reference
    K: ArrayLike
    D: ArrayLike
    frame: str | None = None
    posture: Posture | None = None
    rows: Sequence[int] = ALL
    damping: float = 0.0
    model: RobotLike | None = None

    def act(
        self, model: Model, t: Scalar, q: Array, dq: Array, z: Array, given: SignalValues
    ) -> tuple[Array, Array]:
        """See `Controller.act`."""
        task = read_task(self, model, q, dq, given)
        K, D = gain(self.K, len(task.e), "K"), gain(self.D, len(task.e), "D")
        F = task.Lambda(task.wanted - task.bias - task.J @ task.ddq_0) + D @ task.eV + K @ task.e
        return joint_forces(task, q, dq, F), z


def read_task(law: FrameLaw, model: Model, q: Array, dq: Array, given: SignalValues) -> Task:
    """The frame's motion and its reference, in the axes of {s} at the frame's origin."""
    used, rows = model_for(law.model, model, type(law).__name__), task_rows(law.rows)
    T_d, V_d, dV_d = wanted_motion(given["reference"])
    T = dynamics.pose(used, q, law.frame)
    R = T[:3, :3]
    J_b = dynamics.body_jacobian(used, q, law.frame)
    dJ_b = dynamics.body_jacobian_rate(used, q, dq, law.frame)
    V_b, a_b = J_b @ dq, dJ_b @ dq
    J = np.concatenate([R @ J_b[:3], R @ J_b[3:]])
    bias = np.concatenate([R @ a_b[:3], R @ (a_b[3:] + cross(V_b[:3], V_b[3:]))])
    error = np.concatenate([turn_error(R, T_d[:3, :3]), T_d[:3, 3] - T[:3, 3]])
    return Task(
        model=used,
        J=J[rows],
        bias=bias[rows],
        e=error[rows],
        eV=(V_d - J @ dq)[rows],
        wanted=dV_d[rows],
        ddq_0=rest(used, q, dq, given, law.posture),
        Lambda=effective_mass(used, q, J[rows], law.damping),
    )


def joint_forces(task: Task, q: Array, dq: Array, F: Array) -> Array:
    """tau = J^T F + M ddq_0 + h, (n,)."""
    return tree_forces(task.model, q, dq, task.ddq_0) + task.J.T @ F


def wanted_motion(parts: tuple[Array, ...]) -> tuple[Array, Array, Array]:
    """T_d, V_d and dV_d of a frame's reference; rates that are not given are zero."""
    if np.shape(parts[0]) != (4, 4) or not 1 <= len(parts) <= 3:
        raise ShapeError(
            f"the reference of a frame has parts of shape {[np.shape(x) for x in parts]}; expected "
            "T_d (4, 4), and possibly V_d (6,) and dV_d (6,)."
        )
    none = np.zeros(6, int)
    T_d, V_d, dV_d = (*parts, none, none)[:3]
    return T_d, V_d, dV_d


def turn_error(R: Array, R_d: Array) -> Array:
    """Axis times sine of the angle of the rotation from R to R_d, (3,), in {s}; has no branch."""
    turn = R_d @ R.T
    return unskew(turn - turn.T) / 2


def effective_mass(model: Model, q: Array, J: Array, damping: float) -> Callable[[Array], Array]:
    """Lambda as a function: Lambda(a) = (J M^-1 J^T + damping^2)^-1 a."""
    inverse = J @ solve_mass_matrix(model, q, J.T)
    if damping:
        inverse = inverse + np.eye(len(J), dtype=int) * damping**2
    names = [f"row {k} of the task" for k in range(len(J))]
    kept = factor(np.array(inverse, dtype=object), names)
    return lambda a: solve(kept, a)


def rest(
    model: Model, q: Array, dq: Array, signals: SignalValues, posture: Posture | None
) -> Array:
    """ddq_0 of the posture; 0 without one."""
    if posture is None:
        return np.zeros(model.n, int)
    e, de, ddq_p = errors(model, q, dq, signals, "posture")
    kp, kd = gain(posture.kp, model.n, "kp"), gain(posture.kd, model.n, "kd")
    return ddq_p + kp @ e + kd @ de


def as_pose(value: Reference) -> Callable[[Any], Array]:
    """Read a constant pose, as a function of time."""
    refuse_labels(value, "the reference of a frame", "a pose (4, 4)")
    T = check_pose(cast(ArrayLike, value), "the reference of a frame")
    return lambda t: T
