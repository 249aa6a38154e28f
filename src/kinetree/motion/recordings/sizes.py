"""Limits on the size of recordings, checked before memory is taken.

A small file can state any size: a header of an array, or a compressed file that unpacks to a
million times its length. Numbers that are read whole may take LARGEST bytes; the environment
variable KINETREE_RECORDING_SIZE (such as 8G) changes that. Compressed texts are unpacked step by
step, and refused once they are much larger than any recording compresses to.
"""

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from kinetree.core.environment import setting
from kinetree.errors import ParseError

LARGEST = 2 << 30  # bytes of numbers: 80 minutes of 7 joints at 1 kHz with q, dq, ddq and tau
SWITCH = "KINETREE_RECORDING_SIZE"
MOST_COLUMNS = 16_384  # as spreadsheets have
LONGEST_NAME = 250  # signs; what a name means takes time that grows faster than its length
HIGHEST_RATIO = 100  # of unpacked to packed bytes; text of recordings reaches 3 to 30
FIRST_BYTES = 16 << 20  # that any compressed file may unpack to
UNPACKED_PIECE = 1 << 20  # bytes that are unpacked at a time


def check_numbers(size: int, where: str) -> None:
    """Raise ParseError if numbers of that many bytes are more than the limit."""
    most = setting(SWITCH) or LARGEST
    if size > most:
        raise ParseError(
            f"{where} has {shown(size)} of numbers; at most {shown(most)} are read. Cut the "
            f"recording, or, if you trust it, set {SWITCH}={-(-size // (1 << 30))}G."
        )


def check_columns(count: int, where: str) -> None:
    """Raise ParseError if a table has more columns than any recording."""
    if count > MOST_COLUMNS:
        raise ParseError(
            f"{where}: {count:,} columns; at most {MOST_COLUMNS:,} are read. Leave columns out of "
            "the file."
        )


def check_names(heads: Sequence[str], where: str) -> None:
    """Raise ParseError for more columns, or a longer name, than any recording has."""
    check_columns(len(heads), where)
    for k, head in enumerate(heads, 1):
        if len(head) > LONGEST_NAME:
            raise ParseError(
                f"{where}: the name of column {k}, {head[:40]!r}..., has {len(head):,} signs; at "
                f"most {LONGEST_NAME} are read. Shorten it."
            )


def shown(size: int) -> str:
    """A number of bytes in words."""
    for unit, multiple in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= multiple:
            return f"{size / multiple:,.1f} {unit}"
    return f"{size} bytes"


def check_plain(path: Path) -> None:
    """Raise ParseError for a pipe or a device, which may never end, before it is opened."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ParseError(
            f"{path.name} is a pipe or a device; expected a file. Save its content as a file first."
        )


class Unpacked(gzip.GzipFile):
    """A compressed text; one that is much larger than its file is refused before it is read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._where, self._packed, self._count = path.name, path.stat().st_size, 0
        if path.is_file():  # a pipe can be read only once, and is checked while it is read
            while self.read1(UNPACKED_PIECE):
                pass
            self.rewind()
            self._count = 0

    def read1(self, size: int = -1) -> bytes:
        """Return some bytes of the text; ParseError if it is too long or damaged."""
        try:
            data = super().read1(size)
        except (OSError, EOFError, zlib.error) as error:
            raise ParseError(
                f"{self._where} cannot be unpacked: {str(error).rstrip('.')}."
            ) from None
        self._count += len(data)
        if self._count > FIRST_BYTES + HIGHEST_RATIO * self._packed:
            raise ParseError(
                f"{self._where} has {shown(self._packed)} and unpacks to more than "
                f"{shown(self._count)}; at most {HIGHEST_RATIO} times its size and "
                f"{shown(FIRST_BYTES)} are read. If you trust it, unpack it first."
            )
        return data
