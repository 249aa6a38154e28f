"""A thin reader of XML on the standard library's expat: bounded, no DTD, positions everywhere."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from kinetree.core.text import clip as clip  # readers take both from here
from kinetree.core.text import show as show
from kinetree.errors import ParseError
from kinetree.files.description.source import MAX_SIZE


@dataclass(frozen=True)
class Bounds:
    """Limits of a file: characters, nested and total elements, attributes, value lengths."""

    size: int = MAX_SIZE
    depth: int = 200
    elements: int = 500_000
    attributes: int = 200
    value: int = 65_536


BOUNDS = Bounds()
MARKUP = {"&": "&amp;", ">": "&gt;", "<": "&lt;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


@dataclass(slots=True)
class Element:
    """An element of the file, with its children in order and the place of its '<'."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    column: int
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    @property
    def where(self) -> str:
        """file:line."""
        return f"{self.file}:{self.line}"

    @property
    def place(self) -> str:
        """file:line:column."""
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def value(self) -> str:
        """The text without blanks around it."""
        return self.text.strip()

    def all(self, tag: str) -> list["Element"]:
        """Children of one tag."""
        return [child for child in self.children if child.tag == tag]

    def below(self) -> Iterator["Element"]:
        """All elements inside it, in the order of the file."""
        waiting = self.children[::-1]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)


def parse_xml(text: str, file: str, bounds: Bounds = BOUNDS) -> Element:
    """The root element of an XML text.

    Document types, and with them all entities of the file's own, are errors: they can name other
    files and can grow without bound. Namespaces are not resolved; a prefix is part of the tag.
    Blanks before the XML declaration are skipped, since real files have them.

    Args:
        text: the whole document.
        file: its name in messages.
        bounds: the limits; a document beyond one is an error.
    """
    if len(text) > bounds.size:
        raise ParseError(f"{file}: the text has {len(text)} characters, more than {bounds.size}.")
    body = text.lstrip("\ufeff \t\r\n")
    if not body.startswith("<"):  # it may be secret and is not shown
        kind = "JSON, not XML" if body[:1] in ("{", "[") else "not XML" if body else "empty"
        raise ParseError(f"{file}:1:1: the file is {kind}; expected '<' first.")
    skipped = text[: len(text) - len(body)]
    builder = _Builder(file, bounds, skipped.count("\n"))
    try:
        builder.parser.Parse(body, True)
    except expat.ExpatError as error:
        readable = COMMENT.sub(_without_dashes, body)  # other readers accept -- in comments
        if readable != body:
            return parse_xml(skipped + readable, file, bounds)
        raise _explain(error, builder, body) from None
    except UnicodeEncodeError as error:
        raise ParseError(f"{file}: the text holds a lone surrogate: {error.reason}.") from None
    if builder.root is None:
        raise ParseError(f"{file}:1:1: the file has no element; expected XML with one root.")
    return builder.root


def quoted(text: str) -> str:
    """`text` as the value of an attribute, in single quotes where it has only double ones."""
    for sign, name in MARKUP.items():
        text = text.replace(sign, name)
    if '"' not in text:
        return f'"{text}"'
    return "'" + text + "'" if "'" not in text else '"' + text.replace('"', "&quot;") + '"'


COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)


def _without_dashes(comment: re.Match[str]) -> str:
    return f"<!--{comment[1].replace('-', ' ')}-->"


class _Builder:
    """Handlers that build the tree on a stack of their own, so that depth costs no recursion."""

    def __init__(self, file: str, bounds: Bounds, lines_skipped: int):
        self.file, self.bounds, self.lines_skipped = file, bounds, lines_skipped
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.is_interrupted = False  # the text, by an element or a comment
        self.parser.CommentHandler = self.parser.ProcessingInstructionHandler = self.interrupt

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        line, column = self.position()
        element = Element(tag, attributes, self.file, line, column)
        self.count += 1
        self.check_bounds(element)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def end(self, tag: str) -> None:
        self.stack.pop()
        self.interrupt()

    def interrupt(self, *_: object) -> None:
        self.is_interrupted = True

    def characters(self, data: str) -> None:
        element = self.stack[-1]
        if data.isspace() and not element.text:
            return
        if self.is_interrupted and element.text:
            data = f" {data}"  # 1<!-- x -->2 is not 12
        self.is_interrupted = False
        element.text += data
        if len(element.text) > self.bounds.value:
            self.refuse(element, "characters of text in one element", self.bounds.value)

    def refuse_doctype(self, name: str, *_: object) -> None:
        line, column = self.position()
        what = "a document type (<!DOCTYPE>), which could define entities or read other files"
        remedy = "delete it, or download the raw file if this is a web page"
        raise ParseError(f"{self.file}:{line}:{column}: the file has {what}; {remedy}.")

    def check_bounds(self, element: Element) -> None:
        bounds, attributes = self.bounds, element.attributes
        if self.count > bounds.elements:
            self.refuse(element, "elements in one file", bounds.elements)
        if len(self.stack) >= bounds.depth:
            self.refuse(element, "elements nested in each other", bounds.depth)
        if len(attributes) > bounds.attributes:
            self.refuse(element, "attributes of one element", bounds.attributes)
        if max(map(len, (*attributes, *attributes.values())), default=0) > bounds.value:
            self.refuse(element, "characters in one attribute", bounds.value)

    def refuse(self, element: Element, what: str, limit: int) -> None:
        text = f"<{clip(element.tag)}> goes beyond the limit of {limit} {what}."
        raise ParseError(f"{element.place}: {text}")

    def position(self) -> tuple[int, int]:
        line = self.parser.CurrentLineNumber + self.lines_skipped
        return line, self.parser.CurrentColumnNumber + 1


MERGE_MARKER = re.compile(r"^(<{7}|>{7}|\|{7})( .*)?$", re.MULTILINE)


def _explain(error: expat.ExpatError, builder: _Builder, body: str) -> ParseError:
    line, column = error.lineno + builder.lines_skipped, error.offset + 1
    what = f"not well-formed XML: {expat.ErrorString(error.code)}"
    if builder.stack:
        what += f", in <{clip(builder.stack[-1].tag)}> of line {builder.stack[-1].line}"
    if marker := MERGE_MARKER.search(body):
        line, column = body.count("\n", 0, marker.start()) + 1 + builder.lines_skipped, 1
        what = f"{clip(marker[0])!r} is a merge marker, of a conflict of versions"
    hint = "Is the file complete? & is written &amp; and < is written &lt;."
    return ParseError(f"{builder.file}:{line}:{column}: {what}. {hint}")
