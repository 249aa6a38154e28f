"""Cases for a GPU in files: graphs, fresh random states, and the CPU's results.

A machine with a GPU then needs neither LLVM nor the robots.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.stepping import (
    NEVER,
    Field,
    Function,
    Run,
    Stepping,
    interpret_run,
)
from kinetree.engine.compiler.store import StoredGraph, encode
from kinetree.model import Model

DTYPES = ("float32", "float64")
Data = dict[str, np.ndarray]
METHOD_TIMES = "times"


def graph_bytes(graph: Graph) -> np.ndarray:
    """A graph as an array of bytes."""
    return np.frombuffer(encode(graph), np.uint8)


def read_graph(data: Mapping[str, np.ndarray], key: str) -> Graph:
    """A graph from an array of bytes."""
    return StoredGraph(data[key].tobytes())


def write(path: Path, data: Data) -> None:
    """Write a case to a compressed file, to be copied to another machine."""
    np.savez_compressed(path, **data)  # type: ignore[arg-type]


def states(model: Model, graph: Graph, count: int, seed: int) -> list[np.ndarray]:
    """Random arguments of a quantity: positions within the limits, everything else around 0."""
    from kinetree.dynamics import random
    from kinetree.engine.kernels.free import FREE, free_values

    rng = np.random.default_rng(seed)
    given = []
    for port in graph.inputs:
        x = rng.normal(size=(count, *port.shape))
        if port.name == "q":
            x = np.array([random(model, rng) for _ in range(count)])
        elif port.name in FREE:
            x = free_values(model, port.name) * rng.uniform(0.9, 1.1, (count, *port.shape))
        given.append(x)
    return given


def kernel_case(graph: Graph, arrays: list[np.ndarray], name: str) -> Data:
    """A quantity: its graph, states and results of both number types."""
    from kinetree.engine.kernel import Kernel

    kernel = Kernel(graph, name)
    data: Data = {"graph": graph_bytes(graph)}
    for dtype in DTYPES:
        given = [x.astype(dtype) for x in arrays]
        made = kernel(*given)
        outputs = made if isinstance(made, tuple) else (made,)
        data |= {f"{dtype} in {k}": x for k, x in enumerate(given)}
        data |= {f"{dtype} out {k}": x for k, x in enumerate(outputs)}
    return data


def rollout_case(
    model: Model,
    method: str,
    q0: np.ndarray,
    dq0: np.ndarray,
    *,
    steps: int,
    dt: float = 1e-3,
    every: int = 5,
    limits: bool = False,
    **acting: Any,
) -> Data:
    """A loop over time: its graphs, initial states and the CPU's records of both number types."""
    from kinetree.simulate.fixed import fixed_steps, step_inputs
    from kinetree.simulate.options import Run as Simulation
    from kinetree.simulate.result import record_rows
    from kinetree.simulate.setup import read_setup

    asked = {"duration": steps * dt, "dt": dt, "limits": "record" if limits else "ignore"}
    simulation = Simulation(model=model, q0=q0, dq0=dq0, method=method, **asked, **acting)
    setup = read_setup(simulation)
    made = fixed_steps(simulation, setup)
    own = made.method
    times = np.arange(steps + 1) * dt
    h = np.append(np.diff(times), 0.0)
    stages = times[:, None] + h[:, None] * np.array(own.times)
    external = step_inputs(setup, made.space, own, times=times)
    data: Data = {
        "fields": np.array(json.dumps([[f.source, f.start, f.size] for f in made.fields.values()])),
        "state": setup.x0,
        "params": external.params(setup.batch),
        "table": made.table(external, stages, setup.batch),
        METHOD_TIMES: stages,
        "h": h,
        "rows": record_rows(len(times), every)[0],
    }
    stepping = made.stepping
    graphs = {"rate": stepping.rate, "watch": stepping.watch}
    graphs |= {f"stage {i}": graph for i, graph in enumerate(stepping.stages)}
    data |= {key: graph_bytes(graph) for key, graph in graphs.items()}
    for dtype in DTYPES:
        run = new_run(np, data, stepping, dtype)
        reference(stepping, run, dtype)
        data |= {f"{dtype} record {k}": x for k, x in enumerate(run.records)}
        data[f"{dtype} first"] = run.first
    return data


def reference(stepping: Stepping, run: Run, dtype: str) -> None:
    """The CPU's loop; in float32, which it does not have compiled, its kernels step by step."""
    from kinetree.engine.kernel import Kernel
    from kinetree.engine.rollout import Rollout

    if dtype == "float64":
        Rollout(stepping).run(run)
        return

    def function_of(graph: Graph) -> Function:
        kernel = Kernel(graph, "part of a step", dtypes=(dtype,))
        return kernel if len(graph.outputs) > 1 else lambda *given: (kernel(*given),)

    interpret_run(stepping, run, function_of=function_of)


def read_stepping(data: Mapping[str, np.ndarray]) -> Stepping:
    """The stepping of a case."""
    count = sum(key.startswith("stage ") for key in data)
    fields = json.loads(str(data["fields"]))
    return Stepping(
        rate=read_graph(data, "rate"),
        stages=tuple(read_graph(data, f"stage {i}") for i in range(count)),
        watch=read_graph(data, "watch"),
        fields=tuple(Field(*field) for field in fields),
    )


def new_run(module: Any, data: Mapping[str, np.ndarray], stepping: Stepping, dtype: str) -> Run:
    """A run from the initial states, with arrays of NumPy or CuPy; results are poisoned."""
    integer = np.int64 if module is np else np.int32
    count, watched = len(data["state"]), stepping.watched
    names = ("state", "params", "table", METHOD_TIMES, "h")
    own = {name: module.array(data[name], dtype) for name in names}
    kept = int(data["rows"].max()) + 1
    return Run(
        **own,
        rows=module.array(data["rows"], integer),
        steps=len(data["h"]) - 1,
        records=[module.full((kept, count, f.size), np.nan, dtype) for f in stepping.fields],
        first=module.full((count, watched), NEVER, integer),
        amount=module.zeros((count, watched), dtype),
    )
