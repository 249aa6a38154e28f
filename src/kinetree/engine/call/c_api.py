"""NumPy's and Python's C functions and structs, reached without a C compiler.

NumPy publishes its C-API as two tables of pointers in capsules. Their layout is part of NumPy's
binary promise: an entry never changes its meaning. The offsets of the fields of an array are
promised for 64-bit CPython. They are verified on real arrays before the fast path is used at all;
where one differs, kernels go through the gufunc.
"""

import ctypes
import functools
import importlib
import platform
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

import numpy as np

CType = type[ctypes.c_int] | type[ctypes.c_void_p] | type["ctypes.py_object[Any]"]

# positions in the tables
SCALAR = 60  # PyArray_Scalar(data, descr, base) -> scalar object
NEW_FROM_DESCR = 94  # PyArray_NewFromDescr(type, descr, nd, dims, strides, data, flags, obj)
SET_BASE = 282  # PyArray_SetBaseObject(array, owner) -> 0
HANDLER_NOW = 305  # PyDataMem_GetHandler() -> capsule
FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature(...)


def table(name: str) -> ctypes.Array[ctypes.c_void_p]:
    """Return a table of C-API pointers: "_ARRAY_API" or "_UFUNC_API"."""
    home = "numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core"
    module = importlib.import_module(home + "._multiarray_umath")
    return (ctypes.c_void_p * 512).from_address(capsule_pointer(getattr(module, name)))


def capsule_pointer(capsule: object, name: bytes | None = None) -> int:
    """Return the pointer inside a PyCapsule, nameless or of a name."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


def entry(name: str, position: int) -> int:
    """Return the address of one entry of a table."""
    address = table(name)[position]
    assert address is not None
    return address


def function(address: int, restype: CType, *argtypes: CType) -> Callable[..., Any]:
    """Return a C function that needs the GIL as a Python callable."""
    return ctypes.PYFUNCTYPE(restype, *argtypes)(address)


def python_function(name: str) -> int:
    """Return the address of a function of Python's own C-API."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


# byte offsets in an array
TYPE = 8
DATA = 16
NDIM = 24
DIMENSIONS = 32
STRIDES = 40
DESCR = 56
FLAGS = 64
HANDLER = 88  # NumPy 1.22 and later: the capsule of functions that allocate and free its memory
HANDLER_NAME = b"mem_handler"
ALIGNED = 0x0100
READY = 0x0101  # C-contiguous and aligned
WRITEABLE = 0x0400

# byte offset of the number in a float of Python and of NumPy
NUMBER = 16

# byte offsets in a dtype, and what floats in the machine's byte order have there
BYTE_ORDER = 26
TYPE_NUMBER = 28
NATIVE = ord("=")
FLOAT64 = 12
FLOAT32 = 11

# byte offsets in a tuple and in a list: number of items; first item of a tuple, which Python 3.14
# put behind a hash; address of the items of a list
LENGTH = 16
TUPLE_ITEMS = tuple.__basicsize__
LIST_ITEMS = 24


@functools.cache
def trusted() -> bool:
    """Return True if machine code may read arrays directly in this process."""
    return is_plain_python() and _objects_as_expected() and _dtypes_as_expected()


def is_plain_python() -> bool:
    """Return True for 64-bit CPython without free threading that is not a debug build."""
    return (
        platform.python_implementation() == "CPython"
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and sys.byteorder == "little"
        and not hasattr(sys, "gettotalrefcount")
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and object.__basicsize__ == 16
    )


