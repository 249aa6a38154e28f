"""Comments of a text table that state units: never applied, and never passed over in silence.

A comment is free text, so one rule decides what its units mean:

- A unit behind a number is a value ("20 deg C", "every 10 ms"): at most a note.
- A unit behind a link (in, is, are, unit, a colon, an equals sign, a bracket) is stated for the
  quantities that the line names, or for all columns if it only has the word "unit", or consists of
  units alone. Refused if the columns state no unit and it is not SI. Beside a column that states
  another one it is refused only if the line declares units: it has the word "unit", or units
  alone. Prose ("original angles in degrees, converted") gives way to the column, with a note.
- A part of a unit behind "in" or "unit" ("angles in 1e-3 rad") is stated, too, and is never SI.
- A unit of a joint vector that stands elsewhere in the line, and one behind "in" without the name
  of a quantity, are doubtful: refused if it is not SI and the columns state no unit.

Turns, counts, parts and single letters have other meanings too: they count only behind a link in a
line that names the quantity.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kinetree.base.units import LENGTH, MASS, Unit, unit_of, unit_spans
from kinetree.base.units import TIME as TIME_BASE
from kinetree.errors import ParseError
from kinetree.model.units import RAD
from kinetree.motion.recordings import SIGNALS, ReadRequest
from kinetree.motion.recordings.layout import Layout
from kinetree.motion.recordings.names import TIME, TIMES, WORDS
from kinetree.motion.recordings.units import JOINT_DIMS, dims_of, entries, in_degrees, si_unit

# units that no joint vector has, and quantities that files give in them
FOREIGN = {"A": ("tau",), "V": ("tau",), MASS: ("tau",), "%": SIGNALS, "counts": (TIME, *SIGNALS),
           "grad": ("q",), "rps": ("dq",)}  # fmt: skip
SUBJECTS = {**WORDS, **dict.fromkeys((*TIMES, "clock"), TIME), "current": "tau"}
ALL = frozenset((TIME, *SIGNALS))
WINDOW = 60  # signs of a comment that are read before a unit, or behind a link
OPEN, CLOSE = r"\"'\[({<", r",;\"'\])}>"
LINK = (
    rf"(?:\b(?P<word>in|is|are|as)\b|\b(?:units?|uom)\b|[:=\[({{<])[\s{OPEN}]*"
    r"(?:(?:encoder|motor|raw)\s+)*"
)
BEHIND_LINK = re.compile(rf"(?i){LINK}$")
TEXT = rf"[^:={CLOSE}]{{1,{WINDOW}}}?"
WHOLE = re.compile(rf"(?i){LINK}(?=(?P<unit>{TEXT})\s*(?:$|[{CLOSE}]|\.(?:\s|$)))")
VALUE = re.compile(r"(?i)(?<![\w.])(?<!joint )(?<!column )(?<!axis )\d[\d.]*(?:e[+-]?\d+)?\s*$")
# a part of a unit, which no column can state: "in 1e-3 rad", "unit: 0.1 deg", "in tenths of a deg"
PART = re.compile(
    r"(?i)(?:\b(?:in|as)\s+(?:0?\.0*1|1e[+-]?\d+|10(?:\^|\*\*)[+-]?\d+|1\s*/\s*\d+"
    r"|(?:ten|hundred|thousand|million)ths?\s+of(?:\s+an?)?)"
    rf"|\b(?:units?|uom)\b[\s:={OPEN}]*(?:of\s+)?\d[\d.e/^+-]*)[\s*·×]{{0,3}}"
    rf"(?P<unit>[^\s\d{CLOSE}]{{1,{WINDOW}}})"
)
BRACKETS = re.compile(r"[\[\](){}<>\"']")
CURRENT = re.compile(r"(?i)currents?")


@dataclass(frozen=True)
class Mention:
    """A unit in a comment: whether it is a value, stands behind a link, and behind "in"."""

    unit: Unit
    is_value: bool = False
    is_linked: bool = False
    is_in: bool = False

    @property
    def is_doubtful(self) -> bool:
        """Whether the word has other meanings too."""
        is_part = math.isnan(self.unit.numerator)  # "stopped in 0.1 s"
        return is_part or str(self.unit) == "rev" or ("counts", 1) in self.unit.dims


@dataclass(frozen=True)
class Column:
    """A column as a comment may state it: its name in messages, SI unit and stated unit."""

    quantity: str
    name: str
    target: str  # of a mapping by hand
    usual: str
    unit: Unit | None
    option: bool = False  # the unit is that of the option for degrees


def check_comment(request: ReadRequest, layout: Layout, comment: str, where: str) -> list[str]:
    """Refuse a comment whose units the columns do not state, or contradict; return notes."""
    mentions = list(dict.fromkeys(_mentioned(comment)))
    if not mentions:
        return []
    words = {x.lower() for x in re.findall("[A-Za-z]+", comment)}
    named = {SUBJECTS[x] for x in words if x in SUBJECTS}
    declares = bool(_units_alone(comment) or words & {"unit", "units", "uom"})
    if declares and not named:
        named = set(ALL)
    notes: dict[str, None] = {}
    for mention in mentions:
        unit = mention.unit
        is_joint_unit = unit.dims in JOINT_DIMS and not mention.is_doubtful
        for column in _columns(request, layout):
            same_kind = unit.dims == dims_of(column.usual)
            if not same_kind and not _is_foreign(unit, column.quantity):
                continue
            if not same_kind and column.quantity == TIME and named != {TIME}:
                continue  # "time in s, angles in counts"
            strong = mention.is_linked and column.quantity in named
            weak = is_joint_unit or (mention.is_in and not mention.is_doubtful and not named)
            beside = f"{where}: a comment mentions {unit}; {column.name} is in"
            if mention.is_value:
                if is_joint_unit and not unit.si and column.unit is None:
                    notes[f"{beside} {column.usual}, since nothing states another unit"] = None
            elif column.unit is None:
                if (strong or weak) and not unit.si:
                    raise _silent(request, column, unit, comment, where)
            elif (strong or weak) and same_kind and not unit.same(column.unit):
                if (declares and strong) or (column.option and (strong or not unit.si)):
                    raise _contradiction(request, column, unit, comment, where)
                notes[f"{beside} {column.unit}, as its column states"] = None
    return list(notes)[:1]


def _silent(
    request: ReadRequest, column: Column, unit: Unit, comment: str, where: str
) -> ParseError:
    head, target = column.target.split("=", 1)
    known = "UNIT" if math.isnan(unit.numerator) else unit if unit.readable else column.usual
    way = request.options.column(head, f"{target}[{known}]")
    return ParseError(
        f"{where}: the comment {comment[:60]!r} mentions {unit}, and {column.name} has no unit. "
        "State it: in its name, in a comment '# units: ...' with one unit for every "
        f"column, or by hand, {way}."
    )


def _contradiction(
    request: ReadRequest, column: Column, unit: Unit, comment: str, where: str
) -> ParseError:
    other = f"{column.name} is stated in {column.unit}"
    other = f"{request.options.degrees} states degrees" if column.option else other
    return ParseError(
        f"{where}: the comment {comment[:60]!r} states {unit}, and {other}; expected one unit. "
        "Correct the one that is wrong, or remove the comment."
    )


def _columns(request: ReadRequest, layout: Layout) -> Iterator[Column]:
    """The times and all entries of joint vectors."""
    if layout.clock is not None:
        unit = unit_of(layout.clock.unit) if layout.clock.stated else None
        head = layout.clock_name
        yield Column(TIME, f"the time {head!r}", f"{head}=t", "s", unit)
    for quantity, units in layout.stated.items():
        for unit, kind, name in entries(request, quantity, units):
            usual = si_unit(quantity, kind)
            option = unit is None and request.degrees and kind == RAD and quantity != "tau"
            yield Column(
                quantity, f"{quantity} of {name}", f"NAME={quantity}:{name} ", usual,
                in_degrees(usual) if option else unit, option,
            )  # fmt: skip


def _is_foreign(unit: Unit, quantity: str) -> bool:
    """Whether a unit that no joint vector has is taken for one of the quantity."""
    bases = [base for base, _ in unit.dims]
    return unit.dims != ((MASS, 1),) and any(quantity in FOREIGN.get(x, ()) for x in bases)


def _mentioned(comment: str) -> Iterator[Mention]:
    """Units of a comment: words of the table of units, and single letters behind a link."""
    plain = BRACKETS.sub(" ", comment)
    for start, _, unit in unit_spans(plain, _one_unit):
        before = comment[max(0, start - WINDOW) : start]
        link = BEHIND_LINK.search(before)
        is_in = link is not None and link["word"] is not None and link["word"].lower() == "in"
        yield Mention(unit, bool(VALUE.search(before)), link is not None, is_in)
    for match in WHOLE.finditer(comment):
        unit = unit_of("A" if CURRENT.fullmatch(match["unit"]) else match["unit"])
        if unit is not None:
            yield Mention(unit, False, True, (match["word"] or "").lower() == "in")
    for match in PART.finditer(comment):
        if (unit := unit_of(match["unit"].rstrip("."))) is not None:
            yield Mention(Unit(f"a part of {unit}", unit.dims, math.nan), is_linked=True)
    for text in _units_alone(comment):
        if (unit := unit_of(text)) is not None:
            yield Mention(unit, False, True)


def _units_alone(comment: str) -> list[str]:
    """The units of a line that consists of several and nothing else, such as # mm/deg/ms."""
    parts = [x for x in re.split(r"[\s,;/|#]+", comment[: 4 * WINDOW]) if x]
    return parts if len(parts) > 1 and all(map(unit_of, parts)) else []


def _one_unit(unit: Unit) -> bool:
    """Whether words of a comment together are one unit: `kg cm`, and not `ms deg`."""
    bases = {base for base, _ in unit.dims}
    per_time = TIME_BASE in bases and len(bases) == 2 and bool(bases & set(FOREIGN))
    return unit.dims in JOINT_DIMS or bases == {MASS, LENGTH} or per_time
