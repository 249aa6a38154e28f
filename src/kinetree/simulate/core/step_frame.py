"""What step_code.py and implicit_code.py work on: words, numbers of a rollout, rows of a frame.

A row of the frame has `stride` numbers, of which those behind the first `size` are zero.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from kinetree.engine.llvm.dense import DOUBLE
from kinetree.engine.llvm.numbers import Number, Numbers
from kinetree.engine.llvm.text import number
from kinetree.simulate.core import dop853

PREFIX, ENTRY = "adaptive", "steps"
# why a call ended: at a break, after many steps, at an error that allows no step, at a loop that
# cannot be closed, at the end of the motion, or where Python goes on from the end of a step
RUNNING, BREAK, WINDOW, LOST, OPEN, OVER, PAUSED = range(7)

WHOLE = ("size", "stride", "wide", "outputs_count", "attempts", "implicit", "auto", "stiff_steps",
         "nq",
         "n", "Phi", "Phi_end", "forces_count", "result_step", "force_step", "signal_step", "row",
         "pause")  # fmt: skip
WORDS = (*WHOLE, "many", "one", "normal", "record", "counts", "constants", "x", "k", "p", "s",
         "change", "last", "outputs", "result", "rates", "forces", "frame", "spare",
         "signals")  # fmt: skip
RECORD = ("t", "h", "until", "beyond", "longest", "shortest", "stiff_since", "last_end", "last_h",
          "length", "wanted", "wrong", "grown", "miss", "ends", "reached", "before",
          "changed", "stiff_length")  # fmt: skip
COUNTS = ("status", "steps", "rejected", "after", "fine", "stiff_steps", "calm_steps", "done",
          "taken", "tries", "refused", "good", "solved", "going", "due", "resumed", "stiff",
          "explicit_steps", "implicit_steps", "phase")  # fmt: skip
CONSTANTS = ("rtol", "atol", "max_step", "solved", "tolerance")
ROWS = (
    *(f"rate{i}" for i in range(dop853.RATES)), *(f"part{i}" for i in range(7)),
    *(f"{name}{i}" for name in ("Z", "W", "F", "change", "stage") for i in range(3)),
    *(f"{name}{i}" for name in ("point", "slope") for i in range(2)),
    "x", "end", "state", "moving", "scale", "a", "b", "steps",
)  # fmt: skip
# places of times: where the step ends, the stages, the beginning of a step of radau.py, the points
# that only check; results follow. Values over time have the same places.
REACHED, BEGUN, CHECKED, RESULTS = 0, 4, dop853.RATES, dop853.RATES + 2
# spare numbers: the arguments of a call, its counts and steps, times, which of them end a step, and
# forces that nobody reads
ARGUMENTS, COUNT, STEPS, TIMES, ENDS = 0, 6, 7, 24, 24 + RESULTS
FORCES = ENDS + RESULTS


def frame_size(size: int, stride: int, wide: int) -> int:
    """Numbers of the frame for states of `size` numbers, in rows of `stride`, or `wide` for two."""
    return (len(ROWS) + 4 * size) * stride + (4 * size + 2) * wide


class Code(Numbers):
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

    def rate(self, place: int, x: str, k: str) -> None:
        """Evaluate the rate of one state at a place of time; x, k: addresses."""
        spare = self.word["spare"]
        y = self.behind(spare, FORCES)
        for i, pointer in enumerate((self.time(place), x, self.word["p"], self.s(place), k, y)):
            self.do(f"store ptr {pointer}, ptr {self.behind(spare, ARGUMENTS + i)}")
        self.do(f"call void {self.word['one']}(ptr {spare})")

    def rates(
        self, count: str | int, place: int, x: str, k: str, *, at: str | None = None,
        y: str | None = None, steps: Sequence[str | int] | None = None,
    ) -> None:  # fmt: skip
        """Evaluate the rates of several states.

        place: of the first time; at: its address, if it is another. x, k, y: addresses. steps:
        bytes between neighbours, of t, x, s, k and y.
        """
        spare, row = self.word["spare"], self.times(self.stride, 8)
        t, x_step, s, *others = (
            [8, row, self.word["signal_step"], row, 0] if steps is None else steps
        )
        at = self.time(place) if at is None else at
        y = self.behind(spare, FORCES) if y is None else y
        for i, pointer in enumerate((at, x, self.word["p"], self.s(place), k, y)):
            self.do(f"store ptr {pointer}, ptr {self.behind(spare, ARGUMENTS + i)}")
        self.do(f"store i64 {count}, ptr {self.behind(spare, COUNT)}")
        for i, step in enumerate((t, x_step, 0, s, *others, *[8] * 5)):
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

    def time(self, place: int) -> str:
        """The address of a time."""
        return self.behind(self.word["spare"], TIMES + place)

    def s(self, place: int) -> str:
        """The address of the values over time at a place."""
        return self.at(self.word["s"], self.times(self.word["signal_step"], place))

    def set_time(self, place: int, share: float | Number, *, ends: bool = False) -> None:
        """Write the time at a share of the step; ends: a value that jumps there is the earlier."""
        t = self.get("t") + share * self.get("length")
        self.put(self.time(place), 0, self.minimum(t, self.get("until")))
        self.put(self.word["spare"], ENDS + place, float(ends))

    def evaluate_signals(self, count: str | int, place: int, at: str | None = None) -> None:
        """Evaluate the values over time at some places; at: the address of other times."""
        code = self.word["signals"]
        ends = "null" if at is not None else self.behind(self.word["spare"], ENDS + place)
        at = self.time(place) if at is None else at
        pointers = ", ".join(f"ptr {x}" for x in (at, ends, self.s(place)))
        with self.when(self.let(f"icmp ne ptr {code}, null")):
            self.do(f"call void {code}(i64 {self.word['row']}, i64 {count}, {pointers})")

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

    def product(self, inverse: str, half: str, n: str, vector: str, out: str) -> None:
        """The product of a matrix and a vector, summed in the order of the columns.

        inverse: address of the matrix as `inverse` of implicit_code.py leaves it, transposed.
        """
        width = self.times(half, 2)
        with self.each(0, half, self.lanes) as i:

            def body(j: str, so_far: Sequence[str], i: str = i) -> list[str]:
                column = self.number_at(inverse, self.plus(self.times(j, width), i), wide=True)
                term = column * self.number_at(vector, j)
                return [(Number(self, so_far[0], True) + term).name]

            zero = number(0.0, DOUBLE, self.lanes)
            total = self.accumulate(self.kind, [zero], n, body)[0]
            self.put(out, i, Number(self, total, True))

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


def cubic(c: Code, j: str) -> list[Number]:
    """The coefficients of the cubic over the last step of radau.py."""
    places = [c.plus(c.times(c.stride, i), j) for i in range(3)]
    return [c.number_at(c.word["last"], place, wide=True) for place in places]
