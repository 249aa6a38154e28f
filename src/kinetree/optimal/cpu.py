"""The iterations of iLQR on the CPU: machine code of a driver and of the graphs that it calls.

The stages of a plan go through the loop of a gufunc, whose lanes are stages; the lengths of a step
go through a rollout, whose lanes are lengths. Problems are shared out among threads, each with a
scratch of its own.
"""

import ctypes
from functools import partial
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.call import threads
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.loops import ADDRESS, INTEGER, Index, Vector
from kinetree.engine.llvm.compiled_graph import CompiledGraph
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.object_code import load_or_compile
from kinetree.engine.llvm.rollout import WORDS as FORWARD_WORDS
from kinetree.engine.llvm.target import host_target
from kinetree.engine.rollout import address
from kinetree.optimal.driver import ARGUMENTS, SYMBOL, WORDS, Driver
from kinetree.optimal.riccati import LENGTHS, Sizes, placed
from kinetree.optimal.transcription import Forward

# a call of a gufunc's loop: its code, the number of turns, and addresses and steps of its arrays
ARRAYS = {"stage": 6, "last": 4, "column": 5}
CALLS = placed({name: 2 + 3 * count for name, count in ARRAYS.items()})
PLACES = placed({"words": len(WORDS), "calls": CALLS["end"], "forward": 2, "unit": 1})
NUMBER = 8  # bytes


class CpuDriver(Driver):
    """The driver whose graphs are loops of gufuncs and rollouts."""

    def call(self, name: str, arrays: list[Vector], count: Index) -> None:
        """Call a kernel so many times, from these addresses on."""
        code, words = self.code, Vector(self.code.arguments["words"])
        table = words.behind(PLACES["calls"] + CALLS[name]).address
        code.store(table, 1, code.value(count, INTEGER))
        for k, x in enumerate(arrays):
            code.store(table, 2 + k, x.address)
        addresses, turns, steps = (code.offset(table, i) for i in (2, 1, 2 + len(arrays)))
        code.call_at(code.load(table, 0, ADDRESS), addresses, turns, steps, steps)

    def stage_slopes(self) -> None:
        """As `Driver` says; each stage is a call of a kernel that has one column of F."""
        s, code, blocks = self.sizes, self.code, self.vector["blocks"]
        parts = [self.plan.behind(s.row[name]) for name in ("x", "u", "p")]
        following, slopes = self.plan.behind(s.row["end"]), blocks.behind(s.stage_slopes)
        self.call("stage", [*parts, following, slopes, self.vector["stage_costs"]], self.stages)
        if s.columns:
            unit = Vector(code.load(code.arguments["words"], PLACES["unit"], ADDRESS))
            with code.each(0, self.stages) as t:
                rows = [x.behind(t * s.row["end"]) for x in parts]
                self.call("column", [*rows, unit, blocks.behind(t * s.block["end"])], s.n + s.m)

    def last_slopes(self, count: int) -> None:
        """As `Driver` says."""
        p, names = self.last.behind(self.sizes.row["p"]), ("ends", "end_costs")
        arrays = [self.vector["state"], p, *(self.vector[name] for name in names)]
        self.call("last", arrays, count)

    def run_forward(self, params: Vector) -> None:
        """As `Driver` says."""
        code, words = self.code, self.code.arguments["words"]
        entry, given = (code.load(words, PLACES["forward"] + k, ADDRESS) for k in range(2))
        for name, x in (("table", self.plan), ("params", params)):
            code.store(given, FORWARD_WORDS.index(name), x.address)
        code.call_at(entry, given)


class Cpu:
    """The iterations of a solver as machine code."""

    arrays: Any = np
    address = staticmethod(address)

    def __init__(self, sizes: Sizes, graphs: dict[str, Graph], forward: Forward) -> None:
        self.sizes, self.forward = sizes, forward
        self.codes = {name: CompiledGraph(graph) for name, graph in graphs.items()}
        self.code = load_or_compile(["ilqr", str(sizes)], host_target(), self.text, [SYMBOL])
        arguments = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 3
        self.function = ctypes.CFUNCTYPE(None, *arguments)(self.code.address(SYMBOL))

    def text(self) -> str:
        """The module of the driver."""
        code = LlvmLoops(self.sizes.lanes, SYMBOL, ARGUMENTS, "", ' "stackrealign"')
        CpuDriver(code, self.sizes).write()
        triple = host_target().triple
        return (f'target triple = "{triple}"\n' if triple else "") + code.text()

    def run(self, memory: Any, iterations: int) -> None:
        """Iterate on the plans of a memory, on as many threads as `kinetree.kernels.threads`."""
        B, count = len(memory.plans), threads.thread_count()
        if B == 1:
            self._run(memory, iterations, slice(0, 1))
            return
        pieces = threads.cut(B, count * threads.PIECES, 1)
        threads.run([partial(self._run, memory, iterations, piece) for piece in pieces], count)

    def _run(self, memory: Any, iterations: int, part: slice) -> None:
        try:
            scratch = memory.scratches.pop()
        except IndexError:
            scratch = Scratch(self, memory)
        self.function(*scratch.addresses, part.start, part.stop, iterations)
        memory.scratches.append(scratch)


class Scratch:
    """What one thread works with, and the words that say where."""

    def __init__(self, cpu: Cpu, memory: Any) -> None:
        s, forward = cpu.sizes, cpu.forward
        N, L, row = memory.plans.shape[1] - 1, LENGTHS, NUMBER * s.row["end"]
        at = s.scratch(N)
        numbers = np.zeros(at["end"])

        def part(name: str, *shape: int) -> Array:
            return numbers[at[name] :][: int(np.prod(shape))].reshape(shape)

        records = [part("states", N, L, s.nx), part("forces", N, L, s.m)]
        table, state = memory.plans[0, :-1, None], part("state", L, s.candidate)
        run = forward.prepared(state, table, memory.params[0], records)
        forward_words, frame = forward.loop.words(run)
        unit = np.eye(s.n + s.m)
        outer = {
            "stage": [row] * 4 + [NUMBER * s.block["end"], NUMBER * s.kinds],
            "last": [NUMBER * s.candidate, 0, NUMBER * s.end["end"], NUMBER * s.kinds],
            "column": [0, 0, 0, unit.strides[0], NUMBER],
        }
        words = [*memory.words()]
        for name, count in ARRAYS.items():
            code = cpu.codes.get(name)
            entry = 0 if code is None else code.loop("float64").address
            inner = [NUMBER] * (count - 1) + [NUMBER * (s.wide if name == "column" else 1)]
            words += [entry, *[0] * (1 + count), *outer[name], *inner]
        words += [forward.loop.entry, address(forward_words), address(unit)]
        self.words = np.array(words, np.int64)
        self.kept = numbers, forward_words, frame, unit, run
        self.addresses = [address(self.words), address(numbers), address(numbers)]
