"""Simulations on a GPU that are like one before: three launches and one wait.

Reading the arguments of `simulate` and moving tables to the GPU takes longer than ten steps of some
thousand rollouts. If no law of the user acts, all of it depends on the options and on the shapes of
the arrays alone. Such a run is kept with the model. A later one with arrays of the same shapes on
the same GPU copies its initial states, steps, and asks once whether anything was noted: numbers
that are not finite, at the start or on the way, or joints beyond their limits. If so, the
simulation is read and run from the start, which finds the reason and reports it.
"""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from kinetree.engine.compiler.stepping import NEVER
from kinetree.engine.compiler.stepping import Run as LoopCall
from kinetree.engine.cuda.kernel import described
from kinetree.engine.cuda.launch import load_with, require_device
from kinetree.engine.cuda.prepared import KnownCalls, Prepared
from kinetree.engine.cuda.rollout import CudaRollout
from kinetree.engine.kernels.memo import remembered
from kinetree.model import Model
from kinetree.simulate.core.run import Run
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.tuning import GPU_ROLLOUTS, GPU_RUNS, GPU_THREADS

GpuArray: TypeAlias = Any  # cupy.ndarray; CuPy may be missing
Given = tuple[GpuArray | None, GpuArray | None, GpuArray | None]  # q0, dq0 and tau

MEMO = ("simulate", "gpu runs")
FIELDS = ("q", "dq", "ddq")  # the record of a run under constant forces
C_TYPES = {"float32": "float", "float64": "double"}

# kt_begin: states side by side, forces copied. kt_end: was anything noted?
AROUND = r"""
#define KT_EACH(k, count) \
    for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < (count); \
         k += (long long)gridDim.x * blockDim.x)

extern "C" __global__ void kt_begin(
    long long count, long long n, long long forces, const real *q, const real *dq,
    const real *tau, real *params, real *state) {
    KT_EACH(k, count * n) {
        const long long place = k / n * 2 * n + k % n;
        state[place] = q[k];
        state[place + n] = dq ? dq[k] : (real)0;
    }
    KT_EACH(k, forces) params[k] = tau ? tau[k] : (real)0;
}

extern "C" __global__ void kt_end(long long count, const int *first, int *noted) {
    KT_EACH(k, count) if (first[k] != KT_NEVER) *noted = 1;
}
"""


class Work(threading.local):
    """Internal memory of a run, for each thread its own: a run ends before the next begins.

    state: (B, x). first, amount: (B, watched), what the loop notes; nothing yet. noted: an integer
    that a GPU can write and the CPU can read.
    """

    def __init__(self, cp: Any, state: tuple[int, ...], notes: tuple[int, ...], dtype: Any) -> None:
        self.state = cp.empty(state, dtype)
        self.first = cp.full(notes, NEVER, np.int32)
        self.amount = cp.zeros(notes, dtype)
        memory = cp.cuda.alloc_pinned_memory(4)
        self.noted = np.frombuffer(memory, np.int32, 1)  # keeps the memory
        self.addresses = [int(x.data.ptr) for x in (self.state, self.first, self.amount)]
        self.flag = int(memory.ptr)
        cp.cuda.get_current_stream().synchronize()  # a later run may be on another stream


@dataclass(frozen=True, slots=True)
class GpuRun:
    """A simulation that can be repeated.

    cp: CuPy. device: number of the GPU. begin, loop, end: the launches, of which `kept` are arrays
    that the loop reads. forces, records: shapes of new arrays. tau: shape and strides of the record
    of the joint forces. t, meta: of the motion.
    """

    cp: Any
    device: int
    begin: Prepared
    loop: Prepared
    end: Prepared
    kept: tuple[GpuArray, ...]
    work: Work
    dtype: np.dtype[Any]
    forces: tuple[int, ...]
    records: tuple[tuple[int, ...], ...]
    tau: tuple[tuple[int, ...], tuple[int, ...]]
    t: np.ndarray[Any, Any]
    meta: dict[str, Any]

    def repeat(self, arrays: Given) -> dict[str, Any] | None:
        """Return t, meta and arrays; None if the loop noted something or the GPU changed."""
        cuda, new, dtype = self.cp.cuda, self.cp.ndarray, self.dtype
        if cuda.runtime.getDevice() != self.device:
            return None
        stream, work = cuda.get_current_stream(), self.work
        params = new(self.forces, dtype)
        records = [new(shape, dtype) for shape in self.records]
        state, first, amount = work.addresses
        forces = params.data.ptr
        given_at = [0 if x is None else x.data.ptr for x in arrays]
        work.noted[0] = 0
        self.begin.enqueue(stream.ptr, [*given_at, forces, state])
        self.loop.enqueue(
            stream.ptr, [state, forces, first, amount, *[x.data.ptr for x in records]]
        )
        self.end.enqueue(stream.ptr, (first, work.flag))
        stream.synchronize()
        if work.noted[0]:
            work.first.fill(NEVER)
            stream.synchronize()
            return None
        shape, strides = self.tau
        tau = new(shape, dtype, params.data, strides)
        named = dict(zip((*FIELDS, "tau"), [*records, tau], strict=True))
        return {"t": self.t.copy(), "meta": dict(self.meta), **named}


