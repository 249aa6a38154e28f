"""Node: a number of the dynamics that unfolds into the numbers that it is the sum of."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from inspect import getsource
from typing import TypeVar

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.text import counted
from kinetree.errors import NameLookupError
from kinetree.explain.numbers import column_cells
from kinetree.present.mathml import inside_math
from kinetree.present.tables import escape, plain, text_table

NUMBER, HOLE = re.compile(r"\d+"), "#"
MAX_LINES = 40  # of a printed tree: a screen
Value = float | tuple[float, ...] | tuple[tuple[float, ...], ...]  # scalar, vector or matrix

# modules whose lines are marked as the source of a number, such as `tau = ...  # explain: tau`; a
# marker on a line of its own belongs to the next line
MARKED = (
    *(f"dynamics.textbook.{x}" for x in ("recursion", "screw", "jacobians", "rotors")),
    *("dynamics.joints.friction", "dynamics.joints.springs", "dynamics.joints.motors"),
    *("model.inputs", "explain.constraints", "explain.contacts"),
)
MARKER = re.compile(r"^(.*?)\s*# explain: (.+)$")


@dataclass(frozen=True)
class Code:
    """A line of the source: file below src/kinetree, number of the line from 1, its text."""

    file: str
    line: int
    text: str


@cache
def marked_lines() -> dict[str, Code]:
    """The marked lines of the source by the names in their markers; empty without a source."""
    found: dict[str, Code] = {}
    for module in MARKED:
        try:
            lines = getsource(import_module(f"kinetree.{module}")).splitlines()
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            if marker := MARKER.match(line):
                alone = not marker[1].strip()
                text = lines[number] if alone else marker[1]
                code = Code(f"{module.replace('.', '/')}.py", number + alone, text.strip())
                found |= dict.fromkeys(marker[2].split(", "), code)
    return found


def code_line(key: str) -> Code | None:
    """The line of the source with a marker; None without a marker or without a source."""
    return marked_lines()[key] if key and marked_lines() else None


@dataclass(frozen=True)
class Quantity:
    """A named factor of a number: scalar, vector or matrix, with unit and frame.

    frame: the axes that a vector is written in, such as "{s}"; empty for a scalar.
    """

    name: str
    value: Value
    unit: str = ""
    frame: str = ""


@dataclass(frozen=True, eq=False)
class Node:
    """A number and the numbers that add up to it.

    Args:
        name: words; also the name of the term of the parent's equation that this number is.
        latex: the term as a formula.
        value: number; a tuple of numbers for a 6-vector.
        unit: unit of the value.
        frame: the axes that a vector is written in; empty for a number.
        code: the line of the source that computes it, None where there is no source.
        numbers: its factors.
        children: the numbers that add up to it.
    """

    name: str
    latex: str
    value: Value
    unit: str = ""
    frame: str = ""
    code: Code | None = None
    numbers: tuple[Quantity, ...] = ()
    children: "tuple[Node, ...]" = field(default=(), repr=False)

    @cached_property
    def symbol(self) -> str:
        """The term as MathML."""
        return f"<math>{mathml(self.latex)}</math>"

    def leaves(self) -> "Iterator[Node]":
        """All numbers below this one that do not unfold further; the node itself if it is one."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def __str__(self) -> str:
        """A table of the number and of the numbers below it, as many levels as fit MAX_LINES."""
        sizes = _levels([self])
        depth = max(2, int((np.cumsum(sizes) <= MAX_LINES).sum()))
        rows = list(self._indented(depth))
        values = np.array([node.value for _, node in rows]).reshape(len(rows), -1)
        cells = zip(*map(column_cells, values.T), strict=True)
        lines = text_table(
            [[name, *x, node.unit] for (name, node), x in zip(rows, cells, strict=True)]
        )
        if deeper := sum(sizes[depth:]):
            lines.append(f"{counted(deeper, 'number')} below these; index by name to unfold one")
        return "\n".join(line.rstrip() for line in lines)

    def _indented(self, depth: int, before: str = "") -> "Iterator[tuple[str, Node]]":
        """The node and those below it, each with its indented name, down to a depth."""
        yield before + self.name, self
        for child in self.children if depth > 1 else ():
            yield from child._indented(depth - 1, before + "  ")

    def __getitem__(self, name: str) -> "Node":
        for child in self.children:
            if child.name == name:
                return child
        names = ", ".join(x.name for x in self.children) or "nothing"
        raise KeyError(f"{self.name!r} does not unfold into {name!r}; it unfolds into {names}.")


T = TypeVar("T")


def named(found: Mapping[str, T], name: str, what: str) -> T:
    """An entry by its name; NameLookupError with the names that there are."""
    if name not in found:
        raise NameLookupError(f"there is no {what} {name!r}; there are {', '.join(found)}.")
    return found[name]


def summed(
    name: str,
    latex: str,
    unit: str,
    children: Sequence[Node],
    key: str = "",
    numbers: tuple[Quantity, ...] = (),
) -> Node:
    """The node of a sum of numbers; key: marker of its line of code."""
    value = math.fsum(x.value for x in children if isinstance(x.value, float))
    return Node(name, latex, value, unit, "", code_line(key), numbers, tuple(children))


