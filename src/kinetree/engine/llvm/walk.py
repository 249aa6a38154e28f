"""The walker: machine code that runs the flat code of any graph or program (`compiler/flat.py`).

It is compiled once and kept in the cache, and all robots and quantities share it. A kernel is
therefore ready as soon as its graph is traced. The walker takes ten to fifty times as long as the
code of the graph, which is compiled meanwhile (`engine/background.py`), and gives the same bits: it
runs the same operations, on as many states side by side.

`@walk(args, dimensions, steps, data)` is an inner loop of NumPy over states. `data` are words that
describe the flat code; `Walk` makes them, and functions of a few instructions that add them to the
arguments of a call.
"""

from collections.abc import Sequence

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.call.blocks import Function
from kinetree.engine.call.plan import strides
from kinetree.engine.compiler.flat import PLAIN, STEPS, WIDTH, Flat
from kinetree.engine.compiler.graph import OPERATIONS, Graph, Port
from kinetree.engine.llvm import engine
from kinetree.engine.llvm.body import GraphCode
from kinetree.engine.llvm.careful import emit_careful, emit_table
from kinetree.engine.llvm.emit import declarations
from kinetree.engine.llvm.functions import CALLED, emit_function
from kinetree.engine.llvm.object_code import Shared
from kinetree.engine.llvm.sincos import emit_sincos
from kinetree.engine.llvm.target import Target, host_target
from kinetree.engine.llvm.text import number, splat, vector

DTYPE = "float64"
EFFORT = 1  # of the code generator
LOOP = "ptr %args, ptr %dimensions, ptr %steps, ptr %data"

# words of `data`
SLOTS, CONSTANTS, NUMBERS_IN, NUMBERS_OUT, PLACE_WORDS = range(5)
STEPS_AT, STEPS_END, CONSTANTS_AT, PLACES_AT, RESULTS_AT = range(5, 10)
PORT, FIRST_STRIDE, DIMS = 0, 1, 2  # words of a place; its indices follow


def emit_walk(target: Target) -> list[str]:
    """Parts of a module with `@walk`."""
    lanes = target.lanes(DTYPE)
    functions = [_emit_steps(lanes), _Loop(lanes).text()]
    functions += [emit_table("walk"), emit_careful("walk", DTYPE)]
    functions += [emit_sincos("walk", DTYPE, lanes, 1)]
    functions += [emit_function(op, "walk", DTYPE, lanes) for op in CALLED]
    functions += declarations(DTYPE, lanes)
    head = f'target triple = "{target.triple}"\n' if target.triple else ""
    weights = '!0 = !{!"branch_weights", i32 1, i32 1048576}\n'
    return [head, *functions, weights]


def _emit_steps(lanes: int) -> str:
    """Text of `@walk_steps(slots, first, end)`: all steps, for one vector of states."""
    code = GraphCode(Graph((), (), (), ()), "walk", DTYPE, lanes)
    kind, size = vector("double", lanes), 8 * lanes
    places = "abc"
    cases: list[str] = []
    for op in PLAIN:
        names = places[: OPERATIONS[op][0]]
        k = STEPS.index(op)
        cases.append(f"case{k}:")
        cases += [f"  %{x}{k} = load {kind}, ptr %{x}, align {size}" for x in names]
        cases.append(code.pattern(k, op).format(*(f"%{x}{k}" for x in names), i=k))
        cases += [f"  store {kind} %n{k}, ptr %d, align {size}", "  br label %step"]
    table = "\n".join(f"    i32 {k}, label %case{k}" for k in range(len(STEPS)))
    sincos, move, test, jump = (STEPS.index(x) for x in ("SINCOS", "MOVE", "TEST", "JUMP"))
    fields = "\n".join(
        f"  %{x}_at = getelementptr inbounds i8, ptr %at, i64 {4 * k}\n"
        f"  %{x}_short = load i32, ptr %{x}_at, align 4\n"
        f"  %{x}_long = sext i32 %{x}_short to i64\n"
        f"  %{x}_bytes = mul i64 %{x}_long, {size}\n"
        f"  %{x} = getelementptr inbounds i8, ptr %slots, i64 %{x}_bytes"
        for k, x in enumerate("dabc", 1)
    )
    integers, masks = vector("i64", lanes), vector("i1", lanes)
    return f"""\
define internal void @walk_steps(ptr %slots, ptr %first, ptr %end) {{
entry:
  br label %next
next:
  %at = phi ptr [ %first, %entry ], [ %after, %step ], [ %skipped, %skip ]
  %more = icmp ne ptr %at, %end
  br i1 %more, label %do, label %done
do:
  %op = load i32, ptr %at, align 4
{fields}
  switch i32 %op, label %bad [
{table}
  ]
step:
  %after = getelementptr inbounds i8, ptr %at, i64 {4 * WIDTH}
  br label %next
{chr(10).join(cases)}
case{sincos}:
  call void @walk_sincos1(ptr %a, ptr %d, ptr %b)
  br label %step
case{move}:
  %moved = load {kind}, ptr %a, align {size}
  store {kind} %moved, ptr %d, align {size}
  br label %step
case{test}:
  %open = load {kind}, ptr %a, align {size}
  %bits = bitcast {kind} %open to {integers}
  %above = icmp sgt {integers} %bits, {splat("i64", "0", lanes)}
  %known = fcmp ord {kind} %open, %open
  %lanes = and {masks} %above, %known
  %packed = bitcast {masks} %lanes to i{lanes}
  %some = icmp ne i{lanes} %packed, 0
  %round = load double, ptr %d, align 8
  %rounds = load double, ptr %c, align 8
  %early = fcmp olt double %round, %rounds
  %again = and i1 %some, %early
  %counted = fadd double %round, {number(1.0, "double")}
  store double %counted, ptr %d, align 8
  br i1 %again, label %step, label %skip
case{jump}:
  br label %skip
skip:
  %count = phi i64 [ %b_long, %case{test} ], [ %a_long, %case{jump} ]
  %skip_bytes = mul i64 %count, {4 * WIDTH}
  %skipped = getelementptr inbounds i8, ptr %at, i64 %skip_bytes
  br label %next
bad:
  call void @llvm.trap()
  unreachable
done:
  ret void
}}
"""


