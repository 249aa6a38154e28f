"""The GPU against the CPU on many robots: the public URDF and MJCF files, and the built-in ones.

    python -m benchmarks.gpu_robots --prepare build/robots --models ../shared/models
    python -m benchmarks.gpu_robots --cases build/robots --results benchmarks/results

The first part needs no GPU, the second nothing but CuPy.
"""

import argparse
import csv
import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_agreement import ALLOWED, kernel_error, rollout_error
from benchmarks.gpu_cases import (
    DTYPES,
    kernel_case,
    read_graph,
    read_stepping,
    rollout_case,
    states,
    write,
)
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.cuda.rollout import CudaRollout
from kinetree.errors import KinetreeError

STATES, ROLLOUTS, STEPS = 100, 40, 10
SHORT = 1e-5  # s: some robots have joints with much friction and next to no inertia
USUAL = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
ALL_OF = ("panda", "scara", "planar_2r", "quadruped")  # robots whose every quantity is looked at
LONG = 60_000  # operations of a graph that nobody would run for each of a million states
SKIPPED = "skipped.json"
WORKERS = 12


def robots(models: Path | None) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """Name, model or the error of loading it, and quantities."""
    import kinetree as kt
    from kinetree.dynamics.quantities import DECLARED

    of_trees = tuple(name for name, x in DECLARED.items() if not x.letters & {*"mdc"})

    for name in kt.robots.TREES:
        every = name in ALL_OF
        model = getattr(kt.robots, name)().model
        yield name, model, of_trees if every else USUAL
    if models is None:
        return
    with (models / "manifest.csv").open(newline="") as file:
        listed = [row for row in csv.DictReader(file) if row["split"] == "public"]
    for row in listed:
        try:
            yield row["name"], kt.load(models / row["file"]).model, USUAL
        except KinetreeError as problem:
            yield row["name"], problem, ()


def prepare(folder: Path, models: Path | None) -> None:
    """Write a case for each quantity of each robot, and why some have none."""
    from kinetree.engine.kernels.compile import trace_quantity

    folder.mkdir(parents=True, exist_ok=True)
    skipped = {}
    for number, (robot, model, quantities) in enumerate(robots(models)):
        if isinstance(model, KinetreeError):
            skipped[robot] = short(model)
            continue
        for quantity in (*quantities, "rollout"):
            path = folder / f"{robot}-{quantity}.npz"
            try:
                if quantity == "rollout":
                    write(path, rollout(model, number))
                else:
                    graph = trace_quantity(model, quantity)
                    check_length(graph.operations)
                    write(path, kernel_case(graph, states(model, graph, STATES, number), quantity))
            except (KinetreeError, ArithmeticError) as problem:
                skipped[f"{robot}-{quantity}"] = short(problem)
        print(robot, flush=True)
    (folder / SKIPPED).write_text(json.dumps(skipped, indent=1))


def check_length(operations: int) -> None:
    """Raise an error if a graph is too long to be compiled here."""
    if operations > LONG:
        raise KinetreeError(f"{operations} operations are more than {LONG}")


def rollout(model: Any, seed: int) -> dict[str, np.ndarray]:
    """Runge-Kutta steps from random states under small forces."""
    from kinetree.dynamics import random
    from kinetree.engine.kernels.memo import kernel as compile_kernel

    rng = np.random.default_rng(seed)
    q0 = np.array([random(model, rng) for _ in range(ROLLOUTS)])
    dq0, ddq0 = 0.1 * rng.normal(size=(2, ROLLOUTS, model.n))
    tau = compile_kernel(model, "inverse_dynamics")(q0, dq0, ddq0)
    return rollout_case(model, "rk4", q0, dq0, steps=STEPS, dt=SHORT, tau=tau)


def short(problem: Exception) -> str:
    """The first line of a message."""
    return f"{type(problem).__name__}: {str(problem).splitlines()[0][:160]}"


def check(path: Path) -> tuple[str, dict[str, float]]:
    """The errors of one case, in eps."""
    robot, _, quantity = path.stem.rpartition("-")
    with np.load(path) as file:
        data = dict(file)
    found = {}
    for dtype in DTYPES:
        if quantity == "rollout":
            found[dtype] = rollout_error(CudaRollout(read_stepping(data)), dtype, data)
        else:
            kernel = CudaKernel(read_graph(data, "graph"), quantity)
            found[dtype] = kernel_error(kernel, dtype, data)
    return f"{robot} {quantity}", found


def main() -> None:
    """Prepare or check, and print what disagrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prepare", type=Path, help="write the cases into this folder and stop")
    parser.add_argument("--models", type=Path, help="folder with manifest.csv of public robots")
    parser.add_argument("--cases", type=Path, help="check the cases in this folder")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    if options.prepare:
        prepare(options.prepare, options.models)
        return
    paths = sorted(options.cases.glob("*.npz"), key=lambda path: -path.stat().st_size)
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        found = dict(pool.imap_unordered(check, paths))
    worst = {d: max(errors[d] for errors in found.values()) for d in DTYPES}
    wrong = {k: e for k, e in found.items() if any(e[d] > ALLOWED[d] for d in DTYPES)}
    exact = {d: sum(errors[d] == 0 for errors in found.values()) for d in DTYPES}
    names = {name.split(" ")[0] for name in found}
    summary = {
        "robots": len(names),
        "cases": len(found),
        "worst_eps": worst,
        "same_bits": exact,
        "wrong": wrong,
        "skipped": json.loads((options.cases / SKIPPED).read_text()),
    }
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "gpu-robots.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps({k: v for k, v in summary.items() if k != "skipped"}, indent=1))


if __name__ == "__main__":
    main()
