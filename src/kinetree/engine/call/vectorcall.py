"""A Python type whose instances are called in machine code.

CPython calls an object through a function pointer inside it if its type has the flag "vectorcall".
`EnteredInCode` is such a type, made with Python's own C-API: each instance carries the address of
its entry point, the table of C functions that the entry point uses, the general call for everything
that the entry point does not handle, a limit for batches, and the plan of its arguments. See
fastcall.py and enter.py.
"""

import ctypes
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.system import once
from kinetree.engine.call import c_api
from kinetree.engine.call.buffers import LEAST, emit_buffers, make_pool
from kinetree.engine.call.fastcall import (
    ENTRY,
    GENERAL,
    LIMIT,
    NAMES,
    OWN,
    PACKAGE,
    PLAN,
    ROWS,
    TABLE,
)
from kinetree.engine.llvm.engine import Code
from kinetree.engine.llvm.object_code import Shared
from kinetree.engine.llvm.target import Target

# layout of an instance (fastcall.py has the rest) and of a type
SIZE = 56
TYPE_FLAGS = 168

BASETYPE, HAVE_VECTORCALL, DEFAULT = 1 << 10, 1 << 11, 1 << 18
TP_CALL, TP_DOC, TP_MEMBERS = 50, 56, 72
PYSSIZET, READONLY = 19, 1


OUT = sys.intern("out")  # the keyword: names in calls are interned too
ONLY_OUT = (OUT,)  # names of a call with no other keyword
POOL = ("new_array", "pool_take", "pool_zeros", "pool_change", "pool_return")
SHARED = ("enter", "choose", "tensor_key", "share", "crew_wait", "crew_lead", *POOL)


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


@once
def entered_in_code() -> type:
    """Make the base type. An instance without an entry point raises an error when called."""
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", PYSSIZET, ENTRY, READONLY, None))
    doc = ctypes.create_string_buffer(b"An object whose call is machine code.")
    slots = (_Slot * 4)(
        _Slot(TP_CALL, c_api.python_function("PyVectorcall_Call")),
        _Slot(TP_MEMBERS, ctypes.addressof(members)),
        _Slot(TP_DOC, ctypes.addressof(doc)),
    )
    name = b"kinetree.engine.call.vectorcall.EnteredInCode"
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


@once
def table() -> Any:
    """Return the rows of fastcall.ROWS for this process."""
    arrays = {
        "PyArray_NewFromDescr": c_api.NEW_FROM_DESCR,
        "PyArray_Scalar": c_api.SCALAR,
        "PyArray_SetBaseObject": c_api.SET_BASE,
    }
    rows = {"ndarray": id(np.ndarray), "float": id(float), "double": id(np.float64)}
    rows |= {kind.__name__: id(kind) for kind in (int, list, tuple, dict)}
    rows |= {f"float{k}": id(np.dtype(f"float{k}")) for k in (32, 64)}
    rows |= {"None": id(None), "False": id(False), "out": id(OUT), "only_out": id(ONLY_OUT)}
    rows |= {name: id(name) for name in NAMES} | dict.fromkeys(PACKAGE, 0)
    code = shared_code()
    rows |= dict(zip(OWN, (code.address("enter"), *make_pool(code)), strict=True))
    for name in ROWS:
        if name in arrays:
            rows[name] = c_api.entry("_ARRAY_API", arrays[name])
        elif name not in rows:
            rows[name] = c_api.python_function(name)
    return (ctypes.c_void_p * len(ROWS))(*(rows[name] for name in ROWS))


def usable() -> bool:
    """Return True if this Python can do so and the code that kernels share was compiled."""
    try:
        return available() and shared_code() is not None
    except (ImportError, OSError):
        return False


def shared_code() -> Code:
    """Return the machine code that all kernels share."""
    return shared.code()


def _shared_parts(target: Target) -> list[str]:
    from kinetree.engine.call.crew import emit_crew  # not for code that is on disk
    from kinetree.engine.call.enter import emit_enter
    from kinetree.engine.call.exchange import emit_exchange
    from kinetree.engine.call.named import emit_by_name
    from kinetree.engine.call.shares import emit_share

    called = [*emit_enter(), *emit_by_name(), *emit_exchange()]
    return [*called, *emit_buffers(), emit_share(), *emit_crew()]


# Pythons may share the cache
shared = Shared(["shared by kernels", f"tuples {c_api.TUPLE_ITEMS}"], _shared_parts, SHARED)


def set_entry(
    instance: object,
    address: int,
    general: Callable[..., Any],
    limit: int,
    plan: "ctypes.Array[ctypes.c_ssize_t] | None" = None,
) -> None:
    """Give `instance` its entry point; batches of `limit` states and more are for `general`.

    The instance must keep the code at `address`, the object `general` and the plan alive: only
    their addresses are stored here.
    """
    assert isinstance(instance, entered_in_code())
    pointer = ctypes.c_void_p
    pointer.from_address(id(instance) + TABLE).value = ctypes.addressof(table())
    pointer.from_address(id(instance) + GENERAL).value = id(general)
    place = None if plan is None else ctypes.addressof(plan)
    pointer.from_address(id(instance) + PLAN).value = place
    set_limit(instance, limit)
    move_entry(instance, address)  # last: from here on the instance can be called


def move_entry(instance: object, address: int) -> None:
    """Let calls of `instance` enter at another address; it must keep the code there alive."""
    assert isinstance(instance, entered_in_code())
    ctypes.c_void_p.from_address(id(instance) + ENTRY).value = address


def new_array(shape: tuple[int, ...], dtype: "np.dtype[Any] | str" = "float64") -> Array:
    """Return a new array for a result; a large one has memory of the pool (buffers.py)."""
    dtype = np.dtype(dtype)
    size = dtype.itemsize * math.prod(shape)
    kinds = {kind: id(kind) for kind in (np.dtype(np.float64), np.dtype(np.float32))}
    if size < LEAST or dtype not in kinds or not usable():
        return np.empty(shape, dtype)
    pointer, word = ctypes.c_void_p, ctypes.c_ssize_t
    make = ctypes.PYFUNCTYPE(ctypes.py_object, pointer, pointer, word, pointer, word)
    sizes = (word * len(shape))(*shape)
    at = [ctypes.addressof(x) for x in (table(), sizes)]
    return make(shared_code().address("new_array"))(at[0], kinds[dtype], len(shape), at[1], size)


def set_limit(instance: object, limit: int) -> None:
    """Set the number of states from which `instance` passes a batch to its general call."""
    assert isinstance(instance, entered_in_code())
    ctypes.c_ssize_t.from_address(id(instance) + LIMIT).value = limit
