"""CompiledSteps: rollouts of an integration that advance in machine code (step_code.py)."""

import ctypes
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.system import once
from kinetree.engine.cache import entries as cache
from kinetree.engine.call import threads
from kinetree.engine.kernel import Kernel
from kinetree.engine.llvm.programs import load_or_compile
from kinetree.engine.llvm.target import host_target
from kinetree.engine.rollout import address
from kinetree.simulate.core import step_code
from kinetree.simulate.core.step_frame import (
    CONSTANTS,
    COUNTS,
    ENTRY,
    FORCES,
    PREFIX,
    RECORD,
    WORDS,
    frame_size,
)

SOURCES = (
    *(f"simulate/core/{name}.py" for name in ("dop853", "implicit_code", "radau", "step_code")),
    *("simulate/core/step_frame.py", "simulate/tuning.py"),
)
SYMBOL = f"{PREFIX}_{ENTRY}"
ATTEMPTS = 500  # steps in a call at most: some milliseconds between two looks at the progress


class Memory:
    """Numbers of each rollout that machine code and Python both read and write, in rows."""

    def __init__(self, rollouts: int) -> None:
        self.record = np.zeros((rollouts, len(RECORD)))
        self.counts = np.zeros((rollouts, len(COUNTS)), np.int64)

    def number(self, name: str) -> Array:
        """A number of all rollouts, (B,), as a view."""
        return self.record[:, RECORD.index(name)]

    def whole(self, name: str) -> Array:
        """A whole number of all rollouts, (B,), as a view."""
        return self.counts[:, COUNTS.index(name)]


@once
def code() -> Any:
    """The machine code of this processor, made once for all robots."""
    target = host_target()
    key = cache.source_hash(*SOURCES)
    lanes = target.lanes("float64")
    return load_or_compile(
        ["adaptive", key], target, lambda: step_code.emit(lanes, target.triple), [SYMBOL]
    )


class CompiledSteps:
    """The machine code with what it works on.

    arrays: of all rollouts by the names of WORDS, of which each row belongs to a rollout; results
    (T, B, ...). whole: further words. constants: by the names of CONSTANTS.
    """

    def __init__(
        self,
        rate: Kernel,
        normal: Kernel | None,
        memory: Memory,
        arrays: Mapping[str, Array],
        whole: Mapping[str, int],
        constants: Mapping[str, float],
    ) -> None:
        self.rate, self.normal, self.memory, self.arrays = rate, normal, memory, arrays
        self.lanes = host_target().lanes("float64")
        count, size = arrays["x"].shape
        stride, wide = (-(-n // self.lanes) * self.lanes for n in (size, 2 * size))
        forces = arrays["forces"].shape[-1]
        self.frame = frame_size(size, stride, wide)
        self.spare = FORCES + forces
        self.constants = np.array([constants[name] for name in CONSTANTS])
        self.last = np.zeros((count, 3 * stride))
        self.words = np.zeros((count, len(WORDS)), np.int64)
        sizes = {
            "size": size,
            "stride": stride,
            "wide": wide,
            "outputs_count": len(arrays["outputs"]),
            "forces_count": forces,
            "result_step": arrays["result"].strides[0],
            "force_step": arrays["forces"].strides[0],
            "constants": address(self.constants),
            **whole,
        }
        for name, value in sizes.items():
            self._word(name)[:] = value
        rows = {**arrays, "last": self.last, "record": memory.record, "counts": memory.counts}
        for name, array in rows.items():
            axis = {"result": 1, "rates": 1, "forces": 1}.get(name, 0)
            step = 0 if name in ("outputs", "s") else array.strides[axis]
            self._word(name)[:] = address(array) + step * np.arange(count)
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code().address(SYMBOL))

    def _word(self, name: str) -> Array:
        """A word of all rollouts, (B,), as a view."""
        return self.words[:, WORDS.index(name)]

    def advance(self, rows: Sequence[int], implicit: bool) -> None:
        """Take steps of some rollouts until each ends for a reason, its `status`."""
        self._word("implicit")[list(rows)] = implicit
        self._word("many")[:], self._word("one")[:] = self.rate.addresses
        self._word("normal")[:] = 0 if self.normal is None else self.normal.addresses[1]
        if len(rows) == 1:
            self._call(rows)
            return
        count = threads.thread_count()
        pieces = threads.cut(len(rows), count * threads.PIECES, 1)
        work = [functools.partial(self._call, rows[piece]) for piece in pieces]
        threads.run(work, count)

    def _call(self, rows: Sequence[int]) -> None:
        """Enter machine code for one rollout after another, without the interpreter's lock."""
        frame, spare = np.zeros(self.frame), np.zeros(self.spare)
        for row in rows:
            words = self.words[row]
            words[WORDS.index("frame")], words[WORDS.index("spare")] = map(address, (frame, spare))
            self.function(address(words))
