"""Times far from zero are counted from the first sample, exactly, in every format."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion import read

ROBOT = kt.robots.planar_2r()
COUNT, START = 400, 1763380800  # samples at 1 kHz; s since 1970
X = np.arange(COUNT) * 1e-3
Q = np.stack([np.sin(X), np.cos(X)], axis=1)


def text_of(stamp):
    return lambda path: path.write_text(
        "".join([f"{stamp(0)[0]},q1,q2\n", *(f"{stamp(k)[1]},{a!r},{b!r}\n"
                for k, (a, b) in enumerate(Q.tolist()))])
    )  # fmt: skip


def parquet_of(name, stamps, kind):
    def write(path):
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        times = pa.array(stamps).cast(kind)
        pq.write_table(pa.table({name: times, "q1": Q[:, 0], "q2": Q[:, 1]}), path)

    return write


MS = [1000 * START + k for k in range(COUNT)]
FILES = {
    "ms.csv": text_of(lambda k: ("time_ms", MS[k])),
    "decimals.csv": text_of(lambda k: ("time", f"{START + k // 1000}.{k % 1000:03d}")),
    "before 1970.csv": text_of(lambda k: ("time_ms", k - MS[0])),
    "up for a day.csv": text_of(lambda k: ("time", f"86400.{k:03d}")),
    "us.csv": text_of(lambda k: ("stamp_us", 1000 * MS[k])),
    "int64.parquet": parquet_of("time_ms", MS, "int64"),
    "whole floats.parquet": parquet_of("time_ms", MS, "float64"),
    "durations.parquet": parquet_of("time", MS, "duration[ms]"),
    "int64.npz": lambda path: np.savez(path, time_ms=np.array(MS), q=Q),
    "durations.npz": lambda path: np.savez(path, time=np.array(MS).astype("m8[ms]"), q=Q),
}


@pytest.mark.parametrize("name", FILES)
def test_times_far_from_zero_are_counted_from_the_first_exactly(name, tmp_path):
    FILES[name](tmp_path / name)
    motion = read(tmp_path / name, ROBOT)
    notes = " ".join(motion.meta["notes"])
    assert np.array_equal(motion.t, np.arange(COUNT) / 1000)
    assert "times are counted from the first, " in notes and "resolve" not in notes
    assert np.abs(motion.ddq + Q)[10:-10].max() < 1e-6  # 0.5 rad/s^2 with floats of these times


def test_floats_that_are_too_coarse_for_the_samples_are_noted(tmp_path):
    for times in (START + X, (1000 + X).astype(np.float32)):
        np.savez(tmp_path / "a.npz", time=times, q=Q)
        motion = read(tmp_path / "a.npz", ROBOT)
        assert "of a sample: rates from differences are rough" in " ".join(motion.meta["notes"])
    assert motion.t[0] == 1000
    np.savez(tmp_path / "a.npz", time=1000 + X, q=Q)
    assert read(tmp_path / "a.npz", ROBOT).meta["notes"][1:] == (
        "dq and ddq are computed from the spline through q",
    )
