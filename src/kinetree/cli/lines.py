"""Whole lines of a file or a pipe, a block at a time: as they come, and never all of them."""

from collections.abc import Iterator
from typing import BinaryIO

from kinetree.errors import ParseError

CHUNK = 1 << 18  # bytes that are asked for at a time; a pipe gives what it has
LONGEST = 1 << 22  # bytes of one line


def line_blocks(stream: BinaryIO, name: str) -> Iterator[list[str]]:
    """Lists of lines without their ends; a block ends where the stream paused, or a chunk did."""
    rest, first, count = b"", True, 0
    read = getattr(stream, "read1", stream.read)
    while data := read(CHUNK):
        rest += data
        cut = rest.rfind(b"\n") + 1
        if cut:
            lines = _decode(rest[:cut], name, count, first).split("\n")[:-1]
            rest, first, count = rest[cut:], False, count + len(lines)
            yield lines
        if len(rest) > LONGEST:
            raise ParseError(
                f"{name}, line {count + 1} is longer than {LONGEST >> 20} MiB; expected rows of "
                "numbers, one a line. Is it a CSV file?"
            )
    if rest:
        yield [_decode(rest, name, count, first)]


def _decode(data: bytes, name: str, before: int, first: bool) -> str:
    try:
        text = data.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        line = before + data[: error.start].count(b"\n") + 1
        raise ParseError(
            f"{name}, line {line} is no text in UTF-8; expected a CSV file. A spreadsheet saves "
            "one as 'CSV UTF-8'."
        ) from None
    return text.replace("\r\n", "\n")
