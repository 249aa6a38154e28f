"""Rollouts on a GPU: the loop over time around its graphs, one thread for each rollout.

The kernel `kt_rollout(count, evaluations, steps, offset, ...)` has the arguments of `ARRAYS` and
one more array for each recorded field; `compiler.stepping.Run` describes them. Threads beyond the
last rollout repeat it, so that a warp stays together, and store nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.schedule import short_lived
from kinetree.engine.compiler.stepping import Field, Run, Stepping
from kinetree.engine.cuda.body import Constants, Place, statements
from kinetree.engine.cuda.emit import ITEMSIZE, bounds
from kinetree.engine.cuda.launch import Launch, Loaded, load
from kinetree.engine.cuda.layout import STATE_BYTES, WARP
from kinetree.engine.cuda.prelude import prelude

NAME = "kt_rollout"
ARRAYS = (
    "real *state",
    "const real *params",
    "long long params_step",
    "const real *table",
    "long long table_row",
    "long long table_step",
    "const real *times",
    "const real *lengths",
    "const int *rows",
    "int *first",
    "real *amount",
)
STEPS = "for (int e = 0; e < evaluations; e++) {"
REGISTER_STATE = 32  # numbers of a state that stay in registers; measured with 14 and with 88


@dataclass(frozen=True, slots=True)
class Part:
    """Numbers of one kind; `start` is None for an array in the thread's own registers."""

    name: str
    size: int
    start: int | None

    def at(self, element: int | str) -> str:
        """C++ for one of the numbers."""
        if self.start is None:
            return f"{self.name}[{element}]"
        return f"mine[({element} + {self.start}) * KT_WARP]"

    def declared(self) -> str:
        """The declaration of an array of the thread, if there is one."""
        return f"real {self.name}[{self.size}];" if self.start is None and self.size else ""


@dataclass(frozen=True, slots=True)
class RolloutLayout:
    """The places of the numbers of a rollout: registers of the thread, or shared memory.

    The state of a small robot stays in registers. That of a large one would leave too few of them
    to compute with; like parameters and rates it lies in shared memory, the numbers of 32 rollouts
    side by side, so that each thread has a bank of its own. The compiler places the rest.

    x: the state that a step begins with; begun: the one that a stage begins with, the same part
    where there is one stage; p: parameters; rates: those of all stages, where there are several.
    pitch: distance of the rows in which results are put together, `staging` where these begin.
    """

    x: Part
    begun: Part
    p: Part
    rates: Part
    staging: int
    pitch: int

    @property
    def tile(self) -> int:
        """Numbers of shared memory for a warp."""
        return self.staging + self.pitch * WARP


def make_frame(stepping: Stepping, itemsize: int, budget: int = STATE_BYTES) -> RolloutLayout:
    """Place all parts, with at most about `budget` bytes of shared memory for a rollout."""
    n, stages = stepping.sizes, len(stepping.stages)
    several = stages > 1
    widest = max((field.size for field in stepping.fields), default=1)
    pitch = widest | 1  # odd, so that rows of threads begin in different banks
    left = budget // itemsize - pitch
    parts: dict[str, Part] = {}
    used = 0
    sizes = {"x": n["x"], "begun": n["x"] * several, "p": n["p"]}
    sizes["rates"] = n["k"] * stages * several
    for name, size in sizes.items():
        kept = name in ("x", "begun") and n["x"] <= REGISTER_STATE
        start = used if size and not kept and used + size <= left else None
        used += 0 if start is None else size
        parts[name] = Part(name, size, start)
    if not several:
        parts["begun"] = parts["x"]
    return RolloutLayout(**parts, staging=used * WARP, pitch=pitch)


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
        """The code on the current GPU, compiled and loaded at the first request."""
        return self._loaded.on_this_gpu(dtype)

    def _load(self, dtype: str, short: bool) -> Launch:
        shared = make_frame(self.stepping, ITEMSIZE[dtype]).tile * ITEMSIZE[dtype]
        return load(self.source(dtype, short=short), NAME, shared)

    def run(self, run: Run) -> None:
        """All evaluations of a run, queued on the current stream.

        Arrays are contiguous CuPy arrays of one number type; `rows` and `first` hold int32.
        """
        if not run.empty:
            self.launch(str(run.state.dtype))(len(run.state), arguments_of(run))


