"""The entry point that all kernels share, for calls that their own (fastcall.py) do not take.

`@enter(self, args, nargsf, kwnames)` has Python's call protocol. It reads the kernel's own numbers
(its plan: shapes of the arguments and results, addresses of its code) and takes

- one state and batches with one leading axis, each array (N, ...), (1, ...) or without that axis,
  float64 throughout or float32 throughout, contiguous or not;
- lists and tuples of floats and whole numbers in place of vectors, and floats in place of arrays
  without dimensions;
- `out=` with contiguous arrays that overlap nothing;
- one further argument (F_ext), positional or by name, which goes to the larger kernel.

Everything else, and everything that is wrong, goes on unchanged: dicts of one state to named.py,
all other calls to the object's general call, which
computes the same numbers and has the messages. A batch from the limit on goes there too: several
threads pay. The code is compiled once for all kernels. Like the code of a kernel it contains no
address of Python or NumPy: these are read from a table (vectorcall.py).
"""

from kinetree.engine.call import c_api as abi
from kinetree.engine.call.arguments import Arguments, emit_number
from kinetree.engine.call.blocks import FAILED, Function
from kinetree.engine.call.fastcall import COUNT, ENTRY, GENERAL, PROTOCOL, TABLE
from kinetree.engine.call.plan import (
    BRIEF,
    DIMS,
    EXTRA,
    LARGER,
    MAX_DIMS,
    MAX_PORTS,
    NDIM,
    SIZE,
)

# words of the table of a choice (choice.py); pairs of a value and a kernel follow
CALL, KEYWORD, PLACE, USED, NONE, PAIRS = range(6)


def emit_enter() -> list[str]:
    """LLVM IR of `@enter`, of the function that it calls for whole numbers, and of `@choose`."""
    return [Enter().text(), emit_number(), emit_choice()]


