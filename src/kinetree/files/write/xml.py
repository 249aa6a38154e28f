"""XML as a tree of tags; its numbers read back as the same floats, its names as the same text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kinetree.core.text import exact_number
from kinetree.errors import ModelError
from kinetree.files.description.xml import quoted
from kinetree.scalars import Scalar

# characters that XML 1.0 cannot contain, not even escaped
ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Tag:
    """An element with its attributes and children; the name "!" marks a comment."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Tag"] = field(default_factory=list)
    text: str = ""

    def add(self, *children: "Tag | None") -> "Tag":
        """Append children, without None, and return the element itself."""
        self.children += [child for child in children if child is not None]
        return self


def comment(text: str) -> Tag:
    """A comment; double hyphens, which XML does not allow in it, are split."""
    return Tag("!", text=ILLEGAL.sub("?", text).replace("--", "- -"))


def document(root: Tag) -> str:
    """The text of a file, indented by two blanks a level."""
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *_lines(root)]) + "\n"


def _lines(root: Tag) -> Iterator[str]:
    waiting: list[tuple[int, Tag | str]] = [(0, root)]  # tags to write, and ends of tags
    while waiting:
        level, tag = waiting.pop()
        blank = "  " * level
        if isinstance(tag, str):
            yield f"{blank}{tag}"
            continue
        if tag.name == "!":
            yield f"{blank}<!-- {tag.text} -->"
            continue
        start = f"{blank}<{tag.name}" + "".join(
            f" {k}={quoted(v)}" for k, v in tag.attributes.items()
        )
        if tag.children:
            yield f"{start}>"
            waiting.append((level, f"</{tag.name}>"))
            waiting += [(level + 1, child) for child in reversed(tag.children)]
        else:
            yield f"{start}>{tag.text}</{tag.name}>" if tag.text else f"{start}/>"


def numbers(x: Iterable[Scalar]) -> str:
    """Numbers with blanks between them."""
    return " ".join(map(exact_number, x))


def check_names(names: Iterable[str], kind: str, format: str) -> None:
    """Raise ModelError for a name that would not be read back as it is."""
    for name in names:
        problem = _problem(name)
        if problem:
            text = f"{kind} {name!r} {problem}, which {format} does not allow"
            raise ModelError(f"{text}; expected printable text. Rename it.")


def _problem(name: str) -> str:
    if not name.strip():
        return "has an empty name"
    if ILLEGAL.search(name):
        return "has a character that XML does not allow"
    if "${" in name or "$(" in name:
        return "looks like a xacro expression"
    return "has more than 1000 characters" if len(name) > 1000 else ""
