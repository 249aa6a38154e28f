"""An MJCF document as a flat list of nodes: read by a hardened reader, written one tag a line.

Line k of the text that MuJoCo compiles is node k, so that every line number in its messages leads
back to the file and line the user wrote, through any number of includes. A flat list also needs no
recursion, however deep a document is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kinetree.errors import ParseError
from kinetree.files.description.source import decode
from kinetree.files.description.xml import Bounds, clip, parse_xml, quoted

# MuJoCo's own reader accepts 500 levels; a mesh written into the file is one long attribute.
BOUNDS = Bounds(
    depth=500,
    elements=200_000,
    value=32 * 2**20,
    deep=" MuJoCo itself reads no more. Give a longer chain as URDF or SDF, where links do not lie "
    "in each other.",
)


@dataclass(frozen=True)
class Node:
    """One element: how deep it lies in the document, its tag and attributes, and its origin.

    document: number of the model it belongs to; 0 is the file, others are its <model> assets.
    """

    depth: int
    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    document: int = 0

    @property
    def where(self) -> str:
        """file:line of the start tag."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        name = self.attributes.get("name", self.attributes.get("class"))
        tag = f"<{clip(self.tag)}>"
        return tag if name is None else f"{tag} {clip(name)!r}"


def parse(data: bytes | str, file: str) -> list[Node]:
    """Nodes of an XML document in the order of their start tags; the root has depth 0.

    Args:
        data: the file's bytes, in any encoding that XML declares, or its text.
        file: its name, for messages.
    """
    text = decode(data, file)
    beginning = text.lstrip("\ufeff \t\r\n")[:1]
    if beginning not in ("", "<"):
        # not the message of parse_xml, which would show the beginning of a file that may be secret
        raise ParseError(f"{file}:1:1: not XML; expected '<' first.")
    nodes: list[Node] = []
    pending = [(0, parse_xml(text, file, BOUNDS))]
    while pending:
        depth, element = pending.pop()
        nodes.append(Node(depth, element.tag, element.attributes, file, element.line))
        pending += [(depth + 1, child) for child in reversed(element.children)]
    return nodes


def write(nodes: Sequence[Node]) -> str:
    """The document as text, the start tag of node k on line k + 1."""
    lines: list[str] = []
    stack: list[Node] = []
    for k, node in enumerate(nodes):
        attributes = "".join(f" {name}={quoted(v)}" for name, v in node.attributes.items())
        following = nodes[k + 1].depth if k + 1 < len(nodes) else 0
        if following > node.depth:
            stack.append(node)
            lines.append(f"<{node.tag}{attributes}>")
            continue
        closing = ""
        while stack and stack[-1].depth >= following:
            closing += f"</{stack.pop().tag}>"
        lines.append(f"<{node.tag}{attributes}/>{closing}")
    return "\n".join(lines)


def documents(nodes: Sequence[Node]) -> dict[int, list[Node]]:
    """Nodes of each document by its number, in the order they stand in."""
    by_document: dict[int, list[Node]] = {}
    for node in nodes:
        by_document.setdefault(node.document, []).append(node)
    return by_document


def document_name(k: int) -> str:
    """File name under which MuJoCo is given document k; there is no such file on the disk."""
    return f"kinetree_model_{k}.xml"


def owner(node: Node, around: Sequence[Node]) -> str:
    """The element as a user would name it: itself, and the nearest named body it belongs to."""
    for outer in reversed(around):
        if outer.tag == "body" and "name" in outer.attributes:
            return f"{node} of body {clip(outer.attributes['name'])!r}"
    return str(node)


def subtree(nodes: Sequence[Node], k: int) -> range:
    """Indices of node k and of everything inside it."""
    end = k + 1
    while end < len(nodes) and nodes[end].depth > nodes[k].depth:
        end += 1
    return range(k, end)


def with_ancestors(nodes: Sequence[Node]) -> Iterator[tuple[Node, list[Node]]]:
    """Each node with the nodes around it, outermost first."""
    path: list[Node] = []
    for node in nodes:
        del path[node.depth :]
        yield node, path
        path.append(node)
