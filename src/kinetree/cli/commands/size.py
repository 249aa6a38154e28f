"""`kinetree size`: torques, speeds and power of every joint, and the motors that give them."""

from collections.abc import Iterator

from kinetree.cli import options as opt
from kinetree.cli import recordings, robots, writer
from kinetree.cli.app import command
from kinetree.motion.limits.sizing import Sizing, read_motors, size


@command("Simulate and check", also="motors gears drives")
def run(
    robot: opt.RobotName,
    motion: opt.Recording,
    /,
    *,
    motors: opt.File = None,
    plot: opt.File = None,
    options: opt.Options = opt.USUAL,
) -> int:
    """Show what a motion asks of every motor and gear: torque, speed, power, energy.

    The root mean square (RMS) of the torque heats a motor, its peak must not exceed what the motor
    gives; energy is that drawn, without what flows back. Forces are those of the file; without
    them, or with a payload, those of inverse dynamics. --payload MASS [FRAME] is a point mass on
    the tool or at the origin of a frame. --plot draws the operating points on the torque-speed
    plane, with the limits of the robot. With --motors every joint is compared with every motor; the
    exit code is 1 if a joint has none that is enough.

    For example:

    ```
    kinetree plan ur5e --to 1 -1 1 0 0.5 0 -o plan.csv
    kinetree size ur5e plan.csv --payload 3
    kinetree size ur5e plan.csv --plot size.png
    ```

    JSON has robot, trajectory, duration, joints, motors.

    Args:
        motion: Recording (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, optionally dq, ddq and tau,
            or - for standard input.
        motors: CSV file of motors with gears to compare: motor, ratio, peak, rated (N m), speed
            (rad/s), and if known inertia (kg m^2), efficiency; all at the motor's shaft.
        plot: Torque-speed plane of every joint to write by matplotlib: size.png or size.svg.
    """
    writer.check_motion(None, plot)
    candidates = (
        read_motors(recordings.existing_file(str(motors), "a CSV file of motors")) if motors else []
    )
    loaded = robots.find_robot(robot, options.reading)
    recorded = recordings.read_motion(motion, loaded.model, options)
    if options.reading.payload and recorded.tau is not None:
        writer.notify(
            "the forces of the file are without the payload: computed anew from the motion."
        )
        recorded = recorded.replace(tau=None, model=loaded.model)
    with writer.waiting(f"compiling the dynamics of {loaded.name}"):
        sizing = size(loaded, recorded, candidates)
        if plot is not None:
            sizing.plot(plot)
    writer.give(
        options.json, lambda: sizing.to_dict(options.degrees), lambda: parts(sizing, options)
    )
    return 1 if sizing.lacking else 0


def parts(sizing: Sizing, options: opt.Options) -> Iterator[writer.Part]:
    """The tables, and the joints that no motor is enough for."""
    for k, table in enumerate(sizing.tables(options.degrees)):
        if k:
            yield ""
        yield table
    if sizing.lacking:
        yield ""
        yield f"No motor is enough for {', '.join(sizing.lacking)}.", "bad"
