"""Tensors of another package, read in machine code through the C functions of DLPack.

`@by_exchange(self, args, nargsf, kwnames)` has Python's call protocol. `@by_name` passes a call on
to it that it does not take itself. DLPack's C exchange interface (version 1.3) is a table of
functions that a package of tensors keeps in its type; one of them describes a tensor without a copy
and without a reference. It takes calls with dense float64 or float32 tensors of one device:

- On the CPU, arrays of NumPy over the same memory enter the kernel; its results become tensors.
  Floats of Python stay as they are, for arguments without dimensions.
- Where a gradient is to be recorded, the package's own function is called with the kernel.
- Contiguous tensors of another device, for a function that has a plan by their shapes.

A description lacks two properties of a tensor, which are read from the tensor itself: whether it
requires a gradient, and whether its numbers are to be negated. The package also answers whether it
transforms or watches what is called. Everything else goes on, unchanged, to the object's general
call.
"""

from kinetree.engine.call import c_api as abi
from kinetree.engine.call.blocks import FAILED, Function
from kinetree.engine.call.fastcall import COUNT, ENTRY, GENERAL, PLAN, PROTOCOL, ROWS, TABLE
from kinetree.engine.call.plan import GUARDED, MAX_DIMS, MAX_PORTS, NIN

# byte offsets in DLPack's description of a tensor (DLTensor), and the bytes of it
DATA, DEVICE, NDIM, TYPE, SHAPE, STRIDES, OFFSET = 0, 8, 16, 20, 24, 32, 40
DESCRIPTION = 48
CPU = 1  # type 1 and number 0, in one word
FLOAT64, FLOAT32 = 0x14002, 0x12002  # code 2 (float), bits, 1 lane: one byte, one byte, two
DIMS = 1 + MAX_DIMS  # at most, of a tensor that is read here
FLAGS = abi.ALIGNED | abi.WRITEABLE  # NumPy clears the first where it is not so

UNREAD, RECORDED, FLOATS, ELSEWHERE = -1, 1, 2, 4  # what `@read_tensors` returns: sums of these
KEY = 2 + MAX_PORTS * (1 + DIMS)  # words of the longest key of a plan
PROBLEM = "problem"  # block for an error of Python, which the general call raises again
READ = "ptr %table, ptr %args, i64 %count, ptr %described"


def emit_exchange() -> list[str]:
    """LLVM IR of `@by_exchange`, of `@tensor_key`, and of the functions that they share."""
    return [emit_read(), emit_key(), emit_key_call(), Exchange().text()]


def row(f: Function, table: str, name: str) -> str:
    """Load a row of the table."""
    return f.load("ptr", table, 8 * ROWS.index(name))


def description(f: Function, described: str, i: str) -> str:
    """Return the place for the description of an argument."""
    return f.at(described, f.mul(i, DESCRIPTION))


def is_type(f: Function, table: str, x: str, *names: str) -> str:
    """Return whether an object is of exactly one of these types."""
    kind = f.load("ptr", x, abi.TYPE)
    tests = [f.compare("eq", "ptr", kind, row(f, table, name)) for name in names]
    return tests[0] if len(tests) == 1 else f.either(*tests)


def answer(f: Function, call: str, *arguments: str) -> str:
    """Return what a function of Python's C-API returns, without its reference: a constant."""
    found = f.call("ptr", row(f, "%table", call), *arguments)
    with f.when(f.compare("eq", "ptr", found, "null")):
        f.go(PROBLEM)
    f.call("void", row(f, "%table", "Py_DecRef"), f"ptr {found}")
    return found


