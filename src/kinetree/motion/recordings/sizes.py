"""Limits on the size of recordings, checked before memory is taken.

A small file can state any size: a header of an array, or a compressed file that unpacks to a
million times its length. Numbers that are read whole may take LARGEST bytes; the environment
variable KINETREE_RECORDING_SIZE (such as 8G) changes that. Compressed texts are unpacked once to
be measured, and refused if they are much larger than any recording compresses to.
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
        raise ParseError(f"{where}: {count:,} columns; at most {MOST_COLUMNS:,} are read.")


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
    units = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
    unit, multiple = next((x for x in units if size >= x[1]), ("bytes", 1))
    return f"{size / multiple:,.1f} {unit}"


def check_plain(path: Path) -> None:
    """Raise ParseError for a pipe or a device, which may never end, before it is opened."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ParseError(
            f"{path.name} is a pipe or a device; expected a file. Save its content as a file first."
        )


def unpacked(path: Path) -> gzip.GzipFile:
    """A compressed text; one that is much larger than its file is refused before it is read."""
    most = FIRST_BYTES + HIGHEST_RATIO * path.stat().st_size
    stream, count = gzip.GzipFile(path, "rb"), 0
    try:
        while count <= most and (data := stream.read1(UNPACKED_PIECE)):
            count += len(data)
    except (OSError, EOFError, zlib.error) as error:
        stream.close()
        raise ParseError(f"{path.name} cannot be unpacked: {str(error).rstrip('.')}.") from None
    if count > most:
        stream.close()
        raise ParseError(
            f"{path.name} unpacks to more than {shown(most)}; at most {HIGHEST_RATIO} times its "
            f"size and {shown(FIRST_BYTES)} are read. If you trust it, unpack it first."
        )
    stream.seek(0)
    return stream
