"""The entry point of a batch: rows of states in contiguous float64 arrays, one axis before each.

`@{name}_batch` has Python's call protocol and takes what `@{name}_call` (fastcall.py) leaves over.
Where all arguments have the same number of states, below the limit from which threads pay, it makes
the result arrays and calls the loop over states without the GIL; any other call goes on, unchanged,
to `@{name}_into` (fastinto.py). It saves what NumPy and Python do around a loop, 2 microseconds.
"""

from kinetree.backends import arrays_abi as abi
from kinetree.backends.fastcall import (
    FUNCTIONS,
    LIMIT,
    PROTOCOL,
    Shape,
    all_of,
    checks,
    field,
    new_array,
    onward,
    pack,
    row,
    start,
    undo,
)
from kinetree.compiler.graph import Graph, Port

SIZE = 8  # bytes of a number


def emit_batch(graph: Graph, name: str = "kernel") -> str:
    """LLVM IR of `@{name}_batch`, to stand in the module that defines `@{name}_quiet`."""
    shapes: list[Shape] = [(None, *port.shape) for port in graph.inputs]
    lines = [
        steps(graph, name),
        f"define internal ptr @{name}_batch({PROTOCOL}) {{",
        "entry:",
        *rooms(graph),
        *start(len(shapes)),
        *checks(shapes),
        *count(len(shapes)),
        *compute(graph, name),
        *onward(f"{name}_into"),
        "}",
    ]
    return "\n".join(lines) + "\n"


def steps(graph: Graph, name: str) -> str:
    """Bytes between states of each array, then those between elements along each dimension."""
    ports = (*graph.inputs, *graph.outputs)
    outer = [SIZE * port.size for port in ports]
    words = ", ".join(f"i64 {step}" for step in (*outer, *(s for p in ports for s in strides(p))))
    size = len(outer) + sum(len(port.shape) for port in ports)
    return f"@{name}_steps = private constant [{size} x i64] [{words}]"


def strides(port: Port) -> list[int]:
    """Bytes between neighbours along each dimension of a contiguous array."""
    found, step = [], SIZE
    for size in reversed(port.shape):
        found.append(step)
        step *= size
    return found[::-1]


def rooms(graph: Graph) -> list[str]:
    """Memory for the shapes of the results and the addresses of all arrays."""
    lines = [f"%arrays = alloca [{len(graph.inputs) + len(graph.outputs)} x ptr]"]
    for k, port in enumerate(graph.outputs):
        lines.append(f"%shape{k} = alloca [{1 + len(port.shape)} x i64]")
    return lines


def count(arrays: int) -> list[str]:
    """Check that the numbers of states are one and the same, at least 1 and below the limit."""
    lines = [
        "compute:",
        *field("%limit", "i64", "%self", LIMIT),
        "%some = icmp sgt i64 %size0_0, 0",
        "%below = icmp slt i64 %size0_0, %limit",
    ]
    tests = ["%some", "%below"]
    for i in range(1, arrays):
        lines.append(f"%same{i} = icmp eq i64 %size0_0, %size{i}_0")
        tests.append(f"%same{i}")
    return lines + all_of("is_batch", tests, "batch")


def compute(graph: Graph, name: str) -> list[str]:
    """New arrays for the outputs, the loop over states, and the result: one array or a tuple."""
    nin, nout = len(graph.inputs), len(graph.outputs)
    lines = ["batch:", *row("float64"), *(line for f in FUNCTIONS for line in row(f))]
    for k, port in enumerate(graph.outputs):
        for axis, size in enumerate(("%size0_0", *port.shape)):
            lines += put(f"%shape{k}_{axis}", f"i64 {size}", f"%shape{k}", axis)
        lines += new_array(k, 1 + len(port.shape), f"%shape{k}")
        lines += put(f"%array{nin + k}", f"ptr %to{k}", "%arrays", nin + k)
    for i in range(nin):
        lines += field(f"%from{i}", "ptr", f"%in{i}", abi.DATA)
        lines += put(f"%array{i}", f"ptr %from{i}", "%arrays", i)
    lines += run(name, "%shape0")
    lines += ["ret ptr %out0"] if nout == 1 else pack(nout)
    return lines + undo(list(range(nout)), packed=nout != 1)


def run(name: str, dimensions: str) -> list[str]:
    """The loop over all states of %arrays, without the GIL."""
    return [
        "%thread = call ptr %PyEval_SaveThread()",
        f"call void @{name}_quiet(ptr %arrays, ptr {dimensions}, ptr @{name}_steps, ptr null)",
        "call void %PyEval_RestoreThread(ptr %thread)",
    ]


def put(place: str, value: str, base: str, position: int) -> list[str]:
    """Store a word in an array of words."""
    return [
        f"{place} = getelementptr i8, ptr {base}, i64 {8 * position}",
        f"store {value}, ptr {place}",
    ]
