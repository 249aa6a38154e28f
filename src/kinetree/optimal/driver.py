"""Iterations of iLQR in machine code: plans of many problems, one after the other.

`@plan_iterate(words)` has 64-bit numbers and addresses in the order of WORDS. It calls the kernels
of the stages and of the last state and the forward pass by their addresses; the backward pass
(riccati.py) is in the same module. plain.py is the same in NumPy.
"""

from collections.abc import Callable, Sequence

from kinetree.engine.llvm.dense import DOUBLE, Dense
from kinetree.engine.llvm.rollout import WORDS as FORWARD_WORDS
from kinetree.engine.llvm.text import number
from kinetree.optimal.riccati import ARGUMENTS, COUNTS, ONE, ZERO, Backward, Sizes

SYMBOL = "plan_iterate"
LENGTHS = 8  # of a step, 1, 1/2, ..., tried at once
FIRST_MU = 1e-6  # regularisation, of the largest diagonal entry of Q_uu
LAST_MU = 1e6  # of it, where the solver gives up; 1 if rounding hides what is expected
SHORT, LONG = 0.2, 0.3  # lengths below which it grows, and above which it shrinks
MULTIPLIER = 1.5  # nu, of the largest multiplier
HIDDEN = 1e3  # of the tolerance: a decrease that rounding may hide
OF_FIRST = 1e-6  # of the first cost, which with the cost is what a decrease is measured by
LEAST_CURVATURE = 1e-300

# checked: whether the plan was tried without mu: 0, no; ASKED, this iteration does; 1, in vain
RECORD = ("status", "mu", "first cost", "checked", "linear", "curved", "limit error", "scale")
PLACES = {name: k for k, name in enumerate(RECORD)}
# a row of the history, behind which are the costs by kind
HISTORY = ("cost", "length", "expected", "gap", "mu", "limit error")
ASKED = 2.0
FRESH, RUNNING, CONVERGED, STALLED, BAD_START = range(5)

WHOLE = ("first", "last", "iterations", "history_rows", *COUNTS)
WORDS = (
    *WHOLE, "plans", "records", "costs", "history", "tolerance", "blocks", "stage_costs",
    "stage_code", "stage_args", "stage_dims", "stage_steps", "column_code", "column_args",
    "column_dims", "column_steps", "end_code", "end_args", "end_dims", "end_one", "end_steps",
    "end_blocks", "end_costs", "forward_code", "forward_words", "params", "state", "states",
    "forces", "low", "high", "work", "scatter",
)  # fmt: skip


