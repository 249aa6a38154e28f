"""Check: a law as a measurement at one state; `carry_out` runs it over all states."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kinetree.base.arrays import ArrayLike
from kinetree.errors import SingularityError
from kinetree.testing.case import EPS, Case, size
from kinetree.testing.report import FAILED, PASSED, SKIPPED, CheckLine

OPERATIONS = 4  # rounding errors that a link may add to a result, in norm; one is typical
DIFFERENCES = 60  # truncation and rounding of a difference of order six, in units of eps^(6/7)


class NotApplicable(Exception):
    """The check does not apply to this robot; the message is the reason."""


@dataclass(frozen=True)
class Measured:
    """An error relative to the compared terms, its limit, and the origin of the limit."""

    error: float
    limit: float
    origin: str


@dataclass(frozen=True)
class Check:
    """A law of `group`, measured at one state; `inverts` is True if it needs an inverse of M."""

    group: str
    law: str
    measure: Callable[[Case], Measured]
    inverts: bool = False


def rounding(case: Case, error: ArrayLike, scale: float) -> Measured:
    """An error that only rounding may cause; `scale` is the size of the terms."""
    links = len(case.model.links)
    return Measured(
        ratio(error, scale), OPERATIONS * (links + 4) * EPS, f"rounding over {links} links"
    )


def differences(error: ArrayLike, scale: float) -> Measured:
    """An error that also contains the truncation of differences of order six."""
    return Measured(
        ratio(error, scale), DIFFERENCES * EPS ** (6 / 7), "differences of order 6: eps^(6/7)"
    )


def inverting(case: Case, error: ArrayLike) -> Measured:
    """An error of accelerations, in which M^-1 magnifies the rounding of the joint forces."""
    plain = rounding(case, error, size(case.ddq))
    grown = plain.limit * case.scatter / size(case.ddq)
    return Measured(plain.error, grown, f"rounding through M^-1, cond(M) = {case.condition:.1e}")


def ratio(error: ArrayLike, scale: float) -> float:
    """Size of the error over the scale; 0 / 0 is 0."""
    length = size(error)
    if length == 0:
        return 0.0
    return length / scale if scale > 0 else float("inf")


def carry_out(check: Check, cases: Sequence[Case], factor: float) -> CheckLine:
    """The line of a check: its worst state, or the reason why it was skipped or failed."""
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
