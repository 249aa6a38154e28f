"""A kernel on one GPU: compiled by NVRTC, kept on disk, loaded once with suitable blocks.

A multiprocessor hides the waiting of one warp behind the work of others, so more threads at once
are better, as long as each has the registers it needs. CuPy is imported on first use, so that
kinetree works without a GPU.

NVRTC is called here and not by `cupy.RawModule`, which appends -ftz=true to the options of every
source: the smallest float32 numbers would be 0, and the bits not those of the CPU.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.engine import cache
from kinetree.engine.cuda.layout import WARP
from kinetree.errors import CompileError, need

# every number is rounded as the graph says: nothing is fused, flushed or approximated
OPTIONS = ("-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true", "--std=c++17")

# the numbers of CUDA's driver interface for attributes of functions
LOCAL_BYTES, REGISTERS, DYNAMIC_SHARED = 3, 4, 8
BLOCKS = (128, 64, 32)  # threads in a block, the preferred number first
QUARTER = 512  # registers for each of the 32 lanes of a quarter of a multiprocessor
STEP = 8  # registers come in eights
PAYNE_HANEK_BYTES = 64  # of slow memory that the sines of large angles take
MAX_WARPS = 16  # on a quarter


@dataclass(frozen=True)
class Launch:
    """A loaded function, its threads in a block, and its use of a multiprocessor.

    registers: of each thread; local: bytes of slow memory of each thread, for what did not fit;
    shared: bytes for each warp; resident: threads that a multiprocessor holds at once.
    """

    function: Any
    threads: int
    shared: int
    registers: int
    local: int
    resident: int

    @property
    def spills(self) -> bool:
        """True if values did not fit the registers; large angles always need a little memory."""
        return self.local > PAYNE_HANEK_BYTES

    @property
    def block_bytes(self) -> int:
        """Bytes of shared memory of a block."""
        return self.shared * self.threads // WARP

    def __call__(self, count: int, arrays: list[Any]) -> None:
        """Compute `count` states on the current stream of the current GPU."""
        grid = -(-count // self.threads)
        self.function((grid,), (self.threads,), (np.int64(count), *arrays), self.block_bytes)


class Loaded:
    """Code that was loaded, for each number type and GPU.

    load: of a number type, and whether the order that keeps few values alive is wanted.
    """

    def __init__(self, load: Callable[[str, bool], Launch]) -> None:
        self._load = load
        self._known: dict[tuple[str, int], Launch] = {}

    def on_this_gpu(self, dtype: str) -> Launch:
        """Load at the first request; where values spill, try the order with short lives too."""
        key = (dtype, require_device().cuda.Device().id)
        if key not in self._known:
            best = self._load(dtype, False)
            if best.spills:
                best = min(best, self._load(dtype, True), key=lambda x: x.local)
            self._known[key] = best
        return self._known[key]


def load(source: str, name: str, shared: int, *, fixed: bool = False) -> Launch:
    """The function `name` of `source` on the current GPU, with as many threads at once as possible.

    The compiler may use any number of registers at first. Then it is limited to the number that
    admits one more warp, again and again, until values would no longer fit the registers.
    `shared`: bytes of shared memory for each warp. `fixed`: as in `load_with`.
    """
    best = load_with(source, name, shared, 0, fixed=fixed)
    if best.spills:
        return best
    for warps in range(most_warps(best.registers) + 1, MAX_WARPS + 1):
        tight = load_with(source, name, shared, warps, fixed=fixed)
        if tight.local > best.local or tight.resident <= best.resident:
            break
        best = tight
    return best


def most_warps(registers: int) -> int:
    """Warps for which a quarter of a multiprocessor has enough registers."""
    return QUARTER // (-(-registers // STEP) * STEP)


def load_with(source: str, name: str, shared: int, warps: int, *, fixed: bool = False) -> Launch:
    """The function with registers for `warps`, in blocks that keep most threads at work.

    `fixed`: the threads of a block are a constant of the code. Where other blocks than the
    preferred ones keep more threads at work, it is compiled once more.
    """
    cp = require_device()
    most = cp.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    fitting = [n for n in BLOCKS if shared * n // WARP <= most]
    if not fitting:
        raise CompileError(
            f"{name} needs {shared} bytes of shared memory for a warp, this GPU has {most}; "
            "give CudaKernel a smaller budget."
        )
    driver = cp.cuda.driver
    while True:
        module, block = cp.cuda.function.Module(), fitting[0] if fixed else 0
        module.load(cubin(source, cp.cuda.Device().compute_capability, warps, block))
        function = module.get_function(name)
        driver.funcSetAttribute(function.ptr, DYNAMIC_SHARED, shared * fitting[0] // WARP)
        resident = {n: n * blocks(driver, function, n, shared * n // WARP) for n in fitting}
        used = driver.funcGetAttribute(REGISTERS, function.ptr)
        local = driver.funcGetAttribute(LOCAL_BYTES, function.ptr)
        best = best_block(resident, local > PAYNE_HANEK_BYTES)
        if best == fitting[0] or not fixed:
            return Launch(function, best, shared, used, local, resident[best])
        fitting = [best]


def best_block(resident: dict[int, int], spills: bool) -> int:
    """Threads in a block, from the threads that a multiprocessor then holds at once.

    As many as possible. Of equals the largest block, whose rows lie together in memory; but the
    smallest where values left the registers: warps then wait often, and a block for its slowest.
    """
    return max(resident, key=lambda n: (resident[n], -n if spills else n))


def blocks(driver: Any, function: Any, threads: int, shared: int) -> int:
    """Blocks that a multiprocessor holds at once."""
    return driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, threads, shared)


def cupy() -> Any:
    """Return CuPy; MissingPackageError with the way to install it where it is missing."""
    return need("cupy", "cuda", "a CUDA kernel")


def require_device() -> Any:
    """Return CuPy if there is a GPU to run on, otherwise raise CompileError."""
    module = cupy()
    try:
        gpus = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as problem:
        raise CompileError(
            f"CUDA kernels need an NVIDIA GPU and its driver: {problem}. Robots compute on the CPU "
            "without either."
        ) from problem
    if not gpus:
        raise CompileError("CUDA kernels need an NVIDIA GPU; CUDA finds no GPU on this machine.")
    return module


def cubin(source: str, capability: str, warps: int = 0, block: int = 0) -> bytes:
    """Machine code for GPUs of a compute capability such as "90", from the disk where possible.

    `warps`: that each quarter of a multiprocessor must be able to hold; the compiler gives each
    thread as many registers as that leaves. 0 leaves it to the compiler. `block`: threads of a
    block, where they are a constant of the code.
    """
    options = [f"-arch=sm_{capability}", *OPTIONS]
    if warps:  # a block of four warps puts one on each quarter
        options += ["-DKT_THREADS=128", f"-DKT_BLOCKS={warps}"]
    if block:
        options.append(f"-DKT_BLOCK={block}")
    version = ".".join(map(str, cupy().cuda.nvrtc.getVersion()))
    entry = cache.entry("cuda", source, f"nvrtc {version}", *options)
    code = cache.load(entry, "cubin")
    if code is None:
        code = compile_source(source, tuple(options))
        cache.store(entry, "cubin", code)
    return code


def compile_source(source: str, options: tuple[str, ...]) -> bytes:
    """Machine code of a kernel by NVRTC."""
    nvrtc = cupy().cuda.nvrtc
    program = nvrtc.createProgram(source, "kinetree.cu", (), ())
    try:
        nvrtc.compileProgram(program, options)
        return nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as problem:
        raise CompileError(
            f"NVRTC refused the emitted code with {' '.join(options)}: {problem}.\n"
            f"{nvrtc.getProgramLog(program)}\nExpected a GPU that NVRTC "
            f"{'.'.join(map(str, nvrtc.getVersion()))} knows; otherwise please report this."
        ) from problem
    finally:
        nvrtc.destroyProgram(program)
