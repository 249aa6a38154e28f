"""The entry point of a single state: Python's call protocol, emitted as LLVM IR beside the kernel.

`@{name}_call(self, args, nargsf, kwnames)` is a vectorcall function. Where every argument is a
plain contiguous float64 array of the right shape, or a positive number for an argument without
dimensions (a step, say; other numbers may have to be refused), it makes the result arrays and calls
`@{name}_one`; any other call goes on, unchanged, to `@enter` (enter.py), which is shared by all
kernels. Addresses of
Python's and NumPy's functions differ from process to process, so they are read from a table, never
written into the code: object code stays valid in the disk cache.
"""

from collections.abc import Sequence

from kinetree.engine.call import c_api as abi
from kinetree.engine.compiler.graph import Graph

# layout of the object that is called, after its head of 16 bytes (see vectorcall.py)
ENTRY = 16
TABLE = 24
GENERAL = 32
LIMIT = 40
PLAN = 48

# C functions that the code calls
FUNCTIONS = (
    "PyArray_NewFromDescr",
    "PyArray_Scalar",
    "PyTuple_New",
    "PyTuple_SetItem",
    "Py_IncRef",
    "Py_DecRef",
)

# rows of the table: types, dtypes, None, names, and addresses of functions and of the pool
TYPES = ("ndarray", "float", "double", "int", "list", "tuple")
OBJECTS = (*TYPES, "float64", "float32", "None", "out", "only_out")
OTHERS = (
    "PyObject_Vectorcall",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyLong_AsDouble",
    "PyErr_Occurred",
    "PyErr_Clear",
)
OWN = ("enter", "pool", "handler")
ROWS = (*OBJECTS, *OWN, *FUNCTIONS, *OTHERS)

# nargsf carries a flag of the caller in its highest bit
COUNT = (1 << 63) - 1

PROTOCOL = "ptr %self, ptr %args, i64 %nargsf, ptr %kwnames"

Shape = tuple[int, ...]
Place = tuple[str, int]  # a pointer and bytes behind it


def emit_call(graph: Graph, name: str = "kernel") -> str:
    """LLVM IR of `@{name}_call`, beside `@{name}_one` in a module."""
    head = f"define ptr @{name}_call({PROTOCOL}) {{"
    rooms = [f"%to{k} = alloca double" for k, port in enumerate(graph.outputs) if not port.shape]
    tests = checks([port.shape for port in graph.inputs])
    body = ["entry:", *rooms, *start(len(graph.inputs)), *tests, *compute(graph, name)]
    body += onward()
    return "\n".join([*shapes(graph, name), head, *body, "}"]) + "\n"


def shapes(graph: Graph, name: str) -> list[str]:
    """The shapes of the outputs as constants."""
    lines = []
    for k, port in enumerate(graph.outputs):
        if port.shape:
            sizes = ", ".join(f"i64 {size}" for size in port.shape)
            kind = f"[{len(port.shape)} x i64]"
            lines.append(f"@{name}_shape{k} = private constant {kind} [{sizes}]")
    return lines


def start(count: int) -> list[str]:
    """A check of the number of arguments."""
    return [
        *field("%table", "ptr", "%self", TABLE),
        f"%nargs = and i64 %nargsf, {COUNT}",
        f"%enough = icmp eq i64 %nargs, {count}",
        "%positional = icmp eq ptr %kwnames, null",
        *all_of("plain", ["%enough", "%positional"], "types"),
    ]


def checks(shapes: Sequence[Shape]) -> list[str]:
    """Check all types first (only an array has the other fields), then headers, then dimensions.

    Arguments of shape () beside others may be floats of Python or NumPy.
    """
    places = [("%args", 8 * i) for i in range(len(shapes))]
    single = [i for i, shape in enumerate(shapes) if not shape]
    if single and len(single) < len(shapes):
        return _with_numbers(shapes, places, single)
    count = range(len(shapes))
    lines = ["types:", *row("ndarray")]
    for i in count:
        lines += [
            *field(f"%in{i}", "ptr", *places[i]),
            *field(f"%type{i}", "ptr", f"%in{i}", abi.TYPE),
            f"%is_array{i} = icmp eq ptr %type{i}, %ndarray",
        ]
    lines += all_of("are_arrays", [f"%is_array{i}" for i in count], "headers")
    lines.append("headers:")
    for i, shape in enumerate(shapes):
        lines += header(i, len(shape), abi.READY)
    lines += all_of("are_fit", [f"%is_fit{i}" for i in count], "dimensions")
    return lines + dimensions(shapes)


