"""What got worse between two records: ratios to peers, and kinetree's own counts and times."""

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from benchmarks.record import title
from benchmarks.rows import Row

WORSE = 0.03  # part by which a figure may be worse
HEADER = ("question", "robot", "quantity", "who", "old", "new", "worse by")


def read_rows(path: Path) -> list[Row]:
    """The rows of a record in JSON."""
    names = {x.name for x in fields(Row)}
    rows = json.loads(path.read_text())["rows"]
    return [Row(**{name: x for name, x in row.items() if name in names}) for row in rows]


def worse(old: Sequence[Row], new: Sequence[Row]) -> list[tuple[str, ...]]:
    """A line for every figure that is worse by more than WORSE, the worst first; then what is gone.

    A peer's row counts by its ratio to kinetree, in which the speed of the machine cancels;
    kinetree's own only where nobody is beside it: operations and milliseconds.
    """
    before = {key_of(row): row for row in old}
    after = {key_of(row): row for row in new}
    beside = {key[:-1] for key, row in after.items() if not ours(row)}
    lines: list[tuple[float, tuple[str, ...]]] = []
    for key in before.keys() & after.keys():
        if ours(after[key]) and key[:-1] in beside:
            continue
        was, now = figure(before[key]), figure(after[key])
        if was is None or now is None or not was > 0:
            continue
        loss = now / was - 1 if ours(after[key]) else was / now - 1
        if loss > WORSE:
            shown = f"{was:.4g}", f"{now:.4g}", f"{100 * loss:.0f} %"
            lines.append((loss, (*named(after[key]), *shown)))
    lines.sort(key=lambda line: (-line[0], line[1]))
    missing = [before[key] for key in before if key not in after]
    return [x for _, x in lines] + [(*named(x), "there", "missing", "") for x in missing]


def key_of(row: Row) -> tuple[Any, ...]:
    """What a row measures, and last whom."""
    return row.question, row.robot, row.quantity, row.n, row.who


def ours(row: Row) -> bool:
    """True for a row of kinetree."""
    return row.who.startswith("kinetree")


def figure(row: Row) -> float | None:
    """The ratio of a peer; of kinetree its value, by time on the processor if it is known."""
    if not ours(row):
        return row.ratio
    return row.value if row.cpu is None else row.cpu


def named(row: Row) -> tuple[str, ...]:
    """The words of a line."""
    many = f", N = {row.n}" if row.n else ""
    return row.question + many, title(row.robot), row.quantity.replace("_", " "), row.who
