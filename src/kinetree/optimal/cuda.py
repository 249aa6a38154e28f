"""The iterations of iLQR on a GPU: the driver of the CPU, printed for a block of warps.

Each block takes some of the problems, one after the other. Its threads share the stages, the
lengths of the step, and the rows and columns of matrices. Plans have the bits of the CPU, unless an
angle exceeds 131,072 rad, whose sines are CUDA's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.loops import Loops, Value, Vector
from kinetree.engine.cuda.body import Constants, statements
from kinetree.engine.cuda.launch import Launch, load_with, require_device
from kinetree.engine.cuda.layout import WARP
from kinetree.engine.cuda.loops import CLoops
from kinetree.engine.cuda.prelude import prelude
from kinetree.optimal.driver import ARGUMENTS, SYMBOL, Driver, Passes
from kinetree.optimal.forward import Forward
from kinetree.optimal.riccati import LENGTHS, Sizes

NUMBER = 8  # bytes
BLOCKS = 8  # for each multiprocessor, at most, which take the problems in turns
FEW = 4  # problems for each multiprocessor, up to which they have several warps each
WARPS = 4

# where a function of a pass stands apart, so that its code exists once
PASS = """
#if defined(__CUDACC__)
#define KT_PASS static __device__ __noinline__ void
#else
#define KT_PASS static void
#endif
"""
ENTRY = f"""
KT_ENTRY({{threads}}, 1) kt_plans(
    long long count, long long problems, long long iterations, long long *words, real *scratch,
    long long size) {{{{
    KT_SHARED(memory);
    const int lane = threadIdx.x % {WARP}, warp = threadIdx.x / {WARP};
    const long long first = problems * blockIdx.x / gridDim.x;
    const long long last = problems * (blockIdx.x + 1) / gridDim.x;
    scratch += blockIdx.x * size;
    {SYMBOL}((real *)words, scratch, {{work}}, first, last, iterations, {{place}});
}}}}
"""


@dataclass(frozen=True)
class CudaText(Passes):
    """The text of the iterations for blocks of so many warps."""

    sizes: Sizes
    graphs: dict[str, Graph]
    forward_pass: Forward
    warps: int = 1
    barriers: tuple[str, str] = ("__syncwarp();", "__syncthreads();")

    def stages(
        self, code: Loops, plan: Vector, blocks: Vector, costs: Vector, count: Value
    ) -> None:
        """As `Passes` says."""
        code.call("kt_stages", plan.address, blocks.address, costs.address, count)
        if self.sizes.columns:
            code.call("kt_columns", plan.address, blocks.address, count)

    def ends(
        self, code: Loops, states: Vector, p: Vector, slopes: Vector, costs: Vector, count: int
    ) -> None:
        """As `Passes` says."""
        addresses = [x.address for x in (states, p, slopes, costs)]
        code.call("kt_ends", *addresses, count)

    def forward(
        self, code: Loops, plan: Vector, params: Vector, tried: Sequence[Vector], count: Value
    ) -> None:
        """As `Passes` says."""
        code.call("kt_forward", *[x.address for x in (plan, params, *tried)], count)

    def functions(self, linkage: str = "KT_FUNCTION") -> str:
        """The functions of the passes, and `plan_iterate`, which calls them."""
        code = CLoops(
            self.sizes.lanes,
            SYMBOL,
            ARGUMENTS,
            linkage,
            warps=self.warps,
            barriers=self.barriers,
        )
        driver = Driver(code, self.sizes, self)
        driver.write()
        constants = Constants("kt_constants", "float64")
        passes = "\n".join(self.passes(constants, code))
        graphs = [*self.graphs.values(), self.forward_pass.stepping.rate]
        head = prelude("float64", *graphs)
        return "\n".join([head, PASS, constants.text(), passes, code.text()])

    def passes(self, constants: Constants, code: CLoops) -> Iterator[str]:
        """The functions that the driver calls; threads take their turns."""
        s, place = self.sizes, code.place()
        row, block, L = s.row["end"], s.block["end"], LENGTHS
        inputs = {name: f"(row + {s.row[name]})" for name in ("x", "u", "p")}
        F = s.block["gradient"] * s.columns
        graphs = self.graphs
        lines = written(
            graphs["stage"],
            constants,
            inputs | {"following": f"(row + {row})"},
            [f"(blocks + t * {block} + {F})", f"(costs + t * {s.kinds})"],
        )
        head = "real *plan, real *blocks, real *costs, long long stages"
        at = f"const real *row = plan + t * {row};"
        yield from self.turns("kt_stages", head, place, "stages", [at, *lines])
        if s.columns:
            z = s.n + s.m
            lines = written(
                graphs["column"],
                constants,
                inputs | {"v": "unit"},
                [f"(blocks + t / {z} * {block} + t % {z})"],
                stride=s.wide,
            )
            at = f"const real *row = plan + t / {z} * {row};"
            units = [f"real unit[{z}] = {{}};", f"unit[t % {z}] = 1;"]
            head = "real *plan, real *blocks, long long stages"
            yield from self.turns("kt_columns", head, place, f"stages * {z}", [at, *units, *lines])
        lines = written(
            graphs["last"],
            constants,
            {"x": f"(states + t * {s.candidate})", "p": "p"},
            [f"(slopes + t * {s.end['end']})", f"(costs + t * {s.kinds})"],
        )
        head = "real *states, real *p, real *slopes, real *costs, long long count"
        yield from self.turns("kt_ends", head, place, "count", lines)
        lines = written(
            self.forward_pass.stepping.rate,
            constants,
            {"t": "0", "x": "x", "p": f"(params + t * {s.params})", "s": "row"},
            ["next", f"(forces + (e * {L} + t) * {s.m})"],
        )
        size, nx = s.candidate, s.nx
        body = [
            f"real x[{size}];",
            f"for (int j = 0; j < {size}; j++) x[j] = state[t * {size} + j];",
            "for (long long e = 0; e < stages; e++) {",
            f"    const real *row = plan + e * {row};",
            f"    real next[{size}];",
            f"    for (int j = 0; j < {nx}; j++) states[(e * {L} + t) * {nx} + j] = x[j];",
            *lines,
            f"    for (int j = 0; j < {size}; j++) x[j] = next[j];",
            "}",
            f"for (int j = 0; j < {size}; j++) state[t * {size} + j] = x[j];",
        ]
        head = "real *plan, real *params, real *state, real *states, real *forces, long long stages"
        yield from self.turns("kt_forward", head, place, str(L), body)

    def turns(
        self, name: str, parameters: str, place: list[str], count: str, body: Sequence[str]
    ) -> Iterator[str]:
        """A function whose threads take turns t in a loop."""
        lanes, warps = self.sizes.lanes, self.warps
        thread = f"warp * {lanes} + lane" if warps > 1 else "lane" if lanes > 1 else "0"
        yield f"KT_PASS {name}({', '.join([parameters, *place])}) {{"
        yield f"    for (long long t = {thread}; t < {count}; t += {lanes * warps}) {{"
        yield from (f"        {line}" for line in body)
        yield "    }\n}\n"

    def source(self, *, shared: bool) -> str:
        """The kernel; shared: the memory of the backward pass is that of a block."""
        work = "(real *)memory" if shared else "scratch"
        place = "lane, warp" if self.warps > 1 else "lane"
        entry = ENTRY.format(threads=WARP * self.warps, work=work, place=place)
        return f"{self.functions()}\n{entry}"


class CudaPasses:
    """The iterations of a solver on the current GPU. It can be made without one."""

    def __init__(self, sizes: Sizes, graphs: dict[str, Graph], forward: Forward) -> None:
        self.sizes, self.text = sizes, CudaText(sizes, graphs, forward)
        self._known: dict[tuple[int, int], Launch] = {}

    @cached_property
    def arrays(self) -> Any:
        """CuPy."""
        return require_device()

    @staticmethod
    def address(x: Any) -> int:
        """Where the numbers of an array begin."""
        return int(x.data.ptr)

    def launch(self, warps: int) -> Launch:
        """The kernel on the current GPU, for problems with so many warps each."""
        device = self.arrays.cuda.Device()
        key = device.id, warps
        if key not in self._known:
            each = -(-NUMBER * self.sizes.work["end"] // warps)
            shared = each * warps <= device.attributes["MaxSharedMemoryPerBlockOptin"]
            source = replace(self.text, warps=warps).source(shared=shared)
            made = load_with(source, "kt_plans", each * shared, 0)
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


def written(
    graph: Graph,
    constants: Constants,
    inputs: dict[str, str],
    outputs: list[str],
    *,
    stride: int = 1,
) -> list[str]:
    """Lines of a graph in brackets, with arrays by the names of its inputs and in order of outputs.

    An input of shape () is a number and no array. stride: from one number of an output to the next.
    """
    ports = graph.inputs

    def read(port: int, element: int) -> str:
        name = inputs[ports[port].name]
        return name if ports[port].shape == () else f"{name}[{element}]"

    def write(output: int, element: int) -> str:
        return f"{outputs[output]}[{element * stride}]"

    lines = statements(graph, constants, read, write)
    return ["{", *(f"    {line}" for line in lines), "}"]
