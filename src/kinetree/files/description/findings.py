"""Findings: notes, warnings and faults that reading a file yields besides the records, in order."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kinetree.errors import ParseError
from kinetree.files.description.records import Note
from kinetree.files.description.xml import Element

MAX_KINDS = 100  # different texts that are kept apart; a hostile file could have a million
MORE = "there is more that is not read"
X = TypeVar("X")
Y = TypeVar("Y")


@dataclass
class Findings:
    """Notes (read differently from what one may expect), warnings (not honoured), and faults."""

    notes: list[Note] = field(default_factory=list[Note])
    warnings: list[Note] = field(default_factory=list[Note])
    faults: list[ParseError] = field(default_factory=list[ParseError])
    counts: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    shared: dict[str, list[Note]] = field(default_factory=dict[str, list[Note]])

    def note(self, element: Element, text: str, code: str = "", **fields: Any) -> None:
        """Add a note at the line of an element."""
        self.notes.append(Note(text, element.where, code=code, fields=fields))

    def warn(self, element: Element, text: str, code: str = "", **fields: Any) -> None:
        """Add a warning at the line of an element."""
        self.warnings.append(Note(text, element.where, code=code, fields=fields))

    @property
    def is_full(self) -> bool:
        """True if no further text can be kept apart from the others."""
        return len(self.counts) + len(self.shared) >= MAX_KINDS

    def warn_together(
        self, element: Element, text: str, owner: str, code: str = "", **fields: Any
    ) -> None:
        """Add an owner to a warning that several owners may share and that is given once."""
        text = text if text in self.shared or not self.is_full else f"{MORE}."
        note = Note(owner, element.where, code=code, fields=fields)
        self.shared.setdefault(text, []).append(note)

    def count(self, element: Element, text: str) -> None:
        """Count an occurrence of something that is noted once."""
        text = text if text in self.counts or not self.is_full else MORE
        number, where = self.counts.get(text, (0, element.where))
        self.counts[text] = number + 1, where

    def each(self, read: Callable[[X], Y], items: Iterable[X]) -> list[Y]:
        """What `read` makes of the items; the faults of those that it refuses are collected."""
        results: list[Y] = []
        for item in items:
            try:
                results.append(read(item))
            except ParseError as error:
                self.faults.append(error)
        return results

    def check(self) -> None:
        """Raise the first of the faults that were collected; all are in its `faults`."""
        if self.faults:
            first = self.faults[0]
            first.faults, first.warnings = tuple(self.faults), self.all_warnings()
            raise first

    def all_notes(self) -> tuple[Note, ...]:
        """The notes, and one for each text that was counted, at its first place."""
        counted = [
            Note(text if number == 1 else f"{text} ({number} times)", where)
            for text, (number, where) in self.counts.items()
        ]
        return (*self.notes, *counted)

    def all_warnings(self) -> tuple[Note, ...]:
        """The warnings, and one for each text that several owners share, at its first place."""
        together: list[Note] = []
        for text, owners in self.shared.items():
            names, first = ", ".join(owner.text for owner in owners[:3]), owners[0]
            more = f" and {len(owners) - 3} more" if len(owners) > 3 else ""
            text = f"{names}{more}: {text}"
            together.append(Note(text, first.where, code=first.code, fields=first.fields))
        return (*self.warnings, *together)


def fault(element: Element, owner: str, text: str, code: str = "", **fields: Any) -> ParseError:
    """The error at an element: file:line:column, the owner of the element, the fault."""
    return ParseError(f"{element.place}: {owner}: {text}", code=code, **fields)
