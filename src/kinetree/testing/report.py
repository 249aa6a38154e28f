"""Results of checks: `Checks`, what all have, and the report of `check_robot`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kinetree.core.text import counted
from kinetree.errors import KinetreeError

PASSED, FAILED, SKIPPED = "pass", "FAIL", "skip"


class CheckFailure(KinetreeError, AssertionError):
    """Checks failed; the message is the report."""


class Checks:
    """Results of checks, each with a status, which print as a report."""

    lines: tuple[Any, ...]

    def having(self, status: str) -> tuple[Any, ...]:
        """The results with a status."""
        return tuple(line for line in self.lines if line.status == status)

    @property
    def failures(self) -> tuple[Any, ...]:
        """The checks that failed."""
        return self.having(FAILED)

    @property
    def skipped(self) -> tuple[Any, ...]:
        """The checks that do not apply here, each with its reason."""
        return self.having(SKIPPED)

    @property
    def ok(self) -> bool:
        """True if no check failed; skipped ones do not count."""
        return not self.failures

    def raise_if_failed(self) -> None:
        """Raise CheckFailure, with the report as its message, if a check failed."""
        if not self.ok:
            raise CheckFailure(str(self))


@dataclass(frozen=True)
class CheckLine:
    """One check: its worst error over the states, the limit there and where the limit comes from.

    Args:
        group: group of the check.
        law: name of the law.
        status: "pass", "FAIL" or "skip".
        error: worst error over the states, in the unit of the law; None: not computed.
        limit: the largest error allowed, in the unit of the law; None: not computed.
        origin: where the limit comes from.
        state: number of the worst state; None: no state.
        reason: why a check was skipped or could not be carried out.
    """

    group: str
    law: str
    status: str
    error: float | None = None
    limit: float | None = None
    origin: str = ""
    state: int | None = None
    reason: str = ""

    def __str__(self) -> str:
        if self.error is None:
            note = f"skipped: {self.reason}" if self.status == SKIPPED else self.reason
            return f"  {self.status}  {self.law:48} {note}"
        sign = "<=" if self.status == PASSED else "> "
        where = f" [state {self.state}]" if self.status == FAILED else ""
        numbers = f"{self.error:8.1e} {sign} {self.limit:7.1e}"
        return f"  {self.status}  {self.law:48} {numbers}  {self.origin}{where}"


@dataclass(frozen=True)
class CheckReport(Checks):
    """All lines of a run of `check_robot`; `print(report)` shows them.

    Args:
        robot: name of the robot.
        n: degrees of freedom.
        states: number of states.
        seed: seed of the states.
        lines: the checks.
    """

    robot: str
    n: int
    states: int
    seed: int
    lines: tuple[CheckLine, ...]

    def __str__(self) -> str:
        return "\n".join(self._text())

    def _text(self) -> Iterator[str]:
        yield (
            f"{self.robot}: {counted(self.n, 'degree', 'of freedom')}, "
            f"{counted(self.states, 'random state')}, "
            f"seed {self.seed}"
        )
        group = None
        for line in self.lines:
            if line.group != group:
                group = line.group
                yield ""
                yield f"{group}, worst relative error and its limit"
            yield str(line)
        yield ""
        counts = [len(self.having(x)) for x in (PASSED, FAILED, SKIPPED)]
        yield "{} passed, {} failed, {} skipped".format(*counts)
