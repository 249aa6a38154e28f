"""Targets of exported C: processors, one line per fact, and estimates of cycles and stack.

`kt.export(..., target=...)` writes for one of them. Cycles of single instructions of the Cortex-M4
are those of Arm's Technical Reference Manual (DDI 0439, "FPU instruction set"). Costs of calls,
copies and functions are from the instructions that gcc 12 writes: `tools/firmware_figures.py`
counts them on an emulated board. For other processors Arm and Intel publish no such table.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from kinetree.engine.compiler.graph import Graph
from kinetree.engine.compiler.schedule import LEAVES, computed, waiting
from kinetree.engine.export.program import DOUBLE, FLOAT, Program
from kinetree.errors import NameLookupError

# the order of the statements keeps few values alive; a compiler that reorders them first needs more
STRICT = "-std=c99 -ffp-contract=off -fno-math-errno -fno-schedule-insns"
SIZES = {FLOAT: 4, DOUBLE: 8}
FUSED = ("fma", "fms", "fnma")


@dataclass(frozen=True)
class Target:
    """A processor, or a standard of C.

    about: in words. dtypes: types of numbers, the default first. fused: multiply-adds are one
    instruction with one rounding. kernel: types whose results have the bits of the kernel; the
    sines of float are then computed in double, as in the kernel. compiler, flags: as tested.
    registers: of floating point, for numbers of each type. saved: bytes of the stack for registers
    that functions keep for their callers. spread: values on the stack per value that waits for a
    later use. margin: factor on the estimate of the stack. cycles: of an instruction, by type;
    empty if they depend on the processor's model.
    costs: source of these cycles.
    """

    about: str
    dtypes: tuple[str, ...]
    fused: bool
    kernel: tuple[str, ...]
    compiler: str
    flags: str
    registers: Mapping[str, int]
    saved: int
    spread: float
    margin: float
    cycles: Mapping[str, Mapping[str, float]]
    costs: str = ""


# cycles of one instruction: arithmetic, fused, division and square root, load or store; of the
# copies for one fused operation, which overwrites its addend; of saving and restoring registers in
# a call; of sine and cosine together, and of other functions (exp, log, tanh, atan2)
M4F = {"add": 1, "fma": 3, "div": 14, "move": 2, "copy": 0.3, "call": 46}
M4F |= {"sincos": 126, "function": 100}
TARGETS = {
    "cortex-m4f": Target(
        about="Arm Cortex-M4 with its FPU, which computes in float only",
        dtypes=(FLOAT,),
        fused=True,
        kernel=(),
        compiler="arm-none-eabi-gcc",
        flags=f"-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -O2 {STRICT}",
        registers={FLOAT: 32},
        saved=136,
        spread=1.1,
        margin=1.3,
        cycles={FLOAT: M4F},
        costs="Arm's table for the Cortex-M4",
    ),
    "cortex-m7": Target(
        about="Arm Cortex-M7 with the FPU for float and double",
        dtypes=(FLOAT, DOUBLE),
        fused=True,
        kernel=(DOUBLE,),
        compiler="arm-none-eabi-gcc",
        flags=f"-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16 -O2 {STRICT}",
        registers={FLOAT: 32, DOUBLE: 16},
        saved=136,
        spread=1.1,
        margin=1.3,
        cycles={},
    ),
    "aarch64": Target(
        about="64-bit Arm (Armv8-A)",
        dtypes=(DOUBLE, FLOAT),
        fused=True,
        kernel=(DOUBLE, FLOAT),
        compiler="aarch64-linux-gnu-gcc",
        flags=f"-march=armv8-a -O2 {STRICT}",
        registers={FLOAT: 32, DOUBLE: 32},
        saved=136,
        spread=1.1,
        margin=1.3,
        cycles={},
    ),
    "x86-64-v3": Target(
        about="x86-64 with AVX2 and FMA",
        dtypes=(DOUBLE, FLOAT),
        fused=True,
        kernel=(DOUBLE, FLOAT),
        compiler="gcc",
        flags=f"-march=x86-64-v3 -O2 {STRICT}",
        registers={FLOAT: 16, DOUBLE: 16},
        saved=160,
        spread=1.15,
        margin=2.0,
        cycles={},
    ),
    "c99": Target(
        about="any processor with C99",
        dtypes=(DOUBLE, FLOAT),
        fused=False,
        kernel=(),
        compiler="gcc",
        flags="-O2",
        registers={FLOAT: 16, DOUBLE: 16},
        saved=64,
        spread=1.5,
        margin=2.0,
        cycles={},
    ),
}


def find_target(name: str) -> Target:
    """Return the target with this name; NameLookupError lists them."""
    target = TARGETS.get(name) if isinstance(name, str) else None
    if target is None:
        raise NameLookupError(f"there is no target {name!r}; expected one of {', '.join(TARGETS)}.")
    return target


@dataclass(frozen=True)
class Traffic:
    """Loads and stores of an evaluation with few registers."""

    loads: int
    stores: int


def traffic(graph: Graph, registers: int) -> Traffic:
    """Count loads and stores if the value with the farthest next use leaves the registers.

    This is the least possible number for the graph's order (Belady). Constants and inputs are
    loaded, never stored. Results wait until the end, where they are written last.
    """
    uses: list[list[int]] = [[] for _ in graph.nodes]
    for i, node in enumerate(graph.nodes):
        for arg in node.args:
            uses[arg].append(i)
    roots = dict.fromkeys(graph.roots())
    for root in roots:
        uses[root].append(len(graph.nodes))
    for later in uses:
        later.reverse()  # the next use is last
    held: set[int] = set()
    stored: set[int] = set()
    loads = stores = 0
    for i, node in enumerate(graph.nodes):
        if node.op in LEAVES:
            continue
        for arg in node.args:
            loads += arg not in held
            held.add(arg)
        for arg in node.args:
            while uses[arg] and uses[arg][-1] <= i:
                uses[arg].pop()
            if not uses[arg]:
                held.discard(arg)
        if uses[i]:
            held.add(i)
        while len(held) > registers:
            out = max(held, key=lambda value: uses[value][-1])
            held.remove(out)
            if graph.nodes[out].op not in LEAVES:
                stores += out not in stored
                stored.add(out)
    return Traffic(loads + len(roots.keys() - held), stores)


def cycles(program: Program, target: Target) -> int | None:
    """Estimate of the cycles of one call, with code and tables in memory without wait states."""
    costs = target.cycles.get(program.dtype)
    if costs is None:
        return None
    count = program.graph.count()
    memory = traffic(program.graph, target.registers[program.dtype])
    results = sum(port.size for port in program.outputs)
    kinds = instructions(count)
    total = sum(costs[kind] * n for kind, n in kinds.items()) + costs["call"]
    moves = memory.loads + memory.stores + results
    return round(total + costs["copy"] * kinds["fma"] + costs["move"] * moves)


def instructions(count: Counter[str]) -> Counter[str]:
    """Number of instructions of each cost, from the number of operations."""
    kinds: Counter[str] = Counter()
    for op, n in count.items():
        if op in FUSED:
            kinds["fma"] += n
        elif op in ("div", "sqrt"):
            kinds["div"] += n
        elif op in ("exp", "log", "tanh", "atan2"):
            kinds["function"] += n
        elif op in ("select", "sign", "min", "max"):
            kinds["add"] += 4 * n  # compare, read the flags, choose
        elif op not in (*LEAVES, "sin", "cos"):
            kinds["add"] += n
    kinds["sincos"] = max(count["sin"], count["cos"])
    return kinds


def stack_bytes(program: Program, target: Target) -> int:
    """Estimate of the stack of one call, in bytes, compiled by gcc with the target's flags.

    The values that wait for a later use, the results, which are written last, two values for every
    angle, and the registers that functions save, times the target's margin. The margin covers all
    cases compared with gcc 12: without it gcc used up to 1.14 times the estimate on Arm, and up to
    1.72 times on x86-64, where it orders derivatives in a way that needs more. It is no bound.
    Functions of the C library are not included.
    """
    graph = program.graph
    args, order = computed(graph)
    roots = [i for i in dict.fromkeys(graph.roots()) if graph.nodes[i].op not in LEAVES]
    live = max(waiting([*args, roots], [*order, len(args)]), default=0)
    values = target.spread * live + 2 * instructions(graph.count())["sincos"]
    return 8 * ceil(target.margin * (values * SIZES[program.dtype] + target.saved) / 8)
