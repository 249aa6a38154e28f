"""The entry of one float64 state: Python's call protocol, emitted as LLVM IR beside the kernel.

`@{name}_call(self, args, nargsf, kwnames)` is a vectorcall function. Where every argument is a
plain contiguous float64 array of the right shape, or a positive number for an argument without
dimensions (a step, say; other numbers may have to be refused), it makes the result arrays and calls
`@{name}_one`. Any other call goes on, unchanged, to the general call of the object, in Python.
Addresses of Python's and NumPy's functions differ from process to process, so they are read from a
table, never written into the code: object code stays valid in the disk cache.
"""

from kinetree.engine.call import c_api as abi
from kinetree.engine.compiler.graph import Graph

# layout of the object that is called, behind what every Python object of a class has
FIELDS = 32
ENTRY, TABLE, GENERAL = range(FIELDS, FIELDS + 24, 8)

# C functions that the code calls, and the rows of the table
FUNCTIONS = (
    "PyArray_NewFromDescr",
    "PyArray_Scalar",
    "PyTuple_New",
    "PyTuple_SetItem",
    "Py_IncRef",
    "Py_DecRef",
    "PyObject_Vectorcall",
)
ROWS = ("ndarray", "float", "double", "float64", *FUNCTIONS)

# nargsf carries a flag of the caller in its highest bit
COUNT = (1 << 63) - 1
INFINITY = "0x7FF0000000000000"

PROTOCOL = "ptr %self, ptr %args, i64 %nargsf, ptr %kwnames"


def emit_one(graph: Graph, name: str = "kernel") -> str:
    """LLVM IR of `@{name}_at`: `@{name}_one` with the addresses of its arrays in one array."""
    from kinetree.engine.call.blocks import Function  # not for code that is on disk

    f = Function(f"{name}_at", "ptr %arrays", "void")
    count = len(graph.inputs) + len(graph.outputs)
    data = [f"ptr {f.item('ptr', '%arrays', k)}" for k in range(count)]
    f.call("void", f"@{name}_one", *data)
    f.give()
    return f.text()


def emit_call(graph: Graph, name: str = "kernel") -> str:
    """LLVM IR of `@{name}_call`, beside `@{name}_one` in a module."""
    constants: list[str] = []
    for k, port in enumerate(graph.outputs):
        if port.shape:
            sizes = ", ".join(f"i64 {size}" for size in port.shape)
            kind = f"[{len(port.shape)} x i64]"
            constants.append(f"@{name}_shape{k} = private constant {kind} [{sizes}]\n")
    return "".join([*constants, FastEntry(graph, name).text()])


