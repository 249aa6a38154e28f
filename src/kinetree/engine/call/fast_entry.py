"""The entry of one float64 state: Python's call protocol, emitted as LLVM IR beside the kernel.

`@{name}_call(self, args, nargsf, kwnames)` is a vectorcall function. Where every argument is a
plain contiguous float64 array of the right shape, or a positive number for an argument without
dimensions (a step, say; other numbers may have to be refused), it makes the result arrays and calls
`@{name}_one`. Any other call goes on, unchanged, to the general call of the object, in Python.
Addresses of Python's and NumPy's functions differ from process to process, so they are read from a
table, never written into the code: object code stays valid in the disk cache.

IR and not a C extension: kernels need LLVM anyway, and a wheel without compiled parts serves every
Python and platform.
"""

from kinetree.engine.call import c_api as abi
from kinetree.engine.compiler.graph import Graph, Port

# layout of the object that is called, behind what every Python object of a class has
FIELDS = 32
ENTRY, TABLE, GENERAL = range(FIELDS, FIELDS + 24, 8)

# rows of the table: types and a dtype, then C functions
ROWS = (
    "ndarray", "float", "double", "float64", "PyArray_NewFromDescr", "PyArray_Scalar",
    "PyTuple_Pack", "Py_IncRef", "Py_DecRef", "PyObject_Vectorcall",
)  # fmt: skip

COUNT = (1 << 63) - 1  # nargsf carries a flag of the caller in its highest bit
INFINITY = "0x7FF0000000000000"


def load(name: str, kind: str, base: str, offset: int) -> str:
    """The lines that load the field `offset` bytes behind an address."""
    return (
        f"  %{name}_at = getelementptr i8, ptr {base}, i64 {offset}\n"
        f"  %{name} = load {kind}, ptr %{name}_at\n"
    )


def row(name: str) -> str:
    """The lines that load a row of the table."""
    return load(name, "ptr", "%table", 8 * ROWS.index(name))


