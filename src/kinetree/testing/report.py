"""CheckReport: the results of `check_robot`, one line for each check, printed like a test run."""

from collections.abc import Iterator
from dataclasses import dataclass

from kinetree.core.text import counted
from kinetree.errors import KinetreeError, NameLookupError
from kinetree.present.tables import Table

PASSED, FAILED, SKIPPED = "pass", "FAIL", "skip"


class CheckFailure(KinetreeError, AssertionError):
    """Checks of a robot failed; the message is the report."""


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
class CheckReport:
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

    @property
    def ok(self) -> bool:
        """True if no check failed; skipped ones do not count."""
        return not self.failures

    @property
    def failures(self) -> tuple[CheckLine, ...]:
        """The lines that failed."""
        return tuple(line for line in self.lines if line.status == FAILED)

    @property
    def skipped(self) -> tuple[CheckLine, ...]:
        """The lines that do not apply to this robot, each with its reason."""
        return tuple(line for line in self.lines if line.status == SKIPPED)

    def line(self, law: str) -> CheckLine:
        """The line of that law.

        Args:
            law: name of the law.
        """
        for line in self.lines:
            if line.law == law:
                return line
        known = ", ".join(repr(line.law) for line in self.lines)
        raise NameLookupError(f"there is no check {law!r}; expected one of {known}.")

    def raise_if_failed(self) -> None:
        """Raise CheckFailure, with the report as its message, if a check failed."""
        if not self.ok:
            raise CheckFailure(str(self))

    def __str__(self) -> str:
        return "\n".join(self._text())

    def _repr_html_(self) -> str:
        rows = [
            (x.group, x.law, x.status, "" if x.error is None else x.error,
             "" if x.limit is None else x.limit, x.reason or x.origin)
            for x in self.lines
        ]  # fmt: skip
        head = ("group", "law", "", "worst error", "limit", "why")
        first, *_, last = self._text()
        return Table(first, head, rows, text=3, notes=[last]).html()

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
        passed = sum(line.status == PASSED for line in self.lines)
        yield f"{passed} passed, {len(self.failures)} failed, {len(self.skipped)} skipped"
