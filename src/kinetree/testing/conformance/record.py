"""Findings of the conformance suite, and the record of a run: one screen of text, or JSON."""

import getpass
import os
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from kinetree.base.tables import counted
from kinetree.errors import KinetreeError

PASSED, FAILED, SKIPPED = "pass", "FAIL", "skip"
MAX_SHOWN = 8  # failures that the text shows; JSON has all
MAX_TEXT = 600  # characters of an expected or found text that are kept
WIDTH = 79
REPORT = "Please report it and attach the output of `python -m kinetree.testing --json`."


@dataclass(frozen=True)
class Choice:
    """Options of a run.

    Args:
        everything: compare all of the table of bits.
        cuda: also check CUDA kernels.
        own_cache: variables of the environment that choose the user's cache.
    """

    everything: bool = False
    cuda: bool = False
    own_cache: Mapping[str, str | None] = field(default_factory=dict[str, str | None])


class ConformanceFailure(KinetreeError, AssertionError):
    """Checks of this installation failed; the message is the record."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    Args:
        name: the element that was checked.
        outcome: "pass", "FAIL" or "skip".
        expected: the expected result, as text.
        found: the result that was found, or the reason why the check was skipped.
        advice: what to do about a failure.
        group: name of the group.
        seconds: duration of the check, s.
    """

    name: str
    outcome: str
    expected: str = ""
    found: str = ""
    advice: str = ""
    group: str = ""
    seconds: float = 0.0


Part = Callable[[Choice], Iterator[Finding]]


def compared(
    name: str, fine: bool, expected: object, found: object, advice: str = REPORT
) -> Finding:
    """Return the finding of a check; `fine` is True if it passed."""
    outcome = PASSED if fine else FAILED
    return Finding(name, outcome, _short(expected), _short(found), "" if fine else advice)


def equal(name: str, expected: object, found: object, advice: str = REPORT) -> Finding:
    """Return the finding of a check that passes if both values are equal."""
    return compared(name, expected == found, expected, found, advice)


def skipped(name: str, reason: str) -> Finding:
    """Return the finding of a check that does not apply here."""
    return Finding(name, SKIPPED, found=reason)


