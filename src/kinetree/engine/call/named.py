"""One state in dicts {name: number}, read in machine code.

`@by_name(self, args, nargsf, kwnames)` has Python's call protocol. `@enter` passes a call on to it
that it does not take itself. It reads each dict whose keys are the very names of the argument's
axis, in any order, into a new array, enters the kernel with these arrays, and makes dicts of the
results. Names in programs are interned, as those of a robot are, so equal names are mostly the same
object. Keys that are other objects, values other than floats and whole numbers, results with other
axes, and everything else go on, unchanged, to `@by_exchange` (exchange.py) and from there to the
object's general call, which compares names by value (`core/named_states.py`) and has the messages.

No code of Python runs while a dict is read: keys are compared by their addresses alone.
"""

from kinetree.engine.call import c_api as abi
from kinetree.engine.call.blocks import FAILED, Function
from kinetree.engine.call.fastcall import COUNT, ENTRY, PLAN, PROTOCOL, ROWS, TABLE
from kinetree.engine.call.plan import FIRST, MAX_PORTS, NAMES, NDIM, NIN, NOUT, PORT, SIZE

# block in which the arrays that were made are released before the general call
MISMATCH = "mismatch"


def emit_by_name() -> list[str]:
    """LLVM IR of `@by_name` and of the function that makes a dict of a vector."""
    return [ByName().text(), emit_dict()]


def row(f: Function, table: str, name: str) -> str:
    """Load a row of the table."""
    return f.load("ptr", table, 8 * ROWS.index(name))


