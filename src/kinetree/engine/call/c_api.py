"""C functions and structs of NumPy and Python, reached without a C compiler.

NumPy publishes its C-API as two tables of pointers in capsules; an entry never changes its meaning,
and the fields of an array keep their places. These are verified on real arrays before the fast
entry is used at all; where one differs, kernels go through the gufunc.
"""

import ctypes
import functools
import importlib
import logging
import platform
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

import numpy as np

log = logging.getLogger(__name__)

CType = type[ctypes.c_int] | type[ctypes.c_void_p] | type["ctypes.py_object[Any]"]

# positions in the tables
SCALAR = 60  # PyArray_Scalar(data, descr, base) -> scalar object
NEW_FROM_DESCR = 94  # PyArray_NewFromDescr(type, descr, nd, dims, strides, data, flags, obj)
FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature(...)

# byte offsets in an array, and its flags
TYPE, DATA, NDIM, DIMENSIONS, DESCR, FLAGS = 8, 16, 24, 32, 56, 64
READY = 0x0101  # C-contiguous and aligned

# byte offset of the number in a float of Python and of NumPy
NUMBER = 16

# byte offsets in a dtype, and what float64 in the machine's byte order has there
BYTE_ORDER, TYPE_NUMBER = 26, 28
NATIVE, FLOAT64 = ord("="), 12


def entry(name: str, position: int) -> int:
    """Return the address of an entry of a table of C-API pointers: "_ARRAY_API", "_UFUNC_API"."""
    home = "numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core"
    capsule = getattr(importlib.import_module(home + "._multiarray_umath"), name)
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_size_t * 512).from_address(get(capsule, None))[position]


def function(address: int, restype: CType, *argtypes: CType) -> Callable[..., Any]:
    """Return a C function that needs the GIL as a Python callable."""
    return ctypes.PYFUNCTYPE(restype, *argtypes)(address)


def python_function(name: str) -> int:
    """Return the address of a function of Python's own C-API."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


@functools.cache
def trusted() -> bool:
    """Return True if machine code may read arrays directly in this process.

    That is 64-bit CPython without free threading that is not a debug build.
    """
    known = (
        platform.python_implementation() == "CPython"
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and sys.byteorder == "little"
        and not hasattr(sys, "gettotalrefcount")
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and object.__basicsize__ == 16
        and all(ctypes.c_double.from_address(id(x) + NUMBER).value == x for x in FLOATS)
        and all(map(_array_as_expected, arrays_to_verify()))
    )
    if not known:
        log.info("kinetree calls kernels through NumPy, 2 us slower for one state: %s", sys.version)
    return known


FLOATS = (0.1, -2.5e300, np.float64(0.3))


def arrays_to_verify() -> list[np.ndarray]:
    """Return arrays of many layouts and types."""
    plain = np.zeros((2, 3, 5))
    kinds = np.typecodes["AllFloat"] + np.typecodes["AllInteger"]
    typed = [np.zeros(2, kind) for kind in (*kinds, ">f8", "<f8", "S8", "M8[s]")]
    return [plain, plain[:, 1], plain.T, np.array(1.0), np.frombuffer(b"12345678"), *typed]


def _array_as_expected(x: np.ndarray) -> bool:
    """Return True if an array has its attributes at the offsets above."""
    at, word = id(x), ctypes.c_int
    pointers = {offset: ctypes.c_void_p.from_address(at + offset).value for offset in (DATA, DESCR)}
    sizes = ctypes.c_void_p.from_address(at + DIMENSIONS).value or 0
    ready = word.from_address(at + FLAGS).value & READY == READY
    order = ctypes.c_ubyte.from_address(id(x.dtype) + BYTE_ORDER).value
    number = word.from_address(id(x.dtype) + TYPE_NUMBER).value
    return (
        ctypes.c_void_p.from_address(at + TYPE).value == id(np.ndarray)
        and pointers == {DATA: x.ctypes.data, DESCR: id(x.dtype)}
        and word.from_address(at + NDIM).value == x.ndim
        and tuple((ctypes.c_ssize_t * x.ndim).from_address(sizes) if x.ndim else ()) == x.shape
        and ready == (x.flags.c_contiguous and x.flags.aligned)
        and (order == NATIVE and number == FLOAT64) == (x.dtype == np.dtype(float))
    )
