"""A straight line of the tool: position on a line, orientation about one axis."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import InputError, SingularityError
from kinetree.model.inputs import coordinates
from kinetree.motion.bounds import bounds_of
from kinetree.motion.dynamics import check_screws
from kinetree.motion.hermite import evaluate, quintic_coefficients
from kinetree.motion.inputs import make, sample_times
from kinetree.motion.inverse_kinematics import POSE, POSITION, check_part, error, jacobian
from kinetree.spatial.se3 import check_pose, pose
from kinetree.spatial.so3 import cross, exp_so3, log_so3
from kinetree.trajectory import Trajectory

LEAST_SINGULAR = 1e-4  # of J_b, m and rad together; nearer to a singularity joints race
RANK = 1e-9  # of the largest singular value: what counts as no direction at all


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
    """The robot that follows a line with the least joint rates: dq = J^+ V."""

    robot: Any
    line: Line
    frame: str | None
    part: str
    rank: int

    def rates(self, q: Array, ds: float) -> Array:
        """dq = J^+ V at the speed ds."""
        return self._inverse(q) @ self._twist(q, ds)

    def accelerations(self, q: Array, dq: Array, ds: float, dds: float) -> Array:
        """ddq: the time derivative of J^+ V, redundant joints included.

        dJ^+ = -J^+ dJ J^+ + (1 - J^+ J) dJ^T J^+T J^+, applied to V within the range of J.
        """
        J, J_inv = jacobian(self.robot, q, self.frame, self.part), self._inverse(q)
        dJ = self.robot.body_jacobian_rate(q, dq, self.frame)
        dJ = dJ[3:] if self.part == POSITION else dJ
        omega = (self.robot.body_jacobian(q, self.frame) @ dq)[:3]
        v = self._velocity(q, ds)
        dV = self._velocity(q, dds) - cross(omega, v)
        if self.part == POSE:
            dV = np.concatenate([self.line.w * dds, dV])
        null = np.eye(len(dq)) - J_inv @ J
        return J_inv @ (dV - dJ @ dq) + null @ (dJ.T @ (J_inv.T @ dq))

    def correct(self, q: Array, s: float) -> tuple[Array, float]:
        """Newton steps onto the line; the distance that is left."""
        T = self.line.pose(s)
        V = error(self.robot, T, q, self.frame, self.part)
        for _ in range(10):
            if np.linalg.norm(V) < 1e-14:
                break
            moved = q + self._inverse(q) @ V
            rest = error(self.robot, T, moved, self.frame, self.part)
            if np.linalg.norm(rest) >= np.linalg.norm(V):
                break
            q, V = moved, rest
        return q, float(np.linalg.norm(V))

    def singular(self, q: Array) -> float:
        """The least singular value of J that counts."""
        J = jacobian(self.robot, q, self.frame, self.part)
        return float(np.linalg.svd(J, compute_uv=False)[self.rank - 1])

    def _inverse(self, q: Array) -> Array:
        J = jacobian(self.robot, q, self.frame, self.part)
        return np.linalg.pinv(J, rcond=RANK)

    def _velocity(self, q: Array, ds: float) -> Array:
        return self.robot.pose(q, self.frame)[:3, :3].T @ (self.line.p_01 * ds)

    def _twist(self, q: Array, ds: float) -> Array:
        v = self._velocity(q, ds)
        return v if self.part == POSITION else np.concatenate([self.line.w * ds, v])


def straight_line(
    robot: Any,
    q0: Any,
    goal: Any,
    duration: float,
    dt: float = 0.01,
    *,
    frame: str | None = None,
    part: str = POSE,
    name: str = "straight line",
) -> Trajectory:
    """The tool on a straight line from where it is at q0 to a goal, rest to rest.

    The way along the line is a quintic in time; the orientation turns about one axis of the body.
    Joints follow with the least rates, dq = J^+ V, integrated from sample to sample (Runge-Kutta)
    and corrected onto the line to rounding; dq and ddq are exact derivatives.

    Args:
        robot: the robot; its joints have one degree of freedom each.
        q0: where to start, (n,).
        goal: pose, (4, 4), or with part="position" a point, (3,), in {s}.
        duration: time to take, s.
        dt: largest step between samples, s.
        frame: frame to move; None is the tool.
        part: "pose", or "position" to leave the orientation free.
        name: of the trajectory.

    Raises:
        SingularityError: the line passes a singularity; says when.
        InputError: the line leaves the workspace or a joint its limits; says when and which.
    """
    check_screws(robot.model, "a straight line")
    check_part(part)
    q0 = coordinates(robot.model, q0, "q0").astype(float)
    _check_limits(robot, q0, 0.0)
    t = sample_times(duration, dt)
    s, ds, dds = evaluate(quintic_coefficients(t[-1], 0.0, 0.0, 0.0, 1.0, 0.0, 0.0), t)
    middle = (t[1:] + t[:-1]) / 2
    ds_middle = evaluate(quintic_coefficients(t[-1], 0.0, 0.0, 0.0, 1.0, 0.0, 0.0), middle)[1]
    values = np.linalg.svd(jacobian(robot, q0, frame, part), compute_uv=False)
    rank = int(np.sum(values > RANK * values[0]))
    follower = Follower(robot, _line(robot, q0, goal, frame, part), frame, part, rank)
    q = [q0]
    for k in range(len(t) - 1):
        x = _runge_kutta(follower, q[-1], t[k + 1] - t[k], (ds[k], ds_middle[k], ds[k + 1]), t[k])
        x, distance = follower.correct(x, float(s[k + 1]))
        if not distance < 1e-9:
            raise InputError(_left_line(follower, x, t[k + 1], s[k + 1], distance))
        _check_limits(robot, x, t[k + 1])
        q.append(x)
    dq = [follower.rates(x, v) for x, v in zip(q, ds, strict=True)]
    ddq = [follower.accelerations(*state) for state in zip(q, dq, ds, dds, strict=True)]
    return make(t, (np.array(q), np.array(dq), np.array(ddq)), robot, (), name)


def _line(robot: Any, q0: Array, goal: Any, frame: str | None, part: str) -> Line:
    T_0 = robot.pose(q0, frame)
    if part == POSITION and np.shape(goal) == (3,):
        goal = pose(T_0[:3, :3], np.asarray(goal, float))
    goal = check_pose(goal, "goal")
    w = np.zeros(3) if part == POSITION else log_so3(T_0[:3, :3].T @ goal[:3, :3])
    return Line(T_0, goal[:3, 3] - T_0[:3, 3], w)


def _runge_kutta(
    follower: Follower, q: Array, h: float, ds: tuple[float, float, float], t: float
) -> Array:
    """One step of the classical method on dq = J^+ V; far more precise than the line needs."""
    least = follower.singular(q)
    if least < LEAST_SINGULAR:
        raise SingularityError(
            f"at t = {t:.4g} s the line passes a singularity of {follower.robot.model.name!r}: the "
            f"least singular value of its Jacobian is {least:.2g}, below {LEAST_SINGULAR:g}. Bend "
            "the line, or start from another q0."
        )
    k1 = follower.rates(q, ds[0])
    k2 = follower.rates(q + k1 * (h / 2), ds[1])
    k3 = follower.rates(q + k2 * (h / 2), ds[1])
    k4 = follower.rates(q + k3 * h, ds[2])
    return q + (k1 + 2 * k2 + 2 * k3 + k4) * (h / 6)


def _check_limits(robot: Any, q: Array, t: float) -> None:
    bounds = bounds_of(robot.model)
    for name, x, low, high in zip(bounds.names, q, bounds.lower, bounds.upper, strict=True):
        if not low - 1e-12 <= x <= high + 1e-12:
            raise InputError(
                f"at t = {t:.4g} s the line needs {name!r} at {x:.6g}, beyond its limits "
                f"{low:.6g} .. {high:.6g}. Start from another q0, or shorten the line."
            )


def _left_line(follower: Follower, q: Array, t: float, s: float, distance: float) -> str:
    T, least = follower.line.pose(float(s)), follower.singular(q)
    robot = follower.robot.model.name
    return (
        f"at t = {t:.4g} s, {100 * float(s):.3g} % of the way, {robot!r} cannot "
        f"follow the line to {np.round(T[:3, 3], 6).tolist()} m: it stays {distance:.3g} (rad and "
        f"m) away, and its Jacobian's least singular value is {least:.2g}. The line leaves "
        "the workspace or runs into a singularity; shorten it, or start from another q0."
    )
