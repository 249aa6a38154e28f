"""CuPy and NVRTC: from CUDA C++ to machine code of a GPU, kept on disk.

CuPy is imported on first use, so that kinetree works without a GPU.
"""

from typing import Any

from kinetree.backends import cache
from kinetree.base.extras import need
from kinetree.errors import CompileError

# every number is rounded as the graph says: nothing is fused, flushed or approximated
OPTIONS = ("-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true", "--std=c++17")


def cupy() -> Any:
    """CuPy; a MissingPackageError that says what to install where it is missing."""
    return need("cupy", "cuda", "a CUDA kernel")


def require_device() -> Any:
    """CuPy, where there is a GPU to run on; otherwise a CompileError."""
    module = cupy()
    try:
        found = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as problem:
        raise CompileError(
            f"CUDA kernels need an NVIDIA GPU and its driver: {problem}. Robots compute on the CPU "
            "without either."
        ) from problem
    if not found:
        raise CompileError("CUDA kernels need an NVIDIA GPU; CUDA finds none on this machine.")
    return module


def cubin(source: str, capability: str, warps: int = 0) -> bytes:
    """Machine code for GPUs of a compute capability such as "90", from the disk where possible.

    Args:
        source: CUDA C++.
        capability: compute capability without its dot.
        warps: that each quarter of a multiprocessor must be able to hold; the compiler gives each
            thread as many registers as that leaves. 0 leaves it to the compiler.
    """
    options = [f"-arch=sm_{capability}", *OPTIONS]
    if warps:  # a block of four warps puts one on each quarter
        options += ["-DKT_THREADS=128", f"-DKT_BLOCKS={warps}"]
    version = ".".join(map(str, cupy().cuda.nvrtc.getVersion()))
    key = cache.make_key(["cuda", source, f"nvrtc {version}", *options])
    code = cache.load(key)
    if code is None:
        code = compile_source(source, tuple(options))
        cache.store(key, code)
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
