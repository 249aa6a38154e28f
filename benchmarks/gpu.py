"""Speed of CUDA kernels on this GPU, as states per second and as a share of its bandwidth.

    python -m benchmarks.gpu                       # where there are a GPU, llvmlite and the robots
    python -m benchmarks.gpu --prepare build/gpu   # on a machine without a GPU: graphs and numbers
    python -m benchmarks.gpu --cases build/gpu     # on one with a GPU and no more than CuPy

Nothing is timed that disagrees with the CPU's kernels: float64 to 4 eps norm-wise, float32 to
8 eps32, on random states, into outputs that were filled with NaN before.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_agreement import kernel_error, rollout_error
from benchmarks.gpu_cases import (
    DTYPES,
    kernel_case,
    new_run,
    read_graph,
    read_stepping,
    rollout_case,
    write,
)
from benchmarks.gpu_record import Row, about, copy_bandwidth, markdown, measured
from benchmarks.machine import commit
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.cuda.rollout import CudaRollout

STATES = 2**23
ROLLOUTS, STEPS = 2**20, 200
CHECKED, CHECKED_ROLLOUTS = 4096, 512  # states that are compared with the CPU
COMMIT = "commit.txt"

# robot, quantity -> billions of states a second that are required, float32 and float64
REQUIRED: dict[tuple[str, str], tuple[float | None, float | None]] = {
    ("panda", "inverse_dynamics"): (28, 16),
    ("panda", "forward_dynamics"): (27, 9.5),
    ("panda", "inverse_dynamics_derivatives"): (3.8, 1.4),
    ("panda", "mass_matrix"): (None, None),
    ("ur5", "inverse_dynamics"): (36, 22),
    ("talos", "inverse_dynamics"): (3, 1.5),
}
# the same for steps of rollouts of Panda
ROLLOUT_CASES: dict[str, tuple[float | None, float | None]] = {
    "semi_implicit_euler": (21, 10),
    "semi_implicit_euler, limits watched": (None, None),
    "semi_implicit_euler, computed torque": (22, None),
    "rk4": (None, None),
}


def prepare(folder: Path) -> None:
    """Write the graph of each case, its states, and the results of the CPU's kernels."""
    from benchmarks import robots
    from kinetree.engine.kernels.compile import trace_quantity

    folder.mkdir(parents=True, exist_ok=True)
    (folder / COMMIT).write_text(commit())
    for robot, quantity in REQUIRED:
        case = robots.load(robot)
        graph = trace_quantity(case.model, quantity)
        arrays = list(robots.states(case, quantity, CHECKED))
        write(folder / f"{robot}-{quantity}.npz", kernel_case(graph, arrays, quantity))
    for name in ROLLOUT_CASES:
        write(folder / f"rollout-{file_name(name)}.npz", prepared_rollout(name))


def prepared_rollout(name: str) -> dict[str, np.ndarray]:
    """Panda from random states near rest, under small forces or following a motion."""
    from benchmarks import robots
    from kinetree import scalars
    from kinetree.controllers import ComputedTorque

    rng = np.random.default_rng(11)
    q0, dq0, tau = rng.normal(size=(3, CHECKED_ROLLOUTS, 7)) * [[[1.0]], [[0.1]], [[0.1]]]
    size = np.linspace(0.2, 0.8, 7)

    def reference(t: Any) -> tuple[Any, Any, Any]:
        s, c = scalars.sin(2 * t), scalars.cos(2 * t)
        return size * s, 2 * size * c, -4 * size * s

    acting: dict[str, Any] = {"tau": tau}
    if "computed torque" in name:
        acting = {"controller": ComputedTorque(reference, kp=100, kd=20)}
    watched = "limits" in name
    model, method = robots.load("panda").model, name.partition(",")[0]
    if watched:  # within the limits, as a robot is
        middle = [(joint.limits.lower + joint.limits.upper) / 2 for joint in model.joints]
        q0 = np.array(middle) + 0.1 * q0
    return rollout_case(model, method, q0, dq0, steps=20, limits=watched, **acting)


