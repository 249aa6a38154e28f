"""A straight line of the tool: position on a line, orientation about one axis."""

from typing import Literal

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import numbers, typed
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError, SingularityError
from kinetree.model import HasModel, Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinates
from kinetree.motion.curve.splines import evaluate, quintic_coefficients
from kinetree.motion.inputs import check_screws, sample_times
from kinetree.motion.kinematics.problem import POLISH_PROGRESS, SEARCH_ROUNDS
from kinetree.motion.kinematics.solve import read_problem
from kinetree.motion.plan.inputs import planned
from kinetree.motion.trajectory import Trajectory
from kinetree.spatial.se3 import check_pose, pose
from kinetree.spatial.so3 import exp_so3, log_so3

LEAST_SINGULAR = 1e-4  # of J_b, m and rad together; below it joint rates become very large
RANK_CUTOFF = 1e-9  # share of the largest singular value; a direction below it cannot be moved
ON_LINE = 1e-13  # rad and m, at the samples
ACCURACY = 1e-9  # of the integration along the line, rad or m


@typed
def straight_line(
    robot: Model | HasModel,
    q0: StateLike,
    goal: ArrayLike,
    duration: float,
    dt: float = 0.01,
    *,
    frame: str | None = None,
    part: Literal["pose", "position"] = "pose",
    name: str = "straight line",
) -> Trajectory:
    """The tool on a straight line from its pose at q0 to a goal, rest to rest.

    The way along the line is a quintic in time; the orientation turns about one axis of the body.
    Joints follow with the least rates, dq = J^+ V, integrated along the line and corrected onto it
    by inverse kinematics; dq and ddq are exact derivatives.

    Args:
        robot: the robot; its joints have one degree of freedom each.
        q0: position to start from, shape (n,), rad or m, within the limits.
        goal: pose, (4, 4), or with part="position" a point, (3,), in {s}.
        duration: time to take, s.
        dt: largest step between samples, s.
        frame: frame to move; None is the tool.
        part: "pose", or "position" to leave the orientation free.
        name: of the trajectory.

    Raises:
        SingularityError: the line passes a singularity; the message has the time.
        InputError: the line leaves the workspace or a joint its limits; the message has the time.
    """
    model = check_screws(robot, "a straight line")
    without_constraints(model, "straight_line")
    start = coordinates(model, q0, "q0").astype(float)
    T_0 = kernel(model, "pose", frame=frame)(start)
    x = numbers(goal, "goal", "a pose (4, 4), or with part='position' a point (3,)")
    point = part == "position" and x.shape == (3,)
    T_1 = pose(T_0[:3, :3], x) if point else check_pose(x, "goal")
    p = T_1[:3, 3] - T_0[:3, 3]
    w = np.zeros(3) if part == "position" else log_so3(T_0[:3, :3].T @ T_1[:3, :3])
    t = sample_times(duration, dt)
    s, ds, dds = evaluate(quintic_coefficients(t[-1], 0.0, 0.0, 0.0, 1.0, 0.0, 0.0), t)
    poses = np.array([pose(T_0[:3, :3] @ exp_so3(w * x), T_0[:3, 3] + p * x) for x in s])
    line = _Line(model, frame, 3 if part == "position" else 0, w, p)
    targets = poses[:, :3, 3] if part == "position" else poses
    q = line.corrected(line.integrated(start, s, t), targets, t)
    return planned(t, (q, *line.rates(q, ds, dds)), robot, (), name)