def _objects_as_expected() -> bool:
    """Return True if floats, tuples, lists and arrays have their fields at the offsets above."""
    numbers = [0.1, -2.5e300, np.float64(0.3), np.float64(-0.0)]
    if any(ctypes.c_double.from_address(id(x) + NUMBER).value != x for x in numbers):
        return False
    flat, items = (object(), "out", np.zeros(1)), [object(), "out"]
    items.append(np.zeros(1))
    at = ctypes.c_void_p.from_address(id(items) + LIST_ITEMS).value
    if TUPLE_ITEMS not in (24, 32) or not at:
        return False
    for sample, place in ((flat, id(flat) + TUPLE_ITEMS), (items, at)):
        if ctypes.c_ssize_t.from_address(id(sample) + LENGTH).value != 3:
            return False
        if list((ctypes.c_void_p * 3).from_address(place)) != [id(x) for x in sample]:
            return False
    plain = np.zeros((2, 3, 5))
    arrays = [plain, plain[:, 1], plain.T, np.zeros(7, np.float32), np.array(1.0), np.arange(4)]
    arrays.append(np.frombuffer(b"12345678"))  # read-only
    return all(_array_as_expected(array) for array in arrays)


def _array_as_expected(array: np.ndarray) -> bool:
    """Return True if the struct of `array` has its attributes at the offsets above."""
    at, pointer, word = id(array), ctypes.c_void_p, ctypes.c_int

    def sizes(offset: int) -> tuple[int, ...]:
        place = pointer.from_address(at + offset).value or 0
        return tuple((ctypes.c_ssize_t * array.ndim).from_address(place)) if array.ndim else ()

    flags = word.from_address(at + FLAGS).value
    ready = array.flags.c_contiguous and array.flags.aligned
    return (
        pointer.from_address(at + TYPE).value == id(np.ndarray)
        and pointer.from_address(at + DATA).value == array.ctypes.data
        and word.from_address(at + NDIM).value == array.ndim
        and sizes(DIMENSIONS) == array.shape
        and sizes(STRIDES) == array.strides
        and pointer.from_address(at + DESCR).value == id(array.dtype)
        and (flags & READY == READY) == ready
        and bool(flags & ALIGNED) == array.flags.aligned
        and bool(flags & WRITEABLE) == array.flags.writeable
    )


def _dtypes_as_expected() -> bool:
    """Return True if the two fields single out native float64 and float32 among all types."""
    kinds = [np.dtype(code) for code in np.typecodes["AllFloat"] + np.typecodes["AllInteger"]]
    kinds += [kind.newbyteorder() for kind in kinds] + [np.dtype("S8"), np.dtype("M8[s]")]
    return all(
        _marked(kind, number) == (kind == np.dtype(float_type))
        for kind in kinds
        for number, float_type in ((FLOAT64, np.float64), (FLOAT32, np.float32))
        if kind.char != "g"
    )


def _marked(kind: np.dtype, number: int) -> bool:
    """Return True if machine code will take the dtype `kind` for the native one of that number."""
    at = id(kind)
    order = ctypes.c_ubyte.from_address(at + BYTE_ORDER).value
    return order == NATIVE and ctypes.c_int.from_address(at + TYPE_NUMBER).value == number


def handlers_as_expected() -> bool:
    """Return True if arrays name the functions that free their memory at the offset above."""
    if not trusted() or tuple(map(int, np.__version__.split(".")[:2])) < (1, 22):
        return False
    if np.ndarray.__basicsize__ < HANDLER + 8:
        return False
    arrays = [np.zeros(1), np.zeros(9999), np.zeros(3)[1:]]  # a view has no memory and no handler
    handlers = [ctypes.c_void_p.from_address(id(array) + HANDLER).value for array in arrays]
    capsule = id(_handler_now())
    name = ctypes.string_at(default_handler())
    return handlers == [capsule, capsule, None] and name == b"default_allocator"


def _handler_now() -> object:
    return function(entry("_ARRAY_API", HANDLER_NOW), ctypes.py_object)()


def default_handler() -> int:
    """Return the address of NumPy's own handler."""
    return capsule_pointer(_handler_now(), HANDLER_NAME)


def new_handler(address: int) -> object:
    """Return the capsule of a handler."""
    keep_forever(HANDLER_NAME)  # a capsule refers to its name
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(address, HANDLER_NAME, None)


def keep_forever(x: object) -> None:
    """Keep an object until the process ends, beyond the end of Python itself."""
    increment = ctypes.pythonapi.Py_IncRef
    increment.argtypes, increment.restype = [ctypes.py_object], None
    increment(x)
