"""Time of a call on a GPU in Python, and rates of small batches, beside frax.

    python -m benchmarks.gpu_calls                       # with CuPy and any of torch and JAX
    python -m benchmarks.gpu_calls --frax panda.urdf     # and frax, from a file of the same robot

A call is queued; the time in Python is what a program waits for before it can go on. Rates are of
whole calls, the last result waited for. In a graph, 20 calls are captured and replayed.
"""

import argparse
import importlib
import json
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.gpu_record import about
from benchmarks.machine import commit

BATCHES = (4096, 65536)
LARGE = 2**22
CALLS, REPEATS, CAPTURED = 200, 15, 20
Work = Callable[..., Any]
# microseconds at most, or 1e9 states a second or ratios at least
REQUIRED = {"CuPy": 12, "torch": 18, "torch, recorded": 40, "ten steps": 100, "captured": 2.0}
RATIOS = {4096: 40, 65536: 100, LARGE: 200}


def call_time(work: Work, wait: Work, calls: int = CALLS) -> float:
    """Microseconds that a call takes in Python, the median of all repeats."""
    for _ in range(3):
        work()
    wait()
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        found.append((time.perf_counter() - start) / calls * 1e6)
        wait()
    return statistics.median(found)


def rate(work: Work, wait: Work, states: int, calls: int = CALLS) -> float:
    """1e9 states a second, results waited for, the median of all repeats."""
    work()
    wait()
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        wait()
        found.append(states * calls / (time.perf_counter() - start) / 1e9)
    return statistics.median(found)


def cupy_rows(robot: kt.Robot, states: int) -> dict[str, float]:
    """Calls with arrays of CuPy, plain and captured."""
    cp = importlib.import_module("cupy")
    q, dq, ddq = cp.random.default_rng(1).standard_normal((3, states, 7), dtype="float32")
    out, wait = cp.empty_like(q), cp.cuda.Device().synchronize
    kernel = robot.compile("inverse_dynamics", target="cuda")
    kernel(q, dq, ddq)
    launch = kernel.launch("float32")
    rows = {
        "a launch alone": call_time(lambda: launch(states, [q, dq, ddq, out]), wait),
        "CuPy's cupy.empty alone": call_time(lambda: cp.empty((states, 7), "float32"), wait),
        "CuPy": call_time(lambda: robot.inverse_dynamics(q, dq, ddq), wait),
        "CuPy, out=": call_time(lambda: robot.inverse_dynamics(q, dq, ddq, out=out), wait),
        "CuPy, compiled kernel": call_time(lambda: kernel(q, dq, ddq), wait),
        "CuPy's own q + dq": call_time(lambda: q + dq, wait),
        "rate, CuPy, 1e9/s": rate(lambda: robot.inverse_dynamics(q, dq, ddq), wait, states),
    }
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        kernel(q, dq, ddq, out=out)
        stream.begin_capture()
        for _ in range(CAPTURED):
            kernel(q, dq, ddq, out=out)
        graph = stream.end_capture()
    rows["captured, 1e9/s"] = rate(
        lambda: graph.launch(stream), stream.synchronize, states * CAPTURED, 20
    )
    options: dict[str, Any] = {"duration": 0.01, "dt": 1e-3, "method": "semi_implicit_euler"}
    options |= {"tau": 0.1 * ddq, "limits": "ignore", "every": 10, "target": "cuda"}
    q0, dq0 = 0.1 * q, 0.1 * dq
    rows["ten steps"] = call_time(lambda: robot.simulate(q0, dq0, **options), wait, 20)
    return rows


def torch_rows(robot: kt.Robot, states: int) -> dict[str, float]:
    """Calls with tensors of torch, with and without a record for gradients."""
    torch = importlib.import_module("torch")
    x = [torch.randn(states, 7, device="cuda") for _ in range(3)]
    moving = [y.clone().requires_grad_() for y in x]
    weights, wait = torch.ones_like(x[0]), torch.cuda.synchronize

    def slopes() -> Any:
        return torch.autograd.grad(robot.inverse_dynamics(*moving), moving, weights)

    def own_slopes() -> Any:
        return torch.autograd.grad(moving[0] * moving[1] + moving[2], moving, weights)

    rows = {
        "torch": call_time(lambda: robot.inverse_dynamics(*x), wait),
        "torch, recorded": call_time(lambda: robot.inverse_dynamics(*moving), wait),
        "torch, with its gradient": call_time(slopes, wait, 50),
        "torch's own q + dq": call_time(lambda: x[0] + x[1], wait),
        "torch's own gradient of q * dq + ddq": call_time(own_slopes, wait, 50),
    }
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CAPTURED):
            robot.inverse_dynamics(*x)
    rows["captured, torch, 1e9/s"] = rate(graph.replay, wait, states * CAPTURED, 20)
    return rows


