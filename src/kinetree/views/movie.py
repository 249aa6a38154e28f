"""Pictures as files: PNG and GIF written here, MP4 by the program ffmpeg.

PNG stores every pixel exactly. A GIF has 256 colours: one palette for the whole movie is found by
median cut, and a frame stores the rectangle that changed, with a transparent index where a pixel is
as before. Frames wait compressed in memory until the palette is known.
"""

import os
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from kinetree.core import system
from kinetree.core.arrays import Array
from kinetree.errors import InputError

COLOURS = 255  # of a GIF's palette; one more index means "as in the frame before"
AS_BEFORE = 255
BITS = 6  # of each colour channel, in the cells that the palette is made of
MAX_CODES = 4096  # of LZW in a GIF


@contextmanager
def replaced(path: Path) -> Generator[Path]:
    """A temporary file beside `path` that takes its place if the block ends without an error."""
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix, delete=False
    ) as file:
        other = Path(file.name)
    try:
        yield other
        mask = os.umask(0)
        os.umask(mask)
        other.chmod(0o666 & ~mask)  # temporary files are private, written ones are not
        system.replace(other, path)
    finally:
        other.unlink(missing_ok=True)


def write_png(path: Path, picture: Array) -> None:
    """Write a picture, uint8 (height, width, 3 or 4)."""
    with replaced(path) as file:
        file.write_bytes(png(picture))


def png(picture: Array) -> bytes:
    """A picture, uint8 (height, width, 3 or 4), as a PNG file.

    Every row is stored as its difference from the row above, which compresses well.
    """
    height, width, channels = picture.shape
    rows = picture.reshape(height, width * channels)
    above = np.concatenate([np.zeros((1, rows.shape[1]), np.uint8), rows[:-1]])
    data = np.empty((height, 1 + rows.shape[1]), np.uint8)
    data[:, 0] = 2  # the filter "up"
    data[:, 1:] = rows - above  # modulo 256, as the format wants
    kind = {3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(data.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, body) for name, body in chunks)


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def write_gif(path: Path, frames: Iterable[Array], times: Array) -> None:
    """Write frames, uint8 (height, width, 3), as a movie that repeats for ever.

    Args:
        path: the file.
        frames: pictures of one size.
        times: when each frame begins and when the last one ends, shape (frames + 1,), s from 0. A
            GIF counts hundredths of a second: each frame lasts to the nearest one.
    """
    kept, cells = [], Cells()
    shape = (0, 0, 3)
    for frame in frames:
        shape = frame.shape
        cells.add(frame)
        kept.append(zlib.compress(frame.tobytes(), 1))
    palette, index = cells.palette()
    ticks = np.rint(100 * np.asarray(times)).astype(int)
    table = np.zeros((256, 3), np.uint8)
    table[: len(palette)] = palette
    with replaced(path) as file, file.open("wb") as out:
        out.write(b"GIF89a" + struct.pack("<HHBBB", shape[1], shape[0], 0xF7, 0, 0))
        out.write(table.tobytes())
        out.write(b"\x21\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<HB", 0, 0))
        before: Array | None = None
        for data, delay in zip(kept, np.diff(ticks), strict=True):
            frame = np.frombuffer(zlib.decompress(data), np.uint8).reshape(shape)
            pixels = index[cell_numbers(frame)]
            out.write(image_block(pixels, before, int(delay)))
            before = pixels
        out.write(b"\x3b")