class Enter:
    """Writes `@enter`: the keywords, the call of the kernel, and the results."""

    def __init__(self) -> None:
        f = self.f = Function("enter", PROTOCOL)
        self.given = Arguments(f)
        self.out = f.variable("ptr", "null")

    def text(self) -> str:
        """Return the function."""
        f = self.f
        self.keywords()
        f.label("inputs")
        self.given.read()
        f.branch(f.compare("eq", "ptr", self.out.get(), "null"), "new", "given")
        self.into_new()
        self.into_given()
        f.label(FAILED)
        f.pass_on("@by_name", PROTOCOL)
        return f.text()

    def keywords(self) -> None:
        """Find `out`, and pass calls with the further argument to the larger kernel."""
        f = self.f
        nargs = f.let(f"and i64 %nargsf, {COUNT}")
        enough = f.compare("eq", "i64", nargs, self.given.nin)
        one_more = f.compare("eq", "i64", nargs, f.add(self.given.nin, 1))
        with f.when(f.compare("eq", "ptr", "%kwnames", "null")):
            with f.when(enough):
                f.go("inputs")
            f.require(one_more)
            self.larger(nargs, "null")
        names = f.load("i64", "%kwnames", abi.LENGTH)
        first = f.load("ptr", "%kwnames", abi.TUPLE_ITEMS)
        out = self.given.row("out")
        single = f.compare("eq", "i64", names, 1)
        is_out = f.compare("eq", "ptr", first, out)
        with f.when(f.both(one_more, f.both(single, is_out))):
            self.larger(nargs, "%kwnames")
        f.require(enough)
        value = f.item("ptr", "%args", self.given.nin)
        with f.when(f.both(single, is_out)):
            absent = f.compare("eq", "ptr", value, self.given.row("None"))
            self.out.set(f.choose(absent, "ptr", "null", value))
            f.go("inputs")
        f.require(f.compare("eq", "ptr", first, self.given.address(EXTRA)))
        with f.when(single):
            self.larger(f.add(nargs, 1), "null")
        second = f.load("ptr", "%kwnames", abi.TUPLE_ITEMS + 8)
        f.require(f.compare("eq", "i64", names, 2), f.compare("eq", "ptr", second, out))
        self.larger(f.add(nargs, 1), self.given.row("only_out"))

    def larger(self, count: str, names: str) -> None:
        """Enter the kernel with the further argument; None in its place is as if not given."""
        f = self.f
        last = f.item("ptr", "%args", self.given.nin)
        if names == "null":
            f.require(f.compare("ne", "ptr", self.given.address(EXTRA), "null"))
            with f.when(f.compare("eq", "ptr", last, self.given.row("None"))):
                entry = f.load("ptr", "%self", ENTRY)
                f.pass_on(entry, "ptr %self", "ptr %args", f"i64 {self.given.nin}", "ptr null")
        kernel = self.given.address(LARGER)
        f.require(f.compare("ne", "ptr", kernel, "null"))
        code = f.load("ptr", kernel, ENTRY)
        f.pass_on(code, f"ptr {kernel}", "ptr %args", f"i64 {count}", f"ptr {names}")

    def run(self) -> None:
        """Call the kernel: its code for one state, or its loop over states."""
        f = self.f
        alone = f.both(f.compare("eq", "i64", self.given.states, 1), self.given.plain.get())
        done = f.new_label()
        with f.when(alone):
            f.call("void", self.given.one, f"ptr {self.given.arrays}")
            f.go(done)
        number = f.room("i64")
        f.put("i64", self.given.states, number)
        arguments = [f"ptr {x}" for x in (self.given.arrays, number, self.given.steps, "null")]
        with f.when(f.compare("sle", "i64", self.given.states, self.given.word(BRIEF))):
            f.call("void", self.given.loop, *arguments)
            f.go(done)
        thread = f.call("ptr", self.given.row("PyEval_SaveThread"))
        f.call("void", self.given.loop, *arguments)
        f.call("void", self.given.row("PyEval_RestoreThread"), f"ptr {thread}")
        f.label(done)

    def into_new(self) -> None:
        """Make arrays for the results, compute, and return one object or a tuple."""
        f = self.f
        f.label("new")
        made = f.room(f"[{MAX_PORTS} x ptr]")
        numbers = f.room(f"[{MAX_PORTS} x double]")
        shape = f.room(f"[{1 + MAX_DIMS} x i64]")
        with f.each(self.given.nout) as k:
            f.put("ptr", "null", made, k)
        leading = f.let(f"zext i1 {self.given.batched.get()} to i64")
        f.put("i64", self.given.states, shape)
        with f.each(self.given.nout) as k:
            place = f.add(self.given.nin, k)
            port = self.given.port(place)
            core = f.item("i64", port, NDIM)
            core_shape, sizes = f.at(shape, leading, "i64"), f.at(port, DIMS, "i64")
            with f.each(core) as axis:
                f.put("i64", f.item("i64", sizes, axis), core_shape, axis)
            self.given.result_steps(place, port)
            ndim = f.add(core, leading)
            number = f.at(numbers, k, "double")
            f.put("ptr", number, self.given.arrays, place)
            with f.when(f.compare("ne", "i64", ndim, 0)):
                size = f.mul(f.mul(f.item("i64", port, SIZE), self.given.states), self.given.bytes)
                arguments = [f"ptr {self.given.table}", f"ptr {self.given.descr}"]
                arguments += [f"i64 {ndim}", f"ptr {shape}", f"i64 {size}"]
                array = f.call("ptr", "@new_array", *arguments)
                self.or_undo(array)
                f.put("ptr", array, made, k)
                f.put("ptr", f.load("ptr", array, abi.DATA), self.given.arrays, place)
        self.run()
        with f.each(self.given.nout) as k:
            with f.when(f.compare("eq", "ptr", f.item("ptr", made, k), "null")):
                data = f.at(numbers, k, "double")
                make = self.given.row("PyArray_Scalar")
                number = f.call("ptr", make, f"ptr {data}", f"ptr {self.given.descr}", "ptr null")
                self.or_undo(number)
                f.put("ptr", number, made, k)
        with f.when(f.compare("eq", "i64", self.given.nout, 1)):
            f.give(f.item("ptr", made, 0))
        several = f.call("ptr", self.given.row("PyTuple_New"), f"i64 {self.given.nout}")
        self.or_undo(several)
        with f.each(self.given.nout) as k:  # the tuple takes over the references
            f.put("ptr", f.item("ptr", made, k), f.at(several, abi.TUPLE_ITEMS), k)
        f.give(several)
        f.label("undo")
        with f.each(self.given.nout) as k:
            kept = f.item("ptr", made, k)
            with f.when(f.compare("ne", "ptr", kept, "null")):
                f.call("void", self.given.row("Py_DecRef"), f"ptr {kept}")
        f.give("null")

    def or_undo(self, made: str) -> None:
        """Continue if Python had memory for an object, else release those made before."""
        f = self.f
        with f.when(f.compare("eq", "ptr", made, "null")):
            f.go("undo")

    def into_given(self) -> None:
        """Check the arrays of `out`, compute, and return what was given."""
        f = self.f
        f.label("given")
        out = self.out.get()
        is_tuple = f.compare("eq", "ptr", f.load("ptr", out, abi.TYPE), self.given.row("tuple"))
        items = f.variable("ptr", f.at("%args", self.given.nin, "ptr"))
        with f.when(is_tuple):
            f.require(f.compare("eq", "i64", f.load("i64", out, abi.LENGTH), self.given.nout))
            items.set(f.at(out, abi.TUPLE_ITEMS))
        f.require(f.either(is_tuple, f.compare("eq", "i64", self.given.nout, 1)))
        leading = f.let(f"zext i1 {self.given.batched.get()} to i64")
        source = items.get()
        with f.each(self.given.nout) as k:
            self.check_given(k, f.item("ptr", source, k), leading)
        self.run()
        single = f.compare("eq", "i64", self.given.nout, 1)
        result = f.choose(single, "ptr", f.item("ptr", source, 0), out)
        f.call("void", self.given.row("Py_IncRef"), f"ptr {result}")
        f.give(result)

    def check_given(self, k: str, x: str, leading: str) -> None:
        """Check one array of `out`: it must fit, and overlap no argument and no other result."""
        f = self.f
        place = f.add(self.given.nin, k)
        port = self.given.port(place)
        core = f.item("i64", port, NDIM)
        kind = f.load("ptr", x, abi.TYPE)
        f.require(f.compare("eq", "ptr", kind, self.given.row("ndarray")))
        wide, narrow = self.given.number_types(x)
        fit = f.choose(self.given.is_narrow, "i1", narrow, wide)
        f.require(fit, self.given.has_flags(x, abi.READY | abi.WRITEABLE))
        ndim = f.let(f"zext i32 {f.load('i32', x, abi.NDIM)} to i64")
        f.require(f.compare("eq", "i64", ndim, f.add(core, leading)))
        sizes = f.load("ptr", x, abi.DIMENSIONS)
        with f.when(f.compare("eq", "i64", leading, 1)):
            f.require(f.compare("eq", "i64", f.item("i64", sizes, 0), self.given.states))
        self.given.same_sizes(f.at(sizes, leading, "i64"), port, core)
        data = f.load("ptr", x, abi.DATA)
        f.put("ptr", data, self.given.arrays, place)
        self.given.result_steps(place, port)
        low = f.let(f"ptrtoint ptr {data} to i64")
        size = f.mul(f.mul(f.item("i64", port, SIZE), self.given.states), self.given.bytes)
        high = f.add(low, size)
        with f.each(place) as j:
            before = f.compare("ule", "i64", high, f.item("i64", self.given.lows, j))
            behind = f.compare("uge", "i64", low, f.item("i64", self.given.highs, j))
            f.require(f.either(before, behind))
        f.put("i64", low, self.given.lows, place)
        f.put("i64", high, self.given.highs, place)


