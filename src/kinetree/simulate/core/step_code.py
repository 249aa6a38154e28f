"""Adaptive steps in machine code: many steps of one rollout in one call.

`@adaptive_steps(words)` does for one rollout what integration.py does in NumPy for many, with the
same operations in the same order: steps by dop853.py or radau.py, the comparison of the polynomial
with the equations of motion, the results, and the lengths of the next steps. Words are 64-bit
numbers and addresses in the order of WORDS. It calls the kernels by their addresses, and ends at a
break, at the end of the motion, or where Python has to decide.

A row of the frame has `stride` numbers, of which those behind the first `size` are zero.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from kinetree.engine.llvm.dense import DOUBLE, Dense
from kinetree.engine.llvm.text import number
from kinetree.simulate import tuning
from kinetree.simulate.core import dop853, radau, sums

PREFIX, ENTRY = "adaptive", "steps"
# why a call ended: at a break, after many steps, at an error that allows no step, at a loop that
# cannot be closed, or at the end of the motion
RUNNING, BREAK, WINDOW, LOST, OPEN, OVER = range(6)

WHOLE = ("size", "stride", "wide", "outputs_count", "attempts", "implicit", "stiff_steps", "nq",
         "n", "Phi", "Phi_end", "forces_count", "result_step", "force_step")  # fmt: skip
WORDS = (*WHOLE, "many", "one", "normal", "record", "counts", "constants", "x", "k", "p", "s",
         "change", "last", "outputs", "result", "rates", "forces", "frame", "spare")  # fmt: skip
RECORD = ("t", "h", "until", "beyond", "longest", "shortest", "stiff_since", "last_end", "last_h",
          "length", "wanted", "wrong", "grown", "miss", "ends", "before")  # fmt: skip
COUNTS = ("status", "steps", "rejected", "after", "fine", "stiff_steps", "calm_steps", "done",
          "taken", "tries", "refused", "good", "solved", "going", "due")  # fmt: skip
CONSTANTS = ("rtol", "atol", "max_step", "solved", "tolerance")
ROWS = (
    *(f"rate{i}" for i in range(dop853.RATES)), *(f"part{i}" for i in range(7)),
    *(f"{name}{i}" for name in ("Z", "W", "F", "change", "stage") for i in range(3)),
    *(f"{name}{i}" for name in ("point", "slope") for i in range(2)),
    "x", "end", "state", "moving", "scale", "a", "b", "steps",
)  # fmt: skip
# spare numbers: the arguments of a call, its counts and steps, times, and forces that nobody reads
ARGUMENTS, COUNT, STEPS, TIMES, FORCES = 0, 6, 7, 24, 28


def frame_size(size: int, stride: int, wide: int) -> int:
    """Numbers of the frame for states of `size` numbers, in rows of `stride`, or `wide` for two."""
    return (len(ROWS) + 4 * size) * stride + (4 * size + 2) * wide


class Number:
    """A number, or a vector of them, in the code that is written."""

    def __init__(self, code: "Code", name: str, wide: bool = False) -> None:
        self.code, self.name, self.wide = code, name, wide

    def _with(self, word: str, other: "Number | float", swapped: bool = False) -> "Number":
        one, two = self.code.alike(self, other)
        a, b = (two, one) if swapped else (one, two)
        return Number(self.code, self.code.op(word, a.name, b.name, wide=a.wide), a.wide)

    def __add__(self, other: "Number | float") -> "Number":
        return self._with("fadd", other)

    def __sub__(self, other: "Number | float") -> "Number":
        return self._with("fsub", other)

    def __rsub__(self, other: float) -> "Number":
        return self._with("fsub", other, True)

    def __mul__(self, other: "Number | float") -> "Number":
        return self._with("fmul", other)

    def __truediv__(self, other: "Number | float") -> "Number":
        return self._with("fdiv", other)

    def __rtruediv__(self, other: float) -> "Number":
        return self._with("fdiv", other, True)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: "Number | float") -> str:
        return self.code.compared("olt", self, other)

    def __le__(self, other: "Number | float") -> str:
        return self.code.compared("ole", self, other)

    def __gt__(self, other: "Number | float") -> str:
        return self.code.compared("ogt", self, other)

    def __ge__(self, other: "Number | float") -> str:
        return self.code.compared("oge", self, other)


class Code(Dense):
    """A function of the words, all of which are loaded at its beginning."""

    def __init__(self, lanes: int, name: str, arguments: str = "") -> None:
        super().__init__(lanes)
        self.name, self.arguments = name, arguments
        self.word = {
            name: self.let(
                f"load {'i64' if name in WHOLE else 'ptr'}, ptr {self.at('%words', 8 * i)}"
            )
            for i, name in enumerate(WORDS)
        }
        self.size, self.stride = self.word["size"], self.word["stride"]
        self.rows = {
            name: self.behind(self.word["frame"], self.times(self.stride, k))
            for k, name in enumerate(ROWS)
        }
        self.matrices = self.behind(self.word["frame"], self.times(self.stride, len(ROWS)))

    def text(self) -> str:
        """The function."""
        linkage = "" if self.name == ENTRY else "internal "
        head = f"define {linkage}void @{PREFIX}_{self.name}(ptr %words{self.arguments})"
        return self.function(f'{head} "stackrealign"')

    def run(self, name: str, *arguments: str) -> None:
        """Call another function of the module."""
        self.do(f"call void @{PREFIX}_{name}({', '.join(['ptr %words', *arguments])})")

    # numbers
    def constant(self, value: float, wide: bool = False) -> Number:
        """A constant, in all lanes."""
        return Number(self, number(float(value), DOUBLE, self.lanes if wide else 1), wide)

    def alike(self, a: Number, b: Number | float) -> tuple[Number, Number]:
        """Two numbers, or two vectors."""
        if not isinstance(b, Number):
            return a, self.constant(b, a.wide)
        if a.wide == b.wide:
            return a, b
        a, b = (x if x.wide else Number(self, self.spread(x.name), True) for x in (a, b))
        return a, b

    def compared(self, word: str, a: Number, b: Number | float) -> str:
        """A test of two numbers."""
        _, other = self.alike(a, b)
        return self.let(f"fcmp {word} {DOUBLE} {a.name}, {other.name}")

    def chosen(self, test: str, a: Number | float, b: Number | float) -> Number:
        """The number a where the test is true, else b."""
        a, b = (x if isinstance(x, Number) else self.constant(x) for x in (a, b))
        return Number(self, self.pick(test, a.name, b.name))

    def minimum(self, a: Number, b: Number | float) -> Number:
        """The smaller of two numbers."""
        return self.chosen(a < b, a, b)

    def maximum(self, a: Number, b: Number | float) -> Number:
        """The larger of two numbers."""
        return self.chosen(a > b, a, b)

    def called(self, function: str, x: Number) -> Number:
        """The result of sqrt or fabs."""
        kind = self.kind if x.wide else DOUBLE
        code = self.suffix if x.wide else "f64"
        return Number(
            self, self.let(f"call {kind} @llvm.{function}.{code}({kind} {x.name})"), x.wide
        )

    def is_finite(self, x: Number) -> str:
        """Whether a number is finite."""
        return self.compared("oeq", x - x, 0.0)

    def both(self, *tests: str) -> str:
        """Whether all tests are true."""
        all_ = tests[0]
        for test in tests[1:]:
            all_ = self.let(f"and i1 {all_}, {test}")
        return all_

    def either(self, a: str, b: str) -> str:
        """Whether one of two tests is true."""
        return self.let(f"or i1 {a}, {b}")

    def no(self, test: str) -> str:
        """Whether a test is false."""
        return self.let(f"xor i1 {test}, true")

    def is_whole(self, a: str, b: str | int, word: str = "eq") -> str:
        """A test of two whole numbers."""
        return self.let(f"icmp {word} i64 {a}, {b}")

    def pick_whole(self, test: str, a: str | int, b: str | int) -> str:
        """The whole number a where the test is true, else b."""
        return self.let(f"select i1 {test}, i64 {a}, i64 {b}")

    # memory
    def number_at(self, address: str, j: str | int = 0, wide: bool = False) -> Number:
        """The number, or the vector, j numbers behind an address."""
        return Number(self, self.load(self.behind(address, j), wide=wide), wide)

    def put(self, address: str, j: str | int, x: Number | float) -> None:
        """Write a number or a vector j numbers behind an address."""
        x = x if isinstance(x, Number) else self.constant(x)
        self.store(x.name, self.behind(address, j), wide=x.wide)

    def get(self, name: str) -> Number:
        """A number of the rollout, or a constant of the run."""
        if name in RECORD:
            return self.number_at(self.word["record"], RECORD.index(name))
        return self.number_at(self.word["constants"], CONSTANTS.index(name))

    def set(self, name: str, x: Number | float) -> None:
        """Write a number of the rollout."""
        self.put(self.word["record"], RECORD.index(name), x)

    def whole(self, name: str) -> str:
        """A whole number of the rollout."""
        return self.let(f"load i64, ptr {self._counted(name)}")

    def set_whole(self, name: str, x: str | int) -> None:
        """Write a whole number of the rollout."""
        self.do(f"store i64 {x}, ptr {self._counted(name)}")

    def raise_whole(self, name: str, by: str | int = 1) -> str:
        """Add to a whole number of the rollout, and return the sum."""
        total = self.plus(self.whole(name), by)
        self.set_whole(name, total)
        return total

    def as_whole(self, test: str) -> str:
        """The number 1 where a test is true, else 0."""
        return self.let(f"zext i1 {test} to i64")

    def _counted(self, name: str) -> str:
        return self.at(self.word["counts"], 8 * COUNTS.index(name))

    def is_set(self, name: str) -> str:
        """Whether a count is not zero."""
        return self.is_whole(self.whole(name), 0, "ne")

    @contextmanager
    def columns(self) -> Generator[str]:
        """A loop over the vectors of a row."""
        with self.each(0, self.stride, self.lanes) as j:
            yield j

    def of(self, row: str, j: str) -> Number:
        """A vector of a row of the frame."""
        return self.number_at(self.rows[row], j, wide=True)

    def keep(self, row: str, j: str, x: Number) -> None:
        """Write a vector of a row of the frame."""
        self.put(self.rows[row], j, x)

    def copy(self, source: str, target: str) -> None:
        """Copy a state, from address to address."""
        with self.each(0, self.size) as i:
            self.put(target, i, self.number_at(source, i))

    def sum(self, term: Callable[[str], Number]) -> Number:
        """The sum of term(i) over the numbers of a state, from the first on."""

        def body(i: str, so_far: Sequence[str]) -> list[str]:
            return [(Number(self, so_far[0]) + term(i)).name]

        zero = number(0.0, DOUBLE)
        return Number(self, self.accumulate(DOUBLE, [zero], self.size, body)[0])

    def squares(self, row: str) -> Number:
        """The sum of the squares of a row."""

        def term(i: str) -> Number:
            x = self.number_at(self.rows[row], i)
            return x * x

        return self.sum(term)

    def mean(self, total: Number, times: int = 1) -> Number:
        """A sum divided by the size of `times` states."""
        count = self.times(self.size, times)
        return total / Number(self, self.let(f"sitofp i64 {count} to {DOUBLE}"))

    # kernels
    def rate(self, t: str, x: str, k: str) -> None:
        """Evaluate the rate of one state; arguments are addresses."""
        spare = self.word["spare"]
        y = self.behind(spare, FORCES)
        for i, pointer in enumerate((t, x, self.word["p"], self.word["s"], k, y)):
            self.do(f"store ptr {pointer}, ptr {self.behind(spare, ARGUMENTS + i)}")
        self.do(f"call void {self.word['one']}(ptr {spare})")

    def rates(
        self, count: str | int, t: str, x: str, k: str, y: str | None = None,
        steps: Sequence[str | int] | None = None,
    ) -> None:  # fmt: skip
        """Evaluate the rates of several states; steps: bytes between their t, x, k and y."""
        spare, row = self.word["spare"], self.times(self.stride, 8)
        between = [8, row, row, 0] if steps is None else steps
        y = self.behind(spare, FORCES) if y is None else y
        for i, pointer in enumerate((t, x, self.word["p"], self.word["s"], k, y)):
            self.do(f"store ptr {pointer}, ptr {self.behind(spare, ARGUMENTS + i)}")
        self.do(f"store i64 {count}, ptr {self.behind(spare, COUNT)}")
        for i, step in enumerate((between[0], between[1], 0, 0, *between[2:], *[8] * 5)):
            self.do(f"store i64 {step}, ptr {self.behind(spare, STEPS + i)}")
        arguments = [spare, self.behind(spare, COUNT), self.behind(spare, STEPS), "null"]
        self.do(f"call void {self.word['many']}({', '.join(f'ptr {x}' for x in arguments)})")

    def normal(self, source: str, target: str) -> None:
        """Copy a state, and move it onto the constraints."""
        spare, code = self.word["spare"], self.word["normal"]
        test = self.let(f"icmp eq ptr {code}, null")
        with self.when(test):
            self.copy(source, target)
        with self.when(self.no(test)):
            for i, pointer in enumerate((source, target)):
                self.do(f"store ptr {pointer}, ptr {self.behind(spare, ARGUMENTS + i)}")
            self.do(f"call void {code}(ptr {spare})")

    def time(self, share: float | Number, place: int = 0) -> str:
        """Write the time at a share of the step, and return its address."""
        at = self.behind(self.word["spare"], TIMES + place)
        t = self.get("t") + share * self.get("length")
        self.put(at, 0, self.minimum(t, self.get("until")))
        return at

    def weighted(self, weights: Mapping[int, float], j: str) -> Number:
        """A weighted sum of rates, (lanes,)."""
        terms = [w * self.of(f"rate{i}", j) for i, w in weights.items()]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def allowed(self, *rows: str) -> None:
        """Write the error allowed, by the largest of some states, to the row `scale`."""
        rtol, atol = self.get("rtol"), self.get("atol")
        with self.columns() as j:
            largest, *others = (self.called("fabs", self.of(row, j)) for row in rows)
            for x in others:
                largest = self.larger(largest, x)
            self.keep("scale", j, atol + rtol * largest)

    def larger(self, a: Number, b: Number) -> Number:
        """The larger numbers of two vectors."""
        masks = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"
        test = self.let(f"fcmp ogt {self.kind} {a.name}, {b.name}")
        kind = self.kind
        return Number(
            self, self.let(f"select {masks} {test}, {kind} {a.name}, {kind} {b.name}"), True
        )

    def clipped(self, x: Number, low: Number | float, high: Number | float) -> Number:
        """The nearest number between two limits."""
        return self.minimum(self.maximum(x, low), high)

    def product(self, matrix: str, width: str, n: str, vector: str, out: str) -> None:
        """The product of a matrix and a vector, summed in the order of the columns."""
        with self.each(0, n) as i:
            row = self.behind(matrix, self.times(i, width))

            def body(j: str, so_far: Sequence[str], row: str = row) -> list[str]:
                term = self.number_at(row, j) * self.number_at(vector, j)
                return [(Number(self, so_far[0]) + term).name]

            total = self.accumulate(DOUBLE, [number(0.0, DOUBLE)], n, body)[0]
            self.put(out, i, Number(self, total))

    def beyond(self, first: str, t: Number) -> str:
        """The number of the first result after a time, from the result `first` on."""
        self.count += 1
        name, before = f"search{self.count}", self.block
        self.do(f"br label %{name}.head")
        self.label(f"{name}.head")
        self.do(f"%{name} = phi i64 [ {first}, %{before} ], [ %{name}.next, %{name}.body ]")
        inside = self.is_whole(f"%{name}", self.word["outputs_count"], "slt")
        self.do(f"br i1 {inside}, label %{name}.body, label %{name}.end")
        self.label(f"{name}.body")
        self.do(f"%{name}.next = add i64 %{name}, 1")
        early = self.number_at(self.word["outputs"], f"%{name}") <= t
        self.do(f"br i1 {early}, label %{name}.head, label %{name}.end")
        self.label(f"{name}.end")
        return f"%{name}"

    def result(self, array: str, r: str) -> str:
        """The address of result r of the rollout in an array of results."""
        step = self.word["force_step" if array == "forces" else "result_step"]
        return self.at(self.word[array], self.times(r, step))

    @property
    def implicit(self) -> str:
        """Whether the step is one of radau.py."""
        return self.is_whole(self.word["implicit"], 0, "ne")


def explicit_step(lanes: int) -> Code:
    """A step of dop853.py from `x` with `rate0`, its error, and whether it shows stiffness."""
    c = Code(lanes, "explicit_step")
    h, end = c.get("length"), f"rate{dop853.STAGES}"
    for i in range(1, dop853.STAGES):
        stage(c, h, i)
    with c.columns() as j:
        c.keep("end", j, c.of("x", j) + h * c.weighted(dop853.B, j))
    c.rate(c.time(1.0), c.rows["end"], c.rows[end])
    c.allowed("x", "end")
    with c.columns() as j:
        scale = c.of("scale", j)
        c.keep("a", j, c.weighted(dop853.E5, j) / scale)
        c.keep("b", j, c.weighted(dop853.E3, j) / scale)
    five, three = c.squares("a"), c.squares("b")
    size = Number(c, c.let(f"sitofp i64 {c.size} to {DOUBLE}"))
    below = c.called("sqrt", (five + 0.01 * three) * size)
    c.set("wrong", c.called("fabs", h) * five / c.chosen(below > 0.0, below, 1.0))
    return c


def stage(c: Code, h: Number, i: int) -> None:
    """Evaluate the rate of a stage of dop853.py."""
    with c.columns() as j:
        c.keep("state", j, c.of("x", j) + h * c.weighted(dop853.A[i], j))
    c.rate(c.time(dop853.C[i]), c.rows["state"], c.rows[f"rate{i}"])


def dense_output(lanes: int) -> Code:
    """The polynomial over a step of dop853.py."""
    c = Code(lanes, "dense_output")
    h = c.get("length")
    for i in range(dop853.STAGES + 1, dop853.RATES):
        stage(c, h, i)
    with c.columns() as j:
        first, last = c.of("rate0", j), c.of(f"rate{dop853.STAGES}", j)
        move = c.of("end", j) - c.of("x", j)
        parts = [move, h * first - move, 2.0 * move - h * (last + first)]
        parts += [h * c.weighted(row, j) for row in dop853.D]
        for i, part in enumerate(parts):
            c.keep(f"part{i}", j, part)
    return c


def point(lanes: int) -> Code:
    """The polynomial over a step: `state` and `moving`, its rate, at a share of the step."""
    c = Code(lanes, "point", f", {DOUBLE} %share")
    share, h = Number(c, "%share"), c.get("length")
    with c.when(c.no(c.implicit)):
        up, down = share, 1.0 - share
        with c.columns() as j:
            y = slope = c.constant(0.0, wide=True)
            for i in reversed(range(7)):
                y = y + c.of(f"part{i}", j)
                slope = slope * up + y if i % 2 == 0 else slope * down - y
                y = y * (up if i % 2 == 0 else down)
            c.keep("state", j, y + c.of("x", j))
            c.keep("moving", j, slope / h)
    with c.when(c.implicit), c.columns() as j:
        one, two, three = cubic(c, j)
        c.keep("state", j, c.of("x", j) + share * (one + share * (two + share * three)))
        slope = one + share * (2.0 * two + share * (3.0 * three))
        c.keep("moving", j, slope / h)
    return c


def cubic(c: Code, j: str) -> list[Number]:
    """The coefficients of the cubic over the last step of radau.py."""
    places = [c.plus(c.times(c.stride, i), j) for i in range(3)]
    return [c.number_at(c.word["last"], place, wide=True) for place in places]


def defect(lanes: int) -> Code:
    """The largest defect so far in `miss`, with that at a share where the rate is known."""
    c = Code(lanes, "defect", f", {DOUBLE} %share, ptr %k, {DOUBLE} %allowed")
    share, h = Number(c, "%share"), c.get("length")
    c.run("point", f"{DOUBLE} %share")
    c.copy("%k", c.rows["a"])
    with c.columns() as j:
        c.keep("b", j, c.of("moving", j) - c.of("a", j))
    with c.when(c.implicit):
        c.product(damped(c), c.times(c.stride, 2), c.size, c.rows["b"], c.rows["a"])
        c.copy(c.rows["a"], c.rows["b"])
    with c.columns() as j:
        c.keep("a", j, c.of("b", j) * (h / c.of("scale", j)))
    size = c.called("sqrt", c.mean(c.squares("a"))) / tuning.DEFECT / Number(c, "%allowed")
    size = c.chosen(c.is_finite(size), size, float("inf"))
    inner = c.both(share > 1e-9, share < 1 - 1e-9)  # a jump there has two sides
    c.set("miss", c.maximum(c.get("miss"), c.chosen(inner, size, 0.0)))
    return c


def accept(lanes: int) -> Code:
    """Check a step whose error is small, write its results, and go on from its end."""
    c = Code(lanes, "accept")
    outputs, t, h, until = c.word["outputs"], c.get("t"), c.get("length"), c.get("until")
    with c.when(c.no(c.implicit)):
        c.run("dense_output")
    last_result = c.number_at(outputs, c.plus(c.word["outputs_count"], -1))
    ends = c.chosen(c.compared("oeq", h, until - t), until, t + h)
    done = c.whole("done")
    due = c.beyond(done, ends * (1 + 1e-15))
    check(c, done, due)
    kept = c.either(c.get("miss") <= 1.0, h <= tuning.FINE_STEP * c.get("max_step"))
    c.set_whole("good", c.as_whole(kept))
    with c.when(c.no(kept)):
        miss = c.get("miss")
        shrunk = c.chosen(
            c.implicit,
            *(0.9 / root(c, miss, x.defect_order) for x in (radau.Radau, dop853.DOP853)),
        )
        c.set("grown", c.clipped(shrunk, 0.2, 0.9))
        empty(c, done, due)
    with c.when(kept):
        again = c.both(c.compared("oeq", ends, until), ends < last_result)
        reached = c.chosen(again, c.get("beyond"), ends)
        at_break = c.chosen(c.compared("oeq", reached, until), reached * (1 - 1e-15), until)
        upto = c.pick_whole(again, c.beyond(done, at_break), due)
        empty(c, upto, due)
        c.set_whole("done", upto)
        c.raise_whole("taken")
        end, state = c.rows["end"], c.rows["state"]
        c.normal(end, state)

        def differs(i: str) -> Number:
            return c.chosen(c.compared("une", c.number_at(end, i), c.number_at(state, i)), 1.0, 0.0)

        moved = c.either(again, c.sum(differs) > 0.0)
        c.set("t", reached)
        c.copy(state, c.word["x"])
        evaluated = c.rows[f"rate{dop853.STAGES}"], c.rows["rate3"]
        k = c.let(f"select i1 {c.implicit}, ptr {evaluated[1]}, ptr {evaluated[0]}")
        c.copy(k, c.word["k"])
        over = reached >= last_result
        status = c.pick_whole(over, OVER, c.pick_whole(again, BREAK, RUNNING))
        c.set_whole("status", status)
        with c.when(moved):
            place = c.behind(c.word["record"], RECORD.index("t"))
            c.rate(place, c.word["x"], c.word["k"])
            forces = c.behind(c.word["spare"], FORCES)
            with c.each(c.word["Phi"], c.word["Phi_end"]) as i:
                closed = c.called("fabs", c.number_at(forces, i)) <= c.get("tolerance")
                with c.when(c.no(closed)):
                    c.set_whole("status", OPEN)
    return c


def root(c: Code, x: Number, order: int) -> Number:
    """The root of a number from 1 on, of order 3 or 7, as `sums.root` has it."""
    y = x
    for _ in range(3 if order == 7 else 2):
        y = c.called("sqrt", y)
    x, y = c.minimum(x, sums.LARGEST), c.minimum(y, sums.LARGEST)
    for _ in range(sums.ROOT_ITERATIONS):
        power = y
        for _ in range(order - 2):
            power = power * y
        y = y - (power * y - x) / (float(order) * power)
    return y


def empty(c: Code, first: str, end: str) -> None:
    """Take back results that were written before their step was kept."""
    with c.each(first, end) as r:
        for name in ("result", "rates"):
            with c.each(0, c.size) as i:
                c.put(c.result(name, r), i, float("nan"))
        with c.each(0, c.word["forces_count"]) as i:
            c.put(c.result("forces", r), i, float("nan"))


def check(c: Code, done: str, due: str) -> None:
    """Compare the polynomial with the equations of motion, between the stages and at results."""
    t, h = c.get("t"), c.get("length")
    shares = [c.constant(float(x)) for x in tuning.CHECKED_SHARES]
    for i, share in enumerate(shares):
        at = c.time(share, i)
        c.run("point", f"{DOUBLE} {share.name}")
        c.normal(c.rows["state"], c.rows[f"point{i}"])
    at = c.behind(c.word["spare"], TIMES)
    c.rates(len(shares), at, c.rows["point0"], c.rows["slope0"])

    def share_of(r: str) -> Number:
        passed = (c.number_at(c.word["outputs"], r) - t) / h
        return c.clipped(passed, 0.0, 1.0)

    with c.each(done, due) as r:
        c.run("point", f"{DOUBLE} {share_of(r).name}")
        c.normal(c.rows["state"], c.result("result", r))
    with c.when(c.is_whole(due, done, "sgt")):
        between = c.word["result_step"], c.word["force_step"]
        c.rates(
            c.let(f"sub i64 {due}, {done}"),
            c.behind(c.word["outputs"], done),
            *(c.result(name, done) for name in ("result", "rates", "forces")),
            steps=(8, between[0], *between),
        )
    c.set("miss", 0.0)
    for i, share in enumerate(shares):
        c.run("defect", f"{DOUBLE} {share.name}", f"ptr {c.rows[f'slope{i}']}", f"{DOUBLE} 1.0")
    with c.each(done, due) as r:
        allowed = f"{DOUBLE} {number(tuning.DEFECT_AT_RESULTS, DOUBLE)}"
        k = c.result("rates", r)
        c.run("defect", f"{DOUBLE} {share_of(r).name}", f"ptr {k}", allowed)


def implicit_step(lanes: int) -> Code:
    """A step of radau.py from `x` with `rate0`, and its error."""
    c = Code(lanes, "implicit_step")
    h, t = c.get("length"), c.get("t")
    matrices(c)
    guess(c, t, h)
    newton(c, h)
    with c.columns() as j:
        c.keep("end", j, c.of("x", j) + c.of("Z2", j))
    c.rate(c.time(1.0), c.rows["end"], c.rows["rate3"])
    with c.columns() as j:
        Z = [c.of(f"Z{i}", j) for i in range(3)]
        c.keep("a", j, (mixed(radau.ERROR, Z) + h * c.of("rate0", j)) / radau.MU)
        for i, weights in enumerate(radau.CUBIC):
            c.put(c.word["last"], c.plus(c.times(c.stride, i), j), mixed(weights, Z))
    c.product(damped(c), c.times(c.stride, 2), c.size, c.rows["a"], c.rows["b"])
    c.set("last_end", t + h)
    c.set("last_h", h)
    c.allowed("x", "end")
    with c.columns() as j:
        c.keep("a", j, c.of("b", j) / c.of("scale", j))
    wrong = c.called("sqrt", c.mean(c.squares("a")))
    c.set("wrong", c.chosen(c.is_set("solved"), wrong, float("inf")))
    return c


def mixed(weights: Sequence[float], parts: Sequence[Number]) -> Number:
    """A weighted sum of three parts."""
    a, b, c = (float(w) * part for w, part in zip(weights, parts, strict=True))
    return a + b + c


def damped(c: Code) -> str:
    """The address of (1 - h J / MU)^-1, the right half of its rows."""
    return c.behind(c.matrices, c.stride)


def matrices(c: Code) -> None:
    """The Jacobian by difference quotients, and both inverse matrices of Newton's method."""
    n, stride, wide, x = c.size, c.stride, c.word["wide"], c.rows["x"]
    states = c.behind(c.matrices, c.times(c.times(n, 2), stride))
    slopes = c.behind(states, c.times(n, stride))
    pair = c.behind(slopes, c.times(n, stride))
    with c.each(0, n) as i:
        row = c.behind(states, c.times(i, stride))
        c.copy(x, row)
        value = c.number_at(x, i)
        step = radau.DIFFERENCE * c.maximum(c.called("fabs", value), 1.0)
        c.put(c.rows["steps"], i, step)
        c.put(row, i, value + step)
    row = c.times(stride, 8)
    place = c.behind(c.word["record"], RECORD.index("t"))
    c.rates(n, place, states, slopes, steps=(0, row, row, 0))
    h = c.get("length")
    with c.each(0, n) as i:
        single = c.behind(c.matrices, c.times(c.times(i, stride), 2))
        upper = c.behind(pair, c.times(c.times(i, wide), 2))
        lower = c.behind(upper, c.times(c.times(n, wide), 2))
        clear(c, single, c.times(stride, 2))
        clear(c, upper, c.times(wide, 2))
        clear(c, lower, c.times(wide, 2))
        with c.each(0, n) as j:
            found = c.number_at(c.behind(slopes, c.times(j, stride)), i)
            slope = (found - c.number_at(c.rows["rate0"], i)) / c.number_at(c.rows["steps"], j)
            J, same = slope * h, c.is_whole(i, j)
            one = c.chosen(same, 1.0, 0.0)
            c.put(single, j, one - J / radau.MU)
            turned = radau.ALPHA * one - J
            c.put(upper, j, turned)
            c.put(lower, c.plus(n, j), turned)
        c.put(single, c.plus(stride, i), 1.0)
        c.put(upper, c.plus(n, i), radau.BETA)
        c.put(lower, i, -radau.BETA)
        c.put(upper, c.plus(wide, i), 1.0)
        c.put(lower, c.plus(c.plus(wide, n), i), 1.0)
    c.run("inverse", f"ptr {c.matrices}", f"i64 {n}", f"i64 {stride}")
    c.run("inverse", f"ptr {pair}", f"i64 {c.times(n, 2)}", f"i64 {wide}")


