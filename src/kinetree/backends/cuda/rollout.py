"""CudaRollout: the loop over time around its graphs on a GPU, one thread for each rollout."""

from typing import Any

import numpy as np

from kinetree.backends.cuda.emit import ITEMSIZE
from kinetree.backends.cuda.frame import make_frame
from kinetree.backends.cuda.launch import Launch, load
from kinetree.backends.cuda.stepping import NAME, emit_rollout
from kinetree.backends.cuda.toolkit import require_device
from kinetree.compiler.stepping import Run, Stepping


class CudaRollout:
    """A stepping on the GPU. It can be made and read without one."""

    def __init__(self, stepping: Stepping) -> None:
        self.stepping = stepping
        self._loaded: dict[tuple[str, int], Launch] = {}

    def source(self, dtype: str = "float64") -> str:
        """The code as CUDA C++."""
        return emit_rollout(self.stepping, dtype)

    def launch(self, dtype: str = "float64") -> Launch:
        """The code on the current GPU, compiled and loaded when first asked for."""
        key = (dtype, require_device().cuda.Device().id)
        if key not in self._loaded:
            shared = make_frame(self.stepping, ITEMSIZE[dtype]).tile * ITEMSIZE[dtype]
            self._loaded[key] = load(self.source(dtype), NAME, shared)
        return self._loaded[key]

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
