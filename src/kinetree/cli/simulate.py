"""`kinetree simulate`: a motion from a state, forces and a controller."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from rich.console import Group

from kinetree.cli.arguments import (
    NUMBERS,
    STREAM,
    USUAL,
    Force,
    Options,
    Position,
    Rate,
    Recorded,
    RobotName,
    file_argument,
    number_argument,
    option,
    table_argument,
    whole_argument,
    words_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.controls import read_controls
from kinetree.cli.messages import WARNING, notify
from kinetree.cli.output import (
    check_output,
    compiling,
    print_json,
    waiting,
)
from kinetree.cli.states import (
    closed_position,
    closed_start,
    document,
    factors,
    names,
    units,
    vector,
)
from kinetree.cli.tables import clear_rounding, column_table, console, unit_column
from kinetree.core.arrays import Array
from kinetree.core.text import counted, number, without_rounding
from kinetree.errors import InputError, need
from kinetree.model.units import control_factors, control_units
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.motion.trajectory import Trajectory
    from kinetree.simulate.controller import Controller
    from kinetree.simulate.inputs import Signal
    from kinetree.simulate.limits import Violation

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
ROUNDING = 1e-12  # of the largest coordinate: smaller numbers are shown as 0
STDOUT = Path(STREAM)
FORCE_ROUNDING = 1e-6  # of the largest contact force: the residual of the contact problem
MODES = ("open", "sticks", "slips")  # of a contact, by its number
MAX_VIOLATIONS = 8  # that are printed; the others are counted
# entries of the motion's `meta` that JSON has
CONTACTS = ("forces", "points", "gaps", "modes")  # by contact, after "contact_"
NOTED = ("constraint_forces", "closure", *(f"contact_{x}" for x in CONTACTS), "contact_residual")
CONTROLS = ("controls", "activation")  # entries by actuator, in the user's units
LETTERS = ("q", "dq", "ddq", "tau")  # quantities of a motion
DURATION = 1.0  # s of a motion for which none is given
SETTLING = 0.5  # s after the arrival of a planned reference
PLANNED, STEP, FILE = "planned", "step", "file"
REFERENCES = {
    PLANNED: "planned within the limits, {:.4g} s (--step: the goal at once)",
    STEP: "the goal at once",
    FILE: "the recording, {:.4g} s",
}
GAINS = {"pd": ("kp", "kd"), "pid": ("kp", "kd", "ki")}

MotionFile = Annotated[
    Path | None,
    Parameter(
        metavar="FILE", name=["--output", "-o"], help="CSV file to write, - for standard output."
    ),
]
Plot = Annotated[
    Path | None,
    file_argument(
        "Plots to write by matplotlib, in radians: motion.png, motion.svg or motion.pdf."
    ),
]


def simulate(
    robot: RobotName,
    /,
    *,
    q: Position = None,
    dq: Rate = None,
    duration: Annotated[
        float | None,
        number_argument(
            "Duration of the motion, s. If left out: 1; that of --reference; or until the planned "
            "motion to --to has arrived and settled, if that is longer."
        ),
    ] = None,
    method: Annotated[
        Literal[
            "rk4",
            "time_stepping",
            "semi_implicit_euler",
            "implicit",
            "implicitfast",
            "euler",
            "DOP853",
            "LSODA",
            "Radau",
            "BDF",
        ]
        | None,
        Parameter(
            help="Integrator: the first five take fixed steps, the others adapt their steps. If "
            "left out: rk4; time_stepping with contacts or dry friction."
        ),
    ] = None,
    dt: Annotated[
        float | None, number_argument("Length of fixed steps, s; 0.001 if left out.")
    ] = None,
    every: Annotated[
        int | None, whole_argument("Record every so many fixed steps; 1 if left out.")
    ] = None,
    record: Annotated[
        float | None,
        number_argument("Spacing of the results of methods that adapt, s; 0.01 if left out."),
    ] = None,
    tau: Force = None,
    forces: Annotated[
        str | None,
        table_argument(
            "Recording with t and tau:JOINT, or - for standard input; linear between the rows."
        ),
    ] = None,
    controls: Annotated[
        list[str] | None,
        words_argument(
            "Controls of the actuators of an MJCF file: all in order, or some as ACTUATOR=NUMBER, "
            "the others 0, also the goals of servos, which --degrees reads in degrees. Actuators "
            "act only where controls are given.",
            NUMBERS,
        ),
    ] = None,
    control_file: Annotated[
        str | None,
        table_argument(
            "CSV file with t and a column for each actuator, or - for standard input; a value is "
            "kept until the next row."
        ),
    ] = None,
    controller: Annotated[
        Literal["none", "gravity", "pd", "pd-gravity", "pid", "pid-gravity", "computed-torque"],
        Parameter(help="Controller that moves the joints, besides --tau."),
    ] = "none",
    to: Annotated[
        list[str] | None,
        words_argument(
            "Goal of the controller: a position, as --q; joints that are not named stay as in --q. "
            "It follows a motion to it that is planned within the limits, as by kinetree plan.",
            NUMBERS,
        ),
    ] = None,
    step: Annotated[
        bool, option("--step", "Give the controller the goal of --to at once, without a plan.")
    ] = False,
    reference: Annotated[
        str | None,
        table_argument("Recording of a motion that the controller follows instead of --to."),
    ] = None,
    kp: Annotated[float | None, number_argument("Gain on the position error.")] = None,
    kd: Annotated[float | None, number_argument("Gain on the rate error.")] = None,
    ki: Annotated[float | None, number_argument("Gain on the integral, with pid.")] = None,
    limits: Annotated[
        Literal["stop", "error", "record", "ignore"],
        Parameter(
            help="At a position, speed or force beyond a joint's limit: stop stops joints at the "
            "limits of their positions and reports other limits; a method without impacts ends the "
            "motion there; error ends it at any limit, with exit code 1; record goes on and "
            "reports it; ignore skips the check."
        ),
    ] = "stop",
    output: MotionFile = None,
    plot: Plot = None,
    options: Options = USUAL,
) -> int:
    """Simulate a robot: a summary on the screen, the whole motion with -o, --plot or --json.

    Gains: kp in N m/rad and kd in N m s/rad for gravity, pd and pid, which need them; 1/s^2 and 1/s
    for computed-torque (100 and 20 if left out). pd and pid leave gravity to the gains; pd-gravity
    and pid-gravity add g(q).

    For example:

    ```
    kinetree simulate double_pendulum --q 1.5 0 --duration 2 -o motion.csv
    kinetree simulate panda --controller computed-torque --to panda_joint1=0.3
    kinetree simulate cart_pole --q hinge=0.1 --duration 0.5 --plot motion.png
    kinetree simulate double_pendulum --q 1 0 --contacts tip:0.05 --ground z=-2
    ```

    JSON has robot, coordinates, joints, units, t, q, dq, ddq, tau (each a list over time),
    method, controller, reference (planned, step or file, and its duration), violations,
    stopped; with controls also controls and activation, by actuator; with --contacts also
    contact_forces and contact_points (x, y, z in the space frame, N and m), contact_gaps (m) and
    contact_modes (0 open, 1 stick, 2 slip), by contact, and contact_residual.
    """
    from kinetree.simulate.limits import SimulationError

    loaded = find_robot(robot, options.reading)
    degrees, recorded = options.degrees, options.recorded
    check_files(output, plot)
    model, ended = loaded.model, Ended()
    if forces is not None and reference is not None and recorded != USUAL.recorded:
        raise InputError(
            "--columns and --topic are for one recording, and --forces and --reference give two; "
            "expected names in these files that need no mapping."
        )
    acting = _forces(loaded, tau, forces, recorded)
    inputs = read_controls(model, controls, control_file, degrees)
    typed = Control(controller, to, reference, step, kp, kd, ki)
    typed.check()
    start = vector(model, "q", q, degrees), vector(model, "dq", dq, degrees)
    q0, dq0 = closed_start(loaded, start, (q, dq), degrees)
    goal = typed.goal(loaded, q0, degrees, recorded)
    control = typed.make(goal)
    duration = goal.needed_duration if duration is None else duration
    if goal.kind == PLANNED and goal.duration > duration:
        notify(
            f"the planned reference arrives after {goal.duration:.4g} s, and --duration ends the "
            f"motion at {duration:g} s.",
            WARNING,
        )
    motion = None
    try:
        with waiting(compiling("and simulating the motion", model)):
            motion = loaded.simulate(
                q0, dq0, tau=acting, controller=control, duration=duration, dt=dt, every=every,
                record=record, method=method, limits=limits, controls=inputs,
            )  # fmt: skip
    except SimulationError as error:
        if not error.violations:  # a number that is not finite
            raise
        first = error.violations[0].t  # the adaptive method looks at later times, too
        ended = Ended(tuple(x for x in error.violations if x.t == first), degrees, step)
        motion = error.trajectory
    if motion is None:
        if options.json:
            print_json(empty_document(loaded, degrees, ended) | goal.document())
        notify(str(ended), WARNING)
        return 1
    if plot is not None:
        motion.plot(plot, robot=loaded)
    Result(loaded, motion, degrees, ended, goal).write(output, options.json)
    return 1 if ended.at else 0


@dataclass(frozen=True)
class Ended:
    """Why a simulation ended before its time: the limits that were left; none if it did not."""

    at: "tuple[Violation, ...]" = ()
    degrees: bool = False
    step: bool = False

    def __str__(self) -> str:
        if not self.at:
            return ""
        left = [str(in_user_units(x, self.degrees)).partition(": ")[2] for x in self.at]
        t = self.at[0].t
        start = f"ended at t = {t:.6g} s" if t else "cannot begin"
        plan = "Without --step the way to the goal is planned within the limits; " * self.step
        return (
            f"the simulation {start}: {'; '.join(left)}. {plan}--limits record goes on and reports "
            "every violation, --limits ignore does not look."
        )


def in_user_units(violation: "Violation", degrees: bool) -> "Violation":
    """A violation with its angle in degrees if the user wants that."""
    if not degrees or violation.by is None or not violation.unit.startswith("rad"):
        return violation
    by, unit = float(np.degrees(violation.by)), violation.unit.replace("rad", "deg")
    return replace(violation, by=by, unit=unit)


def empty_document(robot: Robot, degrees: bool, ended: Ended) -> dict[str, Any]:
    """The JSON of a simulation that ended before its first step: no rows."""
    return document(robot.model, {}, degrees, *LETTERS) | {
        "t": [],
        **{x: [] for x in LETTERS},
        "violations": _documents([in_user_units(v, degrees) for v in ended.at]),
        "stopped": str(ended),
    }


def _documents(violations: "Sequence[Violation]") -> list[dict[str, Any]]:
    keys = ("t", "joint", "quantity", "by", "unit")
    return [{key: getattr(v, key) for key in keys} for v in violations]


def check_files(output: Path | None, plot: Path | None) -> None:
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


def _forces(
    robot: Robot, tau: list[str] | None, forces: str | None, recorded: Recorded
) -> "Array | Signal | None":
    """The joint forces of --tau (constant) or of the file --forces."""
    from kinetree.cli.rows import read_forces, request_of
    from kinetree.simulate.inputs import signal

    if forces is None:
        return vector(robot.model, "tau", tau, False) if tau else None
    if tau:
        raise InputError("--tau and --forces both give joint forces; expected one of them.")
    request = request_of(robot.model, recorded, required=("t", "tau"))
    return signal(*read_forces(forces, request), kind="linear")


@dataclass(frozen=True, eq=False)
class Goal:
    """The reference of a controller, its kind and how long it moves, s; no kind without one."""

    reference: "Array | Trajectory | None" = None
    kind: str | None = None
    duration: float = 0.0

    @property
    def needed_duration(self) -> float:
        """Duration of a simulation that shows the whole reference, s."""
        if self.kind == FILE:
            return self.duration
        moving = self.duration + SETTLING if self.kind == PLANNED else 0.0
        return max(DURATION, ceil(100 * moving) / 100)

    def document(self) -> dict[str, Any]:
        """The entry of JSON; null without a reference."""
        about = None if self.kind is None else {"kind": self.kind, "duration": self.duration}
        return {"reference": about}


@dataclass(frozen=True)
class Control:
    """A controller as typed: its name, its goal, its gains."""

    name: str
    to: list[str] | None
    reference: str | None
    step: bool
    kp: float | None
    kd: float | None
    ki: float | None

    def make(self, goal: Goal) -> "Controller | None":
        """Make the controller that follows a goal; None for `none`."""
        from kinetree import controllers

        if self.name == "none":
            return None
        if goal.reference is None:
            return controllers.GravityCompensation(kd=self.kd or 0)
        if self.name == "computed-torque":
            self._refuse("ki")
            gains = {"kp": self.kp, "kd": self.kd}
            chosen: dict[str, Any] = {name: x for name, x in gains.items() if x is not None}
            return controllers.ComputedTorque(goal.reference, **chosen)
        law, gravity = self.name.removesuffix("-gravity"), self.name.endswith("-gravity")
        missing = [x for x in GAINS[law] if getattr(self, x) is None]
        if missing:
            raise InputError(
                f"--controller {self.name} needs --{' and --'.join(missing)}: gains in N m/rad and "
                "N m s/rad depend on the robot. computed-torque has default gains."
            )
        kp, kd, ki = (x or 0.0 for x in (self.kp, self.kd, self.ki))
        if law == "pid":
            return controllers.PID(goal.reference, kp, kd, ki, gravity=gravity)
        self._refuse("ki")
        return controllers.PD(goal.reference, kp, kd, gravity=gravity)

    def check(self) -> None:
        """Raise InputError for options that do not belong together."""
        if not self.moves:
            unused = ("kp",) if self.name == "gravity" else ("kp", "kd")
            self._refuse("to", "reference", "step", *unused, "ki")
        elif self.reference is not None and (self.to or self.step):
            raise InputError(
                f"--{'to' if self.to else 'step'} and --reference both give the goal; expected "
                "one of them."
            )

    @property
    def moves(self) -> bool:
        """Whether the controller has a goal."""
        return self.name not in ("none", "gravity")

    def goal(self, robot: Robot, q0: Array, degrees: bool, recorded: Recorded) -> Goal:
        """The reference of a controller: of a file, a motion planned from q0 to q1, or a step."""
        from kinetree.cli.rows import read_trajectory, request_of
        from kinetree.motion.plan.within_limits import reference_to

        if self.reference is not None:
            request = request_of(robot.model, recorded, degrees=degrees)
            motion = read_trajectory(self.reference, request)
            return Goal(motion, FILE, motion.duration)
        if not self.moves:
            return Goal()
        q1 = self._target(robot, q0, degrees)
        try:
            motion = None if self.step else reference_to(robot, q0, q1)
        except InputError as error:
            raise InputError(f"{error} With --step the controller gets the goal at once.") from None
        return Goal(q1, STEP) if motion is None else Goal(motion, PLANNED, motion.duration)

    def _target(self, robot: Robot, q0: Array, degrees: bool) -> Array:
        """The position --to, (nq,), in which joints that are not named keep their value of q0."""
        q1 = vector(robot.model, "q", self.to, degrees, "--to", q0)
        return closed_position(robot, q1, self.to, degrees, "--to", q0)

    def _refuse(self, *options: str) -> None:
        given = [f"--{x}" for x in options if getattr(self, x) not in (None, False)]
        if given:
            raise InputError(
                f"--controller {self.name} does not use {', '.join(given)}; leave it out."
            )


@dataclass(frozen=True, eq=False)
class Result:
    """A motion as it is written and shown, and why it ended early, if it did."""

    robot: Robot
    motion: "Trajectory"
    degrees: bool
    ended: Ended
    goal: Goal

    def write(self, output: Path | None, json: bool) -> None:
        """Write the motion to the output, a summary or JSON to stdout, messages to stderr."""
        from kinetree.cli.rows import in_users_units, write_trajectory

        shown = in_users_units(self.motion, self.robot, self.degrees)
        if json:
            print_json(self.document(shown))
        elif output == STDOUT:
            write_trajectory(shown, None, self.degrees)
        else:
            self.print_summary(shown)
        if output is not None and output != STDOUT:
            write_trajectory(shown, output, self.degrees)
        for stuck in self.motion.meta.get("stuck", ()):
            notify(str(stuck), WARNING)
        noted = [] if self.ended.at else self.violations()
        for violation in noted[:MAX_VIOLATIONS]:
            notify(f"at {violation}", WARNING)
        if len(noted) > MAX_VIOLATIONS:
            more = len(noted) - MAX_VIOLATIONS
            notify(f"and {more} more violations (--json has all)", WARNING)
        if self.ended.at:
            notify(str(self.ended), WARNING)

    def violations(self) -> "list[Violation]":
        """The violations that the simulation recorded, angles in the user's unit."""
        noted: tuple[Violation, ...] = self.ended.at or self.motion.meta.get("violations", ())
        return [in_user_units(v, self.degrees) for v in noted]

    def document(self, shown: "Trajectory") -> dict[str, Any]:
        """The motion as JSON."""
        about = document(self.robot.model, {}, self.degrees, *LETTERS)
        return {
            **about,
            "units": about["units"] | self._control_units(),
            "t": shown.t,
            **{x: getattr(shown, x) for x in LETTERS},
            "method": shown.meta.get("method"),
            "controller": shown.meta.get("controller") or None,
            **self.goal.document(),
            **{key: shown.meta[key] for key in NOTED if key in shown.meta},
            **self._controls(),
            "violations": _documents(self.violations()),
            "stuck": [asdict(joint) for joint in self.motion.meta.get("stuck", ())],
            "stopped": str(self.ended) or None,
        }

    def _controls(self) -> dict[str, dict[str, Array]]:
        """Controls and activations over time, by actuator, in the user's units."""
        model = self.robot.model
        scale = dict(zip(model.actuator_names, control_factors(model, self.degrees), strict=True))
        return {
            key: {name: x / scale[name] for name, x in self.motion.meta[key].items()}
            for key in CONTROLS
            if key in self.motion.meta
        }

    def _control_units(self) -> dict[str, dict[str, str]]:
        """Units of controls and activations, by actuator; "" where the model knows none."""
        model = self.robot.model
        units_of = {x.name: control_units(model, x, self.degrees) for x in model.actuators}
        return {
            key: {name: units_of[name][k] for name in self.motion.meta[key]}
            for k, key in enumerate(CONTROLS)
            if key in self.motion.meta
        }

    def print_summary(self, shown: "Trajectory") -> None:
        """Print start, end and range of every coordinate, peaks of forces, and energies."""
        model, screen = self.robot.model, console()
        about = f"{shown.duration:g} s, {counted(len(shown), 'sample')}, {shown.meta['method']}"
        dust = ROUNDING * float(np.abs(shown.q).max(initial=1))
        moved = np.where((np.abs(shown.q) > dust) | (shown.q[0] != 0), shown.q, 0).T
        columns = [(x[0], x[-1], x.min(), x.max()) for x in moved]
        heads = ("start", "end", "lowest", "highest")
        title = f"{self.robot.name}: {about}"
        screen.print(_table(title, "q", heads, names(model, "q"), columns, self._units("q")))
        if self.goal.kind is not None:
            screen.print()
            screen.print(f"reference: {REFERENCES[self.goal.kind].format(self.goal.duration)}")
        if shown.tau is not None and np.any(shown.tau):
            tau = without_rounding(shown.tau)
            peaks = [_peak(x) for x in tau.T]
            table = _table(
                "joint forces", "tau", ("peak", "rms"), model.dof_names, peaks, self._units("tau")
            )
            screen.print()
            screen.print(table)
        if "contact_forces" in shown.meta:
            screen.print()
            screen.print(self._contacts(shown.meta))
        screen.print()
        screen.print(f"energy: {self._energies(shown)}")

    def _contacts(self, meta: Mapping[str, Any]) -> Group:
        """Forces of the ground at the end and their peaks, and how the contacts end."""
        forces = meta["contact_forces"]
        rows = [(*x[-1], np.linalg.norm(x, axis=-1).max()) for x in forces.values()]
        size = max(float(np.abs(rows).max()), 1.0)
        table = clear_rounding(np.array(rows), FORCE_ROUNDING * size)
        heads = ("x", "y", "z", "peak")
        columns = [("contact", list(forces))]
        for head, numbers in zip(heads, table.T, strict=True):
            columns.append(unit_column(head, [number(x, 6) for x in numbers], ["N"] * len(rows)))
        columns.append(("", [MODES[int(x[-1])] for x in meta["contact_modes"].values()]))
        return column_table("forces of the ground at the end", columns)

    def _units(self, quantity: str) -> list[str]:
        return units(self.robot.model, quantity, self.degrees)

    def _energies(self, shown: "Trajectory") -> str:
        # of the shown numbers, converted back to SI
        model, robot = self.robot.model, self.robot
        q, dq = (getattr(shown, x)[[0, -1]] * factors(model, x, self.degrees) for x in ("q", "dq"))
        start, end = robot.kinetic_energy(q, dq) + robot.potential_energy(q)
        return f"{number(start, 6)} J at the start, {number(end, 6)} J at the end"


def _peak(x: Array) -> tuple[float, float]:
    """The value of largest size, and the root mean square."""
    return float(x[np.argmax(np.abs(x))]), float(np.sqrt((x * x).mean()))


def _table(
    title: str,
    quantity: str,
    heads: Sequence[str],
    rows: Sequence[str],
    values: Sequence[Sequence[float]],
    units: Sequence[str],
) -> Group:
    """Numbers of every joint; the unit is in the headings, or beside the numbers if it differs."""
    columns = [(quantity, list(rows))]
    for head, numbers in zip(heads, zip(*values, strict=True), strict=True):
        columns.append(unit_column(head, [number(x, 6) for x in numbers], units))
    return column_table(title, columns)
