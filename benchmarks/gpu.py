"""How fast CUDA kernels are on this GPU, as states per second and as a share of its bandwidth.

    python -m benchmarks.gpu                       # where there are a GPU, llvmlite and the robots
    python -m benchmarks.gpu --prepare build/gpu   # on a machine without a GPU: graphs and numbers
    python -m benchmarks.gpu --cases build/gpu     # on one with a GPU and no more than CuPy

Nothing is timed that disagrees with the CPU's kernels: float64 to 4 eps norm-wise, float32 to
8 eps32, on random states, into outputs that were filled with NaN before.
"""

import argparse
import json
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import commit
from kinetree.backends.cuda import CudaKernel
from kinetree.compiler.store import StoredGraph, encode

STATES = 2**23
CHECKED = 4096  # states that are compared with the CPU
COMMIT = "commit.txt"
REPEATS = 20
CALLS = 10  # in a repeat
DTYPES = ("float32", "float64")
ALLOWED = {"float32": 8, "float64": 4}  # eps, norm-wise

# robot, quantity -> billions of states a second that are required, float32 and float64
REQUIRED: dict[tuple[str, str], tuple[float, float] | None] = {
    ("panda", "inverse_dynamics"): (28, 16),
    ("panda", "forward_dynamics"): (18, 9.5),
    ("panda", "inverse_dynamics_derivatives"): (3.8, 1.4),
    ("panda", "mass_matrix"): None,
    ("ur5", "inverse_dynamics"): (36, 22),
    ("talos", "inverse_dynamics"): (3, 1),
}


@dataclass(frozen=True)
class Row:
    """One kernel measured: rates in 1e9 states/s, the best and the median of all repeats."""

    robot: str
    quantity: str
    dtype: str
    error: float  # eps, norm-wise, the largest of all checked states
    rate: float
    median: float
    required: float | None
    bandwidth: float  # share of the bandwidth of a copy
    bytes: int  # of memory for a state
    registers: int
    local: int  # bytes of slow memory for a thread
    threads: int
    resident: int  # threads on a multiprocessor

    @property
    def word(self) -> str:
        """Whether the requirement is met."""
        if self.error > ALLOWED[self.dtype]:
            return "wrong"
        return "" if self.required is None else "yes" if self.rate >= self.required else "NO"


def prepare(folder: Path) -> None:
    """Write the graph of each case, states, and what the CPU's kernels make of them."""
    from benchmarks import robots
    from kinetree.backends.kernel import Kernel
    from kinetree.compile import trace_quantity

    folder.mkdir(parents=True, exist_ok=True)
    (folder / COMMIT).write_text(commit())
    for robot, quantity in REQUIRED:
        case = robots.load(robot)
        graph = trace_quantity(case.model, quantity)
        arrays = robots.states(case, quantity, CHECKED)
        kernel = Kernel(graph, quantity)
        data: dict[str, np.ndarray] = {"graph": np.frombuffer(encode(graph), np.uint8)}
        for dtype in DTYPES:
            given = [x.astype(dtype) for x in arrays]
            made = kernel(*given)
            outputs = made if isinstance(made, tuple) else (made,)
            data |= {f"{dtype} in {k}": x for k, x in enumerate(given)}
            data |= {f"{dtype} out {k}": x for k, x in enumerate(outputs)}
        np.savez(folder / f"{robot}-{quantity}.npz", **data)  # type: ignore[arg-type]


def measure(folder: Path) -> Iterator[Row]:
    """All rows; the first thing measured is the bandwidth."""
    bandwidth = copy_bandwidth()
    for (robot, quantity), required in REQUIRED.items():
        with np.load(folder / f"{robot}-{quantity}.npz") as data:
            kernel = CudaKernel(StoredGraph(data["graph"].tobytes()), quantity)
            for k, dtype in enumerate(DTYPES):
                error = disagreement(kernel, dtype, data)
                bar = required[k] if required else None
                yield timed(kernel, robot, dtype, error, bar, bandwidth)


def disagreement(kernel: CudaKernel, dtype: str, data: Any) -> float:
    """The largest difference from the CPU for any state, in eps of the state's norm."""
    import cupy

    ports = kernel.graph.inputs, kernel.graph.outputs
    given = [cupy.asarray(data[f"{dtype} in {k}"]) for k in range(len(ports[0]))]
    expected = [data[f"{dtype} out {k}"] for k in range(len(ports[1]))]
    out = tuple(cupy.full(x.shape, np.nan, dtype) for x in expected)
    kernel(*given, out=out)
    worst = 0.0
    for found, wanted in zip(out, expected, strict=True):
        x, y = [a.reshape(len(a), -1).astype(float) for a in (cupy.asnumpy(found), wanted)]
        ratio = np.linalg.norm(x - y, axis=1) / np.linalg.norm(y, axis=1)
        worst = max(worst, float(np.max(ratio)) if np.all(np.isfinite(x)) else np.inf)
    return worst / float(np.finfo(dtype).eps)


