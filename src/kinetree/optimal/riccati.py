"""The backward pass of iLQR in machine code: a loop over the stages from the last to the first.

With V, v of the next state, F = (A, B) and the gap of a stage,

    v~ = v + V gap,    Q = H + F^T V F,    g = (l_x, l_u) + F^T v~
    du = k + K dx minimises g_u du + du (Q_uu + mu) du / 2 + du Q_ux dx within the limits of u
    V <- Q_xx + Q_ux^T K,    v <- g_x + Q_ux^T k

The loops are those of engine/llvm/dense.py, so the bits of a plan do not depend on the machine.
Limits of u enter exactly: k solves the quadratic problem with bounds, and K is zero for forces that
a limit holds.
"""

import ctypes
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from kinetree.base.arrays import Array
from kinetree.engine.call import threads
from kinetree.engine.kernel import has_llvm
from kinetree.engine.llvm.dense import DOUBLE, Dense, Matrix
from kinetree.engine.llvm.programs import load_or_compile
from kinetree.engine.llvm.target import host_target
from kinetree.engine.llvm.text import number
from kinetree.engine.rollout import address
from kinetree.optimal.stages import StageSlopes

ROUNDS = 4  # that find the forces at their limits; most stages need two
SWEEPS = 2  # times along the coordinates in each round
SYMBOL = "riccati"
WORDS = (
    "first", "last", "problems", "stages", "slopes", "slope_count", "scatter", "scatter_count",
    "block", "work", "V", "v", "mu", "low", "high", "u", "K", "k", "sums",
)  # fmt: skip
ONE, ZERO, HALF = (number(x, DOUBLE) for x in (1.0, 0.0, 0.5))


