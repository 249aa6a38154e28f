"""The iterations of iLQR on a GPU: the driver of the CPU, printed for a block of warps.

Each block takes some of the problems, one after the other. Its threads share the stages, the
lengths of the step, and the rows and columns of matrices. Plans have the bits of the CPU, unless an
angle exceeds 131,072 rad, whose sines are CUDA's.
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.loops import Value, Vector
from kinetree.engine.cuda.body import Constants, statements
from kinetree.engine.cuda.launch import Launch, load_with, require_device
from kinetree.engine.cuda.layout import WARP
from kinetree.engine.cuda.loops import CLoops
from kinetree.engine.cuda.prelude import prelude
from kinetree.optimal.driver import ARGUMENTS, SYMBOL, Driver
from kinetree.optimal.riccati import LENGTHS, Sizes
from kinetree.optimal.transcription import Forward

NUMBER = 8  # bytes
BLOCKS = 8  # for each multiprocessor, at most, which take the problems in turns
FEW = 4  # problems for each multiprocessor, up to which they have several warps each
WARPS = 4
BARRIERS = ("__syncwarp();", "__syncthreads();")

# the code of a graph stands apart, so that it exists once
APART = """
#if defined(__CUDACC__)
#define KT_APART static __device__ __noinline__
#else
#define KT_APART static
#endif
"""
ENTRY = f"""
KT_ENTRY({{threads}}, 1) kt_plans(
    long long count, long long problems, long long iterations, long long *words, real *scratch,
    long long size) {{{{
    KT_SHARED(memory);
    [[maybe_unused]] const int lane = threadIdx.x % {WARP}, warp = threadIdx.x / {WARP};
    const long long first = problems * blockIdx.x / gridDim.x;
    const long long last = problems * (blockIdx.x + 1) / gridDim.x;
    scratch += blockIdx.x * size;
    {SYMBOL}((real *)words, scratch, {{work}}, first, last, iterations, {{place}});
}}}}
"""


class CudaDriver(Driver):
    """The driver whose graphs are functions that each thread calls in its turns."""

    def stage_slopes(self) -> None:
        """As `Driver` says."""
        s, code, blocks, costs = self.sizes, self.code, *self.parts("blocks", "stage_costs")
        with code.parallel(0, self.stages) as t:
            row = self.plan.behind(t * s.row["end"])
            parts = [row.behind(s.row[name]) for name in ("x", "u", "p")]
            slopes = blocks.behind(t * s.block["end"] + s.stage_slopes)
            self.call("stage", *parts, row.behind(s.row["end"]), slopes, costs.behind(t * s.kinds))
        if s.columns:
            z = s.n + s.m
            with code.parallel(0, self.stages * z) as k:
                row, block = self.plan.behind(k // z * s.row["end"]), k // z * s.block["end"]
                parts = [row.behind(s.row[name]) for name in ("x", "u", "p")]
                self.call("column", *parts, k % z, blocks.behind(block + k % z))

    def last_slopes(self, count: int) -> None:
        """As `Driver` says."""
        s, (state, ends, costs) = self.sizes, self.parts("state", "ends", "end_costs")
        p = self.last.behind(s.row["p"])
        with self.code.parallel(0, count) as t:
            slopes = ends.behind(t * s.end["end"])
            self.call("last", state.behind(t * s.candidate), p, slopes, costs.behind(t * s.kinds))

    def run_forward(self, params: Vector) -> None:
        """As `Driver` says."""
        s, code, L = self.sizes, self.code, LENGTHS
        names = "state", "next", "states", "forces"
        state, following, states, forces = self.parts(*names)
        with code.parallel(0, L) as t:
            x, reached = (part.behind(t * s.candidate) for part in (state, following))
            p = params.behind(t * s.params)
            with code.each(0, self.stages) as e:
                row, k = self.plan.behind(e * s.row["end"]), e * L + t
                code.copy(states.behind(k * s.nx), x, s.nx)
                self.call("rate", x, x, p, row, reached, forces.behind(k * s.m))
                code.copy(x, reached, s.candidate)

    def parts(self, *names: str) -> list[Vector]:
        """Parts of the memory."""
        return [self.vector[name] for name in names]

    def call(self, name: str, *arguments: Vector | Value) -> None:
        """Call the function of a graph in a turn of a thread."""
        values = [x if isinstance(x, Value) else x.address for x in arguments]
        self.code.do(f"kt_{name}({', '.join(x.name for x in values)});")
        self.code.stores += 1


def graph_function(name: str, graph: Graph, constants: Constants) -> str:
    """A function of the rows of the inputs and outputs of a graph."""
    rows = [f"const real *i{k}" for k in range(len(graph.inputs))]
    rows += [f"real *o{k}" for k in range(len(graph.outputs))]
    lines = "\n".join(f"    {line}" for line in statements(graph, constants))
    return f"KT_APART void kt_{name}({', '.join(rows)}) {{\n{lines}\n}}\n"


def column_function(graph: Graph, constants: Constants, wide: int) -> str:
    """The function of column k of F, whose rows are `wide` numbers apart."""
    lines = statements(graph, constants, write=lambda _, e: f"o[{e * wide}]")
    text = "\n".join(f"    {line}" for line in lines)
    head = "const real *i0, const real *i1, const real *i2, long long k, real *o"
    unit = f"    real i3[{graph.inputs[3].size}] = {{}};\n    i3[k] = 1;"
    return f"KT_APART void kt_column({head}) {{\n{unit}\n{text}\n}}\n"


def functions(
    sizes: Sizes,
    graphs: dict[str, Graph],
    warps: int = 1,
    linkage: str = "KT_FUNCTION",
    barriers: tuple[str, str] = BARRIERS,
) -> str:
    """The functions of the graphs, and `plan_iterate`, which calls them."""
    code = CLoops(sizes.lanes, SYMBOL, ARGUMENTS, linkage, warps=warps, barriers=barriers)
    CudaDriver(code, sizes).write()
    constants = Constants("kt_constants", "float64")
    parts = [
        column_function(graph, constants, sizes.wide)
        if name == "column"
        else graph_function(name, graph, constants)
        for name, graph in graphs.items()
    ]
    head = prelude("float64", *graphs.values())
    return "\n".join([head, APART, constants.text(), *parts, code.text()])


class Cuda:
    """The iterations of a solver on the current GPU. It can be made without one."""

    def __init__(self, sizes: Sizes, graphs: dict[str, Graph], forward: Forward) -> None:
        self.sizes, self.graphs = sizes, {**graphs, "rate": forward.stepping.rate}
        self._known: dict[tuple[int, int], Launch] = {}

    @cached_property
    def arrays(self) -> Any:
        """CuPy."""
        return require_device()

    @staticmethod
    def address(x: Any) -> int:
        """Where the numbers of an array begin."""
        return int(x.data.ptr)

    def source(self, warps: int, *, shared: bool) -> str:
        """The kernel; shared: the memory of the backward pass is that of a block."""
        work = "(real *)memory" if shared else "scratch"
        place = "lane, warp" if warps > 1 else "lane"
        entry = ENTRY.format(threads=WARP * warps, work=work, place=place)
        return functions(self.sizes, self.graphs, warps) + entry

    def launch(self, warps: int) -> Launch:
        """The kernel on the current GPU, for problems with so many warps each."""
        device = self.arrays.cuda.Device()
        key = device.id, warps
        if key not in self._known:
            each = -(-NUMBER * self.sizes.work["end"] // warps)
            shared = each * warps <= device.attributes["MaxSharedMemoryPerBlockOptin"]
            made = load_with(self.source(warps, shared=shared), "kt_plans", each * shared, 0)
            self._known[key] = replace(made, threads=WARP * warps)
        return self._known[key]

    def run(self, memory: Any, iterations: int) -> None:
        """Iterate on the plans of a memory."""
        B, size = len(memory.plans), self.sizes.scratch(memory.plans.shape[1] - 1)["end"]
        count = self.arrays.cuda.Device().attributes["MultiProcessorCount"]
        warps, blocks = WARPS if B <= FEW * count else 1, min(B, BLOCKS * count)
        if not memory.scratches:
            words = self.arrays.asarray(np.array(memory.words(), np.int64))
            memory.scratches.append((words, self.arrays.empty((blocks, size))))
        words, scratch = memory.scratches[0]
        arrays = [np.int64(B), np.int64(iterations), words, scratch, np.int64(size)]
        self.launch(warps)(blocks * WARP * warps, arrays)