def arguments_of(run: Run) -> list[Any]:
    """The arguments of the kernel after the number of rollouts, in the order of `ARRAYS`."""
    params, table = run.params, run.table
    return [
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


def emit_rollout(stepping: Stepping, dtype: str, frame: RolloutLayout | None = None) -> str:
    """Text of the kernel; a block has whole warps, each with `frame.tile` numbers."""
    loop = RolloutBody(stepping, dtype, frame or make_frame(stepping, ITEMSIZE[dtype]))
    body = "\n".join(f"    {line}" for line in loop.lines())
    records = [f"real *record{k}" for k in range(len(stepping.fields))]
    arrays = ",\n    ".join([*ARRAYS, *records])
    graphs = (stepping.rate, stepping.watch, *stepping.stages)
    return f"""{prelude(dtype, *graphs)}
{loop.constants.text()}
#define KT_NOTE(j, value) \\
    if (first[note + j] < 0) {{ first[note + j] = offset + e; amount[note + j] = value; }}
{bounds()}
{NAME}(
    long long count, int evaluations, int steps, int offset,
    {arrays}) {{
{body}
}}
"""


class RolloutBody:
    """Writes the body of the kernel."""

    def __init__(self, stepping: Stepping, dtype: str, frame: RolloutLayout) -> None:
        self.stepping, self.frame = stepping, frame
        self.constants = Constants("kt_constants", dtype)
        self.sizes, self.stages = stepping.sizes, len(stepping.stages)

    def lines(self) -> Iterator[str]:
        """The whole body: read the state, step, write the state."""
        several, size = self.stages > 1, self.sizes["x"]
        yield from self.begin()
        yield from ("#pragma unroll 1", STEPS, "const real h = lengths[e];")
        if several:
            yield from ("#pragma unroll 1", f"for (int i = 0; i < {self.stages}; i++) {{")
        else:
            yield from ("{", "[[maybe_unused]] const int i = 0;")
        yield from self.rate()
        yield "if (i == 0) {" if several else "{"
        yield from self.look()
        yield from self.record()
        yield from ("}", "if (e >= steps) break;")
        yield from self.advance()
        yield "}}"
        yield "if (lane < own) {"
        yield from (f"state[me * {size} + {j}] = {self.frame.x.at(j)};" for j in range(size))
        yield "}"

    def begin(self) -> Iterator[str]:
        """The number of the thread, its state and its parameters."""
        frame, size = self.frame, self.sizes["x"]
        yield "KT_SHARED(memory);"
        yield "const int warp = threadIdx.x / KT_WARP, lane = threadIdx.x % KT_WARP;"
        yield "const long long begin = "
        yield "    ((long long)blockIdx.x * (blockDim.x / KT_WARP) + warp) * KT_WARP;"
        yield "if (begin >= count) return;"
        yield "const int own = count - begin < KT_WARP ? (int)(count - begin) : KT_WARP;"
        yield "const long long me = begin + (lane < own ? lane : own - 1);"
        yield f"const long long note = me * {self.stepping.watched};"
        yield f"real *tile = (real *)memory + warp * {frame.tile};"
        yield "[[maybe_unused]] real *mine = tile + lane;"
        yield f"real *staging = tile + {frame.staging};"
        yield from filter(None, [p.declared() for p in (frame.x, frame.p, frame.rates)])
        if self.stages > 1:
            yield from filter(None, [frame.begun.declared()])
        for j in range(size):
            into = {frame.x.at(j), frame.begun.at(j)}
            yield f"{' = '.join(sorted(into))} = state[me * {size} + {j}];"
        for j in sorted(elements(self.stepping.rate, "p")):
            yield f"{frame.p.at(j)} = params[me * params_step + {j}];"

    def rate(self) -> Iterator[str]:
        """k and y of the state that the stage begins with."""
        rate = self.stepping.rate
        ports = [port.name for port in rate.inputs]
        frame = self.frame
        if elements(rate, "t"):
            yield f"const real now = times[e * {self.stages} + i];"
        if elements(rate, "s"):
            yield f"const real *signals = table + (e * {self.stages} + i) * table_row"
            yield "    + me * table_step;"
        yield f"real k[{self.sizes['k']}];"
        # constant forces are neither recorded nor watched
        yield f"[[maybe_unused]] real y[{max(1, self.sizes['y'])}];"

        def read(port: int, element: int) -> str:
            part = {"x": frame.begun, "p": frame.p}.get(ports[port])
            if part is not None:
                return part.at(element)
            return "now" if ports[port] == "t" else f"signals[{element}]"

        yield from self.scope(rate, read, lambda output, j: f"{'ky'[output]}[{j}]")
        if self.stages > 1:
            size = self.sizes["k"]
            yield from (f"{frame.rates.at(f'i * {size} + {j}')} = k[{j}];" for j in range(size))

    def advance(self) -> Iterator[str]:
        """The state after a stage, from the rates so far."""
        for i, stage in enumerate(self.stepping.stages):
            if self.stages > 1:
                yield f"{'else ' * (i > 0)}if (i == {i}) {{"
            yield from self.stage(stage, i == self.stages - 1)
            if self.stages > 1:
                yield "}"

    def stage(self, stage: Graph, last: bool) -> Iterator[str]:
        """One of the stages; the last one leads to the state of the next step."""
        frame, size = self.frame, self.sizes["k"]

        def read(port: int, element: int) -> str:
            if port < 2:
                return "h" if port == 0 else frame.x.at(element)
            if self.stages == 1:
                return f"k[{element}]"
            return frame.rates.at((port - 2) * size + element)

        yield f"real next[{self.sizes['x']}];"
        yield from self.scope(stage, read, lambda output, j: f"next[{j}]")
        for j in range(self.sizes["x"]):
            into = {frame.begun.at(j)} | ({frame.x.at(j)} if last else set())
            yield f"{' = '.join(sorted(into))} = next[{j}];"

    def look(self) -> Iterator[str]:
        """Note numbers that are not finite and margins that are negative; both are rare.

        The noted values are computed again, from copies that the compiler cannot recognise as such:
        no margin then occupies a register for the rare case.
        """
        size, count = self.sizes["x"], self.sizes["w"]
        x = [self.frame.x.at(j) for j in range(size)]
        yield "real probe = 0;"  # becomes NaN where one of them is not finite
        yield from (f"probe = kt_fma({value}, 0, probe);" for value in x)
        yield "bool odd = !(probe == 0);"
        if count:
            yield from self.margins(self.watched, "odd |= margin[{}] < 0;")
        yield "if (odd && lane < own) {"
        for j, value in enumerate(x):
            yield f"if (!kt_is_finite({value})) KT_NOTE({j}, {value})"
        if count:
            note = "if (margin[{0}] < 0) KT_NOTE({1}, margin[{0}])"
            copy = "kt_again({})".format
            yield from self.margins(lambda port, e: copy(self.watched(port, e)), note, size)
        yield "}"

    def margins(self, read: Place, line: str, offset: int = 0) -> Iterator[str]:
        """The margins, and a line for each of them."""
        count = self.sizes["w"]
        yield f"{{ real margin[{count}];"
        yield from self.scope(self.stepping.watch, read, lambda output, j: f"margin[{j}]")
        yield from (line.format(j, offset + j) for j in range(count))
        yield "}"

    def watched(self, port: int, element: int) -> str:
        """The arguments of the margins: x, k and y."""
        return (self.frame.x.at(element), f"k[{element}]", f"y[{element}]")[port]

    def record(self) -> Iterator[str]:
        """Write the fields, where this evaluation has a row."""
        if not self.stepping.fields:
            return
        yield "const int row = rows[e];"
        yield "if (row >= 0) {"
        for k, field in enumerate(self.stepping.fields):
            pitch, size = self.frame.pitch, field.size
            for j in range(size):
                yield f"staging[lane * {pitch} + {j}] = {self.recorded(field, j)};"
            where = f"record{k} + ((long long)row * count + begin) * {size}"
            yield "__syncwarp();"
            yield f"kt_write<{size}, {pitch}>(staging, {where}, own, lane);"
            yield "__syncwarp();"
        yield "}"

    def recorded(self, field: Field, j: int) -> str:
        """An element of a field after the first evaluation of a step."""
        element = field.start + j
        return self.frame.x.at(element) if field.source == "x" else f"{field.source}[{element}]"

    def scope(self, graph: Graph, read: Place, write: Place) -> Iterator[str]:
        """A graph between brackets, so that its names are its own."""
        yield "{"
        for line in statements(graph, self.constants, read, write):
            yield f"    {line}"
        yield "}"


def elements(graph: Graph, name: str) -> set[int]:
    """Return the elements of an input that a graph reads."""
    port = [p.name for p in graph.inputs].index(name)
    inputs = [node.place for node in graph.nodes if node.op == "input"]
    return {element for k, element in inputs if k == port}