def repeat(run: Run) -> dict[str, Any] | None:
    """Return t, meta and arrays if a run like this one is kept; None if it must be read first."""
    known: KnownCalls[GpuRun] | None = run.model.memo.get(MEMO)
    key = None if known is None else _key(run)
    kept = None if known is None or key is None else known.get(key)
    return None if kept is None else kept.repeat((run.q0, run.dq0, run.tau))


def _key(run: Run) -> tuple[object, ...] | None:
    """The description of a run; None where an argument is not an array of CuPy."""
    if run.repeat_key is None:
        return None
    arrays = run.q0, run.dq0, run.tau
    described_arrays = described([x for x in arrays if x is not None])
    key = *run.repeat_key, *[x is None for x in arrays], described_arrays
    try:
        hash(key)  # an option may be an array of NumPy
    except TypeError:
        return None
    return None if described_arrays is None else key


def remember(
    run: Run,
    setup: Setup,
    rollout: CudaRollout,
    calls: Sequence[LoopCall],
    motion: dict[str, Any],
) -> None:
    """Keep a run that ended well, if only arrays of CuPy have to be read to repeat it.

    calls: of the loop. motion: t, meta and the arrays of the record.
    """
    key, model, arrays = _key(run), run.model, cast("Given", (run.q0, run.dq0, run.tau))
    if key is None or len(calls) != 1 or not _repeatable(model, arrays, setup, motion):
        return
    cp, call = require_device(), calls[0]
    dtype, count, n = call.state.dtype, len(call.state), model.n
    tau = motion["tau"]
    rows = count if call.params.shape == (count, n) and arrays[2] is not None else 1
    watched = call.first.shape[1]
    begin, end = _around(dtype.name)
    made = GpuRun(
        cp=cp,
        device=int(cp.cuda.runtime.getDevice()),
        begin=Prepared(
            cp, begin, min(GPU_THREADS, count * n),
            [count, n, rows * n, *[0] * 5], range(3, 8),
        ),
        loop=rollout.prepare(cp, call),
        end=Prepared(cp, end, min(GPU_THREADS, count * watched), [count * watched, 0, 0], (1, 2)),
        kept=(call.table, call.times, call.h, call.rows),
        work=Work(cp, call.state.shape, call.first.shape, dtype),
        dtype=dtype,
        forces=(rows, n),
        records=tuple(motion[name].shape for name in FIELDS),
        tau=(tau.shape, tau.strides),
        t=motion["t"].copy(),
        meta=dict(motion["meta"]),
    )  # fmt: skip
    remembered(model, MEMO, lambda: KnownCalls[GpuRun](GPU_RUNS)).keep(key, made)


def _repeatable(model: Model, arrays: Given, setup: Setup, motion: dict[str, Any]) -> bool:
    """Return True if the arrays are read as they are, and nothing but forces acts beside them.

    Quaternions are left out: their lengths are not seen by the loop. So are constraints, whose
    forces are recorded too and whose start is checked.
    """
    q0, dq0, tau = arrays
    constants = set(setup.external.constants)
    if constants != (set() if tau is None else {"tau"}) or setup.external.sampled or setup.extra:
        return False
    if math.prod(setup.batch) > GPU_ROLLOUTS:
        return False
    if model.constraints is not None:
        return False
    if q0 is None or model.nq != model.n or motion["q"].dtype.name not in C_TYPES:
        return False
    shapes = {"q0": (q0, (*setup.batch, model.n)), "dq0": (dq0, (*setup.batch, model.n))}
    if tau is not None:
        single = tau.ndim == 1
        shapes["tau"] = (tau, (model.n,) if single else (*setup.batch, model.n))
    return all(
        x is None
        or (x.shape == shape and x.dtype == motion["q"].dtype and bool(x.flags.c_contiguous))
        for x, shape in shapes.values()
    )


def _around(dtype: str) -> tuple[Any, Any]:
    """Return kt_begin and kt_end, compiled for the current GPU."""
    begin, end = (load_with(around_source(dtype), name, 0, 0) for name in ("kt_begin", "kt_end"))
    return begin, end


def around_source(dtype: str) -> str:
    """The text of kt_begin and kt_end as CUDA C++."""
    return f"typedef {C_TYPES[dtype]} real;\n#define KT_NEVER ({NEVER})\n{AROUND}"