def clear(c: Code, address: str, count: str) -> None:
    """Write zeros, of whole vectors."""
    with c.each(0, count, c.lanes) as j:
        c.put(address, j, c.constant(0.0, wide=True))


def inverse(lanes: int) -> Code:
    """The inverse of a matrix of n rows, of which each has `half` numbers, and as many of 1.

    It takes the place of the second half.
    """
    c = Code(lanes, "inverse", ", ptr %rows, i64 %n, i64 %half")
    width = c.times("%half", 2)

    def row(i: str) -> str:
        return c.behind("%rows", c.times(i, width))

    with c.each(0, "%n") as j:

        def larger(i: str, so_far: Sequence[str], j: str = j) -> list[str]:
            i = c.plus(i, j)
            size, best = c.called("fabs", c.number_at(row(i), j)), Number(c, so_far[0])
            index = Number(c, c.let(f"sitofp i64 {i} to {DOUBLE}"))
            test = size > best
            return [
                c.chosen(test, size, best).name,
                c.chosen(test, index, Number(c, so_far[1])).name,
            ]

        first = Number(c, c.let(f"sitofp i64 {j} to {DOUBLE}"))
        begin = [number(-1.0, DOUBLE), first.name]
        _, place = c.accumulate(DOUBLE, begin, c.let(f"sub i64 %n, {j}"), larger)
        p = c.let(f"fptosi {DOUBLE} {place} to i64")
        pivot, chosen, here = c.number_at(row(p), j), row(p), row(j)
        start = c.let(f"and i64 {j}, {-lanes}")  # all before it are zero
        with c.each(start, width, lanes) as k:
            a, b = c.number_at(chosen, k, wide=True), c.number_at(here, k, wide=True)
            c.put(chosen, k, b)
            c.put(here, k, a / pivot)
        with c.each(0, "%n") as i, c.when(c.is_whole(i, j, "ne")):
            other = row(i)
            factor = c.number_at(other, j)
            with c.each(start, width, lanes) as k:
                x = c.number_at(other, k, wide=True)
                c.put(other, k, x - factor * c.number_at(here, k, wide=True))
    return c


