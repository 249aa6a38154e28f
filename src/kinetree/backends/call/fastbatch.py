"""The entry points of a batch: rows of states in contiguous float64 arrays, one axis before each.

`@{name}_batch` has Python's call protocol and takes the calls that `@{name}_call` (fastcall.py)
does not handle. Where all arguments have the same number of states, below the limit from which
threads pay, it makes the result arrays and calls the loop over states without the GIL. This saves
the 2 microseconds that NumPy and Python need around a loop.

Any other call goes on, unchanged, to `@{name}_into`, for `kernel(..., out=arrays)`. Where `out` is
the only keyword and its arrays are plain, fit, and overlap neither the arguments nor each other,
the loop over states writes into them. The rest goes to the object's general call.
"""

from kinetree.backends.call import c_api as abi
from kinetree.backends.call.fastcall import (
    COUNT,
    FUNCTIONS,
    GENERAL,
    LIMIT,
    PROTOCOL,
    TABLE,
    Place,
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
    """Return LLVM IR of `@{name}_batch`, for the module that defines `@{name}_quiet`."""
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


def strides(port: Port, size: int = SIZE) -> list[int]:
    """Return the bytes between neighbours along each dimension of a contiguous array."""
    found, step = list[int](), size
    for length in reversed(port.shape):
        found.append(step)
        step *= length
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


def emit_into(graph: Graph, name: str = "kernel") -> str:
    """Return LLVM IR of `@{name}_into`, for the module that defines `@{name}_batch`."""
    nin, nout = len(graph.inputs), len(graph.outputs)
    shapes: list[Shape] = [(None, *port.shape) for port in (*graph.inputs, *graph.outputs)]
    out: list[Place] = [("%args", 8 * nin)]
    if nout > 1:
        out = [("%value", abi.ITEMS + 8 * k) for k in range(nout)]
    lines = [
        f"define internal ptr @{name}_into({PROTOCOL}) {{",
        "entry:",
        f"%arrays = alloca [{nin + nout} x ptr]",
        "%number = alloca i64",
        *find_out(nin, nout),
        *checks(shapes, out),
        *count(len(shapes)),
        *apart(graph),
        *write(graph, name),
        *general(),
        "}",
    ]
    return "\n".join(lines) + "\n"


def find_out(nin: int, nout: int) -> list[str]:
    """Check that all arguments are given, that `out` is the only keyword, and that it fits."""
    lines = [
        *field("%table", "ptr", "%self", TABLE),
        f"%nargs = and i64 %nargsf, {COUNT}",
        f"%enough = icmp eq i64 %nargs, {nin}",
        "%named = icmp ne ptr %kwnames, null",
        *all_of("keyword", ["%enough", "%named"], "look"),
        "look:",
        *row("out"),
        *row("tuple"),
        *field("%names", "i64", "%kwnames", abi.LENGTH),
        *field("%first", "ptr", "%kwnames", abi.ITEMS),
        *field("%value", "ptr", "%args", 8 * nin),
        *field("%kind", "ptr", "%value", abi.TYPE),
        "%single = icmp eq i64 %names, 1",
        "%is_out = icmp eq ptr %first, %out",
    ]
    if nout == 1:
        return lines + all_of("only_out", ["%single", "%is_out"], "types")
    return [
        *lines,
        "%is_tuple = icmp eq ptr %kind, %tuple",
        *all_of("only_out", ["%single", "%is_out", "%is_tuple"], "measure"),
        "measure:",
        *field("%length", "i64", "%value", abi.LENGTH),
        f"%fits = icmp eq i64 %length, {nout}",
        *all_of("all_out", ["%fits"], "types"),
    ]


def apart(graph: Graph) -> list[str]:
    """Check that the outputs overlap no other array: NumPy would copy these first."""
    ports = (*graph.inputs, *graph.outputs)
    lines, tests = ["batch:"], []
    for i, port in enumerate(ports):
        lines += [
            *field(f"%data{i}", "ptr", f"%in{i}", abi.DATA),
            f"%start{i} = ptrtoint ptr %data{i} to i64",
            f"%bytes{i} = mul i64 %size0_0, {SIZE * port.size}",
            f"%end{i} = add i64 %start{i}, %bytes{i}",
        ]
    for k in range(len(graph.inputs), len(ports)):
        for i in range(k):
            lines += [
                f"%before{i}_{k} = icmp ule i64 %end{i}, %start{k}",
                f"%behind{i}_{k} = icmp ule i64 %end{k}, %start{i}",
                f"%apart{i}_{k} = or i1 %before{i}_{k}, %behind{i}_{k}",
            ]
            tests.append(f"%apart{i}_{k}")
    return lines + all_of("are_apart", tests, "go")


def write(graph: Graph, name: str) -> list[str]:
    """Call the loop over states; the result is the object given as `out`."""
    lines = ["go:", *(line for f in FUNCTIONS for line in row(f))]
    for i in range(len(graph.inputs) + len(graph.outputs)):
        lines += put(f"%array{i}", f"ptr %data{i}", "%arrays", i)
    lines += ["store i64 %size0_0, ptr %number", *run(name, "%number")]
    return [*lines, "call void %Py_IncRef(ptr %value)", "ret ptr %value"]


def general() -> list[str]:
    """Pass every other call, with the same arguments, to the object's general call."""
    return [
        "general:",
        *row("PyObject_Vectorcall"),
        *field("%other", "ptr", "%self", GENERAL),
        "%answer = tail call ptr %PyObject_Vectorcall("
        "ptr %other, ptr %args, i64 %nargsf, ptr %kwnames)",
        "ret ptr %answer",
    ]
