"""`kinetree excite`: a motion to record for the identification of a robot."""

import sys
from contextlib import nullcontext
from typing import Annotated, Any

from kinetree.cli.arguments import (
    AS_IT_IS,
    NUMBERS,
    AccelerationLimit,
    Degrees,
    Json,
    Reading,
    RobotName,
    number_argument,
    whole_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.output import progress_bar, waiting
from kinetree.cli.plan import Planned
from kinetree.cli.simulate import MotionFile, Plot, check_files
from kinetree.cli.states import factors, vector
from kinetree.constraints import unconstrained
from kinetree.motion.limits.check import check_limits


def excite(
    robot: RobotName,
    /,
    *,
    duration: Annotated[float, number_argument("Duration of the motion, s.")] = 20.0,
    dt: Annotated[float, number_argument("Largest step between samples, s.")] = 0.005,
    center: Annotated[
        list[str] | None,
        words_argument(
            "Position to move about, typed as --q; joints that are not named are at zero, or in "
            "the middle of limits that exclude zero. The middle of all limits if left out.",
            NUMBERS,
        ),
    ] = None,
    use: Annotated[
        float, number_argument("Share of the limits of position and speed to use, at most 1.")
    ] = 0.8,
    acceleration: AccelerationLimit = None,
    harmonics: Annotated[int, whole_argument("Sines of every joint, at least 3.")] = 5,
    rounds: Annotated[int, whole_argument("Trials of the search; more find better motions.")] = 300,
    seed: Annotated[int, whole_argument("Seed of the search.")] = 0,
    output: MotionFile = None,
    plot: Plot = None,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
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
    """
    from kinetree.identify import excite as search

    check_files(output, plot)
    loaded = find_robot(robot, reading)
    model = loaded.model
    middle = None if center is None else vector(model, "q", center, degrees, "--center")
    most: Any = None if acceleration is None else acceleration * factors(model, "ddq", degrees)
    shown = sys.stderr.isatty()
    with progress_bar() if shown else nullcontext() as bar:

        def watch(done: int, condition: float) -> None:
            if bar is not None:
                bar(done, rounds, f"condition {condition:.4g}")

        found = search(
            loaded, duration, dt, harmonics=harmonics, use=use, center=middle, acceleration=most,
            rounds=rounds, seed=seed, watch=watch,
        )  # fmt: skip
    with waiting("checking the motion"):
        tree, motion = loaded, found.motion
        if model.constraints is not None:  # limits are those of joints: forces are the motors'
            tree = unconstrained(loaded)
            tau = loaded.inverse_dynamics(motion.q, motion.dq, motion.ddq)
            motion = motion.replace(tau=tau, model=tree.model)
        report = check_limits(tree, motion)
    Planned(
        loaded, found.motion, report, degrees,
        f"condition number {found.condition:.0f}, {round(found.before, -1):.0f} before the search",
        {"condition": found.condition, "condition_before": found.before},
    ).write(output, json, plot)  # fmt: skip
