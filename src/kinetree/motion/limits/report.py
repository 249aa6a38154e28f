"""LimitReport: the loads of a robot's joints in a motion, as data, as text and as a table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import degrees as degrees_of
from math import inf, isfinite, isnan
from typing import Any

import numpy as np

from kinetree.core.text import ROUNDING, counted, number, without_rounding
from kinetree.errors import NameLookupError, visible
from kinetree.motion.limits.scaling import UniformScaling
from kinetree.present.tables import Column, Table

MOST_VIOLATIONS = 12  # listed in a report; further ones are counted
LEAST_FACTOR = 1e-3  # of the duration; a motion that may shrink below it hardly moves: no advice

UNITS = {"position": "rad", "speed": "rad/s", "torque": "N m", "power": "W", "energy": "J"}
SLIDES = {"position": "m", "speed": "m/s", "torque": "N"}
ANGLES = ("lowest", "highest", "lower", "upper", "peak_speed", "speed_limit")
SCREEN = 100  # columns of a printed report
MARK = "!"  # behind shares of a limit that is exceeded
MOVING = ("lowest", "highest", "peak speed", "speed used", "peak torque", "torque used")
EFFORTS = ("RMS torque", "peak power", "drawn energy")
COLUMNS: "dict[str, Callable[[JointLoad], float]]" = {
    "lowest": lambda x: x.lowest,
    "highest": lambda x: x.highest,
    "peak speed": lambda x: x.peak_speed,
    "peak torque": lambda x: x.peak_torque,
    "RMS torque": lambda x: x.rms_torque,
    "mean torque": lambda x: x.mean_torque,
    "peak power": lambda x: x.peak_power,
    "mean power": lambda x: x.mean_power,
    "drawn energy": lambda x: x.drawn,
}


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

    def _turn(self, degrees: bool) -> tuple[float, float]:
        """Degrees of one unit of the rate and of the value."""
        turn = degrees_of(1.0) if degrees and not self.sliding else 1.0
        return turn, 1.0 if self.quantity == "torque" else turn

    def text(self, degrees: bool = False) -> str:
        """The violation as a sentence.

        Args:
            degrees: angles are in degrees.
        """
        turn, scale = self._turn(degrees)
        much = f" ({100 * share(self.value, self.limit):.4g} %)"
        if self.quantity == "position" or self.limit == 0:
            much = ""
        if self.rate is not None:
            unit = "m/s" if self.sliding else "rad/s"
            much = f" of its drive at {self.rate * turn:.4g} {unit}{much}"
        lasts = f", from {self.start:.4g} to {self.end:.4g} s" if self.end > self.start else ""
        text = (
            f"{self.quantity} of {self.joint!r}: {self.value * scale:.5g} {self.unit} at "
            f"t = {self.t:.4g} s, limit {self.limit * scale:.5g}{much}{lasts}"
        )
        return text.replace(" rad", " deg") if degrees else text

    def to_dict(self, degrees: bool = False) -> dict[str, Any]:
        """The violation as plain data, with the unit of its numbers.

        Args:
            degrees: angles are in degrees.
        """
        turn, scale = self._turn(degrees)
        numbers = {"value": self.value * scale, "limit": self.limit * scale}
        unit = self.unit.replace("rad", "deg") if degrees else self.unit
        rate = None if self.rate is None else self.rate * turn
        return asdict(self) | numbers | {"unit": unit, "rate": rate}

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

    def verdict(self, degrees: bool = False) -> Iterator[str]:
        """Violations and remedies, as sentences.

        Args:
            degrees: angles are in degrees.
        """
        for violation in self.violations[:MOST_VIOLATIONS]:
            yield violation.text(degrees)
        if len(self.violations) > MOST_VIOLATIONS:
            more = len(self.violations) - MOST_VIOLATIONS
            yield f"... and {more} more (report.violations, --json)"
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
        slower, fastest = scaling.slower, scaling.fastest
        if slower is None:
            yield "no slower motion along this path fits torques and speeds"
        elif slower > 1:
            yield (
                f"torques and speeds fit when it runs {slower:.6g} times slower, in "
                f"{slower * self.duration:.6g} s"
            )
        if slower in (None, 1) and fastest is not None and LEAST_FACTOR < fastest < 1:
            yield (
                f"torques and speeds {'still ' * (slower == 1)}fit when it runs {1 / fastest:.4g} "
                f"times as fast, in {fastest * self.duration:.4g} s"
            )

    def table(
        self,
        columns: Sequence[str] = (*MOVING, *EFFORTS),
        *,
        degrees: bool = False,
        title: str = "",
    ) -> Table:
        """The loads of all joints; "!" marks shares beyond a limit.

        Args:
            columns: headings: of positions, speeds and torques, and the shares of limits "speed
                used" and "torque used".
            degrees: angles are in degrees.
            title: above the table.
        """
        shown = [Column("joint", [load.name for load in self.joints])]
        for head in columns:
            kind = head.split()[-1] if " " in head else "position"
            units = [(UNITS | (SLIDES if x.sliding else {})).get(kind, "%") for x in self.joints]
            units = [unit.replace("rad", "deg") if degrees else unit for unit in units]
            if kind == "used":
                cells = [self._used(load, head.split()[0]) for load in self.joints]
            else:
                values = np.array([COLUMNS[head](x) for x in self.joints])
                turn = np.array([degrees_of(1.0) if "deg" in unit else 1.0 for unit in units])
                cells = [number(x, 5) for x in without_rounding(values * turn)]
            shown.append(Column(head, cells, units))
        return Table.of(title, shown)

    def _used(self, load: JointLoad, quantity: str) -> str:
        """The share of a limit in percent; empty without a limit."""
        limit, use = getattr(load, f"{quantity}_limit"), getattr(load, f"{quantity}_use")
        if not isfinite(limit):
            return ""
        use = use if use > ROUNDING else 0.0
        text = number(100 * use, 3) if isfinite(use) else ">999"  # a drive too fast for any force
        return text + MARK * self.violated(load.name, quantity)

    def to_dict(self, degrees: bool = False) -> dict[str, Any]:
        """Everything as plain data.

        Args:
            degrees: angles are in degrees.
        """
        turn = degrees_of(1.0) if degrees else 1.0
        joints = [
            asdict(x) | {y: getattr(x, y) * (1.0 if x.sliding else turn) for y in ANGLES}
            for x in self.joints
        ]
        names = ("robot", "trajectory", "ok", "duration", "samples", "slower")
        return {name: getattr(self, name) for name in names} | {
            "violations": [x.to_dict(degrees) for x in self.violations],
            "joints": joints,
            "advice": list(self.advice()),
        }

    def __str__(self) -> str:
        verdict = [f"- {x}" for x in self.verdict()]
        return visible("\n".join([self.headline(), *self.table().lines(SCREEN), *verdict]))

    def _repr_html_(self) -> str:
        return replace(self.table(title=self.headline()), notes=list(self.verdict())).html()


def share(value: float, limit: float) -> float:
    """|value| / |limit|; 0 of an infinite limit."""
    if not isfinite(limit) or isnan(value):
        return 0.0
    return abs(value) / abs(limit) if limit else (inf if value else 0.0)
