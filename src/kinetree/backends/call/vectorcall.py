"""A Python type whose instances are called in machine code.

CPython calls an object through a function pointer inside it if its type has the flag "vectorcall".
`EnteredInCode` is such a type, made with Python's own C-API: each instance carries the address of
its entry point, the table of C functions that the entry point uses, the general call for everything
that the entry point does not handle, and a limit for batches. See fastcall.py and fastbatch.py.
"""

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.backends.call import c_api
from kinetree.backends.call.fastcall import GENERAL, LIMIT, ROWS, TABLE

# layout of an instance (fastcall.py has the rest) and of a type
ENTRY = 16
SIZE = 48
TYPE_FLAGS = 168

BASETYPE, HAVE_VECTORCALL, DEFAULT = 1 << 10, 1 << 11, 1 << 18
TP_CALL, TP_DOC, TP_MEMBERS = 50, 56, 72
PYSSIZET, READONLY = 19, 1


OUT = sys.intern("out")  # the keyword: names in calls are interned too


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("value", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


def available() -> bool:
    """Return True if this Python can call machine code through an object's own pointer."""
    return c_api.trusted()


@functools.cache
def entered_in_code() -> type:
    """Make the base type. An instance without an entry point raises an error when called."""
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", PYSSIZET, ENTRY, READONLY, None))
    doc = ctypes.create_string_buffer(b"An object whose call is machine code.")
    slots = (_Slot * 4)(
        _Slot(TP_CALL, c_api.python_function("PyVectorcall_Call")),
        _Slot(TP_MEMBERS, ctypes.addressof(members)),
        _Slot(TP_DOC, ctypes.addressof(doc)),
    )
    name = b"kinetree.backends.call.vectorcall.EnteredInCode"
    spec = _Spec(name, SIZE, 0, DEFAULT | BASETYPE | HAVE_VECTORCALL, slots)
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    made = make(ctypes.addressof(spec))
    _kept.append((members, doc, slots, name, spec))
    return made


# memory that Python may point to after a type was made, kept for the life of the process
_kept: list[object] = []


def inherit_vectorcall(kind: type) -> type:
    """Set the vectorcall flag of a subclass, which CPython 3.11 does not inherit."""
    flags = ctypes.c_ulong.from_address(id(kind) + TYPE_FLAGS)
    if flags.value == kind.__flags__ and not flags.value & HAVE_VECTORCALL:
        flags.value |= HAVE_VECTORCALL
    return kind


@functools.cache
def table() -> Any:
    """Return the rows of fastcall.ROWS for this process."""
    arrays = {
        "PyArray_NewFromDescr": c_api.NEW_FROM_DESCR,
        "PyArray_Scalar": c_api.SCALAR,
    }
    rows = {"ndarray": id(np.ndarray), "float64": id(np.dtype(np.float64))}
    rows |= {"tuple": id(tuple), "out": id(OUT), "float": id(float), "double": id(np.float64)}
    for name in ROWS:
        if name in arrays:
            rows[name] = c_api.entry("_ARRAY_API", arrays[name])
        elif name not in rows:
            rows[name] = c_api.python_function(name)
    return (ctypes.c_void_p * len(ROWS))(*(rows[name] for name in ROWS))


def set_entry(instance: object, address: int, general: Callable[..., Any], limit: int) -> None:
    """Give `instance` its entry point; batches of `limit` states and more are for `general`.

    The instance must keep the code at `address` and the object `general` alive: only their
    addresses are stored here.
    """
    assert isinstance(instance, entered_in_code())
    pointer = ctypes.c_void_p
    pointer.from_address(id(instance) + TABLE).value = ctypes.addressof(table())
    pointer.from_address(id(instance) + GENERAL).value = id(general)
    set_limit(instance, limit)
    # last: from here on the instance can be called
    pointer.from_address(id(instance) + ENTRY).value = address


def set_limit(instance: object, limit: int) -> None:
    """Set the number of states from which `instance` passes a batch to its general call."""
    assert isinstance(instance, entered_in_code())
    ctypes.c_ssize_t.from_address(id(instance) + LIMIT).value = limit
