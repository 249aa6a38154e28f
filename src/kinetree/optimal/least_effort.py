"""The motion of least effort to a goal, at rest when its time is over: one ready-made problem.

    minimise   sum (tau / usual)^2 dt + damping sum dq^2 dt + goal

Limits of force are kept exactly. Those of position and speed are kept by barriers that begin just
before them; `kt.motion.check_limits` checks them at the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import typed
from kinetree.errors import InputError, argument
from kinetree.files.description.friction import Friction, Sigmoid
from kinetree.model.bounds import Bounds, bounds_of, limit_vector
from kinetree.model.inputs import coordinates
from kinetree.optimal.costs import (
    Cost,
    Effort,
    FramePosition,
    FrameRotation,
    Posture,
    Rates,
    Residual,
)
from kinetree.optimal.problem import Problem
from kinetree.optimal.solution import Solution
from kinetree.robot import Robot
from kinetree.scalars import maximum

GOAL, STILL = 1e6, 1e5  # final weights, 1/rad^2 or 1/m^2, and s^2/rad^2 or s^2/m^2
ROUGH = 1e-3  # of these, in a first solve that finds the way
DAMPING = 0.01  # of the squares of rates, s/rad^2 or s/m^2
BARRIER = 1e4  # weight of shares of limits of speed, and of rad or m near limits of position
FASTEST = 0.95  # share of a limit of speed where the barrier begins
MARGIN = 0.05  # rad or m before a limit of position where it begins; less if an end is there
TOLERANCE = 1e-8
SLIP = 0.05  # rad/s or m/s at which smooth friction has three quarters of its size
WHOLE = 1e-6  # of the duration: what steps may miss it by
ROUNDING = 1e-9  # rad or m that a goal may be beyond a limit


@typed
def least_effort(
    robot: Robot,
    q0: StateLike,
    goal: StateLike | None = None,
    *,
    pose: ArrayLike | None = None,
    frame: str | None = None,
    actuated: Sequence[str] | None = None,
    duration: float = 2.0,
    dt: float = 0.01,
    effort: ArrayLike | None = None,
    velocity: StateLike | None = None,
    iterations: int = 500,
) -> Solution:
    """Find the motion of least effort from rest at q0 to rest at a goal.

    The robot may swing, and joints may lack a motor. Two solves follow one another: with a goal of
    little weight, which finds the way, and of all. Collisions are not looked at.

    Args:
        robot: the robot.
        q0: position at the start, shape (nq,), rad or m.
        goal: position at the end, shape (nq,), rad or m; or None with `pose`.
        pose: where a frame is at the end: a position, shape (3,), m, or a pose, shape (4, 4).
        frame: the frame of `pose`; None: the tool.
        actuated: names of the joints with a motor; None: all but those of a free base.
        duration: of the motion, s.
        dt: time step of the plan, s.
        effort: limits of joint force, a number or shape (n,), N m or N; None: those of the robot.
        velocity: limits of rate, a number or shape (n,), rad/s or m/s; None: those of the robot.
        iterations: most iterations of each solve.

    Returns:
        The solution; `solution.costs["goal"]`, or "position" and "rotation", is half of GOAL times
        the square of the distance from the goal, see `distances`.

    Raises:
        InputError: the goal is beyond a limit, or the duration is no whole number of steps.
    """
    model, bounds = robot.model, bounds_of(robot.model)
    start = coordinates(model, q0, "q0").astype(float)
    if (goal is None) == (pose is None):
        raise InputError("goal and pose both say where the motion ends; expected one of them.")
    costs: dict[str, Cost] = {}
    ends = [start]
    if goal is not None:
        ends.append(coordinates(model, goal, "goal").astype(float))
        _check_goal(robot, bounds, ends[1])
        costs["goal"] = Posture(target=ends[1], final=GOAL)
    else:
        target = np.asarray(pose, float)
        model.frame(frame)
        place = target if target.ndim == 1 else target[:3, 3]
        costs["position"] = FramePosition(target=place, frame=frame, final=GOAL)
        if target.ndim == 2:
            costs["rotation"] = FrameRotation(target=target[:3, :3], frame=frame, final=GOAL)
    names = bounds.names
    if effort is not None:
        limit_vector(effort, names, "effort")
    fastest = bounds.velocity if velocity is None else limit_vector(velocity, names, "velocity")
    # ten times the forces that hold the joints, and move each alone at 1 rad/s^2 or m/s^2
    usual = 10 * (np.abs(robot.gravity_forces(start)) + np.diagonal(robot.mass_matrix(start)))
    costs["still"] = Rates(weight=DAMPING, final=STILL)
    costs["effort"] = Effort(weight=1 / usual**2)
    barrier, entries = _barrier(bounds, fastest, ends)
    if entries:
        costs["limits"] = Residual(function=barrier, entries=entries, weight=BARRIER)
    problem = Problem(
        robot, dt=dt, steps=_steps(duration, dt), costs=costs, actuated=actuated,
        limits="robot" if effort is None else effort,
    )  # fmt: skip
    rough = {
        name: replace(cost, final=np.asarray(cost.final) * ROUGH) for name, cost in costs.items()
    }
    first = problem.with_costs(**rough).solve(start, iterations=iterations, tolerance=TOLERANCE)
    plan = problem.solve(start, guess=first, iterations=iterations, tolerance=TOLERANCE)
    history, count = list(first.plans.history), len(first.history)
    history += [row | {"iteration": row["iteration"] + count} for row in plan.plans.history]
    return replace(plan, plans=replace(plan.plans, history=history))


def smoothed(robot: Robot) -> Robot:
    """The robot with smooth friction instead of dry: coulomb tanh(dq / SLIP), which plans need.

    Of friction that differs in both directions it has the mean, and of Stribeck friction none. A
    robot without dry friction is returned as it is.

    Args:
        robot: the robot.
    """
    friction: dict[str, Friction] = {}
    for joint in robot.model.joints:
        given = joint.friction
        both = float(sum(given.coulomb))
        if (both or given.stribeck is not None) and given.sigmoid is None:
            law = Sigmoid(both, 2 / SLIP)
            friction[joint.name] = replace(
                given, coulomb=0, stribeck=None, presliding=None, sigmoid=law
            )
    return robot.with_friction(friction) if friction else robot


def distances(solution: Solution) -> dict[str, float]:
    """Distance of the end from the goal, by the name of its cost, rad or m."""
    return {
        name: float(np.sqrt(2 * cost / GOAL))
        for name, cost in solution.costs.items()
        if name in ("goal", "position", "rotation")
    }


def _steps(duration: float, dt: float) -> int:
    """The number of steps; InputError if they do not fill the duration."""
    if not (np.isfinite(duration) and dt > 0 and duration >= dt):
        raise InputError(
            f"the duration is {duration:g} s and the step {dt:g} s; expected one step or more."
        )
    steps = round(duration / dt)
    if abs(steps * dt - duration) > WHOLE * duration:
        raise InputError(
            f"the duration {duration:g} s is no whole number of steps of {dt:g} s; give "
            f"{argument('duration', steps * dt)}, or {argument('dt', round(duration / steps, 9))}."
        )
    return steps


def _check_goal(robot: Robot, bounds: Bounds, goal: Array) -> None:
    """Raise InputError for a goal beyond a limit of a joint."""
    for k, (coord, lower, upper) in enumerate(
        zip(bounds.coords, bounds.lower, bounds.upper, strict=True)
    ):
        if coord >= 0 and not lower - ROUNDING <= goal[coord] <= upper + ROUNDING:
            unit = "m" if bounds.sliding[k] else "rad"
            raise InputError(
                f"the goal puts joint {bounds.names[k]!r} of {robot.name!r} at {goal[coord]:.5g} "
                f"{unit}; expected {lower:.5g} to {upper:.5g} {unit}, its limits."
            )


def _barrier(
    bounds: Bounds, fastest: Array, ends: Sequence[Array]
) -> tuple[Callable[[Any, Array, Array, Array], Array], int]:
    """What positions and speeds are beyond their limits by, less a margin; and its entries.

    The margin of a position is smaller where an end of the motion is nearer to the limit.
    """
    sides: list[tuple[int, int, float]] = []  # coordinate, direction, and where it begins
    for coord, low, high in zip(bounds.coords.tolist(), bounds.lower, bounds.upper, strict=True):
        for sign, limit in ((1, high), (-1, -low)):
            if coord >= 0 and np.isfinite(limit):
                nearest = max(sign * x[coord] for x in ends)
                at = limit - np.clip(limit - nearest, 0, MARGIN)
                sides.append((coord, sign, float(at)))
    hurried = np.flatnonzero(np.isfinite(fastest))

    def beyond(t: Any, q: Array, dq: Array, tau: Array) -> Array:
        far = [maximum(sign * q[k] - at, 0.0) for k, sign, at in sides]
        fast = [maximum(s * dq[k] / fastest[k] - FASTEST, 0.0) for k in hurried for s in (1, -1)]
        return np.array([*far, *fast])

    return beyond, len(sides) + 2 * len(hurried)
