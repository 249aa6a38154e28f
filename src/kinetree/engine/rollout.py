"""Rollouts on the CPU: a loop over time compiled around its graphs, run in blocks by threads."""

import ctypes
import functools
from dataclasses import replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.call import threads
from kinetree.engine.compiler.stepping import Run, Stepping, interpret_run
from kinetree.engine.compiler.store import digest
from kinetree.engine.kernel import is_compiled
from kinetree.engine.llvm.object_code import load_or_compile
from kinetree.engine.llvm.rollout import WORDS, FrameSlots, emit_rollout
from kinetree.engine.llvm.target import host_target

SYMBOL = "kernel"
ALIGNED = 128  # bytes, at least the size of any vector


class Rollout:
    """A stepping, compiled; interpreted where LLVM is missing."""

    __slots__ = ("__weakref__", "_code", "_function", "lanes", "length", "stepping")

    def __init__(self, stepping: Stepping) -> None:
        self.stepping = stepping
        self.lanes, self._code, self._function = 1, None, None
        if is_compiled(stepping.rate):
            target = host_target()
            self.lanes = target.lanes("float64")
            self.length = FrameSlots(stepping).length
            graphs = (stepping.rate, *stepping.stages, stepping.watch)
            self._code = load_or_compile(
                ["rollout", *map(digest, graphs), repr(stepping.fields)],
                target,
                lambda: emit_rollout(stepping, target, SYMBOL),
                [f"{SYMBOL}_rollout"],
            )
            address = self._code.address(f"{SYMBOL}_rollout")
            self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)

    def run(self, run: Run) -> None:
        """Run all evaluations, on as many threads as `kinetree.kernels.threads` has."""
        if run.empty:
            return
        if self._function is None:
            interpret_run(self.stepping, run)
            return
        count = threads.thread_count()
        pieces = threads.cut(len(run.state), count * threads.PIECES, self.lanes)
        threads.run([functools.partial(self._call, run, piece) for piece in pieces], count)

    def _call(self, run: Run, part: slice) -> None:
        """Enter machine code, without the lock of the interpreter, for some of the rollouts."""
        words, _frame = self.words(some_rollouts(run, part))
        assert self._function is not None
        self._function(address(words))

    @property
    def entry(self) -> int:
        """The address of the machine code, a function of the address of the words."""
        assert self._code is not None
        return self._code.address(f"{SYMBOL}_rollout")

    def words(self, run: Run) -> tuple[Array, Array]:
        """What machine code is given, 64-bit numbers, and the memory that it works in."""
        frame = np.empty(8 * self.length * self.lanes + ALIGNED, np.uint8)
        values = {
            "frame": address(frame) + -address(frame) % ALIGNED,
            "count": len(run.state),
            "params_step": _step(run.params, 0),
            "table_row": run.table.strides[0] // run.table.shape[1] // 8,
            "table_step": _step(run.table, 2),
            "evaluations": len(run.h),
            "steps": run.steps,
            "offset": run.offset,
        }
        for name in ("state", "params", "table", "times", "h", "rows", "first", "amount"):
            values[name] = address(getattr(run, name))
        words = [values[name] for name in WORDS]
        for record in run.records:
            words += [address(record), record.strides[0] // 8]
        return np.array(words, np.int64), frame


def some_rollouts(run: Run, part: slice) -> Run:
    """Return views of some rollouts; arrays that serve all rollouts stay whole."""
    return replace(
        run,
        state=run.state[part],
        params=run.params if len(run.params) == 1 else run.params[part],
        table=run.table if run.table.shape[2] == 1 else run.table[:, :, part],
        records=[record[:, part] for record in run.records],
        first=run.first[part],
        amount=run.amount[part],
    )


def address(x: Array) -> int:
    """Where the numbers of an array begin; `x.ctypes.data` takes ten times as long."""
    return x.__array_interface__["data"][0]


def _step(x: Array, axis: int) -> int:
    """Return the numbers between neighbours along an axis; 0 where one serves all."""
    return 0 if x.shape[axis] == 1 else x.strides[axis] // 8
