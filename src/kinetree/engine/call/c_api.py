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
HANDLER_NOW = 305  # PyDataMem_GetHandler() -> capsule
FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature(...)


def table(name: str) -> ctypes.Array[ctypes.c_void_p]:
    """Return a table of C-API pointers: "_ARRAY_API" or "_UFUNC_API"."""
    home = "numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core"
    module = importlib.import_module(home + "._multiarray_umath")
    return (ctypes.c_void_p * 512).from_address(capsule_pointer(getattr(module, name)))


def capsule_pointer(capsule: object) -> int:
    """Return the pointer inside a nameless PyCapsule."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, None)


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
    known = is_plain_python() and _tuples_as_expected() and _floats_as_expected()
    known = known and _lists_as_expected()
    return known and _arrays_as_expected() and _dtypes_as_expected()


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


def _floats_as_expected() -> bool:
    """Return True if floats of Python and NumPy have their number at the offset above."""
    samples = [0.1, -2.5e300, np.float64(0.3), np.float64(-0.0)]
    return all(ctypes.c_double.from_address(id(x) + NUMBER).value == x for x in samples)


def _tuples_as_expected() -> bool:
    """Return True if a tuple has its length and its items at the offsets above."""
    sample = (object(), "out", np.zeros(1))
    if TUPLE_ITEMS not in (24, 32):
        return False
    items = (ctypes.c_void_p * 3).from_address(id(sample) + TUPLE_ITEMS)
    length = ctypes.c_ssize_t.from_address(id(sample) + LENGTH).value
    return length == 3 and list(items) == [id(item) for item in sample]


def _lists_as_expected() -> bool:
    """Return True if a list has its length and the address of its items at the offsets above."""
    sample = [object(), "out"]
    sample.append(np.zeros(1))
    at = ctypes.c_void_p.from_address(id(sample) + LIST_ITEMS).value
    length = ctypes.c_ssize_t.from_address(id(sample) + LENGTH).value
    if length != 3 or not at:
        return False
    return list((ctypes.c_void_p * 3).from_address(at)) == [id(item) for item in sample]


def _arrays_as_expected() -> bool:
    """Compare the structs of a few arrays with their attributes in Python."""
    plain = np.zeros((2, 3, 5))
    samples = [plain, plain[:, 1], plain.T, np.zeros(7, np.float32), np.array(1.0), np.arange(4)]
    samples.append(np.frombuffer(b"12345678"))  # read-only
    return all(_as_expected(array) for array in samples)


def _as_expected(array: np.ndarray) -> bool:
    """Return True if the struct of `array` has its attributes at the offsets above."""
    at = id(array)
    pointer, word = ctypes.c_void_p, ctypes.c_int
    dimensions = pointer.from_address(at + DIMENSIONS).value or 0
    shape = (
        () if not array.ndim else tuple((ctypes.c_ssize_t * array.ndim).from_address(dimensions))
    )
    places = pointer.from_address(at + STRIDES).value or 0
    strides = () if not array.ndim else tuple((ctypes.c_ssize_t * array.ndim).from_address(places))
    ready = array.flags.c_contiguous and array.flags.aligned
    return (
        pointer.from_address(at + TYPE).value == id(np.ndarray)
        and pointer.from_address(at + DATA).value == array.ctypes.data
        and word.from_address(at + NDIM).value == array.ndim
        and shape == array.shape
        and strides == array.strides
        and pointer.from_address(at + DESCR).value == id(array.dtype)
        and (word.from_address(at + FLAGS).value & READY == READY) == ready
        and bool(word.from_address(at + FLAGS).value & ALIGNED) == array.flags.aligned
        and bool(word.from_address(at + FLAGS).value & WRITEABLE) == array.flags.writeable
    )


def _dtypes_as_expected() -> bool:
    """Return True if the two fields single out native float64 and float32 among all types."""
    kinds = [np.dtype(code) for code in np.typecodes["AllFloat"] + np.typecodes["AllInteger"]]
    kinds += [kind.newbyteorder() for kind in kinds] + [np.dtype("S8"), np.dtype("M8[s]")]
    return all(
        _marked(kind, number) == (kind == np.dtype(own))
        for kind in kinds
        for number, own in ((FLOAT64, np.float64), (FLOAT32, np.float32))
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
    found = [ctypes.c_void_p.from_address(id(array) + HANDLER).value for array in arrays]
    capsule = id(_handler_now())
    name = ctypes.string_at(default_handler())
    return found == [capsule, capsule, None] and name == b"default_allocator"


def _handler_now() -> object:
    return function(entry("_ARRAY_API", HANDLER_NOW), ctypes.py_object)()


def default_handler() -> int:
    """Return the address of NumPy's own handler."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(_handler_now(), HANDLER_NAME)


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
