"""The entry point of a batch that is written into arrays of the caller: `kernel(..., out=arrays)`.

`@{name}_into` takes what `@{name}_batch` (fastbatch.py) leaves over. Where `out` is the only
keyword and its arrays are plain, fit, and overlap neither the arguments nor each other, the loop
over states writes into them; any other call goes on, unchanged, to the object's general call.
"""

from kinetree.backends import arrays_abi as abi
from kinetree.backends.fastbatch import SIZE, count, put, run
from kinetree.backends.fastcall import (
    COUNT,
    FUNCTIONS,
    GENERAL,
    PROTOCOL,
    TABLE,
    Place,
    Shape,
    all_of,
    checks,
    field,
    row,
)
from kinetree.compiler.graph import Graph


def emit_into(graph: Graph, name: str = "kernel") -> str:
    """LLVM IR of `@{name}_into`, to stand in the module that defines `@{name}_batch`."""
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
        *start(nin, nout),
        *checks(shapes, out),
        *count(len(shapes)),
        *apart(graph),
        *compute(graph, name),
        *general(),
        "}",
    ]
    return "\n".join(lines) + "\n"


def start(nin: int, nout: int) -> list[str]:
    """Check that all arguments are there, that `out` is the only keyword, and that it fits."""
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
    """Check that what is written overlaps nothing else: NumPy would copy it first."""
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


def compute(graph: Graph, name: str) -> list[str]:
    """The loop over states; the result is what was given as `out`."""
    lines = ["go:", *(line for f in FUNCTIONS for line in row(f))]
    for i in range(len(graph.inputs) + len(graph.outputs)):
        lines += put(f"%array{i}", f"ptr %data{i}", "%arrays", i)
    lines += ["store i64 %size0_0, ptr %number", *run(name, "%number")]
    return [*lines, "call void %Py_IncRef(ptr %value)", "ret ptr %value"]


def general() -> list[str]:
    """Everything else: the same arguments to the object's general call."""
    return [
        "general:",
        *row("PyObject_Vectorcall"),
        *field("%other", "ptr", "%self", GENERAL),
        "%answer = tail call ptr %PyObject_Vectorcall("
        "ptr %other, ptr %args, i64 %nargsf, ptr %kwnames)",
        "ret ptr %answer",
    ]