# i1 fits(object, number of dimensions, lengths): whether it is a native float64 array of a shape.
# The dtype is compared by its fields: an array that was unpickled has its own dtype object.
FITS = f"""\
define internal i1 @fits(ptr %x, ptr %table, i32 %ndim, ptr %lengths) {{
entry:
{load("type", "ptr", "%x", abi.TYPE)}{row("ndarray")}  %is_array = icmp eq ptr %type, %ndarray
  br i1 %is_array, label %header, label %no
header:
{load("descr", "ptr", "%x", abi.DESCR)}{load("number", "i32", "%descr", abi.TYPE_NUMBER)}\
{load("order", "i8", "%descr", abi.BYTE_ORDER)}{load("flags", "i32", "%x", abi.FLAGS)}\
{load("found", "i32", "%x", abi.NDIM)}{load("sizes", "ptr", "%x", abi.DIMENSIONS)}\
  %is_float64 = icmp eq i32 %number, {abi.FLOAT64}
  %is_native = icmp eq i8 %order, {abi.NATIVE}
  %ready = and i32 %flags, {abi.READY}
  %is_ready = icmp eq i32 %ready, {abi.READY}
  %has_ndim = icmp eq i32 %found, %ndim
  %numbers = and i1 %is_float64, %is_native
  %memory = and i1 %is_ready, %has_ndim
  %good = and i1 %numbers, %memory
  br i1 %good, label %next, label %no
next:
  %axis = phi i32 [ 0, %header ], [ %after, %compare ]
  %all = icmp eq i32 %axis, %ndim
  br i1 %all, label %yes, label %compare
compare:
  %size_at = getelementptr i64, ptr %sizes, i32 %axis
  %size = load i64, ptr %size_at
  %length_at = getelementptr i64, ptr %lengths, i32 %axis
  %length = load i64, ptr %length_at
  %after = add i32 %axis, 1
  %equal = icmp eq i64 %size, %length
  br i1 %equal, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

# ptr number(object): the address of a positive, finite number (a float of Python or NumPy, or an
# array without dimensions), or null
NUMBER = f"""\
define internal ptr @number(ptr %x, ptr %table) {{
entry:
{load("type", "ptr", "%x", abi.TYPE)}{row("float")}{row("double")}\
  %is_float = icmp eq ptr %type, %float
  %is_double = icmp eq ptr %type, %double
  %is_number = or i1 %is_float, %is_double
  %inside = getelementptr i8, ptr %x, i64 {abi.NUMBER}
  br i1 %is_number, label %value, label %array
array:
  %fits = call i1 @fits(ptr %x, ptr %table, i32 0, ptr null)
  br i1 %fits, label %memory, label %no
memory:
{load("data", "ptr", "%x", abi.DATA)}  br label %value
value:
  %place = phi ptr [ %inside, %entry ], [ %data, %memory ]
  %x_value = load double, ptr %place
  %above = fcmp ogt double %x_value, 0.0
  %below = fcmp olt double %x_value, {INFINITY}
  %usual = and i1 %above, %below
  br i1 %usual, label %yes, label %no
yes:
  ret ptr %place
no:
  ret ptr null
}}
"""


def emit_one(graph: Graph, name: str = "kernel") -> str:
    """LLVM IR of `@{name}_at`: `@{name}_one` with the addresses of its arrays in one array."""
    count = len(graph.inputs) + len(graph.outputs)
    lines = [load(f"array{k}", "ptr", "%arrays", 8 * k) for k in range(count)]
    arrays = ", ".join(f"ptr %array{k}" for k in range(count))
    return (
        f"define void @{name}_at(ptr %arrays) {{\n{''.join(lines)}"
        f"  call void @{name}_one({arrays})\n  ret void\n}}\n"
    )


def emit_call(graph: Graph, name: str = "kernel") -> str:
    """LLVM IR of `@{name}_call`, beside `@{name}_one` in a module."""
    inputs, outputs = graph.inputs, graph.outputs
    shapes = {port.shape for port in (*inputs, *outputs) if port.shape}
    constants = [lengths(shape) for shape in sorted(shapes)]
    checks = [check(k, port) for k, port in enumerate(inputs)]
    made = [new_array(k, port) for k, port in enumerate(outputs)]
    scalars = [new_scalar(k) for k, port in enumerate(outputs) if not port.shape]
    places = [f"%data{k}" for k in range(len(inputs))] + [f"%place{k}" for k in range(len(outputs))]
    arrays = ", ".join(f"ptr {x}" for x in places)
    kind = f"[{len(outputs)} x ptr]"
    released = "".join(f"  call void %Py_DecRef(ptr %old{k})\n" for k in range(len(outputs)))
    old = [load(f"old{k}", "ptr", "%results", 8 * k) for k in range(len(outputs))]
    return f"""\
{"".join(constants)}{FITS}{NUMBER}
define ptr @{name}_call(ptr %self, ptr %args, i64 %nargsf, ptr %kwnames) {{
entry:
  %results = alloca {kind}
  store {kind} zeroinitializer, ptr %results
  %numbers = alloca [{len(outputs)} x double]
{load("table", "ptr", "%self", TABLE)}{"".join(map(row, ROWS))}\
  %nargs = and i64 %nargsf, {COUNT}
  %counted = icmp eq i64 %nargs, {len(inputs)}
  %unnamed = icmp eq ptr %kwnames, null
  %plain = and i1 %counted, %unnamed
  br i1 %plain, label %argument0, label %general
{"".join(checks)}argument{len(inputs)}:
{"".join(made)}  call void @{name}_one({arrays})
{"".join(scalars)}{finish(len(outputs))}failed:
{"".join(old)}{released}  ret ptr null
general:
{load("by_python", "ptr", "%self", GENERAL)}\
  %passed = tail call ptr %PyObject_Vectorcall(ptr %by_python, ptr %args, i64 %nargsf, ptr %kwnames)
  ret ptr %passed
}}
"""


def finish(count: int) -> str:
    """The lines that return the only result, or a tuple of several."""
    if count == 1:
        return "  ret ptr %new0\n"
    results = ", ".join(f"ptr %new{k}" for k in range(count))
    released = "".join(f"  call void %Py_DecRef(ptr %new{k})\n" for k in range(count))
    return (
        f"  %tuple = call ptr (i64, ...) %PyTuple_Pack(i64 {count}, {results})\n"
        f"{released}  ret ptr %tuple\n"
    )


def shape_name(shape: tuple[int, ...]) -> str:
    """The name of the constant with the lengths of a shape."""
    return f"@shape_{'_'.join(map(str, shape))}"


def lengths(shape: tuple[int, ...]) -> str:
    """The constant with the lengths of a shape."""
    sizes = ", ".join(f"i64 {size}" for size in shape)
    return f"{shape_name(shape)} = private constant [{len(shape)} x i64] [{sizes}]\n"


def check(k: int, port: Port) -> str:
    """The block that leads to the next argument, with the address of the numbers of this one."""
    head = f"argument{k}:\n{load(f'x{k}', 'ptr', '%args', 8 * k)}"
    if not port.shape:
        return (
            f"{head}  %data{k} = call ptr @number(ptr %x{k}, ptr %table)\n"
            f"  %fits{k} = icmp ne ptr %data{k}, null\n"
            f"  br i1 %fits{k}, label %argument{k + 1}, label %general\n"
        )
    shape = f"i32 {len(port.shape)}, ptr {shape_name(port.shape)}"
    return (
        f"{head}  %fits{k} = call i1 @fits(ptr %x{k}, ptr %table, {shape})\n"
        f"  br i1 %fits{k}, label %array{k}, label %general\n"
        f"array{k}:\n{load(f'data{k}', 'ptr', f'%x{k}', abi.DATA)}"
        f"  br label %argument{k + 1}\n"
    )


def new_array(k: int, port: Port) -> str:
    """The lines that make the array of a result, and find the address of its numbers."""
    if not port.shape:  # made of the number behind the computation
        return f"  %place{k} = getelementptr double, ptr %numbers, i64 {k}\n"
    shape = f"i32 {len(port.shape)}, ptr {shape_name(port.shape)}"
    arguments = f"ptr %ndarray, ptr %float64, {shape}, ptr null, ptr null, i32 0, ptr null"
    return (
        "  call void %Py_IncRef(ptr %float64)\n"  # the array takes the reference
        f"  %new{k} = call ptr %PyArray_NewFromDescr({arguments})\n"
        f"{keep(k)}{load(f'place{k}', 'ptr', f'%new{k}', abi.DATA)}"
    )


def new_scalar(k: int) -> str:
    """The lines that make a NumPy float64 of a result, as a gufunc returns for it."""
    arguments = f"ptr %place{k}, ptr %float64, ptr null"
    return f"  %new{k} = call ptr %PyArray_Scalar({arguments})\n{keep(k)}"


def keep(k: int) -> str:
    """The lines that store a result; where there is none, those before it are released."""
    return (
        f"  %slot{k} = getelementptr ptr, ptr %results, i64 {k}\n"
        f"  store ptr %new{k}, ptr %slot{k}\n"
        f"  %has{k} = icmp ne ptr %new{k}, null\n"
        f"  br i1 %has{k}, label %made{k}, label %failed\n"
        f"made{k}:\n"
    )
