"""`kinetree excite`: a motion to record for the identification of a robot."""

from typing import Any

from kinetree.cli import options as opt
from kinetree.cli import robots, states, writer
from kinetree.cli.app import command
from kinetree.cli.planned import Planned
from kinetree.constraints import unconstrained
from kinetree.model.units import factors
from kinetree.motion.limits.check import check_limits


@command("Identify")
def run(
    robot: opt.RobotName,
    /,
    *,
    duration: opt.Real = 20.0,
    dt: opt.Real = 0.005,
    center: opt.Numbers = None,
    use: opt.Real = 0.8,
    acceleration: opt.AccelerationLimit = None,
    harmonics: opt.Whole = 5,
    rounds: opt.Whole = 300,
    seed: opt.Whole = 0,
    output: opt.MotionFile = None,
    plot: opt.Plot = None,
    options: opt.Options = opt.USUAL,
) -> None:
    """Plan a motion for `kinetree identify`, within the limits of position, speed and force.

    Every joint moves by a sum of sines that starts and ends at rest. A search improves the
    condition number of the equations of identification: the smaller, the better the motion shows
    the parameters. Let the robot follow the file, and record t, q and tau. Collisions are not
    looked at: look at the motion with `kinetree view` first. Of a mechanism, the motors move so,
    about its neutral position, and the other joints close its loops.

    For example:

    ```
    kinetree excite ur5e -o excite.csv --duration 5 --dt 0.02 --rounds 20
    kinetree check ur5e excite.csv
    kinetree simulate ur5e --controller computed-torque --reference excite.csv -o record.csv
    ```

    JSON has robot, coordinates, joints, units, condition, condition_before, duration, loads, t,
    q, dq, ddq.

    Args:
        duration: Duration of the motion, s.
        dt: Largest step between samples, s.
        center: Position to move about, typed as --q; joints that are not named are at zero, or in
            the middle of limits that exclude zero. The middle of all limits if left out.
        use: Share of the limits of position and speed to use, at most 1.
        harmonics: Sines of every joint, at least 3.
        rounds: Trials of the search; more find better motions.
        seed: Seed of the search.
    """
    from kinetree.identify import excite

    writer.check_motion(output, plot)
    loaded, degrees = robots.find_robot(robot, options.reading), options.degrees
    model = loaded.model
    middle = None if center is None else states.vector(model, "q", center, degrees, "--center")
    most: Any = None if acceleration is None else acceleration * factors(model, "ddq", degrees)
    with writer.waiting(f"searching a motion of {loaded.name}") as progress:
        found = excite(
            loaded, duration, dt, harmonics=harmonics, use=use, center=middle, acceleration=most,
            rounds=rounds, seed=seed,
            watch=lambda k, x: progress(f"round {k} of {rounds}, condition {x:.4g}"),
        )  # fmt: skip
        tree, motion = loaded, found.motion
        if model.constraints is not None:  # limits are those of joints: forces are the motors'
            tree = unconstrained(loaded)
            tau = loaded.inverse_dynamics(motion.q, motion.dq, motion.ddq)
            motion = motion.replace(tau=tau, model=tree.model)
        report = check_limits(tree, motion)
    words = (
        f"condition number {found.condition:.0f}, {round(found.before, -1):.0f} before the search"
    )
    about = {"condition": found.condition, "condition_before": found.before}
    Planned(loaded, found.motion, report, words, about).write(output, plot, options)
