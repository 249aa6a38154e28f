"""`kinetree check`: how near every joint of a trajectory comes to each of its limits, and when."""

from dataclasses import asdict, dataclass, replace
from math import degrees as in_degrees
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from kinetree.cli.arguments import (
    USUAL,
    ForceLimit,
    Options,
    RobotName,
    SpeedLimit,
    number_argument,
    table_argument,
)
from kinetree.cli.choices import find_robot
from kinetree.cli.messages import wrapped
from kinetree.cli.output import compiling, print_json, waiting
from kinetree.cli.states import factors
from kinetree.cli.tables import Blocks, Cell, console, fits, screen_table, styled
from kinetree.core.arrays import Array
from kinetree.core.tables import number
from kinetree.robot import Robot

if TYPE_CHECKING:
    from kinetree.motion.limits.report import LimitReport, Violation
    from kinetree.motion.trajectory import Trajectory

ROUNDING = 1e-12  # of a limit: smaller numbers are shown as 0
EQUAL = 1e-9  # of a limit: margins that differ by less are equal, and the first time counts
UNITS = {"position": ("rad", "m"), "speed": ("rad/s", "m/s"), "torque": ("N m", "N")}
ANGLES = ("lowest", "highest", "lower", "upper", "peak_speed", "speed_limit")


def check(
    robot: RobotName,
    trajectory: Annotated[
        str,
        table_argument(
            "Recording (CSV, Parquet, NPZ, ROS bag) with t, q:JOINT, optionally dq:JOINT, "
            "ddq:JOINT, tau:JOINT; or - for standard input."
        ),
    ],
    /,
    *,
    effort: ForceLimit = None,
    velocity: SpeedLimit = None,
    tolerance: Annotated[
        float, number_argument("Share of a limit by which it may be exceeded.")
    ] = 1e-6,
    options: Options = USUAL,
) -> int:
    """Check positions, speeds and joint forces of a trajectory against the robot's limits.

    Shows the worst value of every joint and its time; peaks between the samples count. Rates that
    the file lacks are those of the spline through it, forces those of inverse dynamics. The exit
    code is 0 if all is within the limits, else 1.

    For example:

    ```
    kinetree simulate panda --limits record --duration 0.2 -o fall.csv
    kinetree check panda fall.csv
    kinetree simulate ur5e --limits record -o - | kinetree check ur5e - --json
    ```

    JSON has robot, trajectory, ok, duration, samples, slower (factor on the duration that makes it
    fit, or null), margins, violations, joints, advice.
    """
    from kinetree.cli.rows import read_trajectory, request_of

    loaded, degrees = find_robot(robot, options.reading), options.degrees
    motion = read_trajectory(
        trajectory, request_of(loaded.model, options.recorded, degrees=degrees)
    )
    speed = None if velocity is None else velocity * factors(loaded.model, "dq", degrees)
    with waiting(compiling("the dynamics", loaded.model)):
        report = loaded.check(motion, tolerance=tolerance, effort=effort, velocity=speed)
        rows = margins(loaded, motion, report, degrees, effort, speed)
    if options.json:
        print_json(document(report, rows, degrees))
    else:
        print_verdict(report, rows, degrees)
    return 0 if report.ok else 1


@dataclass(frozen=True)
class Margin:
    """The worst of one joint and quantity: its value and time, and the distance to the limit.

    margin is negative if the limit is exceeded.
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
    robot: Robot,
    motion: "Trajectory",
    report: "LimitReport",
    degrees: bool,
    effort: float | None,
    velocity: Array | float | None,
) -> list[Margin]:
    """A row for every limit of the robot."""
    from kinetree.model.bounds import bounds_of, with_limits
    from kinetree.motion.limits.loads import loads_of

    bounds = with_limits(bounds_of(robot.model), effort=effort, velocity=velocity)
    loads = loads_of(robot.model, motion, bounds)
    rows: list[Margin] = []
    for k, name in enumerate(bounds.names):
        sliding = bool(bounds.sliding[k])
        ranges = {
            "position": (loads.q, bounds.lower[k], bounds.upper[k]),
            "speed": (loads.dq, -bounds.velocity[k], bounds.velocity[k]),
        }
        for quantity, (x, low, high) in ranges.items():
            if quantity == "position" and bounds.coords[k] < 0:
                continue
            if not (isfinite(low) or isfinite(high)):
                continue
            times, values = loads.with_peaks(x[:, k])
            scale = _scale(quantity, sliding, degrees)
            unit = _unit(UNITS[quantity][sliding], degrees)
            numbers = _worst(times, values, float(low), float(high), scale)
            rows.append(
                Margin(name, quantity, unit, *numbers, ok=not report.violated(name, quantity))
            )
        if isfinite(bounds.effort[k]):
            load, unit = loads.with_force_peaks(k, bounds), UNITS["torque"][sliding]
            numbers = _worst(load.t, load.tau, load.least, load.most, 1.0)
            rows.append(
                Margin(name, "torque", unit, *numbers, ok=not report.violated(name, "torque"))
            )
    return rows


def _worst(
    times: Array, values: Array, low: Array | float, high: Array | float, scale: float
) -> tuple[float, float, float, float, float]:
    """Value, time, limits and margin where the margin is smallest; the first of equal ones.

    The limits are numbers, or arrays like the values: those of a drive change with the rate.
    """
    low, high = (np.broadcast_to(x, values.shape) for x in (low, high))
    left = np.minimum(high - values, values - low)
    largest = np.abs([low, high])
    dust = EQUAL * float(np.max(largest, where=np.isfinite(largest), initial=0.0))
    k, first = int(np.argmin(left)), int(np.argmax(left <= left.min() + dust))
    value, lower, upper, margin = (float(x) * scale for x in (values[k], low[k], high[k], left[k]))
    return value, float(times[first]), lower, upper, margin


def _scale(quantity: str, sliding: bool, degrees: bool) -> float:
    return in_degrees(1) if degrees and not sliding and quantity != "torque" else 1.0


def _rate(violation: "Violation", degrees: bool) -> float | None:
    """Rate at which the limit of a drive counts; None if the limit does not depend on it."""
    scale = _scale("speed", violation.sliding, degrees)
    return None if violation.rate is None else violation.rate * scale


def _unit(unit: str, degrees: bool) -> str:
    return unit.replace("rad", "deg") if degrees else unit


def sentence(violation: "Violation", degrees: bool) -> str:
    """A violation in the user's units."""
    unit, name = violation.unit, f"{violation.quantity} of {violation.joint!r}:"
    if degrees and violation.rate is not None and not violation.sliding:
        text = str(replace(violation, rate=in_degrees(violation.rate))).removeprefix(name)
        return f"{name}{text.replace(violation.rate_unit, _unit(violation.rate_unit, True))}"
    if not degrees or "rad" not in unit:
        return str(violation)
    value, limit = in_degrees(violation.value), in_degrees(violation.limit)
    text = str(replace(violation, value=value, limit=limit)).removeprefix(name)
    return f"{name}{text.replace(f' {unit} at', f' {_unit(unit, True)} at')}"


