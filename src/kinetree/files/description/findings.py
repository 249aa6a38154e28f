"""Findings: the notes and warnings that reading a file yields besides the records, in order."""

from dataclasses import dataclass, field

from kinetree.errors import ParseError
from kinetree.files.description.records import Note
from kinetree.files.description.xml import Element

MAX_KINDS = 100  # different texts that are kept apart; a hostile file could have a million
MORE = "there is more that is not read"


@dataclass
class Findings:
    """Notes (read differently from what one may expect) and warnings (not honoured), as found."""

    notes: list[Note] = field(default_factory=list)
    warnings: list[Note] = field(default_factory=list)
    counts: dict[str, tuple[int, str]] = field(default_factory=dict)
    shared: dict[str, list[Note]] = field(default_factory=dict)

    def note(self, element: Element, text: str) -> None:
        """Add a note at the line of an element."""
        self.notes.append(Note(text, element.where))

    def warn(self, element: Element, text: str) -> None:
        """Add a warning at the line of an element."""
        self.warnings.append(Note(text, element.where))

    @property
    def is_full(self) -> bool:
        """True if no further text can be kept apart from the others."""
        return len(self.counts) + len(self.shared) >= MAX_KINDS

    def warn_together(self, element: Element, text: str, owner: str) -> None:
        """Add an owner to a warning that several owners may share and that is given once."""
        if self.is_full and text not in self.shared:
            text = f"{MORE}."
        self.shared.setdefault(text, []).append(Note(owner, element.where))

    def count(self, element: Element, text: str) -> None:
        """Count an occurrence of something that is noted once."""
        if self.is_full and text not in self.counts:
            text = MORE
        number, where = self.counts.get(text, (0, element.where))
        self.counts[text] = number + 1, where

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
            names = ", ".join(owner.text for owner in owners[:3])
            more = f" and {len(owners) - 3} more" if len(owners) > 3 else ""
            together.append(Note(f"{names}{more}: {text}", owners[0].where))
        return (*self.warnings, *together)


def fault(element: Element, owner: str, text: str) -> ParseError:
    """The error at an element: file:line:column, the owner of the element, the fault."""
    return ParseError(f"{element.place}: {owner}: {text}")
