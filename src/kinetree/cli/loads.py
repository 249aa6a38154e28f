"""Loads of the joints in a motion, as a table and as JSON, for several commands."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from math import degrees as in_degrees
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.cli.messages import wrapped
from kinetree.cli.tables import column_table, console, unit_column
from kinetree.core.text import number

if TYPE_CHECKING:
    from kinetree.motion.limits.report import JointLoad, LimitReport

UNITS = {"position": ("rad", "m"), "speed": ("rad/s", "m/s"), "torque": ("N m", "N")}
ANGLES = ("lowest", "highest", "lower", "upper", "peak_speed", "speed_limit")
ROUNDING = 1e-9  # of the largest number of a column: smaller ones are shown as 0
# heading of a column: the number of a joint's load, and its units (turning, sliding)
COLUMNS: dict[str, tuple[Callable[["JointLoad"], float], tuple[str, str]]] = {
    "lowest": (lambda x: x.lowest, UNITS["position"]),
    "highest": (lambda x: x.highest, UNITS["position"]),
    "peak speed": (lambda x: x.peak_speed, UNITS["speed"]),
    "speed used": (lambda x: 100 * x.speed_use, ("%", "%")),
    "peak torque": (lambda x: x.peak_torque, UNITS["torque"]),
    "RMS torque": (lambda x: x.rms_torque, UNITS["torque"]),
    "torque used": (lambda x: 100 * x.torque_use, ("%", "%")),
    "peak power": (lambda x: x.peak_power, ("W", "W")),
    "mean power": (
        lambda x: x.mean_power if abs(x.mean_power) > ROUNDING * abs(x.peak_power) else 0.0,
        ("W", "W"),
    ),
    "energy": (lambda x: x.drawn, ("J", "J")),
}
MOVING = ("lowest", "highest", "peak speed", "speed used", "peak torque", "torque used")
SIZES = tuple(x for x in COLUMNS if x not in ("lowest", "highest"))


def load_table(
    title: str, report: "LimitReport", degrees: bool, columns: Sequence[str] = MOVING
) -> None:
    """Print some of COLUMNS for every joint; limits that do not exist are left empty."""
    cells = [("joint", [x.name for x in report.joints])]
    for head in columns:
        value, pair = COLUMNS[head]
        units = [pair[x.sliding].replace("rad", "deg" if degrees else "rad") for x in report.joints]
        turned = np.array([np.degrees(1) if "deg" in unit else 1.0 for unit in units])
        values = np.array([value(x) for x in report.joints]) * turned
        values[np.abs(values) < ROUNDING * np.abs(values).max(initial=0)] = 0
        digits = 3 if head.endswith("used") else 5
        texts = [number(float(x), digits) for x in values]
        if head.endswith("used"):
            limit = f"{head.split()[0]}_limit"
            texts = [
                x if np.isfinite(getattr(load, limit)) else ""
                for x, load in zip(texts, report.joints, strict=True)
            ]
        cells.append(unit_column(head.replace(" ", "\n", 1), texts, units))
    console().print(column_table(title, cells))


def print_remarks(lines: Sequence[str]) -> None:
    """Print sentences, each after a dash."""
    screen = console()
    for line in lines:
        screen.print(wrapped(f"- {line}", screen.width, "  "), soft_wrap=True)


def load_documents(report: "LimitReport", degrees: bool) -> list[dict[str, Any]]:
    """The loads of every joint as JSON, angles in the user's unit."""
    return [
        asdict(x) | {y: getattr(x, y) * _scale(degrees and not x.sliding) for y in ANGLES}
        for x in report.joints
    ]


def violation_documents(report: "LimitReport", degrees: bool) -> list[dict[str, Any]]:
    """The violations of limits as JSON, angles in the user's unit."""
    documents: list[dict[str, Any]] = []
    for x in report.violations:
        turn = _scale(degrees and not x.sliding)
        scale = 1.0 if x.quantity == "torque" else turn
        unit = x.unit.replace("rad", "deg") if degrees else x.unit
        numbers = {"value": x.value * scale, "limit": x.limit * scale}
        rate = None if x.rate is None else x.rate * turn
        documents.append(asdict(x) | numbers | {"unit": unit, "rate": rate})
    return documents


def _scale(turned: bool) -> float:
    return in_degrees(1) if turned else 1.0
