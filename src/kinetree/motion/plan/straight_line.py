"""A straight line of the tool: position on a line, orientation about one axis."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.containers import refuse_labels
from kinetree.core.options import is_one_of, typed
from kinetree.engine.kernels.memo import kernel
from kinetree.errors import InputError, SingularityError
from kinetree.model import HasModel, Model
from kinetree.model.bounds import bounds_of
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinates
from kinetree.motion.curve.splines import evaluate, quintic_coefficients
from kinetree.motion.inputs import check_screws, sample_times
from kinetree.motion.plan.inputs import planned
from kinetree.motion.trajectory import Trajectory
from kinetree.spatial.se3 import check_pose, inverse, log_se3, pose
from kinetree.spatial.so3 import cross, exp_so3, log_so3

Part = Literal["pose", "position"]
POSE, POSITION = "pose", "position"
LEAST_SINGULAR = 1e-4  # of J_b, m and rad together; below it joint rates become very large
RANK_CUTOFF = 1e-9  # share of the largest singular value; a direction below it cannot be moved


@dataclass(frozen=True, eq=False)
class MovedFrame:
    """A frame that is to be moved to a pose, or to a position with free orientation.

    frame: name, None for the tool. part: "pose" or "position".
    """

    model: Model
    frame: str | None
    part: Part

    def __post_init__(self) -> None:
        if not is_one_of(self.part, (POSE, POSITION)):
            raise InputError(f"part is {self.part!r:.60}; expected {POSE!r} or {POSITION!r}.")

    def pose(self, q: Array) -> Array:
        """T_sb, (4, 4)."""
        return kernel(self.model, "pose", frame=self.frame)(q)

    def body_jacobian(self, q: Array) -> Array:
        """J_b, (6, n)."""
        return kernel(self.model, "body_jacobian", frame=self.frame)(q)

    def body_jacobian_rate(self, q: Array, dq: Array) -> Array:
        """dJ_b/dt, (6, n)."""
        return kernel(self.model, "body_jacobian_rate", frame=self.frame)(q, dq)

    def rows(self, J: Array) -> Array:
        """The rows of a Jacobian that belong to the part: all 6, or the 3 linear ones."""
        return J[3:] if self.part == POSITION else J

    def jacobian(self, q: Array) -> Array:
        """J_b, (6, n), or its linear rows, (3, n)."""
        return self.rows(self.body_jacobian(q))

    def error(self, T: Array, q: Array) -> Array:
        """The twist that moves the frame to T in unit time, in the body frame: (6,) or (3,)."""
        T_sb = self.pose(q)
        if self.part == POSITION:
            return T_sb[:3, :3].T @ (T[:3, 3] - T_sb[:3, 3])
        return log_se3(inverse(T_sb) @ T)


@dataclass(frozen=True, eq=False)
class Line:
    """T(s) from T_0 at s = 0 to the goal at s = 1, turning about one axis by w, in the body."""

    T_0: Array
    p_01: Array
    w: Array

    def pose(self, s: float) -> Array:
        """T at s."""
        return pose(self.T_0[:3, :3] @ exp_so3(self.w * s), self.T_0[:3, 3] + self.p_01 * s)


@dataclass(frozen=True, eq=False)
class Follower:
    """A frame that follows a line with the least joint rates: dq = J^+ V.

    rank: number of singular values of J at the start that are not zero.
    """

    moved: MovedFrame
    line: Line
    rank: int

    def rates(self, q: Array, ds: float) -> Array:
        """dq = J^+ V at the speed ds."""
        v = self._velocity(q, ds)
        V = v if self.moved.part == POSITION else np.concatenate([self.line.w * ds, v])
        return self._inverse(q) @ V

    def accelerations(self, q: Array, dq: Array, ds: float, dds: float) -> Array:
        """ddq: the time derivative of J^+ V, also for redundant joints.

        dJ^+ = -J^+ dJ J^+ + (1 - J^+ J) dJ^T J^+T J^+, applied to V within the range of J.
        """
        J, J_inv = self.moved.jacobian(q), self._inverse(q)
        dJ = self.moved.rows(self.moved.body_jacobian_rate(q, dq))
        omega = (self.moved.body_jacobian(q) @ dq)[:3]
        v = self._velocity(q, ds)
        dV = self._velocity(q, dds) - cross(omega, v)
        if self.moved.part == POSE:
            dV = np.concatenate([self.line.w * dds, dV])
        null = np.eye(len(dq)) - J_inv @ J
        return J_inv @ (dV - dJ @ dq) + null @ (dJ.T @ (J_inv.T @ dq))

    def correct(self, q: Array, s: float) -> tuple[Array, float]:
        """The position after Newton steps onto the line, and the distance that is left."""
        T = self.line.pose(s)
        error = self.moved.error(T, q)
        for _ in range(10):
            if np.linalg.norm(error) < 1e-14:
                break
            q_new = q + self._inverse(q) @ error
            error_new = self.moved.error(T, q_new)
            if np.linalg.norm(error_new) >= np.linalg.norm(error):
                break
            q, error = q_new, error_new
        return q, float(np.linalg.norm(error))

    def singular(self, q: Array) -> float:
        """The least singular value of J among the first `rank`."""
        return float(np.linalg.svd(self.moved.jacobian(q), compute_uv=False)[self.rank - 1])

    def _inverse(self, q: Array) -> Array:
        return np.linalg.pinv(self.moved.jacobian(q), rcond=RANK_CUTOFF)

    def _velocity(self, q: Array, ds: float) -> Array:
        """Velocity of the point on the line, in the body frame."""
        return self.moved.pose(q)[:3, :3].T @ (self.line.p_01 * ds)


@typed
def straight_line(
    robot: Model | HasModel,
    q0: StateLike,
    goal: ArrayLike,
    duration: float,
    dt: float = 0.01,
    *,
    frame: str | None = None,
    part: Part = POSE,
    name: str = "straight line",
) -> Trajectory:
    """The tool on a straight line from its pose at q0 to a goal, rest to rest.

    The way along the line is a quintic in time; the orientation turns about one axis of the body.
    Joints follow with the least rates, dq = J^+ V, integrated from sample to sample (Runge-Kutta)
    and corrected onto the line to rounding; dq and ddq are exact derivatives.

    Args:
        robot: the robot; its joints have one degree of freedom each.
        q0: position to start from, shape (n,), rad or m.
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
    moved = MovedFrame(model, frame, part)
    start = coordinates(model, q0, "q0").astype(float)
    without_constraints(model, "straight_line")
    _check_limits(model, start, 0.0)
    t = sample_times(duration, dt)
    way = quintic_coefficients(t[-1], 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    s, ds, dds = evaluate(way, t)
    ds_middle = evaluate(way, (t[1:] + t[:-1]) / 2)[1]
    values = np.linalg.svd(moved.jacobian(start), compute_uv=False)
    rank = int(np.sum(values > RANK_CUTOFF * values[0]))
    follower = Follower(moved, _line(moved, start, goal), rank)
    q = [start]
    for k in range(len(t) - 1):
        x = _runge_kutta(follower, q[-1], t[k + 1] - t[k], (ds[k], ds_middle[k], ds[k + 1]), t[k])
        x, distance = follower.correct(x, float(s[k + 1]))
        if not distance < 1e-9:
            raise InputError(_left_line(follower, x, t[k + 1], float(s[k + 1]), distance))
        _check_limits(model, x, t[k + 1])
        q.append(x)
    dq = [follower.rates(x, v) for x, v in zip(q, ds, strict=True)]
    ddq = [follower.accelerations(*state) for state in zip(q, dq, ds, dds, strict=True)]
    return planned(t, (np.array(q), np.array(dq), np.array(ddq)), robot, (), name)


def _line(moved: MovedFrame, q0: Array, goal: ArrayLike) -> Line:
    T_0 = moved.pose(q0)
    if moved.part == POSITION and np.asarray(goal).shape == (3,):
        refuse_labels(goal, "goal", "a pose (4, 4), or a point (3,)")
        goal = pose(T_0[:3, :3], np.asarray(goal, float))
    T_1 = check_pose(goal, "goal")
    w = np.zeros(3) if moved.part == POSITION else log_so3(T_0[:3, :3].T @ T_1[:3, :3])
    return Line(T_0, T_1[:3, 3] - T_0[:3, 3], w)


def _runge_kutta(
    follower: Follower, q: Array, h: float, ds: tuple[float, float, float], t: float
) -> Array:
    """q after a step h of the classical method on dq = J^+ V.

    ds: speed along the line at the beginning, the middle and the end of the step.
    """
    least = follower.singular(q)
    if least < LEAST_SINGULAR:
        raise SingularityError(
            f"at t = {t:.4g} s the line passes a singularity of {follower.moved.model.name!r}: the "
            f"least singular value of its Jacobian is {least:.2g}, below {LEAST_SINGULAR:g}. Bend "
            "the line, or start from another q0."
        )
    k1 = follower.rates(q, ds[0])
    k2 = follower.rates(q + k1 * (h / 2), ds[1])
    k3 = follower.rates(q + k2 * (h / 2), ds[1])
    k4 = follower.rates(q + k3 * h, ds[2])
    return q + (k1 + 2 * k2 + 2 * k3 + k4) * (h / 6)


def _check_limits(model: Model, q: Array, t: float) -> None:
    bounds = bounds_of(model)
    for name, x, low, high in zip(bounds.names, q, bounds.lower, bounds.upper, strict=True):
        if not low - 1e-12 <= x <= high + 1e-12:
            raise InputError(
                f"at t = {t:.4g} s the line needs {name!r} at {x:.6g}, beyond its limits "
                f"{low:.6g} .. {high:.6g}. Start from another q0, or shorten the line."
            )


def _left_line(follower: Follower, q: Array, t: float, s: float, distance: float) -> str:
    """Message for a line that the robot cannot follow beyond s."""
    T, least = follower.line.pose(s), follower.singular(q)
    robot = follower.moved.model.name
    return (
        f"at t = {t:.4g} s, {100 * s:.3g} % of the way, {robot!r} cannot "
        f"follow the line to {np.round(T[:3, 3], 6).tolist()} m: it stays {distance:.3g} (rad and "
        f"m) away, and its Jacobian's least singular value is {least:.2g}. The line leaves "
        "the workspace or runs into a singularity; shorten it, or start from another q0."
    )
