"""Simulation as the command line runs it: what acts, the run, and where the motion goes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.extras import need
from kinetree.base.tables import counted
from kinetree.cli.angles import factors, names, units
from kinetree.cli.control import Control
from kinetree.cli.show import console, number, print_json, say, table
from kinetree.cli.trajectories import read_forces, scaled, write_trajectory
from kinetree.cli.vectors import vector
from kinetree.cli.waiting import compiling, waiting
from kinetree.cli.words import STREAM
from kinetree.cli.writing import check_output
from kinetree.errors import InputError
from kinetree.robot import Robot
from kinetree.simulate.core.limits import SimulationError, Violation
from kinetree.simulate.core.signals import signal
from kinetree.trajectory import Trajectory

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
ROUNDING = 1e-12  # of the largest coordinate: what is smaller is shown as 0
STDOUT = Path(STREAM)
MOST_VIOLATIONS = 8  # that are told of; the rest is counted


def run_simulation(
    robot: Robot,
    q: list[str] | None,
    dq: list[str] | None,
    control: Control,
    *,
    tau: list[str] | None,
    forces: str | None,
    output: Path | None,
    plot: Path | None,
    json: bool,
    degrees: bool,
    **options: Any,
) -> int:
    """Simulate, write what is asked for, and say what happened; the exit code."""
    _check_files(output, plot)
    model = robot.model
    start = vector(model, "q", q, degrees), vector(model, "dq", dq, degrees)
    acting = _forces(robot, tau, forces)
    ended = ""
    controller = control.make(robot, degrees)
    try:
        with waiting(compiling("and simulating the motion", model)):
            motion = robot.simulate(*start, tau=acting, controller=controller, **options)
    except SimulationError as error:
        if error.trajectory is None or options["limits"] != "stop":
            raise
        motion, ended = error.trajectory, str(error)
    _hand_out(robot, motion, output, plot, json, degrees, ended)
    return 1 if ended else 0


def _check_files(output: Path | None, plot: Path | None) -> None:
    """Find out before the work what cannot be written after it."""
    if output is not None and output != STDOUT:
        check_output(output)
    if plot is not None:
        check_output(plot)
        if plot.suffix.lower() not in PICTURES:
            raise InputError(
                f"--plot is {plot}; expected a name ending with {', '.join(PICTURES)}."
            )
        need("matplotlib", "plot", "a plot")


def _forces(robot: Robot, tau: list[str] | None, forces: str | None) -> Any:
    if forces is None:
        return vector(robot.model, "tau", tau, False) if tau else None
    if tau:
        raise InputError("--tau and --forces both give joint forces; expected one of them.")
    return signal(*read_forces(forces, robot), kind="linear")


def _hand_out(
    robot: Robot,
    motion: Trajectory,
    output: Path | None,
    plot: Path | None,
    json: bool,
    degrees: bool,
    ended: str,
) -> None:
    shown = scaled(motion, robot, degrees, out=True)
    if plot is not None:
        motion.plot(robot, path=plot)
    if json:
        print_json(document(robot, shown, degrees, ended))
    elif output == STDOUT:
        write_trajectory(shown, None)
    else:
        print_summary(robot, shown, degrees)
    if output is not None and output != STDOUT:
        write_trajectory(shown, output)
    noted = _violations(motion, degrees)
    for violation in noted[:MOST_VIOLATIONS]:
        say(f"at {violation}")
    if len(noted) > MOST_VIOLATIONS:
        say(f"and {len(noted) - MOST_VIOLATIONS} more violations (--json has all)")
    if ended:
        say(ended)


def _violations(motion: Trajectory, degrees: bool) -> list[Violation]:
    """What was noted, angles in the user's unit."""
    noted = motion.meta.get("violations", ())
    if not degrees:
        return list(noted)
    return [
        replace(v, by=float(np.degrees(v.by)), unit=v.unit.replace("rad", "deg"))
        if v.unit.startswith("rad")
        else v
        for v in noted
    ]


def document(robot: Robot, shown: Trajectory, degrees: bool, ended: str) -> dict[str, Any]:
    """The motion as JSON shows it."""
    letters = ("q", "dq", "ddq", "tau")
    return {
        "robot": robot.name,
        "coordinates": list(robot.model.coordinate_names),
        "joints": list(robot.model.dof_names),
        "units": {x: units(robot.model, x, degrees) for x in letters},
        "t": shown.t,
        **{x: getattr(shown, x) for x in letters},
        "method": shown.meta.get("method"),
        "controller": shown.meta.get("controller") or None,
        "violations": [
            {"t": v.t, "joint": v.joint, "quantity": v.quantity, "by": v.by, "unit": v.unit}
            for v in _violations(shown, degrees)
        ],
        "stopped": ended or None,
    }


def print_summary(robot: Robot, shown: Trajectory, degrees: bool) -> None:
    """Where every coordinate began, ended and went, and what forces it took."""
    model = robot.model
    unit_q = ["" if x == "1" else x for x in units(model, "q", degrees)]
    dust = ROUNDING * float(np.abs(shown.q).max(initial=1))
    rows = []
    for k, x in enumerate(np.where(np.abs(shown.q) > dust, shown.q, 0).T):
        numbers = map(number, (x[0], x[-1], x.min(), x.max()))
        rows.append([names(model, "q")[k], *numbers, unit_q[k]])
    screen = console()
    about = f"{shown.duration:g} s, {counted(len(shown), 'sample')}, {shown.meta['method']}"
    screen.print(
        table(f"{robot.name}: {about}", ["q", "start", "end", "lowest", "highest", "unit"], rows)
    )
    if shown.tau is not None and np.any(shown.tau):
        entries = zip(model.dof_names, shown.tau.T, units(model, "tau"), strict=True)
        forces = [[name, *_peak(x), unit] for name, x, unit in entries]
        screen.print()
        screen.print(table("", ["tau", "peak", "rms", "unit"], forces))
    screen.print()
    screen.print(f"energy: {_energies(robot, shown, degrees)}")


def _peak(x: Array) -> tuple[str, str]:
    return number(x[np.argmax(np.abs(x))]), number(float(np.sqrt((x * x).mean())))


def _energies(robot: Robot, shown: Trajectory, degrees: bool) -> str:
    q, dq = (getattr(shown, x)[[0, -1]] * factors(robot.model, x, degrees) for x in ("q", "dq"))
    start, end = robot.kinetic_energy(q, dq) + robot.potential_energy(q)
    return f"{number(start)} J at the start, {number(end)} J at the end"
