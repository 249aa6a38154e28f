"""Times of a table: one column in s, ms, us or ns, or two of seconds and nanoseconds.

Times far from zero, such as those since 1970, and whole numbers of nanoseconds are longer than a
float: they are counted from the first sample, exactly. Of several columns of times the stamps of
the messages' headers are taken, if there is one set of them, because others are the times at which
a program received the messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kinetree.core.arrays import Array
from kinetree.core.tables import listing
from kinetree.core.units import Unit
from kinetree.errors import ParseError
from kinetree.motion.recordings import MAX_NAMES, SIGNALS, ReadRequest
from kinetree.motion.recordings.names import NANOSECOND, TIME, Meaning

PER_SECOND = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
SECOND = Unit("s", (("time", 1),))
STAMP = "seconds beside nanoseconds are whole, and nanoseconds from 0 to 999999999."
LATEST = 1e11  # s, three thousand years: larger times are in another unit
# s, three hours: a float resolves 2e-12 s there, 1e-9 of a period of 1 kHz, and times since 1970
# (2e-7 s) leave accelerations from differences wrong by 0.5 rad/s^2
FAR = 1e4


@dataclass(frozen=True)
class Clock:
    """The columns of the times: seconds (or another unit), and perhaps nanoseconds beside them."""

    column: int
    nanoseconds: int | None = None
    per_second: int = 1
    seconds: int = 1  # in one unit, if it is longer than a second
    header: bool = False  # stamps of the messages
    stated: bool = False  # the unit is, or is known from the names

    @property
    def exact(self) -> bool:
        """Whether the cells are whole numbers of us or ns, always counted from the first."""
        return self.nanoseconds is not None or self.per_second > 1000

    def counts_from(self, first: float) -> bool:
        """Whether times that begin with this cell are counted from it."""
        return self.exact or abs(first) * self.seconds / self.per_second > FAR

    @property
    def unit(self) -> str:
        """The unit of the cells, for messages."""
        longer = {60: "min", 3600: "h"}
        short = {count: unit for unit, count in PER_SECOND.items()}
        return longer.get(self.seconds, short.get(self.per_second, "s"))

    def in_seconds(self, x: Array) -> Array:
        """Times in s that a float can hold; whole numbers of `exact` clocks are counted apart."""
        return x * self.seconds / self.per_second if self.unit != "s" else x

    @property
    def columns(self) -> list[int]:
        """The columns that it takes."""
        return [self.column] if self.nanoseconds is None else [self.column, self.nanoseconds]


def find_clock(
    heads: Sequence[str], readings: Mapping[int, list[Meaning]], request: ReadRequest, where: str
) -> tuple[Clock | None, list[int], list[str]]:
    """The times, all columns that have times, and notes; None if there are none."""
    timed: dict[int, list[Meaning]] = {}
    for k, meanings in readings.items():
        times = [x for x in meanings if x.kind == TIME]
        other = [x for x in meanings if x.kind in SIGNALS]
        if times and other:
            options = [request.options.column(heads[k], x) for x in (TIME, f"q:{other[0].joint}")]
            raise ParseError(
                f"{where}: column {heads[k]!r} is a joint of {request.owner} and a usual name of "
                f"the times. State which: {' or '.join(options)}."
            )
        if times:
            timed[k] = times
    clocks = _clocks(heads, timed, request, where)
    if not clocks:
        if TIME in request.required:
            raise ParseError(
                f"{where}: no column 't' among {listing(heads, MAX_NAMES)}; expected the times in "
                f"s. If a column has them, state it: {request.options.column('NAME', 't')}."
            )
        return None, [], []
    stamps = [x for x in clocks if x.header]
    if len(clocks) > 1 and len(stamps) != 1:
        names = [heads[x.column] for x in clocks]
        raise ParseError(
            f"{where}: {listing(names, MAX_NAMES)} are times; expected one of them. Leave the "
            f"others out: {request.options.column(names[-1], '')}."
        )
    chosen = (stamps or clocks)[0]
    others = [heads[x.column] for x in clocks if x is not chosen]
    notes: list[str] = []
    if others:
        notes.append(
            f"times are the stamps of the messages, {heads[chosen.column]!r}; "
            f"{listing(others, MAX_NAMES)} is not used"
        )
    return chosen, list(timed), notes


def seconds_note(clock: Clock, head: str) -> list[str]:
    """A note on times that were converted."""
    return [f"times in {head!r} were converted from {clock.unit} to s"] * (clock.unit != "s")


def check_first(clock: Clock, head: str, first: float, request: ReadRequest, where: str) -> None:
    """Refuse times that cannot be seconds, such as nanoseconds since 1970."""
    if abs(first) > LATEST and clock.unit == "s":
        raise ParseError(
            f"{where}: {head!r} begins with {first:.16g}, which cannot be seconds. State its unit: "
            f"{request.options.column(head, 't[ns]')}, or t[us], or t[ms]."
        )


def _clocks(
    heads: Sequence[str], timed: Mapping[int, list[Meaning]], request: ReadRequest, where: str
) -> list[Clock]:
    """All clocks of a table: seconds and nanoseconds of the same name are one."""
    parts = {
        (x.part, x.origin, x.joint): k for k, meanings in timed.items() for x in meanings if x.part
    }
    second = {
        k: parts["nanosec", origin, base]
        for (part, origin, base), k in parts.items()
        if part == "sec" and ("nanosec", origin, base) in parts
    }
    clocks: list[Clock] = []
    for k, meanings in timed.items():
        if k in second.values():
            continue
        if any(x.part == "nanosec" for x in meanings):
            raise ParseError(
                f"{where}: column {heads[k]!r} has nanoseconds, and no column has the seconds. If "
                f"they are whole times, state it: {request.options.column(heads[k], 't[ns]')}."
            )
        unit = _unit(heads, k, meanings[0], request, where)
        header = meanings[0].origin == "header"
        stated = meanings[0].unit is not None or meanings[0].origin == "%" or k in second
        factors = int(unit.denominator), int(unit.numerator)
        clocks.append(Clock(k, second.get(k), *factors, header, stated))
    return clocks


def _unit(heads: Sequence[str], k: int, meaning: Meaning, request: ReadRequest, where: str) -> Unit:
    if meaning.origin == "%":
        if any(x.startswith("field.") for x in heads):
            return NANOSECOND  # rostopic echo -p
        raise ParseError(
            f"{where}: column {heads[k]!r} is a time whose unit is not certain. State it: "
            f"{request.options.column(heads[k], 't[ns]')} for nanoseconds, or t[s]."
        )
    unit = meaning.unit or SECOND
    if unit.dims != SECOND.dims:
        raise ParseError(
            f"{where}: column {heads[k]!r} is a time stated in {unit}; expected s, ms, us, ns, min "
            "or h."
        )
    return unit
