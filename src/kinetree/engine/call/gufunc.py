"""A real NumPy gufunc from the addresses of inner loops.

NumPy keeps pointers to everything it is given (loops, types, name, documentation) and never copies.
The ufunc's own `obj` field, which NumPy releases with the ufunc, therefore owns all of it.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.system import once
from kinetree.engine.call import c_api
from kinetree.errors import CompileError

NO_IDENTITY = -1

# owners of gufuncs whose struct was not the expected one: never released, which is safe
KEPT_OWNERS: list[object] = []


@dataclass(frozen=True)
class InnerLoop:
    """An inner loop over states: its number type, its address, and the owner of that memory."""

    dtype: str
    address: int
    owner: object


class _Head(ctypes.Structure):
    """The beginning of NumPy's PyUFuncObject, unchanged since NumPy 1.5."""

    _fields_ = (
        ("head", ctypes.c_void_p * 2),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_void_p),
        ("types", ctypes.c_void_p),
        ("doc", ctypes.c_void_p),
        ("ptr", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
    )


def make_gufunc(
    loops: Sequence[InnerLoop], nin: int, nout: int, signature: str, name: str, doc: str
) -> np.ufunc:
    """Make the gufunc `name` with `signature`, e.g. "(7),(7)->(7)".

    There is one inner loop per number type, the narrowest first: NumPy takes the first to which
    all inputs can be cast safely. It checks the sizes that are numbers in the signature.
    """
    count = len(loops)
    codes = bytes(np.dtype(loop.dtype).num for loop in loops for _ in range(nin + nout))
    fields: dict[str, Any] = {
        "functions": (ctypes.c_void_p * count)(*(loop.address for loop in loops)),
        "data": (ctypes.c_void_p * count)(),
        "types": ctypes.create_string_buffer(codes, len(codes)),
        "name": ctypes.create_string_buffer(name.encode("utf-8", "replace")),
        "doc": ctypes.create_string_buffer(doc.encode("utf-8", "replace")),
    }
    text = ctypes.create_string_buffer(signature.encode())
    places = [ctypes.addressof(fields[key]) for key in ("functions", "data", "types")]
    words = [ctypes.addressof(fields[key]) for key in ("name", "doc")]
    gufunc = _creator()(*places, count, nin, nout, NO_IDENTITY, *words, 0, ctypes.addressof(text))
    _own(gufunc, fields, (tuple(loops), fields, text))
    return gufunc


@once
def _creator() -> Any:
    """PyUFunc_FromFuncAndDataAndSignature."""
    pointer, number = ctypes.c_void_p, ctypes.c_int
    address = c_api.entry("_UFUNC_API", c_api.FROM_SIGNATURE)
    kinds = [pointer] * 3 + [number] * 4 + [pointer] * 2 + [number, pointer]
    return c_api.function(address, ctypes.py_object, *kinds)


def _own(gufunc: np.ufunc, fields: dict[str, Any], owner: object) -> None:
    """Keep `owner` alive for as long as `gufunc` lives."""
    if not isinstance(gufunc, np.ufunc):
        raise CompileError(f"NumPy {np.__version__} made a {type(gufunc).__name__}, not a ufunc.")
    head = _Head.from_address(id(gufunc))
    familiar = all(getattr(head, key) == ctypes.addressof(at) for key, at in fields.items())
    if not familiar or head.ptr or head.obj or (head.nin, head.nout) != (gufunc.nin, gufunc.nout):
        KEPT_OWNERS.append(owner)
        return
    # NumPy decrements `obj` when it frees the ufunc, which then frees the owner
    increment = ctypes.pythonapi.Py_IncRef
    increment.argtypes, increment.restype = [ctypes.py_object], None
    increment(owner)
    head.obj = id(owner)
