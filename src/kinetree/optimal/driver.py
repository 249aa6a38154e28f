"""Iterations of iLQR in machine code: plans of many problems, one after the other.

`@plan_iterate(words)` has 64-bit numbers and addresses in the order of WORDS. It calls the kernels
of the stages and of the last state and the forward pass by their addresses; the backward pass
(riccati.py) is in the same module.
"""

from collections.abc import Callable

from kinetree.engine.compiler.loops import ADDRESS, INTEGER, Index, Value, Vector
from kinetree.engine.llvm.loops import LlvmLoops
from kinetree.engine.llvm.rollout import WORDS as FORWARD_WORDS
from kinetree.optimal.riccati import ADDRESSES, ARGUMENTS, COUNTS, NAME, Backward, Sizes

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

INTEGERS = ("first", "last", "iterations", "history_rows", *COUNTS)
WORDS = (
    *INTEGERS, "plans", "records", "costs", "history", "tolerance", "blocks", "stage_costs",
    "stage_code", "stage_args", "stage_dims", "stage_steps", "column_code", "column_args",
    "column_dims", "column_steps", "end_code", "end_args", "end_dims", "end_one", "end_steps",
    "end_blocks", "end_costs", "forward_code", "forward_words", "params", "state", "states",
    "forces", "low", "high", "work", "scatter",
)  # fmt: skip


def emit(sizes: Sizes, triple: str | None) -> str:
    """The module."""
    backward = LlvmLoops(sizes.lanes, NAME, ARGUMENTS)
    Backward(backward, sizes, PLACES).write()
    code = LlvmLoops(sizes.lanes, SYMBOL, [("words", ADDRESS)], "", ' "stackrealign"')
    Driver(code, sizes).write()
    head = f'target triple = "{triple}"\n' if triple else ""
    return "\n".join([head, backward.text(), code.text()])


