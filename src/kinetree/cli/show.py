"""How results look on a screen: tables that fit it, numbers that line up."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from kinetree.base.arrays import Array
from kinetree.cli.writing import check_output, json_text

DIGITS = 6
GAP = 2  # columns between two of a table
ROUNDING = 1e-15  # of the largest entry of a matrix: what is below is shown as 0


def console() -> Console:
    """Standard output; names are printed as they are, never as markup."""
    return Console(markup=False, highlight=False, emoji=False)


def say(text: str) -> None:
    """A line for the user on the error stream."""
    print(f"kinetree: {text}", file=sys.stderr)


def print_json(value: Any, output: Path | None = None) -> None:
    """One JSON document into a file or onto stdout, indented where people look at it."""
    print_text(json_text(value, indent=2 if output or sys.stdout.isatty() else None), output)


def print_text(text: str, output: Path | None = None) -> None:
    """Text into a file or onto stdout, as it is, with a newline at its end."""
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        check_output(output)
        output.write_text(text, encoding="utf-8")


def number(x: float, digits: int = DIGITS) -> str:
    """A number with that many digits that count; no -0."""
    return f"{x + 0.0:.{digits}g}"


def table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    left: Sequence[int] = (0,),
) -> Group:
    """Columns in `left` to the left, numbers to the right; nothing is cut, long words fold."""
    found = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0),
        header_style="bold",
    )  # fmt: skip
    for k, head in enumerate(heads):
        found.add_column(Text(head), justify="left" if k in left else "right", overflow="fold")
    for row in rows:
        found.add_row(*(Text(x) if isinstance(x, str) else x for x in row))
    return Group(*([Text(title, style="bold")] if title else []), found)


def matrix_tables(
    title: str, names: Sequence[str], matrix: Array, width: int, digits: int = 5
) -> list[Group]:
    """A square matrix with its joints beside the rows; columns in groups that fit the width."""
    dust = ROUNDING * float(abs(matrix).max(initial=0))
    shown = [[x if abs(x) > dust else 0.0 for x in row] for row in matrix.tolist()]
    cells = [[number(x, digits) for x in row] for row in shown]
    label = max((len(x) for x in names), default=0) + len(str(len(names))) + 1
    widest = max((len(x) for row in cells for x in row), default=1)
    group = max(1, (width - min(label, width // 2)) // (widest + GAP))
    found = []
    for start in range(0, max(len(names), 1), group):
        part = range(start, min(start + group, len(names)))
        rows = [[f"{i + 1} {names[i]}", *(cells[i][k] for k in part)] for i in range(len(names))]
        heading = (
            title if group >= len(names) else f"{title}, columns {part[0] + 1} to {part[-1] + 1}"
        )
        found.append(table(heading, ["", *(str(k + 1) for k in part)], rows))
    return found
