"""Iterations of iLQR as a program: plans of many problems, one after the other.

`plan_iterate(words, scratch, work, first, last, iterations)` improves the plans from `first` to
before `last`. `words` has the counts and addresses of WORDS, and what a target needs to call the
graphs of a problem; `scratch` is the memory of one thread, or of one block of a GPU, and `work`
that of the backward pass (riccati.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from kinetree.engine.compiler.loops import ADDRESS, INTEGER, Index, Value, Vector
from kinetree.optimal.riccati import LENGTHS, Backward, Sizes

SYMBOL = "plan_iterate"
ARGUMENTS = [(name, ADDRESS) for name in ("words", "scratch", "work")]
ARGUMENTS += [(name, INTEGER) for name in ("first", "last", "iterations")]
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

COUNTS = ("stages", "history_rows")
# options: tolerance, and whether plans begin with the motions that follow them; params: for each
# length, and for as many of 0, the limits behind it; hessian: H where it does not vary
ARRAYS = ("plans", "records", "costs", "history", "options", "params", "hessian", "scatter")
WORDS = (*COUNTS, *ARRAYS)


class Driver(ABC):
    """Writes the iterations with `code`; a target says how the graphs of a problem are called."""

    def __init__(self, code: Any, sizes: Sizes) -> None:
        self.code, self.sizes = code, sizes
        words = code.arguments["words"]
        self.stages, self.history_rows = (code.load(words, k, INTEGER) for k in range(len(COUNTS)))
        self.vector = {
            name: Vector(code.load(words, WORDS.index(name), ADDRESS)) for name in ARRAYS
        }
        scratch, work = Vector(code.arguments["scratch"]), Vector(code.arguments["work"])
        parts = sizes.scratch(self.stages).items()
        self.vector |= {name: scratch.behind(at) for name, at in parts if name != "work"}
        self.vector |= {"work": work, "low": self.vector["params"].behind(1)}
        self.vector["high"] = self.vector["low"].behind(sizes.m)
        self.tolerance, self.following = (self.vector["options"][k] for k in range(2))

    @abstractmethod
    def stage_slopes(self) -> None:
        """Write `blocks` and `stage_costs` of all stages of the plan."""

    @abstractmethod
    def last_slopes(self, count: int) -> None:
        """Write `ends` and `end_costs` of so many states in `state`."""

    @abstractmethod
    def run_forward(self, params: Vector) -> None:
        """Run all lengths: from and to `state`, with `states` and `forces`."""

    def write(self) -> None:
        """The iterations of some problems."""
        code, s, vector = self.code, self.sizes, self.vector
        code.copy(vector["work"], vector["hessian"], s.work["V"])
        with code.each(code.arguments["first"], code.arguments["last"]) as b:
            self.plan = vector["plans"].behind(b * ((self.stages + 1) * s.row["end"]))
            self.last = self.plan.behind(self.stages * s.row["end"])
            self.record = vector["records"].behind(b * len(RECORD))
            self.costs = vector["costs"].behind(b * s.kinds)
            width = len(HISTORY) + s.kinds
            history = b * self.history_rows * width
            with code.when(self.following > 0.0):
                self.follow()
            with code.when(self["status"] <= float(RUNNING)):
                self.start()
            with code.each(0, code.arguments["iterations"]) as i:
                with code.when(self.status_is(RUNNING)):
                    self.iteration(vector["history"].behind(history + i * width))

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

    def slopes(self) -> None:
        """The slopes of all stages; the gaps go into the rows of the plan."""
        code, s, blocks = self.code, self.sizes, self.vector["blocks"]
        self.stage_slopes()
        with code.rows(0, self.stages) as t:
            row, block = self.plan.behind(t * s.row["end"]), blocks.behind(t * s.block["end"])
            code.copy(row.behind(s.row["gap"]), block.behind(s.block["gap"]), s.n)

    def start(self) -> None:
        """The slopes of the plan to begin with, and the costs of one that is fresh."""
        self.slopes()
        self.code.copy(self.vector["state"], self.last.behind(self.sizes.row["x"]), self.sizes.nx)
        self.last_slopes(1)
        self.keep_end(0)
        with self.code.when(self.status_is(FRESH)):
            self.first_costs()

    @property
    def end(self) -> Vector:
        """The slopes of the last state, behind those of all candidates."""
        return self.vector["ends"].behind(LENGTHS * self.sizes.end["end"])

    def keep_end(self, i: Index) -> None:
        """Keep the slopes of the last state of a candidate."""
        size = self.sizes.end["end"]
        self.code.copy(self.end, self.vector["ends"].behind(i * size), size)

    def first_costs(self) -> None:
        """The costs of the plan to begin with."""
        code, kinds, vector = self.code, self.sizes.kinds, self.vector
        with code.parallel(0, kinds) as c:
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
        Backward(self).write()
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
        size, width = s.candidate, s.params
        params, states, end_costs = vector["params"], vector["state"], vector["end_costs"]
        self.forward(params)
        self.last_slopes(LENGTHS)

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
            with code.parallel(0, s.kinds) as c:
                self.costs[c] = cost(best, c)
            history[HISTORY.index("cost")] = self.total()
            lower = self["mu"] * 0.1
            lower = code.select(self.first_mu() * 0.01 < lower, lower, 0.0)
            kept = code.select(length > LONG, lower, self["mu"])
            self["mu"] = code.select(length < SHORT, self.larger_mu(), kept)
            self["checked"] = 0.0
            self.slopes()

    def forward(self, params: Vector) -> None:
        """Run all lengths from the first state of the plan."""
        code, s, states = self.code, self.sizes, self.vector["state"]
        with code.parallel(0, LENGTHS) as i:
            row = states.behind(i * s.candidate)
            code.copy(row, self.plan.behind(s.row["x"]), s.nx)
            with code.each(s.nx, s.candidate) as c:
                row[c] = 0.0
        self.run_forward(params)

    def follow(self) -> None:
        """Take the motion from the first state that follows the plan by its feedback alone.

        Where it leaves the finite numbers, the gap of the first step closes by itself.
        """
        code, s, state = self.code, self.sizes, self.vector["state"]
        with code.rows(0, self.stages) as t, code.parallel(0, s.n) as i:
            self.plan[t * s.row["end"] + s.row["gap"] + i] = 0.0
        self.forward(self.vector["params"].behind(LENGTHS * s.params))
        with code.when(self.total_of(s.nx, lambda i: abs(state[i])).is_finite):
            self.take(code.value(0, INTEGER))

    def take(self, best: Value) -> None:
        """Copy a candidate into the plan."""
        code, s, vector = self.code, self.sizes, self.vector
        with code.rows(0, self.stages) as t:
            row, lane = self.plan.behind(t * s.row["end"]), t * LENGTHS + best
            for name, source, count in (("x", "states", s.nx), ("u", "forces", s.m)):
                code.copy(row.behind(s.row[name]), vector[source].behind(lane * count), count)
        state = vector["state"].behind(best * s.candidate)
        code.copy(self.last.behind(s.row["x"]), state, s.nx)
