"""Pictures as files: PNG and GIF by Pillow, MP4 by the program ffmpeg."""

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from kinetree.core import system
from kinetree.core.arrays import Array
from kinetree.errors import InputError


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
    """A picture, uint8 (height, width, 3 or 4), as a PNG file."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()


def write_gif(path: Path, frames: Iterable[Array], times: Array) -> None:
    """Write frames, uint8 (height, width, 3), as a movie that repeats for ever.

    Args:
        path: the file.
        frames: pictures of one size.
        times: when each frame begins and when the last one ends, shape (frames + 1,), s from 0. A
            GIF counts hundredths of a second: each frame lasts to the nearest one.
    """
    from PIL import Image

    pictures = (
        Image.fromarray(frame).quantize(method=Image.Quantize.FASTOCTREE) for frame in frames
    )
    ticks = 10 * np.diff(np.rint(100 * np.asarray(times)).astype(int))
    with replaced(path) as other, other.open("wb") as file:
        next(pictures).save(
            file, "GIF", save_all=True, append_images=pictures, duration=ticks.tolist(), loop=0
        )


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
        words = (
            f"-loglevel error -y -f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {fps:.9g} -i - "
            "-an -pix_fmt yuv420p -movflags +faststart -f mp4"
        ).split()
        command = [ffmpeg(), *words, str(file.resolve())]
        own = system.own_session()  # Ctrl-C is for this program
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log, **own)
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