def emit_choice() -> str:
    """LLVM IR of `@choose`: enter the kernel that belongs to the value of one argument."""
    f = Function("choose", PROTOCOL)
    table = f.load("ptr", "%self", TABLE)
    nargs = f.let(f"and i64 %nargsf, {COUNT}")
    place = f.item("i64", table, PLACE)
    value, count = f.variable("ptr", f.item("ptr", table, NONE)), f.variable("i64", nargs)
    with f.when(f.compare("eq", "ptr", "%kwnames", "null")):
        with f.when(f.compare("eq", "i64", nargs, place)):
            f.go("look")
        f.require(f.compare("sge", "i64", place, 0), f.compare("eq", "i64", nargs, f.add(place, 1)))
        value.set(f.item("ptr", "%args", place))
        count.set(place)
        f.go("look")
    name, keyword = f.load("ptr", "%kwnames", abi.TUPLE_ITEMS), f.item("ptr", table, KEYWORD)
    f.require(
        f.compare("eq", "i64", f.load("i64", "%kwnames", abi.LENGTH), 1),
        f.compare("eq", "ptr", name, keyword),
        f.either(f.compare("slt", "i64", place, 0), f.compare("eq", "i64", nargs, place)),
    )
    value.set(f.item("ptr", "%args", nargs))
    f.label("look")
    pairs, wanted = f.at(table, PAIRS, "i64"), value.get()
    with f.each(f.item("i64", table, USED)) as k:
        pair = f.at(pairs, f.mul(k, 2), "i64")
        with f.when(f.compare("eq", "ptr", f.item("ptr", pair, 0), wanted)):
            kernel = f.item("ptr", pair, 1)
            code = f.load("ptr", kernel, ENTRY)
            f.pass_on(code, f"ptr {kernel}", "ptr %args", f"i64 {count.get()}", "ptr null")
    f.label(FAILED)
    function = f.load("ptr", "%self", GENERAL)
    call = f.item("ptr", f.load("ptr", "%self", TABLE), CALL)
    f.pass_on(call, f"ptr {function}", "ptr %args", "i64 %nargsf", "ptr %kwnames")
    return f.text()