def _with_numbers(
    shapes: Sequence[Shape], places: Sequence[Place], single: Sequence[int]
) -> list[str]:
    """The same checks, in which the arguments `single` may be floats; %from of these is found.

    They must be positive and finite.

    The header of an argument that is a float is read from the first array instead, since a float
    has none, and the result of that check is not used.
    """
    first = next(i for i in range(len(shapes)) if i not in single)
    lines, tests = ["types:", *row("ndarray"), *row("float"), *row("double")], list[str]()
    for i in range(len(shapes)):
        lines += [
            *field(f"%in{i}", "ptr", *places[i]),
            *field(f"%type{i}", "ptr", f"%in{i}", abi.TYPE),
            f"%is_array{i} = icmp eq ptr %type{i}, %ndarray",
        ]
        if i in single:
            lines += [
                f"%is_float{i} = icmp eq ptr %type{i}, %float",
                f"%is_numpy{i} = icmp eq ptr %type{i}, %double",
                f"%is_number{i} = or i1 %is_float{i}, %is_numpy{i}",
                f"%is_either{i} = or i1 %is_number{i}, %is_array{i}",
            ]
        tests.append(f"%is_{'either' if i in single else 'array'}{i}")
    lines += [*all_of("are_arrays", tests, "headers"), "headers:"]
    fits = list[str]()
    for i, shape in enumerate(shapes):
        if i in single:
            lines.append(f"%seen{i} = select i1 %is_number{i}, ptr %in{first}, ptr %in{i}")
            lines += header(i, len(shape), abi.READY, of=f"%seen{i}")
            lines += [
                *field(f"%data{i}", "ptr", f"%seen{i}", abi.DATA),
                f"%value{i} = getelementptr i8, ptr %in{i}, i64 {abi.NUMBER}",
                f"%from{i} = select i1 %is_number{i}, ptr %value{i}, ptr %data{i}",
                f"%is_good{i} = or i1 %is_number{i}, %is_fit{i}",
            ]
        else:
            lines += header(i, len(shape), abi.READY)
        fits.append(f"%is_{'good' if i in single else 'fit'}{i}")
    lines += [*all_of("are_fit", fits, "numbers"), "numbers:"]
    for i in single:
        lines += [
            f"%number_{i} = load double, ptr %from{i}",
            f"%is_positive{i} = fcmp ogt double %number_{i}, 0.0",
            f"%is_finite{i} = fcmp olt double %number_{i}, 0x7FF0000000000000",
        ]
    tests = [f"%is_{what}{i}" for i in single for what in ("positive", "finite")]
    return [*lines, *all_of("are_lengths", tests, "dimensions"), *dimensions(shapes)]


def header(i: int, ndim: int, flags: int, of: str = "") -> list[str]:
    """Check that array i is native float64, has all the flags, and has the right dimension.

    The dtype is compared by its fields: an array that was unpickled has its own dtype object.
    """
    of = of or f"%in{i}"
    return [
        *field(f"%descr{i}", "ptr", of, abi.DESCR),
        *field(f"%number{i}", "i32", f"%descr{i}", abi.TYPE_NUMBER),
        *field(f"%order{i}", "i8", f"%descr{i}", abi.BYTE_ORDER),
        f"%is_double{i} = icmp eq i32 %number{i}, {abi.FLOAT64}",
        f"%is_native{i} = icmp eq i8 %order{i}, {abi.NATIVE}",
        f"%is_float64_{i} = and i1 %is_double{i}, %is_native{i}",
        *field(f"%flags{i}", "i32", of, abi.FLAGS),
        f"%ready{i} = and i32 %flags{i}, {flags}",
        f"%is_ready{i} = icmp eq i32 %ready{i}, {flags}",
        *field(f"%ndim{i}", "i32", of, abi.NDIM),
        f"%is_ndim{i} = icmp eq i32 %ndim{i}, {ndim}",
        f"%is_kind{i} = and i1 %is_float64_{i}, %is_ready{i}",
        f"%is_fit{i} = and i1 %is_kind{i}, %is_ndim{i}",
    ]


def dimensions(shapes: Sequence[Shape]) -> list[str]:
    """Check the size of every dimension of every argument."""
    lines, tests = ["dimensions:"], []
    for i, shape in enumerate(shapes):
        if shape:
            lines += field(f"%sizes{i}", "ptr", f"%in{i}", abi.DIMENSIONS)
        for axis, size in enumerate(shape):
            lines += field(f"%size{i}_{axis}", "i64", f"%sizes{i}", 8 * axis)
            lines.append(f"%is_size{i}_{axis} = icmp eq i64 %size{i}_{axis}, {size}")
            tests.append(f"%is_size{i}_{axis}")
    return lines + all_of("are_sized", tests, "compute")


