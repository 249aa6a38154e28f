"""Comments of a text table that state units: never applied, and never passed over in silence.

A comment is free text, so one rule decides what its units mean:

- A unit behind a number is a value ("20 deg C", "every 10 ms"): at most a note.
- A unit behind a link (in, is, are, unit, a colon, an equals sign, a bracket) is stated for the
  quantities that the line names, or for all columns if it only has the word "unit", or consists of
  units alone. Refused if the columns state no unit and it is not SI. Beside a column that states
  another one it is refused only if the line declares units: it has the word "unit", or units
  alone. Prose ("original angles in degrees, converted") gives way to the column, with a note.
- A clause that begins with a quantity and a link, or is a quantity beside other words between
  commas or dashes, states the unit of that quantity, whatever the words are: if its columns state
  no unit, the words must be its SI unit, a value, a date, or begin with a name or a word of prose.
- A part of a unit behind "in" or "unit" ("angles in 1e-3 rad") is stated, too, and is never SI.
- A unit of a joint vector that stands elsewhere in the line, and one behind "in" without the name
  of a quantity, are doubtful: refused if it is not SI and the columns state no unit.

Turns, counts, parts and single letters have other meanings too: they count only behind a link in a
line that names the quantity.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from kinetree.base.later import dataclass
from kinetree.base.units import LENGTH, MASS, Unit, unit_of, unit_spans
from kinetree.base.units import TIME as TIME_BASE
from kinetree.errors import ParseError
from kinetree.model.units import RAD
from kinetree.motion.recordings import SIGNALS, ReadRequest
from kinetree.motion.recordings.layout import Layout
from kinetree.motion.recordings.names import (
    JOINT_WORDS,
    ORIGINS,
    TIME,
    TIMES,
    VOCABULARY,
    WORDS,
    WRAPPERS,
)
from kinetree.motion.recordings.units import JOINT_DIMS, dims_of, entries, in_degrees, si_unit

# units that no joint vector has, and quantities that files give in them
FOREIGN = {"A": ("tau",), "V": ("tau",), MASS: ("tau",), "%": SIGNALS, "counts": (TIME, *SIGNALS),
           "grad": ("q",), "rps": ("dq",)}  # fmt: skip
QUANTITIES = {**WORDS, **dict.fromkeys((*TIMES, "clock", "stamps"), TIME), "force": "tau",
              "forces": "tau"}  # fmt: skip
SUBJECTS = {**QUANTITIES, "current": "tau"}
ALL = frozenset((TIME, *SIGNALS))
WINDOW = 60  # signs of a comment that are read before a unit, or behind a link
MOST_SIGNS = 1 << 16  # of the comments of a file that are searched
UNSEARCHED = "are not searched for units"
OPEN, CLOSE = r"\"'\[({<", r",;\"'\])}>"
LINK = (
    rf"(?:\b(?P<word>in|is|are|as)\b|\b(?:units?|uom)\b|[:=\[({{<])[\s{OPEN}]{{0,8}}+"
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
# clauses of a comment; what a clause states about a quantity; what is not a unit
CLAUSE = re.compile(r"[,;|]|\.\s|\s-+\s")
ADJECTIVES = "|".join(
    ORIGINS | JOINT_WORDS | WRAPPERS | set("the all motor recorded units? of".split())
)
STATEMENT = re.compile(
    rf"(?i)[\s#{OPEN}]*(?:(?:{ADJECTIVES})\s+){{0,5}}(?P<name>[a-z]+)\d*[\"']?\s*"
    rf"(?:(?:(?:units?|uom)\s*)?(?P<link>\bin\b|\bas\b|[:=\[({{<])[\s{OPEN}]*|[\s_/>→-]+)"
    r"(?P<what>.+)"
)
DATE = re.compile(r"(?<![\w/*.])(?:19|20)\d\d\b|\b\d{1,2}:\d\d|\b\d+/\d+/\d+")
NUMBER = re.compile(r"[+-]?\d[\d.:eE+-]*(?=\s+[^\s*/x×·]|\s*$)")
PROSE = frozenset(
    "the a an all each every both its this that these which and or of from by with for to at not "
    "no as is are was unknown computed derived simulated recorded".split()
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
    mentions, statements = list(dict.fromkeys(_mentioned(comment))), list(_statements(comment))
    if not mentions and not statements:
        return []
    words = {x.lower() for x in re.findall("[A-Za-z]+", comment)}
    named = {SUBJECTS[x] for x in words if x in SUBJECTS}
    alone = _units_alone(comment)
    declares = len(alone) > 1 or bool(words & {"unit", "units", "uom"})
    if (declares or alone) and not named:
        named = set(ALL)
    notes: dict[str, None] = {}
    columns = list(_columns(request, layout))
    for mention in mentions:
        unit = mention.unit
        is_joint_unit = unit.dims in JOINT_DIMS and not mention.is_doubtful
        for column in columns:
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
    for quantity, what, is_unit in statements:
        silent = [x for x in columns if x.quantity == quantity and x.unit is None]
        is_value = not is_unit and bool(DATE.search(what) or NUMBER.match(what))
        if silent and not is_value and not _is_harmless(what, silent, layout):
            raise _silent(request, silent[0], unit_of(what) or what, comment, where)
    return list(notes)[:1]


def check_comments(
    request: ReadRequest, layout: Layout, comments: Iterable[tuple[str, str]], searched: int = 0
) -> tuple[list[str], int]:
    """Check comments, each with its place in messages; return notes, and the signs searched.

    searched: signs that were searched before; at most MOST_SIGNS of a file are, which bounds time.
    """
    notes: list[str] = []
    for where, comment in comments:
        notes += check_comment(request, layout, comment[: max(0, MOST_SIGNS - searched)], where)
        if searched <= MOST_SIGNS < searched + len(comment):
            notes.append(f"{where}: beyond {MOST_SIGNS:,} signs, comments {UNSEARCHED}")
        searched += len(comment)
    return notes, searched


def _statements(comment: str) -> Iterator[tuple[str, str, bool]]:
    """Quantities that clauses state something about, what, and whether it must be a unit."""
    clauses = CLAUSE.split(comment)
    if len(clauses) == 2 and not re.search(rf"(?i)\b(?:in|as)\b|[:={OPEN}]", clauses[0]):
        clauses = [": ".join(clauses)]  # time, ms
    for clause in clauses:
        match = STATEMENT.fullmatch(clause[: 4 * WINDOW])
        if match is None or match["name"].lower() not in QUANTITIES:
            continue
        what = BRACKETS.split(match["what"])[0].strip()
        unit = unit_of(what) if len(what) > 1 else None
        if match["link"] or (unit is not None and not Mention(unit).is_doubtful):
            is_unit = (match["link"] or "").lower() in ("in", "[") and not what.isdigit()
            yield QUANTITIES[match["name"].lower()], what, is_unit


def _is_harmless(what: str, columns: Sequence[Column], layout: Layout) -> bool:
    """Whether words behind a quantity are its SI unit, or begin with a name or as prose does."""
    words = what.split()
    start = re.split("[^a-z]", what.lower())[0]
    if not words or start in PROSE | VOCABULARY | QUANTITIES.keys():
        return True
    if words[0] in (*layout.heads, *layout.joints):
        return True
    for k in range(len(words), 0, -1):
        unit = unit_of(" ".join(words[:k]))
        if unit is not None and any(unit.dims == dims_of(x.usual) for x in columns):
            return unit.si and not re.search(r"[\d*/×%]", DATE.sub("", " ".join(words[k:])))
    return False


def _silent(
    request: ReadRequest, column: Column, unit: Unit | str, comment: str, where: str
) -> ParseError:
    head, target = column.target.split("=", 1)
    known = "UNIT"
    if isinstance(unit, Unit) and not math.isnan(unit.numerator):
        known = str(unit) if unit.readable else column.usual
    way = request.options.column(head, f"{target}[{known}]")
    return ParseError(
        f"{where}: the comment {comment[:60]!r} mentions {unit}, and {column.name} has no unit. "
        "State it: in its name, in a comment '# units: ...' with one unit for every "
        f"column, or by hand, {way}; or remove the comment."
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
    """The units of a line that consists of units alone, such as # ms and # mm/deg/ms."""
    parts = [x for x in re.split(r"[\s,;/|#]+", comment[: 4 * WINDOW]) if x]
    units = [unit for x in parts if (unit := unit_of(x)) is not None]
    is_clear = len(parts) > 1 or (len(units) == 1 and not Mention(units[0]).is_doubtful)
    return parts if is_clear and len(units) == len(parts) else []


def _one_unit(unit: Unit) -> bool:
    """Whether words of a comment together are one unit: `kg cm`, and not `ms deg`."""
    bases = {base for base, _ in unit.dims}
    per_time = TIME_BASE in bases and len(bases) == 2 and bool(bases & set(FOREIGN))
    return unit.dims in JOINT_DIMS or bases == {MASS, LENGTH} or per_time