def jax_rows(robot: kt.Robot, states: int) -> dict[str, float]:
    """A compiled function of JAX."""
    jax = importlib.import_module("jax")
    x = [jax.numpy.asarray(y) for y in np.random.default_rng(1).normal(size=(3, states, 7))]
    x = [y.astype("float32") for y in x]
    functions = {
        "JAX, jit": jax.jit(robot.inverse_dynamics),
        "JAX": robot.inverse_dynamics,
        "JAX's own jitted q + dq * ddq": jax.jit(lambda q, dq, ddq: q + dq * ddq),
    }
    last: list[Any] = []

    def work(function: Work) -> None:
        last[:] = [function(*x)]

    return {
        name: call_time(lambda f=function: work(f), lambda: jax.block_until_ready(last))
        for name, function in functions.items()
    }


def frax_rates(urdf: Path, states: int) -> float:
    """1e9 states a second of frax's recursion, compiled for the GPU."""
    jax = importlib.import_module("jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = importlib.import_module("frax").Robot(str(urdf))
    up = jax.numpy.array((0.0, 0.0, 9.81, 0.0, 0.0, 0.0), "float32")
    function = jax.jit(jax.vmap(lambda q, dq, ddq: other.rnea(q, dq, ddq, up, None)))
    rng, last = np.random.default_rng(1), []
    x = [jax.numpy.asarray(y.astype("float32")) for y in rng.normal(size=(3, states, 7))]

    def work() -> None:
        last[:] = [function(*x)]

    return rate(work, lambda: jax.block_until_ready(last), states, 20)


def own_rates(robot: kt.Robot, states: int) -> tuple[float, float]:
    """1e9 states a second of calls with CuPy's arrays, and of the same calls captured."""
    cp = importlib.import_module("cupy")
    q, dq, ddq = cp.random.default_rng(1).standard_normal((3, states, 7), dtype="float32")
    out, stream = cp.empty_like(q), cp.cuda.Stream(non_blocking=True)

    def work() -> None:
        robot.inverse_dynamics(q, dq, ddq, out=out)

    with stream:
        work()
        plain = rate(work, stream.synchronize, states, 50)
        stream.begin_capture()
        for _ in range(CAPTURED):
            work()
        graph = stream.end_capture()
    return plain, rate(lambda: graph.launch(stream), stream.synchronize, states * CAPTURED, 5)


def markdown(record: dict[str, Any]) -> str:
    """The record as Markdown."""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    lines = [
        f"# Calls on a GPU, {record['date']}",
        "",
        f"{record['gpu']}. Commit {record['commit']}. {versions}.",
        "`python -m benchmarks.gpu_calls`: Panda, 7 joints, inverse dynamics in float32; "
        f"microseconds of a call in Python, the median of {REPEATS} repeats of {CALLS} calls; "
        "rates of whole calls in 1e9 states a second. Ten steps are one `simulate` with its end "
        f"waited for. In a graph {CAPTURED} calls are captured.",
        "",
        f"| | {' | '.join(f'{n} states' for n in BATCHES)} |",
        f"|---|{'---|' * len(BATCHES)}",
    ]
    for name in record["rows"][str(BATCHES[0])]:
        values = [record["rows"][str(n)].get(name) for n in BATCHES]
        shown = " | ".join("" if x is None else f"{x:.3g}" for x in values)
        lines.append(f"| {name} | {shown} |")
    if record["frax"]:
        lines += ["", "| states | frax | kinetree | | captured | |", "|---|---|---|---|---|---|"]
        for n, (other, plain, captured) in record["frax"].items():
            pairs = [f"{x:.3g} | {x / other:.0f}x" for x in (plain, captured)]
            lines.append(f"| {n} | {other:.3g} | {' | '.join(pairs)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", help="of the source, where git is not at hand")
    parser.add_argument("--frax", type=Path, help="URDF of Panda without fingers, for frax")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # CPU kernels may be interpreted here
    record = {**about(options.commit or commit()), "rows": {}, "frax": {}}
    robot = kt.robots.panda()
    for rows in (cupy_rows, torch_rows, jax_rows):  # JAX last: its threads disturb the others
        for states in BATCHES:
            found = record["rows"].setdefault(str(states), {})
            try:
                found |= rows(robot, states)
            except ImportError as problem:
                print(f"left out: {problem}")
    if options.frax:
        for states in RATIOS:
            other = frax_rates(options.frax, states)
            record["frax"][str(states)] = (other, *own_rates(robot, states))
    name = "-".join(record["gpu"].lower().replace("nvidia", "").split())
    target = options.results / f"{record['date'][:10]}-{name}-calls"
    target.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    target.with_suffix(".md").write_text(markdown(record))
    print(markdown(record))


if __name__ == "__main__":
    main()
