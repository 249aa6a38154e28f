"""LimitReport: the loads of a robot's joints in a motion, as data, as text and as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import degrees as degrees_of
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING

from kinetree.core.text import counted
from kinetree.errors import KinetreeError, NameLookupError, visible
from kinetree.motion.limits.scaling import UniformScaling
from kinetree.present.tables import Table, short_number, text_table

if TYPE_CHECKING:
    from rich.console import Group

MOST_VIOLATIONS = 12  # listed in a report; further ones are counted
LEAST_FACTOR = 1e-3  # of the duration; a motion that may shrink below it hardly moves: no advice

# group and heading of the columns; "used" is the share of the limit at the peak
COLUMNS = (
    ("", "joint"),
    ("position", "range"),
    ("speed", "peak"),
    ("", "used"),
    ("torque", "peak"),
    ("", "used"),
    ("torque", "RMS"),
    ("torque", "mean"),
    ("power", "peak"),
    ("energy", "drawn"),
)
UNITS = {"position": "rad", "speed": "rad/s", "torque": "N m", "power": "W", "energy": "J"}
SLIDES = {"position": "m", "speed": "m/s", "torque": "N"}
MARK = "!"
YELLOW_SHARE = 0.9  # share of a limit above which a terminal shows it in yellow


class LimitError(KinetreeError, ValueError):
    """A trajectory exceeds the limits of the robot; the message is the report."""


@dataclass(frozen=True)
class JointLoad:
    """Loads of one degree of freedom, in rad, N m and W, or m, N and W if it slides.

    Args:
        name: name of the degree of freedom.
        sliding: whether it slides: m and N instead of rad and N m.
        lowest: lowest position, rad or m.
        highest: highest position, rad or m.
        lower: limit of the position, rad or m.
        upper: limit of the position, rad or m.
        peak_speed: rate of the largest size, with its sign, rad/s or m/s.
        speed_limit: limit of the rate, rad/s or m/s.
        peak_torque: joint force of the largest size, with its sign, N m or N.
        rms_torque: root mean square of the joint force, N m or N.
        mean_torque: mean of the joint force, N m or N.
        torque_limit: limit of the joint force at standstill, N m or N.
        peak_power: power of the largest size, with its sign, W.
        mean_power: mean of the power, W.
        work: net energy of the joint, J.
        drawn: energy without that which flows back, J.
        torque_share: largest share of the limit at the speed of the moment, dimensionless, of a
            drive with a torque-speed curve; None: the limit is the same at any speed.
    """

    name: str
    sliding: bool
    lowest: float
    highest: float
    lower: float
    upper: float
    peak_speed: float
    speed_limit: float
    peak_torque: float
    rms_torque: float
    mean_torque: float
    torque_limit: float
    peak_power: float
    mean_power: float
    work: float
    drawn: float
    torque_share: float | None = None

    @property
    def speed_use(self) -> float:
        """Peak speed over its limit; 0 without a limit."""
        return share(self.peak_speed, self.speed_limit)

    @property
    def torque_use(self) -> float:
        """Largest torque over its limit at the same time; 0 without a limit."""
        if self.torque_share is not None:
            return self.torque_share
        return share(self.peak_torque, self.torque_limit)


@dataclass(frozen=True)
class Violation:
    """A time from `start` to `end`, s, in which a joint is beyond a limit; worst at t.

    Args:
        joint: name of the joint.
        quantity: "position", "speed" or "torque".
        sliding: whether the joint slides.
        limit: the limit, in the unit of the quantity (rad, rad/s, N m; m, m/s, N if it slides).
        value: the worst value, in the same unit.
        t: time of the worst value, s.
        start: time at which it begins, s.
        end: time at which it ends, s.
        rate: rate of the joint at t, rad/s or m/s, if the limit is that of its drive at this rate;
            None: the limit does not depend on it.
    """

    joint: str
    quantity: str
    sliding: bool
    limit: float
    value: float
    t: float
    start: float
    end: float
    rate: float | None = None

    @property
    def unit(self) -> str:
        """Unit of value and limit."""
        return (SLIDES if self.sliding else UNITS)[self.quantity]

    @property
    def rate_unit(self) -> str:
        """Unit of rate."""
        return (SLIDES if self.sliding else UNITS)["speed"]

    def text(self, degrees: bool = False) -> str:
        """The violation as a sentence.

        Args:
            degrees: angles are in degrees.
        """
        unit, rate_unit = self.unit, self.rate_unit
        turn = degrees_of(1.0) if degrees and not self.sliding else 1.0
        scale = 1.0 if self.quantity == "torque" else turn
        if degrees:
            unit, rate_unit = unit.replace("rad", "deg"), rate_unit.replace("rad", "deg")
        much = f" ({100 * share(self.value, self.limit):.4g} %)"
        if self.quantity == "position" or self.limit == 0:
            much = ""
        if self.rate is not None:
            much = f" of its drive at {self.rate * turn:.4g} {rate_unit}{much}"
        lasts = f", from {self.start:.4g} to {self.end:.4g} s" if self.end > self.start else ""
        return (
            f"{self.quantity} of {self.joint!r}: {self.value * scale:.5g} {unit} at "
            f"t = {self.t:.4g} s, limit {self.limit * scale:.5g}{much}{lasts}"
        )

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class LimitReport:
    """Loads of all joints and violations of their limits; `print(report)` shows them.

    Args:
        robot: name of the robot.
        trajectory: name of the motion.
        duration: length of the motion, s.
        samples: number of samples.
        joints: loads of each joint.
        violations: every time at which a joint is beyond a limit.
        scaling: how much slower or faster the motion has to run to fit the limits.
    """

    robot: str
    trajectory: str
    duration: float
    samples: int
    joints: tuple[JointLoad, ...]
    violations: tuple[Violation, ...]
    scaling: UniformScaling

    def __repr__(self) -> str:
        return f"LimitReport({self.headline()})"

    @property
    def ok(self) -> bool:
        """True if no limit is violated."""
        return not self.violations

    @property
    def slower(self) -> float | None:
        """Factor on the duration with which torques and speeds fit; None if there is none."""
        return self.scaling.slower

    def joint(self, name: str) -> JointLoad:
        """Loads of the joint of that name.

        Args:
            name: name of the joint.
        """
        for load in self.joints:
            if load.name == name:
                return load
        known = ", ".join(load.name for load in self.joints)
        raise NameLookupError(f"the report has no joint {name!r}; its joints are {known}.")

    def raise_if_violated(self) -> None:
        """Raise LimitError, with the report as its message, if a limit is violated."""
        if not self.ok:
            raise LimitError(str(self))

    def violated(self, joint: str, quantity: str) -> bool:
        """Return True if a joint violates a limit of "position", "speed" or "torque".

        Args:
            joint: name of the joint.
            quantity: "position", "speed" or "torque".
        """
        return any(v.joint == joint and v.quantity == quantity for v in self.violations)

    def headline(self) -> str:
        """One line with the robot, the motion and the number of violations."""
        count = len(self.violations)
        result = "within all limits" if not count else counted(count, "violation")
        return (
            f"{self.robot}, {self.trajectory!r}: {self.duration:.4g} s, "
            f"{counted(self.samples, 'sample')}, {result}"
        )

    def verdict(self) -> Iterator[str]:
        """Violations and remedies, as sentences."""
        for violation in self.violations[:MOST_VIOLATIONS]:
            yield str(violation)
        if len(self.violations) > MOST_VIOLATIONS:
            yield f"... and {len(self.violations) - MOST_VIOLATIONS} more in report.violations"
        yield from self.advice()

    def advice(self) -> Iterator[str]:
        """What would make the motion fit the limits, as sentences."""
        scaling = self.scaling
        for load in scaling.overloads:
            cause = "gravity alone needs" if load.gravity else "friction and gravity need"
            unit = (SLIDES if self.joint(load.joint).sliding else UNITS)["torque"]
            if load.springs:
                cause = "gravity and springs need" if load.gravity else f"springs, {cause}"
            yield (
                f"{cause} {load.torque:.5g} {unit} on {load.joint!r} at t = {load.t:.4g} s, limit "
                f"{load.limit:.5g}: a slower motion does not help there"
            )
        if any(violation.quantity == "position" for violation in self.violations):
            yield "positions beyond their limits need another path, at any speed"
        if scaling.slower is None:
            yield "no slower motion along this path fits torques and speeds"
            if scaling.fastest is not None:
                yield (
                    f"they fit when it runs {1 / scaling.fastest:.6g} times as fast, so that its "
                    "acceleration carries the load"
                )
        elif scaling.slower > 1:
            yield (
                f"torques and speeds fit when it runs {scaling.slower:.6g} times slower, in "
                f"{scaling.slower * self.duration:.6g} s"
            )
        if (
            scaling.slower == 1
            and scaling.fastest is not None
            and LEAST_FACTOR < scaling.fastest < 1
        ):
            yield (
                f"torques and speeds still fit when it runs {1 / scaling.fastest:.4g} times as "
                f"fast, in {scaling.fastest * self.duration:.4g} s"
            )

    def __str__(self) -> str:
        """The report in plain text; numbers beyond a limit are marked with "!"."""
        rows = [
            [text + (MARK if bad else " " * (k > 0)) for k, (text, bad) in enumerate(row)]
            for row in (cells(self, load) for load in self.joints)
        ]
        heads = [[f"{text} " for text in line] for line in _heads(self)]
        lines = [f"  {line}" for line in text_table([*heads, *rows], gap=" ")]
        notes = [f"  - {note}" for note in self.verdict()]
        text = [self.headline(), "", *lines, *([""] if notes else []), *notes]
        return visible("\n".join(line.rstrip() for line in text))

    def _repr_html_(self) -> str:
        heads = [" ".join(filter(None, head)) for head in zip(*_heads(self), strict=True)]
        rows = [[text + MARK * bad for text, bad in cells(self, load)] for load in self.joints]
        return Table(self.headline(), heads, rows, notes=self.verdict()).html()

    def __rich__(self) -> "Group":
        """The report for rich: violations in red, loads near a limit in yellow."""
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        colour = "green" if self.ok else "red"
        table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, header_style="bold")
        for k, head in enumerate(zip(*_heads(self), strict=True)):
            table.add_column(
                "\n".join(head), justify="right" if k else "left", overflow="fold", no_wrap=k == 1
            )
        for load in self.joints:
            styles = [_style(load, k) for k in range(len(COLUMNS))]
            row = zip(cells(self, load), styles, strict=True)
            table.add_row(*(Text(x, style="bold red" if bad else near) for (x, bad), near in row))
        notes = Table.grid(padding=(0, 1))
        for note in self.verdict():
            notes.add_row("-", Text(note, style="" if self.ok else colour))
        headline = Text(self.headline() + "\n", style=f"bold {colour}")
        return Group(headline, table, Text(""), notes)


def share(value: float, limit: float) -> float:
    """|value| / |limit|; 0 of an infinite limit."""
    if not isfinite(limit) or isnan(value):
        return 0.0
    return abs(value) / abs(limit) if limit else (inf if value else 0.0)


def cells(report: LimitReport, load: JointLoad) -> list[tuple[str, bool]]:
    """Text of the cells of a joint's row, each with True if it shows a violation."""
    position, speed, torque = (
        report.violated(load.name, x) for x in ("position", "speed", "torque")
    )
    low, high = short_number(load.lowest), short_number(load.highest)
    return [
        (load.name + (" (m, N)" if load.sliding and not _all_slide(report) else ""), False),
        ("-" if isnan(load.lowest) else f"{low} .. {high}", position),
        (short_number(load.peak_speed), speed),
        (_percent(load.speed_use, load.speed_limit), speed),
        (short_number(load.peak_torque), torque),
        (_percent(load.torque_use, load.torque_limit), torque),
        (short_number(load.rms_torque), False),
        (short_number(load.mean_torque), False),
        (short_number(load.peak_power), False),
        (short_number(load.drawn), False),
    ]


def _style(load: JointLoad, k: int) -> str:
    use = {3: load.speed_use, 5: load.torque_use}.get(k, 0.0)
    return "yellow" if use > YELLOW_SHARE else ""


def _heads(report: LimitReport) -> list[list[str]]:
    """The three lines above the numbers: group, heading, unit; a group is named once in a row."""
    units = UNITS | SLIDES if _all_slide(report) else UNITS
    groups, last = [], ""
    for group, _ in COLUMNS:
        groups.append(group if group != last else "")
        last = group or last
    return [groups, [head for _, head in COLUMNS], [units.get(group, "") for group, _ in COLUMNS]]


def _all_slide(report: LimitReport) -> bool:
    return all(load.sliding for load in report.joints)


def _percent(use: float, limit: float) -> str:
    if not isfinite(limit):
        return "-"
    return f"{100 * use:.0f} %" if isfinite(use) else ">999 %"  # a drive too fast for any force
