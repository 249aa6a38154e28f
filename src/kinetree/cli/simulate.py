"""`kinetree simulate`: a motion from a state, forces and a controller."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from kinetree.cli.arguments import (
    AS_IT_IS,
    Degrees,
    Force,
    Json,
    Position,
    Rate,
    Reading,
    RobotName,
)
from kinetree.cli.completing import complete_table


def simulate(
    robot: RobotName,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    duration: Annotated[float, Parameter(help="Of the motion, s.")] = 1.0,
    dt: Annotated[float | None, Parameter(help="Step of the results, s; else 0.01.")] = None,
    method: Annotated[
        Literal["dop853", "rk4", "semi_implicit_euler", "euler"], Parameter(help="Integrator.")
    ] = "dop853",
    tau: Force = None,
    forces: Annotated[
        str | None,
        Parameter(
            help="CSV file with t and tau:JOINT, or - for standard input; values are joined by "
            "lines.",
            completer=complete_table,
        ),
    ] = None,
    controller: Annotated[
        Literal["none", "gravity", "pd", "pd-gravity", "pid", "computed-torque"],
        Parameter(help="What moves the joints, besides --tau."),
    ] = "none",
    to: Annotated[
        list[str] | None,
        Parameter(
            consume_multiple=1,
            negative=(),
            help="Where the controller leads: a position as --q.",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        Parameter(
            help="CSV file of a trajectory that the controller follows instead of --to.",
            completer=complete_table,
        ),
    ] = None,
    kp: Annotated[float | None, Parameter(help="Gain on the position error.")] = None,
    kd: Annotated[float | None, Parameter(help="Gain on the rate error.")] = None,
    ki: Annotated[float | None, Parameter(help="Gain on the integral, of pid.")] = None,
    limits: Annotated[
        Literal["stop", "record", "ignore"],
        Parameter(help="stop ends the motion where a joint leaves its limits: exit code 1."),
    ] = "record",
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="CSV file to write, - for standard output.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        Parameter(help="Picture to write, such as motion.png, in radians; needs matplotlib."),
    ] = None,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> int:
    """The motion of a robot over time; a summary on the screen, all of it with -o, --plot, --json.

    Gains: kp in N m/rad and kd in N m s/rad for gravity, pd and pid (say them); 1/s^2 and 1/s for
    computed-torque (100 and 20 where left out). pd-gravity and pid add g(q). JSON has robot,
    coordinates, joints, units, t, q, dq, ddq, tau (each a list over time), method, controller,
    violations, stopped.

    For example:

    ```
    kinetree simulate double_pendulum --q 1.5 0 --duration 2 -o motion.csv
    kinetree simulate panda --controller computed-torque --to 0 -45 0 -90 0 90 0 --degrees
    kinetree simulate cart_pole --q hinge=0.1 --duration 0.5 --plot motion.png
    ```
    """
    from kinetree.cli.choices import find_robot
    from kinetree.cli.control import Control
    from kinetree.cli.motions import run_simulation

    control = Control(controller, to, reference, kp, kd, ki)
    return run_simulation(
        find_robot(robot, reading), q, dq, control, tau=tau, forces=forces, duration=duration,
        dt=dt, method=method, limits=limits, output=output, plot=plot, json=json, degrees=degrees,
    )  # fmt: skip