class Cells:
    """Colours of a movie, counted in cells of 2^(8 - BITS) shades in each channel."""

    def __init__(self) -> None:
        self.count = np.zeros(1 << 3 * BITS)
        self.total = np.zeros((1 << 3 * BITS, 3))

    def add(self, frame: Array) -> None:
        """Count the colours of a frame, uint8 (height, width, 3)."""
        number = cell_numbers(frame).ravel()
        self.count += np.bincount(number, minlength=len(self.count))
        for k in range(3):
            weights = frame[..., k].ravel()
            self.total[:, k] += np.bincount(number, weights, len(self.count))

    def palette(self) -> tuple[Array, Array]:
        """At most COLOURS colours, uint8 (k, 3), and the index of the nearest one for every cell.

        Median cut: the box of cells with the largest spread, weighted by its number of pixels, is
        cut at the mean of its longest side until there are enough boxes.
        """
        used = np.flatnonzero(self.count)
        weight, colour = self.count[used], self.total[used] / self.count[used, None]
        boxes = [np.arange(len(used))]
        sizes = [_spread(colour, weight, boxes[0])]
        while len(boxes) < COLOURS and max(sizes) > 0:
            k = int(np.argmax(sizes))
            parts = _cut(colour, weight, boxes[k])
            boxes[k : k + 1] = parts
            sizes[k : k + 1] = [_spread(colour, weight, part) for part in parts]
        means = np.array([np.average(colour[box], axis=0, weights=weight[box]) for box in boxes])
        palette = np.rint(means).astype(np.uint8)
        index = np.zeros(len(self.count), np.uint8)
        for some in np.array_split(np.arange(len(used)), len(used) // 4096 + 1):
            far = ((colour[some, None] - palette.astype(float)) ** 2).sum(axis=2)
            index[used[some]] = np.argmin(far, axis=1)
        return palette, index


def cell_numbers(frame: Array) -> Array:
    """Cell of every pixel of a frame, uint8 (height, width, 3)."""
    r, g, b = np.moveaxis(frame.astype(np.int32) >> (8 - BITS), -1, 0)
    return (r << 2 * BITS) | (g << BITS) | b


def _spread(colour: Array, weight: Array, box: Array) -> float:
    """Largest range of a box in one channel, times the root of its pixels; 0: it cannot be cut."""
    return float(np.ptp(colour[box], axis=0).max() * np.sqrt(weight[box].sum()))


def _cut(colour: Array, weight: Array, box: Array) -> list[Array]:
    """The two parts of a box below and above the mean of its widest channel."""
    inside = colour[box]
    x = inside[:, int(np.argmax(np.ptp(inside, axis=0)))]
    below = x <= (x.min() + x.max()) / 2
    return [box[below], box[~below]]


def image_block(pixels: Array, before: Array | None, delay: int) -> bytes:
    """One frame of a GIF, indices (height, width): the rectangle that differs from the one before.

    delay: hundredths of a second.
    """
    top, left, (height, width) = 0, 0, pixels.shape
    if before is not None:
        changed = pixels != before
        rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
        if len(rows):
            top, left = int(rows[0]), int(columns[0])
            height, width = int(rows[-1]) + 1 - top, int(columns[-1]) + 1 - left
        else:
            height = width = 1  # a frame has at least one pixel
        pixels = np.where(changed, pixels, AS_BEFORE)[top : top + height, left : left + width]
    clear = before is not None
    control = struct.pack("<BBBBHBB", 0x21, 0xF9, 4, 0x04 | clear, delay, AS_BEFORE, 0)
    place = struct.pack("<BHHHHB", 0x2C, left, top, width, height, 0)
    data = lzw(pixels.astype(np.uint8).tobytes())
    blocks = (data[k : k + 255] for k in range(0, len(data), 255))
    body = b"".join(bytes([len(block)]) + block for block in blocks)
    return control + place + b"\x08" + body + b"\x00"


def lzw(data: bytes) -> bytes:
    """Bytes in GIF's variable-length LZW code with eight bits per symbol.

    The table has the sequences seen so far as (code of all but the last symbol) * 256 + last
    symbol. A code is written with as many bits as the next free code needs.
    """
    clear, end = 256, 257
    table: dict[int, int] = {}
    codes, widths = [clear], [9]
    free, bits, room = end + 1, 9, 512
    prefix = data[0]
    for symbol in data[1:]:
        key = prefix << 8 | symbol
        code = table.get(key)
        if code is not None:
            prefix = code
            continue
        codes.append(prefix)
        widths.append(bits)
        prefix = symbol
        if free == MAX_CODES:
            codes.append(clear)
            widths.append(bits)
            table = {}
            free, bits, room = end + 1, 9, 512
            continue
        table[key] = free
        if free == room:
            bits, room = bits + 1, 2 * room
        free += 1
    codes += [prefix, end]
    widths += [bits, bits]  # the reader is one code behind: the width can only have to grow now
    if free == room and bits < 12:
        widths[-1] = bits + 1
    return packed(np.array(codes), np.array(widths))


def packed(codes: Array, widths: Array) -> bytes:
    """Codes one after another, each with its number of bits, the lowest bit first."""
    owner = np.repeat(np.arange(len(codes)), widths)
    start = np.cumsum(widths) - widths
    bit = np.arange(len(owner)) - start[owner]
    return np.packbits((codes[owner] >> bit & 1).astype(np.uint8), bitorder="little").tobytes()


def ffmpeg() -> str:
    """Path of the program ffmpeg; InputError if it is not installed."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise InputError(
            "an MP4 movie is written by the program ffmpeg, which is not installed or not on the "
            "path. Install it, or choose a name that ends with .gif, which needs no other program."
        )
    return program


def write_mp4(path: Path, frames: Iterator[Array], fps: float, size: Sequence[int]) -> None:
    """Write frames, uint8 (height, width, 3), as MP4 with ffmpeg; width and height are even."""
    width, height = size
    with replaced(path) as file, tempfile.TemporaryFile() as log:
        words = ["-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]
        words += ["-s", f"{width}x{height}", "-r", f"{fps:.9g}", "-i", "-", "-an"]
        words += [
            "-pix_fmt",
            "yuv420p",
            "-movflags",
            "+faststart",
            "-f",
            "mp4",
            str(file.resolve()),
        ]
        process = subprocess.Popen(  # in a session of its own: Ctrl-C is for this program
            [ffmpeg(), *words], stdin=subprocess.PIPE, stderr=log, **system.own_session()
        )
        assert process.stdin is not None
        pipe, failed = process.stdin, False
        try:
            for frame in frames:
                pipe.write(frame.tobytes())
            pipe.close()
        except BaseException as problem:
            if not (isinstance(problem, OSError) and system.reader_is_gone(problem)):
                process.kill()
                raise
            failed = True  # ffmpeg ended before its input did; its own words are below
        finally:
            with suppress(OSError):  # what is in the buffer cannot be written any more
                pipe.close()
            failed = process.wait() != 0 or failed
        if failed:
            log.seek(0)
            words = log.read().decode(errors="replace").strip().splitlines()[-1:]
            reason = words[0] if words else f"exit code {process.returncode}"
            raise InputError(
                f"ffmpeg could not write {path}: {reason}. Choose a name that ends with .gif, "
                "which needs no other program."
            )
