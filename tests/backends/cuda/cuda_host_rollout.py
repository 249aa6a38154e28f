"""Rollouts for a GPU without one: emitted code on 32 real threads, NumPy in the place of CuPy."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kinetree.engine import Run
from kinetree.engine.cuda import launch as toolkit
from kinetree.engine.cuda import rollout as rollouts
from kinetree.engine.cuda.emit import ITEMSIZE
from kinetree.engine.cuda.rollout import NAME, emit_rollout, make_frame
from kinetree.simulate.gpu import inputs as gpu_inputs
from kinetree.simulate.gpu import rollouts as gpu

# a warp is 32 threads that meet at barriers; blocks come one after the other
LIBRARY = """
#include <barrier>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>
"""
WARP = """
struct place { int x; };
static thread_local place threadIdx, blockIdx, blockDim;
static unsigned char *memory_of_block;
static std::barrier<> meeting(32);
#define __syncwarp() meeting.arrive_and_wait()
#define KT_ENTRY(threads, blocks) static void
#define KT_SHARED(name) unsigned char *name = memory_of_block
"""
CALL = """
struct arguments {{ {fields} }};
extern "C" void run(arguments *a, long long bytes) {{
    std::vector<double> memory(bytes / 8 + 1);
    memory_of_block = (unsigned char *)memory.data();
    for (int block = 0; block * 32LL < a->count; block++) {{
        std::vector<std::thread> warp;
        for (int lane = 0; lane < 32; lane++)
            warp.emplace_back([=] {{
                threadIdx.x = lane; blockIdx.x = block; blockDim.x = 32;
                {name}({names});
            }});
        for (auto &thread : warp) thread.join();
    }}
}}
"""
POINTERS = ("state", "params", "table", "times", "lengths", "rows", "first", "amount")
WHOLE = ("count", "evaluations", "steps", "offset", "params_step", "table_row", "table_step")
ORDER = (
    "count evaluations steps offset state params params_step table table_row table_step times "
    "lengths rows first amount"
).split()


FLAGS = ("-std=c++20", "-O1", "-ffp-contract=off", "-fPIC", "-pthread")


HEADERS = tempfile.TemporaryDirectory()  # removed at the end of the process


@functools.cache
def library_header(compiler: str) -> Path:
    """The headers of the standard library, compiled once: they take as long as a rollout."""
    header = Path(HEADERS.name) / "library.hpp"
    header.write_text(LIBRARY)
    subprocess.run([compiler, *FLAGS, str(header)], check=True, capture_output=True)
    return header


class HostRollout(rollouts.CudaRollout):
    """Runs what would run on the GPU."""

    folder: Path

    def run(self, run: Run) -> None:
        dtype, count = str(run.state.dtype), len(run.state)
        library = self.library(dtype, len(run.records))
        table = run.table
        values: dict[str, Any] = {
            "count": count,
            "evaluations": len(run.h),
            "steps": run.steps,
            "offset": run.offset,
            "params_step": 0 if len(run.params) == 1 else run.params.shape[1],
            "table_row": table.shape[2] * table.shape[3],
            "table_step": 0 if table.shape[2] == 1 else table.shape[3],
        }
        arrays = (run.state, run.params, table, run.times, run.h, run.rows, run.first, run.amount)
        values |= {name: x.ctypes.data for name, x in zip(POINTERS, arrays, strict=True)}
        values |= {f"record{k}": x.ctypes.data for k, x in enumerate(run.records)}
        order = [*ORDER, *(f"record{k}" for k in range(len(run.records)))]
        words = (ctypes.c_int64 * len(order))(*[values[name] for name in order])
        size = make_frame(self.stepping, ITEMSIZE[dtype]).tile * ITEMSIZE[dtype]
        library.run(words, ctypes.c_longlong(size))

    def library(self, dtype: str, records: int) -> Any:
        compiler = shutil.which("g++") or shutil.which("clang++")
        if compiler is None:
            pytest.skip("no C++ compiler to run rollouts for a GPU on the CPU with")
        order = [*ORDER, *(f"record{k}" for k in range(records))]
        fields = "".join(f"long long {x}; " if x in WHOLE else f"void *{x}; " for x in order)
        kinds = {"rows": "const int *", "first": "int *", **dict.fromkeys(WHOLE, "long long")}
        names = ", ".join(f"({kinds.get(x, 'real *')})a->{x}" for x in order)
        call = CALL.format(fields=fields, name=NAME, names=names)
        path = self.folder / f"{abs(hash(self.stepping))}{dtype}.cpp"
        path.write_text(WARP + emit_rollout(self.stepping, dtype) + call)
        made = path.with_suffix(".so")
        header = library_header(compiler)
        command = [compiler, *FLAGS, "-include", str(header), "-shared", str(path), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(made))


class OnGpu(np.ndarray):
    """An array that says that it is on a GPU."""

    __cuda_array_interface__ = None
    device = nullcontext()

    def get(self) -> Any:
        return np.asarray(self)


def moved(x: Any, dtype: Any = None) -> Any:
    return np.array(x, dtype, order="C").view(OnGpu)


def pretend(monkeypatch: pytest.MonkeyPatch, folder: Path) -> SimpleNamespace:
    """NumPy for CuPy, and threads for a GPU; what stands for CuPy is returned."""
    stream = SimpleNamespace(synchronize=lambda: None)
    names = (
        "zeros",
        "empty",
        "full",
        "broadcast_to",
        "concatenate",
        "isfinite",
        "flatnonzero",
        "abs",
    )
    cp = SimpleNamespace(
        ndarray=OnGpu,
        asarray=moved,
        array=moved,
        asnumpy=np.asarray,
        ascontiguousarray=lambda x: np.ascontiguousarray(x).view(OnGpu),
        linalg=np.linalg,
        cuda=SimpleNamespace(get_current_stream=lambda: stream, Device=nullcontext),
        **{name: getattr(np, name) for name in names},
    )
    for name in ("zeros", "empty", "full", "broadcast_to"):
        make = getattr(np, name)
        setattr(cp, name, lambda *a, make=make, **k: make(*a, **k).view(OnGpu))
    monkeypatch.setattr(HostRollout, "folder", folder, raising=False)
    monkeypatch.setattr(gpu, "CudaRollout", HostRollout)
    for module in (gpu, gpu_inputs, toolkit):
        monkeypatch.setattr(module, "require_device", lambda: cp)
    return cp
