"""`kinetree optimize`: the motion of least effort to a goal, by optimal control."""

from typing import TYPE_CHECKING, Annotated

import numpy as np
from cyclopts import Parameter

from kinetree.cli import options as opt
from kinetree.cli import poses, robots, states, writer
from kinetree.cli.app import command
from kinetree.cli.planned import Planned
from kinetree.core.text import counted, number
from kinetree.errors import InputError
from kinetree.model.units import factors
from kinetree.motion.limits.check import check_limits

if TYPE_CHECKING:
    from kinetree.optimal import Solution

SMALL = 1e-6  # of the cost, and rad or m of the distance to the goal: what is not shown
NEAR = 0.01  # rad or m: what the end may miss the goal by
STRAY = 0.03  # rad or m: what the length of the steps may move the end by


@command("Simulate and check", also="optimise ilqr ddp mpc trajectory-optimization swing-up")
def run(
    robot: opt.RobotName,
    /,
    *,
    q: Annotated[opt.Position, Parameter(name=["--from", "--q"])] = None,
    to: opt.Numbers = None,
    to_pose: opt.Numbers = None,
    frame: opt.Name = None,
    actuated: opt.Words = None,
    duration: opt.Real = 2.0,
    dt: opt.Real = 0.01,
    iterations: opt.Whole = 500,
    effort: opt.ForceLimit = None,
    velocity: opt.SpeedLimit = None,
    output: opt.MotionFile = None,
    plot: opt.Plot = None,
    options: opt.Options = opt.USUAL,
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

    Args:
        to: Goal, a position as --from. Joints that are not named keep their value of --from.
        to_pose: Goal of a frame instead: X Y Z in the space frame, m, and its rotation QW QX QY QZ
            if that matters too.
        frame: Frame of --to-pose; the tool if left out.
        actuated: Joints that have a motor; all but those of a free base if left out.
        duration: Duration of the motion, s.
        dt: Time step of the plan, s.
        iterations: Most iterations of each of two solves.
    """
    from kinetree.optimal.least_effort import distances, least_effort, smoothed

    writer.check_motion(output, plot)
    loaded, degrees = robots.find_robot(robot, options.reading), options.degrees
    model = loaded.model
    if (to is None) == (to_pose is None):
        raise InputError(
            "--to and --to-pose both give the goal; expected one of them."
            if to
            else "there is no goal; expected --to with a position, or --to-pose X Y Z."
        )
    start = states.vector(model, "q", q, degrees, "--from")
    goal = None if to is None else states.vector(model, "q", to, degrees, "--to", start)
    rotated = len(states.pieces_of(to_pose)) > 3
    pose = None if to_pose is None else poses.typed_pose("--to-pose", to_pose, rotated=rotated)
    speed = None if velocity is None else velocity * factors(model, "dq", degrees)
    if model.actuators:
        writer.notify(f"forces of joints are planned, not actuators of {loaded.name!r}")
    planned = smoothed(loaded)
    if planned is not loaded:
        writer.notify(f"the plan has smooth instead of dry friction of {loaded.name!r}.")
    with writer.waiting(f"planning the motion of {loaded.name}"):
        solution = least_effort(
            planned, start, goal, pose=pose, frame=frame, actuated=opt.split(actuated) or None,
            duration=duration, dt=dt, effort=effort, velocity=speed, iterations=iterations,
        )  # fmt: skip
        motion = solution.trajectory
        if not np.isfinite(np.hstack([motion.q, solution.trajectory.dq])).all():
            raise InputError(f"no motion was found: {solution.reason}.")
        report = check_limits(planned, motion, effort=effort, velocity=speed)
        strayed = float(np.abs(solution.step_errors[-1]).max())
    misses = distances(solution)
    if plot is not None:
        solution.plot(plot)
    about = {
        "cost": solution.cost, "costs": solution.costs, "iterations": len(solution.history),
        "reason": solution.reason, "converged": solution.converged, "misses": misses,
        "step_error": strayed, "violations": [x.text(degrees) for x in report.violations],
    }  # fmt: skip
    Planned(loaded, motion, report, "least effort", about).write(output, None, options)
    if not options.json and output != writer.STDOUT:
        writer.show([closing(solution, misses)])
    warnings: list[str] = []
    if not solution.converged:
        warnings.append(f"the plan has not converged ({solution.reason}); see --iterations")
    if max(misses.values()) > NEAR:
        warnings.append("the goal is not reached; a longer --duration or more --effort may help")
    warnings += [f"a limit is not kept: {x.text(degrees)}" for x in report.violations[:1]]
    if not strayed <= STRAY:
        warnings.append(
            f"steps of {dt:g} s are too long: the plan ends {max(misses.values()):.2g} from the "
            f"goal, but its forces in finer steps end {strayed:.2g} off; choose a smaller --dt"
        )
    for warning in warnings:
        writer.notify(warning, writer.WARNING)
    return 1 if warnings else 0


def closing(solution: "Solution", misses: dict[str, float]) -> str:
    """A sentence on the cost, and on how near the goal the motion ends."""
    shown = {name: x if x > SMALL * solution.cost else 0 for name, x in solution.costs.items()}
    costs = ", ".join(f"{name} {number(x, 3)}" for name, x in shown.items())
    units = {"goal": solution.trajectory.units["q"], "position": "m", "rotation": "rad"}
    apart = " and ".join(
        f"{number(x, 2) if x > SMALL else f'less than {SMALL:g}'} {units[name]}"
        for name, x in misses.items()
    )
    return (
        f"cost {number(solution.cost)} ({costs}); {counted(len(solution.history), 'iteration')}, "
        f"{solution.reason}; the end misses the goal by {apart}"
    )
