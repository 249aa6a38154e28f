"""`kinetree simulate`: a motion from a state, forces and a controller."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kinetree.cli import options as opt
from kinetree.cli import recordings, robots, states, writer
from kinetree.cli.app import command
from kinetree.core.arrays import Array
from kinetree.core.text import counted, number, without_rounding
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.units import control_factors, control_units, goal_kind
from kinetree.motion.plan.within_limits import reference_to
from kinetree.present.tables import Column, Table
from kinetree.robot import Robot
from kinetree.simulate.options import LimitsChoice, MethodName

if TYPE_CHECKING:
    from kinetree.motion.trajectory import Trajectory
    from kinetree.simulate.controller import Controller
    from kinetree.simulate.inputs import Signal
    from kinetree.simulate.limits import Violation

FORCE_ROUNDING = 1e-6  # of the largest contact force: the residual of the contact problem
MODES = ("open", "sticks", "slips")  # of a contact, by its number
MAX_VIOLATIONS = 8  # that are printed; the others are counted
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
# gains of each law; pd and pid need theirs
GAINS = {"gravity": "kd", "pd": "kp kd", "pid": "kp kd ki", "computed-torque": "kp kd"}


@command("Simulate and check", also="sim run integrate")
def run(
    robot: opt.RobotName,
    /,
    *,
    q: opt.Position = None,
    dq: opt.Rate = None,
    duration: opt.Number = None,
    method: MethodName | None = None,
    dt: opt.Number = None,
    every: opt.WholeOrNone = None,
    record: opt.Number = None,
    tau: opt.Force = None,
    forces: opt.RecordingOrNone = None,
    controls: opt.Numbers = None,
    controller: Literal[
        "none", "gravity", "pd", "pd-gravity", "pid", "pid-gravity", "computed-torque"
    ] = "none",
    to: opt.Numbers = None,
    step: opt.Flag = False,
    reference: opt.RecordingOrNone = None,
    kp: opt.Number = None,
    kd: opt.Number = None,
    ki: opt.Number = None,
    limits: LimitsChoice = "stop",
    output: opt.MotionFile = None,
    plot: opt.Plot = None,
    options: opt.Options = opt.USUAL,
) -> int:
    """Simulate a robot: a summary on the screen, the whole motion with -o, --plot or --json.

    Gains: kp in N m/rad and kd in N m s/rad for gravity, pd and pid, which need them; 1/s^2 and 1/s
    for computed-torque (100 and 20 if left out). pd and pid leave gravity to the gains; pd-gravity
    and pid-gravity add g(q). --payload and --friction change the robot (`kinetree options`).

    For example:

    ```
    kinetree simulate double_pendulum --q 1.5 0 --duration 2 -o motion.csv
    kinetree simulate panda --controller computed-torque --to panda_joint1=0.3 --payload 2
    kinetree simulate cart_pole --q hinge=0.1 --duration 0.5 --plot motion.png
    kinetree simulate double_pendulum --q 1 0 --contacts tip:0.05 --ground z=-2
    ```

    JSON has robot, coordinates, joints, units, t, q, dq, ddq, tau (each a list over time),
    method, controller, reference (planned, step or file, and its duration), violations,
    stopped; with controls also controls and activation, by actuator; with --contacts also
    contact_forces and contact_points (x, y, z in the space frame, N and m), contact_gaps (m) and
    contact_modes (0 open, 1 stick, 2 slip), by contact, and contact_residual.

    Args:
        duration: Duration of the motion, s. If left out: 1; that of --reference; or until the
            planned motion to --to has arrived and settled, if that is longer.
        method: Integrator: the first six take fixed steps, the others adapt their steps. If left
            out: rk4; time_stepping with contacts, dry friction, or joints that reach their limits.
        dt: Length of fixed steps, s; 0.001 if left out.
        every: Record every so many fixed steps; 1 if left out.
        record: Spacing of the results of methods that adapt, s; 0.01 if left out.
        forces: Recording with t and tau:JOINT, or - for standard input; linear between the rows.
        controls: Controls of the actuators of an MJCF file: all in order, or some as
            ACTUATOR=NUMBER, the others 0, also the goals of servos, which --degrees reads in
            degrees. Actuators act only where controls are given.
        controller: Controller that moves the joints, besides --tau.
        to: Goal of the controller: a position, as --q; joints that are not named stay as in --q. It
            follows a motion to it that is planned within the limits, as by kinetree plan.
        step: Give the controller the goal of --to at once, without a plan.
        reference: Recording of a motion that the controller follows instead of --to.
        kp: Gain on the position error.
        kd: Gain on the rate error.
        ki: Gain on the integral, with pid.
        limits: At a position, speed or force beyond a joint's limit: stop stops joints at the
            limits of their positions and reports other limits; a method without impacts ends the
            motion there; error ends it at any limit, with exit code 1; record goes on and reports
            it; ignore skips the check.
    """
    from kinetree.simulate.limits import SimulationError

    writer.check_motion(output, plot)
    loaded, degrees = robots.find_robot(robot, options.reading), options.degrees
    acting = joint_forces(loaded, tau, forces, options)
    gains = {"kp": kp, "kd": kd, "ki": ki}
    check_controller(controller, gains | {"to": to, "reference": reference, "step": step or None})
    q0, dq0 = states.state(loaded, {"q": q, "dq": dq}, degrees).values()
    goal = Goal()
    if reference is not None:
        goal = Goal(recordings.read_motion(reference, loaded.model, options), FILE)
    elif controller not in ("none", "gravity"):
        goal = goal_of(loaded, q0, states.position(loaded, to, degrees, "--to", q0), step)
    if duration is None:
        settled = ceil(100 * (goal.duration + SETTLING)) / 100 if goal.kind == PLANNED else 0.0
        duration = goal.duration if goal.kind == FILE else max(DURATION, settled)
    elif goal.kind == PLANNED and goal.duration > duration:
        late = f"the planned reference arrives after {goal.duration:.4g} s, and --duration ends"
        writer.notify(f"{late} the motion at {duration:g} s.", writer.WARNING)
    stopped = None
    try:
        with writer.waiting(f"simulating {loaded.name}"):
            motion = loaded.simulate(
                q0, dq0, tau=acting, controller=make_controller(controller, goal, gains),
                duration=duration, dt=dt, every=every, record=record, method=method,
                limits=limits, controls=typed_controls(loaded.model, controls, degrees),
            )  # fmt: skip
        violations = motion.meta.get("violations", ())
    except SimulationError as error:
        if error.trajectory is None or not error.violations:  # no start, or not finite
            raise
        motion, stopped, violations = error.trajectory, str(error), error.violations
    result = Simulated(loaded, motion, options, tuple(violations), stopped, goal)
    if plot is not None:
        motion.plot(plot, robot=loaded)
    recordings.write_motion(motion, loaded.model, output, degrees)
    if options.json or output != writer.STDOUT:
        writer.give(options.json, result.to_dict, result.parts)
    for remark in result.remarks():
        writer.notify(remark, writer.WARNING)
    return 1 if stopped else 0


def joint_forces(
    robot: Robot, tau: list[str] | None, forces: str | None, options: opt.Options
) -> "Array | Signal | None":
    """The joint forces of --tau (constant) or of the file --forces."""
    from kinetree.simulate.inputs import signal

    if forces is None:
        return states.vector(robot.model, "tau", tau, False) if tau else None
    if tau:
        raise InputError("--tau and --forces both give joint forces; expected one of them.")
    request = recordings.request_of(robot.model, options.recorded, False, ("t", "tau"))
    table, _ = recordings.announced(forces, request)
    return signal(table.values["t"], table.values["tau"], kind="linear")


def typed_controls(model: Model, words: list[str] | None, degrees: bool) -> Array | None:
    """Controls in SI units; with --degrees the goals of servos on one joint are angles."""
    if not words:
        return None
    known = model.actuator_names
    if not known:
        raise InputError(
            f"--controls gives controls, but {model.name!r} has no actuators; expected an MJCF "
            "file with <actuator>, or joint forces with --tau."
        )
    typed = states.typed_vector("--controls", model.name, known, words)
    for x in model.actuators if degrees else ():
        if typed.get(x.name) and goal_kind(model, x) is None:
            raise InputError(
                f"--controls with --degrees: the control of servo {x.name!r} is a goal for a sum "
                "or multiple of joints, which need not be an angle. Leave out --degrees."
            )
    return np.array([typed.get(name, 0.0) for name in known]) * control_factors(model, degrees)


@dataclass(frozen=True, eq=False)
class Goal:
    """The reference of a controller, and its kind; no kind without one."""

    reference: "Array | Trajectory | None" = None
    kind: str | None = None

    @property
    def duration(self) -> float:
        """How long the reference moves, s."""
        return getattr(self.reference, "duration", 0.0)


def goal_of(robot: Robot, q0: Array, q1: Array, step: bool) -> Goal:
    """The motion from q0 to q1 that is planned within the limits, or a step."""
    try:
        motion = None if step else reference_to(robot, q0, q1)
    except InputError as error:
        raise InputError(f"{error} With --step the controller gets the goal at once.") from None
    return Goal(q1, STEP) if motion is None else Goal(motion, PLANNED)


def check_controller(name: str, given: dict[str, Any]) -> None:
    """Raise InputError for gains and goals that a controller does not use, or that it lacks."""
    gains = GAINS.get(name.removesuffix("-gravity"), "").split()
    goals = [] if name in ("none", "gravity") else ["to", "reference", "step"]
    unused = [f"--{x}" for x, value in given.items() if value is not None]
    unused = [x for x in unused if x[2:] not in (*gains, *goals)]
    if unused:
        raise InputError(f"--controller {name} does not use {', '.join(unused)}; leave it out.")
    if given["reference"] is not None and (given["to"] or given["step"]):
        other = "to" if given["to"] else "step"
        raise InputError(f"--{other} and --reference both give the goal; expected one of them.")
    missing = [x for x in gains if given[x] is None]
    if missing and name.startswith("p"):
        raise InputError(
            f"--controller {name} needs --{' and --'.join(missing)}: gains in N m/rad and "
            "N m s/rad depend on the robot. computed-torque has default gains."
        )


def make_controller(name: str, goal: Goal, gains: dict[str, float | None]) -> "Controller | None":
    """The controller that follows a goal; None for `none`."""
    from kinetree import controllers

    given: dict[str, Any] = {key: x for key, x in gains.items() if x is not None}
    if name == "none":
        return None
    if goal.reference is None:
        return controllers.GravityCompensation(**given)
    if name == "computed-torque":
        return controllers.ComputedTorque(goal.reference, **given)
    law = controllers.PID if name.startswith("pid") else controllers.PD
    return law(goal.reference, gravity=name.endswith("-gravity"), **given)


@dataclass(frozen=True, eq=False)
class Simulated:
    """A motion as it is shown; stopped: why it ended before its time."""

    robot: Robot
    motion: "Trajectory"
    options: opt.Options
    left: "tuple[Violation, ...]"
    stopped: str | None
    goal: Goal

    @property
    def violations(self) -> "list[Violation]":
        """The violations, angles in the user's unit."""
        found: list[Violation] = []
        for x in self.left:
            if self.options.degrees and x.by is not None and x.unit.startswith("rad"):
                x = replace(x, by=float(np.degrees(x.by)), unit=x.unit.replace("rad", "deg"))
            found.append(x)
        return found

    def remarks(self) -> list[str]:
        """What the user has to know."""
        stuck, noted = [str(x) for x in self.motion.meta.get("stuck", ())], self.violations
        if self.stopped:
            return [*stuck, self.stopped]
        more = f"and {len(noted) - MAX_VIOLATIONS} more violations (--json has all)"
        shown = [f"at {x}" for x in noted[:MAX_VIOLATIONS]]
        return [*stuck, *shown, *([more] if len(noted) > MAX_VIOLATIONS else [])]

    def to_dict(self) -> dict[str, Any]:
        """The motion as JSON."""
        model, degrees, meta = self.robot.model, self.options.degrees, self.motion.meta
        about = states.document(model, {}, degrees, *LETTERS)
        scale = dict(zip(model.actuator_names, control_factors(model, degrees), strict=True))
        controls: dict[str, Any] = {}
        for k, key in enumerate(CONTROLS):
            if key in meta:
                controls[key] = {name: x / scale[name] for name, x in meta[key].items()}
                units = {x.name: control_units(model, x, degrees)[k] for x in model.actuators}
                about["units"][key] = {name: units[name] for name in meta[key]}
        keys, kind = ("t", "joint", "quantity", "by", "unit"), self.goal.kind
        return (
            about
            | recordings.in_users_units(self.motion, model, degrees)
            | {
                "method": meta.get("method"),
                "controller": meta.get("controller") or None,
                "reference": None
                if kind is None
                else {"kind": kind, "duration": self.goal.duration},
                **{key: meta[key] for key in NOTED if key in meta},
                **controls,
                "violations": [{key: getattr(x, key) for key in keys} for x in self.violations],
                "stuck": [asdict(joint) for joint in meta.get("stuck", ())],
                "stopped": self.stopped,
            }
        )

    def parts(self) -> Iterator[writer.Part]:
        """Start, end and range of every coordinate, peaks of forces, and energies."""
        model, degrees, motion = self.robot.model, self.options.degrees, self.motion
        q, meta = without_rounding(motion.q), motion.meta
        ends = {"start": q[0], "end": q[-1], "lowest": q.min(axis=0), "highest": q.max(axis=0)}
        about = f"{motion.duration:g} s, {counted(len(motion), 'sample')}, {meta['method']}"
        yield states.table(model, f"{self.robot.name}: {about}", "q", ends, degrees)
        if self.goal.kind is not None:
            yield ""
            yield f"reference: {REFERENCES[self.goal.kind].format(self.goal.duration)}"
        if motion.tau is not None and np.any(motion.tau):
            tau = without_rounding(motion.tau)
            peak = np.take_along_axis(tau, np.abs(tau).argmax(axis=0)[None], axis=0)[0]
            sizes = {"peak": peak, "rms": np.sqrt((tau * tau).mean(axis=0))}
            yield ""
            yield states.table(model, "joint forces", "tau", sizes, degrees)
        if forces := meta.get("contact_forces"):
            rows = np.array([[*x[-1], np.linalg.norm(x, axis=-1).max()] for x in forces.values()])
            rows[np.abs(rows) <= FORCE_ROUNDING * max(np.abs(rows).max(), 1.0)] = 0
            columns = [
                Column(*x, "N", 6) for x in zip(("x", "y", "z", "peak"), rows.T, strict=True)
            ]
            modes = [MODES[int(x[-1])] for x in meta["contact_modes"].values()]
            columns = [Column("contact", forces), *columns, Column("", modes, left=True)]
            yield ""
            yield Table.of("forces of the ground at the end", columns)
        q, dq = motion.q[[0, -1]], motion.dq[[0, -1]]
        start, end = self.robot.kinetic_energy(q, dq) + self.robot.potential_energy(q)
        yield ""
        yield f"energy: {number(start, 6)} J at the start, {number(end, 6)} J at the end"
