"""CompiledSteps: rollouts of an integration that advance in machine code (step_code.py)."""

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.system import once
from kinetree.engine.call import threads
from kinetree.engine.kernel import Kernel, code_addresses
from kinetree.engine.llvm.object_code import load_or_compile
from kinetree.engine.llvm.target import host_target
from kinetree.engine.rollout import address
from kinetree.simulate.core import step_code
from kinetree.simulate.core.dop853 import RATES, DenseOutput, RungeKuttaStep
from kinetree.simulate.core.radau import RadauStep
from kinetree.simulate.core.step_frame import (
    CONSTANTS,
    COUNTS,
    ENTRY,
    FORCES,
    LOST,
    PREFIX,
    RECORD,
    RESULTS,
    ROWS,
    WORDS,
    frame_size,
)

SYMBOL = f"{PREFIX}_{ENTRY}"
# row, count, times, which of them end a step, values
SIGNALS = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
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
def machine_code() -> tuple[Any, Callable[[int], None], int]:
    """The machine code of this processor, for all robots, its entry, and its lanes."""
    target = host_target()
    lanes = target.lanes("float64")
    code = load_or_compile(
        ["adaptive"], target, lambda: step_code.emit(lanes, target.triple), [SYMBOL]
    )
    return code, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(SYMBOL)), lanes


class CompiledSteps:
    """The machine code with what it works on.

    arrays: of all rollouts by the names of WORDS, of which each row belongs to a rollout; results
    (T, B, ...). whole: further words. constants: by the names of CONSTANTS. signals: values over
    time at times (K,), some of which end a step, of rollouts (K,), as (K, s); None: there are none.
    table: their count, s.
    """

    def __init__(
        self,
        kernels: tuple[Kernel, Kernel | None],
        memory: Memory,
        arrays: Mapping[str, Array],
        whole: Mapping[str, int],
        constants: Mapping[str, float],
        table: int,
        signals: Callable[[Array, Array, Array], Array] | None,
    ) -> None:
        self.table, self.pauses = table, bool(whole["pause"])
        self.kernels, self.memory, self.arrays, self.signals = kernels, memory, arrays, signals
        _, self.function, lanes = machine_code()
        count, size = arrays["x"].shape
        self.size, self.forces = size, arrays["forces"].shape[-1]
        self.stride, self.wide = (-(-n // lanes) * lanes for n in (size, 2 * size))
        self.constants = np.array([constants[name] for name in CONSTANTS])
        self.last = np.zeros((count, 3 * self.stride))
        self.problem: BaseException | None = None
        rows = {**arrays, "last": self.last, "record": memory.record, "counts": memory.counts}
        values = {
            "size": size, "stride": self.stride, "wide": self.wide, "forces_count": self.forces,
            "outputs_count": len(arrays["outputs"]), "constants": address(self.constants),
            "result_step": arrays["result"].strides[0], "force_step": arrays["forces"].strides[0],
            **whole, **{name: address(array) for name, array in rows.items()},
        }  # fmt: skip
        if signals is not None:
            self.callback = SIGNALS(self._write_signals)
            values["signals"] = ctypes.cast(self.callback, ctypes.c_void_p).value or 0
            values["signal_step"] = 8 * table
        # the place of a rollout in arrays of results is behind that of the result
        steps = {name: array.strides[array.ndim - 2] for name, array in rows.items()}
        steps |= {"outputs": 0, "row": 1}
        first, step = ([x.get(name, 0) for name in WORDS] for x in (values, steps))
        self.words = np.array(first) + np.arange(count)[:, None] * np.array(step)
        self.paused = Frame(self) if self.pauses else None

    def _word(self, name: str) -> Array:
        """A word of all rollouts, (B,), as a view."""
        return self.words[:, WORDS.index(name)]

    def advance(self, rows: Sequence[int], implicit: bool, attempts: int = ATTEMPTS) -> None:
        """Take steps of some rollouts until each ends for a reason, its `status`."""
        self._word("attempts")[list(rows)] = attempts
        rate, normal = self.kernels
        self._word("implicit")[list(rows)] = implicit
        self._word("many")[:], self._word("one")[:] = code_addresses(rate)
        self._word("normal")[:] = 0 if normal is None else code_addresses(normal)[1]
        if len(rows) == 1:
            self._call(rows)
        else:
            count = threads.thread_count()
            pieces = threads.cut(len(rows), count * threads.PIECES, 1)
            work = [functools.partial(self._call, rows[piece]) for piece in pieces]
            threads.run(work, count)
        if self.problem is not None:
            raise self.problem

    def _call(self, rows: Sequence[int]) -> None:
        """Enter machine code for one rollout after another, without the interpreter's lock."""
        frame = Frame(self) if self.paused is None else self.paused
        for row in rows:
            for name, array in vars(frame).items():
                self.words[row, WORDS.index(name)] = address(array)
            self.function(address(self.words[row]))

    def _write_signals(self, row: int, count: int, times: int, ends: int | None, out: int) -> None:
        """Write values over time for machine code; an error is raised after its end."""
        assert self.signals is not None
        values = numbers_at(out, count * self.table).reshape(count, self.table)
        at_ends = np.zeros(count, bool) if ends is None else numbers_at(ends, count) != 0
        try:
            rows = np.full(count, row)
            values[:] = self.signals(numbers_at(times, count).copy(), at_ends, rows)
        except BaseException as problem:
            self.problem, values[:] = problem, np.nan
            self.memory.whole("status")[row] = LOST

    def polynomial(self, row: int, implicit: bool) -> DenseOutput | RadauStep:
        """The last step of a rollout that was paused, with the polynomial over it."""
        assert self.paused is not None
        rows = self.paused.frame[: len(ROWS) * self.stride].reshape(len(ROWS), 1, self.stride)
        rows = rows[..., : self.size]
        t, h, until = (self.memory.number(x)[row : row + 1] for x in ("t", "length", "until"))
        x, end = rows[ROWS.index("x")], rows[ROWS.index("end")]
        if not implicit:
            step = RungeKuttaStep(t.copy(), h.copy(), x, end, rows[:RATES], until.copy())
            first = ROWS.index("part0")
            return DenseOutput(step, list(rows[first : first + 7]))
        start, double = len(ROWS) * self.stride, 2 * self.stride
        matrix = self.paused.frame[start : start + self.size * double].reshape(-1, double)
        damped = matrix[None, :, self.stride : self.stride + self.size]
        parts = self.last[row].reshape(3, 1, -1)[..., : self.size]
        return RadauStep(t.copy(), h.copy(), x, end, until.copy(), rows[:4], parts, damped, 0 * x)


class Frame:
    """The memory of one call, by the names of words."""

    def __init__(self, steps: CompiledSteps) -> None:
        self.frame = np.zeros(frame_size(steps.size, steps.stride, steps.wide))
        self.spare = np.zeros(FORCES + steps.forces)
        results = len(steps.arrays["outputs"]) if steps.signals is not None else 0
        self.s = np.zeros((RESULTS + results) * steps.table)


def numbers_at(place: int, count: int) -> Array:
    """The numbers at an address."""
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(place))
