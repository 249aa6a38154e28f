"""The record on screen."""

from rich.console import Console
from rich.table import Table

from benchmarks.record import NUMBERS, Record, busy, cells, number

COLOURS = {True: "green", False: "red", None: "yellow"}


def show(record: Record, console: Console) -> None:
    """What was measured, then what it must show, then the notes."""
    header = ("question", "robot", "quantity", "who", *NUMBERS)
    console.print(filled("Everything measured", header, cells(record.rows)))
    required = Table("", "robot", "required", "measured", "spread", "", title="What it must show")
    for v in record.verdicts:
        word = f"[{COLOURS[v.passed]}]{v.word}[/]"
        required.add_row(v.what, v.robot, v.required, v.measured, number(v.spread), word)
    console.print(required)
    if busy(record.about["machine"]):
        console.print("The machine was busy when the run began: no figures to quote.")
    for note in record.notes:
        console.print(f"- {note}", markup=False, highlight=False)


def filled(title: str, header: tuple[str, ...], lines: list[tuple[str, ...]]) -> Table:
    """A table with a rule between questions."""
    table = Table(*header, title=title)
    for before, line in zip([None, *lines], lines, strict=False):
        if before is not None and before[:3] != line[:3]:
            table.add_section()
        table.add_row(*line)
    return table
