"""The plan of a kernel: what the entry point that all kernels share has to know of it.

A plan is an array of words: the numbers of arguments and results, their sizes, and the addresses of
the kernel's code for each number type. Addresses are noted when the code is there: the code for
float32 is compiled at the first call that needs it, and so is the kernel with a further argument
(F_ext). A call that needs what is not noted yet goes to the kernel's general call.
"""

import ctypes
import sys

from kinetree.core.axis import Axis
from kinetree.engine.compiler.graph import Graph, Port

# words of a plan
NIN, NOUT, WORDS, GUARDED, BRIEF = range(5)
ONE64, LOOP64, ONE32, LOOP32, LARGER, EXTRA, NAMES = range(5, 12)
FIRST = 12  # the ports follow
NDIM, SIZE, DIMS = 0, 1, 2  # words of a port; the distances between elements follow its sizes
MAX_DIMS, MAX_PORTS = 6, 24
STEPS = DIMS + MAX_DIMS
PORT = STEPS + MAX_DIMS

GIL_OPERATIONS = 20_000  # up to which a loop keeps the GIL; letting it go costs as much as 1,000

Plan = ctypes.Array[ctypes.c_ssize_t]

# names along the axis of each input (None: it has none), and along the axes of each output
Axes = tuple[tuple[Axis | None, ...], tuple[tuple[Axis | None, ...], ...]]


def make_plan(graph: Graph) -> Plan | None:
    """Return the plan of a graph, without addresses; None for too many ports or dimensions."""
    ports = (*graph.inputs, *graph.outputs)
    if len(ports) > MAX_PORTS or any(len(port.shape) > MAX_DIMS for port in ports):
        return None
    plan = (ctypes.c_ssize_t * (FIRST + PORT * len(ports)))()
    plan[NIN], plan[NOUT] = len(graph.inputs), len(graph.outputs)
    plan[WORDS] = sum(port.size for port in graph.inputs)
    plan[BRIEF] = GIL_OPERATIONS // (graph.operations + 1)
    for k, port in enumerate(ports):
        start = FIRST + PORT * k
        plan[start + NDIM], plan[start + SIZE] = len(port.shape), port.size
        for axis, (size, step) in enumerate(zip(port.shape, strides(port, 1), strict=True)):
            plan[start + DIMS + axis], plan[start + STEPS + axis] = size, step
    return plan


def guard(plan: Plan | None) -> None:
    """Leave arrays for arguments without dimensions to the general call, which checks them."""
    if plan is not None:
        plan[GUARDED] = 1


def learn_code(plan: Plan | None, dtype: str, one: int, loop: int) -> None:
    """Note the addresses of the code for a number type: one state, and the loop over states."""
    if plan is not None:
        places = (LOOP64, ONE64) if dtype == "float64" else (LOOP32, ONE32)
        plan[places[0]], plan[places[1]] = loop, one


def learn_name(plan: Plan | None, extra: str) -> None:
    """Note the name of the further argument: interned, as names in calls are, and kept alive."""
    if plan is not None:
        plan[EXTRA] = id(extra)


def learn_names(plan: Plan | None, axes: Axes | None) -> object:
    """Note the names along arguments and results with one axis; return what must be kept alive.

    They are interned, as keys in programs are.
    """
    if plan is None or axes is None:
        return None
    ports = [*((x,) for x in axes[0]), *axes[1]]
    kept = [
        tuple(map(sys.intern, port[0].names))
        if len(port) == 1 and port[0] is not None and not port[0].directions
        else None
        for port in ports
    ]
    table = (ctypes.c_ssize_t * len(kept))(*(0 if names is None else id(names) for names in kept))
    plan[NAMES] = ctypes.addressof(table)
    return kept, table


def learn_larger(plan: Plan, kernel: object) -> None:
    """Note the kernel that takes one argument more; it must be kept alive."""
    plan[LARGER] = id(kernel)


def strides(port: Port, size: int = 8) -> list[int]:
    """Return the bytes between neighbours along each dimension of contiguous numbers of a size."""
    reversed_strides, step = list[int](), size
    for length in reversed(port.shape):
        reversed_strides.append(step)
        step *= length
    return reversed_strides[::-1]


def emit_one(graph: Graph, name: str = "kernel") -> str:
    """LLVM IR of `@{name}_at`: `@{name}_one` with the addresses of its arrays in one array."""
    nin, nout = len(graph.inputs), len(graph.outputs)
    from kinetree.engine.call.blocks import Function  # not for code that is on disk

    f = Function(f"{name}_at", "ptr %arrays", "void")
    data = [f"ptr {f.item('ptr', '%arrays', k)}" for k in range(nin + nout)]
    f.call("void", f"@{name}_one", *data)
    f.give()
    return f.text()
