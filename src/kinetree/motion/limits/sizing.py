"""The size of drives: what a motion asks of every joint, and which motors give it."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.core.options import typed
from kinetree.core.text import without_rounding
from kinetree.errors import ParseError
from kinetree.model import HasModel, Model
from kinetree.model.bounds import bounds_of
from kinetree.motion.gear_losses import forces_in_motion
from kinetree.motion.inputs import model_for
from kinetree.motion.limits.check import check_limits
from kinetree.motion.limits.motors import Motor, MotorLoad, checked_motor, motor_loads
from kinetree.motion.limits.report import LimitReport
from kinetree.motion.record import FilePath, Record
from kinetree.present.tables import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (
    *("peak speed", "speed used", "peak torque", "RMS torque", "torque used"),
    *("peak power", "mean power", "drawn energy"),
)
LACKS = ("torque", "heating", "speed")  # of a motor whose share of these is above 1, in this order
CURVE = 201  # speeds at which the limit of a drive is drawn


@dataclass(frozen=True, eq=False)
class Sizing:
    """Torque, speed, power and energy of every joint in a motion, and motors for it.

    Args:
        report: loads of all joints.
        motors: each motor in the place of each joint's drive.
        model: the robot.
        motion: what it follows.
    """

    report: LimitReport
    motors: tuple[MotorLoad, ...]
    model: Model
    motion: Record

    @property
    def lacking(self) -> list[str]:
        """Joints for which no motor is enough; none if there are no motors to compare."""
        enough = {x.joint for x in self.motors if x.ok}
        return [x for x in dict.fromkeys(y.joint for y in self.motors) if x not in enough]

    def tables(self, degrees: bool = False) -> Iterator[Table]:
        """The loads of all joints, and the share of each motor that they use.

        Args:
            degrees: angles are in degrees.
        """
        title = f"{self.report.robot}, {self.report.trajectory!r}: {self.report.duration:.4g} s"
        yield self.report.table(SIZES, degrees=degrees, title=title)
        if not self.motors:
            return
        short = [
            [x for x, y in zip(LACKS, load.shares, strict=True) if y > 1] for load in self.motors
        ]
        joints = [x.joint for x in self.motors]
        shares = 100 * without_rounding(np.array([x.shares for x in self.motors]), 1.0)
        columns = [
            Column(
                "joint", [x if x != y else "" for x, y in zip(joints, ["", *joints], strict=False)]
            ),
            Column("motor", [x.motor.name for x in self.motors], left=True),
            *(
                Column(x, y, "%", 3)
                for x, y in zip(("peak", "RMS", "speed"), shares.T, strict=True)
            ),
            Column(
                "verdict",
                [f"NOT ENOUGH: {', '.join(x)}" if x else "enough" for x in short],
                left=True,
            ),
        ]
        yield Table.of("motors, share of each that is used", columns)

    def to_dict(self, degrees: bool = False) -> dict[str, Any]:
        """Everything as plain data.

        Args:
            degrees: angles are in degrees.
        """
        names = ("peak_share", "rms_share", "speed_share")
        report = self.report.to_dict(degrees)
        return {x: report[x] for x in ("robot", "trajectory", "duration", "joints")} | {
            "motors": [
                asdict(x) | {"ok": x.ok} | dict(zip(names, x.shares, strict=True))
                for x in self.motors
            ]
        }

    def plot(self, path: FilePath | None = None) -> "Figure":
        """Draw the operating points of every joint on its torque-speed plane, with the limits.

        Args:
            path: file to write; its ending chooses the format.
        """
        from kinetree.present.charts import Chart, Series, draw

        motion, bounds, charts = self.motion, bounds_of(self.model), list[Chart]()
        tau = forces_in_motion(self.model, motion.q, motion.dq, motion.ddq, motion.tau)
        for k, load in enumerate(self.report.joints):
            dq, limited = motion.dq[:, k], bool(np.isfinite(load.speed_limit))
            fastest = load.speed_limit if limited else float(np.abs(dq).max())
            ends = np.array([-fastest, fastest])
            lines = [Series("operating points", dq, tau[:, k], dots=True, colour=0)]
            if np.isfinite(load.torque_limit) and fastest > 0:
                rates = np.zeros((CURVE, len(self.report.joints)))
                rates[:, k] = np.linspace(-fastest, fastest, CURVE)
                for name, limit in zip(("least", "most"), bounds.forces(rates), strict=True):
                    lines.append(Series(f"{name} torque", rates[:, k], limit[:, k], colour=3))
            lines.append(Series("RMS torque", ends, np.full(2, load.rms_torque), colour=2))
            words = ("", "speed limit" if k == 0 else "")  # once is enough
            marks = tuple(zip(words, ends.tolist(), strict=True)) if limited else ()
            unit, speed = ("N", "speed, m/s") if load.sliding else ("N m", "speed, rad/s")
            charts.append(Chart(load.name, unit, tuple(lines), speed, marks=marks, together=True))
        title = f"{self.report.robot}, {self.report.trajectory}: torque over speed"
        return draw(title, charts, columns=min(3, len(charts)), path=path)

    def __str__(self) -> str:
        return "\n\n".join("\n".join(table.lines(100)) for table in self.tables())


@typed
def size(
    robot: Model | HasModel | None, trajectory: Record, motors: Iterable[Motor] = ()
) -> Sizing:
    """What a motion asks of the drive of every joint: torque, speed, power and energy.

    The root mean square of the torque heats a motor, and its peak must not exceed what the motor
    gives. With motors, each is compared with each joint.

    Args:
        robot: the robot, with its payload; None is the one that the trajectory was made with.
        trajectory: one motion; its joint forces, or those of inverse dynamics without.
        motors: candidates.
    """
    model, chosen = model_for(trajectory, robot, "a choice of motors"), tuple(motors)
    loads = motor_loads(model, trajectory, chosen) if chosen else ()
    return Sizing(check_limits(model, trajectory), loads, model, trajectory)


@typed
def read_motors(path: FilePath) -> list[Motor]:
    """Read motors of a CSV file: motor, ratio, peak, rated, speed, and perhaps inertia, efficiency.

    Args:
        path: of the file; a column that is left out, or an empty cell, has its default.
    """
    path, known = Path(path), {"motor" if x.name == "name" else x.name: x for x in fields(Motor)}
    expected = f"a CSV file with {', '.join(known)} in the first line"
    needed = [name for name, x in known.items() if x.default is MISSING]
    try:
        rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error):
        raise ParseError(f"{path.name} is not text; expected {expected}.") from None
    for name in rows[0] if rows else ("",):
        if name not in known:
            raise ParseError(f"{path.name} has the column {name!r}; expected {expected}.")
    motors: list[Motor] = []
    for k, row in enumerate(rows, 2):
        cells = {name: (cell or "").strip() for name, cell in row.items() if name is not None}
        name = cells.pop("motor", "")
        for missing in needed:
            if not (name if missing == "motor" else cells.get(missing)):
                raise ParseError(f"{path.name}, line {k}: {missing} is empty; expected {expected}.")
        try:
            numbers = {key: float(cell) for key, cell in cells.items() if cell}
        except ValueError as error:
            raise ParseError(f"{path.name}, line {k}: {error}; expected numbers.") from None
        motors.append(checked_motor(Motor(name, **numbers)))
    return motors