def emit_read() -> str:
    """LLVM IR of `@read_tensors`: describe all tensors of a call, and say what they are."""
    f = Function("read_tensors", READ, "i32")
    device, kind = f.variable("i64", 0), f.variable("i32", 0)
    found = f.variable("i32", 0)
    false, own = row(f, "%table", "False"), f.room("ptr")
    with f.each("%count") as i:
        x, d, after = f.item("ptr", "%args", i), description(f, "%described", i), f.new_label()
        with f.when(is_type(f, "%table", x, "float")):
            found.set(f.let(f"or i32 {found.get()}, {FLOATS}"))
            f.go(after)
        f.require(is_type(f, "%table", x, "tensor", "parameter"))
        failed = f.call("i32", row(f, "%table", "describe"), f"ptr {x}", f"ptr {d}")
        with f.when(f.compare("ne", "i32", failed, 0)):
            f.go(PROBLEM)
        with f.when(f.compare("eq", "i32", kind.get(), 0)):
            kind.set(f.load("i32", d, TYPE))
            device.set(f.load("i64", d, DEVICE))
        f.require(
            f.compare("eq", "i32", f.load("i32", d, TYPE), kind.get()),
            f.compare("eq", "i64", f.load("i64", d, DEVICE), device.get()),
            f.compare("ule", "i32", f.load("i32", d, NDIM), DIMS),
            f.compare("ne", "ptr", f.load("ptr", d, DATA), "null"),
        )
        f.put("ptr", x, own)
        method = f"ptr {row(f, '%table', 'is_neg')}, ptr {own}, i64 1, ptr null"
        negated = answer(f, "PyObject_VectorcallMethod", method)
        f.require(f.compare("eq", "ptr", negated, false))
        name = f"ptr {row(f, '%table', 'requires_grad')}"
        slope = answer(f, "PyObject_GetAttr", f"ptr {x}", name)
        with f.when(f.compare("ne", "ptr", slope, false)):
            found.set(f.let(f"or i32 {found.get()}, {RECORDED}"))
        f.label(after)
    numbers = [f.compare("eq", "i32", kind.get(), size) for size in (FLOAT64, FLOAT32)]
    f.require(f.either(*numbers))
    questions = row(f, "%table", "questions")  # their number, then each with its usual answer
    pairs = f.at(questions, 8)
    with f.each(f.item("i64", questions, 0)) as k:
        pair = f.at(pairs, f.mul(k, 16))
        same = answer(f, "PyObject_CallNoArgs", f"ptr {f.item('ptr', pair, 0)}")
        f.require(f.compare("eq", "ptr", same, f.item("ptr", pair, 1)))
    flags = found.get()
    with f.when(f.compare("ne", "i32", f.let(f"and i32 {flags}, {RECORDED}"), 0)):
        asked = f"ptr {row(f, '%table', 'records')}"
        with f.when(f.compare("eq", "ptr", answer(f, "PyObject_CallNoArgs", asked), false)):
            found.set(f.let(f"and i32 {flags}, {~RECORDED}"))
    here = f.compare("eq", "i64", device.get(), CPU)
    f.give(f.let(f"or i32 {found.get()}, {f.choose(here, 'i32', 0, ELSEWHERE)}"))
    f.label(PROBLEM)
    f.call("void", row(f, "%table", "PyErr_Clear"))
    f.label(FAILED)
    f.give(str(UNREAD))
    return f.text()


def emit_key() -> str:
    """LLVM IR of `@key_of`: device, type and shapes of contiguous tensors as bytes of Python.

    None for others; null where Python has no memory.
    """
    f = Function("key_of", f"{READ}, i32 %flags")
    words = f.room(f"[{KEY} x i64]")
    f.put("i64", f.load("i64", "%described", DEVICE), words)
    f.put("i32", f.load("i32", "%described", TYPE), f.at(words, 8))
    f.put("i32", "%flags", f.at(words, 12))
    used = f.variable("i64", 2)
    with f.each("%count") as i:
        d = description(f, "%described", i)
        ndim = f.let(f"zext i32 {f.load('i32', d, NDIM)} to i64")
        sizes, strides = f.load("ptr", d, SHAPE), f.load("ptr", d, STRIDES)
        f.put("i64", ndim, words, used.get())
        step = f.variable("i64", 1)
        with f.each(ndim) as k:  # from the last axis to the first
            axis = f.let(f"sub i64 {f.let(f'sub i64 {ndim}, 1')}, {k}")
            size, stride = f.item("i64", sizes, axis), f.item("i64", strides, axis)
            dense = f.compare("eq", "i64", stride, step.get())
            with f.when(f.opposite(f.either(dense, f.compare("eq", "i64", size, 1)))):
                f.go(FAILED)
            step.set(f.mul(step.get(), size))
            f.put("i64", size, f.at(words, f.add(used.get(), 1), "i64"), k)
        used.set(f.add(used.get(), f.add(ndim, 1)))
    length = f"i64 {f.mul(used.get(), 8)}"
    f.give(f.call("ptr", row(f, "%table", "PyBytes_FromStringAndSize"), f"ptr {words}", length))
    f.label(FAILED)
    none = row(f, "%table", "None")
    f.call("void", row(f, "%table", "Py_IncRef"), f"ptr {none}")
    f.give(none)
    return f.text()