@dataclass(frozen=True)
class Sizes:
    """Sizes of a problem: n entries of dx, m forces, and rows padded to whole vectors."""

    n: int
    m: int
    lanes: int

    def padded(self, count: int) -> int:
        """The length of a row of whole vectors."""
        return -(-count // self.lanes) * self.lanes

    @cached_property
    def wide(self) -> int:
        """The length of a row of F and Q."""
        return self.padded(self.n + self.m)

    @cached_property
    def narrow(self) -> int:
        """The length of a row of V."""
        return self.padded(self.n)

    @cached_property
    def solved(self) -> int:
        """The length of a row of (K, k)."""
        return self.padded(self.n + 1)

    @cached_property
    def block(self) -> dict[str, int]:
        """Where F, H, the gradient and the gap of a stage begin, and where they end."""
        n, wide = self.n, self.wide
        F, H = 0, n * wide
        gradient = H + (n + self.m) * wide
        gap = gradient + wide
        return {"F": F, "H": H, "gradient": gradient, "gap": gap, "end": gap + self.narrow}

    @cached_property
    def work(self) -> dict[str, int]:
        """Where the matrices of the loop begin, behind those of a stage, and where they end."""
        n, m, row = self.n, self.m, self.padded(self.m)
        sizes = {
            "V": n * self.narrow, "v": self.narrow, "W": n * self.wide, "Q": (n + m) * self.wide,
            "g": self.wide, "M": m * row, "L": m * row, "D": row, "X": m * self.solved,
            "y": m * self.lanes, "free": row, "k": row, "slope": row, "moved": row, "low": row,
            "high": row,
        }  # fmt: skip
        places, at = {}, self.block["end"]
        for name, size in sizes.items():
            places[name], at = at, at + size
        return {**places, "end": at}


class Riccati:
    """The backward pass for problems whose stages have these slopes."""

    def __init__(self, slopes: StageSlopes, n: int, m: int, limited: bool) -> None:
        self.n, self.m, self.limited = n, m, limited
        self.function, target = None, host_target() if has_llvm() else None
        self.sizes = Sizes(n, m, 1 if target is None else target.lanes("float64"))
        self.block, self.scatter = self._places(slopes)
        if target is not None:
            self.code = load_or_compile(
                [SYMBOL, str(self.sizes), str(limited), str((ROUNDS, SWEEPS))], target,
                lambda: Text(self.sizes, limited).text(target.triple), [SYMBOL],
            )  # fmt: skip
            self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.code.address(SYMBOL))

    def _places(self, slopes: StageSlopes) -> tuple[Array, Array]:
        """The numbers of a stage that never change, and (slope, place) of the others."""
        sizes, n = self.sizes, self.n
        block, pairs = np.zeros(sizes.block["end"]), []
        parts = [
            (slopes.A, sizes.block["F"], sizes.wide), (slopes.B, sizes.block["F"] + n, sizes.wide),
            (slopes.hessian, sizes.block["H"], sizes.wide),
            (slopes.gradient, sizes.block["gradient"], 1), (slopes.gap, sizes.block["gap"], 1),
        ]  # fmt: skip
        for pattern, start, stride in parts:
            at = start + np.arange(len(pattern.places))[:, None] * stride
            shape = pattern.places.reshape(len(pattern.places), -1)
            at = at + np.arange(shape.shape[1])
            block[at.ravel()] = pattern.numbers.ravel()
            moves = shape.ravel() >= 0
            pairs.append(np.stack([shape.ravel()[moves], at.ravel()[moves]], axis=1))
        return block, np.concatenate(pairs).astype(np.int64)

    def run(
        self, V: Array, v: Array, slopes: Array, u: Array, low: Array, high: Array, mu: Array
    ) -> tuple[Array, Array, Array, Array]:
        """K, (N, B, m, n), k, (N, B, m), the sums, (B, 3), and v of the start, (B, n).

        Args:
            V: of the last states, (B, n, n); v: (B, n).
            slopes: of the stages, (N, B, slopes).
            u: forces, (N, B, m); low, high: their limits, (B, m).
            mu: regularisation, (B,).

        Returns:
            The sums are those of k g_u and of k Q_uu k / 2, and the largest error of k.
        """
        N, B = u.shape[:2]
        sizes = self.sizes
        padded = np.zeros((B, self.n, sizes.narrow))
        padded[..., : self.n] = V
        start = np.zeros((B, sizes.narrow))
        start[:, : self.n] = v
        K, k, sums = np.empty((N, B, self.m, self.n)), np.empty((N, B, self.m)), np.zeros((B, 3))
        arrays = {
            "slopes": np.ascontiguousarray(slopes), "scatter": self.scatter, "block": self.block,
            "V": padded, "v": start, "mu": np.ascontiguousarray(mu),
            "low": np.ascontiguousarray(low), "high": np.ascontiguousarray(high),
            "u": np.ascontiguousarray(u), "K": K, "k": k, "sums": sums,
        }  # fmt: skip
        if self.function is None:
            for b in range(B):
                self._plain(arrays, b)
            return K, k, sums, start[:, : self.n]
        count = threads.thread_count()
        pieces = threads.cut(B, count * threads.PIECES, 1)
        threads.run([partial(self._call, arrays, N, B, piece) for piece in pieces], count)
        return K, k, sums, start[:, : self.n]

    def _call(self, arrays: dict[str, Array], N: int, B: int, part: slice) -> None:
        work = np.zeros(self.sizes.work["end"] + 8)
        values = {name: address(x) for name, x in arrays.items()}
        values |= {
            "first": part.start, "last": part.stop, "problems": B, "stages": N,
            "slope_count": arrays["slopes"].shape[-1], "scatter_count": len(self.scatter),
            "work": address(work),
        }  # fmt: skip
        words = (ctypes.c_int64 * len(WORDS))(*(values[name] for name in WORDS))
        assert self.function is not None
        self.function(words)

    def _plain(self, arrays: dict[str, Array], b: int) -> None:
        """The same of one problem in NumPy, where LLVM is missing; equal to rounding."""
        n, sizes, block = self.n, self.sizes, self.block.copy()
        low, high, mu = (arrays[name][b] for name in ("low", "high", "mu"))
        V, v, sums = arrays["V"][b, :, :n], arrays["v"][b, :n], arrays["sums"][b]
        at = sizes.block
        for t in range(len(arrays["u"]) - 1, -1, -1):
            block[self.scatter[:, 1]] = arrays["slopes"][t, b, self.scatter[:, 0]]
            F = block[at["F"] : at["H"]].reshape(n, -1)[:, : n + self.m]
            H = block[at["H"] : at["gradient"]].reshape(n + self.m, -1)[:, : n + self.m]
            v = v + V @ block[at["gap"] : at["gap"] + n]
            Q, g = H + F.T @ V @ F, block[at["gradient"] :][: n + self.m] + F.T @ v
            M, Q_ux, g_u = Q[n:, n:] + mu * np.eye(self.m), Q[n:, :n], g[n:]
            if not (np.linalg.eigvalsh(M) > 0).all():
                sums[:] = np.nan
                return
            K, k = -np.linalg.solve(M, Q_ux), -np.linalg.solve(M, g_u)
            if self.limited:
                u = arrays["u"][t, b]
                k, free = plain_box(M, g_u, low - u, high - u)
                K = np.zeros_like(Q_ux)
                K[free] = -np.linalg.solve(M[np.ix_(free, free)], Q_ux[free])
            arrays["K"][t, b], arrays["k"][t, b] = K, k
            sums[:2] += k @ g_u, k @ M @ k / 2
            V, v = Q[:n, :n] + Q_ux.T @ K, g[:n] + Q_ux.T @ k
            V = (V + V.T) / 2
        arrays["v"][b, :n] = v