def guess(c: Code, t: Number, h: Number) -> None:
    """W and Z where the cubic of the last step goes on; 0 after a jump."""
    known = c.compared("oeq", c.get("last_end"), t)
    ratio = h / c.get("last_h")
    with c.columns() as j:
        for i in range(3):
            c.keep(f"Z{i}", j, c.constant(0.0, wide=True))
    with c.when(known), c.columns() as j:
        one, two, three = cubic(c, j)
        for i, place in enumerate(radau.C):
            s = 1.0 + float(place) * ratio
            c.keep(f"Z{i}", j, s * (one + s * (two + s * three)) - (one + two + three))
    with c.columns() as j:
        Z = [c.of(f"Z{i}", j) for i in range(3)]
        W = [mixed(weights, Z) for weights in radau.T_INVERSE]
        for i in range(3):
            c.keep(f"W{i}", j, W[i])
            c.keep(f"Z{i}", j, mixed(radau.T[i], W))


def newton(c: Code, h: Number) -> None:
    """The stages of a step of radau.py, by Newton's method."""
    n, wide = c.size, c.word["wide"]
    pair = c.behind(c.matrices, c.times(c.times(n, 4), c.stride))
    vector = c.behind(pair, c.times(c.times(n, 4), wide))
    c.allowed("x")
    c.set_whole("solved", 0)
    c.set_whole("going", 1)
    c.set("before", float("nan"))
    for i, place in enumerate(radau.C):
        c.time(float(place), i)
    with c.each(0, radau.ITERATIONS) as k, c.when(c.is_set("going")):
        with c.columns() as j:
            for i in range(3):
                c.keep(f"stage{i}", j, c.of("x", j) + c.of(f"Z{i}", j))
        times = c.behind(c.word["spare"], TIMES)
        c.rates(3, times, c.rows["stage0"], c.rows["rate1"])
        with c.columns() as j:
            w = [c.of(f"W{i}", j) for i in range(3)]
            scaled = [c.of(f"rate{i + 1}", j) * h for i in range(3)]
            F = [mixed(weights, scaled) for weights in radau.T_INVERSE]
            c.keep("a", j, F[0] / radau.MU - w[0])
            c.keep("F1", j, F[1] - radau.ALPHA * w[1] - radau.BETA * w[2])
            c.keep("F2", j, F[2] - radau.ALPHA * w[2] + radau.BETA * w[1])
        c.copy(c.rows["F1"], vector)
        c.copy(c.rows["F2"], c.behind(vector, n))
        out = c.behind(vector, wide)
        c.product(damped(c), c.times(c.stride, 2), n, c.rows["a"], c.rows["change0"])
        c.product(c.behind(pair, wide), c.times(wide, 2), c.times(n, 2), vector, out)
        c.copy(out, c.rows["change1"])
        c.copy(c.behind(out, n), c.rows["change2"])
        with c.columns() as j:
            change = [c.of(f"change{i}", j) for i in range(3)]
            W = [c.of(f"W{i}", j) + change[i] for i in range(3)]
            for i in range(3):
                c.keep(f"W{i}", j, W[i])
                c.keep(f"Z{i}", j, mixed(radau.T[i], W))
                c.keep(f"F{i}", j, mixed(radau.T[i], change) / c.of("scale", j))
        squares = [c.squares(f"F{i}") for i in range(3)]
        moved = c.called("sqrt", c.mean(squares[0] + squares[1] + squares[2], 3))
        pace = moved / c.get("before")
        left = c.chosen(pace < 1.0, pace / (1.0 - pace), float("inf")) * moved

        def further(_: str, so_far: Sequence[str], pace: Number = pace) -> list[str]:
            return [(Number(c, so_far[0]) * pace).name]

        rounds = c.let(f"sub i64 {radau.ITERATIONS - 1}, {k}")
        at_last = Number(c, c.accumulate(DOUBLE, [left.name], rounds, further)[0])
        hopeless = c.both(at_last > c.get("solved"), c.is_whole(k, 0, "sgt"))
        done = c.either(c.compared("oeq", moved, 0.0), left < c.get("solved"))
        with c.when(done):
            c.set_whole("solved", 1)
        c.set("before", moved)
        ended = c.either(done, c.either(c.no(c.is_finite(moved)), hopeless))
        c.set_whole("going", c.as_whole(c.no(ended)))


