"""Time-optimal scaling: `motion.time_optimal` beside toppra, along paths through random waypoints.

toppra is given inverse dynamics of kinetree as its model, the same limits, and as many grid points
as kinetree used; its Seidel solver runs in machine code. It does not check its result. A note has
the largest share of a limit that either uses on a grid ten times finer than the samples.
"""

import logging

import numpy as np

from benchmarks.peers import Absent
from benchmarks.robots import Case, load
from benchmarks.rows import Answer, timing_rows
from benchmarks.timing import Effort, Job, one_core, side_by_side
from kinetree.model.bounds import bounds_of
from kinetree.motion import Trajectory, quintic, spline, time_optimal

ROBOTS = ("panda", "ur5")
WAYPOINTS = (2, 5, 10)
TITLE = "time-optimal scaling"
TOPPRA = "toppra"
DT = 0.01  # s, of the motion that gives the path, and of the result
AGREEMENT = 0.01  # of the duration
MIDDLE = {"panda": (0, 0.2, 0, -1.8, 0, 1.8, 0), "ur5": (0, -1.2, 1.4, -1.5, -1.5, 0.3)}


def quantity(waypoints: int) -> str:
    """The name of a path in the table."""
    return f"{waypoints} waypoints"


def ask(robot: str, effort: Effort) -> Answer:
    """Every path on one core; a peer that finds another duration is not timed."""
    answer = Answer()
    if robot in ROBOTS:
        with one_core():
            for waypoints in WAYPOINTS:
                of_path(answer, load(robot), waypoints, effort)
    return answer


def of_path(answer: Answer, case: Case, waypoints: int, effort: Effort) -> None:
    """One path."""
    robot, what = case.robot, f"{TITLE}, {quantity(waypoints)}"
    rng = np.random.default_rng(waypoints)
    q = np.array(MIDDLE[case.key]) + rng.uniform(-0.8, 0.8, (waypoints, robot.n))
    times = np.linspace(0, 2.0 * (waypoints - 1), waypoints)
    straight = waypoints == 2
    motion = quintic(*q, 2.0, DT, robot=robot) if straight else spline(q, times, DT, robot=robot)
    ours = time_optimal(robot, motion, dt=DT)
    names = {"f": time_optimal, "robot": robot, "motion": motion, "dt": DT}
    jobs = {"kinetree": Job("f(robot, motion, dt=dt)", names, lambda: ours.duration)}
    knots = sum(len(piece.path.grid) for piece in ours.pieces)
    answer.notes.append(f"{what}: kinetree uses {most_used(case, ours.trajectory):.9g} of a limit")
    try:
        job = toppra_job(case, motion, knots)
        peer = job.result()
        answer.notes.append(f"{what}: toppra uses {most_used(case, peer):.9g} of a limit")
        if abs(peer.duration / ours.duration - 1) < AGREEMENT:
            jobs[TOPPRA] = job
        else:
            answer.notes.append(f"{what}: toppra is not timed, it needs {peer.duration:.6g} s")
    except Absent as missing:
        answer.notes.append(f"{what}: toppra is not measured: {missing}")
    timings = side_by_side(jobs, effort)
    answer.rows += timing_rows(TITLE, case.key, quantity(waypoints), timings)


def most_used(case: Case, motion: Trajectory) -> float:
    """The largest share of a limit of force or speed, ten times finer than the samples."""
    bounds = bounds_of(case.model)
    t = np.linspace(0, motion.duration, 10 * len(motion))
    q, dq, ddq = motion.curve(t[1:-1])
    tau = case.robot.inverse_dynamics(q, dq, ddq)
    return float(max(np.max(np.abs(tau) / bounds.effort), np.max(np.abs(dq) / bounds.velocity)))


class ToppraMotion:
    """A result of toppra with what `most_used` reads."""

    def __init__(self, found) -> None:
        self.found, self.duration = found, float(found.duration)

    def __len__(self) -> int:
        return round(self.duration / DT)

    def curve(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
        """Positions, rates and accelerations."""
        return tuple(self.found(t, order) for order in (0, 1, 2))


def toppra_job(case: Case, motion: Trajectory, knots: int) -> Job:
    """The same path and the same limits in toppra."""
    try:
        from toppra import SplineInterpolator
        from toppra.algorithm import TOPPRA as Toppra
        from toppra.constraint import (
            DiscretizationType,
            JointTorqueConstraint,
            JointVelocityConstraint,
        )
    except ImportError as problem:
        raise Absent(str(problem)) from problem
    logging.getLogger("toppra").setLevel(logging.ERROR)
    bounds, n = bounds_of(case.model), case.model.n
    effort = np.stack([-bounds.effort, bounds.effort], -1)
    velocity = np.stack([-bounds.velocity, bounds.velocity], -1)
    dynamics, scheme = case.robot.inverse_dynamics, DiscretizationType.Interpolation
    thin = slice(None, None, 10)

    def plan():
        path = SplineInterpolator(motion.t[thin], motion.q[thin])
        limits = [
            JointVelocityConstraint(velocity),
            JointTorqueConstraint(dynamics, effort, np.zeros(n), discretization_scheme=scheme),
        ]
        grid = np.linspace(0, path.duration, knots)
        return Toppra(limits, path, gridpoints=grid, solver_wrapper="seidel").compute_trajectory()

    if plan() is None:
        raise Absent("it finds no motion along this path")
    return Job("plan()", {"plan": plan}, lambda: ToppraMotion(plan()))
