"""Output: files and standard output (CSV rows, JSON, text), lines on stderr, progress."""

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kinetree.cli.arguments import STREAM
from kinetree.cli.messages import notify as notify
from kinetree.core.tables import counted, csv_cell
from kinetree.errors import InputError, visible

if TYPE_CHECKING:
    from kinetree.model import Model

ATOMIC = 4096  # bytes that a pipe takes whole or not at all (POSIX: 512 at least, Linux 4096)
PAGES = (".html", ".htm")
SPINNER_DELAY_S = 0.5  # before a spinner is shown
STARTED = time.monotonic() - time.process_time()  # of the program, imports included


class Rows:
    """A file or standard output that receives whole rows, also if the program is interrupted.

    Pieces are small and unbuffered, so that an interruption falls between two of them.
    """

    def __init__(self, output: Path | None, source: str | None = None) -> None:
        if output is not None:
            check_output(output, source)
        self._output = output
        self._file: io.RawIOBase | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def _open(self) -> io.RawIOBase:
        """Open the file at the first row, so that wrong input does not destroy an old file."""
        if self._output is not None:
            return self._output.open("wb", buffering=0)
        sys.stdout.flush()
        return open(sys.stdout.fileno(), "wb", buffering=0, closefd=False)

    def write(self, rows: Iterable[str]) -> None:
        """Write rows, each a text that ends with a newline."""
        piece = b""
        shown = self._output is None and sys.stdout.isatty()
        for row in rows:
            data = (visible(row) if shown else row).encode()
            if len(piece) + len(data) > ATOMIC and piece:
                self._put(piece)
                piece = b""
            piece += data
        if piece:
            self._put(piece)

    def _put(self, piece: bytes) -> None:
        if self._file is None:
            self._file = self._open()
        done = 0
        while done < len(piece):
            done += self._file.write(piece[done:]) or 0


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


def csv_line(cells: Sequence[str]) -> str:
    """A line of CSV; cells are quoted where needed."""
    return ",".join(map(csv_cell, cells)) + "\n"


def number_lines(rows: Iterable[Sequence[float]]) -> Iterator[str]:
    """Lines of CSV whose numbers read back to the same bits."""
    return (",".join(map(repr, row)) + "\n" for row in rows)


def print_json(value: Mapping[str, Any], output: Path | None = None) -> None:
    """Write one JSON document to a file or to stdout, indented for files and terminals."""
    print_text(json_text(value, indent=2 if output or sys.stdout.isatty() else None), output)


def json_text(value: Mapping[str, Any], indent: int | None = None) -> str:
    """JSON of numbers in full precision; NaN and infinity, which JSON lacks, become null."""
    import json  # here, since it is for --json

    return json.dumps(_plain(value), allow_nan=False, indent=indent)


def _plain(value: Any) -> Any:
    """Convert arrays and mappings to lists, dictionaries and finite numbers."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value


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
    """Show a spinner with `text` on stderr while the block runs.

    It appears half a second after the start of the program or of the block, whichever was first.
    Nothing is shown if stderr is not a terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.markup import escape

    from kinetree.cli.terminal import Terminal
    from kinetree.core import progress

    screen = Terminal(stderr=True)
    room = screen.width - 3 - len(" ...")  # beside the spinner; a second line would stay
    status = screen.status(escape(f"{visible(text)[:room]} ..."))
    shown, done = threading.Lock(), threading.Event()
    progress.spinners.append(status)

    def show() -> None:
        with shown:  # never after the end, which takes this lock to stop the spinner
            if not done.is_set():
                status.start()

    timer = threading.Timer(max(0.0, SPINNER_DELAY_S - (time.monotonic() - STARTED)), show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        done.set()
        progress.spinners.remove(status)
        with shown:
            status.stop()


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
