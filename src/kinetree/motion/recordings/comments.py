"""Comments of a recording are prose, unless one states the unit of a quantity and nothing else.

`angles in degrees`, `time: ms` and `tau [A]` are refused if the columns state no unit. Other
comments are not interpreted; one note names the first that mentions a unit other than SI.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kinetree.core.units import Unit, unit_of, units_in
from kinetree.errors import ParseError
from kinetree.model.units import RAD
from kinetree.motion.recordings import ReadRequest
from kinetree.motion.recordings.layout import Layout
from kinetree.motion.recordings.names import TIME, TIMES, WORDS
from kinetree.motion.recordings.units import dims_of, entries, si_unit

QUANTITIES = {**WORDS, **dict.fromkeys((*TIMES, "clock", "stamps"), TIME), "unit": ""}
STATEMENT = re.compile(
    r"(?i)[\s#]*(?:(?:all|the|joint|motor)\s+)*(?P<name>[a-z]+)\s*(?:\b(?:are|is)\b\s*)?"
    r"(?:\bunits?\b\s*)?(?:\bin\b|[:=\[(])\s*(?P<unit>[^\])]+?)\s*[\])]?\s*\.?"
)
LONGEST = 240  # signs of a comment that are looked at
SEARCHED = 100  # comments that are searched for the note


@dataclass(frozen=True)
class Column:
    """A column that states no unit: its quantity, name, target of a mapping, and SI unit."""

    quantity: str
    name: str
    target: str
    usual: str


def check_comments(
    request: ReadRequest, layout: Layout, comments: Iterable[tuple[str, str]]
) -> None:
    """Refuse a comment that states the unit of a quantity whose columns state none."""
    columns = list(_silent(request, layout))
    for where, comment in comments:
        for quantity, unit in _statements(comment):
            for column in columns:
                if quantity in ("", column.quantity) and _contradicts(unit, column):
                    raise _unstated(request, column, unit, comment, where)


def mention_note(
    request: ReadRequest, layout: Layout, comments: Iterable[tuple[str, str]]
) -> list[str]:
    """A note on the first comment that mentions another unit of columns that state none."""
    usual = {dims_of(x.usual): x for x in _silent(request, layout)}
    for _, (where, comment) in zip(range(SEARCHED), comments, strict=False):
        for _, unit in units_in(comment[:LONGEST]):
            if unit.dims in usual and not unit.si:
                column = usual[unit.dims]
                return [f"{where}: a comment mentions {unit}; {column.name} is in {column.usual}"]
    return []


def _statements(comment: str) -> Iterator[tuple[str, Unit]]:
    """Quantities ("" for all) and units of the clauses that consist of both alone."""
    for clause in re.split("[,;]", comment[:LONGEST]):
        match = STATEMENT.fullmatch(clause)
        quantity = QUANTITIES.get(match["name"].lower()) if match else None
        if match and quantity is not None and (unit := unit_of(match["unit"])):
            yield quantity, unit


def _contradicts(unit: Unit, column: Column) -> bool:
    """Whether a unit is another one of the column, or one that no column has: A, counts."""
    if unit.dims == dims_of(column.usual):
        return not unit.si
    is_letter = len(unit.text) == 1 and column.quantity != "tau"  # position: A
    return not unit.readable and not is_letter


def _unstated(
    request: ReadRequest, column: Column, unit: Unit, comment: str, where: str
) -> ParseError:
    head, target = column.target.split("=", 1)
    way = request.options.column(head, f"{target}[{unit if unit.readable else column.usual}]")
    return ParseError(
        f"{where}: the comment {comment[:60]!r} states {unit}, and {column.name} has no unit. "
        "State it: in its name, in a comment '# units: ...' with one unit for every "
        f"column, or by hand, {way}; or remove the comment."
    )


def _silent(request: ReadRequest, layout: Layout) -> Iterator[Column]:
    """The times and the entries of joint vectors for which neither file nor option has a unit."""
    if layout.clock is not None and not layout.clock.stated:
        head = layout.clock_name
        yield Column(TIME, f"the time {head!r}", f"{head}=t", "s")
    for quantity, units in layout.stated.items():
        for unit, kind, name in entries(request, quantity, units):
            in_degrees = request.degrees and kind == RAD and quantity != "tau"
            if unit is None and not in_degrees:
                target = f"NAME={quantity}:{name} "
                yield Column(quantity, f"{quantity} of {name}", target, si_unit(quantity, kind))
