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
LATEST = 10**11  # s, three thousand years: larger times are in another unit
# s, three hours: a float resolves 2e-12 s there, 1e-9 of a period of 1 kHz, and times since 1970
# (2e-7 s) leave accelerations from differences wrong by 0.5 rad/s^2
FAR = 10**4
Named = tuple[str, Meaning]  # a column: its name, and what it states


def factors(
    request: ReadRequest, named: Mapping[str, Sequence[Named]], notes: list[str], where: str
) -> dict[str, Array]:
    """Numbers, (n,), that make SI units of the columns of each quantity.

    If one angle (length, force) is not in SI units, all must state theirs.
    """
    scales: dict[str, Array] = {}
    silent: dict[str, str] = {}  # a column without a unit by kind, and one in another unit
    other: dict[str, str] = {}
    for quantity, columns in named.items():
        scales[quantity] = np.ones(len(columns))
        for k, (kind, (head, x)) in enumerate(
            zip(_kinds(request, quantity, columns), columns, strict=True)
        ):
            group = "tau" if quantity == "tau" else kind
            in_degrees = request.degrees and group == RAD
            if x.unit is None:
                scales[quantity][k] = DEGREE if in_degrees else 1
                silent |= {} if in_degrees else {group: head}
                continue
            scales[quantity][k] = _factor(x.unit, quantity, kind, f"{where}: column {head!r}")
            if in_degrees and scales[quantity][k] != DEGREE:
                degrees = argument("degrees", True)
                raise ParseError(f"{where}: column {head!r} is in {x.unit}, but {degrees}.")
            if not x.unit.si:
                other[group] = head
                notes.append(f"{quantity} in {x.unit}, as stated, was converted")
    notes[:] = dict.fromkeys(notes)
    for group in other.keys() & silent.keys():
        raise ParseError(
            f"{where}: column {other[group]!r} is not in SI units, and {silent[group]!r} states no "
            f"unit. State the unit of both, or map them: {by_hand('NAME', 'q:JOINT [UNIT]')}."
        )
    return scales


def _factor(unit: Unit, quantity: str, kind: str, column: str) -> float:
    """The factor of a unit, which must be one of the quantity."""
    expected = unit_of(si_unit(quantity, kind))
    if expected is not None and unit.dims != expected.dims:
        raise ParseError(
            f"{column} is in {unit}; expected {expected} or another unit of {quantity}."
        )
    return unit.numerator / unit.denominator


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
    units = [u for _, u in columns]
    whole = all(_exact(x).dtype == object for x, _ in columns)
    parts = ((_exact(x) if whole else _exact(x).astype(float), u) for x, u in columns)
    t = sum(x * int(u.numerator) / int(u.denominator) for x, u in parts)
    assert isinstance(t, np.ndarray)
    for k in np.flatnonzero(abs(t) > LATEST)[:1].tolist():
        raise ParseError(
            f"{source.row(k)}: {head!r} is {str(cells[k])[:40]}, which is not a time in {unit}. "
            f"State its unit: {by_hand(head, 't[ns]')}, or us, or ms."
        )
    notes += [f"times were converted from {u} to s" for u in units if not u.si]
    fine = date != "m" and any(u.denominator > 1000 for u in units)
    if abs(t[0]) > FAR or fine:
        notes.append(f"times are counted from the first, {t[0]:.9f} s")
        t = t - t[0]
    return t.astype(float)


def _exact(cells: Any) -> Array:
    """Numbers whose sums and differences are exact: decimals of texts and of whole numbers."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind not in "iu":
        return cells.astype(float)
    whole = cells.tolist() if isinstance(cells, np.ndarray) else cells
    return np.array([Decimal(x) for x in whole], object)
