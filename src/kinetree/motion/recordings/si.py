"""Numbers of a recording in SI units: factors of the units that columns state, and times."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.units import Unit, unit_of
from kinetree.errors import ParseError, argument
from kinetree.model.units import DEGREE, METRE, PER_TIME, RAD, kinds
from kinetree.motion.recordings import ReadRequest, Source, by_hand
from kinetree.motion.recordings.names import Meaning

SECOND = Unit("s", (("time", 1),))
NANOSECOND = Unit("ns", (("time", 1),), 1, 10**9)
LATEST = 1e11  # s, three thousand years: larger times are in another unit
# s, three hours: a float resolves 2e-12 s there, 1e-9 of a period of 1 kHz, and times since 1970
# (2e-7 s) leave accelerations from differences wrong by 0.5 rad/s^2
FAR = 1e4
Named = tuple[str, Meaning]  # a column: its name, and what it states


def si_factors(
    request: ReadRequest, quantity: str, columns: Sequence[Named], notes: list[str], where: str
) -> tuple[Array, Array]:
    """Numerators and denominators that make SI units of the columns of a quantity, (n,) each."""
    numerator, denominator = np.ones((2, len(columns)))
    stated: dict[Unit, None] = {}
    for k, ((head, found), kind) in enumerate(
        zip(columns, _kinds(request, quantity, columns), strict=True)
    ):
        in_degrees = request.degrees and kind == RAD and quantity != "tau"
        if found.unit is None:
            numerator[k] = DEGREE if in_degrees else 1
            continue
        numerator[k], denominator[k] = found.unit.numerator, found.unit.denominator
        expected = unit_of(si_unit(quantity, kind))
        if expected is not None and found.unit.dims != expected.dims:
            raise ParseError(
                f"{where}: column {head!r} is in {found.unit}; expected {expected} or another unit "
                f"of {quantity}."
            )
        if in_degrees and (numerator[k], denominator[k]) != (DEGREE, 1):
            raise ParseError(
                f"{where}: column {head!r} is in {found.unit}, and {argument('degrees', True)} "
                "states degrees."
            )
        if not found.unit.si:
            stated[found.unit] = None
    notes += [f"{quantity} in {x}, as stated, was converted" for x in stated]
    return numerator, denominator


def check_stated(columns: Mapping[str, Sequence[Named]], request: ReadRequest, where: str) -> None:
    """If one angle (length, force) is not in SI units, all angles must state their units."""
    silent: dict[str, str] = {}  # columns without a unit by kind, and columns in other units
    other: dict[str, str] = {}
    for quantity, own in columns.items():
        for (head, found), kind in zip(own, _kinds(request, quantity, own), strict=True):
            group = "tau" if quantity == "tau" else kind
            if found.unit is not None:
                other |= {} if found.unit.si else {group: head}
            elif not (request.degrees and group == RAD):
                silent[group] = head
    for group in other.keys() & silent.keys():
        raise ParseError(
            f"{where}: column {other[group]!r} is not in SI units, and {silent[group]!r} states no "
            f"unit. State the unit of both, or map them: {by_hand('NAME', 'q:JOINT [UNIT]')}."
        )


def _kinds(request: ReadRequest, quantity: str, columns: Sequence[Named]) -> Sequence[str]:
    """Whether the columns are angles, lengths or numbers; without a robot, by their units."""
    if request.model is None:
        slide = unit_of(si_unit(quantity, METRE))
        units = [found.unit for _, found in columns]
        return [METRE if x and slide and x.dims == slide.dims else RAD for x in units]
    every = dict(zip(request.names(quantity), kinds(request.model, quantity), strict=True))
    return [every[found.joint or ""] for _, found in columns]


def si_unit(quantity: str, kind: str) -> str:
    """The SI unit of a quantity of a kind of joint."""
    if quantity == "tau":
        return "N" if kind == METRE else "N m"
    return kind + PER_TIME[quantity] if kind else "1"


def seconds(
    columns: Sequence[tuple[Any, Unit]], head: str, source: Source, notes: list[str]
) -> Array:
    """Times in s, the sum of columns; dates, us, ns and times far from zero count from the first.

    columns: numbers, dates, or texts of numbers, (T,), with their units.
    """
    cells, unit = columns[0]
    date = cells.dtype.kind if isinstance(cells, np.ndarray) else ""
    if date in ("m", "M"):
        if np.isnat(cells).any():
            raise ParseError(f"{source.row(int(np.isnat(cells).argmax()))}: {head!r} is missing.")
        columns = [(cells.astype(f"{date}8[ns]").astype(np.int64), NANOSECOND)]
    t = sum(np.asarray(x, float) * u.numerator / u.denominator for x, u in columns)
    assert isinstance(t, np.ndarray)
    for k in np.flatnonzero(np.abs(t) > LATEST)[:1].tolist():
        raise ParseError(
            f"{source.row(k)}: {head!r} is {str(cells[k])[:40]}, which is not a time in {unit}. "
            f"State its unit: {by_hand(head, 't[ns]')}, or us, or ms."
        )
    notes += [f"times were converted from {u} to s" for _, u in columns if not u.si]
    fine = date != "m" and any(u.denominator > 1000 for _, u in columns)
    if abs(t[0]) <= FAR and not fine:
        return t
    exact = [(_exact(x), u) for x, u in columns]
    start = sum(Decimal(str(x[0])) * int(u.numerator) / int(u.denominator) for x, u in exact)
    notes.append(f"times are counted from the first, {start:.9f} s")
    t = sum((x - x[0]).astype(float) * u.numerator / u.denominator for x, u in exact)
    assert isinstance(t, np.ndarray)
    return t


def _exact(cells: Any) -> Any:
    """Numbers whose differences are exact: whole numbers, or decimals of their texts."""
    if isinstance(cells, np.ndarray):
        return cells.astype(np.int64) if cells.dtype.kind in "iu" else cells
    return np.array([Decimal(x) for x in cells], object)
