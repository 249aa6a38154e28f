"""The backward pass of iLQR: a loop over the stages from the last to the first.

With V, v of the next state, F = (A, B) and the gap of a stage,

    v~ = v + V gap,    Q = H + F^T V F,    g = (l_x, l_u) + F^T v~
    du = k + K dx minimises g_u du + du (Q_uu + mu) du / 2 + du Q_ux dx within the limits of u
    V <- Q_xx + Q_ux^T K,    v <- g_x + Q_ux^T k

It is a program of `engine/compiler/loops.py`, so the bits of a plan do not depend on the machine.
Limits of u enter exactly: k solves the quadratic problem with bounds, and K is zero for forces that
a limit holds.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from kinetree.engine.compiler.loops import INTEGER, Matrix, Value, Vector

LENGTHS = 8  # of a step, 1, 1/2, ..., tried at once
ROUNDS = 4  # that find the forces at their limits, for each force at most
FORCES = ("inverse", "free", "k", "slope", "low", "high", "again")  # vectors of the backward pass
LEAST_PULL = 1e-13  # of the gradient, which releases a force from its limit


@dataclass(frozen=True)
class Sizes:
    """Sizes of a problem, and where its numbers lie in memory, counted in numbers.

    n: entries of dx. m: forces. nx: entries of x. p: numbers of a stage. kinds: costs. lanes: of a
    vector, to which rows of matrices are padded. limited: the forces are. columns: of F come from
    a kernel of their own. varying: numbers of H that differ between stages. scattered: its entries
    with these numbers.
    """

    n: int
    m: int
    nx: int
    p: int
    kinds: int
    lanes: int
    limited: bool
    columns: bool
    varying: int = 0
    scattered: int = 0

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
        """A row of a plan: the state x, u, gap, p, and m rows of (K, k)."""
        gains = self.m * (self.n + 1)
        sizes = {"x": self.nx, "u": self.m, "gap": self.n, "p": self.p, "gains": gains}
        return placed(sizes)

    @cached_property
    def block(self) -> dict[str, int]:
        """The slopes of a stage: F, gradient, gap, and what varies of H."""
        sizes = {"F": self.n * self.wide, "gradient": self.wide, "gap": self.narrow}
        return placed(sizes | {"H": self.varying})

    @cached_property
    def end(self) -> dict[str, int]:
        """The slopes of the last state."""
        return placed({"V": self.n * self.narrow, "v": self.narrow})

    @cached_property
    def strides(self) -> dict[str, int]:
        """From one row of a matrix to the next."""
        forces = self.padded(self.m)
        wide = dict.fromkeys("HWQ", self.wide)
        return {**wide, "V": self.narrow, "M": forces, "E": forces + self.padded(self.n + 1)}

    @cached_property
    def work(self) -> dict[str, int]:
        """The memory of the backward pass; H has what does not vary before it begins."""
        n, m, z = self.n, self.m, self.n + self.m
        rows = {"H": z, "V": n, "W": n, "Q": z, "M": m, "E": m}
        sizes = {name: count * self.strides[name] for name, count in rows.items()}
        sizes |= {"v": self.narrow, "g": self.wide}
        return placed(sizes | dict.fromkeys(FORCES, self.padded(m)))

    @property
    def stage_slopes(self) -> int:
        """Where what the kernel of a stage writes begins in a block."""
        return self.block["gradient"] * self.columns

    @property
    def candidate(self) -> int:
        """The state and the costs of a plan that is tried."""
        return self.nx + self.kinds

    @property
    def params(self) -> int:
        """A length of the step, and the limits."""
        return 1 + 2 * self.m * self.limited

    def scratch(self, stages: Any) -> dict[str, Any]:
        """The memory of iterations on one problem: fixed parts, then those of all stages.

        ends, end_costs: of the plans that are tried; behind their slopes are those of the plan.
        """
        L = LENGTHS
        sizes = {"work": self.work["end"], "ends": (L + 1) * self.end["end"]}
        sizes |= {"end_costs": L * self.kinds, "state": L * self.candidate}
        sizes["next"] = L * self.candidate
        fixed = placed(sizes)
        sizes = {"blocks": self.block["end"], "stage_costs": self.kinds}
        each = placed(sizes | {"states": L * self.nx, "forces": L * self.m})
        return {**fixed, **{name: stages * k + fixed["end"] for name, k in each.items()}}


def placed(sizes: dict[str, int]) -> dict[str, int]:
    """Where each part begins, one behind the other, and where the last ends."""
    return dict(zip([*sizes, "end"], accumulate(sizes.values(), initial=0), strict=True))


class Backward:
    """Writes the backward pass of the plan of one problem with `code`.

    It writes the gains into the rows of the plan, v of the start into the memory `work`, and adds
    to the record: k g_u, k Q_uu k / 2, the largest error of k, and the largest diagonal entry of
    Q_uu, the scale of the regularisation. It reads the vectors of the driver: `blocks` and the
    slopes of the end, the limits `low` and `high` of the forces, and `scatter`, pairs of places of
    a number in the slopes of a stage and in `work`.
    """

    def __init__(self, driver: Any) -> None:
        self.driver, self.code, self.sizes = driver, driver.code, driver.sizes
        self.at, s = driver.vector, driver.sizes
        work = self.at["work"]
        vectors = {name: work.behind(place) for name, place in s.work.items()}
        matrices = {name: Matrix(vectors[name], stride) for name, stride in s.strides.items()}
        self.H, self.V, self.W, self.Q, self.M, self.E = (matrices[name] for name in "HVWQME")
        self.v, self.g = vectors["v"], vectors["g"]
        self.inverse, self.free, self.k, self.slope, self.low, self.high, self.again = (
            vectors[name] for name in FORCES
        )
        self.Q_ux, self.Q_uu = self.Q.behind(s.n), self.Q.behind(s.n, s.n)
        self.g_u, self.X = self.g.behind(s.n), self.E.behind(0, s.padded(s.m))
        self.mu = driver["mu"]

    def write(self) -> None:
        """The whole pass."""
        code, s, driver = self.code, self.sizes, self.driver
        code.copy(self.V.start, driver.end, s.end["v"])
        code.copy(self.v, driver.end.behind(s.end["v"]), s.narrow)
        with code.each(driver.stages - 1, -1, -1) as t:
            row = driver.plan.behind(t * s.row["end"])
            self.stage(row, self.at["blocks"].behind(t * s.block["end"]))

    def grow(self, name: str, x: Value) -> None:
        """Replace a number of the record by a larger one."""
        self.driver[name] = self.code.maximum(self.driver[name], x)

    def stage(self, row: Vector, block: Vector) -> None:
        """One stage: its row of the plan and its slopes."""
        code, s = self.code, self.sizes
        n, m = s.n, s.m
        with code.parallel(0, s.scattered) as e:
            pair = self.at["scatter"].address
            source, place = (code.load(pair, e * 2 + i, INTEGER) for i in range(2))
            self.at["work"][place] = block[source]
        F, gap = Matrix(block.behind(s.block["F"]), s.wide), block.behind(s.block["gap"])
        gradient = block.behind(s.block["gradient"])
        code.combine(self.v, self.v, lambda j: gap[j], self.V, n, s.narrow)
        code.products(self.W, None, self.V, F, n, (n, s.wide))
        code.products(self.Q, self.H, F, self.W, n, (n + m, s.wide), below=True)
        code.combine(self.g, gradient, lambda j: self.v[j], F, n, s.wide)
        self.grow("scale", code.largest(m, lambda i: self.Q_uu[i, i]))
        self.solve_all(masked=False)
        with code.parallel(0, m) as i:
            self.k[i] = self.X[i, n]
        if s.limited:
            self.keep_limits(row.behind(s.row["u"]))
        self.results(row.behind(s.row["gains"]))
        code.products(self.V, self.Q, self.Q_ux, self.X, m, (n, s.narrow), below=True)
        with code.rows(0, n) as i, code.parallel(0, i) as j:
            self.V[j, i] = self.V[i, j]
        code.combine(self.v, self.g, lambda i: self.k[i], self.Q_ux, m, s.narrow)

    def solve_all(self, *, masked: bool) -> None:
        """(K, k) of the forces, or of the free ones among them."""
        code, s = self.code, self.sizes
        width = s.padded(s.n + 1)
        self.set_matrix(masked=masked)
        with code.rows(0, s.m) as i:
            sign = -self.free[i] if masked else code.value(-1.0)
            wide = code.broadcast(sign)
            with code.each(0, width, s.lanes) as j:
                self.X[i, j] = wide * self.Q_ux.wide(i, j)
            self.X[i, s.n] = sign * self.g_u[i]
        self.solve(width)

    def solve(self, width: int) -> None:
        """Replace so many columns behind the matrix in E by the solution."""
        code, s = self.code, self.sizes
        code.factor(self.E, s.m, s.padded(s.m) + width, self.inverse)
        code.back_substitute(self.E, s.m, self.X, width, self.inverse)

    def set_matrix(self, *, masked: bool) -> None:
        """Q_uu + mu on and above the diagonal of E; without the forces at limits if masked."""
        code, s, E, free = self.code, self.sizes, self.E, self.free
        with code.rows(0, s.m) as j:
            code.fill(E.row(j), 0.0, s.padded(s.m))
            with code.parallel(j, s.m) as i:
                x = self.Q_uu[i, j]
                E[j, i] = x * (free[j] * free[i]) if masked else x
            E[j, j] = E[j, j] + (self.mu + (1.0 - free[j]) if masked else self.mu)

    def keep_limits(self, u: Vector) -> None:
        """Replace (K, k) where k leaves its limits."""
        code, s = self.code, self.sizes
        with code.parallel(0, s.m) as i:
            self.low[i] = self.at["low"][i] - u[i]
            self.high[i] = self.at["high"][i] - u[i]

        def beyond(i: Value) -> Value:
            x = self.k[i]
            outside = (x < self.low[i]) | (self.high[i] < x)
            return code.select(outside, 1.0, 0.0)

        with code.when(code.largest(s.m, beyond) > 0.0):
            self.best_within()
            self.solve_all(masked=True)
            with code.parallel(0, s.m) as i:
                self.X[i, s.n] = self.k[i]

    def clipped(self, x: Value, i: Value) -> Value:
        """A number as entry i of k, within its limits."""
        return self.code.clip(x, self.low[i], self.high[i])

    def best_within(self) -> None:
        """K within the limits, by active sets: Newton's step among the free forces, to the limit.

        A step that a limit cuts short holds that force; after a whole one, the force is released
        whose gradient points inside the most, until there is none.
        """
        code, m, k, M = self.code, self.sizes.m, self.k, self.M
        with code.parallel(0, m) as i:  # Q_uu + mu, whole
            with code.each(0, i + 1) as j:
                x = self.Q_uu[i, j]
                M[i, j] = x
                M[j, i] = x
            M[i, i] = M[i, i] + self.mu
            k[i] = self.clipped(k[i], i)
        self.slopes()
        with code.parallel(0, m) as i:
            at_limit = k[i].equals(self.bound(i, self.slope[i]))
            held = (self.inward(i) < 0.0) & at_limit
            self.free[i] = code.select(held, 0.0, 1.0)
        self.again[0] = 1.0
        with code.each(0, ROUNDS * m), code.when(self.again[0] > 0.0):
            self.improve()
        with code.parallel(0, m) as i:
            step = self.slope[i] / M[i, i]
            self.inverse[i] = abs(k[i] - self.clipped(k[i] - step, i))
        self.grow("limit error", code.largest(m, lambda i: self.inverse[i]))

    def improve(self) -> None:
        """Newton's step among the free forces, and whether another one follows."""
        code, s, k = self.code, self.sizes, self.k
        self.set_matrix(masked=True)
        with code.parallel(0, s.m) as i:
            self.X[i, 0] = -(self.slope[i] * self.free[i])
        self.solve(s.lanes)
        step = lambda i: self.X[i, 0]  # noqa: E731

        def shorten(i: Value, length: Value, stopped: Value) -> list[Value]:
            y = step(i)
            room = (self.bound(i, -y) - k[i]) / y
            shorter = ~y.equals(0.0) & (room < length)
            return [code.select(shorter, room, length), code.select(shorter, i, stopped)]

        start = [code.value(1.0), code.value(-1, INTEGER)]
        length, stopped = code.accumulate(start, s.m, shorten)
        with code.parallel(0, s.m) as i:
            x = self.clipped(code.fma(length, step(i), k[i]), i)
            here = i.equals(stopped)
            k[i] = code.select(here, self.bound(i, -step(i)), x)
            self.free[i] = code.select(here, 0.0, self.free[i])
        self.slopes()
        with code.when(stopped < 0):
            self.release()

    def release(self) -> None:
        """Release the force whose gradient pulls it inside the most; `again`: there is one."""
        code, m = self.code, self.sizes.m

        def strongest(i: Value, most: Value, force: Value) -> list[Value]:
            pull = (1.0 - self.free[i]) * self.inward(i)
            more = most < pull
            return [code.select(more, pull, most), code.select(more, i, force)]

        least = LEAST_PULL * code.largest(m, lambda i: abs(self.g_u[i]))
        _, force = code.accumulate([least, code.value(-1, INTEGER)], m, strongest)
        some = force > -1
        self.again[0] = code.select(some, 1.0, 0.0)
        with code.when(some):
            self.free[force] = 1.0

    def slopes(self) -> None:
        """The gradient g_u + M k."""
        code, m = self.code, self.sizes.m
        with code.parallel(0, m) as i:
            self.slope[i] = code.sum(m, lambda j: (self.M[i, j], self.k[j]), self.g_u[i])

    def bound(self, i: Value, slope: Value) -> Value:
        """The limit towards which a force with this gradient goes."""
        return self.code.select(slope > 0.0, self.low[i], self.high[i])

    def inward(self, i: Value) -> Value:
        """How much the gradient pulls a force at a limit inside; negative: it holds it there."""
        slope = self.slope[i]
        return self.code.select(self.k[i] <= self.low[i], -slope, slope)

    def results(self, gains: Vector) -> None:
        """Write (K, k), and add to the record: Q_uu k = -g_u where no limit holds a force."""
        code, s, k, Q_uu = self.code, self.sizes, self.k, self.Q_uu
        with code.rows(0, s.m) as i:
            code.copy(gains.behind(i * (s.n + 1)), self.X.row(i), s.n + 1)
        self.driver["linear"] += code.sum(s.m, lambda i: (k[i], self.g_u[i]))
        with code.parallel(0, s.m) as i:  # of Q_uu k / 2, from the entries below the diagonal
            start = 0.5 * (Q_uu[i, i] + self.mu) * k[i]
            self.slope[i] = code.sum(i, lambda j: (Q_uu[i, j], k[j]), start)
        self.driver["curved"] += code.sum(s.m, lambda i: (k[i], self.slope[i]))
