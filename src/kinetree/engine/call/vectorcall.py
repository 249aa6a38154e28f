"""A type whose instances are called in machine code.

CPython calls an object through a pointer inside it if its type has the flag "vectorcall".
`entered_in_code` derives such a type from a class: each instance carries the address of its entry,
that of the table of C functions that the entry uses, and that of its general call; see
fast_entry.py. The type is made with Python's own C-API, since a `class` statement cannot set the
flag.
"""

import ctypes
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from kinetree.core.system import once
from kinetree.engine.call import c_api
from kinetree.engine.call.fast_entry import ENTRY, FIELDS, GENERAL, ROWS, TABLE

SIZE = GENERAL + 8
BASETYPE, HAVE_VECTORCALL, DEFAULT = 1 << 10, 1 << 11, 1 << 18
TP_CALL, TP_MEMBERS = 50, 72
PYSSIZET, READONLY = 19, 1

Base = TypeVar("Base")


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


def entered_in_code(base: type[Base], name: str) -> type[Base]:
    """Make the type; an instance without an entry raises an error when called."""
    if base.__basicsize__ > FIELDS:
        raise TypeError(f"{base.__name__} has {base.__basicsize__} bytes; expected {FIELDS}.")
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", PYSSIZET, ENTRY, READONLY, None))
    slots = (_Slot * 3)(
        _Slot(TP_CALL, c_api.python_function("PyVectorcall_Call")),
        _Slot(TP_MEMBERS, ctypes.addressof(members)),
    )
    flags = DEFAULT | BASETYPE | HAVE_VECTORCALL
    spec = _Spec(f"{base.__module__}.{name}".encode(), SIZE, 0, flags, slots)
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object]
    _kept.append((members, slots, spec))
    return make(ctypes.addressof(spec), (base,))


# memory that Python may point to after a type was made, kept for the life of the process
_kept: list[object] = []


@once
def table() -> Any:
    """Return the rows of fast_entry.ROWS for this process."""
    rows = {"ndarray": id(np.ndarray), "float": id(float), "double": id(np.float64)}
    rows |= {
        "float64": id(np.dtype(np.float64)),
        "PyArray_NewFromDescr": c_api.entry("_ARRAY_API", c_api.NEW_FROM_DESCR),
        "PyArray_Scalar": c_api.entry("_ARRAY_API", c_api.SCALAR),
    }
    return (ctypes.c_void_p * len(ROWS))(
        *(rows[name] if name in rows else c_api.python_function(name) for name in ROWS)
    )


def set_entry(instance: object, address: int, general: Callable[..., Any]) -> None:
    """Give `instance` its entry, and the function for the calls that the entry does not take.

    The instance must keep the code at `address` and the object `general` alive: only their
    addresses are stored here.
    """
    fields = {TABLE: ctypes.addressof(table()), GENERAL: id(general), ENTRY: address}
    for offset, value in fields.items():  # the entry last: from then on it can be called
        ctypes.c_void_p.from_address(id(instance) + offset).value = value
