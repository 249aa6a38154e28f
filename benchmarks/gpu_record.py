"""Measurements on a GPU, and their record as Markdown and JSON."""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks.gpu_agreement import ALLOWED

REPEATS = 20
CALLS = 10  # in a repeat
REST = 1.5  # s before a kernel is timed
LASTING = 2.0  # s of work without a pause, of which the second half counts


@dataclass(frozen=True)
class Row:
    """One kernel measured: rates in 1e9 states or steps a second.

    Median and best are of a GPU that has rested. Without a pause it reaches its
    power limit and lowers its clock; `sustained` is the rate then.
    """

    robot: str
    quantity: str
    dtype: str
    error: float  # eps, norm-wise, the largest of all checked states
    rate: float  # the best
    median: float
    sustained: float
    required: float | None
    bandwidth: float  # share of the bandwidth of a copy, by the median
    bytes: float  # of memory for a state
    operations: int  # for a state; sines are not counted
    registers: int
    local: int  # bytes of slow memory for a thread
    threads: int
    resident: int  # threads on a multiprocessor

    @staticmethod
    def make(
        names: tuple[str, str, str],
        error: float,
        required: float | None,
        seconds: tuple[Sequence[float], float],
        work: tuple[int, float, int],
        launch: Any,
        bandwidth: float,
    ) -> "Row":
        """Make a row; `work`: states in a call, bytes and operations of a state."""
        states, size, operations = work
        short, lasting = seconds
        rates = [states / t / 1e9 for t in (short[0], short[len(short) // 2], lasting)]
        share = rates[1] * 1e9 * size / bandwidth
        how = launch.registers, launch.local, launch.threads, launch.resident
        return Row(*names, error, *rates, required, share, size, operations, *how)

    @property
    def word(self) -> str:
        """Whether the requirement is met, by the median."""
        if self.error > ALLOWED[self.dtype]:
            return "wrong"
        return "" if self.required is None else "yes" if self.median >= self.required else "NO"


def copy_bandwidth(size: int = 2**32) -> float:
    """Bytes read and written a second by a copy of `size` bytes on the GPU, the best."""
    import cupy

    source = cupy.random.default_rng(0).random(size // 8)
    target = cupy.empty_like(source)
    return 2 * size / times(lambda: cupy.copyto(target, source))[0]


def measured(work: Callable[[], Any], calls: int = CALLS) -> tuple[list[float], float]:
    """Seconds of one call: sorted, after a rest; and in the second half of a long run."""
    import cupy

    work()
    cupy.cuda.Device().synchronize()
    time.sleep(REST)
    short = times(work, calls)
    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    half = max(1, int(LASTING / 2 / short[0]))
    for event in (start, stop):
        for _ in range(half):
            work()
        event.record()
    stop.synchronize()
    return short, cupy.cuda.get_elapsed_time(start, stop) / 1e3 / half


def times(work: Callable[[], Any], calls: int = CALLS) -> list[float]:
    """Seconds of one call in each repeat, sorted; warmed up before.

    Calls are queued one behind the other, and one before the clock starts, so that the GPU is
    timed and not how fast Python can call.
    """
    import cupy

    start, stop = cupy.cuda.Event(), cupy.cuda.Event()
    found = []
    for _ in range(REPEATS + 1):
        work()
        start.record()
        for _ in range(calls):
            work()
        stop.record()
        stop.synchronize()
        found.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3 / calls)
    return sorted(found[1:])


def about(commit: str) -> dict[str, Any]:
    """The machine, the versions, the commit that the cases came from, and the date."""
    import cupy

    runtime = cupy.cuda.runtime
    device = runtime.getDeviceProperties(cupy.cuda.Device().id)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "gpu": device["name"].decode(),
        "copy_bandwidth": copy_bandwidth(),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "cupy": cupy.__version__,
            "nvrtc": ".".join(map(str, cupy.cuda.nvrtc.getVersion())),
            "cuda driver": str(runtime.driverGetVersion()),
        },
    }


def markdown(record: dict[str, Any], rows: list[Row], sizes: tuple[int, ...]) -> str:
    """The record as Markdown."""
    states, rollouts, steps, checked, checked_rollouts = sizes
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    head = [
        f"# CUDA kernels, {record['date']}",
        "",
        f"{record['gpu']}, copy bandwidth {record['copy_bandwidth'] / 1e12:.2f} TB/s (read and "
        f"written). Commit {record['commit']}. {versions}.",
        f"`python -m benchmarks.gpu`: {states} states in (N, n) arrays, or {steps} steps of "
        f"{rollouts} rollouts in one call of which the last state is recorded; no fast-math, "
        f"{REPEATS} repeats after {REST} s of rest and warming up, the median and the best; "
        f"sustained is the mean of the second half of {LASTING:g} s without a pause, when the GPU "
        "lowers its clock to keep its limit of power. Bandwidth is the memory that must be read "
        "and written, as a share of that of a copy, by the median. The error is "
        f"the largest difference from the CPU's kernel for any of {checked} states, or any row of "
        f"{checked_rollouts} rollouts of 20 steps, relative to the norm of the result.",
        "",
    ]
    header = (
        "robot", "quantity", "", "error", "median, 1e9/s", "best", "sustained", "required", "",
        "bandwidth", "1e12 op/s", "registers", "local bytes", "block", "resident threads",
    )  # fmt: skip
    cells = [header, ("---",) * len(header), *map(cells_of, rows)]
    return "\n".join([*head, *(f"| {' | '.join(line)} |" for line in cells)]) + "\n"


def cells_of(row: Row) -> tuple[str, ...]:
    """A line of the table."""
    return (
        row.robot,
        row.quantity.replace("_", " "),
        row.dtype,
        f"{row.error:.2g} eps",
        f"{row.median:.2f}",
        f"{row.rate:.2f}",
        f"{row.sustained:.2f}",
        "" if row.required is None else f"{row.required:g}",
        row.word,
        f"{row.bandwidth:.0%}" if row.bandwidth >= 0.1 else f"{row.bandwidth:.1%}",
        f"{row.median * row.operations / 1e3:.1f}",
        f"{row.registers}",
        f"{row.local}",
        f"{row.threads}",
        f"{row.resident}",
    )