class _Line:
    """A frame on a line: V = (w, R^T p) ds/dt, of which the rows from `first` on count."""

    def __init__(self, model: Model, frame: str | None, first: int, w: Array, p: Array) -> None:
        self.model, self.frame, self.first, self.w, self.p = model, frame, first, w, p
        names = ("pose", "body_jacobian", "body_jacobian_rate")
        self.pose, self.jacobian, self.jacobian_rate = (
            kernel(model, name, frame=frame) for name in names
        )

    def rows(self, q: Array) -> tuple[Array, Array, Array]:
        """J, J^+ and V of unit speed at positions q, (..., n)."""
        J = self.jacobian(q)[..., self.first :, :]
        v = np.einsum("...ji,j->...i", self.pose(q)[..., :3, :3], self.p)
        V = np.concatenate([np.broadcast_to(self.w, v.shape), v], axis=-1)[..., self.first :]
        return J, np.linalg.pinv(J, rcond=RANK_CUTOFF), V

    def integrated(self, q0: Array, s: Array, t: Array) -> Array:
        """q, (T, n), at places s on the line, by dq/ds = J^+ V."""
        from scipy.integrate import solve_ivp

        def rate(s: float, q: Array) -> Array:
            _, J_inv, V = self.rows(q)
            return J_inv @ V

        rank = int(np.linalg.matrix_rank(self.rows(q0)[0], rtol=RANK_CUTOFF))

        def regular(s: float, q: Array) -> float:
            values = np.linalg.svd(self.rows(q)[0], compute_uv=False)
            return float(values[rank - 1]) - LEAST_SINGULAR

        regular.terminal = True  # type: ignore[attr-defined]
        places = np.clip(s, 0, 1)
        if regular(0, q0) > 0:
            found = solve_ivp(
                rate, (0, 1), q0, "DOP853", places, events=regular, rtol=ACCURACY, atol=ACCURACY
            )
            if found.status == 0:
                return found.y.T
            t = t[np.searchsorted(places, found.t_events[0][0]) :]
        raise SingularityError(
            f"at t = {t[0]:.4g} s the line passes a singularity of "
            f"{self.model.name!r}: the least singular value of its Jacobian falls below "
            f"{LEAST_SINGULAR:g}. Bend the line, or start from another q0."
        )

    def corrected(self, q: Array, targets: Array, t: Array) -> Array:
        """The positions on the line; InputError where there is none within the limits."""
        low_high = (None, None)
        problem, _, _, _ = read_problem(
            self.model, targets, None, self.frame, None, low_high, ON_LINE, 0
        )
        low, high = problem.bounds.lower, problem.bounds.upper
        for k, j in np.argwhere((q < low - ACCURACY) | (q > high + ACCURACY))[:1].tolist():
            raise InputError(
                f"joint {self.model.dof_names[j]!r} leaves its limits {low[j]:.6g} ... "
                f"{high[j]:.6g} at t = {t[k]:.4g} s: it would be at {q[k, j]:.6g}. Shorten the "
                "line, or start from another q0."
            )
        state = problem.run(problem.start(q), SEARCH_ROUNDS, POLISH_PROGRESS)
        away = np.sqrt(np.maximum(state.distance, state.angle))
        for k in np.flatnonzero(away > 1e4 * ON_LINE)[:1].tolist():
            raise InputError(
                f"at t = {t[k]:.4g} s the frame stays {away[k]:.3g} (rad and m) away; shorten the "
                "line, or start from another q0."
            )
        return state.q

    def rates(self, q: Array, ds: Array, dds: Array) -> tuple[Array, Array]:
        """dq = J^+ V, and its derivative, also for redundant joints.

        dJ^+ = -J^+ dJ J^+ + (1 - J^+ J) dJ^T J^+T J^+, applied to V within the range of J.
        """
        J, J_inv, V = self.rows(q)
        dq = np.einsum("tij,tj->ti", J_inv, V) * ds[:, None]
        dJ = self.jacobian_rate(q, dq)[:, self.first :, :]
        omega = np.einsum("tij,tj->ti", self.jacobian(q)[:, :3], dq)
        v = V[:, -3:]
        dV = V * dds[:, None]
        dV[:, -3:] -= np.cross(omega, v * ds[:, None])
        task = dV - np.einsum("tij,tj->ti", dJ, dq)
        free = np.einsum("tji,tj->ti", dJ, np.einsum("tji,tj->ti", J_inv, dq))
        free -= np.einsum("tij,tjk,tk->ti", J_inv, J, free)
        return dq, np.einsum("tij,tj->ti", J_inv, task) + free