def steps(lanes: int) -> Code:
    """Steps until Python has to decide."""
    c = Code(lanes, ENTRY)
    running = lambda: c.is_whole(c.whole("status"), RUNNING)  # noqa: E731
    with c.each(0, c.word["attempts"]), c.when(running()):
        t, until = c.get("t"), c.get("until")
        wanted = c.minimum(c.get("h"), c.get("max_step"))
        short = t + 1.01 * wanted >= until  # leave no tiny last step
        c.set("wanted", wanted)
        c.set("length", c.chosen(short, until - t, wanted))
        c.copy(c.word["x"], c.rows["x"])
        c.copy(c.word["k"], c.rows["rate0"])
        with c.when(c.implicit):
            c.run("implicit_step")
        with c.when(c.no(c.implicit)):
            c.run("explicit_step")

        def off(i: str) -> Number:
            end = c.number_at(c.rows["end"], i)
            return end - end

        finite = c.both(c.is_finite(c.get("wrong")), c.is_finite(c.sum(off)))
        wrong = c.chosen(finite, c.get("wrong"), float("inf"))
        four = c.called("sqrt", c.called("sqrt", wrong))
        by = [
            c.clipped(x.SAFETY / part, x.SHRINK, x.GROW)
            for x, part in ((radau, four), (dop853, c.called("sqrt", four)))
        ]
        c.set("grown", c.chosen(c.implicit, *by))
        c.set_whole("good", 0)
        with c.when(wrong <= 1.0):
            c.run("accept")
        with c.when(c.no(c.implicit)):
            stiffness(c)
        next_length(c)
        pace(c)
    return c