def emit_key_call() -> str:
    """LLVM IR of `@tensor_key`: the key of the plan of a call; None for calls without a plan."""
    f = Function("tensor_key", PROTOCOL)
    table = f.load("ptr", "%self", TABLE)
    count = f.let(f"and i64 %nargsf, {COUNT}")
    described = f.room(f"[{MAX_PORTS * DESCRIPTION} x i8]")
    f.require(f.compare("ule", "i64", count, MAX_PORTS), f.compare("eq", "ptr", "%kwnames", "null"))
    given = f"ptr {table}, ptr %args, i64 {count}, ptr {described}"
    flags = f.call("i32", "@read_tensors", given)
    f.require(f.compare("eq", "i32", f.let(f"and i32 {flags}, {FLOATS}"), 0))  # nor unread
    f.pass_on("@key_of", given, f"i32 {flags}")
    f.label(FAILED)
    none = row(f, f.load("ptr", "%self", TABLE), "None")
    f.call("void", row(f, f.load("ptr", "%self", TABLE), "Py_IncRef"), f"ptr {none}")
    f.give(none)
    return f.text()


class Exchange:
    """Writes `@by_exchange`."""

    def __init__(self) -> None:
        f = self.f = Function("by_exchange", PROTOCOL)
        self.table = f.load("ptr", "%self", TABLE)
        self.plan = f.load("ptr", "%self", PLAN)
        f.require(
            f.compare("ne", "ptr", self.plan, "null"), f.compare("eq", "ptr", "%kwnames", "null")
        )
        self.nin = f.load("i64", self.plan, 8 * NIN)
        # the kernel and a key, then the arguments, with arrays for tensors
        self.given = f.room(f"[{2 + MAX_PORTS} x ptr]")
        self.made = f.room(f"[{MAX_PORTS} x ptr]")  # these arrays
        self.described = f.room(f"[{MAX_PORTS * DESCRIPTION} x i8]")

    def row(self, name: str) -> str:
        """Load a row of the table."""
        return row(self.f, self.table, name)

    def text(self) -> str:
        """Return the function."""
        f = self.f
        f.require(f.compare("eq", "i64", f.let(f"and i64 %nargsf, {COUNT}"), self.nin))
        given = f"ptr {self.table}, ptr %args, i64 {self.nin}, ptr {self.described}"
        flags = f.call("i32", "@read_tensors", given)
        f.require(f.compare("ne", "i32", flags, UNREAD))
        arguments = f.at(self.given, 16)
        with f.each(self.nin) as i:
            f.put("ptr", f.item("ptr", "%args", i), arguments, i)
        with f.when(f.compare("eq", "i32", f.let(f"and i32 {flags}, {~FLOATS}"), 0)):
            self.on_host(arguments)
        # behind a door, the general call finds the kernel whose derivatives are kept
        plain = f.compare("eq", "i32", f.let(f"and i32 {flags}, {FLOATS}"), 0)
        f.require(plain, f.compare("eq", "i64", f.load("i64", self.plan, 8 * GUARDED), 0))
        vectorcall = self.row("PyObject_Vectorcall")
        with f.when(f.compare("eq", "i32", flags, RECORDED)):
            f.put("ptr", "%self", self.given, 1)
            whole = f"ptr {f.at(self.given, 8)}, i64 {f.add(self.nin, 1)}, ptr null"
            f.give(f.call("ptr", vectorcall, f"ptr {self.row('record')}", whole))
        key = f.call("ptr", "@key_of", given, f"i32 {flags}")
        with f.when(f.compare("eq", "ptr", key, "null")):
            f.give("null")
        f.put("ptr", "%self", self.given, 0)
        f.put("ptr", key, self.given, 1)
        whole = f"ptr {self.given}, i64 {f.add(self.nin, 2)}, ptr null"
        results = f.call("ptr", vectorcall, f"ptr {self.row('elsewhere')}", whole)
        f.call("void", self.row("Py_DecRef"), f"ptr {key}")
        f.give(results)
        f.label(FAILED)
        general = f.load("ptr", "%self", GENERAL)
        again = row(f, f.load("ptr", "%self", TABLE), "PyObject_Vectorcall")
        f.pass_on(again, f"ptr {general}", "ptr %args", "i64 %nargsf", "ptr %kwnames")
        return f.text()

    def on_host(self, arguments: str) -> None:
        """Enter the kernel with arrays over the tensors; return its results as tensors."""
        f = self.f
        with f.each(self.nin) as i:
            f.put("ptr", "null", self.made, i)
        with f.each(self.nin) as i:
            x = f.item("ptr", "%args", i)
            with f.when(f.opposite(is_type(f, self.table, x, "float"))):
                array = self.view(x, description(f, self.described, i))
                f.put("ptr", array, self.made, i)
                f.put("ptr", array, arguments, i)
        code = f.load("ptr", "%self", ENTRY)
        results = f.call("ptr", code, f"ptr %self, ptr {arguments}, i64 {self.nin}, ptr null")
        self.release()
        with f.when(f.compare("eq", "ptr", results, "null")):
            f.give("null")
        is_array = is_type(f, self.table, results, "ndarray")
        make = f.choose(is_array, "ptr", self.row("from_numpy"), self.row("to_tensors"))
        one = self.row("PyObject_CallOneArg")
        tensors = f.call("ptr", one, f"ptr {make}", f"ptr {results}")
        f.call("void", self.row("Py_DecRef"), f"ptr {results}")
        f.give(tensors)

    def view(self, x: str, d: str) -> str:
        """Return an array over the memory of a tensor, which it keeps alive."""
        f = self.f
        wide = f.compare("eq", "i32", f.load("i32", d, TYPE), FLOAT64)
        descr = f.choose(wide, "ptr", self.row("float64"), self.row("float32"))
        f.call("void", self.row("Py_IncRef"), f"ptr {descr}")  # taken over by the array
        strides, steps = f.load("ptr", d, STRIDES), f.room(f"[{DIMS} x i64]")
        ndim, size = f.load("i32", d, NDIM), f.choose(wide, "i64", 8, 4)
        with f.each(f.let(f"zext i32 {ndim} to i64")) as axis:
            f.put("i64", f.mul(f.item("i64", strides, axis), size), steps, axis)
        data = f.at(f.load("ptr", d, DATA), f.load("i64", d, OFFSET))
        head = f"ptr {self.row('ndarray')}, ptr {descr}, i32 {ndim}, ptr {f.load('ptr', d, SHAPE)}"
        tail = f"ptr {steps}, ptr {data}, i32 {FLAGS}, ptr null"
        array = f.call("ptr", self.row("PyArray_NewFromDescr"), head, tail)
        with f.when(f.compare("eq", "ptr", array, "null")):
            self.release()
            f.give("null")
        f.call("void", self.row("Py_IncRef"), f"ptr {x}")  # taken over by the array, too
        f.call("i32", self.row("PyArray_SetBaseObject"), f"ptr {array}", f"ptr {x}")
        return array

    def release(self) -> None:
        """Release the arrays that were made."""
        f = self.f
        with f.each(self.nin) as i:
            array = f.item("ptr", self.made, i)
            with f.when(f.compare("ne", "ptr", array, "null")):
                f.call("void", self.row("Py_DecRef"), f"ptr {array}")