def plain_box(M: Array, g: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The minimum of g k + k M k / 2 within limits, and which entries are free."""
    k = np.clip(np.zeros(len(g)), low, high)
    for _ in range(200):
        before = k.copy()
        for i in range(len(k)):
            k[i] = np.clip(k[i] - (g[i] + M[i] @ k) / M[i, i], low[i], high[i])
        if np.array_equal(before, k):
            break
    slope = g + M @ k
    return k, ~(((k <= low) & (slope > 0)) | ((k >= high) & (slope < 0)))


class Text:
    """Writes the function."""

    def __init__(self, sizes: Sizes, limited: bool) -> None:
        self.sizes, self.limited, self.w = sizes, limited, Dense(sizes.lanes)

    def text(self, triple: str | None) -> str:
        """The module."""
        w = self.w
        self.words = {
            name: w.let(f"load i64, ptr {w.at('%words', 8 * i)}") for i, name in enumerate(WORDS)
        }
        names = ("slopes", "scatter", "block", "work", "V", "v", "mu", "low", "high", "u", "K",
                 "k", "sums")  # fmt: skip
        self.pointer = {name: w.let(f"inttoptr i64 {self.words[name]} to ptr") for name in names}
        s = self.sizes
        strides = {
            "V": s.narrow, "W": s.wide, "Q": s.wide, "M": s.padded(s.m), "L": s.padded(s.m),
            "X": s.solved, "y": s.lanes, "F": s.wide, "H": s.wide,
        }  # fmt: skip
        places = {**{k: v for k, v in s.block.items() if k != "end"}, **s.work}
        self.m = {
            name: Matrix(w.behind(self.pointer["work"], place), strides.get(name, 1))
            for name, place in places.items()
        }
        with w.each(self.words["first"], self.words["last"]) as b:
            self.problem(b)
        head = f"define void @{SYMBOL}(ptr %words)"
        begin = f'target triple = "{triple}"\n' if triple else ""
        return begin + w.function(head) + w.declarations() + "\n"

    def copy(self, source: str, target: str, count: int) -> None:
        """Copy some numbers."""
        with self.w.each(0, count) as i:
            self.w.store(self.w.load(self.w.behind(source, i)), self.w.behind(target, i))

    def problem(self, b: str) -> None:
        """The loop over the stages of one problem."""
        w, s, m = self.w, self.sizes, self.m
        self.copy(self.pointer["block"], self.pointer["work"], s.block["end"])
        V = w.behind(self.pointer["V"], w.times(b, s.n * s.narrow))
        v = w.behind(self.pointer["v"], w.times(b, s.narrow))
        self.copy(V, m["V"].address, s.n * s.narrow)
        self.copy(v, m["v"].address, s.narrow)
        self.mu = w.load(w.behind(self.pointer["mu"], b))
        self.sums = w.behind(self.pointer["sums"], w.times(b, 3))
        last = w.plus(self.words["stages"], -1)
        with w.each(last, -1, -1) as t:
            self.stage(b, w.plus(w.times(t, self.words["problems"]), b))
        self.copy(m["v"].address, v, s.narrow)

    def stage(self, b: str, row: str) -> None:
        """One stage; row: its number among all stages of all problems."""
        w, s, m = self.w, self.sizes, self.m
        n, k = s.n, s.m
        slopes = w.behind(self.pointer["slopes"], w.times(row, self.words["slope_count"]))
        with w.each(0, self.words["scatter_count"]) as e:
            pair = w.let(
                f"getelementptr inbounds i64, ptr {self.pointer['scatter']}, i64 {w.times(e, 2)}"
            )
            slope = w.let(f"load i64, ptr {pair}")
            place = w.let(f"load i64, ptr {w.at(pair, 8)}")
            w.store(w.load(w.behind(slopes, slope)), w.behind(self.pointer["work"], place))
        v = m["v"].address
        w.combine(v, v, (m["gap"], 0), m["V"], n, s.narrow)
        with w.each(0, n) as i:
            w.combine(w.place(m["W"], i), None, (m["V"], i), m["F"], n, s.wide)
        with w.each(0, n + k) as a:
            w.combine(w.place(m["Q"], a), w.place(m["H"], a), (m["F"], a), m["W"], n, s.wide)
        w.combine(m["g"].address, m["gradient"].address, (m["v"], 0), m["F"], n, s.wide)
        self.force_matrix()
        self.g_u = Matrix(w.behind(m["g"].address, n), 1)
        self.Q_ux = Matrix(w.place(m["Q"], n), s.wide)
        with w.each(0, k) as i:
            w.store(ONE, w.place(m["free"], i))
        if self.limited:
            self.room(b, row)
            self.best_within()
        self.factor()
        with w.each(0, k) as i:
            free = w.load(w.place(m["free"], i))
            minus = w.let(f"fneg {DOUBLE} {free}")
            with w.each(0, n) as j:
                x = w.op("fmul", minus, w.entry_of(self.Q_ux, i, j))
                w.store(x, w.place(m["X"], i, j))
            w.store(w.op("fmul", minus, w.entry_of(self.g_u, i)), w.place(m["X"], i, n))
        self.solve(m["X"], s.solved)
        if not self.limited:
            with w.each(0, k) as i:
                w.store(w.entry_of(m["X"], i, n), w.place(m["k"], i))
        self.results(row)
        with w.each(0, n) as i:
            w.combine(w.place(m["V"], i), w.place(m["Q"], i), (self.Q_ux, i), m["X"], k, s.narrow)
        with w.each(0, n) as i, w.each(0, i) as j:
            w.store(w.entry_of(m["V"], i, j), w.place(m["V"], j, i))
        w.combine(v, m["g"].address, (m["k"], 0), self.Q_ux, k, s.narrow)

    def force_matrix(self) -> None:
        """M = Q_uu + mu, from its entries below the diagonal."""
        w, n, Q, M = self.w, self.sizes.n, self.m["Q"], self.m["M"]
        with w.each(0, self.sizes.m) as i:
            row = w.plus(i, n)
            with w.each(0, i) as j:
                x = w.entry_of(Q, row, w.plus(j, n))
                w.store(x, w.place(M, i, j))
                w.store(x, w.place(M, j, i))
            w.store(w.op("fadd", w.entry_of(Q, row, row), self.mu), w.place(M, i, i))

    def factor(self) -> None:
        """M among the free forces as L D L^T; ones for the others."""
        w, m, k = self.w, self.m, self.sizes.m
        L, D, free = m["L"], m["D"], m["free"]

        def entry(i: str, j: str) -> str:
            """The entry minus what earlier columns have taken."""
            x = w.op(
                "fmul",
                w.entry_of(m["M"], i, j),
                w.op("fmul", w.entry_of(free, i), w.entry_of(free, j)),
            )
            return w.total(
                x, j, lambda c: (
                    w.let(f"fneg {DOUBLE} {w.entry_of(L, i, c)}"),
                    w.op("fmul", w.entry_of(L, j, c), w.entry_of(D, c)),
                )
            )  # fmt: skip

        with w.each(0, k) as j:
            held = w.op("fsub", ONE, w.entry_of(free, j))
            pivot = w.op("fadd", entry(j, j), held)
            # a pivot that is not positive has no minimum: NaN tells the solver
            sound = w.less(ZERO, pivot)
            pivot = w.pick(sound, pivot, number(float("nan"), DOUBLE))
            w.store(pivot, w.place(D, j))
            with w.each(w.plus(j, 1), k) as i:
                w.store(w.op("fdiv", entry(i, j), pivot), w.place(L, i, j))

    def solve(self, X: Matrix, width: int) -> None:
        """Replace the rows of X by those of the solution of L D L^T."""
        w, k, L = self.w, self.sizes.m, self.m["L"]
        with w.each(0, k) as i:
            row = w.place(X, i)
            w.combine(row, row, (Matrix(w.place(L, i), 1), 0), X, i, width, minus=True)
        with w.each(0, k) as i:
            pivot = w.spread(w.entry_of(self.m["D"], i))
            with w.each(0, width, w.lanes) as j:
                at = w.place(X, i, j)
                w.store(w.op("fdiv", w.load(at, wide=True), pivot, wide=True), at, wide=True)
        with w.each(w.plus(k, -1), -1, -1) as i:
            row, after = w.place(X, i), w.plus(i, 1)
            below = Matrix(w.place(L, after, i), L.stride)
            count = w.let(f"sub i64 {k - 1}, {i}")
            w.combine(
                row, row, (below, 0), Matrix(w.place(X, after), X.stride), count, width, minus=True
            )

    def room(self, b: str, row: str) -> None:
        """Least and greatest k, and the k nearest to zero."""
        w, m, k = self.w, self.m, self.sizes.m
        at, of = w.times(row, k), w.times(b, k)
        with w.each(0, k) as i:
            u = w.load(w.behind(self.pointer["u"], w.plus(at, i)))
            limits = []
            for name in ("low", "high"):
                limit = w.load(w.behind(self.pointer[name], w.plus(of, i)))
                limits.append(w.op("fsub", limit, u))
                w.store(limits[-1], w.place(m[name], i))
            w.store(w.clip(ZERO, *limits), w.place(m["k"], i))

    def clipped(self, x: str, i: str) -> str:
        """A number as entry i of k, within its limits."""
        w, m = self.w, self.m
        return w.clip(x, w.entry_of(m["low"], i), w.entry_of(m["high"], i))

    def slope_at(self, at: Matrix, i: str) -> str:
        """Entry i of the gradient g_u + M k."""
        w, M = self.w, self.m["M"]
        return w.total(
            w.entry_of(self.g_u, i),
            self.sizes.m,
            lambda j: (w.entry_of(M, i, j), w.entry_of(at, j)),
        )

    def best_within(self) -> None:
        """K within the limits: along coordinates, then by Newton among the free ones if lower."""
        w, m, k = self.w, self.m, self.sizes.m
        with w.each(0, ROUNDS):
            with w.each(0, SWEEPS), w.each(0, k) as i:
                step = w.op("fdiv", self.slope_at(m["k"], i), w.entry_of(m["M"], i, i))
                x = w.op("fsub", w.entry_of(m["k"], i), step)
                w.store(self.clipped(x, i), w.place(m["k"], i))
            self.find_free()
            self.factor()
            with w.each(0, k) as i:
                x = w.op("fmul", w.entry_of(m["slope"], i), w.entry_of(m["free"], i))
                w.store(w.let(f"fneg {DOUBLE} {x}"), w.place(m["y"], i))
            self.solve(m["y"], self.sizes.lanes)
            with w.each(0, k) as i:
                x = w.op("fadd", w.entry_of(m["k"], i), w.entry_of(m["y"], i))
                w.store(self.clipped(x, i), w.place(m["moved"], i))
            lower = w.less(self.height(m["moved"]), self.height(m["k"]))
            with w.each(0, k) as i:
                x = w.pick(lower, w.entry_of(m["moved"], i), w.entry_of(m["k"], i))
                w.store(x, w.place(m["k"], i))
        self.find_free()
        worst = w.behind(self.sums, 2)
        with w.each(0, k) as i:
            x = w.entry_of(m["k"], i)
            step = w.op("fdiv", w.entry_of(m["slope"], i), w.entry_of(m["M"], i, i))
            off = w.op("fsub", x, self.clipped(w.op("fsub", x, step), i))
            off = w.pick(w.less(off, ZERO), w.let(f"fneg {DOUBLE} {off}"), off)
            before = w.load(worst)
            w.store(w.pick(w.less(before, off), off, before), worst)

    def height(self, at: Matrix) -> str:
        """The value g_u k + k M k / 2 = k (g_u + gradient) / 2."""
        w = self.w

        def term(i: str) -> tuple[str, str]:
            both = w.op("fadd", self.slope_at(at, i), w.entry_of(self.g_u, i))
            return w.op("fmul", HALF, w.entry_of(at, i)), both

        return w.total(ZERO, self.sizes.m, term)

    def find_free(self) -> None:
        """The gradient, and 0 for each force that it holds at a limit, 1 for the others."""
        w, m = self.w, self.m
        with w.each(0, self.sizes.m) as i:
            x, slope = w.entry_of(m["k"], i), self.slope_at(m["k"], i)
            low, high = w.entry_of(m["low"], i), w.entry_of(m["high"], i)
            down = w.let(f"and i1 {w.let(f'fcmp ole {DOUBLE} {x}, {low}')}, {w.less(ZERO, slope)}")
            up = w.let(f"and i1 {w.let(f'fcmp oge {DOUBLE} {x}, {high}')}, {w.less(slope, ZERO)}")
            held = w.let(f"or i1 {down}, {up}")
            w.store(w.pick(held, ZERO, ONE), w.place(m["free"], i))
            w.store(slope, w.place(m["slope"], i))

    def results(self, row: str) -> None:
        """Write K and k, and add to the sums."""
        w, s, m = self.w, self.sizes, self.m
        K = Matrix(w.behind(self.pointer["K"], w.times(row, s.m * s.n)), s.n)
        k = w.behind(self.pointer["k"], w.times(row, s.m))
        with w.each(0, s.m) as i:
            with w.each(0, s.n) as j:
                w.store(w.entry_of(m["X"], i, j), w.place(K, i, j))
            w.store(w.entry_of(m["k"], i), w.behind(k, i))
        linear = w.total(
            w.load(self.sums), s.m, lambda i: (w.entry_of(m["k"], i), w.entry_of(self.g_u, i))
        )
        w.store(linear, self.sums)

        def curved(i: str) -> tuple[str, str]:
            pull = w.op("fsub", self.slope_at(m["k"], i), w.entry_of(self.g_u, i))
            return w.op("fmul", HALF, w.entry_of(m["k"], i)), pull

        at = w.behind(self.sums, 1)
        w.store(w.total(w.load(at), s.m, curved), at)
