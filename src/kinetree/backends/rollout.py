"""Rollouts: a loop over time compiled around its graphs, run on blocks of rollouts by threads."""

import ctypes
import functools
import logging
from dataclasses import replace

import numpy as np

from kinetree.backends import cache, cache_folder, engine, threads
from kinetree.backends.fingerprint import emitter_text
from kinetree.backends.kernel import has_llvm
from kinetree.compiler.stepping import Array, Run, Stepping, interpret_run
from kinetree.compiler.store import StoredGraph, encode
from kinetree.errors import CompileError

log = logging.getLogger(__name__)

SYMBOL = "kernel"
ALIGNED = 128  # bytes, more than any vector has
PIECES = 4  # per thread: a core that is busy elsewhere does not keep the others waiting


class Rollout:
    """A stepping, compiled; interpreted where LLVM is missing."""

    __slots__ = ("__weakref__", "_code", "_function", "lanes", "length", "stepping")

    def __init__(self, stepping: Stepping) -> None:
        self.stepping = stepping
        self.lanes, self._code, self._function = 1, None, None
        if has_llvm():
            from kinetree.backends.llvm import host_target
            from kinetree.backends.llvm.rollout import Frame

            target = host_target()
            self.lanes = target.lanes("float64")
            self.length = Frame(stepping).length
            self._code = _load(stepping, target)
            address = self._code.address(f"{SYMBOL}_rollout")
            self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)

    def run(self, run: Run) -> None:
        """All evaluations of a run, on as many threads as there are cores (`kinetree.threads`)."""
        if len(run.state) == 0 or len(run.h) == 0:
            return
        if self._function is None:
            interpret_run(self.stepping, run)
            return
        count = threads.thread_count()
        pieces = cut(len(run.state), self.lanes, count * PIECES)
        threads.run([functools.partial(self._call, run, piece) for piece in pieces], count)

    def _call(self, run: Run, part: slice) -> None:
        """Enter machine code, without the lock of the interpreter, for some of the rollouts."""
        run = _part(run, part)
        frame = np.empty(8 * self.length * self.lanes + ALIGNED, np.uint8)
        start = frame.ctypes.data + -frame.ctypes.data % ALIGNED
        words = [
            start,
            len(run.state),
            _address(run.state),
            _address(run.params),
            _step(run.params, 0),
            _address(run.table),
            run.table.strides[0] // run.table.shape[1],
            _step(run.table, 2),
            _address(run.times),
            _address(run.h),
            _address(run.rows),
            len(run.h),
            run.steps,
            _address(run.first),
            _address(run.amount),
            run.offset,
        ]
        for record in run.records:
            words += [record.ctypes.data, record.strides[0]]
        assert self._function is not None
        self._function((ctypes.c_int64 * len(words))(*words))


def cut(size: int, lanes: int, count: int) -> list[slice]:
    """Rollouts in at most `count` nearly equal pieces of whole vectors."""
    length = -(-size // (count * lanes)) * lanes
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]


def _part(run: Run, part: slice) -> Run:
    """Views of some rollouts; what all share stays as it is."""
    return replace(
        run,
        state=run.state[part],
        params=run.params if len(run.params) == 1 else run.params[part],
        table=run.table if run.table.shape[2] == 1 else run.table[:, :, part],
        records=[record[:, part] for record in run.records],
        first=run.first[part],
        amount=run.amount[part],
    )


def _address(x: Array) -> int:
    return x.ctypes.data


def _step(x: Array, axis: int) -> int:
    """Bytes between neighbours along an axis; 0 where one serves all."""
    return 0 if x.shape[axis] == 1 else x.strides[axis]


def _load(stepping: Stepping, target: object) -> engine.Code:
    from kinetree.backends.llvm.rollout import emit_rollout

    names = [f"{SYMBOL}_rollout"]
    key = _key(stepping, target) if cache_folder.enabled() else ""
    stored = cache.load(key)
    if stored is not None:
        try:
            return engine.load(stored, target, names)  # type: ignore[arg-type]
        except CompileError as problem:
            log.warning("kinetree compiles again what its cache had: %s", problem)
    code = engine.assemble(emit_rollout(stepping, target, SYMBOL), target)  # type: ignore[arg-type]
    cache.store(key, code)
    return engine.load(code, target, names)  # type: ignore[arg-type]


def _key(stepping: Stepping, target: object) -> str:
    graphs = (stepping.rate, *stepping.stages, stepping.watch)
    digests = [StoredGraph(encode(graph)).digest for graph in graphs]
    rest = [repr(stepping.fields), repr(target), emitter_text(), engine.versions()]
    return cache.make_key(["rollout", *digests, *rest])
