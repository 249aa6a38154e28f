"""Rows out, to a file or to standard output: always whole rows, whatever happens."""

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kinetree.errors import InputError

ATOMIC = 4096  # bytes that a pipe takes whole or not at all (POSIX: 512 at least, Linux 4096)


class Rows:
    """Where rows go; each piece that is written ends with a row.

    Pieces are small and unbuffered, so that an interruption falls between two of them.
    """

    def __init__(self, output: Path | None, source: str | None = None) -> None:
        if output is not None:
            check_output(output, source)
        self._output, self._file = output, None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def _open(self) -> io.RawIOBase:
        """Opened when there is a first row: input that is wrong from the start destroys nothing."""
        if self._output is not None:
            return self._output.open("wb", buffering=0)
        sys.stdout.flush()
        return open(sys.stdout.fileno(), "wb", buffering=0, closefd=False)

    def write(self, rows: Iterable[str]) -> None:
        """Write rows, each a text that ends with a newline."""
        piece = b""
        for row in rows:
            data = row.encode()
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
    """Refuse to write onto what is being read, or where nothing can be written."""
    if output.is_dir():
        raise InputError(f"-o is {output}, a folder; expected the name of a file.")
    if not output.parent.is_dir():
        raise InputError(f"-o is {output}, and there is no folder {output.parent}; make it first.")
    if source is not None and output.exists() and os.path.exists(source):
        if os.path.samefile(source, output):
            raise InputError(f"-o is {output}, which is being read; choose another name.")


def csv_line(cells: Sequence[str]) -> str:
    """Names as a line of CSV, in quotes where they need it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def number_lines(rows: Iterable[Sequence[float]]) -> Iterable[str]:
    """Rows of numbers that read back to the same bits."""
    return (",".join(map(repr, row)) + "\n" for row in rows)


def json_text(value: Any, **options: Any) -> str:
    """JSON of numbers in full precision; NaN and infinity are null, for JSON has neither."""
    return json.dumps(_plain(value), allow_nan=False, **options)


def _plain(value: Any) -> Any:
    """Lists, dictionaries and finite numbers."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
