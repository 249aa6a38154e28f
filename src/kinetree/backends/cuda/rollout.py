"""CudaRollout: the loop over time around its graphs on a GPU, one thread for each rollout."""

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.backends.cuda.emit import ITEMSIZE
from kinetree.backends.cuda.frame import make_frame
from kinetree.backends.cuda.launch import Launch, Loaded, load
from kinetree.backends.cuda.stepping import NAME, emit_rollout
from kinetree.compiler.schedule import short_lived
from kinetree.compiler.stepping import Run, Stepping


class CudaRollout:
    """A stepping on the GPU. It can be made and read without one."""

    def __init__(self, stepping: Stepping) -> None:
        self.stepping = stepping
        self._loaded = Loaded(self._load)

    def ordered(self, *, short: bool = False) -> Stepping:
        """The stepping, with few values of its rate alive at once where `short`."""
        rate = self.stepping.rate
        return replace(self.stepping, rate=short_lived(rate)) if short else self.stepping

    def source(self, dtype: str = "float64", *, short: bool = False) -> str:
        """The code as CUDA C++; `short` as in `ordered`."""
        return emit_rollout(self.ordered(short=short), dtype)

    def launch(self, dtype: str = "float64") -> Launch:
        """The code on the current GPU, compiled and loaded when first asked for."""
        return self._loaded.on_this_gpu(dtype)

    def _load(self, dtype: str, short: bool) -> Launch:
        shared = make_frame(self.stepping, ITEMSIZE[dtype]).tile * ITEMSIZE[dtype]
        return load(self.source(dtype, short=short), NAME, shared)

    def run(self, run: Run) -> None:
        """All evaluations of a run, queued on the current stream.

        Arrays are contiguous CuPy arrays of one number type; `rows` and `first` hold int32.
        """
        count = len(run.state)
        if count == 0 or len(run.h) == 0:
            return
        params, table = run.params, run.table
        arguments: list[Any] = [
            np.int32(len(run.h)),
            np.int32(run.steps),
            np.int32(run.offset),
            run.state,
            params,
            np.int64(0 if len(params) == 1 else params.shape[1]),
            table,
            np.int64(table.shape[2] * table.shape[3]),
            np.int64(0 if table.shape[2] == 1 else table.shape[3]),
            run.times,
            run.h,
            run.rows,
            run.first,
            run.amount,
            *run.records,
        ]
        self.launch(str(run.state.dtype))(count, arguments)
