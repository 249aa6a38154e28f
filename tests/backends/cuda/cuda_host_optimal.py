"""Solvers for a GPU without one: emitted kernels on 32 real threads, NumPy in the place of CuPy."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda_host_rollout import FLAGS, WARP, library_header

from kinetree.engine import Kernel
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.optimal import cuda_ilqr, cuda_sampling

CALL = """
extern "C" void run_{name}(long long *a, long long bytes) {{
    std::vector<double> memory(bytes / 8 + 1);
    memory_of_block = (unsigned char *)memory.data();
    for (int block = 0; block * 32LL < a[0]; block++) {{
        std::vector<std::thread> warp;
        for (int lane = 0; lane < 32; lane++)
            warp.emplace_back([=] {{
                threadIdx.x = lane; blockIdx.x = block; blockDim.x = 32;
                {name}({arguments});
            }});
        for (auto &thread : warp) thread.join();
    }}
}}
"""


BLOCK = """
#define __syncthreads() __syncwarp()
#define __popc __builtin_popcount
#define __clz __builtin_clz
template <typename T> static T __shfl_sync(unsigned, T x, int lane) {
    static T all[32];
    all[threadIdx.x] = x;
    __syncwarp();
    x = all[lane];
    __syncwarp();
    return x;
}
static unsigned __ballot_sync(unsigned, bool x) {
    unsigned all = 0;
    static bool lanes[32];
    lanes[threadIdx.x] = x;
    __syncwarp();
    for (int lane = 0; lane < 32; lane++) all |= (unsigned)lanes[lane] << lane;
    __syncwarp();
    return all;
}
static int __syncthreads_count(bool x) { return __popc(__ballot_sync(0, x)); }
"""  # a block has one warp


class HostLaunch:
    """A kernel of emitted text, in blocks of one warp."""

    folder: Path

    def __init__(self, source: str, name: str, shared: int, *_: Any) -> None:
        compiler = shutil.which("g++") or shutil.which("clang++")
        if compiler is None:
            pytest.skip("no C++ compiler to run kernels for a GPU on the CPU with")
        head = re.search(rf"\b{name}\(([^)]*)\)\s*{{", source)
        assert head is not None
        kinds = [re.sub(r"(__restrict__ ?)?\w+$", "", x.strip()) for x in head[1].split(",")]
        arguments = ", ".join(f"({kind})a[{k}]" for k, kind in enumerate(kinds))
        path = self.folder / f"{name}{abs(hash(source))}.cpp"
        path.write_text(WARP + BLOCK + source + CALL.format(name=name, arguments=arguments))
        made, header = path.with_suffix(".so"), library_header(compiler)
        command = [compiler, *FLAGS, "-include", str(header), "-shared", str(path), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.function, self.shared = getattr(ctypes.CDLL(str(made)), f"run_{name}"), shared

    def __call__(self, count: int, arrays: list[Any]) -> None:
        for x in arrays:
            assert not isinstance(x, np.ndarray) or x.flags.c_contiguous
        words = [x.ctypes.data if isinstance(x, np.ndarray) else int(x) for x in arrays]
        packed = (ctypes.c_uint64 * (1 + len(words)))(count, *words)
        self.function(packed, ctypes.c_longlong(self.shared))


def pretend(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """NumPy for CuPy, threads for a warp, and the CPU's kernels for those of single graphs."""
    cp = SimpleNamespace(**{x: getattr(np, x) for x in dir(np) if not x.startswith("__")})
    cp.asnumpy, cp.cuda = np.array, SimpleNamespace(Device=lambda: SimpleNamespace(id=0))

    def launch(self: CudaKernel, dtype: str, count: int | None = None) -> Any:
        kernel, inputs = Kernel(self.graph, "host"), len(self.graph.inputs)

        def call(count: int, arrays: list[Any]) -> None:
            ports = zip((*self.graph.inputs, *self.graph.outputs), arrays, strict=True)
            rows = [x.reshape(-1, *port.shape)[:count] for port, x in ports]
            made = kernel(*rows[:inputs])
            for x, y in zip(rows[inputs:], made if type(made) is tuple else (made,), strict=True):
                x[...] = y

        return call

    monkeypatch.setattr(HostLaunch, "folder", folder, raising=False)
    monkeypatch.setattr(CudaKernel, "launch", launch)
    monkeypatch.setattr(CudaKernel, "__call__", lambda self, *x: Kernel(self.graph, "host")(*x))
    for name in ("load", "load_with"):
        monkeypatch.setattr(cuda_sampling, name, HostLaunch)
    monkeypatch.setattr(cuda_sampling, "replace", lambda launch, **_: launch)
    monkeypatch.setattr(cuda_sampling, "THREADS", 32)
    for module in (cuda_ilqr, cuda_sampling):
        monkeypatch.setattr(module, "require_device", lambda: cp)
    monkeypatch.setattr(cuda_ilqr, "load_narrow", HostLaunch)
    monkeypatch.setattr(cuda_ilqr, "shared_bytes", lambda: 99 << 10)
    monkeypatch.setattr(cuda_ilqr, "warps_of", lambda *_: 1)
    monkeypatch.setattr(cuda_ilqr, "beside", lambda *calls: [call() for call in calls])
    monkeypatch.setattr(cuda_ilqr, "captured", lambda cp, enqueue: enqueue)
