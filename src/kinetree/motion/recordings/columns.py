"""Which column of a file is which, and its numbers in SI units, in the order of the joints.

Columns that are mapped by hand come first, then those with the name of a joint, then complete sets
of numbered columns, in the order of the joints. Columns without a meaning are ignored, with one
note, unless their names state a quantity that the recording lacks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import listing, nearest
from kinetree.core.units import Unit, unit_of
from kinetree.errors import ParseError
from kinetree.motion.recordings import (
    MAX_NAMES,
    SIGNALS,
    TIME,
    ReadRequest,
    Source,
    Table,
    by_hand,
)
from kinetree.motion.recordings.names import (
    Meaning,
    discovered,
    joints_by_words,
    meaning,
    quantities,
    without_unit,
)
from kinetree.motion.recordings.si import SECOND, factors, seconds
from kinetree.motion.recordings.sizes import check_names

PLACES = re.compile(r"[1-9]\d*-[1-9]\d*")  # columns by their numbers, 2-7
TARGET = re.compile(r"(t|q|dq|ddq|tau)(?::(.+))?")


def table_of(source: Source, request: ReadRequest) -> Table:
    """The table of a file: columns that the request asks for, in SI units."""
    heads = source.heads
    if heads is None:
        heads = _numbered(source, request)
    check_names(heads, source.where)
    header = _Header(tuple(x.strip() for x in heads), request, source.where)
    places = header.places()
    header.note_unused()
    named = {x: [(header.heads[k], header.found[k]) for k in own] for x, own in places.items()}
    notes = [*source.notes, *header.notes]
    scales = factors(request, named, notes, source.where)
    used = [k for own in places.values() for k in own]
    cells = source.read(used, [*header.clock])
    values: dict[str, Array] = {}
    for quantity, own in places.items():
        values[quantity] = np.stack([cells[k] for k in own], axis=1)
        values[quantity] *= scales[quantity]
    if header.clock:
        columns = [(cells[k], unit) for k, unit in header.clock.items()]
        values[TIME] = seconds(columns, header.heads[min(header.clock)], source, notes)
    elif request.rate is not None:
        values[TIME] = np.arange(len(next(iter(values.values())))) / request.rate
    return Table(values, header.joints(), source.row, source.where, tuple(notes))


def _numbered(source: Source, request: ReadRequest) -> list[str]:
    """Names for a table without any: their numbers, or the quantities of the request in order."""
    if request.columns:
        return [str(k + 1) for k in range(source.width)]
    heads: list[str] = []
    for quantity in request.unnamed:
        heads += [f"{quantity}:{x}" for x in request.names(quantity)]
        if len(heads) == source.width:
            return heads
    raise ParseError(
        f"{source.where}: {source.width} columns without names. Name them in the first line: t, "
        f"q:JOINT, ...; or map them by their numbers, such as {by_hand('1', 't')}."
    )


@dataclass
class _Header:
    """The names of a table while their meanings are found.

    found: meaning of every column that is used, but of the times. clock: columns of the times, and
    their units.
    """

    heads: tuple[str, ...]
    request: ReadRequest
    where: str
    notes: list[str] = field(default_factory=list[str])
    found: dict[int, Meaning] = field(default_factory=dict[int, Meaning])
    mapped: dict[int, Meaning | None] = field(default_factory=dict[int, Meaning | None])
    clock: dict[int, Unit] = field(default_factory=dict[int, Unit])

    def fail(self, text: str) -> NoReturn:
        raise ParseError(f"{self.where}: {text}")

    def __post_init__(self) -> None:
        self.map_by_hand()
        self.found = {k: x for k, x in self.mapped.items() if x is not None}
        self.name([k for k in range(len(self.heads)) if k not in self.mapped])
        self.take_clock()
        if text := ", ".join(filter(None, map(self.number, SIGNALS))):
            self.notes.append(f"numbered columns are taken in the order of the joints: {text}")

    # ----- meanings

    def name(self, others: Sequence[int]) -> None:
        """Meanings of columns by their names."""
        joints = self.request.joints or discovered(self.heads[k] for k in others)
        known = joints_by_words(joints)
        single = self.request.model is not None and self.request.model.n == 1
        for k in others:
            head = self.heads[k]
            if head == TIME or head in joints:
                self.found[k] = Meaning(TIME) if head == TIME else Meaning("q", head)
                continue
            body, _ = self.split(head, joints)
            found = meaning(body, known) if body not in joints else Meaning("q", body)
            if found and (found.kind == TIME or found.joint or found.number is not None or single):
                self.found[k] = replace(found, unit=self.unit(head, joints) or found.unit)

    def split(self, head: str, joints: Sequence[str]) -> tuple[str, str]:
        """A name without its unit, and the text of the unit."""
        quantity, colon, joint = head.partition(":")
        if colon and quantity in SIGNALS:
            body, bracket = without_unit(joint, joints)
            return f"{quantity}:{body}", bracket
        return without_unit(head, joints)

    def unit(self, head: str, joints: Sequence[str], target: str = "") -> Unit | None:
        """The unit of a target, or else of a name."""
        text = target or self.split(head, joints)[1]
        unit = unit_of(text) if text else None
        if text and unit is None:
            self.fail(
                f"column {head!r} is in {text!r}, which is no unit that is read, as rad, deg/s, "
                f"N m and ms are. State the unit: {by_hand(head, 'q:JOINT [UNIT]')}."
            )
        return unit

    def map_by_hand(self) -> None:
        """Meanings of the columns that the request maps, None for those that are left out."""
        for pattern, target in self.request.columns.items():
            pairs = matches(self.heads, pattern, target)
            if not pairs and PLACES.fullmatch(pattern):
                first, last = map(int, pattern.split("-"))
                pairs = [(k, target) for k in range(first - 1, min(last, len(self.heads) + 1))]
            if not pairs or pairs[-1][0] >= len(self.heads):
                self.fail(
                    f"there is no column {pattern!r} to map; the file has "
                    f"{listing(self.heads, MAX_NAMES)}.{nearest(pattern, self.heads)}"
                )
            for k, own in pairs:
                if k in self.mapped:
                    self.fail(f"column {self.heads[k]!r} is mapped twice; expected once.")
                self.mapped[k] = self.target(k, pattern, own) if own else None

    def target(self, k: int, pattern: str, text: str) -> Meaning:
        """The meaning that a mapping gives a column: t, t[ms], q, q:JOINT, q:JOINT [deg]."""
        head, joints = self.heads[k], self.request.joints
        body, bracket = self.split(text.strip(), joints)
        match = TARGET.fullmatch(body)
        if match is None or (match[1] == TIME and match[2]):
            self.fail(
                f"column {pattern!r} is mapped to {text!r}; expected t, q:JOINT, dq:JOINT, "
                "ddq:JOINT or tau:JOINT, with a unit or without, or nothing to leave it out."
            )
        kind, joint = match[1], match[2]
        if joint and self.request.model and joint not in self.request.names(kind):
            self.refuse_joint(f"the target {text!r} of {pattern!r}", joint, kind)
        unit = self.unit(head, joints, bracket)
        if joint or kind == TIME:
            return Meaning(kind, joint, unit=unit)
        numbers = re.findall(r"\d+", head)
        if not numbers or not ("*" in pattern or PLACES.fullmatch(pattern)):
            self.fail(f"column {head!r} is mapped to {kind!r} alone; expected {kind}:JOINT.")
        return Meaning(kind, number=int(numbers[-1]), unit=unit)

    def take_clock(self) -> None:
        """Move the times from `found` to `clock`: one column, or seconds beside nanoseconds."""
        times = {k: self.found.pop(k) for k, x in list(self.found.items()) if x.kind == TIME}
        chosen = {k: x for k, x in times.items() if x.header} or times
        fine = [k for k, x in chosen.items() if x.unit is not None and x.unit.text == "ns"]
        if len(chosen) > 1 + (len(chosen) == 2 and len(fine) == 1):
            self.refuse_two("times", *list(chosen)[-2:])
        if chosen and self.request.rate is not None:
            self.fail(f"{self.request.rate:g} Hz are given, and times; leave out one of them.")
        if not chosen and TIME in self.request.required and self.request.rate is None:
            self.fail(
                f"no column 't' among {listing(self.heads, MAX_NAMES)}; expected the times in s. "
                f"If a column has them, state it: {by_hand('NAME', 't')}."
            )
        self.clock = {k: x.unit or SECOND for k, x in chosen.items()}
        for k, unit in self.clock.items():
            if unit.dims != SECOND.dims:
                self.fail(f"column {self.heads[k]!r} is a time stated in {unit}; expected s, ms.")
        if len(chosen) < len(times):
            self.notes.append("times are the stamps of the messages")

    def number(self, quantity: str) -> str:
        """Give the numbered columns of a quantity the joints of their order, and say which."""
        numbers: dict[int, int] = {}
        for k, x in self.found.items():
            if x.kind == quantity and x.joint is None:
                if x.number in numbers:
                    self.refuse_two(f"{quantity} {x.number}", numbers[x.number], k)
                numbers[x.number or 0] = k
        if not numbers:
            return ""
        every = tuple(f"joint_{k}" for k in range(1, len(numbers) + 1))
        names = every if self.request.model is None else self.request.names(quantity)
        start, order = min(numbers), [numbers[k] for k in sorted(numbers)]
        heads = [self.heads[k] for k in order]
        complete = sorted(numbers) == list(range(start, start + len(names)))
        if not complete or not self.request.plain or (start > 1 and order[0] not in self.mapped):
            self.fail(
                f"{listing(heads, MAX_NAMES)} are numbered columns of {quantity}; expected one for "
                f"each of {listing(names, MAX_NAMES)}, from 1 or from 0. State them: "
                f"{by_hand(heads[0], f'{quantity}:JOINT')}; nothing after the sign leaves one out."
            )
        for k, joint in zip(order, names, strict=True):
            self.found[k] = replace(self.found[k], joint=joint)
        if quantity == "q":
            return ", ".join(f"{x} is {joint}" for x, joint in zip(heads, names, strict=True))
        return f"{' to '.join(dict.fromkeys([heads[0], heads[-1]]))} are {quantity}"

    def joints(self) -> tuple[str, ...]:
        """Names of the entries of q: of the robot, or of the columns in their order."""
        if self.request.model is not None:
            return self.request.model.coordinate_names
        kinds_found = {x.kind for x in self.found.values()}
        kind = next((x for x in SIGNALS if x in kinds_found), "q")
        order = sorted(self.found, key=lambda k: (self.found[k].number or 0, k))
        return tuple(self.found[k].joint or "" for k in order if self.found[k].kind == kind)

    def places(self) -> dict[str, list[int]]:
        """The columns of every quantity in the order of the joints."""
        at: dict[tuple[str, str], int] = {}
        for k, x in self.found.items():
            known = self.request.names(x.kind) or self.joints()
            if x.joint not in known:
                self.refuse_joint(f"column {self.heads[k]!r}", x.joint or "", x.kind)
            key = x.kind, x.joint or ""
            if key in at:
                self.refuse_two(f"{x.kind} of {x.joint}", at[key], k)
            at[key] = k
        places: dict[str, list[int]] = {}
        for quantity in SIGNALS:
            known = self.request.names(quantity) or self.joints()
            missing = [x for x in known if (quantity, x) not in at]
            if {*missing} & {*self.request.optional}:  # then those of the motors are wanted
                known = tuple(x for x in known if x not in self.request.optional)
                missing = [x for x in missing if x in known]
            required = quantity in self.request.required
            if (missing and (len(missing) < len(known) or required)) or (required and not known):
                self.refuse_missing(quantity, missing or ["JOINT"])
            if known and not missing:
                places[quantity] = [at[quantity, x] for x in known]
        return places

    def note_unused(self) -> None:
        """Note columns without a meaning; refuse those that may be a quantity that is missing."""
        used = {*self.found, *self.mapped, *self.clock}
        unused = [x for k, x in enumerate(self.heads) if k not in used]
        known = {x.kind for x in self.found.values()}
        for head in unused:
            for quantity in sorted(quantities(head) - known):
                self.fail(
                    f"column {head!r} may be {quantity}, which the recording lacks. State it: "
                    f"{by_hand(head, f'{quantity}:JOINT [UNIT]')}; or leave it out: "
                    f"{by_hand(head, '')}."
                )
        if unused:
            self.notes.append(f"not used: {listing(unused, MAX_NAMES)}")

    # ----- refusals

    def refuse_two(self, what: str, one: int, other: int) -> NoReturn:
        a, b = self.heads[one], self.heads[other]
        self.fail(
            f"columns {a!r} and {b!r} both are {what}; expected one. Leave the other out: "
            f"{by_hand(b, '')}."
        )

    def refuse_joint(self, what: str, joint: str, kind: str) -> NoReturn:
        known = self.request.names(kind) or self.joints()
        self.fail(
            f"unknown joint {joint!r} in {what}; {self.request.owner} has "
            f"{listing(known, MAX_NAMES)}.{nearest(joint, known)} To leave a column out: "
            f"{by_hand('NAME', '')}."
        )

    def refuse_missing(self, quantity: str, missing: Sequence[str]) -> NoReturn:
        others = [x for k, x in enumerate(self.heads) if k not in self.found]
        self.fail(
            f"{quantity} of {listing(missing, MAX_NAMES)} is missing; columns that are not read: "
            f"{listing(others, MAX_NAMES) or 'none'}. If one has it under another name: "
            f"{by_hand('NAME', f'{quantity}:{missing[0]}')}."
        )


def matches(heads: Sequence[str], pattern: str, target: str | None) -> list[tuple[int, str | None]]:
    """Names that a pattern with stars fits, each with the target, whose stars are filled in."""
    if pattern.strip() in heads:
        return [(k, target) for k, head in enumerate(heads) if head == pattern.strip()]
    form = re.compile("(.*)".join(map(re.escape, pattern.strip().split("*"))))
    found: list[tuple[int, str | None]] = []
    for k, head in enumerate(heads):
        if match := form.fullmatch(head):
            own = target
            for text in match.groups():
                own = own and own.replace("*", text, 1)
            found.append((k, own))
    return found
