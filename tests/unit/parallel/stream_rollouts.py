"""Stream rollout steps to a file, and print the memory that this needed.

    python tests/unit/parallel/stream_rollouts.py STEPS [FILE [EXECUTOR]]

prints the rows written, the size of the file, the largest resident set of this process, and by
how much that grew beyond what a study of half a million steps took before.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree.parallel import Normal, rollouts

STEPS = 1000  # of a rollout
FIRST = 500  # rollouts before memory is looked at


def study(count: int, output: Path, executor: str = "threads") -> "kt.parallel.Results":
    """Random swings of a double pendulum, every step of them a row."""
    robot = kt.robots.double_pendulum()
    start = Normal([0.5, 0.2], 0.3)
    return rollouts(
        robot,
        count,
        q0=start,
        duration=1.0,
        dt=1 / STEPS,
        every=1,
        output=output,
        executor=executor,
        workers=2,
    )


def megabytes() -> float:
    """The largest resident set so far; Linux counts in kB, macOS in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main(steps: int, path: str | None = None, executor: str = "threads") -> None:
    """Write, measure, and check the last rows."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(path or Path(folder) / "rollouts.parquet")
        study(FIRST, output, executor)
        before = megabytes()
        began = time.perf_counter()
        found = study(steps // STEPS, output, executor)
        took = time.perf_counter() - began
        most = megabytes()
        assert found.samples == steps // STEPS and found.rows == STEPS + 1
        size = output.stat().st_size / 1e6
        assert np.array_equal(np.unique(found["sample"]), np.arange(found.samples))
        print(f"{found.samples * found.rows} rows of {len(found.columns)} columns, {size:.1f} MB")
        print(f"{took:.1f} s, at most {most:.1f} MB, grew by {most - before:.1f} MB")


if __name__ == "__main__":
    main(int(float(sys.argv[1])), *sys.argv[2:4])
