"""Compressed parts of ROS bags, unpacked in small pieces before the bag is read.

Readers of bags unpack a chunk whole, and a chunk of a kilobyte can become gigabytes. Here every
chunk of an MCAP or ROS 1 bag, and every compressed file of a folder, is unpacked piece by piece and
counted, so that such a bag is refused with little memory.
"""

import bz2
import struct
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from kinetree.errors import need
from kinetree.motion.recordings.sizes import (
    FIRST_BYTES,
    HIGHEST_RATIO,
    check_plain,
    check_ratio,
    unpacked_size,
)

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
    for own in reader.readers:
        if getattr(own, "compression_mode", None) != "message":
            continue
        start = cast("Callable[[], Any]", _decompressor("zstd"))
        for storage in own.storage.storages:
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
    found: dict[bytes, bytes] = {}
    at = 0
    while at + 4 <= len(header):
        (length,) = struct.unpack_from("<I", header, at)
        name, _, value = header[at + 4 : at + 4 + length].partition(b"=")
        found[name] = value
        at += 4 + length
    return found