def leaf(
    name: str, latex: str, value: float, unit: str, key: str, *numbers: tuple[str, float, str]
) -> list[Node]:
    """A number with its factors (name, value, unit); nothing if it is zero."""
    factors = tuple(Quantity(*number) for number in numbers)
    return [Node(name, latex, value, unit, "", code_line(key), factors)] if value else []


def product(
    name: str, latex: str, unit: str, a: Array, b: Array, key: str, *numbers: Quantity
) -> list[Node]:
    r"""The dot product a . b, the sum of the products of components; nothing if all are zero.

    latex: the product, with a \cdot between both vectors.
    """
    left, _, right = latex.partition(r" \cdot ")
    children = [
        Node(axis, f"({left})_{axis} ({right})_{axis}", value, unit)
        for axis, value in zip("xyz", (np.asarray(a) * b).tolist(), strict=True)
        if value
    ]
    return [summed(name, latex, unit, children, key, numbers)] if children else []


def vector(name: str, x: Array, unit: str, frame: str) -> Quantity:
    """A vector or matrix as a factor."""
    rows = (np.asarray(x, float) + 0.0).tolist()  # -0.0 becomes 0.0
    value = tuple(tuple(row) if isinstance(row, list) else row for row in rows)
    return Quantity(name, value, unit, frame)


# Formulas


def marked(name: str, latex: str, *, first: bool) -> str:
    """A term of a sum as MathML, with its sign, in an <mrow> with data-term."""
    sign, body = split_sign(latex)
    after = "0" if first else "0.2222em"  # the space before a sign is that between two <math>
    operator = f'<mo lspace="0" rspace="{after}">{sign}</mo>' if sign != "+" or not first else ""
    mark = f'<mrow data-term="{escape(name)}">'
    return f"<math>{operator}{mark}{mathml(body)}</mrow></math>"


def split_sign(latex: str) -> tuple[str, str]:
    """Sign of a term, and the term without it."""
    return ("\u2212", latex[1:].lstrip()) if latex.startswith("-") else ("+", latex)


def mathml(latex: str) -> str:
    """A formula as MathML that is not yet in <math>."""
    pieces = _template(NUMBER.sub("7", latex)).split(HOLE)
    numbers = NUMBER.findall(latex)
    return "".join(x for pair in zip(pieces, [*numbers, ""], strict=True) for x in pair)


@cache
def _template(latex: str) -> str:
    """MathML of a formula with a hole for each number: formulas differ in their indices alone."""
    return inside_math(latex).replace("<mn>7</mn>", f"<mn>{HOLE}</mn>")


# JSON


def packed(trees: Sequence[Node], most: int | None = None) -> dict[str, object]:
    """Trees as JSON data, for views/page/unfold.js.

    Formulas, lines of code and factors that many nodes share are written once, in tables; a node
    has their numbers.

    most: most nodes; None: no limit. Of larger trees the deepest levels are left out, and "cut" is
    the number of nodes that are left out.

    Returns:
        "trees", "formulas" (sign, number of a template, numbers for its holes), "templates"
        (MathML with "#" for each hole), "codes", "numbers" and "cut".
    """
    formulas: dict[str, int] = {}
    templates: dict[str, int] = {}
    codes: dict[Code, int] = {}
    numbers: dict[Quantity, int] = {}
    sizes = _levels(trees)
    depth = len(sizes)
    while most is not None and depth > 2 and sum(sizes[:depth]) > most:
        depth -= 1

    def row(node: Node, level: int) -> dict[str, object]:
        data: dict[str, object] = {"name": node.name, "value": node.value, "unit": node.unit}
        data["symbol"] = formulas.setdefault(node.latex, len(formulas))
        if node.frame:
            data["frame"] = node.frame
        if node.code is not None:
            data["code"] = codes.setdefault(node.code, len(codes))
        if node.numbers:
            data["numbers"] = [numbers.setdefault(x, len(numbers)) for x in node.numbers]
        if node.children and level + 1 < depth:
            data["children"] = [row(x, level + 1) for x in node.children]
        return data

    def formula(latex: str) -> list[object]:
        sign, body = split_sign(latex)
        template = _template(NUMBER.sub("7", body))
        place = templates.setdefault(template, len(templates))
        return [sign, place, *NUMBER.findall(body)]

    return plain(
        {
            "trees": [row(tree, 0) for tree in trees],
            "formulas": [formula(latex) for latex in formulas],
            "templates": list(templates),
            "codes": [vars(x) for x in codes],
            "numbers": [vars(x) for x in numbers],
            "cut": sum(sizes[depth:]),
        }
    )


def _levels(trees: Sequence[Node]) -> list[int]:
    """How many nodes are at each depth."""
    sizes: list[int] = []
    level = list(trees)
    while level:
        sizes.append(len(level))
        level = [child for node in level for child in node.children]
    return sizes
