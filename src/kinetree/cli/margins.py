"""The verdict on a trajectory: how near every joint comes to each of its limits, and when."""

from dataclasses import asdict, dataclass, replace
from math import degrees as in_degrees
from math import isfinite
from typing import Any

import numpy as np
from rich.text import Text

from kinetree.base.arrays import Array
from kinetree.cli.show import console, number, table
from kinetree.motion.bounds import bounds_of, with_limits
from kinetree.motion.limit_report import MOST_VIOLATIONS, LimitReport, Violation
from kinetree.motion.limits import with_peaks
from kinetree.motion.loads import loads_of
from kinetree.robot import Robot
from kinetree.trajectory import Trajectory

ROUNDING = 1e-9  # of a limit: what is smaller is shown as 0
UNITS = {"position": ("rad", "m"), "speed": ("rad/s", "m/s"), "torque": ("N m", "N")}
ANGLES = ("lowest", "highest", "lower", "upper", "peak_speed", "speed_limit")


@dataclass(frozen=True)
class Margin:
    """The worst of one joint and quantity: its value and time, and what is left to the limit.

    margin is negative where the limit is exceeded.
    """

    joint: str
    quantity: str
    unit: str
    value: float
    t: float
    lower: float
    upper: float
    margin: float
    ok: bool


def margins(
    robot: Robot, motion: Trajectory, report: LimitReport, degrees: bool, **limits: Any
) -> list[Margin]:
    """A row for every limit that the robot has."""
    bounds = with_limits(bounds_of(robot.model), **limits)
    loads = loads_of(robot, motion, bounds)
    found = []
    for k, name in enumerate(bounds.names):
        sliding = bool(bounds.sliding[k])
        ranges = {
            "position": (loads.q, bounds.lower[k], bounds.upper[k]),
            "speed": (loads.dq, -bounds.velocity[k], bounds.velocity[k]),
            "torque": (loads.tau, -bounds.effort[k], bounds.effort[k]),
        }
        for quantity, (x, low, high) in ranges.items():
            if (quantity == "position" and bounds.coords[k] < 0) or not (
                isfinite(low) or isfinite(high)
            ):
                continue
            times, values = with_peaks(loads, x[:, k])
            scale = _scale(quantity, sliding, degrees)
            unit = _unit(UNITS[quantity][sliding], degrees)
            numbers = _worst(times, values, float(low), float(high), scale)
            found.append(
                Margin(name, quantity, unit, *numbers, ok=not report.violated(name, quantity))
            )
    return found


def _worst(
    times: Array, values: Array, low: float, high: float, scale: float
) -> tuple[float, float, float, float, float]:
    """Value, time, limits and margin where the least is left."""
    left = np.minimum(high - values, values - low)
    dust = ROUNDING * max(abs(x) for x in (low, high) if isfinite(x))
    k, first = int(np.argmin(left)), int(np.argmax(left <= left.min() + dust))
    value, lower, upper, margin = (float(x) * scale for x in (values[k], low, high, left[k]))
    return value, float(times[first]), lower, upper, margin  # the first of equally bad times


def _scale(quantity: str, sliding: bool, degrees: bool) -> float:
    return in_degrees(1) if degrees and not sliding and quantity != "torque" else 1.0


def _unit(unit: str, degrees: bool) -> str:
    return unit.replace("rad", "deg") if degrees else unit


def sentence(violation: Violation, degrees: bool) -> str:
    """A violation in the user's units."""
    unit = violation.unit
    if not degrees or "rad" not in unit:
        return str(violation)
    value, limit = in_degrees(violation.value), in_degrees(violation.limit)
    text = str(replace(violation, value=value, limit=limit))
    return text.replace(f" {unit} at", f" {_unit(unit, True)} at")


def advice(report: LimitReport) -> list[str]:
    """What the report says besides the violations."""
    count = len(report.violations)
    said = min(count, MOST_VIOLATIONS) + (count > MOST_VIOLATIONS)
    return list(report.verdict())[said:]


def print_verdict(report: LimitReport, rows: list[Margin], degrees: bool) -> None:
    """The table of margins, what is wrong, and what helps."""
    screen = console()
    screen.print(report.headline(), style="bold green" if report.ok else "bold red", soft_wrap=True)
    if not rows:
        screen.print("The robot has no limits; --effort and --velocity give some.")
        return
    screen.print()
    screen.print(margin_table(rows))
    said = [sentence(x, degrees) for x in report.violations[:MOST_VIOLATIONS]]
    if len(report.violations) > MOST_VIOLATIONS:
        said.append(f"... and {len(report.violations) - MOST_VIOLATIONS} more (--json has all)")
    screen.print()
    for line in [*said, *advice(report)]:
        screen.print(f"- {line}", soft_wrap=True)


def margin_table(rows: list[Margin]) -> Any:
    """A row for every limit, the joint's name once; of two limits the one that is nearer."""
    cells, last = [], ""
    for x in rows:
        value = x.value if abs(x.value) > ROUNDING * min(abs(x.upper), abs(x.lower)) else 0.0
        limit = x.upper if x.upper - value <= value - x.lower else x.lower
        cells.append(
            [
                "" if x.joint == last else x.joint, x.quantity, number(value, 5),
                number(limit, 5), number(x.margin, 4), x.unit, f"{x.t:.4g}",
                "ok" if x.ok else Text("OVER", style="bold red"),
            ]
        )  # fmt: skip
        last = x.joint
    heads = ["joint", "", "worst", "limit", "margin", "unit", "at s", "verdict"]
    return table("", heads, cells, left=(0, 1, 5, 7))


def document(report: LimitReport, rows: list[Margin], degrees: bool) -> dict[str, Any]:
    """The verdict as JSON shows it; limits that are not there are null."""
    return {
        "robot": report.robot,
        "trajectory": report.trajectory,
        "ok": report.ok,
        "duration": report.duration,
        "samples": report.samples,
        "slower": report.slower,
        "margins": [asdict(x) for x in rows],
        "violations": [
            asdict(v)
            | {"unit": _unit(v.unit, degrees)}
            | {
                x: getattr(v, x) * _scale(v.quantity, v.sliding, degrees)
                for x in ("value", "limit")
            }
            for v in report.violations
        ],
        "joints": [
            asdict(x)
            | {
                y: getattr(x, y) * (1 if x.sliding or not degrees else in_degrees(1))
                for y in ANGLES
            }
            for x in report.joints
        ],
        "advice": advice(report),
    }
