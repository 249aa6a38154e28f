"""The one writer: results as tables on the screen, as JSON or as CSV; messages and progress.

A result is a document for JSON, and parts for the screen: tables and paragraphs. Records of the
library give both by `to_dict` and `tables`. Names come from files of others: a control character
could move the cursor or hide text, so that terminals get escapes.
"""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kinetree.cli.options import STREAM
from kinetree.core.arrays import Array
from kinetree.core.text import csv_cell
from kinetree.errors import InputError, need, visible
from kinetree.present.tables import Table, plain

Part = Table | str | tuple[str, str]  # a paragraph, also with a style

ERROR, WARNING = "bad", "warning"
STYLES = {"title": "1", "good": "1;32", "warning": "1;33", "bad": "1;31"}  # codes of terminals
MAX_ITEMS = 4  # of a list of losses
UNIT = re.compile(r"(\d) (N m\b|N\b|rad|deg|m\b|m/s|s\b|kg|%)")
PAGES = (".html", ".htm")
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
STDOUT = Path(STREAM)


# The screen


def width() -> int:
    """Columns of the screen; 80 where there is none."""
    return shutil.get_terminal_size().columns


def wrapped(text: str, columns: int) -> str:
    """A paragraph in lines of a width, broken between words and never before a unit."""
    indent = "  " if text.startswith(("- ", "note: ", "  ")) else ""
    text = UNIT.sub("\\1\0\\2", text)  # a space at which lines are not broken
    lines = textwrap.wrap(
        text, columns, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent
    )
    return "\n".join(lines).replace("\0", " ")


def coloured(text: str, style: str, file: Any) -> str:
    """Text in the colour of a style, if a terminal shows it."""
    plain = not style or not file.isatty() or "NO_COLOR" in os.environ
    dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown")
    return text if plain or dumb else f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def show(parts: Iterable[Part]) -> None:
    """Print tables and paragraphs on standard output, as wide as the screen."""
    for part in parts:
        if isinstance(part, Table):
            title, *lines = part.lines(width()) if part.title else ("", *part.lines(width()))
            print(*([coloured(title, "title", sys.stdout)] if title else []), *lines, sep="\n")
            show(part.notes)
        else:
            text, style = (part, "") if isinstance(part, str) else part
            print(coloured(visible(wrapped(text, width())), style, sys.stdout))


def notify(text: str, style: str = "") -> None:
    """Print a message for the user on stderr, as one paragraph that begins with the program."""
    text = f"kinetree: {visible(text, kept='').strip()}"
    if sys.stderr.isatty():
        head, _, rest = wrapped(text, width()).partition(":")
        text = f"{coloured(f'{head}:', style, sys.stderr)}{rest}"
    print(text, file=sys.stderr)


def notify_missing(remarks: Sequence[str]) -> None:
    """Report on stderr the visuals of a file that are not drawn, such as missing meshes."""
    if remarks:
        more = f"; and {len(remarks) - MAX_ITEMS} more" if len(remarks) > MAX_ITEMS else ""
        some = "; ".join(remarks[:MAX_ITEMS])
        notify(f"not drawn: {some}{more}. Give the folder of the meshes with --folder.", WARNING)


# Files and standard output


def give(
    json: bool,
    document: Callable[[], Mapping[str, Any]],
    parts: Callable[[], Iterable[Part]],
    output: Path | None = None,
) -> None:
    """Print a result: its document as JSON, or its parts on the screen."""
    if json:
        print_json(document(), output)
    else:
        show(parts())


def print_json(value: Mapping[str, Any], output: Path | None = None) -> None:
    """Write one JSON document in full precision; NaN and infinity become null."""
    import json  # here, since it is for --json

    indent = 2 if output or sys.stdout.isatty() else None
    print_text(json.dumps(plain(value), allow_nan=False, indent=indent), output)


def print_csv(heads: Sequence[str], rows: Array, output: Path | None = None) -> None:
    """Write a table of numbers as CSV, to a file or to stdout; they read back to the same bits."""
    lines = (",".join(map(repr, row)) for row in rows.tolist())
    print_text("\n".join([",".join(map(csv_cell, heads)), *lines]), output)


def print_text(text: str, output: Path | None = None) -> None:
    """Write text, unchanged except on a terminal, to a file or to stdout, with a newline."""
    text = text if text.endswith("\n") else text + "\n"
    if output is None or output == STDOUT:
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    else:
        check_output(output)
        output.write_text(text, encoding="utf-8", newline="\n")


def check_output(
    output: Path | None, source: str | None = None, name: str = "-o", endings: Sequence[str] = ()
) -> None:
    """Raise InputError if the output cannot be written, or is the file that is being read."""
    if output is None:
        return
    problem, reading = "", source is not None and output.exists() and os.path.exists(source)
    if str(output) == STREAM:
        problem = "-; expected the name of a file. Commands that can print do so without -o."
    elif endings and output.suffix.lower() not in endings:
        problem = f"{output}; expected a name that ends with {', '.join(endings)}."
    elif output.is_dir():
        problem = f"{output}, a folder; expected the name of a file."
    elif not output.parent.is_dir():
        problem = f"{output}, and there is no folder {output.parent}; make it first."
    elif reading and os.path.samefile(source or "", output):
        problem = f"{output}, which is being read; choose another name."
    if problem:
        raise InputError(f"{name} is {problem}")


def check_motion(output: Path | None, plot: Path | None) -> None:
    """Raise an error before the work if a motion or its plot cannot be written."""
    if output != STDOUT:
        check_output(output)
    if plot is not None:
        check_output(plot, name="--plot", endings=PICTURES)
        need("matplotlib", "plot", "a plot")


# Progress


@contextmanager
def waiting(text: str) -> Generator[Callable[[str], None]]:
    """Show a spinner with a text, which can be changed, on stderr, if that is a terminal."""
    from rich.console import Console
    from rich.markup import escape

    from kinetree.core import progress

    screen = Console(stderr=True)

    def line(text: str) -> str:  # in one line beside the spinner; a second one would stay
        return escape(f"{visible(text, '')[: screen.width - 7]} ...")

    with screen.status(line(text)) as status:
        progress.spinners.append(status)
        try:
            yield lambda text: status.update(line(text))
        finally:
            progress.spinners.remove(status)