class _Loop:
    """Writes `@walk`: memory for the slots, then block by block numbers in, steps, numbers out."""

    def __init__(self, lanes: int) -> None:
        self.f, self.lanes = Function("walk", LOOP, "void"), lanes
        self.kind, self.unit = vector("double", lanes), 8 * lanes

    def text(self) -> str:
        """Return the function."""
        f = self.f
        total = f.load("i64", "%dimensions")
        count_in, count_out = (f.item("i64", "%data", k) for k in (NUMBERS_IN, NUMBERS_OUT))
        numbers = f.add(count_in, count_out)
        slots_bytes = f.mul(f.item("i64", "%data", SLOTS), self.unit)
        # the distances of numbers in their arrays follow the slots
        size = f.add(f.add(slots_bytes, f.mul(numbers, 8)), self.unit)
        heap = f.call("ptr", "@malloc", f"i64 {size}")
        with f.when(f.compare("eq", "ptr", heap, "null")):
            f.call("void", "@llvm.trap")
            f.give()
        over = f.let(f"and i64 {f.let(f'ptrtoint ptr {heap} to i64')}, {self.unit - 1}")
        slots = f.at(heap, f.let(f"sub i64 {self.unit}, {over}"))
        distances = f.at(slots, slots_bytes)
        self._constants(slots, count_in)
        with f.each(numbers) as k:
            f.put("i64", self._distance(k), distances, k)
        first = f.variable("i64", 0)
        with f.repeat() as after:
            now = first.get()
            with f.when(f.compare("sge", "i64", now, total)):
                f.go(after)
            left = f.let(f"sub i64 {total}, {now}")
            short = f.compare("slt", "i64", left, self.lanes)
            count = f.choose(short, "i64", left, self.lanes)
            final = f.add(count, -1)
            with f.each(count_in) as k:
                base, step = self._array(k, distances, k, now)
                target = f.at(slots, f.mul(k, self.unit))
                with f.each(self.lanes) as lane:  # lanes without a state repeat the last one
                    which = f.choose(f.compare("slt", "i64", lane, final), "i64", lane, final)
                    x = f.load("double", f.at(base, f.mul(which, step)))
                    f.put("double", x, target, lane)
            begin, end = (f.item("ptr", "%data", k) for k in (STEPS_AT, STEPS_END))
            f.call("void", "@walk_steps", f"ptr {slots}", f"ptr {begin}", f"ptr {end}")
            results = f.item("ptr", "%data", RESULTS_AT)
            with f.each(count_out) as k:
                base, step = self._array(f.add(k, count_in), distances, f.add(k, count_in), now)
                slot = f.let(f"sext i32 {f.item('i32', results, k)} to i64")
                source = f.at(slots, f.mul(slot, self.unit))
                with f.each(count) as lane:
                    x = f.item("double", source, lane)
                    f.put("double", x, f.at(base, f.mul(lane, step)))
            first.set(f.add(now, self.lanes))
        f.call("void", "@free", f"ptr {heap}")
        f.give()
        return f.text()

    def _constants(self, slots: str, behind: str) -> None:
        """Write the constants to the slots behind the inputs."""
        f = self.f
        source = f.item("ptr", "%data", CONSTANTS_AT)
        with f.each(f.item("i64", "%data", CONSTANTS)) as k:
            x = f.item("double", source, k)
            target = f.at(slots, f.mul(f.add(behind, k), self.unit))
            with f.each(self.lanes) as lane:
                f.put("double", x, target, lane)

    def _place(self, k: str) -> str:
        """The words of the place of number k, inputs first."""
        f = self.f
        words = f.mul(f.mul(k, f.item("i64", "%data", PLACE_WORDS)), 8)
        return f.at(f.item("ptr", "%data", PLACES_AT), words)

    def _distance(self, k: str) -> str:
        """Bytes from the beginning of an array to number k of a state."""
        f = self.f
        place = self._place(k)
        core = f.at("%steps", f.item("i64", place, FIRST_STRIDE), "i64")
        total = f.variable("i64", 0)
        with f.each(f.add(f.item("i64", "%data", PLACE_WORDS), -DIMS)) as axis:
            index = f.item("i64", f.at(place, 8 * DIMS), axis)
            with f.when(f.compare("ne", "i64", index, 0)):  # strides of absent axes are not read
                total.set(f.add(total.get(), f.mul(index, f.item("i64", core, axis))))
        return total.get()

    def _array(self, k: str, distances: str, at: str, first: str) -> tuple[str, str]:
        """The address of number k of the first state of a block, and bytes between states."""
        f = self.f
        port = f.item("i64", self._place(k), PORT)
        step = f.item("i64", "%steps", port)
        base = f.at(f.item("ptr", "%args", port), f.item("i64", distances, at))
        return f.at(base, f.mul(first, step)), step