class Driver:
    """Writes the iterations with `code`."""

    def __init__(self, code: LlvmLoops, sizes: Sizes) -> None:
        self.code, self.sizes = code, sizes
        kinds = [INTEGER if name in INTEGERS else ADDRESS for name in WORDS]
        words = code.arguments["words"]
        loaded = [code.load(words, i, kind) for i, kind in enumerate(kinds)]
        self.at: dict[str, Value] = dict(zip(WORDS, loaded, strict=True))
        self.vector = {name: Vector(x) for name, x in self.at.items() if x.kind == ADDRESS}
        self.tolerance, self.stages = self.vector["tolerance"][0], self.at["stages"]

    def write(self) -> None:
        """The iterations of some problems."""
        code, s, at, vector = self.code, self.sizes, self.at, self.vector
        with code.each(at["first"], at["last"]) as b:
            self.plan = vector["plans"].behind(b * ((self.stages + 1) * s.row["end"]))
            self.last = self.plan.behind(self.stages * s.row["end"])
            self.record = vector["records"].behind(b * len(RECORD))
            self.costs = vector["costs"].behind(b * s.kinds)
            width = len(HISTORY) + s.kinds
            history = b * at["history_rows"] * width
            for k, name in enumerate(("x", "u", "p")):
                self.give("stage_args", k, self.plan.behind(s.row[name]))
            self.give("stage_args", 3, self.plan.behind(s.row["end"]))
            self.give("end_args", 1, self.last.behind(s.row["p"]))
            self.give("forward_words", FORWARD_WORDS.index("table"), self.plan)
            with code.when(self["status"] <= float(RUNNING)):
                self.start()
            with code.each(0, at["iterations"]) as i, code.when(self.status_is(RUNNING)):
                self.iteration(vector["history"].behind(history + i * width))

    def give(self, name: str, k: int, numbers: Vector) -> None:
        """Write an address into a list of addresses."""
        self.code.store(self.at[name], k, numbers.address)

    def __getitem__(self, name: str) -> Value:
        """A number of the record."""
        return self.record[PLACES[name]]

    def __setitem__(self, name: str, x: Value | float) -> None:
        self.record[PLACES[name]] = x

    def status_is(self, code: int) -> Value:
        """Whether the problem is in this state."""
        return self["status"].equals(float(code))

    def total_of(self, count: Index, term: Callable[[Value], Value]) -> Value:
        """The sum of term(k) over k < count."""
        code = self.code

        def body(k: Value, total: Value) -> list[Value]:
            return [total + term(k)]

        return code.accumulate([code.value(0.0)], count, body)[0]

    def kernel(self, name: str, dims: str = "") -> None:
        """Call the kernel of the stages or of the last state."""
        args, steps = self.at[f"{name}_args"], self.at[f"{name}_steps"]
        counts = self.at[dims or f"{name}_dims"]
        self.code.call_at(self.at[f"{name}_code"], args, counts, steps, steps)

    def slopes(self) -> None:
        """The slopes of all stages; the gaps go into the rows of the plan."""
        code, s = self.code, self.sizes
        self.kernel("stage")
        with code.each(0, self.stages) as t:
            block = self.vector["blocks"].behind(t * self.at["block_size"])
            row = self.plan.behind(t * s.row["end"])
            code.copy(row.behind(s.row["gap"]), block.behind(s.block["gap"]), s.n)
            if s.columns:
                for k, name in enumerate(("x", "u", "p")):
                    self.give("column_args", k, row.behind(s.row[name]))
                self.give("column_args", 4, block)
                self.kernel("column")

    def start(self) -> None:
        """The slopes of the plan to begin with, and the costs of one that is fresh."""
        self.slopes()
        self.code.copy(self.vector["state"], self.last.behind(self.sizes.row["x"]), self.sizes.nx)
        self.kernel("end", "end_one")
        self.keep_end(0)
        with self.code.when(self.status_is(FRESH)):
            self.first_costs()

    @property
    def end(self) -> Vector:
        """The slopes of the last state, behind those of all candidates."""
        return self.vector["end_blocks"].behind(LENGTHS * self.sizes.end["end"])

    def keep_end(self, i: Index) -> None:
        """Keep the slopes of the last state of a candidate."""
        size = self.sizes.end["end"]
        self.code.copy(self.end, self.vector["end_blocks"].behind(i * size), size)

    def first_costs(self) -> None:
        """The costs of the plan to begin with."""
        code, kinds, vector = self.code, self.sizes.kinds, self.vector
        with code.each(0, kinds) as c:
            stages = self.total_of(self.stages, lambda t: vector["stage_costs"][t * kinds + c])
            self.costs[c] = stages + vector["end_costs"][c]
        self["first cost"] = self.total()
        fine = self.total().is_finite
        self["status"] = code.select(fine, float(RUNNING), float(BAD_START))

    def total(self) -> Value:
        """The whole cost."""
        return self.total_of(self.sizes.kinds, lambda c: self.costs[c])

    def iteration(self, history: Vector) -> None:
        """One iteration."""
        code, s = self.code, self.sizes
        for name in ("linear", "curved", "limit error"):
            self[name] = 0.0
        self["scale"] = LEAST_CURVATURE
        given = {**self.at, "table": self.plan.address, "end": self.end.address}
        given["record"] = self.record.address
        code.call(NAME, *(given[name] for name in (*ADDRESSES, *COUNTS)))
        v0, v_end = self.vector["work"].behind(s.work["v"]), self.end.behind(s.end["v"])

        def gap(t: Value) -> Value:
            row = self.plan.behind(t * s.row["end"] + s.row["gap"])
            return self.total_of(s.n, lambda i: abs(row[i]))

        total, open_by = self.total(), self.total_of(self.stages, gap)
        expected = -(self["linear"] + self["curved"])
        measure = code.fma(OF_FIRST, self["first cost"], total)
        small = self.tolerance * measure
        closed = open_by <= self.tolerance
        # a sum of squares cannot fall by more than itself: rounding has taken over
        lost = closed & (measure * 2.0 < expected)
        sound = (expected + self.total_of(s.n, lambda i: abs(v0[i]))).is_finite & ~lost
        settled = sound & closed
        light = self["mu"] <= self.first_mu()  # else mu alone may make k small
        asked = self["checked"] > 1.0
        near = settled & (expected <= code.select(asked, small * HIDDEN, small))
        ask = near & (self["checked"] <= 0.0)
        hidden = settled & (expected <= small * HIDDEN)
        multiplier = code.largest(s.n, lambda i: abs(v0[i]))
        multiplier = code.largest(s.n, lambda i: abs(v_end[i]), multiplier)
        penalty = code.select(closed, 0.0, multiplier * MULTIPLIER) * open_by
        row = (total, 0.0, expected, open_by, 0.0, self["limit error"])
        for k, value in enumerate(row):
            history[k] = value
        with code.when(near & light):
            self["status"] = float(CONVERGED)
        with code.when(self.status_is(RUNNING) & sound & ~ask):
            self.search(total + penalty, penalty, history)
        failed = self.status_is(RUNNING) & (history[1] <= 0.0)
        with code.when(failed):
            self.regularise(light, hidden)
        history[HISTORY.index("mu")] = self["mu"]
        code.copy(history.behind(len(HISTORY)), self.costs, s.kinds)

    def regularise(self, light: Value, hidden: Value) -> None:
        """After no better step: more mu, none to see whether mu alone makes k small, or the end.

        light: whether mu is negligible. hidden: whether rounding may hide the expected decrease.
        """
        code = self.code
        check = hidden & (self["checked"] <= 0.0)
        grown = self.larger_mu()
        self["mu"] = code.select(check, 0.0, grown)
        asked = code.select(check, ASKED, self["checked"])
        self["checked"] = code.select(light, 1.0, asked)
        last = code.select(hidden, self["scale"], self["scale"] * LAST_MU)
        ended = ~check & (last < grown)
        status = code.select(ended, float(STALLED), float(RUNNING))
        self["status"] = code.select(hidden & light, float(CONVERGED), status)

    def first_mu(self) -> Value:
        """The least regularisation but zero."""
        return self["scale"] * FIRST_MU

    def larger_mu(self) -> Value:
        """More regularisation."""
        return self.code.maximum(self["mu"] * 10.0, self.first_mu())

    def search(self, merit: Value, penalty: Value, history: Vector) -> None:
        """Try all lengths; take the one of least merit if it is better."""
        code, s, vector = self.code, self.sizes, self.vector
        size, width = s.nx + s.kinds, 1 + 2 * s.m * s.limited
        params, states, end_costs = vector["params"], vector["state"], vector["end_costs"]
        with code.each(0, LENGTHS) as i:
            row = states.behind(i * size)
            code.copy(row, self.plan.behind(s.row["x"]), s.nx)
            with code.each(s.nx, size) as c:
                row[c] = 0.0
        code.call_at(self.at["forward_code"], self.at["forward_words"])
        self.kernel("end")

        def cost(i: Value, c: Value) -> Value:
            return states[i * size + s.nx + c] + end_costs[i * s.kinds + c]

        def better(i: Value, least: Value, best: Value) -> list[Value]:
            total = self.total_of(s.kinds, lambda c: cost(i, c))
            total = code.fma(1.0 - params[i * width], penalty, total)
            less = total < least
            return [code.select(less, total, least), code.select(less, i, best)]

        _, best = code.accumulate([merit, code.value(-1, INTEGER)], LENGTHS, better)
        with code.when(best >= 0):
            length = params[best * width]
            history[HISTORY.index("length")] = length
            self.take(best)
            self.keep_end(best)
            with code.each(0, s.kinds) as c:
                self.costs[c] = cost(best, c)
            history[HISTORY.index("cost")] = self.total()
            lower = self["mu"] * 0.1
            lower = code.select(self.first_mu() * 0.01 < lower, lower, 0.0)
            kept = code.select(length > LONG, lower, self["mu"])
            self["mu"] = code.select(length < SHORT, self.larger_mu(), kept)
            self["checked"] = 0.0
            self.slopes()

    def take(self, best: Value) -> None:
        """Copy a candidate into the plan."""
        code, s, vector = self.code, self.sizes, self.vector
        with code.each(0, self.stages) as t:
            row, lane = self.plan.behind(t * s.row["end"]), t * LENGTHS + best
            for name, source, count in (("x", "states", s.nx), ("u", "forces", s.m)):
                code.copy(row.behind(s.row[name]), vector[source].behind(lane * count), count)
        state = vector["state"].behind(best * (s.nx + s.kinds))
        code.copy(self.last.behind(s.row["x"]), state, s.nx)
