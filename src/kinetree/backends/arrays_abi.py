"""Where NumPy's array struct keeps what a machine-code entry point must check.

The offsets are NumPy's binary promise for 64-bit CPython. They are verified on real arrays before
the fast path is used at all; where one differs, kernels go through the gufunc.
"""

import ctypes
import functools
import platform
import sys
import sysconfig

import numpy as np

# byte offsets in an array
TYPE = 8
DATA = 16
NDIM = 24
DIMENSIONS = 32
DESCR = 56
FLAGS = 64
READY = 0x0101  # C-contiguous and aligned
WRITEABLE = 0x0400

# byte offsets in a dtype, and what float64 in the machine's byte order has there
BYTE_ORDER = 26
TYPE_NUMBER = 28
NATIVE = ord("=")
FLOAT64 = 12

# byte offsets in a tuple
LENGTH = 16
ITEMS = 24


@functools.cache
def trusted() -> bool:
    """Whether machine code may read arrays directly in this process."""
    known = _plain_python() and _tuples_as_expected()
    return known and _arrays_as_expected() and _dtypes_as_expected()


def _plain_python() -> bool:
    """An ordinary 64-bit CPython: no free threading, no debug build, no other implementation."""
    return (
        platform.python_implementation() == "CPython"
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and sys.byteorder == "little"
        and not hasattr(sys, "gettotalrefcount")
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and object.__basicsize__ == 16
    )


def _tuples_as_expected() -> bool:
    """Whether a tuple keeps its length and its items at the offsets above."""
    sample = (object(), "out", np.zeros(1))
    items = (ctypes.c_void_p * 3).from_address(id(sample) + ITEMS)
    length = ctypes.c_ssize_t.from_address(id(sample) + LENGTH).value
    return length == 3 and list(items) == [id(item) for item in sample]


def _arrays_as_expected() -> bool:
    """Read a few arrays' structs and compare with what Python says of them."""
    plain = np.zeros((2, 3, 5))
    samples = [plain, plain[:, 1], plain.T, np.zeros(7, np.float32), np.array(1.0), np.arange(4)]
    samples.append(np.frombuffer(b"12345678"))  # read-only
    return all(_as_expected(array) for array in samples)


def _as_expected(array: np.ndarray) -> bool:
    """Whether the struct of `array` tells the truth at the offsets above."""
    at = id(array)
    pointer, word = ctypes.c_void_p, ctypes.c_int
    dimensions = pointer.from_address(at + DIMENSIONS).value or 0
    shape = (
        () if not array.ndim else tuple((ctypes.c_ssize_t * array.ndim).from_address(dimensions))
    )
    ready = array.flags.c_contiguous and array.flags.aligned
    return (
        pointer.from_address(at + TYPE).value == id(np.ndarray)
        and pointer.from_address(at + DATA).value == array.ctypes.data
        and word.from_address(at + NDIM).value == array.ndim
        and shape == array.shape
        and pointer.from_address(at + DESCR).value == id(array.dtype)
        and (word.from_address(at + FLAGS).value & READY == READY) == ready
        and bool(word.from_address(at + FLAGS).value & WRITEABLE) == array.flags.writeable
    )


def _dtypes_as_expected() -> bool:
    """Whether the two fields single out native float64 among all number types."""
    kinds = [np.dtype(code) for code in np.typecodes["AllFloat"] + np.typecodes["AllInteger"]]
    kinds += [kind.newbyteorder() for kind in kinds] + [np.dtype("S8"), np.dtype("M8[s]")]
    return all(
        _marked_float64(kind) == (kind == np.dtype(np.float64))
        for kind in kinds
        if kind.char != "g"
    )


def _marked_float64(kind: np.dtype) -> bool:
    """What machine code will think of the dtype `kind`."""
    at = id(kind)
    order = ctypes.c_ubyte.from_address(at + BYTE_ORDER).value
    return order == NATIVE and ctypes.c_int.from_address(at + TYPE_NUMBER).value == FLOAT64
