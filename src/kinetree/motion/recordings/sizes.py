"""Limits on the size of recordings, checked before memory is taken.

A small file can state any size: a header of an array, or a compressed file that unpacks to a
million times its length. Numbers that are read whole may take LARGEST bytes; the environment
variable KINETREE_RECORDING_SIZE (such as 8G) changes that. Compressed files are unpacked step by
step, and refused once they are much larger than any recording compresses to. Readers of bags unpack
a chunk whole, so every chunk of an MCAP or ROS 1 bag, and every compressed file of a folder, is
unpacked in small pieces and counted before the bag is read.
"""

import bz2
import gzip
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from kinetree.core.environment import setting
from kinetree.errors import ParseError, need

LARGEST = 2 << 30  # bytes of numbers: 80 minutes of 7 joints at 1 kHz with q, dq, ddq and tau
SWITCH = "KINETREE_RECORDING_SIZE"
MOST_COLUMNS = 16_384  # as spreadsheets have
LONGEST_NAME = 250  # signs; what a name means takes time that grows faster than its length
HIGHEST_RATIO = 100  # of unpacked to packed bytes; text of recordings reaches 3 to 30
FIRST_BYTES = 16 << 20  # that any compressed file may unpack to
MOST_STREAMS = 1000  # one after another; each is copied once for those before it
UNPACKED_PIECE = 1 << 20  # bytes that are unpacked at a time


def limit() -> int:
    """Bytes of numbers that may be read whole."""
    return setting(SWITCH) or LARGEST


def check_numbers(size: int, where: str) -> None:
    """Raise ParseError if numbers of that many bytes are more than the limit."""
    most = limit()
    if size > most:
        raise ParseError(
            f"{where} has {shown(size)} of numbers; at most {shown(most)} are read. Cut the "
            f"recording, or, if you trust it, set {SWITCH}={_next(size)}."
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


def check_ratio(unpacked: int, packed: int, where: str) -> None:
    """Raise ParseError if compressed data become much larger than recordings do."""
    if unpacked > FIRST_BYTES + HIGHEST_RATIO * packed:
        raise ParseError(
            f"{where} has {shown(packed)} and unpacks to more than {shown(unpacked)}; at most "
            f"{HIGHEST_RATIO} times its size and {shown(FIRST_BYTES)} are read. If you trust it, "
            "unpack it first."
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


def _next(size: int) -> str:
    """A limit that is large enough for a size."""
    return f"{-(-size // (1 << 30))}G"


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
        check_ratio(self._count, self._packed, self._where)
        return data


def unpacked_size(data: bytes, start: Callable[[], Any], most: int) -> int:
    """Bytes that compressed data unpack to, or a number above `most`; memory stays small.

    start: makes a decompressor of bz2, lz4 or zstd.
    """
    count, streams, worker = 0, 1, start()
    piece = data
    while count <= most:
        count += len(worker.decompress(piece, UNPACKED_PIECE))
        piece = b""
        if worker.eof:
            unread = worker.unused_data
            if not unread:
                return count
            if streams == MOST_STREAMS:
                return most + 1
            streams, worker, piece = streams + 1, start(), unread
        elif worker.needs_input:
            return count
    return count


MCAP, ROS1 = b"\x89MCAP0\r\n", b"#ROSBAG V2.0\n"
CHUNK = 0x06  # of MCAP
ROS1_CHUNK = b"\x05"

Part = tuple[str, bytes]  # compression and data


def check_bag(path: Path) -> None:
    """Raise ParseError if a bag unpacks to much more than its size; damaged bags pass."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    for file in files:
        check_plain(file)
        if file.is_dir():
            continue
        packed, total = file.stat().st_size, 0
        most = FIRST_BYTES + HIGHEST_RATIO * packed
        for compression, data in _parts(file):
            start = _decompressor(compression)
            if start is None:
                continue
            try:
                total += unpacked_size(data, start, most)
            except (OSError, EOFError, RuntimeError, ValueError):
                return  # the reader of bags names what is damaged
            check_ratio(total, packed, file.name)


def check_messages(reader: Any, topic: str, name: str) -> None:
    """Raise ParseError if a message of a bag with compressed messages unpacks to too much."""
    for bag_reader in reader.readers:
        if getattr(bag_reader, "compression_mode", None) != "message":
            continue
        start = cast("Callable[[], Any]", _decompressor("zstd"))
        for storage in bag_reader.storage.storages:
            connections = [x for x in storage.connections if x.topic == topic]
            for _, _, data in storage.messages(connections) if connections else ():
                most = FIRST_BYTES + HIGHEST_RATIO * len(data)
                size = unpacked_size(data, start, most)
                check_ratio(size, len(data), f"{name}: a message of {topic}")


def _decompressor(name: str) -> Callable[[], Any] | None:
    if name == "bz2":
        return bz2.BZ2Decompressor
    if name == "lz4":
        return need("lz4.frame", "ros", "a ROS bag").LZ4FrameDecompressor
    if name == "zstd":
        if sys.version_info >= (3, 14):
            return import_module("compression.zstd").ZstdDecompressor
        return need("backports.zstd", "ros", "a ROS bag").ZstdDecompressor
    return None


def _parts(path: Path) -> Iterator[Part]:
    """The compressed chunks of a file, in their order."""
    with path.open("rb") as stream:
        start = stream.read(len(ROS1))
        if start.startswith(MCAP):
            stream.seek(len(MCAP))
            yield from _mcap_parts(stream, path)
        elif start == ROS1:
            yield from _ros1_parts(stream, path)
        elif path.suffix in (".zstd", ".zst"):
            yield "zstd", path.read_bytes()


def _mcap_parts(stream: BinaryIO, path: Path) -> Iterator[Part]:
    size = path.stat().st_size
    while len(head := stream.read(9)) == 9:
        op, length = struct.unpack("<BQ", head)
        end = stream.tell() + length
        if end > size:
            return
        if op == CHUNK and length >= 40:
            fixed = stream.read(32)
            name = stream.read(min(struct.unpack("<I", fixed[28:])[0], 16)).decode(
                "ascii", "replace"
            )
            (stated,) = struct.unpack("<Q", fixed[16:24])
            check_ratio(stated, size, path.name)
            (count,) = struct.unpack("<Q", stream.read(8).ljust(8, b"\0"))
            if name:
                yield name, stream.read(min(count, length))
        stream.seek(end)


def _ros1_parts(stream: BinaryIO, path: Path) -> Iterator[Part]:
    size = path.stat().st_size
    while len(head := stream.read(4)) == 4:
        (length,) = struct.unpack("<I", head)
        if stream.tell() + length > size:
            return
        fields = _ros1_fields(stream.read(length))
        count = stream.read(4)
        if len(count) < 4:
            return
        (length,) = struct.unpack("<I", count)
        end = stream.tell() + length
        if end > size:
            return
        if fields.get(b"op") == ROS1_CHUNK:
            stated = struct.unpack("<I", fields.get(b"size", b"").ljust(4, b"\0")[:4])[0]
            check_ratio(stated, size, path.name)
            yield fields.get(b"compression", b"").decode("ascii", "replace"), stream.read(length)
        stream.seek(end)


def _ros1_fields(header: bytes) -> dict[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    at = 0
    while at + 4 <= len(header):
        (length,) = struct.unpack_from("<I", header, at)
        name, _, value = header[at + 4 : at + 4 + length].partition(b"=")
        fields[name] = value
        at += 4 + length
    return fields