def compute(graph: Graph, name: str) -> list[str]:
    """New arrays for the outputs, the kernel, and the result: one object or a tuple."""
    nin, nout = len(graph.inputs), len(graph.outputs)
    arrays = [k for k, port in enumerate(graph.outputs) if port.shape]
    scalars = [k for k, port in enumerate(graph.outputs) if not port.shape]
    lines = ["compute:", *row("float64"), *(line for f in FUNCTIONS for line in row(f))]
    some = any(port.shape for port in graph.inputs)
    for i in range(nin):
        if graph.inputs[i].shape or not some:  # numbers were found by their own check
            lines += field(f"%from{i}", "ptr", f"%in{i}", abi.DATA)
    for k in arrays:
        lines += new_array(k, len(graph.outputs[k].shape), f"@{name}_shape{k}")
    data = [f"ptr %from{i}" for i in range(nin)] + [f"ptr %to{k}" for k in range(nout)]
    lines.append(f"call void @{name}_one({', '.join(data)})")
    for k in scalars:
        lines += new_scalar(k)
    order = arrays + scalars
    lines += ["ret ptr %out0"] if nout == 1 else pack(nout)
    return lines + undo(order, packed=nout != 1)


def new_array(k: int, ndim: int, shape: str) -> list[str]:
    """A new array for output k. NewFromDescr takes over one reference to the dtype."""
    arguments = (
        f"ptr %ndarray, ptr %float64, i32 {ndim}, ptr {shape}, ptr null, ptr null, i32 0, ptr null"
    )
    return [
        "call void %Py_IncRef(ptr %float64)",
        f"%out{k} = call ptr %PyArray_NewFromDescr({arguments})",
        *made(f"out{k}"),
        *field(f"%to{k}", "ptr", f"%out{k}", abi.DATA),
    ]


def new_scalar(k: int) -> list[str]:
    """A NumPy float64 for output k, as a gufunc returns for an output without dimensions."""
    call = f"%out{k} = call ptr %PyArray_Scalar(ptr %to{k}, ptr %float64, ptr null)"
    return [call, *made(f"out{k}")]


def pack(nout: int) -> list[str]:
    """The tuple of several outputs; it takes over their references."""
    return [
        f"%tuple = call ptr %PyTuple_New(i64 {nout})",
        *made("tuple"),
        *(f"call i32 %PyTuple_SetItem(ptr %tuple, i64 {k}, ptr %out{k})" for k in range(nout)),
        "ret ptr %tuple",
    ]


def made(what: str) -> list[str]:
    """Continue if Python had memory for the object."""
    return [
        f"%no_{what} = icmp eq ptr %{what}, null",
        f"br i1 %no_{what}, label %undo_{what}, label %made_{what}",
        f"made_{what}:",
    ]


def undo(order: list[int], packed: bool) -> list[str]:
    """Without memory: release the objects made so far, in reverse, and pass the exception on."""
    names = [f"out{k}" for k in order] + ["tuple"] * packed
    lines = []
    for position in reversed(range(1, len(names))):
        before = names[position - 1]
        lines += [
            f"undo_{names[position]}:",
            f"call void %Py_DecRef(ptr %{before})",
            f"br label %undo_{before}",
        ]
    return [*lines, f"undo_{names[0]}:", "ret ptr null"]


def onward() -> list[str]:
    """Pass every other call, with the same arguments, to the entry point that kernels share."""
    return [
        "general:",
        *row("enter"),
        f"%answer = tail call ptr %enter({PROTOCOL})",
        "ret ptr %answer",
    ]


def field(name: str, kind: str, base: str, offset: int) -> list[str]:
    """Load the field `offset` bytes after `base`."""
    place = f"{name}.at"
    return [
        f"{place} = getelementptr i8, ptr {base}, i64 {offset}",
        f"{name} = load {kind}, ptr {place}",
    ]


def row(name: str) -> list[str]:
    """Load a row of the table under its own name."""
    return field(f"%{name}", "ptr", "%table", 8 * ROWS.index(name))


def all_of(name: str, tests: list[str], onward: str) -> list[str]:
    """Branch to the block `onward` if all tests are true, to the general call if not."""
    lines, last = [], "true"
    for k, test in enumerate(tests):
        lines.append(f"%{name}{k} = and i1 {last}, {test}")
        last = f"%{name}{k}"
    return [*lines, f"br i1 {last}, label %{onward}, label %general"]