def advice(report: "LimitReport") -> list[str]:
    """The sentences of the report after those about violations."""
    from kinetree.motion.limits.report import MOST_VIOLATIONS

    count = len(report.violations)
    said = min(count, MOST_VIOLATIONS) + (count > MOST_VIOLATIONS)
    return list(report.verdict())[said:]


def print_verdict(report: "LimitReport", rows: list[Margin], degrees: bool) -> None:
    """Print the table of margins, the violations, and advice."""
    from kinetree.motion.limits.report import MOST_VIOLATIONS

    screen = console()
    screen.print(report.headline(), style="bold green" if report.ok else "bold red")
    if not rows:
        screen.print("The robot has no limits; --effort and --velocity set some.")
        return
    screen.print()
    screen.print(margin_table(rows))
    said = [sentence(x, degrees) for x in report.violations[:MOST_VIOLATIONS]]
    if len(report.violations) > MOST_VIOLATIONS:
        said.append(f"... and {len(report.violations) - MOST_VIOLATIONS} more (--json has all)")
    screen.print()
    for line in [*said, *advice(report)]:
        screen.print(wrapped(f"- {line}", screen.width, "  "), soft_wrap=True)


def margin_table(rows: list[Margin]) -> Blocks:
    """A row for every limit; of two limits the nearer one.

    The joint's name is in a column, once; or on a line above its rows if the table would not fit.
    """
    heads = ["joint", "", "worst", "limit", "margin", "unit", "at s", "verdict"]
    cells = [_cells(x) for x in rows]
    names = [x.joint for x in rows]
    first = [k == 0 or names[k - 1] != name for k, name in enumerate(names)]
    wide = [[names[k] if first[k] else "", *cells[k]] for k in range(len(rows))]
    if fits(heads, wide, console().width):
        return screen_table("", heads, wide, left=(0, 1, 5, 7))
    narrow: list[list[Cell]] = []
    for k, row in enumerate(cells):
        if first[k]:
            narrow.append([names[k], *[""] * (len(row) - 1)])
        narrow.append([f"  {row[0]}", *row[1:]])
    return screen_table("", ["joint", *heads[2:]], narrow, left=(0, 4, 6))


def _cells(x: Margin) -> list[Cell]:
    """Quantity, worst value, limit, margin, unit, time and verdict."""
    value = x.value if abs(x.value) > ROUNDING * min(abs(x.upper), abs(x.lower)) else 0.0
    limit = x.upper if x.upper - value <= value - x.lower else x.lower
    verdict = "ok" if x.ok else styled("OVER", "bold red")
    numbers = number(value, 5), number(limit, 5), number(x.margin, 4)
    return [x.quantity, *numbers, x.unit, f"{x.t:.4g}", verdict]


def document(report: "LimitReport", rows: list[Margin], degrees: bool) -> dict[str, Any]:
    """The verdict as JSON; missing limits are null."""
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
            | {"rate": _rate(v, degrees)}
            for v in report.violations
        ],
        "joints": joint_documents(report, degrees),
        "advice": advice(report),
    }


def joint_documents(report: "LimitReport", degrees: bool) -> list[dict[str, Any]]:
    """The loads of every joint as JSON, angles in the user's unit."""
    return [
        asdict(x) | {y: getattr(x, y) * _scale("", x.sliding, degrees) for y in ANGLES}
        for x in report.joints
    ]