walker = Shared(["walker", str(WIDTH), *STEPS], emit_walk, ["walk"], EFFORT)


class Walked(engine.Code):
    """Entry points that walk through flat code, with the names of those of a compiled kernel.

    enter: the address at which calls of Python enter, in the code that all kernels share. quiet:
    text of `@{name}_quiet`.
    """

    __slots__ = ("_kept",)

    def __init__(self, flat: Flat, name: str, enter: int, quiet: str) -> None:
        ports = (*flat.inputs, *flat.outputs)
        places = _places(ports)
        arrays = [flat.steps, flat.constants, places, flat.results]
        at = [x.ctypes.data for x in arrays]
        counts = [sum(port.size for port in x) for x in (flat.inputs, flat.outputs)]
        words = [flat.slots, len(flat.constants), *counts, places.shape[1]]
        words += [at[0], at[0] + flat.steps.nbytes, *at[1:]]
        data = np.array(words, np.int64)
        # of arrays that lie side by side: for one state the distance of states is not used
        steps = np.array([0] * len(ports) + [x for port in ports for x in strides(port)], np.int64)
        one = np.ones(1, np.int64)
        walk = f"inttoptr (i64 {walker.early().address('walk')} to ptr)"
        data_at, steps_at, one_at = (_pointer(x) for x in (data, steps, one))
        protocol = "ptr %self, ptr %args, i64 %nargsf, ptr %kwnames"
        target = host_target()
        text = f"""\
define void @{name}_states({LOOP}) {{
  tail call void {walk}(ptr %args, ptr %dimensions, ptr %steps, {data_at})
  ret void
}}
define void @{name}_at(ptr %arrays) {{
  tail call void {walk}(ptr %arrays, {one_at}, {steps_at}, {data_at})
  ret void
}}
define ptr @{name}_call({protocol}) {{
  %made = tail call ptr inttoptr (i64 {enter} to ptr)({protocol})
  ret ptr %made
}}
"""
        names = [f"{name}_{part}" for part in ("quiet", "at", "call")]
        code = engine.assemble_module(text + quiet, target, 0)
        super().__init__(engine.load(code, target, names)._library)
        self._kept = [*arrays, data, steps, one]


def _pointer(array: Array) -> str:
    """An argument: the address of an array that stays where it is."""
    return f"ptr inttoptr (i64 {array.ctypes.data} to ptr)"


def _places(ports: Sequence[Port]) -> Array:
    """For every number of the arrays: its array, where its strides begin, and its indices."""
    axes = max(len(port.shape) for port in ports)
    rows: list[Array] = []
    first = len(ports)
    for k, port in enumerate(ports):
        row = np.zeros((port.size, DIMS + axes), np.int64)
        row[:, PORT], row[:, FIRST_STRIDE] = k, first
        row[:, DIMS : DIMS + len(port.shape)] = np.indices(port.shape).reshape(-1, port.size).T
        rows.append(row)
        first += len(port.shape)
    return np.concatenate(rows)
