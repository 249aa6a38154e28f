"""A package of tensors that machine code reads: its types and functions, in the table of kernels.

The package is loaded when its first tensor arrives; until then the rows of the table are zero, and
calls with tensors go to the general call of a kernel.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kinetree.core.arrays import Array
from kinetree.engine.call import c_api, vectorcall
from kinetree.engine.call.fastcall import PACKAGE, ROWS

# DLPack's table of functions: its major version, and the place of the one that describes a tensor
MAJOR, DESCRIBE = 1, 40

KEPT: list[object] = []  # the table has addresses alone


@dataclass(frozen=True)
class TensorPackage:
    """What machine code (exchange.py) has to know of a package of tensors.

    Args:
        tensor, parameter: types of tensors that may be read; DLPack's functions are an attribute
            of the first, and the second is derived from it.
        questions: functions and what each returns, the very object, while tensors are what they
            seem: no transformation is under way and nothing watches what is called.
        records: True while gradients are recorded.
        record: record(kernel, *tensors) -> results with a record for gradients.
        elsewhere: elsewhere(kernel, key, *tensors) -> results for tensors of another device; the
            key has their device, type and shapes, and is None where they are not contiguous.
        from_numpy, to_tensors: make a tensor of an array, and tensors of other results of a kernel.
    """

    tensor: type
    parameter: type
    questions: Sequence[tuple[Callable[[], object], object]]
    records: Callable[[], bool]
    record: Callable[..., object]
    elsewhere: Callable[..., object]
    from_numpy: Callable[[Array], object]
    to_tensors: Callable[[object], object]

    def learn(self) -> Callable[..., bytes | None] | None:
        """Let machine code read the tensors, if they have DLPack's C functions and it is usable.

        Returns:
            The function of tensors that returns the key of a call, None for other calls.
        """
        capsule = getattr(self.tensor, "__dlpack_c_exchange_api__", None)
        if capsule is None or not vectorcall.usable():
            return None
        functions = c_api.capsule_pointer(capsule, b"dlpack_exchange_api")
        describe = ctypes.c_void_p.from_address(functions + DESCRIBE).value
        if ctypes.c_uint32.from_address(functions).value != MAJOR or not describe:
            return None
        pairs = [id(x) for pair in self.questions for x in pair]
        questions = (ctypes.c_ssize_t * (1 + len(pairs)))(len(self.questions), *pairs)
        KEPT.append((self, questions))
        rows = vectorcall.table()
        addresses = {"describe": describe, "questions": ctypes.addressof(questions)}
        for name in PACKAGE:  # the type last: now tensors are recognised
            rows[ROWS.index(name)] = addresses.get(name) or id(getattr(self, name))
        base = vectorcall.entered_in_code()
        key: Any = vectorcall.inherit_vectorcall(type("TensorKey", (base,), {}))()
        vectorcall.set_entry(key, vectorcall.shared_code().address("tensor_key"), _no_key, 0)
        return key


def _no_key(*tensors: object) -> None:
    """The key of a call without a plan."""
