"""Which column of a table is which, and its numbers in SI units, in the order of the joints.

Columns that are mapped by hand come first, then those with the name of a joint, then complete sets
of numbered columns, in the order of the joints. Columns without a meaning are ignored, with one
note, unless their names state a quantity that the recording lacks.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted, listing, nearest
from kinetree.core.units import Unit, unit_of
from kinetree.errors import ParseError
from kinetree.model.units import DEGREE, METRE, PER_TIME, RAD, kinds
from kinetree.motion.recordings import FRICTION_STATE, MAX_NAMES, SIGNALS, ReadRequest
from kinetree.motion.recordings.names import (
    TIME,
    Meaning,
    discovered,
    letters,
    meaning,
    quantities,
    without_unit,
)
from kinetree.motion.recordings.sizes import check_names

PLACES = re.compile(r"[1-9]\d*(?:-[1-9]\d*)?")  # columns by their numbers, 2-7
DIGITS = re.compile(r"\d+(?=\D*$)")  # the last number of a name
SECOND = Unit("s", (("time", 1),))
LATEST = 1e11  # s, three thousand years: larger times are in another unit
# s, three hours: a float resolves 2e-12 s there, 1e-9 of a period of 1 kHz, and times since 1970
# (2e-7 s) leave accelerations from differences wrong by 0.5 rad/s^2
FAR = 1e4


@dataclass(frozen=True)
class Clock:
    """The column of the times, perhaps with one of nanoseconds beside it."""

    column: int
    unit: Unit
    fine: int | None = None

    @property
    def columns(self) -> list[int]:
        """The columns that it takes."""
        return [self.column] if self.fine is None else [self.column, self.fine]

    def seconds(self, x: Array) -> Array:
        """Times in s of numbers in the unit."""
        x, unit = np.asarray(x, float), self.unit
        return x if unit.si else x * unit.numerator / unit.denominator

    def is_counted(self, first: float) -> bool:
        """Whether times that begin with a number are counted from it: a float cannot hold them."""
        exact = self.fine is not None or self.unit.denominator > 1000  # whole us or ns
        return exact or abs(float(self.seconds(np.array(first)))) > FAR

    def elapsed(self, columns: Sequence[Array], first: Sequence[Any]) -> Array:
        """Times in s since the first, of whole numbers or decimals of every column."""
        parts = [x - start for x, start in zip(columns, first, strict=True)]
        if self.fine is None:
            return self.seconds(parts[0])
        return np.asarray(parts[0] * 10**9 + parts[1], float) / 1e9

    def check_fine(self, columns: Sequence[Array], row: Callable[[int], str]) -> None:
        """Raise ParseError unless seconds beside nanoseconds are whole numbers."""
        for k, (x, fine) in enumerate(zip(*columns, strict=True) if self.fine is not None else ()):
            if x % 1 or not 0 <= fine < 10**9:
                raise ParseError(
                    f"{row(k)}: seconds beside nanoseconds are whole, and nanoseconds from 0 to "
                    "999999999."
                )

    def note(self, first: Sequence[Any]) -> str:
        """The note on times that are counted from the first."""
        start = Decimal(str(first[0])) * int(self.unit.numerator) / int(self.unit.denominator)
        start += Decimal(str(first[1])) / 10**9 if self.fine is not None else 0
        return f"times are counted from the first, {start:.9f} s"


@dataclass(frozen=True, eq=False)
class Columns:
    """Which column is which.

    heads: names of all columns. joints: names of the entries of q. places: columns of every
    quantity, in the order of the joints. scales: numerators and denominators that make SI units.
    """

    heads: tuple[str, ...]
    joints: tuple[str, ...]
    places: Mapping[str, list[int]]
    scales: Mapping[str, tuple[Array, Array]]
    clock: Clock | None = None
    notes: tuple[str, ...] = ()

    @property
    def clock_name(self) -> str:
        """Name of the column of the times."""
        return "t" if self.clock is None else self.heads[self.clock.column]

    def values(self, column: Callable[[int], Array]) -> dict[str, Array]:
        """Every quantity in SI units, (T, n), from the numbers of a column, (T,)."""
        found: dict[str, Array] = {}
        for quantity, places in self.places.items():
            x = np.stack([column(k) for k in places], axis=1)
            numerator, denominator = self.scales[quantity]
            x *= numerator
            x /= denominator
            found[quantity] = x
        return found


def unnamed_columns(width: int, request: ReadRequest, where: str) -> Columns:
    """The columns of a table without names: the quantities of the request, in their order."""
    model = request.model
    if model is None or not request.unnamed:
        first = (request.names("q") or ("JOINT",))[0]
        wanted = next((x for x in SIGNALS if x in request.required), "q")
        raise ParseError(
            f"{where}: columns without names; expected a first line that names them: t, "
            f"{wanted}:{first}, ... Or map them by their numbers, such as "
            f"{request.options.column('1', 't')}."
        )
    heads: list[str] = []
    places: dict[str, list[int]] = {}
    expected: list[str] = []
    for quantity in request.unnamed:
        names = [f"{quantity}:{x}" for x in request.names(quantity)]
        places[quantity] = list(range(len(heads), len(heads) + len(names)))
        heads += names
        expected.append(f"{len(heads)} ({', '.join(places)})")
        if len(heads) == width:
            header = _Header(tuple(heads), request, where)
            found = {k: Meaning(x) for x, own in places.items() for k in own}
            return Columns(
                tuple(heads), model.coordinate_names, places, header.scales(found, places)
            )
    raise ParseError(
        f"{where}: {counted(width, 'column')} without names; {model.name!r} takes "
        f"{' or '.join(expected)}. Or name them in the first line: {', '.join(heads[:2])}, ..."
    )


def named_columns(heads: Sequence[str], request: ReadRequest, where: str) -> Columns:
    """The columns of a table from their names; () are names of columns without any."""
    check_names(heads, where)
    return _Header(tuple(x.strip() for x in heads), request, where).columns()


@dataclass
class _Header:
    """The names of a table while their meanings are found."""

    heads: tuple[str, ...]
    request: ReadRequest
    where: str
    notes: list[str] = field(default_factory=list[str])

    def fail(self, text: str) -> NoReturn:
        raise ParseError(f"{self.where}: {text}")

    def columns(self) -> Columns:
        """Find the meaning of every column, and check that they fit together."""
        by_hand = self.by_hand()
        bent = {
            x: [k] for k, x in enumerate(self.heads)
            if x.startswith(FRICTION_STATE) and k not in by_hand
        }  # fmt: skip
        others = [k for k, x in enumerate(self.heads) if k not in by_hand and x not in bent]
        found = {k: x for k, x in by_hand.items() if x is not None}
        found |= self.by_name(others)
        others = [k for k in others if k not in found or found[k].kind != TIME]
        clock = self.clock(found)
        self.resolve_numbers(found)
        self.take_bare(found, others)
        places = self.places(found)
        self.check_unused([k for k in others if k not in found], places)
        scales = self.scales(found, places)
        scales |= {x: (np.ones(1), np.ones(1)) for x in bent}
        joints = self.joints(found)
        return Columns(self.heads, joints, places | bent, scales, clock, tuple(self.notes))

    # ----- meanings

    def by_name(self, others: Sequence[int]) -> dict[int, Meaning]:
        """Meanings of columns by their names."""
        request, model = self.request, self.request.model
        joints = [*request.names("q"), *request.names("dq")]
        if model is None:
            joints = discovered(self.heads[k] for k in others)
        found: dict[int, Meaning] = {}
        for k in others:
            head = self.heads[k]
            if (x := meaning(head, dict.fromkeys(joints), self.where)) is None:
                continue
            if x.kind == TIME and head != TIME and without_unit(head, joints)[0] in joints:
                self.fail(
                    f"column {head!r} is a joint of {request.owner} and a usual name of the times. "
                    f"State which: {request.options.column(head, 't')} or "
                    f"{request.options.column(head, f'q:{head}')}."
                )
            if x.kind == TIME or x.joint is not None or self.is_numbered(x, head):
                found[k] = x
        return found

    def is_numbered(self, x: Meaning, head: str) -> bool:
        """Whether a name without a joint is one of a numbered set, or of a single joint."""
        model = self.request.model
        if model is None:
            return x.number is not None and bool(quantities(head))  # and not joint1
        return x.number is not None or (self.request.plain and model.n == 1)

    def by_hand(self) -> dict[int, Meaning | None]:
        """Meanings of the columns that the request maps, None for those that are left out."""
        columns = self.request.columns
        by_place = bool(columns) and all(map(PLACES.fullmatch, columns))
        found: dict[int, Meaning | None] = {}
        for pattern, target in columns.items():
            pairs = self.at_places(pattern, target) if by_place else self.matching(pattern, target)
            for k, own in pairs:
                if k in found:
                    self.fail(f"column {self.heads[k] or k + 1!r} is mapped twice; expected once.")
                found[k] = self.target(k, pattern, own) if own else None
        if by_place:
            left = [x or str(k + 1) for k, x in enumerate(self.heads) if found.get(k) is None]
            self.notes += [f"columns that are left out: {listing(left, MAX_NAMES)}"] * bool(left)
            found = dict.fromkeys(range(len(self.heads))) | found
        return found

    def at_places(self, pattern: str, target: str | None) -> list[tuple[int, str | None]]:
        """Columns by their numbers, such as 2-7, each with its target."""
        first, last = (int(x) for x in (pattern.split("-") * 2)[:2])
        if not 1 <= first <= last <= len(self.heads):
            self.fail(f"columns {pattern} are mapped; the file has columns 1 to {len(self.heads)}.")
        if first == last or not target:
            return [(k, target) for k in range(first - 1, last)]
        body, bracket = without_unit(target)
        joints = self.request.names(body)
        if body not in SIGNALS or len(joints) != last - first + 1:
            self.fail(
                f"columns {pattern} are mapped to {target!r}; expected q, dq, ddq or tau and "
                f"{len(self.request.names('dq'))} columns, one for each joint of "
                f"{self.request.owner}."
            )
        unit = f" [{bracket}]" if bracket else ""
        return [(first - 1 + k, f"{body}:{x}{unit}") for k, x in enumerate(joints)]

    def matching(self, pattern: str, target: str | None) -> list[tuple[int, str | None]]:
        """Columns of that name, or that fit a name with stars, each with its target."""
        pairs = matches(self.heads, pattern, target)
        if not pairs:
            self.fail(
                f"there is no column {pattern!r} to map; the file has "
                f"{listing(self.heads, MAX_NAMES)}.{nearest(pattern, self.heads)}"
            )
        return pairs

    def target(self, k: int, pattern: str, target: str) -> Meaning:
        """The meaning that a mapping gives a column: t, t[ms], q:JOINT, q:JOINT [deg]."""
        head, text, request = self.heads[k], target.strip(), self.request
        kind, colon, joint = text.partition(":")
        body, bracket = without_unit(joint if colon else text, request.names(kind))
        kind = kind if colon else body
        if kind not in (TIME, *SIGNALS) or (kind == TIME and colon):
            self.fail(
                f"column {pattern!r} is mapped to {target!r}; expected t, t[ms], q:JOINT, "
                "dq:JOINT, ddq:JOINT or tau:JOINT, or nothing to leave it out."
            )
        names = request.names(kind)
        if colon and names and body not in names:
            self.fail(
                f"column {pattern!r} is mapped to {target!r}; {request.owner} has "
                f"{', '.join(names[:MAX_NAMES])}.{nearest(body, names)}"
            )
        unit = self.stated_unit(head, target, body if colon else "", bracket)
        if colon or kind == TIME:
            return Meaning(kind, body if colon else None, unit=unit)
        number = DIGITS.search(head)
        if "*" not in pattern or number is None:
            self.fail(
                f"column {head!r} is mapped to {kind!r} alone; expected a joint with it, such as "
                f"{kind}:{(names or ('JOINT',))[0]}."
            )
        return Meaning(kind, number=int(number[0]), unit=unit)

    def stated_unit(self, head: str, target: str, joint: str, bracket: str) -> Unit | None:
        """The unit of a mapped column: of the target, or else of its name."""
        own = without_unit(head, (joint, *self.request.names("q"), *self.request.names("dq")))[1]
        texts = [x for x in (bracket, own) if x]
        units = [unit_of(x) for x in texts]
        if texts and units[0] is None:
            self.fail(
                f"column {head!r}, mapped to {target!r}, is in {texts[0]!r}, which is not a unit "
                "that is read. Convert it, and state the unit of its numbers in the mapping, as in "
                "'tau:JOINT [N m]'."
            )
        first, other = [*units, None, None][:2]
        if first and other and not first.same(other):
            self.fail(
                f"column {head!r} is in {other} by the file and is mapped to {target!r}; expected "
                "one unit. Leave out that of the mapping, or correct that of the file."
            )
        return first

    # ----- times

    def clock(self, found: dict[int, Meaning]) -> Clock | None:
        """The times, whose meanings are removed."""
        timed = {k: found.pop(k) for k, x in list(found.items()) if x.kind == TIME}
        fine = {x.header: k for k, x in timed.items() if x.part == "nanosec"}
        clocks: dict[bool, list[Clock]] = {True: [], False: []}
        for k, x in timed.items():
            if x.part != "nanosec":
                beside = fine.pop(x.header, None) if x.part == "sec" else None
                clocks[x.header].append(Clock(k, self.time_unit(k, x), beside))
        every = [*clocks[True], *clocks[False]]
        request = self.request
        if not every:
            if TIME in request.required:
                self.fail(
                    f"no column 't' among {listing(self.heads, MAX_NAMES)}; expected the times in "
                    f"s. If a column has them, state it: {request.options.column('NAME', 't')}."
                )
            return None
        if len(clocks[True]) > 1 or (not clocks[True] and len(every) > 1) or fine:
            names = [self.heads[k] for k in timed]
            self.fail(
                f"{listing(names, MAX_NAMES)} are times; expected one of them. Leave the others "
                f"out: {request.options.column(names[-1], '')}."
            )
        if len(every) > 1:
            left = listing((self.heads[x.column] for x in every[1:]), MAX_NAMES)
            name = self.heads[every[0].column]
            self.notes.append(f"times are the stamps of the messages, {name!r}; {left} is not used")
        if not every[0].unit.si:
            head, unit = self.heads[every[0].column], every[0].unit
            self.notes.append(f"times in {head!r} were converted from {unit} to s")
        return every[0]

    def time_unit(self, k: int, x: Meaning) -> Unit:
        unit = x.unit or SECOND
        if unit.dims != SECOND.dims:
            self.fail(
                f"column {self.heads[k]!r} is a time stated in {unit}; expected s, ms, us, ns, min "
                "or h."
            )
        return unit

    # ----- joints

    def resolve_numbers(self, found: dict[int, Meaning]) -> None:
        """Give numbered columns the joints of their order; refuse sets that are not complete."""
        listed: list[str] = []
        for quantity in SIGNALS:
            own = {k: x for k, x in found.items() if x.kind == quantity and x.joint is None}
            numbers: dict[int, int] = {}
            for k, x in own.items():
                number = x.number or 0
                if number in numbers:
                    self.refuse_two(f"{quantity} {number}", numbers[number], k)
                numbers[number] = k
            if not numbers:
                continue
            names = self.request.names(quantity)
            if self.request.model is None:
                names = tuple(f"joint_{k}" for k in range(1, len(numbers) + 1))
            start = min(numbers)
            complete = start < 2 and sorted(numbers) == list(range(start, start + len(names)))
            if not complete or not self.request.plain:
                self.refuse_set(quantity, numbers, names)
            for k, joint in zip(range(start, start + len(names)), names, strict=True):
                head = self.heads[numbers[k]]
                self.check_spelling(head, quantity, joint)
                found[numbers[k]] = replace(found[numbers[k]], joint=joint)
                listed += [f"{head} is {joint}"] if quantity == "q" else []
            if quantity != "q":
                ends = [self.heads[numbers[x]] for x in (start, start + len(names) - 1)]
                listed.append(f"{' to '.join(dict.fromkeys(ends))} are {quantity}")
        if listed:
            text = ", ".join(listed)
            self.notes.append(f"numbered columns are taken in the order of the joints: {text}")

    def check_spelling(self, head: str, quantity: str, joint: str) -> None:
        """Refuse a number that contradicts the name of another joint: Joint_1 of joint1."""
        for other in self.request.names(quantity):
            name = letters(other)
            if other != joint and re.search(r"[a-z]\d", name):
                if re.search(rf"{re.escape(name)}(?!\d)", letters(head)):
                    self.fail(
                        f"column {head!r} is {quantity} of {joint} by its number and of {other} by "
                        "its name. State which: "
                        f"{self.request.options.column(head, f'{quantity}:{other}')}."
                    )

    def take_bare(self, found: dict[int, Meaning], others: Sequence[int]) -> None:
        """Without a robot, names without a meaning are joints, if no column is a position."""
        if self.request.model is None and not any(x.kind == "q" for x in found.values()):
            for k in others:
                if self.heads[k] and k not in found and not quantities(self.heads[k]):
                    body, bracket = without_unit(self.heads[k])
                    unit = unit_of(bracket) if bracket else None
                    if not bracket or unit is not None:
                        found[k] = Meaning("q", body, unit=unit)

    def joints(self, found: Mapping[int, Meaning]) -> tuple[str, ...]:
        """Names of the entries of q: of the robot, or of the columns in their order."""
        if self.request.model is not None:
            return self.request.model.coordinate_names
        kind = next((x for x in SIGNALS if any(y.kind == x for y in found.values())), "q")
        names = [x.joint or "" for _, x in sorted(found.items()) if x.kind == kind]
        if names and all(re.fullmatch(r"joint_\d+", x) for x in names):  # numbered, in any order
            names.sort(key=lambda x: int(x[6:]))
        return tuple(names)

    def places(self, found: Mapping[int, Meaning]) -> dict[str, list[int]]:
        """The columns of every quantity in the order of the joints."""
        at: dict[tuple[str, str], int] = {}
        for k, x in found.items():
            key = x.kind, x.joint or ""
            if key in at:
                self.refuse_two(f"{x.kind} of {x.joint}", at[key], k)
            at[key] = k
        places: dict[str, list[int]] = {}
        for quantity in SIGNALS:
            known = self.request.names(quantity) or self.joints(found)
            for kind, joint in at:
                if kind == quantity and joint not in known:
                    self.refuse_joint(self.heads[at[kind, joint]], joint, known)
            missing = [x for x in known if (quantity, x) not in at]
            if set(missing) & set(self.request.optional):  # then those of the motors are wanted
                known = tuple(x for x in known if x not in self.request.optional)
                missing = [x for x in missing if x in known]
            if missing and (len(missing) < len(known) or quantity in self.request.required):
                self.refuse_missing(quantity, missing, [self.heads[at[x]] for x in at])
            if known and not missing:
                places[quantity] = [at[quantity, x] for x in known]
        if "q" in self.request.required and "q" not in places:
            self.fail("no column of q; expected q:JOINT for every joint.")
        return places

    def check_unused(self, unused: Sequence[int], places: Mapping[str, list[int]]) -> None:
        """Refuse columns whose names state a quantity that is missing; note the others."""
        numbered = any(re.fullmatch(r"(?i)(?:.*[._])?names?\d*", self.heads[k]) for k in unused)
        if numbered and any("order of the joints" in x for x in self.notes):
            self.fail("cells name the joints of numbered columns; map these by hand")
        names = list(dict.fromkeys([*self.request.names("q"), *self.request.names("dq")]))
        for k in unused:
            head, options = self.heads[k], self.request.options
            for quantity in sorted(quantities(head) - set(places)):
                first = next(iter(names), "JOINT")
                self.fail(
                    f"column {head!r} may be {quantity}, which the recording lacks, and its name "
                    f"is not one that is read.{nearest(head, names)} State it by hand: "
                    f"{options.column(head, f'{quantity}:{first}')}, with its unit in brackets if "
                    f"that is not SI; or leave it out: {options.column(head, '')}."
                )
        if unused:
            columns, verb = ("column", "is") if len(unused) == 1 else ("columns", "are")
            text = listing((self.heads[k] for k in unused), MAX_NAMES)
            self.notes.append(f"{columns} {text} {verb} not used")

    # ----- units

    def scales(
        self, found: Mapping[int, Meaning], places: Mapping[str, list[int]]
    ) -> dict[str, tuple[Array, Array]]:
        """Numerators and denominators that make SI units, (n,) each, by quantity."""
        scaled: dict[str, tuple[Array, Array]] = {}
        silent: dict[str, str] = {}  # columns without a unit by kind, and columns in other units
        other: dict[str, tuple[str, Unit]] = {}
        for quantity, own in places.items():
            numerator, denominator = np.ones(len(own)), np.ones(len(own))
            for j, (k, kind) in enumerate(zip(own, self.kinds(quantity, found, own), strict=True)):
                unit, turns = found[k].unit, kind == RAD and quantity != "tau"
                head, group = self.heads[k], "tau" if quantity == "tau" else kind
                if unit is None:
                    numerator[j] = DEGREE if self.request.degrees and turns else 1
                    silent |= {} if self.request.degrees and turns else {group: head}
                    continue
                self.check_unit(head, quantity, kind, unit)
                numerator[j], denominator[j] = unit.numerator, unit.denominator
                if not unit.si:
                    other[group] = head, unit
            scaled[quantity] = numerator, denominator
            units = dict.fromkeys(x for k in own if (x := found[k].unit) is not None and not x.si)
            self.notes += [f"{quantity} in {x}, as stated, was converted" for x in units]
        for group, (head, unit) in other.items():
            if group in silent:
                self.fail(
                    f"column {head!r} is in {unit}, and {silent[group]!r} has no unit. State the "
                    "unit of both, in their names or by hand: "
                    f"{self.request.options.column('NAME', 'q:JOINT [UNIT]')}."
                )
        return scaled

    def kinds(
        self, quantity: str, found: Mapping[int, Meaning], own: Sequence[int]
    ) -> Sequence[str]:
        """Whether the columns are angles, lengths or numbers; without a robot, by their units."""
        if self.request.model is None:
            slide = unit_of(si_unit(quantity, METRE))
            units = [found[k].unit for k in own]
            return [METRE if x and slide and x.dims == slide.dims else RAD for x in units]
        every = kinds(self.request.model, quantity)
        if len(own) == len(every):
            return every
        names = self.request.names(quantity)  # of the motors alone
        return [x for x, y in zip(every, names, strict=True) if y not in self.request.optional]

    def check_unit(self, head: str, quantity: str, kind: str, unit: Unit) -> None:
        """Refuse a unit of another quantity, of another kind of joint, or against the option."""
        expected = unit_of(si_unit(quantity, kind))
        if expected is not None and unit.dims != expected.dims:
            self.fail(
                f"column {head!r} is in {unit}; expected {expected} or another unit of {quantity}."
            )
        if self.request.degrees and kind == RAD and quantity != "tau":
            if (unit.numerator, unit.denominator) != (DEGREE, 1):
                option = self.request.options.degrees
                self.fail(f"column {head!r} is in {unit}, and {option} states degrees.")

    # ----- refusals

    def refuse_two(self, what: str, one: int, other: int) -> NoReturn:
        a, b = self.heads[one], self.heads[other]
        self.fail(
            f"columns {a!r} and {b!r} both are {what}; expected one. Leave the other out: "
            f"{self.request.options.column(DIGITS.sub('*', b) if a != b else b, '')}."
        )

    def refuse_joint(self, head: str, joint: str, known: Sequence[str]) -> NoReturn:
        more = " ..." if len(known) > MAX_NAMES else ""
        self.fail(
            f"unknown joint {joint!r} in column {head!r}; {self.request.owner} has "
            f"{', '.join(known[:MAX_NAMES])}{more}.{nearest(joint, known)} If it is not wanted, "
            f"leave it out: {self.request.options.column(head, '')}."
        )

    def refuse_missing(
        self, quantity: str, missing: Sequence[str], found: Sequence[str]
    ) -> NoReturn:
        others = [x for x in self.heads if x not in found]
        more = f"; columns that are not read: {listing(others, MAX_NAMES)}" if others else ""
        column = self.request.options.column("NAME", f"{quantity}:{missing[0]}")
        self.fail(
            f"{quantity} of {', '.join(missing[:MAX_NAMES])} is missing{more}; expected a column "
            f"'{quantity}:{missing[0]}' for every joint of {self.request.owner}. If a column has "
            f"it under another name: {column}."
        )

    def refuse_set(
        self, quantity: str, numbers: Mapping[int, int], names: Sequence[str]
    ) -> NoReturn:
        heads = [self.heads[k] for k in numbers.values()]
        by_name = self.request.options.column(heads[0], f"{quantity}:{(names or ('JOINT',))[0]}")
        if not self.request.plain:
            self.fail(
                f"numbered columns {listing(heads, MAX_NAMES)} do not state which coordinate they "
                f"are, and {self.request.owner} has joints with several. Name them by hand: "
                f"{by_name}."
            )
        self.fail(
            f"{counted(len(heads), 'numbered column')} of {quantity}, {listing(heads, MAX_NAMES)}; "
            f"expected a complete set for {', '.join(names[:MAX_NAMES])}, from 1 to {len(names)} "
            f"or from 0 to {len(names) - 1}. State them by hand: {by_name}, ...; or leave them "
            f"out: {self.request.options.column(DIGITS.sub('*', heads[0]), '')}."
        )


def matches(heads: Sequence[str], pattern: str, target: str | None) -> list[tuple[int, str | None]]:
    """Names that a pattern with stars fits, each with the target, whose stars are filled in."""
    parts = re.compile("(.*)".join(map(re.escape, pattern.strip().split("*"))))
    found: list[tuple[int, str | None]] = []
    for k, head in enumerate(heads):
        if pattern.strip() in heads and head != pattern.strip():
            continue  # a name that has a star itself
        if match := parts.fullmatch(head):
            own = target
            for text in match.groups():
                own = own and own.replace("*", text, 1)
            found.append((k, own))
    return found


def si_unit(quantity: str, kind: str) -> str:
    """The SI unit of a quantity of a kind of joint."""
    if quantity == "tau":
        return "N" if kind == METRE else "N m"
    return kind + PER_TIME[quantity] if kind else "1"
