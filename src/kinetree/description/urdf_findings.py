"""What the reader of a file has to say besides the records: notes and warnings, in order."""

from dataclasses import dataclass, field

from kinetree.description.records import Note
from kinetree.description.xml import Element

MAX_KINDS = 100


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
        """True when so much was found that the rest is not told apart."""
        return len(self.counts) + len(self.shared) >= MAX_KINDS

    def warn_together(self, element: Element, text: str, owner: str) -> None:
        """Add an owner to a warning that many may share and that is given once."""
        if self.is_full and text not in self.shared:
            text = "there is more that is not read."
        self.shared.setdefault(text, []).append(Note(owner, element.where))

    def count(self, element: Element, text: str) -> None:
        """Count something that is noted once however often it occurs."""
        if self.is_full and text not in self.counts:
            text = "there is more that is not read"
        number, where = self.counts.get(text, (0, element.where))
        self.counts[text] = number + 1, where

    def all_notes(self) -> tuple[Note, ...]:
        """The notes, and one for everything that was counted, at its first place."""
        counted = [
            Note(text if number == 1 else f"{text} ({number} times)", where)
            for text, (number, where) in self.counts.items()
        ]
        return (*self.notes, *counted)

    def all_warnings(self) -> tuple[Note, ...]:
        """The warnings, and one for everything that several owners share, at its first place."""
        together = [
            Note(f"{', '.join(owner.text for owner in owners[:3])}{_more(owners)}: {text}", where)
            for text, owners in self.shared.items()
            for where in [owners[0].where]
        ]
        return (*self.warnings, *together)


def _more(owners: list[Note]) -> str:
    return f" and {len(owners) - 3} more" if len(owners) > 3 else ""
