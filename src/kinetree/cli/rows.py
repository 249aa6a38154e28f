"""States from the rows of a CSV file or pipe, in blocks: checked, in SI units, in joint order.

The first line names the columns as in every CSV file of kinetree (`t`, `q:JOINT`, `dq:JOINT`,
`ddq:JOINT`, `tau:JOINT`, a bare JOINT for its position), or is a row of numbers itself: then the
columns are q, perhaps dq, perhaps ddq or tau, in the order of the joints.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from kinetree.algorithms.inputs import coordinates
from kinetree.arrays import Array
from kinetree.cli.angles import factors, names
from kinetree.cli.choices import nearest
from kinetree.cli.lines import line_blocks
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.errors import InputError, ParseError
from kinetree.model import Model
from kinetree.motion.columns import QUANTITIES

TIME = ("t", "")


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of numbers: `lines` they stood on, and every quantity, (rows, n); "t" is (rows,)."""

    lines: Sequence[int]
    values: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.lines)


@dataclass(frozen=True)
class Layout:
    """Which column is which: heads of all columns, and where each quantity's entries stand."""

    heads: tuple[str, ...]
    columns: Mapping[str, list[int]]


def read_rows(
    stream: BinaryIO,
    name: str,
    model: Model,
    wanted: Sequence[str],
    degrees: bool,
    required: Sequence[str] = ("q",),
) -> Iterator[Block]:
    """Blocks of states; `wanted` are the quantities to read, `required` those that must be there.

    A block has no entry for what is wanted and not there. Only named columns can have times.
    """
    layout, line, rows = None, 0, 0
    for texts in line_blocks(stream, name):
        numbered = [(line + k, x) for k, x in enumerate(texts, 1) if x and not x.isspace()]
        line += len(texts)
        if layout is None and numbered:
            first, head = numbered[0]
            layout, names_only = make_layout(head, f"{name}, line {first}", model, wanted, required)
            numbered = numbered[names_only:]
        if layout is not None and numbered:
            rows += len(numbered)
            yield _block(layout, numbered, name, model, wanted, degrees)
    if layout is None:
        raise ParseError(f"{name} is empty; expected rows of numbers, with a line of names or not.")
    if not rows:
        raise ParseError(f"{name} has a line of names and no row of numbers after it.")


def _block(
    layout: Layout,
    numbered: Sequence[tuple[int, str]],
    name: str,
    model: Model,
    wanted: Sequence[str],
    degrees: bool,
) -> Block:
    table = numbers(numbered, layout.heads, name)
    lines = [line for line, _ in numbered]
    values = {"t": table[:, layout.columns["t"][0]]} if "t" in layout.columns else {}
    for quantity in wanted:
        if quantity in layout.columns:
            x = table[:, layout.columns[quantity]] * factors(model, quantity, degrees)
            values[quantity] = np.ascontiguousarray(x)
    if "q" in values:
        _check_quaternions(model, values["q"], lines, name)
    return Block(lines, values)


def numbers(numbered: Sequence[tuple[int, str]], heads: Sequence[str], name: str) -> Array:
    """The table of numbers, (rows, columns), all finite; a complaint names line and column."""
    width = len(heads)
    texts = [text for _, text in numbered]
    if all(text.count(",") == width - 1 for text in texts):
        try:
            flat = np.fromiter(map(float, ",".join(texts).split(",")), float, len(texts) * width)
        except ValueError:
            flat = np.array([np.nan])
        if np.isfinite(flat).all():
            return flat.reshape(-1, width)
    # something is odd: cell by cell, so that the complaint can say where
    return np.array(
        [_cells(next(csv.reader([x])), heads, f"{name}, line {k}") for k, x in numbered]
    )


def _cells(row: Sequence[str], heads: Sequence[str], where: str) -> list[float]:
    if len(row) != len(heads):
        raise ParseError(f"{where}: {len(row)} columns; expected {len(heads)}: {', '.join(heads)}.")
    found = []
    for text, head in zip(row, heads, strict=True):
        try:
            value = float(text)
        except ValueError:
            raise ParseError(f"{where}: {head!r} is {text!r}; expected a number.") from None
        if not np.isfinite(value):
            raise ParseError(f"{where}: {head!r} is {text.strip()}; expected a finite number.")
        found.append(value)
    return found


