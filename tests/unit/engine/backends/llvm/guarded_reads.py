"""Runs code on arrays that end where readable memory ends; a read beyond them ends the process.

A script: `test_strides.py` starts it as a process of its own. Linux and macOS only.
"""

import ctypes
import mmap

import numpy as np
from llvm_graphs import chain
from llvm_harness import Compiled, host


def at_the_edge(values: np.ndarray) -> np.ndarray:
    """A copy whose last byte is the last that may be read; the memory is never given back."""
    page = mmap.PAGESIZE
    room = -(-values.nbytes // page) * page
    memory = mmap.mmap(-1, room + page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if libc.mprotect(start + room, page, 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    copy = np.frombuffer(memory, values.dtype, values.size, room - values.nbytes)
    copy = copy.reshape(values.shape)
    copy[...] = values
    return copy


def main() -> None:
    rng = np.random.default_rng(14)
    for dtype, lanes in (("float64", 8), ("float64", 2), ("float32", 16)):
        for joints in (2, 3, 5, 7):
            graph = chain(joints)
            code = Compiled(graph, host(lanes, lanes), dtype)
            for n in (1, lanes, lanes + 3):
                values = [rng.normal(size=(n, *p.shape)).astype(dtype) for p in graph.inputs]
                outs = [np.zeros((n, *p.shape), dtype) for p in graph.outputs]
                code.loop([at_the_edge(a) for a in [*values, *outs]])
            ins = [at_the_edge(a[0]) for a in values]
            outs = [at_the_edge(a[0]) for a in outs]
            function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(ins) + len(outs)))
            function(code.one_address)(*[a.ctypes.data for a in [*ins, *outs]])
    print("survived")


if __name__ == "__main__":
    main()