def broken(name: str, error: BaseException) -> Finding:
    """Return the finding of a check that raised an error, which names the line of kinetree."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "kinetree" in code.co_filename:
            place = f" ({Path(code.co_filename).name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return compared(name, False, "no error", f"{type(error).__name__}: {error}{place}")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} ..."


@cache
def private_texts() -> tuple[tuple[str, str], ...]:
    """Return texts that name this user or folders of this machine, and what replaces them."""
    temporary = tempfile.gettempdir()
    texts = {
        str(Path(__file__).resolve().parents[2]): "<kinetree>",
        os.getcwd(): "<current folder>",
    }
    # also the usual ones, where a variable chooses another
    for folder in (os.path.realpath(temporary), temporary, "/tmp", "/var/tmp"):
        texts[folder] = "<temporary folder>"
    texts |= {sys.prefix: "<Python>", sys.base_prefix: "<Python>"}
    try:
        texts |= {str(Path.home()): "<home>", getpass.getuser(): "<user>"}
    except (RuntimeError, KeyError, OSError, ImportError):  # an account without a name or a folder
        pass
    # the longest first, so that a folder inside of another keeps its own name; "root" and other
    # short names stand inside of ordinary words
    kept = [x for x in texts.items() if len(x[0]) > 4 or x[0] == "/tmp"]
    return tuple(sorted(kept, key=lambda x: -len(x[0])))


def without_paths(text: str) -> str:
    """Return a text without the names of this user and of the folders of this machine."""
    for private, public in private_texts():
        text = text.replace(private, public)
    return text


@dataclass(frozen=True)
class GroupSummary:
    """Numbers of a group: checks that ran, failures, skipped checks, and seconds."""

    name: str
    title: str
    checks: int
    failed: int
    skipped: int
    seconds: float
    reason: str = ""

    def __str__(self) -> str:
        if self.checks == 0:
            line = f"  {self.name:10}  {'-':>6}  skipped: {self.reason}"
            return line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..."
        verdict = f"{self.failed} FAILED" if self.failed else "fine"
        some = f", {self.skipped} skipped" if self.skipped else ""
        return f"  {self.name:10}  {self.checks:6}  {self.seconds:5.1f} s  {verdict}{some}"


@dataclass(frozen=True)
class Conformance:
    """A run of the conformance suite; `print(record)` shows the verdict.

    Args:
        machine: versions and facts of this machine, by name.
        groups: the groups that ran, with their titles.
        findings: all checks.
        seconds: duration of the run, s.
        complete: True if all groups ran.
    """

    machine: Mapping[str, str]
    groups: Mapping[str, str]
    findings: tuple[Finding, ...]
    seconds: float
    complete: bool = True

    @property
    def ok(self) -> bool:
        """True if no check failed and at least one ran."""
        return not self.failures and self.checks > 0

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The checks that failed."""
        return tuple(x for x in self.findings if x.outcome == FAILED)

    @property
    def skipped(self) -> tuple[Finding, ...]:
        """The checks that do not apply here, each with its reason."""
        return tuple(x for x in self.findings if x.outcome == SKIPPED)

    @property
    def checks(self) -> int:
        """Number of checks that ran; skipped ones do not count."""
        return len(self.findings) - len(self.skipped)

    def summaries(self) -> list[GroupSummary]:
        """Return the numbers of each group."""
        summaries: list[GroupSummary] = []
        for name, title in self.groups.items():
            findings = [x for x in self.findings if x.group == name]
            skips = [x.found for x in findings if x.outcome == SKIPPED]
            failed = sum(x.outcome == FAILED for x in findings)
            seconds = round(sum(x.seconds for x in findings), 3)
            reason = skips[0] if skips else "no checks"
            checks = len(findings) - len(skips)
            summaries.append(GroupSummary(name, title, checks, failed, len(skips), seconds, reason))
        return summaries

    def raise_if_failed(self) -> None:
        """Raise ConformanceFailure, with the record as its message, if the run was not fine."""
        if not self.ok:
            raise ConformanceFailure(str(self))

    def document(self) -> dict[str, object]:
        """Return everything as plain values for a JSON file, without user names and paths."""
        return {
            "conforms": self.ok,
            "complete": self.complete,
            "checks": self.checks,
            "failed": len(self.failures),
            "skipped": len(self.skipped),
            "seconds": round(self.seconds, 3),
            "machine": {name: without_paths(x) for name, x in self.machine.items()},
            "groups": [asdict(x) | {"reason": without_paths(x.reason)} for x in self.summaries()],
            "findings": [asdict(public(x)) for x in self.findings],
        }

    def __str__(self) -> str:
        return "\n".join([*self._head(), *map(str, self.summaries()), "", *self._verdict()])

    def _head(self) -> Iterable[str]:
        facts = self.machine
        yield f"kinetree {facts['kinetree']} on {facts['system']}, {facts['processor']}"
        yield f"Python {facts['Python']}, NumPy {facts['NumPy']}, {facts['kernels']}"
        yield ""
        yield f"  {'group':10}  {'checks':>6}  {'time':>7}"

    def _verdict(self) -> Iterable[str]:
        failures = [public(x) for x in self.failures]
        for finding in failures[:MAX_SHOWN]:
            yield from _lines(finding)
        if len(failures) > MAX_SHOWN:
            yield f"and {counted(len(failures) - MAX_SHOWN, 'more failure')}: --json lists all"
            yield ""
        numbers = f"{counted(self.checks, 'check')} in {self.seconds:.0f} s"
        if self.skipped:
            numbers += f", {len(self.skipped)} skipped"
        part = "" if self.complete else " in the chosen groups"
        if self.ok:
            yield f"{numbers}: this installation conforms{part}."
        elif not self.checks:
            yield f"{numbers}: nothing was checked{part}."
        else:
            failed = counted(len(failures), "check")
            yield f"{numbers}: {failed} FAILED."
            yield "Do not rely on results of this installation before the cause is known."


def public(finding: Finding) -> Finding:
    """Return a finding without user names and paths."""
    return replace(
        finding,
        expected=without_paths(finding.expected),
        found=without_paths(finding.found),
        advice=without_paths(finding.advice),
        seconds=round(finding.seconds, 4),
    )


def _lines(finding: Finding) -> Iterable[str]:
    """Lines of a failure, in the width of a terminal; texts of several lines keep their lines."""
    yield f"FAILED  {finding.group}: {finding.name}"
    for label, text in (("expected", finding.expected), ("found", finding.found)):
        rows = [
            row for line in text.splitlines() or [""] for row in textwrap.wrap(line, 67) or [""]
        ]
        for k, row in enumerate(rows):
            yield f"  {label if k == 0 else '':8}  {row}".rstrip()
    for row in textwrap.wrap(finding.advice, 77):
        yield f"  {row}"
    yield ""
