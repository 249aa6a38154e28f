"""`kinetree size`: torques, speeds and power of every joint, and the motors that give them."""

import csv
from collections.abc import Sequence
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from rich.text import Text

from kinetree.cli.arguments import (
    USUAL,
    Options,
    RobotName,
    file_argument,
    number_argument,
    option,
    table_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.loads import SIZES, UNITS, load_documents, load_table
from kinetree.cli.messages import notify
from kinetree.cli.output import compiling, print_json, waiting
from kinetree.cli.simulate import check_files
from kinetree.cli.tables import console, screen_table
from kinetree.core.text import number, without_rounding
from kinetree.errors import InputError, ParseError
from kinetree.files.description.joints import REVOLUTE
from kinetree.model import WORLD, Model
from kinetree.model.bounds import Bounds, bounds_of
from kinetree.motion.limits.check import check_limits
from kinetree.present.charts import Chart, Series, draw

if TYPE_CHECKING:
    from kinetree.motion.limits.motors import Motor, MotorLoad
    from kinetree.motion.limits.report import LimitReport
    from kinetree.motion.trajectory import Trajectory

ON_AXIS = 1e-9  # m, distance from a joint's axis that is rounding
CURVE = 201  # speeds at which the limit of a drive is drawn


def size(
    robot: RobotName,
    motion: Annotated[
        str,
        table_argument(
            "Recording (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, optionally dq, ddq, tau; or - "
            "for standard input."
        ),
    ],
    /,
    *,
    payload: Annotated[
        float | None, number_argument("Point mass at the origin of --frame, kg.")
    ] = None,
    frame: Annotated[
        str | None,
        option(
            "--frame",
            "Frame that carries the payload: a link or frame of the robot; the tool if left out.",
            value="NAME",
        ),
    ] = None,
    motors: Annotated[
        Path | None,
        file_argument(
            "CSV file of motors with gears to compare: motor, ratio, peak, rated (N m), speed "
            "(rad/s), and if known inertia (kg m^2), efficiency; all at the motor's shaft."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        file_argument(
            "Torque-speed plane of every joint to write by matplotlib: size.png or size.svg."
        ),
    ] = None,
    options: Options = USUAL,
) -> int:
    """Show what a motion asks of every motor and gear: torque, speed, power, energy.

    The root mean square (RMS) of the torque heats a motor, its peak must not exceed what the motor
    gives; energy is that drawn, without what flows back. Forces are those of the file; without
    them, or with a payload, those of inverse dynamics. --plot draws the operating points on the
    torque-speed plane, with the limits of the robot. With --motors every joint is compared with
    every motor; the exit code is 1 if a joint has none that is enough.

    For example:

    ```
    kinetree plan ur5e --to 1 -1 1 0 0.5 0 -o plan.csv
    kinetree size ur5e plan.csv --payload 3
    kinetree size ur5e plan.csv --plot size.png
    ```

    JSON has robot, motion, duration, payload, frame (that carries it), joints, motors.
    """
    from kinetree.cli.rows import read_trajectory, request_of
    from kinetree.motion.limits.motors import motor_loads

    check_files(None, plot)
    candidates = None if motors is None else read_motors(motors)
    loaded, degrees = find_robot(robot, options.reading), options.degrees
    recorded = read_trajectory(motion, request_of(loaded.model, options.recorded, degrees=degrees))
    if payload is not None or frame is not None:
        if payload is None:
            raise InputError("--frame carries the payload; add --payload with its mass in kg.")
        loaded = loaded.with_payload(payload, frame=frame)
        if recorded.tau is not None:
            notify("the forces of the file are without the payload: computed anew from the motion.")
        recorded = recorded.replace(tau=None, model=loaded.model)
    with waiting(compiling("the dynamics", loaded.model)):
        report = check_limits(loaded, recorded)
        compared = None if candidates is None else motor_loads(loaded, recorded, candidates)
        if plot is not None:
            draw_plane(report, recorded, bounds_of(loaded.model), plot)
    if options.json:
        print_json(
            {
                "robot": report.robot,
                "motion": report.trajectory,
                "duration": report.duration,
                "payload": payload or 0.0,
                "frame": None if payload is None else loaded.model.frame_name(frame),
                "joints": load_documents(report, degrees),
                "motors": None if compared is None else [motor_document(x) for x in compared],
            }
        )
    else:
        carried = "" if payload is None else f", with {payload:g} kg"
        title = f"{report.robot}, {report.trajectory!r}: {report.duration:.4g} s{carried}"
        load_table(title, report, degrees, SIZES)
        if payload is not None:
            console().print(payload_place(loaded.model, loaded.model.frame_name(frame)))
        if compared is not None:
            print_motors(compared)
    return 0 if compared is None or not without_motor(compared) else 1


def payload_place(model: Model, frame: str) -> str:
    """A sentence on where the payload is, and on the joint whose axis goes through it."""
    place, text = model.frame(frame), f"The payload is a point mass at the origin of {frame!r}"
    joint = None if place.link == WORLD else model.joints[place.link]
    if joint is None or joint.type != REVOLUTE:
        return f"{text}."
    w, v = np.split(np.asarray(joint.A[:, 0], float), 2)
    if np.linalg.norm(v + np.cross(w, np.asarray(place.T_if, float)[:3, 3])) > ON_AXIS:
        return f"{text}."
    return (
        f"{text}, on the axis of joint {joint.name!r}, and asks no torque of that joint. To place "
        "it elsewhere, name a frame with --frame, such as a link that the file fixes there."
    )


def draw_plane(report: "LimitReport", motion: "Trajectory", bounds: Bounds, path: Path) -> None:
    """Draw the operating points of every joint on its torque-speed plane, with the limits."""
    from kinetree.motion.gear_losses import forces_in_motion

    assert motion.model is not None  # it was read with a robot
    tau = forces_in_motion(motion.model, motion.q, motion.dq, motion.ddq, motion.tau)
    charts: list[Chart] = []
    for k, load in enumerate(report.joints):
        dq, unit = motion.dq[:, k], UNITS["torque"][load.sliding]
        fastest = load.speed_limit if np.isfinite(load.speed_limit) else np.abs(dq).max()
        series = [Series("operating points", dq, tau[:, k], dots=True, colour=0)]
        if np.isfinite(load.torque_limit) and fastest > 0:
            rates = np.zeros((CURVE, len(report.joints)))
            rates[:, k] = np.linspace(-fastest, fastest, CURVE)
            least, most = (x[:, k] for x in bounds.forces(rates))
            series += [
                Series("most torque", rates[:, k], most, colour=3),
                Series("least torque", rates[:, k], least, colour=3),
            ]
        ends = np.array([-fastest, fastest])
        series.append(Series("RMS torque", ends, np.full(2, load.rms_torque), colour=2))
        speed = f"speed, {UNITS['speed'][load.sliding]}"
        words = ("", "speed limit" if k == 0 else "")  # once is enough
        marks = tuple(zip(words, ends.tolist(), strict=True))
        limited = np.isfinite(load.speed_limit)
        marks = marks if limited else ()
        charts.append(Chart(load.name, unit, tuple(series), speed, marks=marks, together=True))
    title = f"{report.robot}, {report.trajectory}: torque over speed"
    draw(title, charts, columns=min(3, len(charts)), path=path)


def shortage(load: "MotorLoad") -> str:
    """What a motor has too little of; its rated torque is what it gives without overheating."""
    words = ("torque", "heating", "speed")  # of the shares, in their order
    return ", ".join(word for word, share in zip(words, load.shares, strict=True) if share > 1)


def without_motor(compared: Sequence["MotorLoad"]) -> list[str]:
    """Joints for which no motor is enough."""
    return [x for x in dict.fromkeys(y.joint for y in compared)
            if not any(y.ok for y in compared if y.joint == x)]  # fmt: skip


def print_motors(compared: Sequence["MotorLoad"]) -> None:
    """Print how much of every motor each joint needs, and the joints that none is enough for."""
    heads = ["joint", "motor", "peak\n%", "RMS\n%", "speed\n%", "verdict"]
    rows = [
        [
            x.joint if k == 0 or compared[k - 1].joint != x.joint else "", x.motor.name,
            *(number(100 * without_rounding(np.asarray(y), 1.0), 3) for y in x.shares),
            "enough" if x.ok else Text(f"NOT ENOUGH: {shortage(x)}", "bold red"),
        ]
        for k, x in enumerate(compared)
    ]  # fmt: skip
    screen = console()
    screen.print()
    screen.print(screen_table("motors, share of each that is used", heads, rows, left=(0, 1, 5)))
    lacking = without_motor(compared)
    if lacking:
        screen.print()
        screen.print(f"No motor is enough for {', '.join(lacking)}.", style="bold red")


def motor_document(load: "MotorLoad") -> dict[str, Any]:
    """A motor in the place of a joint's drive, as JSON."""
    names = ("peak_share", "rms_share", "speed_share")
    return asdict(load) | {"ok": load.ok} | dict(zip(names, load.shares, strict=True))


def read_motors(path: Path) -> "list[Motor]":
    """Read the motors of a CSV file; a column that is left out has its default."""
    from kinetree.cli.rows import existing_file
    from kinetree.cli.states import typed_number
    from kinetree.motion.limits.motors import Motor, checked_motor

    known = {"motor" if x.name == "name" else x.name: x for x in fields(Motor)}
    expected = f"a CSV file with {', '.join(known)} in the first line"
    source = existing_file(str(path), expected)
    try:
        rows = list(csv.DictReader(source.read_text(encoding="utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error):
        raise ParseError(f"{source.name} is not text; expected {expected}.") from None
    heads = [] if not rows else [x for x in rows[0] if x is not None]
    lacking = [x for x, field in known.items() if field.default is MISSING and x not in heads]
    unknown = [x for x in heads if x not in known]
    if lacking or unknown or not rows:
        found = f"has no column {lacking[0]!r}" if lacking else "has no motor"
        found = f"has a column {unknown[0]!r}" if unknown else found
        raise ParseError(f"{source.name} {found}; expected {expected} and a motor in every other.")
    motors: list[Motor] = []
    for k, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ParseError(
                f"{source.name}, line {k}: expected {len(heads)} entries, as in the first line."
            )
        numbers = {x: typed_number(f"{source.name}, line {k}", x, row[x].strip())
                   for x in heads if x != "motor" and row[x].strip()}  # fmt: skip
        short = [
            x for x in known if x != "motor" and known[x].default is MISSING and x not in numbers
        ]
        if short:
            raise ParseError(f"{source.name}, line {k}: {short[0]} is empty; expected a number.")
        motors.append(checked_motor(Motor(row["motor"].strip(), **numbers)))
    return motors
