"""Output: files and standard output (CSV rows, JSON, text), lines on stderr, progress."""

import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinetree.cli.arguments import STREAM
from kinetree.cli.messages import notify as notify
from kinetree.core.arrays import Array
from kinetree.core.text import counted, csv_cell
from kinetree.errors import InputError, visible
from kinetree.present.tables import plain

if TYPE_CHECKING:
    from kinetree.model import Model

PAGES = (".html", ".htm")


def check_output(output: Path, source: str | None = None) -> None:
    """Raise InputError if the output cannot be written, or is the file that is being read."""
    if str(output) == STREAM:
        raise InputError(
            "-o is -; expected the name of a file. Commands that can print do so without -o."
        )
    if output.is_dir():
        raise InputError(f"-o is {output}, a folder; expected the name of a file.")
    if not output.parent.is_dir():
        raise InputError(f"-o is {output}, and there is no folder {output.parent}; make it first.")
    if source is not None and output.exists() and os.path.exists(source):
        if os.path.samefile(source, output):
            raise InputError(f"-o is {output}, which is being read; choose another name.")


def check_page(path: Path) -> None:
    """Raise InputError if the page of --report cannot be written to that place."""
    if path.suffix.lower() not in PAGES:
        raise InputError(f"--report is {path}; expected a name that ends with .html.")
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"--report is {path}; expected a file in an existing folder.")


def print_csv(heads: Sequence[str], rows: Array, output: Path | None = None) -> None:
    """Write a table of numbers as CSV, to a file or to stdout; they read back to the same bits."""
    lines = (",".join(map(repr, row)) for row in rows.tolist())
    print_text("\n".join([",".join(map(csv_cell, heads)), *lines]), output)


def print_json(value: Mapping[str, Any], output: Path | None = None) -> None:
    """Write one JSON document to a file or to stdout, indented for files and terminals."""
    print_text(json_text(value, indent=2 if output or sys.stdout.isatty() else None), output)


def json_text(value: Mapping[str, Any], indent: int | None = None) -> str:
    """JSON of numbers in full precision; NaN and infinity, which JSON lacks, become null."""
    import json  # here, since it is for --json

    return json.dumps(plain(value), allow_nan=False, indent=indent)


def print_text(text: str, output: Path | None = None) -> None:
    """Write text to a file or to stdout, with a newline at its end.

    It is unchanged unless a terminal shows it, where names have escapes.
    """
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    else:
        check_output(output)
        output.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def waiting(text: str) -> Generator[None]:
    """Show a spinner with `text` on stderr while the block runs, if stderr is a terminal."""
    from rich.markup import escape

    from kinetree.cli.terminal import Terminal
    from kinetree.core import progress

    screen = Terminal(stderr=True)
    room = screen.width - 3 - len(" ...")  # beside the spinner; a second line would stay
    with screen.status(escape(f"{visible(text)[:room]} ...")) as status:
        progress.spinners.append(status)
        try:
            yield
        finally:
            progress.spinners.remove(status)


@contextmanager
def progress_bar() -> Generator[Callable[[int | None, int | None, str], None]]:
    """A bar on stderr while the block runs: a function of what is done, of how much, and a text."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    from kinetree.cli.terminal import Terminal

    one_line = Column(no_wrap=True, overflow="ellipsis")
    columns = (
        BarColumn(),
        TextColumn("{task.description}", table_column=one_line),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(done: int | None, total: int | None, text: str) -> None:
            bar.update(task, completed=done, total=total, description=text)

        yield show


def compiling(what: str, model: "Model") -> str:
    """The text of the spinner while a kernel is compiled: its name and the size of the robot."""
    return f"compiling {what} of {model.name} ({counted(len(model.joints), 'joint')})"
