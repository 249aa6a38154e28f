"""Files of pictures: Pillow reads back the pixels that were written; nothing partial is left."""

import io
import os
import shutil
import stat
import subprocess

import numpy as np
import pytest

from kinetree.errors import InputError
from kinetree.views.movie import (
    COLOURS,
    Cells,
    cell_numbers,
    lzw,
    png,
    replaced,
    write_gif,
    write_mp4,
    write_png,
)

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def opened(data):
    return Image.open(io.BytesIO(data))


def few_colours(rng, shape, count):
    """A picture of blocks in a few colours."""
    palette = rng.integers(0, 256, (count, 3), dtype=np.uint8)
    small = rng.integers(0, count, (shape[0] // 4 + 1, shape[1] // 4 + 1))
    return palette[np.kron(small, np.ones((4, 4), int))[: shape[0], : shape[1]]]


@pytest.mark.parametrize(("shape", "mode"), [((7, 5, 3), "RGB"), ((1, 300, 4), "RGBA")])
def test_a_png_has_every_pixel(shape, mode):
    picture = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    found = opened(png(picture))
    assert found.mode == mode and np.array_equal(np.asarray(found), picture)


def decoded(data):
    """The symbols of a GIF's LZW code with eight bits: a reader written from the format alone."""
    number, place, size = int.from_bytes(data, "little"), 0, 9
    table, last, out = {}, None, []
    while True:
        code = number >> place & ((1 << size) - 1)
        place += size
        if code == 256:
            table, last, size = {k: [k] for k in range(256)} | {256: [], 257: []}, None, 9
            continue
        if code == 257:
            assert place <= 8 * len(data) < place + 8
            return bytes(out)
        found = table[code] if code in table else [*last, last[0]]
        if last is not None and len(table) < 4096:
            table[len(table)] = [*last, found[0]]
        out += found
        last = found
        if len(table) in (512, 1024, 2048):
            size = len(table).bit_length()


@pytest.mark.parametrize("count", [1, 2, 3, 255, 256, 257, 258, 3000, 30_000])
@pytest.mark.parametrize("symbols", [1, 2, 256])
def test_lzw_is_undone_by_a_reader_of_the_format(count, symbols):
    data = np.random.default_rng(count).integers(0, symbols, count, dtype=np.uint8).tobytes()
    assert decoded(lzw(data)) == data


@pytest.mark.parametrize("fps", [25, 30, 7.5])
def test_a_gif_of_few_colours_has_every_pixel_and_the_right_times(tmp_path, fps):
    rng = np.random.default_rng(1)
    frames = [few_colours(rng, (33, 50), 6)]
    for k in range(5):  # a part changes, and once nothing does
        following = frames[-1].copy()
        if k != 2:
            following[3 * k : 3 * k + 9, 5 : 20 + k] = few_colours(rng, (9, 15 + k), 3)
        frames.append(following)
    path = tmp_path / "movie.gif"
    write_gif(path, iter(frames), np.arange(len(frames) + 1) / fps)
    movie = opened(path.read_bytes())
    assert movie.n_frames == len(frames) and movie.info["loop"] == 0 and movie.size == (50, 33)
    clock = 0
    for k, frame in enumerate(frames):
        movie.seek(k)
        assert np.array_equal(np.asarray(movie.convert("RGB")), frame), k
        clock += movie.info["duration"]
        assert abs(clock - 1000 * (k + 1) / fps) <= 5  # hundredths of a second, never adding up


def test_a_movie_of_many_colours_is_close_to_its_frames(tmp_path):
    y, x = np.mgrid[:120, :160]
    frames = [np.stack([x + k, 2 * y, 255 - x], -1).astype(np.uint8) for k in (0, 40)]
    path = tmp_path / "movie.gif"
    write_gif(path, frames, np.array([0, 0.5, 1.0]))
    movie = opened(path.read_bytes())
    for k, frame in enumerate(frames):
        movie.seek(k)
        far = np.abs(np.asarray(movie.convert("RGB")).astype(int) - frame)
        assert far.max() <= 40 and far.mean() < 6


def test_the_palette_is_of_the_nearest_colours_and_keeps_a_plain_background_exactly():
    rng = np.random.default_rng(2)
    frame = np.full((60, 60, 3), 255, np.uint8)
    frame[:30, :30] = rng.integers(0, 256, (30, 30, 3))
    cells = Cells()
    cells.add(frame)
    palette, index = cells.palette()
    assert len(palette) == COLOURS and index.max() < COLOURS
    found = palette[index[cell_numbers(frame)]]
    assert (found[30:] == 255).all()
    far = ((frame[:30, :30, None].astype(int) - palette.astype(int)) ** 2).sum(axis=-1)
    chosen = ((frame.astype(int) - found) ** 2).sum(axis=-1)[:30, :30]
    # cells are four shades wide, so the nearest colour of the cell is nearly that of the pixel
    assert (np.sqrt(chosen) <= np.sqrt(far.min(axis=-1)) + 7).all()


def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "movie.gif"
    path.write_bytes(b"old")

    def frames():
        yield np.zeros((4, 4, 3), np.uint8)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_gif(path, frames(), np.array([0, 1, 2]))
    with pytest.raises(KeyboardInterrupt), replaced(path) as other:
        other.write_bytes(b"half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["movie.gif"] and path.read_bytes() == b"old"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_picture_may_be_read_by_those_who_may_read_other_new_files(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"")
    write_png(tmp_path / "a.png", np.zeros((2, 2, 3), np.uint8))
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.png", "other")]
    assert modes[0] == modes[1]


def two_frames():
    y, x = np.mgrid[:48, :64]
    for k in (0, 100):
        yield np.stack([np.full_like(x, k), 3 * y, 3 * x], -1).astype(np.uint8)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_ffmpeg_reads_back_nearly_the_frames_of_an_mp4(tmp_path):
    path = tmp_path / "movie.mp4"
    write_mp4(path, two_frames(), 5, (64, 48))
    words = ["ffmpeg", "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(words, capture_output=True, check=True).stdout
    found = np.frombuffer(raw, np.uint8).reshape(2, 48, 64, 3).astype(int)
    for frame, shown in zip(two_frames(), found, strict=True):
        assert np.abs(frame - shown).mean() < 6
    assert os.listdir(tmp_path) == ["movie.mp4"]


def test_without_ffmpeg_the_error_names_it_and_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"ffmpeg, which is not installed.*\.gif"):
        write_mp4(tmp_path / "movie.mp4", two_frames(), 5, (64, 48))
    assert not os.listdir(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="a script of a POSIX shell")
def test_an_error_of_ffmpeg_is_reported_in_its_words(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'no encoder here' >&2\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(InputError, match=r"movie\.mp4: no encoder here\..*\.gif"):
        write_mp4(tmp_path / "movie.mp4", two_frames(), 5, (64, 48))
    assert os.listdir(tmp_path) == ["bin"]