def file_name(name: str) -> str:
    """A name without blanks and commas."""
    return name.replace(",", "").replace(" ", "_")


def measure(folder: Path) -> Iterator[Row]:
    """All rows; the first thing measured is the bandwidth."""
    bandwidth = copy_bandwidth()
    for (robot, quantity), required in REQUIRED.items():
        with np.load(folder / f"{robot}-{quantity}.npz") as data:
            kernel = CudaKernel(read_graph(data, "graph"), quantity)
            for dtype, bar in zip(DTYPES, required, strict=True):
                error = kernel_error(kernel, dtype, data)
                yield timed_kernel(kernel, robot, dtype, error, bar, bandwidth)
    for name, required in ROLLOUT_CASES.items():
        with np.load(folder / f"rollout-{file_name(name)}.npz") as file:
            data = dict(file)
        rollout = CudaRollout(read_stepping(data))
        for dtype, bar in zip(DTYPES, required, strict=True):
            error = rollout_error(rollout, dtype, data)
            yield timed_rollout(rollout, name, dtype, error, bar, bandwidth, data)


def timed_kernel(
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
    seconds = measured(lambda: kernel(*given, out=out))
    size = sum(port.size for port in ports) * np.dtype(dtype).itemsize
    work = STATES, size, kernel.operations
    return Row.make(
        (robot, kernel.name, dtype), error, bar, seconds, work, kernel.launch(dtype), bandwidth
    )


def timed_rollout(
    rollout: CudaRollout,
    name: str,
    dtype: str,
    error: float,
    bar: float | None,
    bandwidth: float,
    data: dict[str, np.ndarray],
) -> Row:
    """The rate of steps of `ROLLOUTS` rollouts of which the last state is recorded.

    Every call begins from the same states, which are copied to their place within the time.
    """
    import cupy

    spread = -(-ROLLOUTS // len(data["state"]))
    long = dict(data)
    for key in ("state", "params"):
        if len(data[key]) > 1:
            long[key] = np.tile(data[key], (spread, 1))[:ROLLOUTS]
    h, share = data["h"][0], data["times"][0] / data["h"][0]
    long["h"] = np.append(np.full(STEPS, h), 0.0)
    long["times"] = h * np.arange(STEPS + 1)[:, None] + long["h"][:, None] * share
    long["table"] = np.zeros((STEPS + 1, len(share), 1, data["table"].shape[-1]))
    long["rows"] = np.append(np.full(STEPS, -1), 0)
    run = new_run(cupy, long, rollout.stepping, dtype)
    start = run.state.copy()

    def work() -> None:
        cupy.copyto(run.state, start)
        rollout.run(run)

    seconds = measured(work, calls=2)
    sizes, recorded = rollout.stepping.sizes, sum(f.size for f in rollout.stepping.fields)
    per_rollout = 2 * sizes["x"] + recorded + (sizes["p"] if len(long["params"]) > 1 else 0)
    size = per_rollout * np.dtype(dtype).itemsize / STEPS
    operations = len(rollout.stepping.stages) * rollout.stepping.rate.operations
    done = ROLLOUTS * STEPS, size, operations
    launch = rollout.launch(dtype)
    return Row.make(
        (("panda"), f"step: {name}", dtype), error, bar, seconds, done, launch, bandwidth
    )


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
        record = about((cases / COMMIT).read_text())
        rows = list(measure(cases))
    name = "-".join(record["gpu"].lower().replace("nvidia", "").split())
    target = options.results / f"{record['date'][:10]}-{name}"
    target.parent.mkdir(parents=True, exist_ok=True)
    everything = {**record, "rows": [asdict(row) for row in rows]}
    target.with_suffix(".json").write_text(json.dumps(everything, indent=1) + "\n")
    text = markdown(record, rows, (STATES, ROLLOUTS, STEPS, CHECKED, CHECKED_ROLLOUTS))
    target.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
