"""Which column of a file is which, and its numbers in SI units, in the order of the joints.

Columns that are mapped by hand come first, then those with the name of a joint, then complete sets
of numbered columns, in the order of the joints. Columns without a meaning are ignored, with one
note, unless their names state a quantity that the recording lacks.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np

from kinetree.core.text import counted, listing, nearest
from kinetree.core.units import Unit, unit_of
from kinetree.errors import ParseError
from kinetree.motion.recordings import (
    FRICTION_STATE,
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
from kinetree.motion.recordings.si import SECOND, check_stated, seconds, si_factors
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
    header.find()
    places = header.places()
    header.note_unused()
    named = {x: [(header.heads[k], header.found[k]) for k in own] for x, own in places.items()}
    notes = [*source.notes, *header.notes]
    factors = {x: si_factors(request, x, own, notes, source.where) for x, own in named.items()}
    check_stated(named, request, source.where)
    used = [k for own in places.values() for k in own]
    cells = source.read([*used, *header.friction.values()], [*header.clock])
    values = {x: cells[k][:, None] for x, k in header.friction.items()}
    for quantity, own in places.items():
        numerator, denominator = factors[quantity]
        values[quantity] = np.stack([cells[k] for k in own], axis=1)
        values[quantity] *= numerator
        values[quantity] /= denominator
    clock = TIME
    if header.clock:
        clock = header.heads[min(header.clock)]
        columns = [(cells[k], unit) for k, unit in header.clock.items()]
        values[TIME] = seconds(columns, clock, source, notes)
    return Table(values, header.joints(), source.row, source.where, tuple(notes), clock)


def _numbered(source: Source, request: ReadRequest) -> list[str]:
    """Names for a table without any: their numbers, or the quantities of the request in order."""
    width = source.width
    if request.columns:
        return [str(k + 1) for k in range(width)]
    heads: list[str] = []
    expected: list[str] = []
    for quantity in request.unnamed:
        heads += [f"{quantity}:{x}" for x in request.names(quantity)]
        expected.append(str(len(heads)))
        if len(heads) == width:
            return heads
    first = (request.names("q") or ("JOINT",))[0]
    takes = f"{request.owner} takes {' or '.join(expected)}" if expected else "expected names"
    raise ParseError(
        f"{source.where}: {counted(width, 'column')} without names; {takes}. Name them in the "
        f"first line: t, q:{first}, ...; or map them by their numbers, such as {by_hand('1', 't')}."
    )


@dataclass
class _Header:
    """The names of a table while their meanings are found.

    found: meaning of every column that is used, but of the times. clock: columns of the times, and
    their units. friction: columns of states of friction.
    """

    heads: tuple[str, ...]
    request: ReadRequest
    where: str
    notes: list[str] = field(default_factory=list[str])
    found: dict[int, Meaning] = field(default_factory=dict[int, Meaning])
    left_out: set[int] = field(default_factory=set[int])
    clock: dict[int, Unit] = field(default_factory=dict[int, Unit])
    friction: dict[str, int] = field(default_factory=dict[str, int])

    def fail(self, text: str) -> NoReturn:
        raise ParseError(f"{self.where}: {text}")

    def find(self) -> None:
        """Find the meaning of every column."""
        mapped = self.mapped()
        self.left_out = {k for k, x in mapped.items() if x is None}
        self.found = {k: x for k, x in mapped.items() if x is not None}
        others = [k for k in range(len(self.heads)) if k not in mapped]
        self.friction = {x: k for k in others if (x := self.heads[k]).startswith(FRICTION_STATE)}
        self.name([k for k in others if k not in self.friction.values()])
        self.take_clock()
        pairs = [self.number(quantity, {*mapped}) for quantity in SIGNALS]
        if any(pairs):
            text = ", ".join(filter(None, pairs))
            self.notes.append(f"numbered columns are taken in the order of the joints: {text}")

    # ----- meanings

    def name(self, others: Sequence[int]) -> None:
        """Meanings of columns by their names."""
        heads = [self.heads[k] for k in others]
        request = self.request
        names = [*request.names("q"), *request.names("dq")]
        joints = names if request.model else discovered(heads)
        known = joints_by_words(joints)
        for k, head in zip(others, heads, strict=True):
            if head == TIME:
                self.found[k] = Meaning(TIME)
            elif head in joints:
                self.found[k] = Meaning("q", head)
            else:
                body, _ = self.split(head, joints)
                found = meaning(body, known) if body not in joints else Meaning("q", body)
                if found and (found.kind == TIME or found.joint or found.number is not None
                              or (request.model and request.model.n == 1)):  # fmt: skip
                    unit = self.unit(head, joints) or found.unit
                    self.found[k] = replace(found, unit=unit)

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
                f"column {head!r} is in {text!r}, which is not a unit that is read; expected one "
                "such as rad, deg/s, N m or ms. Convert it, or state the unit of its numbers with "
                f"{by_hand(head, 'q:JOINT [UNIT]')}."
            )
        return unit

    def mapped(self) -> dict[int, Meaning | None]:
        """Meanings of the columns that the request maps, None for those that are left out."""
        found: dict[int, Meaning | None] = {}
        for pattern, target in self.request.columns.items():
            for k, own in self.fitting(pattern, target):
                if k in found:
                    self.fail(f"column {self.heads[k]!r} is mapped twice; expected once.")
                found[k] = self.target(k, pattern, own) if own else None
        return found

    def fitting(self, pattern: str, target: str | None) -> list[tuple[int, str | None]]:
        """Columns of that name, range of numbers or name with stars, each with its target."""
        pairs = matches(self.heads, pattern, target)
        if not pairs and PLACES.fullmatch(pattern):
            first, last = map(int, pattern.split("-"))
            if not first <= last <= len(self.heads):
                self.fail(f"columns {pattern} are mapped; the file has 1 to {len(self.heads)}.")
            pairs = [(k, target) for k in range(first - 1, last)]
        if not pairs:
            self.fail(
                f"there is no column {pattern!r} to map; the file has "
                f"{listing(self.heads, MAX_NAMES)}.{nearest(pattern, self.heads)}"
            )
        return pairs

    def target(self, k: int, pattern: str, text: str) -> Meaning:
        """The meaning that a mapping gives a column: t, t[ms], q, q:JOINT, q:JOINT [deg]."""
        head = self.heads[k]
        joints = [*self.request.names("q"), *self.request.names("dq")]
        body, bracket = self.split(text.strip(), joints)
        match = TARGET.fullmatch(body)
        if match is None or (match[1] == TIME and match[2]):
            self.fail(
                f"column {pattern!r} is mapped to {text!r}; expected t, t[ms], q:JOINT, dq:JOINT, "
                "ddq:JOINT or tau:JOINT, or nothing to leave it out."
            )
        kind, joint = match[1], match[2]
        names = self.request.names(kind)
        if joint and names and joint not in names:
            self.fail(
                f"column {pattern!r} is mapped to {text!r}; {self.request.owner} has "
                f"{', '.join(names[:MAX_NAMES])}.{nearest(joint, names)}"
            )
        unit = self.unit(head, joints, bracket)
        if joint or kind == TIME:
            return Meaning(kind, joint, unit=unit)
        numbers = re.findall(r"\d+", head)
        if not numbers or not ("*" in pattern or PLACES.fullmatch(pattern)):
            first = (names or ("JOINT",))[0]
            self.fail(
                f"column {head!r} is mapped to {kind!r} alone; expected a joint with it, such as "
                f"{kind}:{first}."
            )
        return Meaning(kind, number=int(numbers[-1]), unit=unit)

    def take_clock(self) -> None:
        """Move the times from `found` to `clock`: one column, or seconds beside nanoseconds."""
        times = {k: self.found.pop(k) for k, x in list(self.found.items()) if x.kind == TIME}
        stamps = {k: x for k, x in times.items() if x.header}
        chosen = stamps or times
        fine = [k for k, x in chosen.items() if x.unit is not None and x.unit.text == "ns"]
        if len(chosen) > 1 + (len(chosen) == 2 and len(fine) == 1):
            names = [self.heads[k] for k in chosen]
            self.fail(
                f"{listing(names, MAX_NAMES)} are times; expected one of them. Leave the others "
                f"out: {by_hand(names[-1], '')}."
            )
        if not chosen and TIME in self.request.required:
            self.fail(
                f"no column 't' among {listing(self.heads, MAX_NAMES)}; expected the times in s. "
                f"If a column has them, state it: {by_hand('NAME', 't')}."
            )
        for k, x in chosen.items():
            if x.unit is not None and x.unit.dims != (("time", 1),):
                self.fail(f"column {self.heads[k]!r} is a time stated in {x.unit}; expected s, ms.")
        if len(chosen) < len(times):
            left = listing((self.heads[k] for k in times if k not in chosen), MAX_NAMES)
            self.notes.append(f"times are the stamps of the messages; {left} is not used")
        self.clock = {k: x.unit or SECOND for k, x in chosen.items()}

    def number(self, quantity: str, mapped: set[int]) -> str:
        """Give the numbered columns of a quantity the joints of their order, and say which."""
        numbers: dict[int, int] = {}
        for k, x in self.found.items():
            if x.kind == quantity and x.joint is None:
                number = x.number or 0
                if number in numbers:
                    self.refuse_two(f"{quantity} {number}", numbers[number], k)
                numbers[number] = k
        if not numbers:
            return ""
        names = self.request.names(quantity)
        if self.request.model is None:
            names = tuple(f"joint_{k}" for k in range(1, len(numbers) + 1))
        start = min(numbers)
        complete = sorted(numbers) == list(range(start, start + len(names)))
        if not complete or not self.request.plain or (start > 1 and numbers[start] not in mapped):
            self.refuse_set(quantity, numbers, names)
        order = [numbers[k] for k in sorted(numbers)]
        for k, joint in zip(order, names, strict=True):
            self.found[k] = replace(self.found[k], joint=joint)
        if quantity == "q":
            return ", ".join(
                f"{self.heads[k]} is {joint}" for k, joint in zip(order, names, strict=True)
            )
        ends = " to ".join(dict.fromkeys([self.heads[order[0]], self.heads[order[-1]]]))
        return f"{ends} {'is' if len(order) == 1 else 'are'} {quantity}"

    def joints(self) -> tuple[str, ...]:
        """Names of the entries of q: of the robot, or of the columns in their order."""
        if self.request.model is not None:
            return self.request.model.coordinate_names
        kinds_found = {x.kind for x in self.found.values()}
        kind = next((x for x in SIGNALS if x in kinds_found), "q")
        names = [x.joint or "" for _, x in sorted(self.found.items()) if x.kind == kind]
        if names and all(re.fullmatch(r"joint_\d+", x) for x in names):  # numbered, in any order
            names.sort(key=lambda x: int(x[6:]))
        return tuple(names)

    def places(self) -> dict[str, list[int]]:
        """The columns of every quantity in the order of the joints."""
        at: dict[tuple[str, str], int] = {}
        for k, x in self.found.items():
            key = x.kind, x.joint or ""
            if key in at:
                self.refuse_two(f"{x.kind} of {x.joint}", at[key], k)
            at[key] = k
        places: dict[str, list[int]] = {}
        for quantity in SIGNALS:
            known = self.request.names(quantity) or self.joints()
            for kind, joint in at:
                if kind == quantity and joint not in known:
                    self.refuse_joint(self.heads[at[kind, joint]], joint, known)
            missing = [x for x in known if (quantity, x) not in at]
            if {*missing} & {*self.request.optional}:  # then those of the motors are wanted
                known = tuple(x for x in known if x not in self.request.optional)
                missing = [x for x in missing if x in known]
            if missing and (len(missing) < len(known) or quantity in self.request.required):
                self.refuse_missing(quantity, missing)
            if known and not missing:
                places[quantity] = [at[quantity, x] for x in known]
        if "q" in self.request.required and "q" not in places:
            self.fail(
                "no column of q; expected q:JOINT for every joint, or the robot, which names them."
            )
        return places

    def note_unused(self) -> None:
        """Note columns without a meaning; refuse those that may be a quantity that is missing."""
        used = {*self.found, *self.left_out, *self.clock, *self.friction.values()}
        unused = [x for k, x in enumerate(self.heads) if k not in used]
        known = {x.kind for x in self.found.values()}
        for head in unused:
            for quantity in sorted(quantities(head) - known):
                self.fail(
                    f"column {head!r} may be {quantity}, which the recording lacks, and its name "
                    "is not one that is read. State it, with its unit in brackets if that is not "
                    f"SI: {by_hand(head, f'{quantity}:JOINT')}; or leave it out: "
                    f"{by_hand(head, '')}."
                )
        if unused:
            columns, verb = ("column", "is") if len(unused) == 1 else ("columns", "are")
            self.notes.append(f"{columns} {listing(unused, MAX_NAMES)} {verb} not used")

    # ----- refusals

    def refuse_two(self, what: str, one: int, other: int) -> NoReturn:
        a, b = self.heads[one], self.heads[other]
        pattern = re.sub(r"\d+(?=\D*$)", "*", b) if a != b else b
        self.fail(
            f"columns {a!r} and {b!r} both are {what}; expected one. Leave the other out: "
            f"{by_hand(pattern, '')}."
        )

    def refuse_joint(self, head: str, joint: str, known: Sequence[str]) -> NoReturn:
        self.fail(
            f"unknown joint {joint!r} in column {head!r}; {self.request.owner} has "
            f"{listing(known, MAX_NAMES)}.{nearest(joint, known)} If it is not wanted, leave it "
            f"out: {by_hand(head, '')}."
        )

    def refuse_missing(self, quantity: str, missing: Sequence[str]) -> NoReturn:
        others = [x for k, x in enumerate(self.heads) if k not in self.found]
        more = f"; columns that are not read: {listing(others, MAX_NAMES)}" if others else ""
        self.fail(
            f"{quantity} of {', '.join(missing[:MAX_NAMES])} is missing{more}; expected a column "
            f"'{quantity}:{missing[0]}' for every joint of {self.request.owner}. If a column has "
            f"it under another name: {by_hand('NAME', f'{quantity}:{missing[0]}')}."
        )

    def refuse_set(
        self, quantity: str, numbers: Mapping[int, int], names: Sequence[str]
    ) -> NoReturn:
        heads = [self.heads[k] for k in numbers.values()]
        named = by_hand(heads[0], f"{quantity}:{(names or ('JOINT',))[0]}")
        self.fail(
            f"{counted(len(heads), 'numbered column')} of {quantity}, {listing(heads, MAX_NAMES)}; "
            f"expected a complete set for {listing(names, MAX_NAMES)}, from 1 or from 0, for "
            f"joints with one coordinate. State them: {named}, ...; or leave them out: "
            f"{by_hand(heads[0], '')}."
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
