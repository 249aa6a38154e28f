"""NumPy's and Python's C functions, reached without a C compiler.

NumPy publishes its C-API as two tables of pointers in capsules. Their layout is part of NumPy's
binary promise: an entry never changes its meaning.
"""

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

# position in a table -> what stands there
SCALAR = 60  # PyArray_Scalar(data, descr, base) -> scalar object
NEW_FROM_DESCR = 94  # PyArray_NewFromDescr(type, descr, nd, dims, strides, data, flags, obj)
FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature(...)


def table(name: str) -> ctypes.Array[ctypes.c_void_p]:
    """A table of C-API pointers: "_ARRAY_API" or "_UFUNC_API"."""
    home = "numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core"
    module = importlib.import_module(home + "._multiarray_umath")
    return (ctypes.c_void_p * 512).from_address(capsule_pointer(getattr(module, name)))


def capsule_pointer(capsule: object) -> int:
    """The pointer inside a nameless PyCapsule."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, None)


def entry(name: str, position: int) -> int:
    """Address of one entry of a table."""
    address = table(name)[position]
    assert address is not None
    return address


def function(address: int, restype: Any, *argtypes: Any) -> Callable[..., Any]:
    """A C function that needs the GIL, as a Python callable."""
    return ctypes.PYFUNCTYPE(restype, *argtypes)(address)


def python_function(name: str) -> int:
    """Address of a function of Python's own C-API."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address
