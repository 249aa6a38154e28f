"""Findings of the conformance suite, and the record of a run: one screen of text, or JSON."""

import getpass
import os
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from kinetree.core.tables import counted
from kinetree.errors import KinetreeError
from kinetree.testing.report import FAILED, PASSED, SKIPPED

MAX_SHOWN = 8  # failures that the text shows; JSON has all
MAX_TEXT = 600  # characters of an expected or found text that are kept
WIDTH = 79
REPORT = "Please report it and attach the output of `python -m kinetree.testing --json`."


@dataclass(frozen=True)
class Options:
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


def public(finding: Finding) -> dict[str, Any]:
    """Return all fields, without the names of this user and of the folders of this machine."""
    fields = asdict(finding) | {"seconds": round(finding.seconds, 4)}
    return {name: without_paths(x) for name, x in fields.items()}


def equal(name: str, expected: object, found: object, advice: str = REPORT) -> Finding:
    """Return the finding of a check that passes if both values are equal."""
    expected_text, found_text = (
        x if len(x) <= MAX_TEXT else f"{x[:MAX_TEXT]} ..." for x in (str(expected), str(found))
    )
    if expected == found:
        return Finding(name, PASSED, expected_text, found_text)
    return Finding(name, FAILED, expected_text, found_text, advice)


def within(name: str, error: float, limit: float, advice: str = REPORT) -> Finding:
    """Return the finding of a check that passes if an error is at most a limit."""
    text = f"error <= {limit:.1e}"
    return equal(name, text, text if error <= limit else f"error {error:.1e}", advice)


def skipped(name: str, reason: str) -> Finding:
    """Return the finding of a check that does not apply here."""
    return Finding(name, SKIPPED, found=reason)


def broken(name: str, error: BaseException) -> Finding:
    """Return the finding of a check that raised an error, which names the line of kinetree."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "kinetree" in file:
            place = f" ({Path(file).name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return equal(name, "no error", f"{type(error).__name__}: {error}{place}")


@cache
def _private_texts() -> list[tuple[str, str]]:
    """Return texts that name this user or folders of this machine, and what replaces them."""
    texts = {str(Path(__file__).resolve().parents[1]): "<kinetree>", os.getcwd(): "<folder>"}
    # also the usual ones, where a variable chooses another
    for folder in (tempfile.gettempdir(), os.path.realpath(tempfile.gettempdir()), "/var/tmp"):
        texts[folder] = "<temporary folder>"
    texts |= {sys.prefix: "<Python>", sys.base_prefix: "<Python>"}
    try:
        texts |= {str(Path.home()): "<home>", getpass.getuser(): "<user>"}
    except (RuntimeError, KeyError, OSError, ImportError):  # an account without a name or a folder
        pass
    # "root" and other short names stand inside of ordinary words
    texts = {x: public for x, public in texts.items() if len(x) > 4} | {
        "/tmp": "<temporary folder>"
    }
    # the longest first, so that a folder inside of another keeps its own name
    return sorted(texts.items(), key=lambda x: -len(x[0]))


def without_paths(value: Any) -> Any:
    """Return a text without the names of this user and of folders of this machine."""
    if isinstance(value, str):
        for private, public in _private_texts():
            value = value.replace(private, public)
    return value


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

    def raise_if_failed(self) -> None:
        """Raise ConformanceFailure, with the record as its message, if the run was not fine."""
        if not self.ok:
            raise ConformanceFailure(str(self))

    def summaries(self) -> list[dict[str, Any]]:
        """Return the numbers of each group, by name: checks, failed, skipped, seconds."""
        rows: list[dict[str, Any]] = []
        for name, title in self.groups.items():
            group = [x for x in self.findings if x.group == name]
            skips = [x.found for x in group if x.outcome == SKIPPED]
            rows.append(
                {
                    "name": name,
                    "title": title,
                    "checks": len(group) - len(skips),
                    "failed": sum(x.outcome == FAILED for x in group),
                    "skipped": len(skips),
                    "seconds": round(sum(x.seconds for x in group), 3),
                    "reason": without_paths(skips[0]) if skips else "",
                }
            )
        return rows

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
            "groups": self.summaries(),
            "findings": [public(x) for x in self.findings],
        }

    def __str__(self) -> str:
        return "\n".join(self._text())

    def _text(self) -> Iterator[str]:
        facts = self.machine
        yield f"kinetree {facts['kinetree']} on {facts['system']}, {facts['processor']}"
        yield f"Python {facts['Python']}, NumPy {facts['NumPy']}, {facts['kernels']}"
        yield ""
        yield f"  {'group':10}  {'checks':>6}  {'time':>7}"
        for x in self.summaries():
            verdict = f"{x['failed']} FAILED" if x["failed"] else "fine"
            some = f", {x['skipped']} skipped" if x["skipped"] else ""
            numbers = f"{x['checks']:6}  {x['seconds']:5.1f} s  {verdict}{some}"
            reason = textwrap.shorten(x["reason"], WIDTH - 32, placeholder=" ...")
            yield f"  {x['name']:10}  {numbers if x['checks'] else f'     -  skipped: {reason}'}"
        yield ""
        for finding in self.failures[:MAX_SHOWN]:
            yield from _failure_lines(finding)
        if len(self.failures) > MAX_SHOWN:
            more = counted(len(self.failures) - MAX_SHOWN, "more failure")
            yield f"and {more}: --json lists all\n"
        numbers = f"{counted(self.checks, 'check')} in {self.seconds:.0f} s"
        numbers += f", {len(self.skipped)} skipped" if self.skipped else ""
        part = "" if self.complete else " in the chosen groups"
        if self.ok:
            yield f"{numbers}: this installation conforms{part}."
        elif not self.checks:
            yield f"{numbers}: nothing was checked{part}."
        else:
            yield f"{numbers}: {counted(len(self.failures), 'check')} FAILED."
            yield "Do not rely on results of this installation before the cause is known."


def _failure_lines(finding: Finding) -> Iterator[str]:
    """Lines of a failure, in the width of a terminal."""
    fields = public(finding)
    yield f"FAILED  {finding.group}: {finding.name}"
    for label in ("expected", "found"):
        rows = [part for x in fields[label].splitlines() for part in textwrap.wrap(x, 67)]
        for k, row in enumerate(rows or [""]):
            yield f"  {'' if k else label:8}  {row}".rstrip()
    yield from textwrap.wrap(fields["advice"], 77, initial_indent="  ", subsequent_indent="  ")
    yield ""
