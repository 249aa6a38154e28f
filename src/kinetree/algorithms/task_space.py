"""Task-space dynamics of a frame: F = Lambda(q) dV + eta, in body or space coordinates."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.algorithms.inverse_dynamics import bias_forces
from kinetree.algorithms.mass_matrix import mass_matrix
from kinetree.base.arrays import Array, ArrayLike, StateLike, array, scalar
from kinetree.base.tables import formulas, matrix
from kinetree.errors import InputError, SingularityError
from kinetree.formulations.kinematics import (
    body_jacobian,
    body_jacobian_rate,
    space_jacobian,
    space_jacobian_rate,
)
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.model import Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinates, rates
from kinetree.spatial.matrices import solve

JACOBIANS = {
    "body": (body_jacobian, body_jacobian_rate),
    "space": (space_jacobian, space_jacobian_rate),
}


@dataclass(frozen=True, eq=False)
class TaskSpace:
    """Task-space dynamics of k coordinates of a frame; F = J_bar^T tau is the task force.

    tau is M ddq + h: with load friction, the joint force less that friction.

    Args:
        J: Jacobian of the task, shape (k, n), rad/s and m/s for a unit of each rate.
        dJ: rate of J, shape (k, n), the units of J per second.
        Lambda: task-space inertia, shape (k, k), kg m^2, kg m and kg.
        eta: task-space bias wrench, shape (k,), N m and N.
        J_bar: dynamically consistent inverse of J, shape (n, k), the inverse units of J.
        N: projector onto the null space of the task, shape (n, n), dimensionless.
        singular_values: singular values of J, shape (k,), the units of J.
    """

    J: Array  # (k, n)
    dJ: Array  # (k, n)
    Lambda: Array  # (k, k) mass seen at the frame
    eta: Array  # (k,)
    J_bar: Array  # (n, k) dynamically consistent generalised inverse, M^-1 J^T Lambda
    N: Array  # (n, n) null-space projector 1 - J_bar J; N^T tau does not act on the task
    singular_values: Array  # of J, largest first

    def _repr_latex_(self) -> str:
        parts = (("J", self.J), (r"\Lambda", self.Lambda), (r"\eta", self.eta))
        return formulas(*(matrix(name, x) for name, x in parts))


def task_space(
    model: Model,
    q: StateLike,
    dq: StateLike | None = None,
    *,
    V: ArrayLike | None = None,
    frame: str | None = None,
    expressed: str = "body",
    rows: Sequence[int] | None = None,
    damping: float = 0,
    tolerance: float = 1e-6,
) -> TaskSpace:
    """Lambda(q) and eta(q, V) of a frame, for any number of joints.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s; None: from V, or at rest.
        V: twist of the frame, shape (k,) for k rows, rad/s and m/s, instead of dq: the rates follow
            as J_bar V.
        frame: name of the frame, the tool when None.
        expressed: "body" or "space", the axes and reference point of twist and wrench.
        rows: which of the six coordinates (three angular, three linear) make the task; all when
            None. A robot with fewer joints than rows moves in a subspace: Lambda is then the
            generalised inverse on that subspace.
        damping: adds damping^2 to J M^-1 J^T near singularities; in the units of its square root.
        tolerance: J is singular if its smallest singular value is not above this; in the units of
            J.

    Raises:
        SingularityError: J has lost rank, with its smallest singular value.
    """
    q = coordinates(model, q)
    without_constraints(model, "algorithms.task_space")
    jacobian, rate = _jacobians(expressed)
    rows = task_rows(rows)
    damping, tolerance = _not_negative(damping, "damping"), _not_negative(tolerance, "tolerance")
    J = np.asarray(jacobian(model, q, frame), float)[rows]
    k, n = J.shape
    M = np.asarray(mass_matrix(model, q), float)
    sigma = np.linalg.svd(J, compute_uv=False)
    smallest = float(sigma[-1]) if len(sigma) else 0.0
    if damping == 0 and smallest <= tolerance:
        raise SingularityError(
            f"the Jacobian of {frame or model.tool!r} has smallest singular value {smallest:.3g} "
            f"(not above {tolerance:.3g}) at q = {q.tolist()}: the frame cannot move in every "
            "direction of the task. Choose fewer rows, another q, or pass damping."
        )
    Minv_Jt = solve(factor_mass_matrix(model, M), J.T)
    Lambda = _mass_at_frame(J, M, Minv_Jt, damping)
    J_bar = Minv_Jt @ Lambda
    dq = _rates(model, dq, V, J_bar, k)
    dJ = np.asarray(rate(model, q, dq, frame), float)[rows]
    eta = J_bar.T @ bias_forces(model, q, dq) - Lambda @ (dJ @ dq)
    return TaskSpace(J, dJ, Lambda, eta, J_bar, np.eye(n) - J_bar @ J, sigma)


def _mass_at_frame(J: Array, M: Array, Minv_Jt: Array, damping: float) -> Array:
    """Lambda = (J M^-1 J^T + damping^2)^-1, (k, k); of few joints, on their subspace."""
    k, n = J.shape
    if damping != 0:
        Lambda = np.linalg.inv(J @ Minv_Jt + damping**2 * np.eye(k))
    elif k <= n:
        Lambda = np.linalg.inv(J @ Minv_Jt)
    else:
        J_plus = np.linalg.pinv(J)
        Lambda = J_plus.T @ M @ J_plus
    return (Lambda + Lambda.T) / 2


def _jacobians(expressed: str) -> tuple[Callable[..., Array], Callable[..., Array]]:
    if expressed not in JACOBIANS:
        raise InputError(f"expressed is {expressed!r}; expected {' or '.join(JACOBIANS)}.")
    return JACOBIANS[expressed]


def task_rows(rows: Sequence[int] | None) -> list[int]:
    """Check the coordinates of a task: each of the six at most once; None is all six."""
    if rows is None:
        return list(range(6))
    given = list(rows) if isinstance(rows, Iterable) else []
    if not given or any(k not in range(6) for k in given) or len(set(given)) < len(given):
        raise InputError(
            f"rows are {rows!r}; expected some of 0, 1, 2 (angular), 3, 4, 5 (linear), each once."
        )
    return [int(k) for k in given]


def _not_negative(value: ArrayLike, name: str) -> float:
    value = float(scalar(value, name))
    if value < 0:
        raise InputError(f"{name} is {value}; expected >= 0.")
    return value


def _rates(model: Model, dq: StateLike | None, V: ArrayLike | None, J_bar: Array, k: int) -> Array:
    if dq is not None and V is not None:
        raise InputError("give the joint rates dq or the twist V, not both.")
    if V is not None:
        return J_bar @ array(V, (k,), "V")
    return np.zeros(model.n) if dq is None else rates(model, dq, "dq")