def stiffness(c: Code) -> None:
    """Count steps that stability limits; Python changes the method at the time `stiff_since`."""
    h, last = c.get("length"), dop853.STAGES
    with c.columns() as j:
        before = c.of("x", j) + h * c.weighted(dop853.A[last - 1], j)
        c.keep("a", j, c.of(f"rate{last}", j) - c.of(f"rate{last - 1}", j))
        c.keep("b", j, c.of("end", j) - before)
    change, way = c.squares("a"), c.squares("b")
    measure = h * c.called("sqrt", change / c.chosen(way > 0.0, way, float("inf")))
    good = c.is_set("good")
    limited = c.both(good, measure > tuning.STIFF)
    calm = c.whole("calm_steps")
    further = c.pick_whole(limited, 0, c.plus(calm, 1))
    calm = c.pick_whole(good, further, calm)
    seen = c.plus(c.whole("stiff_steps"), c.as_whole(limited))
    seen = c.pick_whole(c.is_whole(calm, tuning.CALM_STEPS, "sge"), 0, seen)
    c.set_whole("calm_steps", calm)
    c.set_whole("stiff_steps", seen)
    since = c.get("stiff_since")
    new = c.both(c.is_whole(seen, c.word["stiff_steps"], "sge"), c.compared("uno", since, since))
    with c.when(new):
        c.set("stiff_since", c.get("t"))
        with c.when(c.is_whole(c.whole("status"), RUNNING)):
            c.set_whole("status", WINDOW)