class ByName:
    """Writes `@by_name`: checks, the arrays, the call of the kernel, and the dicts."""

    def __init__(self) -> None:
        f = self.f = Function("by_name", PROTOCOL)
        self.table = f.load("ptr", "%self", TABLE)
        self.plan = f.load("ptr", "%self", PLAN)
        f.require(f.compare("ne", "ptr", self.plan, "null"))
        self.names = f.load("ptr", self.plan, 8 * NAMES)
        f.require(
            f.compare("ne", "ptr", self.names, "null"), f.compare("eq", "ptr", "%kwnames", "null")
        )
        self.nin, self.nout = (f.load("i64", self.plan, 8 * k) for k in (NIN, NOUT))
        self.given = f.room(f"[{MAX_PORTS} x ptr]")  # the arguments, with arrays for dicts
        self.made = f.room(f"[{MAX_PORTS} x ptr]")  # these arrays

    def text(self) -> str:
        """Return the function."""
        f = self.f
        nargs = f.let(f"and i64 %nargsf, {COUNT}")
        f.require(f.compare("eq", "i64", nargs, self.nin))
        self.check()
        with f.each(self.nin) as i:
            x = f.item("ptr", "%args", i)
            with f.when(self.is_type(x, "dict")):
                self.read(i, x)
        code = f.load("ptr", "%self", ENTRY)
        arguments = f"ptr %self, ptr {self.given}, i64 {self.nin}, ptr null"
        results = f.call("ptr", code, arguments)
        self.release()
        with f.when(f.compare("eq", "ptr", results, "null")):
            f.give("null")
        self.label(results)
        f.label(MISMATCH)
        self.release()
        f.label(FAILED)
        f.pass_on("@by_exchange", PROTOCOL)
        return f.text()

    def is_type(self, x: str, name: str) -> str:
        """Return whether an object is of exactly this type."""
        kind = self.f.load("ptr", x, abi.TYPE)
        return self.f.compare("eq", "ptr", kind, row(self.f, self.table, name))

    def port(self, index: str) -> str:
        """Return the place of a port in the plan."""
        return self.f.at(self.plan, self.f.add(FIRST, self.f.mul(index, PORT)), "i64")

    def check(self) -> None:
        """Require one state, a dict, and names along the one axis of each result."""
        f = self.f
        with f.each(self.nout) as k:
            names = f.item("ptr", self.names, f.add(self.nin, k))
            f.require(f.compare("ne", "ptr", names, "null"))
        some = f.variable("i1", "false")
        with f.each(self.nin) as i:
            x, port = f.item("ptr", "%args", i), self.port(i)
            f.put("ptr", x, self.given, i)
            f.put("ptr", "null", self.made, i)
            after = f.new_label()
            with f.when(self.is_type(x, "dict")):
                names = f.item("ptr", self.names, i)
                size = f.call("i64", row(f, self.table, "PyDict_Size"), f"ptr {x}")
                f.require(
                    f.compare("ne", "ptr", names, "null"),
                    f.compare("eq", "i64", size, f.item("i64", port, SIZE)),
                )
                some.set("true")
                f.go(after)
            with f.when(self.is_type(x, "ndarray")):
                ndim = f.let(f"zext i32 {f.load('i32', x, abi.NDIM)} to i64")
                descr = f.load("ptr", x, abi.DESCR)
                number = f.load("i32", descr, abi.TYPE_NUMBER)
                f.require(
                    f.compare("eq", "i64", ndim, f.item("i64", port, NDIM)),
                    f.compare("eq", "i32", number, abi.FLOAT64),
                )
                f.go(after)
            plain = [self.is_type(x, name) for name in ("list", "tuple", "float")]
            f.require(f.either(f.either(*plain[:2]), plain[2]))
            f.label(after)
        f.require(some.get())

    def read(self, i: str, x: str) -> None:
        """Make an array of the numbers of a dict, in the order of the names."""
        f = self.f
        size = f.item("i64", self.port(i), SIZE)
        array = self.new_vector(size)
        with f.when(f.compare("eq", "ptr", array, "null")):
            self.release()
            f.give("null")
        f.put("ptr", array, self.made, i)
        f.put("ptr", array, self.given, i)
        data = f.load("ptr", array, abi.DATA)
        names = f.at(f.item("ptr", self.names, i), abi.TUPLE_ITEMS)
        place, key, value = (f.room(kind) for kind in ("i64", "ptr", "ptr"))
        f.put("i64", 0, place)
        following = row(f, self.table, "PyDict_Next")
        with f.each(size) as k:
            pointers = [f"ptr {p}" for p in (x, place, key, value)]
            self.match(f.compare("ne", "i32", f.call("i32", following, *pointers), 0))
            own = f.let(f"load ptr, ptr {key}")
            at = f.variable("i64", k)  # mostly the same order
            with f.when(f.compare("ne", "ptr", f.item("ptr", names, k), own)):
                at.set(size)
                with f.each(size) as j:
                    with f.when(f.compare("eq", "ptr", f.item("ptr", names, j), own)):
                        at.set(j)
                self.match(f.compare("ne", "i64", at.get(), size))
            self.number(f.let(f"load ptr, ptr {value}"), f.at(data, at.get(), "double"))

    def new_vector(self, size: str) -> str:
        """Return a new array of float64; null where Python has no memory."""
        f = self.f
        shape = f.room("i64")
        f.put("i64", size, shape)
        float64 = row(f, self.table, "float64")
        f.call("void", row(f, self.table, "Py_IncRef"), f"ptr {float64}")  # taken over by the array
        kinds = f"ptr {row(f, self.table, 'ndarray')}, ptr {float64}"
        make = row(f, self.table, "PyArray_NewFromDescr")
        rest = "ptr null, ptr null, i32 0, ptr null"
        return f.call("ptr", make, kinds, f"i32 1, ptr {shape}", rest)

    def match(self, test: str) -> None:
        """Continue if the test is true, else release the arrays and use the general call."""
        following = self.f.new_label()
        self.f.branch(test, following, MISMATCH)
        self.f.label(following)

    def number(self, x: str, where: str) -> None:
        """Store a float of Python or NumPy, or a whole number."""
        f, after = self.f, self.f.new_label()
        with f.when(f.either(self.is_type(x, "float"), self.is_type(x, "double"))):
            f.put("double", f.let(f"load double, ptr {f.at(x, abi.NUMBER)}"), where)
            f.go(after)
        self.match(self.is_type(x, "int"))
        self.match(f.call("i1", "@whole", f"ptr {self.table}", f"ptr {x}", f"ptr {where}"))
        f.label(after)

    def release(self) -> None:
        """Release the arrays that were made."""
        f = self.f
        with f.each(self.nin) as i:
            array = f.item("ptr", self.made, i)
            with f.when(f.compare("ne", "ptr", array, "null")):
                f.call("void", row(f, self.table, "Py_DecRef"), f"ptr {array}")
                f.put("ptr", "null", self.made, i)

    def label(self, results: str) -> None:
        """Return a dict, or a tuple of dicts, in place of arrays."""
        f, table = self.f, self.table
        drop = row(f, table, "Py_DecRef")
        single = f.room("ptr")
        f.put("ptr", results, single)
        items = f.variable("ptr", single)
        with f.when(f.compare("ne", "i64", self.nout, 1)):
            self.expect(self.is_type(results, "tuple"), results)
            length = f.load("i64", results, abi.LENGTH)
            self.expect(f.compare("eq", "i64", length, self.nout), results)
            items.set(f.at(results, abi.TUPLE_ITEMS))
        arrays, names = items.get(), f.at(self.names, self.nin, "ptr")
        with f.each(self.nout) as k:
            self.expect_vector(f.item("ptr", arrays, k), f.item("ptr", names, k), results)
        with f.when(f.compare("eq", "i64", self.nout, 1)):
            pair = f"ptr {results}, ptr {f.item('ptr', names, 0)}"
            made = f.call("ptr", "@named_dict", f"ptr {table}, {pair}")
            f.call("void", drop, f"ptr {results}")
            f.give(made)
        several = f.call("ptr", row(f, table, "PyTuple_New"), f"i64 {self.nout}")
        with f.when(f.compare("eq", "ptr", several, "null")):
            f.call("void", drop, f"ptr {results}")
            f.give("null")
        with f.each(self.nout) as k:
            pair = f"ptr {f.item('ptr', arrays, k)}, ptr {f.item('ptr', names, k)}"
            made = f.call("ptr", "@named_dict", f"ptr {table}, {pair}")
            f.put("ptr", made, f.at(several, abi.TUPLE_ITEMS), k)  # which takes the reference over
            with f.when(f.compare("eq", "ptr", made, "null")):
                f.call("void", drop, f"ptr {several}")
                f.call("void", drop, f"ptr {results}")
                f.give("null")
        f.call("void", drop, f"ptr {results}")
        f.give(several)

    def expect(self, test: str, results: str) -> None:
        """Continue if the test is true, else release the results and use the general call."""
        with self.f.when(self.f.opposite(test)):
            self.f.call("void", row(self.f, self.table, "Py_DecRef"), f"ptr {results}")
            self.f.go(MISMATCH)

    def expect_vector(self, array: str, names: str, results: str) -> None:
        """Expect a contiguous float64 array with as many numbers as names."""
        f = self.f
        self.expect(self.is_type(array, "ndarray"), results)
        flags = f.let(f"and i32 {f.load('i32', array, abi.FLAGS)}, {abi.READY}")
        number = f.load("i32", f.load("ptr", array, abi.DESCR), abi.TYPE_NUMBER)
        is_float64 = f.compare("eq", "i32", number, abi.FLOAT64)
        self.expect(f.both(is_float64, f.compare("eq", "i32", flags, abi.READY)), results)
        self.expect(f.compare("eq", "i32", f.load("i32", array, abi.NDIM), 1), results)
        size = f.load("i64", f.load("ptr", array, abi.DIMENSIONS))
        self.expect(f.compare("eq", "i64", size, f.load("i64", names, abi.LENGTH)), results)


