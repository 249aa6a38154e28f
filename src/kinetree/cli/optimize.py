"""`kinetree optimize`: the motion of least effort to a goal, by optimal control."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from kinetree.cli.arguments import (
    NUMBERS,
    USUAL,
    ForceLimit,
    Options,
    Position,
    RobotName,
    SpeedLimit,
    number_argument,
    option,
    split,
    whole_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.ik import typed_pose
from kinetree.cli.messages import WARNING, notify
from kinetree.cli.output import compiling, waiting
from kinetree.cli.plan import Planned
from kinetree.cli.simulate import STDOUT, MotionFile, Plot, check_files
from kinetree.cli.states import factors, pieces_of, vector
from kinetree.cli.tables import console
from kinetree.core.arrays import Array
from kinetree.core.text import counted, number
from kinetree.errors import InputError
from kinetree.model.bounds import Bounds, bounds_of, limit_vector
from kinetree.motion.limits.check import check_limits
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.motion.limits.report import LimitReport
    from kinetree.optimal import Cost, Problem, Solution

GOAL, STILL = 1e6, 1e5  # final weights, 1/rad^2 or 1/m^2, and s^2/rad^2 or s^2/m^2
ROUGH = 1e-3  # of these, in a first solve that finds the way
DAMPING = 0.01  # of the squares of rates, s/rad^2 or s/m^2
BARRIER = 1e4  # weight of shares of limits of speed, and of rad or m near limits of position
FASTEST = 0.95  # share of a limit of speed where the barrier begins
MARGIN = 0.05  # rad or m before a limit of position where it begins; less if an end is there
TOLERANCE = 1e-8
SMALL = 1e-6  # of cost and duration, and rad or m of the distance to the goal: what is not shown
NEAR = 0.01  # rad or m: what the end may miss the goal by
STRAY = 0.03  # rad or m: what the length of the steps may move the end by
GOALS = ("goal", "position", "rotation")


def optimize(
    robot: RobotName,
    /,
    *,
    q: Annotated[Position, Parameter(name=["--from", "--q"])] = None,
    to: Annotated[
        list[str] | None,
        words_argument(
            "Goal, a position as --from. Joints that are not named keep their value of --from.",
            NUMBERS,
        ),
    ] = None,
    to_pose: Annotated[
        list[str] | None,
        words_argument(
            "Goal of a frame instead: X Y Z in the space frame, m, and its rotation QW QX QY QZ if "
            "that matters too.",
            NUMBERS,
        ),
    ] = None,
    frame: Annotated[
        str | None, option("--frame", "Frame of --to-pose; the tool if left out.", value="NAME")
    ] = None,
    actuated: Annotated[
        list[str] | None,
        words_argument("Joints that have a motor; all but those of a free base if left out."),
    ] = None,
    duration: Annotated[float, number_argument("Duration of the motion, s.")] = 2.0,
    dt: Annotated[float, number_argument("Time step of the plan, s.")] = 0.01,
    iterations: Annotated[int, whole_argument("Most iterations of each of two solves.")] = 500,
    effort: ForceLimit = None,
    velocity: SpeedLimit = None,
    output: MotionFile = None,
    plot: Plot = None,
    options: Options = USUAL,
) -> int:
    """Find the motion of least effort that is at rest at a goal when its time is over.

    The robot may swing, and joints may lack a motor. Limits of force are kept exactly; those of
    position and speed by barriers, and checked at the end. Collisions are not looked at. `kinetree
    check`, `simulate --reference`, `render` and `view` read the file. The exit code is 0 if the
    plan has converged at the goal within all limits, else 1.

    For example:

    ```
    kinetree optimize ur5e --to 1 -1 1 0 0.5 0 -o plan.csv
    kinetree optimize double_pendulum --to 3.1416 0 --actuated elbow --effort 10 --duration 3
    kinetree optimize panda --to-pose 0.4 0.3 0.5 --plot plan.svg
    ```

    JSON has robot, coordinates, joints, units, cost, costs, iterations, reason, converged, misses
    (the distance of the end from the goal), step_error, violations, duration, loads, t, q, dq, ddq,
    tau.
    """
    check_files(output, plot)
    loaded, degrees = find_robot(robot, options.reading), options.degrees
    model = loaded.model
    start = vector(model, "q", q, degrees, "--from")
    goals = read_goal(loaded, start, to, to_pose, frame, degrees)
    speed = None if velocity is None else velocity * factors(model, "dq", degrees)
    problem = problem_of(
        loaded, start, goals, split(actuated) or None, (effort, speed), (duration, dt)
    )
    if model.actuators:
        notify(f"the actuators of {loaded.name!r} are not used: forces of its joints are planned")
    with waiting(compiling("the plan", model)):
        solution = solved(problem, start, iterations)
        motion = solution.trajectory
        if not np.isfinite(motion.q).all() or not np.isfinite(motion.tau).all():  # type: ignore[arg-type]
            raise InputError(f"no motion was found: {solution.reason}.")
        report = check_limits(loaded, motion, effort=effort, velocity=speed)
        missed = float(np.abs(solution.step_errors[-1]).max())
    misses = {
        name: float(np.sqrt(2 * cost / GOAL))
        for name, cost in solution.costs.items()
        if name in GOALS
    }
    if plot is not None:
        solution.plot(plot)
    about = {
        "cost": solution.cost, "costs": solution.costs, "iterations": len(solution.history),
        "reason": solution.reason, "converged": solution.converged, "misses": misses,
        "step_error": missed,
        "violations": [x.text(degrees) for x in report.violations],
    }  # fmt: skip
    shown = Planned(loaded, motion, report, degrees, "least effort", about)
    shown.write(output, options.json, None)
    if not options.json and output != STDOUT:
        console().print(closing(solution, misses))
    return verdict(solution, misses, missed, report, degrees)


def read_goal(
    robot: Robot,
    start: Array,
    to: list[str] | None,
    to_pose: list[str] | None,
    frame: str | None,
    degrees: bool,
) -> "dict[str, Cost]":
    """The costs of the goal: a position of the joints, or a pose of a frame."""
    from kinetree import optimal

    model = robot.model
    if (to is None) == (to_pose is None):
        raise InputError(
            "--to and --to-pose both give the goal; expected one of them."
            if to
            else "there is no goal; expected --to with a position, or --to-pose X Y Z."
        )
    if to is not None:
        if frame is not None:
            raise InputError("--frame is that of --to-pose; leave it out with --to.")
        goal = vector(model, "q", to, degrees, "--to", start)
        check_goal(robot, goal)
        return {"goal": optimal.Posture(target=goal, final=GOAL)}
    words = pieces_of(to_pose)
    target = typed_pose("--to-pose", words, rotated=len(words) > 3)
    model.frame(frame)
    goals: dict[str, Cost] = {
        "position": optimal.FramePosition(
            target=target if target.ndim == 1 else target[:3, 3], frame=frame, final=GOAL
        )
    }
    if target.ndim == 2:
        goals["rotation"] = optimal.FrameRotation(target=target[:3, :3], frame=frame, final=GOAL)
    return goals


def check_goal(robot: Robot, goal: Array) -> None:
    """Raise InputError for a goal beyond a limit of a joint."""
    bounds = bounds_of(robot.model)
    for k, (coord, lower, upper) in enumerate(
        zip(bounds.coords, bounds.lower, bounds.upper, strict=True)
    ):
        if coord >= 0 and not lower - 1e-9 <= goal[coord] <= upper + 1e-9:
            unit = "m" if bounds.sliding[k] else "rad"
            raise InputError(
                f"--to puts joint {bounds.names[k]!r} of {robot.name!r} at {goal[coord]:.5g} "
                f"{unit}; expected {lower:.5g} to {upper:.5g} {unit}, its limits."
            )


def problem_of(
    robot: Robot,
    start: Array,
    goals: "dict[str, Cost]",
    actuated: list[str] | None,
    limits: tuple[float | None, Array | float | None],
    times: tuple[float, float],
) -> "Problem":
    """The problem of least effort.

    limits: of force, N m or N, and of speed, rad/s or m/s, instead of the robot's; times: duration
    and step, s.
    """
    from kinetree import optimal

    (effort, velocity), (duration, dt) = limits, times
    if not (np.isfinite(duration) and dt > 0 and duration >= dt):
        raise InputError(
            f"--duration is {duration:g} s and --dt {dt:g} s; expected one step or more."
        )
    steps = round(duration / dt)
    if abs(steps * dt - duration) > SMALL * duration:
        raise InputError(
            f"--duration is {duration:g} s, no whole number of steps of --dt {dt:g} s; expected "
            f"such as --duration {steps * dt:g}, or --dt {duration / steps:.6g}."
        )
    bounds = bounds_of(robot.model)
    if effort is not None:
        limit_vector(effort, bounds.names, "effort")
    fastest = bounds.velocity
    if velocity is not None:
        fastest = limit_vector(velocity, bounds.names, "velocity")
    # ten times the forces that hold the joints, and move each alone at 1 rad/s^2 or m/s^2
    usual = 10 * (np.abs(robot.gravity_forces(start)) + np.diagonal(robot.mass_matrix(start)))
    costs: dict[str, Cost] = {
        **goals,
        "still": optimal.Rates(weight=DAMPING, final=STILL),
        "effort": optimal.Effort(weight=1 / usual**2),
    }
    barrier, entries = barrier_of(bounds, fastest, start, goals)
    if entries:
        costs["limits"] = optimal.Residual(function=barrier, entries=entries, weight=BARRIER)
    return optimal.Problem(
        robot, dt=dt, steps=steps, costs=costs, actuated=actuated,
        limits="robot" if effort is None else effort,
    )  # fmt: skip


def barrier_of(
    bounds: Bounds, fastest: Array, start: Array, goals: "dict[str, Cost]"
) -> tuple[Callable[[Any, Array, Array, Array], Array], int]:
    """What positions and speeds are beyond their limits by, less a margin; and its entries.

    The margin of a position is smaller where start or goal are nearer to the limit.
    """
    from kinetree.scalars import maximum

    ends = [start, *(np.asarray(goals[x].target) for x in ("goal",) if x in goals)]
    limited = [k for k in range(len(bounds.names)) if bounds.coords[k] >= 0]
    sides: list[tuple[int, int, float]] = []  # coordinate, direction, and where it begins
    for k in limited:
        for sign, limit in ((1, bounds.upper[k]), (-1, -bounds.lower[k])):
            nearest = max(sign * x[bounds.coords[k]] for x in ends)
            if np.isfinite(limit):
                at = limit - np.clip(limit - nearest, 0, MARGIN)
                sides.append((int(bounds.coords[k]), sign, float(at)))
    hurried = np.flatnonzero(np.isfinite(fastest))

    def beyond(t: Any, q: Array, dq: Array, tau: Array) -> Array:
        far = [maximum(sign * q[k] - at, 0.0) for k, sign, at in sides]
        fast = [maximum(s * dq[k] / fastest[k] - FASTEST, 0.0) for k in hurried for s in (1, -1)]
        return np.array([*far, *fast])

    return beyond, len(sides) + 2 * len(hurried)


def solved(problem: "Problem", start: Array, iterations: int) -> "Solution":
    """The plan, with the history of two solves: with a goal of little weight, and of all."""
    assert isinstance(problem.costs, dict)
    rough = {
        name: replace(cost, final=np.asarray(cost.final) * ROUGH)
        for name, cost in problem.costs.items()
    }
    first = problem.with_costs(**rough).solve(start, iterations=iterations, tolerance=TOLERANCE)
    plan = problem.solve(start, guess=first, iterations=iterations, tolerance=TOLERANCE)
    history, count = list(first.plans.history), len(first.history)
    history += [row | {"iteration": row["iteration"] + count} for row in plan.plans.history]
    return replace(plan, plans=replace(plan.plans, history=history))


def closing(solution: "Solution", misses: dict[str, float]) -> str:
    """A sentence on the cost, and on how near the goal the motion ends."""
    shown = {name: x if x > SMALL * solution.cost else 0 for name, x in solution.costs.items()}
    parts = ", ".join(f"{name} {number(x, 3)}" for name, x in shown.items())
    units = {"goal": solution.trajectory.units["q"], "position": "m", "rotation": "rad"}
    apart = " and ".join(
        f"{number(x, 2) if x > SMALL else f'less than {SMALL:g}'} {units[name]}"
        for name, x in misses.items()
    )
    return (
        f"cost {number(solution.cost)} ({parts}); {counted(len(solution.history), 'iteration')}, "
        f"{solution.reason}; the end misses the goal by {apart}"
    )


def verdict(
    solution: "Solution",
    misses: dict[str, float],
    missed: float,
    report: "LimitReport",
    degrees: bool,
) -> int:
    """The exit code, after a line on stderr for what a user has to know.

    missed: distance of the end that is due to the length of the steps, rad or m.
    """
    from kinetree.optimal.ilqr import ITERATIONS

    if not solution.converged:
        more = "; --iterations allows more" if solution.reason == ITERATIONS else ""
        notify(f"the plan has not converged: {solution.reason}{more}", WARNING)
    if max(misses.values()) > NEAR:
        reach = "it may be out of reach; " if "position" in misses else ""
        notify(
            f"the goal is not reached; {reach}a longer --duration, or more --effort, may help",
            WARNING,
        )
    if not report.ok:
        more = len(report.violations) - 1
        others = f" and {counted(more, 'violation')} more" if more else ""
        first = report.violations[0].text(degrees)
        notify(f"limits are not kept: {first}{others}", WARNING)
    if not missed <= STRAY:
        unit = solution.trajectory.units["q"]
        notify(
            f"steps of {solution.problem.dt:g} s are too long: the plan ends "
            f"{max(misses.values()):.2g} from the goal, but its forces in finer steps end "
            f"{missed:.2g} {unit} from the plan; choose a smaller --dt",
            WARNING,
        )
    near = missed <= STRAY and max(misses.values()) <= NEAR
    return 0 if solution.converged and report.ok and near else 1
