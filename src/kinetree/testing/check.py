"""Check: a law as a measurement at one state, carried out over all states into one line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kinetree.errors import SingularityError
from kinetree.testing.case import EPS, Case, size
from kinetree.testing.report import FAILED, PASSED, SKIPPED, CheckLine

OPERATIONS = 4  # roundings that a link may add to a result, norm-wise; one is typical
DIFFERENCES = 60  # truncation and rounding of a difference of order six, in units of eps^(6/7)


class NotApplicable(Exception):
    """The check says nothing about this robot; the message is the reason."""


@dataclass(frozen=True)
class Measured:
    """An error relative to the terms of what was compared, its limit, and where that is from."""

    error: float
    limit: float
    origin: str


@dataclass(frozen=True)
class Check:
    """A law of `group`, measured at one state; `inverts` when it needs M to have an inverse."""

    group: str
    law: str
    measure: Callable[[Case], Measured]
    inverts: bool = False


def rounding(case: Case, error: Any, scale: float) -> Measured:
    """An error that rounding alone may cause; `scale` is the size of the terms."""
    links = len(case.model.links)
    return Measured(
        ratio(error, scale), OPERATIONS * (links + 4) * EPS, f"rounding over {links} links"
    )


def differences(error: Any, scale: float) -> Measured:
    """An error that also has the truncation of differences of order six in it."""
    return Measured(
        ratio(error, scale), DIFFERENCES * EPS ** (6 / 7), "differences of order 6: eps^(6/7)"
    )


def inverting(case: Case, error: Any) -> Measured:
    """An error of accelerations, to which M^-1 carries the rounding of the joint forces."""
    plain = rounding(case, error, size(case.ddq))
    grown = plain.limit * case.scatter / size(case.ddq)
    return Measured(plain.error, grown, f"rounding through M^-1, cond(M) = {case.condition:.1e}")


def ratio(error: Any, scale: float) -> float:
    """Size of the error over the scale; nothing over nothing is nothing."""
    length = size(error)
    if length == 0:
        return 0.0
    return length / scale if scale > 0 else float("inf")


def carry_out(check: Check, cases: Sequence[Case], factor: float) -> CheckLine:
    """The line of a check: its worst state, or why there is none."""
    worst, worst_line = -1.0, CheckLine(check.group, check.law, SKIPPED, reason="no states")
    try:
        for case in cases:
            found = check.measure(case)
            limit = found.limit * factor
            fine = found.error <= limit
            line = CheckLine(
                check.group, check.law, PASSED if fine else FAILED,
                found.error, limit, found.origin, case.index,
            )  # fmt: skip
            share = 0.0 if found.error == 0 else found.error / max(limit, 1e-300)
            if share > worst:
                worst, worst_line = share, line
    except NotApplicable as reason:
        return CheckLine(check.group, check.law, SKIPPED, reason=str(reason))
    except SingularityError as error:
        status = SKIPPED if check.inverts else FAILED
        return CheckLine(check.group, check.law, status, reason=str(error))
    except Exception as error:  # a check that cannot be carried out is a finding, not a crash
        reason = f"raised {type(error).__name__}: {error}"
        return CheckLine(check.group, check.law, FAILED, reason=reason)
    return worst_line
