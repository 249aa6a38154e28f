"""The backward pass of iLQR in machine code: a loop over the stages from the last to the first.

With V, v of the next state, F = (A, B) and the gap of a stage,

    v~ = v + V gap,    Q = H + F^T V F,    g = (l_x, l_u) + F^T v~
    du = k + K dx minimises g_u du + du (Q_uu + mu) du / 2 + du Q_ux dx within the limits of u
    V <- Q_xx + Q_ux^T K,    v <- g_x + Q_ux^T k

The loops are those of engine/llvm/dense.py, so the bits of a plan do not depend on the machine.
Limits of u enter exactly: k solves the quadratic problem with bounds, and K is zero for forces that
a limit holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from kinetree.engine.llvm.dense import DOUBLE, Dense, Matrix
from kinetree.engine.llvm.text import number

ROUNDS = 4  # that find the forces at their limits, for each force at most
LEAST_PULL = 1e-13  # of the gradient, which releases a force from its limit
ONE, ZERO, HALF, MINUS = (number(x, DOUBLE) for x in (1.0, 0.0, 0.5, -1.0))
ARGUMENTS = (
    "table", "blocks", "end", "record", "low", "high", "work", "scatter",
)  # fmt: skip
COUNTS = ("stages", "block_size", "scatter_count")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a problem, and where its numbers lie in memory, counted in numbers.

    n: entries of dx. m: forces. nx: entries of x. p: numbers of a stage. kinds: costs. lanes: of a
    vector, to which rows of matrices are padded. limited: the forces are. columns: of F come from
    a kernel of their own.
    """

    n: int
    m: int
    nx: int
    p: int
    kinds: int
    lanes: int
    limited: bool
    columns: bool

    def padded(self, count: int) -> int:
        """The length of a row of whole vectors."""
        return -(-count // self.lanes) * self.lanes

    @cached_property
    def wide(self) -> int:
        """The length of a row of F, H and Q."""
        return self.padded(self.n + self.m)

    @cached_property
    def narrow(self) -> int:
        """The length of a row of V."""
        return self.padded(self.n)

    @cached_property
    def row(self) -> dict[str, int]:
        """A row of a plan: the state x, u, gap, p, and m rows of (K, k); then room for a vector."""
        gains = self.m * (self.n + 1)
        sizes = {"x": self.nx, "u": self.m, "gap": self.n, "p": self.p, "gains": gains}
        return placed(sizes | {"spare": self.lanes})

    @cached_property
    def block(self) -> dict[str, int]:
        """The slopes of a stage: F, gradient, gap, and from the end on what varies of H."""
        return placed({"F": self.n * self.wide, "gradient": self.wide, "gap": self.narrow})

    @cached_property
    def end(self) -> dict[str, int]:
        """The slopes of the last state."""
        return placed({"V": self.n * self.narrow, "v": self.narrow})

    @cached_property
    def strides(self) -> dict[str, int]:
        """From one row of a matrix to the next."""
        forces = self.padded(self.m)
        solved = forces + self.padded(self.n + 1)
        return {"V": self.narrow, "W": self.wide, "Q": self.wide, "F": self.wide, "H": self.wide,
                "M": forces, "E": solved}  # fmt: skip

    @cached_property
    def work(self) -> dict[str, int]:
        """The memory of the loop; H is there before it begins, where it never changes."""
        rows = {"H": self.n + self.m, "V": self.n, "W": self.n, "Q": self.n + self.m, "M": self.m,
                "E": self.m}  # fmt: skip
        sizes = {name: count * self.strides[name] for name, count in rows.items()}
        sizes |= {"v": self.narrow, "g": self.wide}
        forces = self.padded(self.m)
        names = ("inverse", "free", "k", "slope", "low", "high", "again")
        return placed(sizes | dict.fromkeys(names, forces))


def placed(sizes: dict[str, int]) -> dict[str, int]:
    """Where each part begins, one behind the other, and where the last ends."""
    return dict(zip([*sizes, "end"], accumulate(sizes.values(), initial=0), strict=True))


class Backward:
    """Writes `@plan_backward(table, blocks, end, record, ...)` for the plan of one problem.

    It writes the gains into the rows of the plan, v of the start into the memory, and adds to the
    record: k g_u, k Q_uu k / 2, the largest error of k, and the largest diagonal entry of Q_uu, the
    scale of the regularisation. `places` are those of the record; "mu" there is the regularisation.
    """

    def __init__(self, sizes: Sizes, places: dict[str, int]) -> None:
        self.sizes, self.w, self.places = sizes, Dense(sizes.lanes), places

    def text(self) -> str:
        """The function."""
        w, s = self.w, self.sizes
        self.m = {
            name: Matrix(w.behind("%work", place), s.strides.get(name, 1))
            for name, place in s.work.items()
        }
        for name in ("V", "v"):
            count = s.end["v"] if name == "V" else s.narrow
            with w.each(0, count, s.lanes) as i:
                x = w.load(w.behind(w.behind("%end", s.end[name]), i), wide=True)
                w.store(x, w.behind(self.m[name].address, i), wide=True)
        self.mu = w.load(self.of_record("mu"))
        self.Q_ux = Matrix(w.place(self.m["Q"], s.n), s.wide)
        self.g_u = Matrix(w.behind(self.m["g"].address, s.n), 1)
        self.X = Matrix(w.behind(self.m["E"].address, s.padded(s.m)), s.strides["E"])
        with w.each(w.plus("%stages", -1), -1, -1) as t:
            block = w.behind("%blocks", w.times(t, "%block_size"))
            self.stage(w.behind("%table", w.times(t, s.row["end"])), block)
        arguments = [f"ptr %{name}" for name in ARGUMENTS] + [f"i64 %{name}" for name in COUNTS]
        return w.function(f"define internal void @plan_backward({', '.join(arguments)})")

    def of_record(self, name: str) -> str:
        """The address of a number of the record."""
        return self.w.behind("%record", self.places[name])

    def add_to(self, name: str, x: str) -> None:
        """Add to a number of the record."""
        at = self.of_record(name)
        self.w.store(self.w.op("fadd", self.w.load(at), x), at)

    def grow(self, name: str, x: str) -> None:
        """Replace a number of the record by a larger one."""
        w, at = self.w, self.of_record(name)
        before = w.load(at)
        w.store(w.pick(w.less(before, x), x, before), at)

    def stage(self, row: str, block: str) -> None:
        """One stage: its row of the plan and its slopes."""
        w, s, m = self.w, self.sizes, self.m
        n, k = s.n, s.m
        with w.each(0, "%scatter_count") as e:
            pair = w.let(f"getelementptr inbounds i64, ptr %scatter, i64 {w.times(e, 2)}")
            source = w.let(f"load i64, ptr {pair}")
            place = w.let(f"load i64, ptr {w.at(pair, 8)}")
            w.store(w.load(w.behind(block, source)), w.behind("%work", place))
        F, gap = Matrix(w.behind(block, s.block["F"]), s.wide), w.behind(block, s.block["gap"])
        v, gradient = m["v"].address, w.behind(block, s.block["gradient"])
        w.combine(v, v, (Matrix(gap, 1), 0), m["V"], n, s.narrow)
        w.products(m["W"], None, m["V"], F, n, (n, s.wide))
        w.products(m["Q"], m["H"], F, m["W"], n, (n + k, s.wide), below=True)
        w.combine(m["g"].address, gradient, (m["v"], 0), F, n, s.wide)
        with w.each(n, n + k) as i:
            self.grow("scale", w.entry_of(m["Q"], i, i))
        self.solve_all(masked=False)
        with w.each(0, k) as i:
            w.store(w.entry_of(self.X, i, n), w.place(m["k"], i))
        if s.limited:
            self.keep_limits(w.behind(row, s.row["u"]))
        self.results(w.behind(row, s.row["gains"]))
        w.products(m["V"], m["Q"], self.Q_ux, self.X, k, (n, s.narrow), below=True)
        with w.each(0, n) as i, w.each(0, i) as j:
            w.store(w.entry_of(m["V"], i, j), w.place(m["V"], j, i))
        w.combine(v, m["g"].address, (m["k"], 0), self.Q_ux, k, s.narrow)

    def solve_all(self, *, masked: bool) -> None:
        """(K, k) of the forces, or of the free ones among them."""
        w, s = self.w, self.sizes
        solved = s.padded(s.n + 1)
        self.fill(masked=masked)
        with w.each(0, s.m) as i:
            sign = MINUS
            if masked:
                sign = w.let(f"fneg {DOUBLE} {w.entry_of(self.m['free'], i)}")
            spread = w.spread(sign)
            with w.each(0, solved, s.lanes) as j:
                x = w.load(w.place(self.Q_ux, i, j), wide=True)
                w.store(w.op("fmul", spread, x, wide=True), w.place(self.X, i, j), wide=True)
            w.store(w.op("fmul", sign, w.entry_of(self.g_u, i)), w.place(self.X, i, s.n))
        self.eliminate(solved)

    def fill(self, *, masked: bool) -> None:
        """Q_uu + mu on and above the diagonal of E; without the forces at limits if masked."""
        w, m, s = self.w, self.m, self.sizes
        zero = number(0.0, DOUBLE, s.lanes)
        with w.each(0, s.m) as j:
            with w.each(0, s.padded(s.m), s.lanes) as i:
                w.store(zero, w.place(m["E"], j, i), wide=True)
            free = w.entry_of(m["free"], j) if masked else ONE
            with w.each(j, s.m) as i:
                x = w.entry_of(m["Q"], w.plus(i, s.n), w.plus(j, s.n))
                if masked:
                    both = w.op("fmul", free, w.entry_of(m["free"], i))
                    x = w.op("fmul", x, both)
                w.store(x, w.place(m["E"], j, i))
            at = w.place(m["E"], j, j)
            more = w.op("fadd", self.mu, w.op("fsub", ONE, free)) if masked else self.mu
            w.store(w.op("fadd", w.load(at), more), at)

    def eliminate(self, width: int) -> None:
        """Solve with the matrix in E: its columns behind, so many, become the solution."""
        w, m, s = self.w, self.m, self.sizes
        E, inverse = m["E"], m["inverse"]
        with w.each(0, s.m) as j:
            pivot = w.entry_of(E, j, j)
            # a pivot that is not positive has no minimum: NaN tells the solver
            pivot = w.pick(w.less(ZERO, pivot), pivot, number(float("nan"), DOUBLE))
            over = w.op("fdiv", MINUS, pivot)
            w.store(w.let(f"fneg {DOUBLE} {over}"), w.place(inverse, j))
            row = w.place(E, j)
            with w.each(w.plus(j, 1), s.m) as i:
                factor = w.op("fmul", w.entry_of(E, j, i), over)
                w.add(w.place(E, i), factor, row, s.padded(s.m) + width)
        with w.each(s.m - 1, -1, -1) as i:
            spread, row = w.spread(w.entry_of(inverse, i)), w.place(self.X, i)
            with w.each(0, width, s.lanes) as j:
                at = w.behind(row, j)
                w.store(w.op("fmul", w.load(at, wide=True), spread, wide=True), at, wide=True)
            with w.each(0, i) as a:
                factor = w.let(f"fneg {DOUBLE} {w.entry_of(E, a, i)}")
                w.add(w.place(self.X, a), factor, row, width)

    def keep_limits(self, u: str) -> None:
        """Replace (K, k) where k leaves its limits."""
        w, m, s = self.w, self.m, self.sizes
        with w.each(0, s.m) as i:
            for name in ("low", "high"):
                limit = w.load(w.behind(f"%{name}", i))
                limit = w.op("fsub", limit, w.load(w.behind(u, i)))
                w.store(limit, w.place(m[name], i))

        def outside(i: str, so_far: Sequence[str]) -> list[str]:
            x = w.entry_of(m["k"], i)
            low, high = (w.entry_of(m[name], i) for name in ("low", "high"))
            either = w.let(f"or i1 {w.less(x, low)}, {w.less(high, x)}")
            return [w.let(f"or i1 {so_far[0]}, {either}")]

        (violated,) = w.accumulate("i1", ["false"], s.m, outside)
        with w.when(violated):
            self.best_within()
            self.solve_all(masked=True)
            with w.each(0, s.m) as i:
                w.store(w.entry_of(m["k"], i), w.place(self.X, i, s.n))

    def clipped(self, x: str, i: str) -> str:
        """A number as entry i of k, within its limits."""
        w, m = self.w, self.m
        return w.clip(x, w.entry_of(m["low"], i), w.entry_of(m["high"], i))

    def best_within(self) -> None:
        """K within the limits, by active sets: Newton's step among the free forces, to the limit.

        A step that a limit cuts short holds that force; after a whole one, the force is released
        whose gradient points inside the most, until there is none.
        """
        w, m, s = self.w, self.m, self.sizes
        k, again = s.m, m["again"].address
        with w.each(0, k) as i:  # Q_uu + mu, whole
            with w.each(0, w.plus(i, 1)) as j:
                x = w.entry_of(m["Q"], w.plus(i, s.n), w.plus(j, s.n))
                for place in (w.place(m["M"], i, j), w.place(m["M"], j, i)):
                    w.store(x, place)
            at = w.place(m["M"], i, i)
            w.store(w.op("fadd", w.load(at), self.mu), at)
            w.store(self.clipped(w.entry_of(m["k"], i), i), w.place(m["k"], i))
        self.slopes()
        with w.each(0, k) as i:
            outward = w.less(self.inward(i), ZERO)
            inside = w.op("fsub", w.entry_of(m["k"], i), self.bound(i, w.entry_of(m["slope"], i)))
            held = w.let(f"and i1 {outward}, {w.let(f'fcmp oeq {DOUBLE} {inside}, {ZERO}')}")
            w.store(w.pick(held, ZERO, ONE), w.place(m["free"], i))
        w.store(ONE, again)
        with w.each(0, ROUNDS * k), w.when(w.less(ZERO, w.load(again))):
            self.fill(masked=True)
            with w.each(0, k) as i:
                x = w.op("fmul", w.entry_of(m["slope"], i), w.entry_of(m["free"], i))
                w.store(w.let(f"fneg {DOUBLE} {x}"), w.place(self.X, i))
            self.eliminate(s.lanes)

            def room(i: str, so_far: Sequence[str]) -> list[str]:
                y, x = w.entry_of(self.X, i), w.entry_of(m["k"], i)
                bound = self.bound(i, w.let(f"fneg {DOUBLE} {y}"))
                length = w.op("fdiv", w.op("fsub", bound, x), y)
                moves = w.let(f"fcmp one {DOUBLE} {y}, {ZERO}")
                shorter = w.let(f"and i1 {moves}, {w.less(length, so_far[0])}")
                index = w.let(f"sitofp i64 {i} to {DOUBLE}")
                return [w.pick(shorter, length, so_far[0]), w.pick(shorter, index, so_far[1])]

            length, stopped = w.accumulate(DOUBLE, [ONE, MINUS], k, room)
            with w.each(0, k) as i:
                y = w.entry_of(self.X, i)
                x = self.clipped(w.fma(length, y, w.entry_of(m["k"], i)), i)
                index = w.let(f"sitofp i64 {i} to {DOUBLE}")
                this = w.let(f"fcmp oeq {DOUBLE} {index}, {stopped}")
                bound = self.bound(i, w.let(f"fneg {DOUBLE} {y}"))
                w.store(w.pick(this, bound, x), w.place(m["k"], i))
                w.store(w.pick(this, ZERO, w.entry_of(m["free"], i)), w.place(m["free"], i))
            self.slopes()
            with w.when(w.less(stopped, ZERO)):

                def release(i: str, so_far: Sequence[str]) -> list[str]:
                    pull = w.op("fsub", ONE, w.entry_of(m["free"], i))
                    pull = w.op("fmul", pull, self.inward(i))
                    more = w.less(so_far[0], pull)
                    index = w.let(f"sitofp i64 {i} to {DOUBLE}")
                    return [w.pick(more, pull, so_far[0]), w.pick(more, index, so_far[1])]

                least = w.op("fmul", number(LEAST_PULL, DOUBLE), self.largest_slope())
                _, index = w.accumulate(DOUBLE, [least, MINUS], k, release)
                w.store(w.op("fadd", index, ONE), again)  # 0 where none is released
                with w.when(w.less(MINUS, index)):
                    one = w.let(f"fptosi {DOUBLE} {index} to i64")
                    w.store(ONE, w.place(m["free"], one))
        with w.each(0, k) as i:
            x = w.entry_of(m["k"], i)
            step = w.op("fdiv", w.entry_of(m["slope"], i), w.entry_of(m["M"], i, i))
            off = w.op("fsub", x, self.clipped(w.op("fsub", x, step), i))
            self.grow("limit error", w.pick(w.less(off, ZERO), w.let(f"fneg {DOUBLE} {off}"), off))

    def slopes(self) -> None:
        """The gradient g_u + M k."""
        w, m = self.w, self.m
        with w.each(0, self.sizes.m) as i:
            terms = lambda j: (w.entry_of(m["M"], i, j), w.entry_of(m["k"], j))  # noqa: E731
            x = w.total(w.entry_of(self.g_u, i), self.sizes.m, terms)
            w.store(x, w.place(m["slope"], i))

    def largest_slope(self) -> str:
        """The largest entry of g_u."""
        w = self.w

        def body(i: str, so_far: Sequence[str]) -> list[str]:
            x = w.entry_of(self.g_u, i)
            x = w.pick(w.less(x, ZERO), w.let(f"fneg {DOUBLE} {x}"), x)
            return [w.pick(w.less(so_far[0], x), x, so_far[0])]

        return w.accumulate(DOUBLE, [ZERO], self.sizes.m, body)[0]

    def bound(self, i: str, slope: str) -> str:
        """The limit towards which a force with this gradient goes."""
        w, m = self.w, self.m
        return w.pick(w.less(ZERO, slope), w.entry_of(m["low"], i), w.entry_of(m["high"], i))

    def inward(self, i: str) -> str:
        """How much the gradient pulls a force at a limit inside; negative: it holds it there."""
        w, m = self.w, self.m
        slope, x = w.entry_of(m["slope"], i), w.entry_of(m["k"], i)
        at_low = w.let(f"fcmp ole {DOUBLE} {x}, {w.entry_of(m['low'], i)}")
        return w.pick(at_low, w.let(f"fneg {DOUBLE} {slope}"), slope)

    def results(self, gains: str) -> None:
        """Write (K, k), and add to the record: Q_uu k = -g_u where no limit holds a force."""
        w, s, m = self.w, self.sizes, self.m
        with w.each(0, s.m) as i:
            row = w.behind(gains, w.times(i, s.n + 1))
            with w.each(0, s.padded(s.n + 1), s.lanes) as j:  # what is too long is written over
                w.store(w.load(w.place(self.X, i, j), wide=True), w.behind(row, j), wide=True)
        terms = lambda i: (w.entry_of(m["k"], i), w.entry_of(self.g_u, i))  # noqa: E731
        self.add_to("linear", w.total(ZERO, s.m, terms))

        def curved(i: str) -> tuple[str, str]:
            """K_i Q_uu k of the row i, from the entries of Q below its diagonal."""
            row, x = w.plus(i, s.n), w.entry_of(m["k"], i)
            entry = w.op("fadd", w.entry_of(m["Q"], row, row), self.mu)
            pull = w.total(
                w.op("fmul", w.op("fmul", HALF, entry), x), i,
                lambda j: (w.entry_of(m["Q"], row, w.plus(j, s.n)), w.entry_of(m["k"], j)),
            )  # fmt: skip
            return x, pull

        self.add_to("curved", w.total(ZERO, s.m, curved))