def make_layout(
    head: str, where: str, model: Model, wanted: Sequence[str], required: Sequence[str] = ("q",)
) -> tuple[Layout, bool]:
    """The columns, and whether the line holds names (else it is the first row already)."""
    cells = [x.strip() for x in next(csv.reader([head]))]
    try:
        [float(x) for x in cells]
    except ValueError:
        _check_separator(head, where, model)
        return _named_layout(cells, where, model, required), True
    if "t" in required:
        raise ParseError(
            f"{where}: columns without names; expected a first line that names them: t, "
            f"{wanted[0]}:{names(model, wanted[0])[0]}, ..."
        )
    return _bare_layout(len(cells), where, model, wanted), False


def _check_separator(head: str, where: str, model: Model) -> None:
    """Refuse what other programs take for CSV: semicolons, tabs, or blanks between numbers."""
    if ";" in head and head.strip() not in model.coordinate_names:
        raise ParseError(f"{where}: semicolons between columns; expected commas, and 0.5 for 0,5.")
    blank = "," not in head and re.fullmatch(r"[-+\d.eE]+(\s+[-+\d.eE]+)+", head.strip())
    if blank or "\t" in head:
        raise ParseError(f"{where}: blanks or tabs between columns; expected commas.")


def _bare_layout(width: int, where: str, model: Model, wanted: Sequence[str]) -> Layout:
    heads: list[str] = []
    columns: dict[str, list[int]] = {}
    expected = []
    for quantity in wanted:
        own = [f"{quantity}:{x}" for x in names(model, quantity)]
        columns[quantity] = list(range(len(heads), len(heads) + len(own)))
        heads += own
        expected.append(f"{len(heads)} ({', '.join(columns)})")
        if len(heads) == width:
            return Layout(tuple(heads), columns)
    raise ParseError(
        f"{where}: {width} columns without names; {model.name!r} takes {' or '.join(expected)}. "
        f"Or name them in the first line: {', '.join(heads[:2])}, ..."
    )


def _named_layout(
    cells: Sequence[str], where: str, model: Model, required: Sequence[str]
) -> Layout:
    keys = [_key(text, k, where) for k, text in enumerate(cells, 1)]
    for k, (quantity, joint) in enumerate(keys):
        if keys.index((quantity, joint)) != k:
            raise ParseError(f"{where}: two columns are called {cells[k]!r}.")
        known = names(model, quantity)
        if quantity != "t" and joint not in known:
            raise ParseError(
                f"{where}: unknown joint {joint!r} in column {cells[k]!r}; {model.name!r} has "
                f"{', '.join(known)}.{nearest(joint, known)}"
            )
    columns = {"t": [keys.index(TIME)]} if TIME in keys else {}
    if "t" in required and not columns:
        raise ParseError(f"{where}: no column 't'; expected the times in s.")
    for quantity in QUANTITIES:
        known = names(model, quantity)
        missing = [x for x in known if (quantity, x) not in keys]
        if missing and (len(missing) < len(known) or quantity in required):
            raise ParseError(
                f"{where}: {quantity} of {', '.join(missing)} is missing; expected a column "
                f"'{quantity}:{missing[0]}' for every joint of {model.name!r}."
            )
        if not missing:
            columns[quantity] = [keys.index((quantity, x)) for x in known]
    return Layout(tuple(cells), columns)


def _key(text: str, k: int, where: str) -> tuple[str, str]:
    quantity, colon, joint = text.partition(":")
    if not text or (colon and not joint):
        raise ParseError(f"{where}: column {k} has no name.")
    if text == "t":
        return TIME
    return (quantity, joint) if colon and quantity in QUANTITIES else ("q", text)


def _check_quaternions(model: Model, q: Array, lines: Sequence[int], name: str) -> None:
    for joint in model.joints:
        if joint.type in (SPHERICAL, FREE) and joint.follows is None:
            length = np.linalg.norm(q[:, list(joint.coords[:4])], axis=1)
            bad = np.flatnonzero(abs(length - 1) > 1e-9)
            if bad.size:
                try:
                    coordinates(model, q[bad[0]])
                except InputError as error:
                    raise ParseError(f"{name}, line {lines[bad[0]]}: {error}") from None


def with_zeros(model: Model, block: Block, wanted: Sequence[str]) -> list[Array]:
    """The wanted quantities of a block, q first; rates and forces that it does not have are 0."""
    nothing = np.broadcast_to(np.zeros(model.n), (len(block), model.n))
    return [block.values.get(name, nothing) for name in wanted]
