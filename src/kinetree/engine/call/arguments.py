"""Arguments of a call, read in machine code: types, sizes, addresses and steps.

`Arguments` writes the part of `@enter` (enter.py) that looks at the arguments of a kernel. It reads
them twice: first to check all of them and to find the number type and the number of states, then to
collect the addresses of the numbers and the bytes between them. Numbers of lists are copied to the
stack. Anything that is not expected leads to the block `failed`, before anything was changed.
"""

from kinetree.engine.call import c_api as abi
from kinetree.engine.call.blocks import Function
from kinetree.engine.call.fastcall import LIMIT, PLAN, ROWS, TABLE
from kinetree.engine.call.plan import (
    DIMS,
    FIRST,
    GUARDED,
    LOOP32,
    LOOP64,
    MAX_DIMS,
    MAX_PORTS,
    NDIM,
    NIN,
    NOUT,
    ONE32,
    ONE64,
    PORT,
    SIZE,
    STEPS,
    WORDS,
)

LONGEST = 1 << 12  # numbers in lists that are copied to the stack
EXACT = 2.0**53  # whole numbers up to this one are the same as floats


class Arguments:
    """Writes the checks of the arguments. The attributes are names of values in the code."""

    def __init__(self, f: Function) -> None:
        self.f = f
        self.table = f.load("ptr", "%self", TABLE)
        self.plan = f.load("ptr", "%self", PLAN)
        f.require(f.compare("ne", "ptr", self.plan, "null"))
        self.nin, self.nout = self.word(NIN), self.word(NOUT)
        self.wide = f.variable("i1", "false")  # a float64 was seen
        self.narrow = f.variable("i1", "false")  # a float32 was seen
        self.batched = f.variable("i1", "false")  # an argument has the axis of states
        self.plain = f.variable("i1", "true")  # all arrays are contiguous
        self.loose = f.variable("i1", "false")  # an argument is a list or a number
        self.count = f.variable("i64", 1)
        self.arrays = f.room(f"[{MAX_PORTS} x ptr]")
        self.steps = f.room(f"[{MAX_PORTS * (1 + MAX_DIMS)} x i64]")
        self.inner = f.variable("i64", f.add(self.nin, self.nout))  # next inner step
        self.lows = f.room(f"[{MAX_PORTS} x i64]")  # addresses that an array uses: first
        self.highs = f.room(f"[{MAX_PORTS} x i64]")  # and behind the last

    def read(self) -> None:
        """Check all arguments, choose the code, and collect the addresses of the numbers."""
        f = self.f
        with f.each(self.nin) as i:
            self.classify(i)
        self.decide()
        self.gather()

    def word(self, position: int) -> str:
        """Load a word of the plan."""
        return self.f.load("i64", self.plan, 8 * position)

    def address(self, position: int) -> str:
        """Load an address of the plan."""
        return self.f.load("ptr", self.plan, 8 * position)

    def row(self, name: str) -> str:
        """Load a row of the table."""
        return self.f.load("ptr", self.table, 8 * ROWS.index(name))

    def port(self, index: str) -> str:
        """Return the place of a port in the plan."""
        return self.f.at(self.plan, self.f.add(FIRST, self.f.mul(index, PORT)), "i64")

    def classify(self, i: str) -> None:
        """Check the type, the axes and the sizes of an argument."""
        f = self.f
        port, x = self.port(i), f.item("ptr", "%args", i)
        core = f.item("i64", port, NDIM)
        kind = f.load("ptr", x, abi.TYPE)
        is_array = f.compare("eq", "ptr", kind, self.row("ndarray"))
        after = f.new_label()
        with f.when(is_array):
            self.classify_array(x, port, core)
            f.go(after)
        self.loose.set("true")
        flat = f.either(
            f.compare("eq", "ptr", kind, self.row("list")),
            f.compare("eq", "ptr", kind, self.row("tuple")),
        )
        with f.when(flat):
            length = f.load("i64", x, abi.LENGTH)
            f.require(
                f.compare("eq", "i64", core, 1),
                f.compare("eq", "i64", length, f.item("i64", port, SIZE)),
            )
            self.wide.set("true")
            f.go(after)
        is_numpy = f.compare("eq", "ptr", kind, self.row("double"))
        is_number = f.either(f.compare("eq", "ptr", kind, self.row("float")), is_numpy)
        f.require(is_number, f.compare("eq", "i64", core, 0))
        with f.when(is_numpy):
            self.wide.set("true")
        f.label(after)

    def classify_array(self, x: str, port: str, core: str) -> None:
        """Check an array and note the number of states."""
        f = self.f
        wide, narrow = self.number_types(x)
        f.require(f.either(wide, narrow), self.has_flags(x, abi.ALIGNED))
        self.wide.set(f.either(self.wide.get(), wide))
        self.narrow.set(f.either(self.narrow.get(), narrow))
        self.plain.set(f.both(self.plain.get(), self.has_flags(x, abi.READY)))
        ndim = f.let(f"zext i32 {f.load('i32', x, abi.NDIM)} to i64")
        more = f.let(f"sub i64 {ndim}, {core}")
        f.require(f.compare("ult", "i64", more, 2))
        sizes = f.load("ptr", x, abi.DIMENSIONS)
        self.same_sizes(f.at(sizes, more, "i64"), port, core)
        with f.when(f.compare("eq", "i64", more, 1)):
            guarded = f.compare("ne", "i64", self.word(GUARDED), 0)
            f.require(f.opposite(f.both(guarded, f.compare("eq", "i64", core, 0))))
            self.batched.set("true")
            states, before = f.item("i64", sizes, 0), self.count.get()
            with f.when(f.compare("ne", "i64", states, 1)):
                alone = f.compare("eq", "i64", before, 1)
                f.require(f.either(alone, f.compare("eq", "i64", before, states)))
                self.count.set(states)

    def number_types(self, x: str) -> tuple[str, str]:
        """Return whether an array has native float64 and whether it has native float32 numbers.

        The dtype is compared by its fields: an array that was unpickled has its own dtype object.
        """
        f = self.f
        descr = f.load("ptr", x, abi.DESCR)
        number = f.load("i32", descr, abi.TYPE_NUMBER)
        native = f.compare("eq", "i8", f.load("i8", descr, abi.BYTE_ORDER), abi.NATIVE)
        wide = f.both(native, f.compare("eq", "i32", number, abi.FLOAT64))
        return wide, f.both(native, f.compare("eq", "i32", number, abi.FLOAT32))

    def has_flags(self, x: str, flags: int) -> str:
        """Return whether an array has all the flags."""
        f = self.f
        set_flags = f.let(f"and i32 {f.load('i32', x, abi.FLAGS)}, {flags}")
        return f.compare("eq", "i32", set_flags, flags)

    def same_sizes(self, sizes: str, port: str, core: str) -> None:
        """Require that the core dimensions are those of the port."""
        f = self.f
        wanted = f.at(port, DIMS, "i64")
        with f.each(core) as axis:
            f.require(
                f.compare("eq", "i64", f.item("i64", sizes, axis), f.item("i64", wanted, axis))
            )

    def decide(self) -> None:
        """Choose the number type and its code; require a number of states for one thread."""
        f = self.f
        narrow, count = self.narrow.get(), self.count.get()
        f.require(f.opposite(f.both(self.wide.get(), narrow)))
        few = f.compare("slt", "i64", count, f.load("i64", "%self", LIMIT))
        single = f.opposite(self.batched.get())
        f.require(f.compare("sgt", "i64", count, 0), f.either(few, single))
        self.bytes = f.choose(narrow, "i64", 4, 8)
        self.one = f.choose(narrow, "ptr", self.address(ONE32), self.address(ONE64))
        self.loop = f.choose(narrow, "ptr", self.address(LOOP32), self.address(LOOP64))
        self.descr = f.choose(narrow, "ptr", self.row("float32"), self.row("float64"))
        f.require(f.compare("ne", "ptr", self.one, "null"))
        self.is_narrow = narrow
        self.states = count
        # lists and numbers are copied behind each other
        with f.when(self.loose.get()):
            f.require(f.compare("ult", "i64", self.word(WORDS), LONGEST))
        words = f.choose(self.loose.get(), "i64", self.word(WORDS), 0)
        self.copied = f.variable("ptr", f.let(f"alloca double, i64 {words}, align 16"))

    def gather(self) -> None:
        """Collect addresses and steps of the arguments; read lists and numbers."""
        f = self.f
        with f.each(self.nin) as i:
            port, x = self.port(i), f.item("ptr", "%args", i)
            core = f.item("i64", port, NDIM)
            kind = f.load("ptr", x, abi.TYPE)
            after = f.new_label()
            with f.when(f.compare("eq", "ptr", kind, self.row("ndarray"))):
                self.gather_array(i, x, core)
                f.go(after)
            f.put("i64", 0, self.steps, i)
            f.put("i64", 0, self.lows, i)
            f.put("i64", 0, self.highs, i)
            with f.when(f.compare("eq", "i64", core, 1)):
                self.gather_list(i, x, kind, f.item("i64", port, SIZE))
                f.go(after)
            value = f.let(f"load double, ptr {f.at(x, abi.NUMBER)}")
            place = self.copied.get()
            self.copied.set(f.at(place, 8))
            f.put("ptr", place, self.arrays, i)
            f.put("double", value, place)
            with f.when(self.is_narrow):
                rounded = f.let(f"fptrunc double {value} to float")
                f.put("float", rounded, place)
                value32 = f.let(f"fpext float {rounded} to double")
                self.positive(value32)
                f.go(after)
            self.positive(value)
            f.label(after)

    def positive(self, value: str) -> None:
        """Require that a number is positive and finite: others may have to be refused."""
        f = self.f
        f.require(
            f.compare("ogt", "double", value, "0.0"),
            f.compare("olt", "double", value, "0x7FF0000000000000"),
        )

    def gather_array(self, i: str, x: str, core: str) -> None:
        """Address and steps of an array, and the addresses between which its numbers lie."""
        f = self.f
        data = f.load("ptr", x, abi.DATA)
        f.put("ptr", data, self.arrays, i)
        ndim = f.let(f"zext i32 {f.load('i32', x, abi.NDIM)} to i64")
        more = f.let(f"sub i64 {ndim}, {core}")
        sizes, strides = f.load("ptr", x, abi.DIMENSIONS), f.load("ptr", x, abi.STRIDES)
        with f.when(f.compare("eq", "i64", ndim, 0)):  # one number for all states
            value = f.variable("double", "0.0")
            with f.when(self.is_narrow):
                value.set(f.let(f"fpext float {f.let(f'load float, ptr {data}')} to double"))
            with f.when(f.opposite(self.is_narrow)):
                value.set(f.let(f"load double, ptr {data}"))
            self.positive(value.get())
        f.put("i64", 0, self.steps, i)
        start = f.let(f"ptrtoint ptr {data} to i64")
        low, high = f.variable("i64", start), f.variable("i64", f.add(start, self.bytes))
        with f.each(ndim) as axis:
            stride = f.item("i64", strides, axis)
            steps = f.let(f"sub i64 {f.item('i64', sizes, axis)}, 1")
            reach = f.mul(steps, stride)
            back = f.compare("slt", "i64", reach, 0)
            low.set(f.add(low.get(), f.choose(back, "i64", reach, 0)))
            high.set(f.add(high.get(), f.choose(back, "i64", 0, reach)))
            outer = f.compare("ult", "i64", axis, more)
            with f.when(outer):
                # the only state of an array is the same for all
                repeated = f.compare("eq", "i64", steps, 0)
                f.put("i64", f.choose(repeated, "i64", 0, stride), self.steps, i)
            with f.when(f.opposite(outer)):
                self.inner_step(stride)
        f.put("i64", low.get(), self.lows, i)
        f.put("i64", high.get(), self.highs, i)

    def inner_step(self, stride: str) -> None:
        """Note the bytes between neighbours along the next core dimension."""
        f = self.f
        place = self.inner.get()
        f.put("i64", stride, self.steps, place)
        self.inner.set(f.add(place, 1))

    def gather_list(self, i: str, x: str, kind: str, length: str) -> None:
        """Copy the numbers of a list or tuple."""
        f = self.f
        place = self.copied.get()
        f.put("ptr", place, self.arrays, i)
        self.inner_step("8")
        is_list = f.compare("eq", "ptr", kind, self.row("list"))
        items = f.variable("ptr", f.at(x, abi.TUPLE_ITEMS))
        with f.when(is_list):
            items.set(f.load("ptr", x, abi.LIST_ITEMS))
        source, plain, double = items.get(), self.row("float"), self.row("double")
        with f.each(length) as k:
            item = f.item("ptr", source, k)
            item_type = f.load("ptr", item, abi.TYPE)
            where = f.at(place, k, "double")
            after = f.new_label()
            floats = f.either(
                f.compare("eq", "ptr", item_type, plain), f.compare("eq", "ptr", item_type, double)
            )
            with f.when(floats):
                f.put("double", f.let(f"load double, ptr {f.at(item, abi.NUMBER)}"), where)
                f.go(after)
            f.require(f.compare("eq", "ptr", item_type, self.row("int")))
            fine = f.call("i1", "@whole", f"ptr {self.table}", f"ptr {item}", f"ptr {where}")
            f.require(fine)
            f.label(after)
        self.copied.set(f.at(place, length, "double"))

    def result_steps(self, place: str, port: str) -> None:
        """Steps of a contiguous result."""
        f = self.f
        f.put("i64", f.mul(f.item("i64", port, SIZE), self.bytes), self.steps, place)
        port_steps = f.at(port, STEPS, "i64")
        with f.each(f.item("i64", port, NDIM)) as axis:
            self.inner_step(f.mul(f.item("i64", port_steps, axis), self.bytes))


def emit_number() -> str:
    """LLVM IR of `@whole`: the float of an int of Python, false where it may not be exact."""
    f = Function("whole", "ptr %table, ptr %item, ptr %place", "i1")

    def row(name: str) -> str:
        return f.load("ptr", "%table", 8 * ROWS.index(name))

    value = f.call("double", row("PyLong_AsDouble"), "ptr %item")
    f.put("double", value, "%place")
    with f.when(f.compare("oeq", "double", value, "-1.0")):
        problem = f.call("ptr", row("PyErr_Occurred"))
        with f.when(f.compare("ne", "ptr", problem, "null")):
            f.call("void", row("PyErr_Clear"))
            f.give("false")
    small = f.compare("olt", "double", value, f"{EXACT:e}")
    f.give(f.both(small, f.compare("ogt", "double", value, f"{-EXACT:e}")))
    return f.text()