class Driver:
    """Writes the module."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.w = sizes, Dense(sizes.lanes)

    def text(self, triple: str | None) -> str:
        """The module."""
        w, s = self.w, self.sizes
        self.at: dict[str, str] = {}
        for i, name in enumerate(WORDS):
            kind = "i64" if name in WHOLE else "ptr"
            self.at[name] = w.let(f"load {kind}, ptr {w.at('%words', 8 * i)}")
        self.tolerance = w.load(self.at["tolerance"])
        rows = w.plus(self.at["stages"], 1)
        with w.each(self.at["first"], self.at["last"]) as b:
            self.plan = w.behind(self.at["plans"], w.times(b, w.times(rows, s.row["end"])))
            self.last = w.behind(self.plan, w.times(self.at["stages"], s.row["end"]))
            self.record = w.behind(self.at["records"], w.times(b, len(RECORD)))
            self.costs = w.behind(self.at["costs"], w.times(b, s.kinds))
            width = len(HISTORY) + s.kinds
            history = w.times(w.times(b, self.at["history_rows"]), width)
            for k, name in enumerate(("x", "u", "p")):
                self.give("stage_args", k, w.behind(self.plan, s.row[name]))
            self.give("stage_args", 3, w.behind(self.plan, s.row["end"]))
            self.give("end_args", 1, w.behind(self.last, s.row["p"]))
            self.give("forward_words", FORWARD_WORDS.index("table"), self.plan)
            with w.when(self.at_most(self.get("status"), number(float(RUNNING), DOUBLE))):
                self.start()
            with w.each(0, self.at["iterations"]) as i, w.when(self.status_is(RUNNING)):
                row = w.plus(history, w.times(i, width))
                self.iteration(w.behind(self.at["history"], row))
        head = f'define void @{SYMBOL}(ptr %words) "stackrealign"'
        parts = [f'target triple = "{triple}"\n' if triple else "", Backward(s, PLACES).text()]
        parts += [w.function(head), w.declarations(), f"declare {DOUBLE} @llvm.fabs.f64({DOUBLE})"]
        return "\n".join(parts) + "\n"

    def give(self, name: str, k: int, pointer: str) -> None:
        """Write an address into a list of addresses."""
        self.w.do(f"store ptr {pointer}, ptr {self.w.at(self.at[name], 8 * k)}")

    def get(self, name: str) -> str:
        """A number of the record."""
        return self.w.load(self.w.behind(self.record, PLACES[name]))

    def set(self, name: str, x: str | float) -> None:
        """Write a number of the record."""
        x = x if isinstance(x, str) else number(x, DOUBLE)
        self.w.store(x, self.w.behind(self.record, PLACES[name]))

    def status_is(self, code: int) -> str:
        """Whether the problem is in this state."""
        return self.w.let(f"fcmp oeq {DOUBLE} {self.get('status')}, {number(float(code), DOUBLE)}")

    def both(self, a: str, b: str) -> str:
        """Whether two tests hold."""
        return self.w.let(f"and i1 {a}, {b}")

    def size(self, x: str) -> str:
        """The absolute value."""
        return self.w.let(f"call {DOUBLE} @llvm.fabs.f64({DOUBLE} {x})")

    def scaled(self, x: str, by: float) -> str:
        """A number times a constant."""
        return self.w.op("fmul", x, number(by, DOUBLE))

    def larger(self, a: str, b: str) -> str:
        """The larger of two numbers."""
        return self.w.pick(self.w.less(a, b), b, a)

    def at_most(self, a: str, b: str) -> str:
        """Whether a <= b."""
        return self.w.let(f"fcmp ole {DOUBLE} {a}, {b}")

    def sum(
        self, count: str | int, term: Callable[[str], str], first: str = ZERO, kind: str = "fadd"
    ) -> str:
        """The sum of term(k) over k < count; with another kind, the largest."""
        w = self.w

        def body(k: str, so_far: Sequence[str]) -> list[str]:
            x = term(k)
            return [self.larger(so_far[0], x) if kind == "max" else w.op(kind, so_far[0], x)]

        return w.accumulate(DOUBLE, [first], count, body)[0]

    def copy(self, source: str, target: str, count: int) -> None:
        """Copy some numbers."""
        with self.w.each(0, count) as i:
            self.w.store(self.w.load(self.w.behind(source, i)), self.w.behind(target, i))

    def kernel(self, name: str, dims: str | None = None) -> None:
        """Call the kernel of the stages or of the last state."""
        words = [self.at[f"{name}_{part}"] for part in ("args", "dims", "steps")]
        words[1] = words[1] if dims is None else self.at[dims]
        arguments = ", ".join(f"ptr {x}" for x in [*words, "null"])
        self.w.do(f"call void {self.at[f'{name}_code']}({arguments})")

    def slopes(self) -> None:
        """The slopes of all stages; the gaps go into the rows of the plan."""
        w, s = self.w, self.sizes
        self.kernel("stage")
        with w.each(0, self.at["stages"]) as t:
            block = w.behind(self.at["blocks"], w.times(t, self.at["block_size"]))
            row = w.behind(self.plan, w.times(t, s.row["end"]))
            self.copy(w.behind(block, s.block["gap"]), w.behind(row, s.row["gap"]), s.n)
            if s.columns:
                for k, name in enumerate(("x", "u", "p")):
                    self.give("column_args", k, w.behind(row, s.row[name]))
                self.give("column_args", 4, block)
                self.kernel("column")

    def start(self) -> None:
        """The slopes of the plan to begin with, and the costs of one that is fresh."""
        w, s = self.w, self.sizes
        self.slopes()
        self.copy(w.behind(self.last, s.row["x"]), self.at["state"], s.nx)
        self.kernel("end", "end_one")
        self.keep_end("0")
        with w.when(self.status_is(FRESH)):
            self.first_costs()

    def keep_end(self, i: str) -> None:
        """Keep the slopes of the last state of a candidate behind those of all candidates."""
        at, size = self.at["end_blocks"], self.sizes.end["end"]
        kept = self.w.behind(at, LENGTHS * size)
        self.copy(self.w.behind(at, self.w.times(i, size)), kept, size)

    def first_costs(self) -> None:
        """The costs of the plan to begin with."""
        w, s = self.w, self.sizes
        with w.each(0, s.kinds) as c:
            of = lambda t: w.load(  # noqa: E731
                w.behind(self.at["stage_costs"], w.plus(w.times(t, s.kinds), c))
            )
            end = w.load(w.behind(self.at["end_costs"], c))
            total = w.op("fadd", self.sum(self.at["stages"], of), end)
            w.store(total, w.behind(self.costs, c))
        self.set("first cost", self.total())
        codes = (number(float(code), DOUBLE) for code in (RUNNING, BAD_START))
        self.set("status", w.pick(self.finite(self.total()), *codes))

    def total(self) -> str:
        """The whole cost."""
        return self.sum(self.sizes.kinds, lambda c: self.w.load(self.w.behind(self.costs, c)))

    def finite(self, x: str) -> str:
        """Whether a number is finite."""
        return self.w.let(f"fcmp oeq {DOUBLE} {self.w.op('fsub', x, x)}, {ZERO}")

    def iteration(self, history: str) -> None:
        """One iteration."""
        w, s = self.w, self.sizes
        for name in ("linear", "curved", "limit error"):
            self.set(name, 0.0)
        self.set("scale", LEAST_CURVATURE)
        end = w.behind(self.at["end_blocks"], LENGTHS * s.end["end"])
        arguments = {**self.at, "table": self.plan, "end": end, "record": self.record}
        given = [f"ptr {arguments[name]}" for name in ARGUMENTS]
        given += [f"i64 {arguments[name]}" for name in COUNTS]
        w.do(f"call void @plan_backward({', '.join(given)})")

        def gap(t: str) -> str:
            row = w.behind(self.plan, w.plus(w.times(t, s.row["end"]), s.row["gap"]))
            return self.sum(s.n, of(row))

        def of(address: str) -> Callable[[str], str]:
            return lambda i: self.size(w.load(w.behind(address, i)))

        total, open_by = self.total(), self.sum(self.at["stages"], gap)
        expected = w.op("fadd", self.get("linear"), self.get("curved"))
        expected = w.let(f"fneg {DOUBLE} {expected}")
        v0 = w.behind(self.at["work"], s.work["v"])
        sound = self.finite(w.op("fadd", expected, self.sum(s.n, of(v0))))
        measure = w.fma(number(OF_FIRST, DOUBLE), self.get("first cost"), total)
        small = w.op("fmul", self.tolerance, measure)
        closed = self.at_most(open_by, self.tolerance)
        # a sum of squares cannot fall by more than itself: rounding has taken over
        lost = self.both(closed, w.less(self.scaled(measure, 2.0), expected))
        sound = self.both(sound, w.let(f"xor i1 {lost}, true"))
        settled = self.both(sound, closed)
        light = self.at_most(self.get("mu"), self.first_mu())  # else mu alone may make k small
        asked = w.less(ONE, self.get("checked"))
        enough = w.pick(asked, self.scaled(small, HIDDEN), small)
        near = self.both(settled, self.at_most(expected, enough))
        done = self.both(near, light)
        ask = self.both(near, self.at_most(self.get("checked"), ZERO))
        hidden = self.both(settled, self.at_most(expected, self.scaled(small, HIDDEN)))
        multiplier = self.sum(s.n, of(v0), kind="max")
        multiplier = self.sum(s.n, of(w.behind(end, s.end["v"])), multiplier, "max")
        nu = w.pick(closed, ZERO, self.scaled(multiplier, MULTIPLIER))
        penalty = w.op("fmul", nu, open_by)
        row = dict(zip(HISTORY, (total, ZERO, expected, open_by, ZERO, ZERO), strict=True))
        for k, name in enumerate(HISTORY):
            value = self.get(name) if name == "limit error" else row[name]
            w.store(value, w.behind(history, k))
        with w.when(done):
            self.set("status", float(CONVERGED))
        tries = self.both(sound, w.let(f"xor i1 {ask}, true"))
        with w.when(self.both(self.status_is(RUNNING), tries)):
            self.search(w.op("fadd", total, penalty), penalty, history)
        length = w.load(w.behind(history, 1))
        failed = self.both(self.status_is(RUNNING), self.at_most(length, ZERO))
        with w.when(failed):
            self.regularise(light, hidden)
        w.store(self.get("mu"), w.behind(history, HISTORY.index("mu")))
        self.copy(self.costs, w.behind(history, len(HISTORY)), s.kinds)

    def regularise(self, light: str, hidden: str) -> None:
        """After no better step: more mu, none to see whether mu alone makes k small, or the end.

        light: whether mu is negligible. hidden: whether rounding may hide the expected decrease.
        """
        w = self.w
        converged, stalled, running = (
            number(float(x), DOUBLE) for x in (CONVERGED, STALLED, RUNNING)
        )
        check = self.both(hidden, self.at_most(self.get("checked"), ZERO))
        grown = self.larger(self.scaled(self.get("mu"), 10.0), self.first_mu())
        self.set("mu", w.pick(check, ZERO, grown))
        asked = w.pick(check, number(ASKED, DOUBLE), self.get("checked"))
        self.set("checked", w.pick(light, ONE, asked))
        last = w.pick(hidden, self.get("scale"), self.scaled(self.get("scale"), LAST_MU))
        ended = w.less(last, grown)
        code = w.pick(check, running, w.pick(ended, stalled, running))
        self.set("status", w.pick(self.both(hidden, light), converged, code))

    def first_mu(self) -> str:
        """The least regularisation but zero."""
        return self.scaled(self.get("scale"), FIRST_MU)

    def search(self, merit: str, penalty: str, history: str) -> None:
        """Try all lengths; take the one of least merit if it is better."""
        w, s, at = self.w, self.sizes, self.at
        state = s.nx + s.kinds
        with w.each(0, LENGTHS) as i:
            row = w.behind(at["state"], w.times(i, state))
            self.copy(w.behind(self.plan, s.row["x"]), row, s.nx)
            with w.each(s.nx, state) as c:
                w.store(ZERO, w.behind(row, c))
        w.do(f"call void {at['forward_code']}(ptr {at['forward_words']})")
        self.kernel("end")
        width = 1 + 2 * s.m * s.limited

        def cost(i: str, c: str) -> str:
            run = w.load(w.behind(at["state"], w.plus(w.plus(w.times(i, state), s.nx), c)))
            end = w.load(w.behind(at["end_costs"], w.plus(w.times(i, s.kinds), c)))
            return w.op("fadd", run, end)

        def body(i: str, so_far: Sequence[str]) -> list[str]:
            length = w.load(w.behind(at["params"], w.times(i, width)))
            total = self.sum(s.kinds, lambda c: cost(i, c))
            total = w.fma(w.op("fsub", ONE, length), penalty, total)
            better = w.less(total, so_far[0])
            index = w.let(f"sitofp i64 {i} to {DOUBLE}")
            return [w.pick(better, total, so_far[0]), w.pick(better, index, so_far[1])]

        _, best = w.accumulate(DOUBLE, [merit, number(-1.0, DOUBLE)], LENGTHS, body)
        with w.when(self.at_most(ZERO, best)):
            i = w.let(f"fptosi {DOUBLE} {best} to i64")
            w.store(w.load(w.behind(at["params"], w.times(i, width))), w.behind(history, 1))
            with w.each(0, at["stages"]) as t:
                row = w.behind(self.plan, w.times(t, s.row["end"]))
                lane = w.plus(w.times(t, LENGTHS), i)
                for name, source, count in (("x", "states", s.nx), ("u", "forces", s.m)):
                    found = w.behind(at[source], w.times(lane, count))
                    self.copy(found, w.behind(row, s.row[name]), count)
            last = w.behind(at["state"], w.times(i, state))
            self.copy(last, w.behind(self.last, s.row["x"]), s.nx)
            self.keep_end(i)
            with w.each(0, s.kinds) as c:
                w.store(cost(i, c), w.behind(self.costs, c))
            w.store(self.total(), history)
            lower = self.scaled(self.get("mu"), 0.1)
            keeps = w.less(self.scaled(self.first_mu(), 0.01), lower)
            lower = w.pick(keeps, lower, ZERO)
            grown = self.larger(self.scaled(self.get("mu"), 10.0), self.first_mu())
            length = w.load(w.behind(history, 1))
            short = w.less(length, number(SHORT, DOUBLE))
            long = w.less(number(LONG, DOUBLE), length)
            self.set("mu", w.pick(short, grown, w.pick(long, lower, self.get("mu"))))
            self.set("checked", 0.0)
            self.slopes()
