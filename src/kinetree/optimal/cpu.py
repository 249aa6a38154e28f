"""The iterations of iLQR on the CPU: machine code of a driver and of the graphs that it calls.

The stages of a plan go through the loop of a gufunc, whose lanes are stages; the lengths of a step
go through a rollout, whose lanes are lengths. Problems are shared out among threads, each with a
scratch of its own.
"""

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.call import threads
from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.loops import ADDRESS, INTEGER, Index, Loops, Value, Vector
from kinetree.engine.llvm.compiled_graph import CompiledGraph
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.object_code import load_or_compile
from kinetree.engine.llvm.rollout import WORDS as FORWARD_WORDS
from kinetree.engine.llvm.target import host_target
from kinetree.engine.rollout import address
from kinetree.optimal.driver import ARGUMENTS, SYMBOL, WORDS, Driver, Passes
from kinetree.optimal.forward import Forward
from kinetree.optimal.riccati import LENGTHS, Sizes, placed

# a call of a gufunc's loop: its code, the number of turns, and addresses and steps of its arrays
ARRAYS = {"stage": 6, "last": 4, "column": 5}
CALLS = placed({name: 2 + 3 * count for name, count in ARRAYS.items()})
PLACES = placed({"words": len(WORDS), "calls": CALLS["end"], "forward": 2, "unit": 1})
NUMBER = 8  # bytes


class CpuPasses(Passes):
    """The passes of a solver, compiled for this machine."""

    arrays: Any = np
    address = staticmethod(address)

    def __init__(self, sizes: Sizes, graphs: dict[str, Graph], forward: Forward) -> None:
        self.sizes, self.forward_pass = sizes, forward
        self.codes = {name: CompiledGraph(graph) for name, graph in graphs.items()}
        self.code = load_or_compile(["ilqr", str(sizes)], host_target(), self.text, [SYMBOL])
        self.function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)(
            self.code.address(SYMBOL)
        )
        self.spare: list[Scratch] = []

    def text(self) -> str:
        """The module of the driver."""
        code = LlvmLoops(self.sizes.lanes, SYMBOL, ARGUMENTS, "", ' "stackrealign"')
        Driver(code, self.sizes, self).write()
        triple = host_target().triple
        head = f'target triple = "{triple}"\n' if triple else ""
        return head + code.text()

    def call(self, code: Loops, name: str, arrays: list[Vector], count: Index) -> None:
        """Call a kernel so many times, from these addresses on."""
        words = Vector(code.arguments["words"])
        table = words.behind(PLACES["calls"] + CALLS[name]).address
        code.store(table, 1, code.value(count, INTEGER))
        for k, x in enumerate(arrays):
            code.store(table, 2 + k, x.address)
        addresses, turns, steps = (code.offset(table, i) for i in (2, 1, 2 + len(arrays)))
        assert isinstance(code, LlvmLoops)
        code.call_at(code.load(table, 0, ADDRESS), addresses, turns, steps, steps)

    def stages(
        self, code: Loops, plan: Vector, blocks: Vector, costs: Vector, count: Value
    ) -> None:
        """As `Passes` says; each stage is a call of a kernel that has one column of F."""
        s = self.sizes
        parts = [plan.behind(s.row[name]) for name in ("x", "u", "p")]
        F = s.block["gradient"] * s.columns
        arrays = [*parts, plan.behind(s.row["end"]), blocks.behind(F), costs]
        self.call(code, "stage", arrays, count)
        if s.columns:
            unit = code.load(code.arguments["words"], PLACES["unit"], ADDRESS)
            with code.each(0, count) as t:
                rows = [x.behind(t * s.row["end"]) for x in parts]
                arrays = [*rows, Vector(unit), blocks.behind(t * s.block["end"])]
                self.call(code, "column", arrays, s.n + s.m)

    def ends(
        self, code: Loops, states: Vector, p: Vector, slopes: Vector, costs: Vector, count: int
    ) -> None:
        """As `Passes` says."""
        self.call(code, "last", [states, p, slopes, costs], count)

    def forward(
        self, code: Loops, plan: Vector, params: Vector, tried: Sequence[Vector], count: Value
    ) -> None:
        """As `Passes` says; the addresses of `tried` stay."""
        words = code.arguments["words"]
        entry, given = (code.load(words, PLACES["forward"] + k, ADDRESS) for k in range(2))
        for name, x in (("table", plan), ("params", params)):
            code.store(given, FORWARD_WORDS.index(name), x.address)
        assert isinstance(code, LlvmLoops)
        code.call_at(entry, given)

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

    def __init__(self, passes: CpuPasses, memory: Any) -> None:
        s, forward = passes.sizes, passes.forward_pass
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
            code = passes.codes.get(name)
            entry = 0 if code is None else code.loop("float64").address
            inner = [NUMBER] * (count - 1) + [NUMBER * (s.wide if name == "column" else 1)]
            words += [entry, *[0] * (1 + count), *outer[name], *inner]
        words += [forward.loop.entry, address(forward_words), address(unit)]
        self.words = np.array(words, np.int64)
        self.kept = numbers, forward_words, frame, unit, run
        self.addresses = [address(self.words), address(numbers), address(numbers)]
