"""Emitted CUDA C++ without a GPU: compiled by a plain C++ compiler, 32 threads one after another.

The phases of a warp (rows into tiles, states, tiles into rows) are called for every lane in turn,
which is what a GPU does between its barriers.
"""

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinetree.engine import OPERATIONS, Graph, Node, Port
from kinetree.engine.cuda.emit import ITEMSIZE, emit, parameters
from kinetree.engine.cuda.layout import WARP, Layout, plan

POISON = -987.0


def host_source(
    graph: Graph, dtype: str, layout: Layout, most: int | None = None, warps: int = 1
) -> str:
    """The emitted text and a loop over blocks of `warps`."""
    count = len(layout.inputs)
    names = [f"p{k}" if k < count else f"r{k - count}" for k in range(count + len(layout.outputs))]
    arrays = ", ".join(names)
    step = "for (int lane = 0; lane < 32; lane++) {}(tile, first, count, begin + lane, {});"
    steps = "\n".join(step.format(f"kt_{x}", arrays) for x in ("enter", "compute", "leave"))
    return f"""#define KT_BLOCK {32 * warps}
{emit(graph, dtype, "host", layout=layout, most=most)}
extern "C" void run(long long states, {parameters(layout)}) {{
    alignas(16) static real tile[{max(layout.tile * warps, 1)}];
    for (long long first = 0; first < states; first += 32) {{
        const int count = states - first < 32 ? (int)(states - first) : 32;
        const int begin = (int)(first % KT_BLOCK);
        {steps}
    }}
}}
"""


def run_on_host(
    graph: Graph,
    dtype: str,
    arrays: list[Any],
    folder: Path,
    most: int | None = None,
    spare: int = 0,
    warps: int = 1,
    **options,
) -> list[Any]:
    """The outputs for arrays (count, *port.shape), which may begin at any address.

    The warps of a block come one after another, each into its own part of the tiles, where the
    states of the block before still lie.
    """
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler to check the arithmetic of CUDA code on the CPU with")
    layout = replace(plan(graph, ITEMSIZE[dtype], **options), spare=spare)
    source, library = folder / f"{dtype}.cpp", folder / f"{dtype}.so"
    source.write_text(host_source(graph, dtype, layout, most, warps))
    command = [compiler, "-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([*command, str(source), "-o", str(library)], check=True, capture_output=True)
    count = len(arrays[0])
    # one row more than asked for: nothing may be written behind the last state
    outputs = [np.full((count + 1, *port.shape), POISON, dtype) for port in graph.outputs]
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *outputs)]
    ctypes.CDLL(str(library)).run(ctypes.c_longlong(count), *pointers)
    for x in outputs:
        assert np.all(x[count] == POISON)
    return [x[:count] for x in outputs]


def states(graph: Graph, dtype: str, count: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count, *port.shape)).astype(dtype) for port in graph.inputs]


def functions_graph() -> Graph:
    """exp, log, tanh, atan2, abs, min and max of the two elements of one input."""
    nodes = [Node("input", (), (0, 0)), Node("input", (), (0, 1))]
    names = ("exp", "log", "tanh", "atan2", "abs", "min", "max")
    nodes += [Node(name, (0, 1)[: OPERATIONS[name].arity]) for name in names]
    results = tuple(range(2, len(nodes)))
    ports = (Port("x", (2,)),), (Port("y", (len(results),)),)
    return Graph(tuple(nodes), *ports, (results,))


def special_pairs(dtype: str, count: int = 3000) -> Any:
    """All pairs of special values, and random ones of every size."""
    rng = np.random.default_rng(6)
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-320, 1.0, -1.0, 900.0, -900.0, 1e-39, -708.5]
    special = np.stack(np.meshgrid(values, values), -1).reshape(-1, 2)
    sizes = rng.normal(size=(count, 2)) * 10.0 ** rng.uniform(-36, 30, (count, 2))
    with np.errstate(all="ignore"):
        return np.concatenate([special, sizes, rng.normal(size=(count, 2)) * 5]).astype(dtype)


def compile_for_gpu(source: str, folder: Path, arch: str = "sm_90") -> None:
    """Compile with nvcc, warnings as errors; skip where there is none."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no nvcc to compile CUDA code with")
    path = folder / "kernel.cu"
    path.write_text(source)
    command = [nvcc, f"-arch={arch}", "-std=c++17", "-fmad=false", "-Werror", "all-warnings", "-c"]
    made = subprocess.run(
        [*command, str(path), "-o", str(folder / "kernel.o")], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr


__all__ = ["WARP", "compile_for_gpu", "functions_graph", "run_on_host", "special_pairs", "states"]
