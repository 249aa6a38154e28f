"""States from the rows of a CSV file or pipe, in blocks: checked, in SI units, in joint order."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from kinetree.model.inputs import coordinates
from kinetree.base.arrays import Array
from kinetree.base.tables import counted
from kinetree.cli.angles import factors
from kinetree.cli.layouts import Layout, make_layout
from kinetree.cli.lines import line_blocks
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.errors import InputError, ParseError
from kinetree.model import Model


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of numbers: `lines` they stood on, and every quantity, (rows, n); "t" is (rows,)."""

    lines: Sequence[int]
    values: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.lines)


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
        raise ParseError(
            f"{where}: {counted(len(row), 'column')}; expected {len(heads)}: {', '.join(heads)}."
        )
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