class FastEntry:
    """Writes the function: checks of all arguments, new arrays, the kernel, and the results."""

    def __init__(self, graph: Graph, name: str) -> None:
        from kinetree.engine.call.blocks import Function  # not for code that is on disk

        self.graph, self.name = graph, name
        self.f = Function(f"{name}_call", PROTOCOL)
        self.table = self.f.load("ptr", "%self", TABLE)

    def row(self, name: str) -> str:
        """Load a row of the table."""
        return self.f.load("ptr", self.table, 8 * ROWS.index(name))

    def text(self) -> str:
        """Return the whole function."""
        from kinetree.engine.call.blocks import FAILED

        f = self.f
        nargs = f.let(f"and i64 %nargsf, {COUNT}")
        f.require(
            f.compare("eq", "i64", nargs, len(self.graph.inputs)),
            f.compare("eq", "ptr", "%kwnames", "null"),
        )
        self.compute(self.check())
        f.label(FAILED)
        general = f.load("ptr", "%self", GENERAL)
        arguments = f"ptr {general}", "ptr %args", "i64 %nargsf", "ptr %kwnames"
        f.pass_on(self.row("PyObject_Vectorcall"), *arguments)
        return f.text()

    def check(self) -> list[str]:
        """Check all types first (only an array has the other fields), then headers, then sizes.

        Arguments of shape () beside others may be floats of Python or NumPy, which must be positive
        and finite. The header of such a float is read from the first array instead, since a float
        has none, and the result of that check is not used.

        Returns:
            The address of the numbers of each argument.
        """
        f, shapes = self.f, [port.shape for port in self.graph.inputs]
        numbers = any(shapes) and not all(shapes)
        self.ndarray = self.row("ndarray")
        floats = [self.row(name) for name in ("float", "double")] if numbers else []
        arguments: list[str] = []
        is_number: dict[int, str] = {}
        tests: list[str] = []
        for i, shape in enumerate(shapes):
            arguments.append(f.load("ptr", "%args", 8 * i))
            kind = f.load("ptr", arguments[i], abi.TYPE)
            tests.append(f.compare("eq", "ptr", kind, self.ndarray))
            if numbers and not shape:
                is_number[i] = f.either(*(f.compare("eq", "ptr", kind, x) for x in floats))
                tests[i] = f.either(is_number[i], tests[i])
        f.require(*tests)
        first = next((x for x, shape in zip(arguments, shapes, strict=True) if shape), "")
        sources, tests = [""] * len(shapes), []
        for i, shape in enumerate(shapes):
            if i not in is_number:
                tests.append(self.header(arguments[i], len(shape)))
                continue
            array = f.choose(is_number[i], "ptr", first, arguments[i])
            fits = self.header(array, 0)
            data, value = f.load("ptr", array, abi.DATA), f.at(arguments[i], abi.NUMBER)
            sources[i] = f.choose(is_number[i], "ptr", value, data)
            tests.append(f.either(is_number[i], fits))
        f.require(*tests)
        if is_number:
            values = [f.let(f"load double, ptr {sources[i]}") for i in is_number]
            bounds = (("ogt", "0.0"), ("olt", INFINITY))
            f.require(*(f.compare(how, "double", x, y) for x in values for how, y in bounds))
        tests = []
        for x, shape in zip(arguments, shapes, strict=True):
            sizes = f.load("ptr", x, abi.DIMENSIONS) if shape else ""
            for axis, size in enumerate(shape):
                tests.append(f.compare("eq", "i64", f.load("i64", sizes, 8 * axis), size))
        if tests:
            f.require(*tests)
        arrays = zip(arguments, sources, strict=True)
        return [source or f.load("ptr", x, abi.DATA) for x, source in arrays]

    def header(self, array: str, ndim: int) -> str:
        """Return whether an array is native float64, contiguous, and has the right dimension.

        The dtype is compared by its fields: an array that was unpickled has its own dtype object.
        """
        f = self.f
        descr = f.load("ptr", array, abi.DESCR)
        number = f.load("i32", descr, abi.TYPE_NUMBER)
        order = f.load("i8", descr, abi.BYTE_ORDER)
        is_float64 = f.both(
            f.compare("eq", "i32", number, abi.FLOAT64), f.compare("eq", "i8", order, abi.NATIVE)
        )
        flags = f.let(f"and i32 {f.load('i32', array, abi.FLAGS)}, {abi.READY}")
        is_ready = f.compare("eq", "i32", flags, abi.READY)
        has_ndim = f.compare("eq", "i32", f.load("i32", array, abi.NDIM), ndim)
        return f.both(f.both(is_float64, is_ready), has_ndim)

    def compute(self, sources: list[str]) -> None:
        """New arrays for the outputs, the kernel, and the result: one object or a tuple."""
        f, outputs = self.f, self.graph.outputs
        float64 = self.row("float64")
        call = {name: self.row(name) for name in FUNCTIONS}
        made: list[str] = []
        undo: list[str] = []  # for each new object: the block if Python has no memory for it

        def keep(new: str) -> str:
            following = f.new_label()
            undo.append(f.new_label())
            f.branch(f.compare("eq", "ptr", new, "null"), undo[-1], following)
            f.label(following)
            made.append(new)
            return new

        results: dict[int, str] = {}
        places: list[str] = []
        for k, port in enumerate(outputs):
            if not port.shape:
                places.append(f.room("double"))
                continue
            f.call("void", call["Py_IncRef"], f"ptr {float64}")  # taken over by the array
            shape = f"i32 {len(port.shape)}, ptr @{self.name}_shape{k}"
            arguments = [f"ptr {self.ndarray}", f"ptr {float64}", shape, "ptr null, ptr null"]
            new = f.call("ptr", call["PyArray_NewFromDescr"], *arguments, "i32 0, ptr null")
            results[k] = keep(new)
            places.append(f.load("ptr", results[k], abi.DATA))
        f.call("void", f"@{self.name}_one", *(f"ptr {x}" for x in (*sources, *places)))
        for k, port in enumerate(outputs):
            if not port.shape:  # a NumPy float64, as a gufunc returns for it
                arguments = f"ptr {places[k]}, ptr {float64}, ptr null"
                results[k] = keep(f.call("ptr", call["PyArray_Scalar"], arguments))
        if len(outputs) == 1:
            f.give(results[0])
        else:
            several = keep(f.call("ptr", call["PyTuple_New"], f"i64 {len(outputs)}"))
            for k in range(len(outputs)):  # the tuple takes over the references
                item = f"i64 {k}, ptr {results[k]}"
                f.call("i32", call["PyTuple_SetItem"], f"ptr {several}, {item}")
            f.give(several)
        for k in reversed(range(len(undo))):  # release what was made before, and pass the error on
            f.label(undo[k])
            if k:
                f.call("void", call["Py_DecRef"], f"ptr {made[k - 1]}")
        f.give("null")
