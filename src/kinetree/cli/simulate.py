"""`kinetree simulate`: a motion from a state, forces and a controller."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from kinetree.base.arrays import Array
from kinetree.base.tables import counted, number
from kinetree.cli.arguments import (
    AS_IT_IS,
    STREAM,
    Degrees,
    Force,
    Json,
    Position,
    Rate,
    Reading,
    RobotName,
    table_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.output import (
    check_output,
    compiling,
    notify,
    print_json,
    waiting,
)
from kinetree.cli.states import factors, names, units, vector
from kinetree.cli.tables import console, screen_table
from kinetree.errors import InputError, need
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.simulate.core.controller import Controller
    from kinetree.simulate.core.limits import Violation
    from kinetree.simulate.core.signals import Signal
    from kinetree.trajectory import Trajectory

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
ROUNDING = 1e-12  # of the largest coordinate: smaller numbers are shown as 0
STDOUT = Path(STREAM)
MOST_VIOLATIONS = 8  # that are printed; the others are counted
GAINS = {"pd": ("kp", "kd"), "pd-gravity": ("kp", "kd"), "pid": ("kp", "kd", "ki")}


def simulate(
    robot: RobotName,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    duration: Annotated[float, Parameter(help="Duration of the motion, s.")] = 1.0,
    dt: Annotated[float | None, Parameter(help="Step of the results, s; 0.01 if left out.")] = None,
    method: Annotated[
        Literal["dop853", "rk4", "semi_implicit_euler", "euler"], Parameter(help="Integrator.")
    ] = "dop853",
    tau: Force = None,
    forces: Annotated[
        str | None,
        table_argument(
            "CSV file with t and tau:JOINT, or - for standard input; linear between the rows."
        ),
    ] = None,
    controller: Annotated[
        Literal["none", "gravity", "pd", "pd-gravity", "pid", "computed-torque"],
        Parameter(help="Controller that moves the joints, besides --tau."),
    ] = "none",
    to: Annotated[
        list[str] | None, words_argument("Goal of the controller: a position, as --q.")
    ] = None,
    reference: Annotated[
        str | None,
        table_argument("CSV file of a trajectory that the controller follows instead of --to."),
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
        Parameter(name=["--output", "-o"], help="CSV file to write, - for standard output."),
    ] = None,
    plot: Annotated[
        Path | None,
        Parameter(help="Picture to write, such as motion.png, in radians; needs matplotlib."),
    ] = None,
    json: Json = False,
    degrees: Degrees = False,
    reading: Reading = AS_IT_IS,
) -> int:
    """Simulate a robot: a summary on the screen, the whole motion with -o, --plot or --json.

    Gains: kp in N m/rad and kd in N m s/rad for gravity, pd and pid, which need them; 1/s^2 and 1/s
    for computed-torque (100 and 20 if left out). pd-gravity and pid add g(q). JSON has robot,
    coordinates, joints, units, t, q, dq, ddq, tau (each a list over time), method, controller,
    violations, stopped.

    For example:

    ```
    kinetree simulate double_pendulum --q 1.5 0 --duration 2 -o motion.csv
    kinetree simulate panda --controller computed-torque --to 0 -45 0 -90 0 90 0 --degrees
    kinetree simulate cart_pole --q hinge=0.1 --duration 0.5 --plot motion.png
    ```
    """
    from kinetree.simulate.core.limits import SimulationError

    found = find_robot(robot, reading)
    _check_files(output, plot)
    model, ended = found.model, ""
    q0, dq0 = vector(model, "q", q, degrees), vector(model, "dq", dq, degrees)
    acting = _forces(found, tau, forces)
    control = Control(controller, to, reference, kp, kd, ki).make(found, degrees)
    try:
        with waiting(compiling("and simulating the motion", model)):
            motion = found.simulate(
                q0, dq0, tau=acting, controller=control, duration=duration, dt=dt, method=method,
                limits=limits,
            )  # fmt: skip
    except SimulationError as error:
        if error.trajectory is None or limits != "stop":
            raise
        motion, ended = error.trajectory, str(error)
    if plot is not None:
        motion.plot(found, path=plot)
    Result(found, motion, degrees, ended).write(output, json)
    return 1 if ended else 0


def _check_files(output: Path | None, plot: Path | None) -> None:
    """Raise an error before the simulation if its results cannot be written."""
    if output is not None and output != STDOUT:
        check_output(output)
    if plot is not None:
        check_output(plot)
        if plot.suffix.lower() not in PICTURES:
            raise InputError(
                f"--plot is {plot}; expected a name ending with {', '.join(PICTURES)}."
            )
        need("matplotlib", "plot", "a plot")


def _forces(robot: Robot, tau: list[str] | None, forces: str | None) -> "Array | Signal | None":
    """The joint forces of --tau (constant) or of the file --forces."""
    from kinetree.cli.trajectories import read_forces
    from kinetree.simulate.core.signals import signal

    if forces is None:
        return vector(robot.model, "tau", tau, False) if tau else None
    if tau:
        raise InputError("--tau and --forces both give joint forces; expected one of them.")
    return signal(*read_forces(forces, robot), kind="linear")


@dataclass(frozen=True)
class Control:
    """A controller as typed: its name, its goal, its gains."""

    name: str
    to: list[str] | None
    reference: str | None
    kp: float | None
    kd: float | None
    ki: float | None

    def make(self, robot: Robot, degrees: bool) -> "Controller | None":
        """Make the controller; None for `none`."""
        from kinetree import controllers

        if self.name == "none":
            self._refuse("to", "reference", "kp", "kd", "ki")
            return None
        if self.name == "gravity":
            self._refuse("to", "reference", "kp", "ki")
            return controllers.GravityCompensation(kd=self.kd or 0)
        goal = self._goal(robot, degrees)
        if self.name == "computed-torque":
            self._refuse("ki")
            kp = 100.0 if self.kp is None else self.kp
            return controllers.ComputedTorque(goal, kp, 20.0 if self.kd is None else self.kd)
        missing = [x for x in GAINS[self.name] if getattr(self, x) is None]
        if missing:
            raise InputError(
                f"--controller {self.name} needs --{' and --'.join(missing)}: gains in N m/rad and "
                "N m s/rad depend on the robot. computed-torque has default gains."
            )
        kp, kd, ki = (x or 0.0 for x in (self.kp, self.kd, self.ki))
        if self.name == "pid":
            return controllers.PID(goal, kp, kd, ki, gravity=True)
        self._refuse("ki")
        return controllers.PD(goal, kp, kd, gravity=self.name == "pd-gravity")

    def _goal(self, robot: Robot, degrees: bool) -> "Array | Trajectory":
        from kinetree.cli.trajectories import read_trajectory

        if self.reference is not None and self.to:
            raise InputError("--to and --reference both give the goal; expected one of them.")
        if self.reference is not None:
            return read_trajectory(self.reference, robot, degrees)
        return vector(robot.model, "q", self.to, degrees)

    def _refuse(self, *options: str) -> None:
        given = [f"--{x}" for x in options if getattr(self, x) is not None]
        if given:
            raise InputError(
                f"--controller {self.name} does not use {', '.join(given)}; leave it out."
            )


@dataclass(frozen=True, eq=False)
class Result:
    """A motion as it is written and shown; `ended` is the message if it stopped at a limit."""

    robot: Robot
    motion: "Trajectory"
    degrees: bool
    ended: str

    def write(self, output: Path | None, json: bool) -> None:
        """Write the motion to the output, a summary or JSON to stdout, messages to stderr."""
        from kinetree.cli.trajectories import scaled, write_trajectory

        shown = scaled(self.motion, self.robot, self.degrees, out=True)
        if json:
            print_json(self.document(shown))
        elif output == STDOUT:
            write_trajectory(shown, None)
        else:
            self.print_summary(shown)
        if output is not None and output != STDOUT:
            write_trajectory(shown, output)
        noted = self.violations()
        for violation in noted[:MOST_VIOLATIONS]:
            notify(f"at {violation}")
        if len(noted) > MOST_VIOLATIONS:
            notify(f"and {len(noted) - MOST_VIOLATIONS} more violations (--json has all)")
        if self.ended:
            notify(self.ended)

    def violations(self) -> "list[Violation]":
        """The violations that the simulation recorded, angles in the user's unit."""
        noted: tuple[Violation, ...] = self.motion.meta.get("violations", ())
        if not self.degrees:
            return list(noted)
        return [
            replace(v, by=float(np.degrees(v.by)), unit=v.unit.replace("rad", "deg"))
            if v.by is not None and v.unit.startswith("rad")
            else v
            for v in noted
        ]

    def document(self, shown: "Trajectory") -> dict[str, Any]:
        """The motion as JSON."""
        letters, model = ("q", "dq", "ddq", "tau"), self.robot.model
        return {
            "robot": self.robot.name,
            "coordinates": list(model.coordinate_names),
            "joints": list(model.dof_names),
            "units": {x: units(model, x, self.degrees) for x in letters},
            "t": shown.t,
            **{x: getattr(shown, x) for x in letters},
            "method": shown.meta.get("method"),
            "controller": shown.meta.get("controller") or None,
            "violations": [
                {"t": v.t, "joint": v.joint, "quantity": v.quantity, "by": v.by, "unit": v.unit}
                for v in self.violations()
            ],
            "stopped": self.ended or None,
        }

    def print_summary(self, shown: "Trajectory") -> None:
        """Print start, end and range of every coordinate, peaks of forces, and energies."""
        model = self.robot.model
        unit_q = ["" if x == "1" else x for x in units(model, "q", self.degrees)]
        dust = ROUNDING * float(np.abs(shown.q).max(initial=1))
        rows: list[list[str]] = []
        for k, x in enumerate(np.where(np.abs(shown.q) > dust, shown.q, 0).T):
            numbers = (number(y, 6) for y in (x[0], x[-1], x.min(), x.max()))
            rows.append([names(model, "q")[k], *numbers, unit_q[k]])
        screen = console()
        about = f"{shown.duration:g} s, {counted(len(shown), 'sample')}, {shown.meta['method']}"
        heads = ["q", "start", "end", "lowest", "highest", "unit"]
        screen.print(screen_table(f"{self.robot.name}: {about}", heads, rows))
        if shown.tau is not None and np.any(shown.tau):
            entries = zip(model.dof_names, shown.tau.T, units(model, "tau"), strict=True)
            forces = [[name, *_peak(x), unit] for name, x, unit in entries]
            screen.print()
            screen.print(screen_table("", ["tau", "peak", "rms", "unit"], forces))
        screen.print()
        screen.print(f"energy: {self._energies(shown)}")

    def _energies(self, shown: "Trajectory") -> str:
        # of the shown numbers, converted back to SI
        model = self.robot.model
        q, dq = (getattr(shown, x)[[0, -1]] * factors(model, x, self.degrees) for x in ("q", "dq"))
        start, end = self.robot.kinetic_energy(q, dq) + self.robot.potential_energy(q)
        return f"{number(start, 6)} J at the start, {number(end, 6)} J at the end"


def _peak(x: Array) -> tuple[str, str]:
    """The value of largest size, and the root mean square."""
    return number(x[np.argmax(np.abs(x))], 6), number(float(np.sqrt((x * x).mean())), 6)