def timed(
    kernel: CudaKernel, robot: str, dtype: str, error: float, bar: float | None, bandwidth: float
) -> Row:
    """The rate of one kernel on `STATES` fresh states."""
    import cupy

    random = cupy.random.default_rng(3)
    ports = (*kernel.graph.inputs, *kernel.graph.outputs)
    shapes = [(STATES, *port.shape) for port in ports]
    split = len(kernel.graph.inputs)
    given = [2 * random.standard_normal(shape, dtype=dtype) for shape in shapes[:split]]
    out = tuple(cupy.full(shape, np.nan, dtype) for shape in shapes[split:])
    seconds = times(lambda: kernel(*given, out=out))
    size = sum(port.size for port in ports) * np.dtype(dtype).itemsize
    launch = kernel.launch(dtype)
    return Row(
        robot,
        kernel.name,
        dtype,
        error,
        STATES / seconds[0] / 1e9,
        STATES / seconds[len(seconds) // 2] / 1e9,
        bar,
        STATES / seconds[0] * size / bandwidth,
        size,
        launch.registers,
        launch.local,
        launch.threads,
        launch.resident,
    )


def copy_bandwidth(size: int = 2**32) -> float:
    """Bytes read and written a second by a copy of `size` bytes on the GPU."""
    import cupy

    source = cupy.random.default_rng(0).random(size // 8)
    target = cupy.empty_like(source)
    return 2 * size / times(lambda: cupy.copyto(target, source))[0]


def times(work: Any) -> list[float]:
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
        for _ in range(CALLS):
            work()
        stop.record()
        stop.synchronize()
        found.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3 / CALLS)
    return sorted(found[1:])


def about(folder: Path) -> dict[str, Any]:
    """The machine, the versions, the commit that the cases came from, and the date."""
    import cupy

    runtime = cupy.cuda.runtime
    device = runtime.getDeviceProperties(cupy.cuda.Device().id)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": (folder / COMMIT).read_text(),
        "gpu": device["name"].decode(),
        "copy_bandwidth": copy_bandwidth(),
        "states": STATES,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "cupy": cupy.__version__,
            "nvrtc": ".".join(map(str, cupy.cuda.nvrtc.getVersion())),
            "cuda driver": str(runtime.driverGetVersion()),
        },
    }


def markdown(record: dict[str, Any], rows: list[Row]) -> str:
    """The record for people."""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    head = [
        f"# CUDA kernels, {record['date']}",
        "",
        f"{record['gpu']}, copy bandwidth {record['copy_bandwidth'] / 1e12:.2f} TB/s (read and "
        f"written). Commit {record['commit']}. {versions}.",
        f"`python -m benchmarks.gpu`: {STATES} states in (N, n) arrays, no fast-math, {REPEATS} "
        f"repeats of {CALLS} calls after warming up; the best, and the median. The error is the "
        f"largest difference from the CPU's kernel for any of {CHECKED} states, relative to the "
        "norm of the result.",
        "",
    ]
    names = ("robot", "quantity", "", "error", "1e9/s", "median", "required", "", "bandwidth")
    lines = [
        (
            row.robot,
            row.quantity.replace("_", " "),
            row.dtype,
            f"{row.error:.2g} eps",
            f"{row.rate:.2f}",
            f"{row.median:.2f}",
            "" if row.required is None else f"{row.required:g}",
            row.word,
            f"{row.bandwidth:.0%}",
            f"{row.registers}",
            f"{row.local}",
            f"{row.threads}",
            f"{row.resident}",
        )
        for row in rows
    ]
    more = ("registers", "local bytes", "block", "resident threads")
    header = (*names, *more)
    cells = [header, ("---",) * len(header), *lines]
    return "\n".join([*head, *(f"| {' | '.join(line)} |" for line in cells)]) + "\n"


def main() -> None:
    """Measure, print and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prepare", type=Path, help="write the cases into this folder and stop")
    parser.add_argument("--cases", type=Path, help="take the cases from this folder")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    if options.prepare:
        prepare(options.prepare)
        return
    with tempfile.TemporaryDirectory() as scratch:
        cases = options.cases or Path(scratch)
        if not options.cases:
            prepare(cases)
        record, rows = about(cases), list(measure(cases))
    name = "-".join(record["gpu"].lower().replace("nvidia", "").split())
    target = options.results / f"{record['date'][:10]}-{name}"
    target.parent.mkdir(parents=True, exist_ok=True)
    everything = {**record, "rows": [asdict(row) for row in rows]}
    target.with_suffix(".json").write_text(json.dumps(everything, indent=1) + "\n")
    target.with_suffix(".md").write_text(markdown(record, rows))
    print(markdown(record, rows))


if __name__ == "__main__":
    main()
