"""Which column of a file is which.

The first line names the columns as in every CSV file of kinetree (`t`, `q:JOINT`, `dq:JOINT`,
`ddq:JOINT`, `tau:JOINT`, a bare JOINT for its position), or is a row of numbers itself: then the
columns are q, perhaps dq, perhaps ddq or tau, in the order of the joints.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kinetree.base.tables import counted
from kinetree.cli.angles import names
from kinetree.cli.choices import nearest
from kinetree.errors import ParseError
from kinetree.model import Model
from kinetree.motion.columns import QUANTITIES

TIME = ("t", "")


@dataclass(frozen=True)
class Layout:
    """Which column is which: heads of all columns, and where each quantity's entries stand."""

    heads: tuple[str, ...]
    columns: Mapping[str, list[int]]


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
        f"{where}: {counted(width, 'column')} without names; {model.name!r} takes "
        f"{' or '.join(expected)}. Or name them in the first line: {', '.join(heads[:2])}, ..."
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