def next_length(c: Code) -> None:
    """The length of the next step."""
    h, wanted, grown, good = c.get("length"), c.get("wanted"), c.get("grown"), c.is_set("good")
    grown = c.chosen(c.is_set("after"), c.minimum(grown, 1.0), grown)
    longer = h * grown
    # the length of a step that a break cut short does not limit that of the next
    cut = c.both(good, h < wanted)
    longer = c.chosen(cut, c.maximum(longer, wanted), longer)
    c.set("h", longer)
    bad = c.as_whole(c.no(good))
    c.set_whole("after", bad)
    c.raise_whole("rejected", bad)
    c.raise_whole("steps", c.as_whole(good))
    shortest = tuning.SHORTEST_STEP * c.maximum(c.get("t"), 1e-3 * c.get("max_step"))
    with c.when(c.both(c.no(good), longer < shortest)):
        c.set_whole("status", LOST)


def pace(c: Code) -> None:
    """Count short and rejected steps, for `integration.Pace`."""
    h, good = c.get("length"), c.is_set("good")
    fine = c.both(c.compared("oeq", h, c.get("wanted")), h <= tuning.FINE_STEP * c.get("max_step"))
    count = c.pick_whole(fine, c.plus(c.whole("fine"), 1), 0)
    c.set_whole("fine", count)
    doubtful = int(tuning.SLIDE_REJECTED * tuning.PACE_WINDOW / 2)
    with c.when(
        c.either(
            c.is_whole(count, tuning.MAX_FINE_STEPS // 2, "sgt"),
            c.is_whole(c.whole("refused"), doubtful, "sge"),
        )
    ):
        spread_of_rates(c)
    tries = c.raise_whole("tries")
    c.raise_whole("refused", c.as_whole(c.no(good)))
    with c.when(good):
        c.set("longest", c.maximum(c.get("longest"), h))
        c.set("shortest", c.minimum(c.get("shortest"), h))
    judged = c.either(
        c.is_whole(tries, tuning.PACE_WINDOW, "sge"),
        c.is_whole(count, tuning.MAX_FINE_STEPS, "sgt"),
    )
    with c.when(c.both(judged, c.is_whole(c.whole("status"), RUNNING))):
        c.set_whole("status", WINDOW)


def spread_of_rates(c: Code) -> None:
    """Note by how much accelerations differ within the step; it names a joint that slides."""
    rows = c.pick_whole(c.implicit, 4, dop853.STAGES + 1)
    with c.each(0, c.word["n"]) as i:
        first = c.behind(c.rows["rate0"], c.plus(c.word["nq"], i))

        def wider(r: str, so_far: Sequence[str], first: str = first) -> list[str]:
            low, high, off = (Number(c, x) for x in so_far)
            x = c.number_at(first, c.times(r, c.stride))
            return [c.minimum(x, low).name, c.maximum(x, high).name, (off + (x - x)).name]

        limits = [number(x, DOUBLE) for x in (float("inf"), -float("inf"), 0.0)]
        low, high, off = (Number(c, x) for x in c.accumulate(DOUBLE, limits, rows, wider))
        faded = tuning.FADING * c.number_at(c.word["change"], i)
        c.put(c.word["change"], i, c.maximum(high - low + off, faded))


def emit(lanes: int, triple: str | None) -> str:
    """The module."""
    parts = (inverse, point, defect, explicit_step, dense_output, implicit_step, accept, steps)
    codes = [part(lanes) for part in parts]
    kinds = dict.fromkeys([("f64", DOUBLE), (codes[0].suffix, codes[0].kind)])
    declared = [
        f"declare {kind} @llvm.{name}.{code}({kind})"
        for code, kind in kinds
        for name in ("sqrt", "fabs")
    ]
    head = [f'target triple = "{triple}"\n'] if triple else []
    return "\n".join([*head, *(code.text() for code in codes), *declared]) + "\n"