def emit_dict() -> str:
    """LLVM IR of `@named_dict`: {name: number} of a vector of float64; null without memory."""
    f = Function("named_dict", "ptr %table, ptr %array, ptr %names")
    made = f.call("ptr", row(f, "%table", "PyDict_New"))
    drop, put = row(f, "%table", "Py_DecRef"), row(f, "%table", "PyDict_SetItem")
    float_of = row(f, "%table", "PyFloat_FromDouble")
    with f.when(f.compare("eq", "ptr", made, "null")):
        f.give("null")
    size = f.load("i64", "%names", abi.LENGTH)
    names, data = f.at("%names", abi.TUPLE_ITEMS), f.load("ptr", "%array", abi.DATA)
    with f.each(size) as k:
        number = f.call("ptr", float_of, f"double {f.item('double', data, k)}")
        with f.when(f.compare("eq", "ptr", number, "null")):
            f.call("void", drop, f"ptr {made}")
            f.give("null")
        name = f.item("ptr", names, k)
        failed = f.call("i32", put, f"ptr {made}, ptr {name}, ptr {number}")
        f.call("void", drop, f"ptr {number}")
        with f.when(f.compare("ne", "i32", failed, 0)):
            f.call("void", drop, f"ptr {made}")
            f.give("null")
    f.give(made)
    return f.text()
