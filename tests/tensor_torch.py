"""Two ways in which tensors of torch are read: in machine code, and in Python."""

import ctypes
from contextlib import contextmanager

import pytest

from kinetree.engine.call import vectorcall
from kinetree.engine.call.fastcall import ROWS
from kinetree.engine.tensors import torch_calls
from tensor_robots import arm

torch = pytest.importorskip("torch", reason="torch is not installed")
arm().inverse_dynamics(*torch.zeros(3, 2))  # torch is known from here on
IN_CODE = bool(torch_calls.READ_IN_CODE)  # False for an older torch


def row(name):
    """A row of the table that machine code reads."""
    return ctypes.c_void_p.from_address(ctypes.addressof(vectorcall.table()) + 8 * ROWS.index(name))


@contextmanager
def read_in_python():
    """Read tensors in Python, as with an older torch."""
    if not IN_CODE:
        yield
        return
    key = torch_calls.READ_IN_CODE.pop()
    kept = {name: row(name).value for name in ("tensor", "parameter")}
    for name in kept:
        row(name).value = None
    try:
        yield
    finally:
        for name, value in kept.items():
            row(name).value = value
        torch_calls.READ_IN_CODE.append(key)
