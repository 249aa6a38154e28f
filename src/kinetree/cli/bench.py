"""`kinetree bench`: how fast this robot's dynamics run here and now."""

from typing import Annotated

from cyclopts import Parameter

from kinetree.cli.arguments import AS_IT_IS, Json, Reading, RobotName


def bench(
    robot: RobotName = "panda",
    /,
    *,
    batch: Annotated[
        list[int] | None,
        Parameter(
            consume_multiple=1, negative=(), help="States in a call; 64 and 4096 where left out."
        ),
    ] = None,
    peers: Annotated[
        bool, Parameter(help="Time Pinocchio and MuJoCo as well, where they are installed.")
    ] = True,
    json: Json = False,
    reading: Reading = AS_IT_IS,
) -> None:
    """Nanoseconds per state of inverse dynamics, forward dynamics and M, on one thread.

    The compiled kernel in calls of one state and of batches, the textbook form that it was traced
    from, and peers called from Python, one state a call. Compile: from nothing; load: from the
    cache on disk. The best of several repeats; a busy machine gives larger numbers. A peer is timed
    only where its results agree. JSON has robot, n, machine, quantities (each with operations,
    compile and load in s, kernel, direct and peers in ns per state), notes.

    For example:

    ```
    kinetree bench planar_2r --batch 1000
    kinetree bench ur5e --no-peers --json
    ```
    """
    from kinetree.cli.choices import find_robot
    from kinetree.cli.show import print_json
    from kinetree.cli.speed import measure, print_speed
    from kinetree.errors import InputError

    sizes = batch or [64, 4096]
    if min(sizes) < 1 or max(sizes) > 1 << 20:
        raise InputError(f"--batch is {sizes}; expected numbers from 1 to {1 << 20}.")
    found = measure(find_robot(robot, reading), sizes, peers)
    if json:
        print_json(found)
    else:
        print_speed(found)
