"""Headers: which column is which, from the names of all columns together.

Names that state a joint are taken by name, in any order. Numbered columns (q1 to qn, or [0] to
[n-1]) are taken in the order of the joints if the set is complete, and a note lists which became
which. Everything that has two readings, or none, is refused with the columns and the option that
settles it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np

from kinetree.core.tables import counted, listing, nearest
from kinetree.core.units import Unit, doubtful_word
from kinetree.errors import ParseError
from kinetree.motion.recordings import FRICTION_STATE, MAX_NAMES, SIGNALS, ReadRequest
from kinetree.motion.recordings.by_hand import DIGITS, file_unit, mapped, unknown_bracket
from kinetree.motion.recordings.clocks import find_clock
from kinetree.motion.recordings.layout import Layout
from kinetree.motion.recordings.names import NAME, OTHER, WORDS, Meaning, discovered, meanings
from kinetree.motion.recordings.sizes import check_names
from kinetree.motion.recordings.units import conversions, scales

BARE_NUMBER = re.compile(r"(?i)(joints?|jnt|j|axis|dof)[ _.\[(]?\d+[\])]?")


def named_layout(
    heads: Sequence[str],
    request: ReadRequest,
    where: str,
    first: Sequence[str] | None = None,
    beside: Sequence[Unit | None] = (),
) -> Layout:
    """The layout of a table from the names of its columns.

    first: the cells of the first row, for files whose cells name the joints (field.name0).
    beside: units of the columns that the file states beside the names, in a line of units, a
    comment or an attribute; None for columns without one.
    """
    check_names(heads, where)
    names = tuple(x.strip() for x in heads)
    return _Header(names, request, where, tuple(beside) or (None,) * len(names)).layout(first)


@dataclass
class _Header:
    """The names of a table while their meanings are found."""

    heads: tuple[str, ...]
    request: ReadRequest
    where: str
    beside: tuple[Unit | None, ...]
    found: dict[int, Meaning] = field(default_factory=dict[int, Meaning])
    notes: list[str] = field(default_factory=list[str])
    unused: list[str] = field(default_factory=list[str])

    def layout(self, first: Sequence[str] | None) -> Layout:
        """Find the meaning of every column, and check that they fit together."""
        self.check_names()
        by_hand, self.notes = mapped(self.heads, self.request, self.where, self.beside)
        bent = {x: k for k, x in enumerate(self.heads) if x.startswith(FRICTION_STATE)}
        bent = {x: k for x, k in bent.items() if k not in by_hand}
        unmapped = [k for k in range(len(self.heads)) if k not in (*by_hand, *bent.values())]
        joints = self.known_joints(unmapped)
        readings = {k: self.readings(k, joints) for k in unmapped}
        readings |= {k: [x] for k, x in by_hand.items() if x is not None}
        clock, timed, notes = find_clock(self.heads, readings, self.request, self.where)
        self.notes += notes
        readings = {k: own for k, own in readings.items() if k not in timed}
        labels = self.labels(readings)
        order = self.order(labels, first)
        self.choose(readings, order)
        columns = self.columns()
        stated = {x: [self.found[k].unit for k in own] for x, own in columns.items()}
        scaled = scales(self.request, stated, self.where)
        self.notes += self.unused_note()
        notes = (*self.notes, *conversions(self.request, stated))
        columns |= {x: [k] for x, k in bent.items()}
        scaled |= dict.fromkeys(bent, (np.ones(1), np.ones(1)))
        return Layout(
            self.heads, self.joint_names(), columns, scaled, clock, list(labels.values()), notes,
            stated,
        )  # fmt: skip

    def unused_note(self) -> list[str]:
        """The note on columns that are not read."""
        columns = "column" if len(self.unused) == 1 else "columns"
        verb = "is" if len(self.unused) == 1 else "are"
        text = f"{columns} {listing(self.unused, MAX_NAMES)} {verb} not used"
        return [text] if self.unused else []

    def fail(self, text: str) -> NoReturn:
        raise ParseError(f"{self.where}: {text}")

    def readings(self, k: int, joints: Sequence[str]) -> list[Meaning]:
        """All readings of the name of a column, with the unit that the file states beside it."""
        found, beside = meanings(self.heads[k], joints), self.beside[k]
        if beside is None:
            return found
        for x in found:
            if x.unit is not None and not x.unit.same(beside):
                self.fail(
                    f"column {self.heads[k]!r} is in {x.unit} by its name and in {beside} by the "
                    "units beside the names; expected one unit."
                )
        return [replace(x, unit=beside) for x in found]

    def check_names(self) -> None:
        """Refuse columns without a name, and two columns of the same name."""
        seen: dict[str, int] = {}
        for k, head in enumerate(self.heads):
            quantity, colon, joint = head.partition(":")
            hollow = colon and quantity in SIGNALS and not joint
            if (not head and "" not in self.request.columns) or hollow:
                self.fail(
                    f"column {k + 1} has no name. Name it, or leave it out: "
                    f"{self.request.options.column(head, '')}."
                )
            if head in seen:
                self.fail(
                    f"two columns are called {head!r}: number {seen[head] + 1} and number {k + 1}."
                )
            seen[head] = k

    def known_joints(self, rest: Sequence[int]) -> list[str]:
        """Names of joints that names of columns may have: of the robot, or of the file."""
        if self.request.model is None:
            return discovered(self.heads[k] for k in rest)
        return list(dict.fromkeys([*self.request.names("q"), *self.request.names("dq")]))

    def labels(self, readings: dict[int, list[Meaning]]) -> dict[int | None, int]:
        """Columns whose cells name joints, by their number; removed from the readings."""
        columns: dict[int | None, int] = {}
        for k, meanings_of_column in list(readings.items()):
            if any(x.kind == NAME for x in meanings_of_column):
                columns[meanings_of_column[0].number] = k
                del readings[k]
            elif any(x.kind == OTHER for x in meanings_of_column):
                self.unused.append(self.heads[k])
                del readings[k]
        return columns

    def order(
        self, labels: Mapping[int | None, int], first: Sequence[str] | None
    ) -> dict[int, str]:
        """Joints by the numbers of their columns, as the first row names them, or {}."""
        if not labels or first is None:
            return {}
        joints: dict[int, str] = {}
        for number, k in labels.items():
            if number is None:  # one cell with all the names: ['a', 'b']
                texts = re.split(r"[,;\s]+", first[k].strip().strip("[](){}"))
                joints |= dict(enumerate(x.strip("'\"") for x in texts if x))
            else:
                joints[number] = first[k].strip()
        names = self.request.names("q")
        if names and not set(joints.values()) & set(names):
            head = self.heads[next(iter(labels.values()))]
            self.fail(
                f"column {head!r} has {listing(joints.values(), MAX_NAMES)}; expected names of "
                f"joints of {self.request.owner}: {', '.join(names[:MAX_NAMES])}. Leave it out: "
                f"{self.request.options.column(head, '')}."
            )
        return joints

    # ----- joints

    def choose(self, readings: Mapping[int, list[Meaning]], order: Mapping[int, str]) -> None:
        """Choose the one reading of every column; refuse what has none, or several."""
        sets = self.numbered_sets(readings)
        resolved = {x: self.resolved(x, numbers, order) for x, numbers in sets.items()}
        unknown: list[int] = []
        for k, meanings_of_column in readings.items():
            named = [x for x in meanings_of_column if x.joint is not None and x.kind in SIGNALS]
            by_number = [] if named and self.request.model is None else [
                replace(x, joint=resolved[key][k])
                for x in meanings_of_column
                if x.kind in SIGNALS and x.joint is None
                and (key := (x.kind, x.origin)) in resolved and k in resolved[key]
            ]  # fmt: skip
            both = {(x.kind, x.joint, x.unit): x for x in [*by_number, *named]}
            if by_number and not named and (spelt := self.spelt_joint(k)):
                both.setdefault((by_number[0].kind, spelt, by_number[0].unit), by_number[0])
            if len(both) > 1:
                self.refuse_ambiguous(k, list(both), bool(by_number))
            elif both:
                self.found[k] = next(iter(both.values()))
            else:
                unknown.append(k)
        self.take_bare(unknown, readings)
        self.leave_out(unknown, sets)
        self.refuse_unknown(unknown, readings, sets)
        self.note_numbers(resolved, order)

    def numbered_sets(
        self, readings: Mapping[int, list[Meaning]]
    ) -> dict[tuple[str, str], dict[int, list[int]]]:
        """Columns by quantity and origin, then by number."""
        sets: dict[tuple[str, str], dict[int, list[int]]] = {}
        for k, meanings_of_column in readings.items():
            for x in meanings_of_column:
                if x.kind not in SIGNALS or x.joint is not None:
                    continue
                if x.number is None and not self.single():
                    continue
                if (
                    self.request.model is None
                    and self.heads[k]
                    and not _has_quantity(self.heads[k])
                ):
                    continue
                numbers = sets.setdefault((x.kind, x.origin), {})
                numbers.setdefault(0 if x.number is None else x.number, []).append(k)
        return sets

    def spelt_joint(self, k: int) -> str | None:
        """The numbered joint that a column names in other letters: Joint_1 for joint1."""
        head = _letters(self.heads[k])
        for joint in self.request.names("q"):
            letters = _letters(joint)
            if re.search(r"[a-z]\d", letters) and re.search(rf"{re.escape(letters)}(?!\d)", head):
                return joint
        return None

    def single(self) -> bool:
        """Whether the robot has one degree of freedom, so that a name needs no number."""
        return self.request.model is not None and self.request.plain and self.request.model.n == 1

    def resolved(
        self, key: tuple[str, str], numbers: Mapping[int, list[int]], order: Mapping[int, str]
    ) -> dict[int, str]:
        """The joint of every column of a numbered set; {} if the set is not complete."""
        quantity = key[0]
        for columns in numbers.values():
            if len(columns) > 1:
                return {}
        if order:
            if not set(numbers) <= set(order):
                return {}
            return {columns[0]: order[number] for number, columns in numbers.items()}
        model = self.request.model
        if model is None:
            names: Sequence[str] = [f"joint_{k}" for k in range(1, len(numbers) + 1)]
        elif not self.request.plain:
            return {}
        else:
            names = self.request.names(quantity)
        start = min(numbers)
        if start > 1 or sorted(numbers) != list(range(start, start + len(names))):
            return {}
        return {numbers[start + k][0]: name for k, name in enumerate(names)}

    def take_bare(self, unknown: list[int], readings: Mapping[int, list[Meaning]]) -> None:
        """Without a robot, names without a meaning are joints, if no other column is a position."""
        if self.request.model is None and not any(x.kind == "q" for x in self.found.values()):
            for k in [k for k in unknown if not any(x.kind in SIGNALS for x in readings[k])
                      or not _has_quantity(self.heads[k])]:  # fmt: skip
                if unknown_bracket(self.heads[k]):
                    continue
                body, unit = file_unit(self.heads[k], self.beside[k], self.where)
                self.found[k] = Meaning("q", joint=body, unit=unit)
                unknown.remove(k)

    def leave_out(
        self, unknown: list[int], sets: Mapping[tuple[str, str], Mapping[int, list[int]]]
    ) -> None:
        """Ignore columns that cannot be one of the columns that are missing, with one note."""
        missing = {x for x in SIGNALS if self.is_missing(x)}
        if missing & set(self.request.required):
            return
        numbered = {k for numbers in sets.values() for own in numbers.values() for k in own}
        for k in [x for x in unknown if x not in numbered]:
            if missing.isdisjoint(_quantities(self.heads[k])):
                self.unused.append(self.heads[k])
                unknown.remove(k)

    def is_missing(self, quantity: str) -> bool:
        """Whether a quantity lacks columns of some joints, or of all."""
        joints = {x.joint for x in self.found.values() if x.kind == quantity}
        wanted = set(self.request.names(quantity)) - set(self.request.optional)
        return not joints or not wanted <= joints

    def columns(self) -> dict[str, list[int]]:
        """The columns of every quantity in the order of the joints."""
        places: dict[tuple[str, str], int] = {}
        for k, x in self.found.items():
            key = x.kind, x.joint or ""
            if key in places:
                self.refuse_two(places[key], k)
            places[key] = k
        columns: dict[str, list[int]] = {}
        for quantity in SIGNALS:
            known = (
                self.joint_names() if self.request.model is None else self.request.names(quantity)
            )
            self.check_known(
                quantity, [x for quantity_there, x in places if quantity_there == quantity], known
            )
            missing = [x for x in known if (quantity, x) not in places]
            if set(missing) & set(self.request.optional):  # then those of the motors are wanted
                known = [x for x in known if x not in self.request.optional]
                missing = [x for x in missing if x in known]
            if missing and (len(missing) < len(known) or quantity in self.request.required):
                self.refuse_missing(quantity, missing)
            if known and not missing:
                columns[quantity] = [places[quantity, x] for x in known]
        if "q" in self.request.required and "q" not in columns:
            self.fail("no column of q; expected q:JOINT for every joint.")
        return columns

    def joint_names(self) -> tuple[str, ...]:
        """Names of the entries of q: of the robot, or of the columns in their order."""
        if self.request.model is not None:
            return self.request.model.coordinate_names
        kind = next((x for x in SIGNALS if any(y.kind == x for y in self.found.values())), "q")
        joints = [x.joint or "" for _, x in sorted(self.found.items()) if x.kind == kind]
        if joints and all(re.fullmatch(r"joint_\d+", x) for x in joints):  # numbered, in any order
            joints.sort(key=lambda x: int(x[6:]))
        return tuple(joints)

    def check_known(self, quantity: str, joints: Sequence[str], known: Sequence[str]) -> None:
        for joint in joints:
            if joint not in known:
                head = next(
                    self.heads[k]
                    for k, x in self.found.items()
                    if (x.kind, x.joint) == (quantity, joint)
                )
                hint = self.request.following(joint) or nearest(joint, known)
                hint += (
                    f" If it is not wanted, leave it out: {self.request.options.column(head, '')}."
                )
                self.fail(
                    f"unknown joint {joint!r} in a column of {quantity}, {head!r}; "
                    f"{self.request.owner} has {', '.join(known[:MAX_NAMES])}"
                    f"{' ...' if len(known) > MAX_NAMES else ''}.{hint}"
                )

    # ----- refusals and notes

    def refuse_missing(self, quantity: str, missing: Sequence[str]) -> NoReturn:
        heads = [self.heads[k] for k, x in self.found.items() if x.kind == quantity]
        found = f"; found {listing(heads, MAX_NAMES)}" if heads else ""
        more = f" and {len(missing) - MAX_NAMES} more" if len(missing) > MAX_NAMES else ""
        self.fail(
            f"{quantity} of {', '.join(missing[:MAX_NAMES])}{more} is missing{found}; expected a "
            f"column '{quantity}:{missing[0]}' for every joint of {self.request.owner}. If a "
            "column has it under another name: "
            f"{self.request.options.column('NAME', f'{quantity}:{missing[0]}')}."
        )

    def refuse_two(self, one: int, other: int) -> NoReturn:
        meaning = self.found[other]
        a, b = self.heads[one], self.heads[other]
        pattern = b.replace(meaning.joint or "", "*") if meaning.number is None else b
        pattern = DIGITS.sub("*", pattern) if meaning.number is not None else pattern
        pattern = pattern if pattern != "*" and not b.startswith(f"{meaning.kind}:") else b
        self.fail(
            f"columns {a!r} and {b!r} both are {meaning.kind} of {meaning.joint}; expected one. "
            f"Leave the other out: {self.request.options.column(pattern, '')}."
        )

    def refuse_ambiguous(
        self, k: int, both: Sequence[tuple[str, str | None, Unit | None]], numbered: bool
    ) -> NoReturn:
        head = self.heads[k]
        texts = [f"{kind}:{joint}{f' [{unit}]' if unit else ''}" for kind, joint, unit in both]
        reason = ": by its number and by its name" if numbered else ""
        self.fail(
            f"column {head!r} has several readings, {' and '.join(texts)}{reason}. "
            f"State which: {self.request.options.column(head, texts[-1])}."
        )

    def refuse_unknown(
        self,
        unknown: Sequence[int],
        readings: Mapping[int, list[Meaning]],
        sets: Mapping[tuple[str, str], Mapping[int, list[int]]],
    ) -> None:
        """Refuse columns without a meaning: parts of an incomplete set first, then others."""
        if not unknown:
            return
        for (quantity, _), numbers in sets.items():
            own = [k for ks in numbers.values() for k in ks]
            if any(k in unknown for k in own):
                self.refuse_set(quantity, numbers, own)
        k = unknown[0]
        head, options = self.heads[k], self.request.options
        names = self.request.names("q") or self.joint_names() or ("JOINT",)
        words = sorted({*names, *(x for y in SIGNALS for x in self.request.names(y))})
        subject = f"columns {listing((self.heads[x] for x in unknown), MAX_NAMES)}"
        subject = subject if len(unknown) > 1 else subject.replace("columns", "column", 1)
        quantity, joint = self.likely(k, readings[k], names)
        verb = ("state", "belong") if len(unknown) > 1 else ("states", "belongs")
        why = f"{verb[0]} no joint, neither by name nor by number"
        why = why if readings[k] else f"{verb[1]} to nothing that is read"
        letter = doubtful_word(head)
        hint = self.request.following(head) or nearest(head, words)
        hint += f" If {letter} is its unit, write it in brackets: [{letter}]." if letter else ""
        self.fail(
            f"{subject} {why}; expected t and columns of {', '.join(names[:MAX_NAMES])}, "
            f"such as q:{names[0]}.{hint} State it by hand: "
            f"{options.column(head, f'{quantity}:{joint}')}; or leave it out: "
            f"{options.column(head, '')}."
        )

    def likely(self, k: int, readings: Sequence[Meaning], names: Sequence[str]) -> tuple[str, str]:
        """The quantity and the joint that a name without a meaning suggests, for an advice."""
        kinds = [x.kind for x in readings if x.kind in SIGNALS]
        number = DIGITS.search(self.heads[k])
        place = int(number[0]) - 1 if number is not None and len(number[0]) < 4 else 0
        joint = names[place] if 0 <= place < len(names) else names[0]
        return next(iter([*kinds, *_quantities(self.heads[k])]), "q"), joint

    def refuse_set(
        self, quantity: str, numbers: Mapping[int, list[int]], own: Sequence[int]
    ) -> NoReturn:
        names, model = self.request.names(quantity), self.request.model
        heads = listing((self.heads[k] for k in own), MAX_NAMES)
        by_name = self.request.options.column(
            self.heads[own[0]], f"{quantity}:{(names or ('JOINT',))[0]}"
        )
        if model is not None and not self.request.plain:
            self.fail(
                f"numbered columns {heads} do not state which coordinate they are, and "
                f"{model.name!r} has joints with several. Name them: {quantity}:{names[0]}, ...; "
                f"or by hand: {by_name}."
            )
        twice = [own for own in numbers.values() if len(own) > 1]
        if twice:
            pair = listing((self.heads[k] for k in twice[0]), MAX_NAMES)
            self.fail(
                f"columns {pair} have the same number; expected one of them. Leave the other out: "
                f"{self.request.options.column(self.heads[twice[0][-1]], '')}."
            )
        count = len(names) or len(numbers)
        self.fail(
            f"{counted(len(numbers), 'numbered column')} of {quantity}, {heads}; expected a "
            f"complete set of {count} for {', '.join(names[:MAX_NAMES]) or 'the joints'}, from 1 "
            f"to {count} or from 0 to {count - 1}. State them by hand: {by_name}, ...; or leave "
            f"them out: {self.request.options.column(DIGITS.sub('*', self.heads[own[0]]), '')}."
        )

    def note_numbers(
        self, resolved: Mapping[tuple[str, str], Mapping[int, str]], order: Mapping[int, str]
    ) -> None:
        """Notes on which joint each numbered column became, and on words such as target."""
        listed: dict[tuple[str, ...], list[list[int]]] = {}
        for (quantity, _), joints_of_columns in resolved.items():
            used = {
                k: joint
                for k, joint in joints_of_columns.items()
                if k in self.found
                and (self.found[k].kind, self.found[k].joint) == (quantity, joint)
                and joint not in self.heads[k]
            }
            if used:
                listed.setdefault(tuple(used.values()), []).append(list(used))
        for joints, groups in listed.items():
            pairs = ", ".join(
                f"{self.heads[k]} is {joint}" for k, joint in zip(groups[0], joints, strict=True)
            )
            more = [
                f"{self.heads[group[0]]} to {self.heads[group[-1]]} ({self.found[group[0]].kind})"
                for group in groups[1:]
            ]
            how = "as the cells name them" if order else "in the order of the joints"
            self.notes.append(
                f"numbered columns are taken {how}: {pairs}"
                + (f"; likewise {', '.join(more)}" if more else "")
            )
        for quantity in SIGNALS:
            origins: dict[str, int] = {}
            for k, x in sorted(self.found.items()):
                if x.kind == quantity and x.origin:
                    origins.setdefault(x.origin, k)
            for origin, k in origins.items():
                self.notes.append(f"{quantity} is the {origin} value, {self.heads[k]!r}")


def _quantities(head: str) -> list[str]:
    """Quantities that words of a name state."""
    words = re.findall("[A-Za-z]+", head) + re.findall("[A-Z]?[a-z]+", head)
    return [WORDS[x.lower()] for x in words if x.lower() in WORDS]


def _letters(name: str) -> str:
    """A name in lower case without separators."""
    return "".join(x for x in name.lower() if x.isalnum())


def _has_quantity(head: str) -> bool:
    """Whether a numbered name states a quantity: q1, and not joint1."""
    return bool(meanings(head, ())) and not BARE_NUMBER.fullmatch(head)
