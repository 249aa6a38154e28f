"""LimitReport: what a trajectory asks of a robot's joints, as data, as text and as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Any

from kinetree.base.tables import counted
from kinetree.errors import KinetreeError, NameLookupError
from kinetree.motion.scaling import UniformScaling

MOST_VIOLATIONS = 12  # that are shown; the rest is counted
STANDING = 1e-3  # a motion that could run so much faster is none


class LimitError(KinetreeError, ValueError):
    """A trajectory exceeds the limits of the robot; the message is the report."""


@dataclass(frozen=True)
class JointLoad:
    """What one degree of freedom is asked for; rad, N m and W, or m and N where it slides.

    Peaks carry their sign. work: net energy of the joint, J; drawn: without what flows back.
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

    @property
    def speed_use(self) -> float:
        """Peak speed over its limit, 0 where there is none."""
        return share(self.peak_speed, self.speed_limit)

    @property
    def torque_use(self) -> float:
        """Peak torque over its limit, 0 where there is none."""
        return share(self.peak_torque, self.torque_limit)


@dataclass(frozen=True)
class Violation:
    """A stretch of time, start to end in s, in which a joint is beyond a limit; worst at t."""

    joint: str
    quantity: str
    sliding: bool
    limit: float
    value: float
    t: float
    start: float
    end: float

    @property
    def unit(self) -> str:
        """Unit of value and limit."""
        units = {"position": ("rad", "m"), "speed": ("rad/s", "m/s"), "torque": ("N m", "N")}
        return units[self.quantity][self.sliding]

    def __str__(self) -> str:
        much = (
            "" if self.quantity == "position" else f" ({100 * share(self.value, self.limit):.4g} %)"
        )
        lasts = f"from {self.start:.4g} to {self.end:.4g} s" if self.end > self.start else ""
        return (
            f"{self.quantity} of {self.joint!r}: {self.value:.5g} {self.unit} at "
            f"t = {self.t:.4g} s, limit {self.limit:.5g}{much}{', ' if lasts else ''}{lasts}"
        )


@dataclass(frozen=True)
class LimitReport:
    """Loads of all joints and violations of their limits; `print(report)` shows them."""

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
        """Whether no limit is violated."""
        return not self.violations

    @property
    def slower(self) -> float | None:
        """Factor on the duration with which torques and speeds fit; None if there is none."""
        return self.scaling.slower

    def joint(self, name: str) -> JointLoad:
        """The loads of the joint of that name."""
        for load in self.joints:
            if load.name == name:
                return load
        known = ", ".join(load.name for load in self.joints)
        raise NameLookupError(f"the report has no joint {name!r}; its joints are {known}.")

    def raise_if_violated(self) -> None:
        """Raise LimitError, with the report as its message, unless all is within its limits."""
        if not self.ok:
            raise LimitError(str(self))

    def verdict(self) -> Iterator[str]:
        """What is wrong and what helps, as sentences."""
        for violation in self.violations[:MOST_VIOLATIONS]:
            yield str(violation)
        if len(self.violations) > MOST_VIOLATIONS:
            yield f"... and {len(self.violations) - MOST_VIOLATIONS} more in report.violations"
        yield from self._advice()

    def _advice(self) -> Iterator[str]:
        scaling = self.scaling
        for load in scaling.overloads:
            what = "gravity alone needs" if load.gravity else "friction and gravity need"
            yield (
                f"{what} {load.torque:.5g} on {load.joint!r} at t = {load.t:.4g} s, limit "
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
        if scaling.slower == 1 and scaling.fastest is not None and STANDING < scaling.fastest < 1:
            yield (
                f"torques and speeds still fit when it runs {1 / scaling.fastest:.4g} times as "
                f"fast, in {scaling.fastest * self.duration:.4g} s"
            )

    def headline(self) -> str:
        """One line: which robot, which motion, how it went."""
        count = len(self.violations)
        said = "within all limits" if not count else counted(count, "violation")
        return (
            f"{self.robot}, {self.trajectory!r}: {self.duration:.4g} s, "
            f"{counted(self.samples, 'sample')}, {said}"
        )

    def violated(self, joint: str, quantity: str) -> bool:
        """Whether a limit of that joint is violated: "position", "speed" or "torque"."""
        return any(v.joint == joint and v.quantity == quantity for v in self.violations)

    def __str__(self) -> str:
        from kinetree.motion.limit_tables import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from kinetree.motion.limit_tables import as_html

        return as_html(self)

    def __rich__(self) -> Any:
        from kinetree.motion.limit_tables import as_rich

        return as_rich(self)


def share(value: float, limit: float) -> float:
    """|value| / |limit|; 0 of an infinite limit."""
    if not isfinite(limit) or isnan(value):
        return 0.0
    return abs(value) / abs(limit) if limit else (inf if value else 0.0)
