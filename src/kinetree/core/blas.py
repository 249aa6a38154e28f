"""One thread for the linear algebra of NumPy, while many small problems are solved.

OpenBLAS, which wheels of NumPy contain, wakes its threads for matrices of a hundred rows. On a busy
machine they wait for each other far longer than they compute: an identification takes ten times the
processor time. NumPy has no function for that number, so the library is asked itself, if it is
there; other libraries (Accelerate, MKL) are left as they are.
"""

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np

PREFIXES = ("scipy_openblas", "openblas")  # of names in wheels of NumPy, and elsewhere
SUFFIXES = ("64_", "")


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Let OpenBLAS use one thread within this block."""
    functions = thread_functions()
    if functions is None:
        yield
        return
    get, put = functions
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)


@lru_cache(maxsize=1)
def thread_functions() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Functions that get and set the number of threads; None if there is no OpenBLAS."""
    root = Path(np.__file__).parent
    for folder in (root.parent / "numpy.libs", root / ".libs", root / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            for prefix in PREFIXES:
                for suffix in SUFFIXES:
                    get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                    put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                    if get is not None and put is not None:
                        get.restype, put.argtypes, put.restype = ctypes.c_int, [ctypes.c_int], None
                        return get, put
    return None
