"""iLQR of many problems on a GPU: five launches an iteration, and no word to the CPU in between.

Slopes of all stages and of the ends have a thread each. Backward in time a problem has a warp, with
its matrices in shared memory. Forward in time each of the eight lengths of each problem has a
thread; the numbers of the next stage arrive while one is computed. Last, a warp for each problem
takes a length and sets the regularisation. The steps are those of `ilqr.py`: a batch takes the
first length that is better, a single problem the best one.

Backward, all forces are free at first. Only where the result is beyond a limit, Newton's method
with projections finds the forces at their limits.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.cuda.body import Constants
from kinetree.engine.cuda.kernel import CudaKernel
from kinetree.engine.cuda.launch import Launch, load_with, require_device
from kinetree.engine.cuda.layout import WARP
from kinetree.engine.cuda.prelude import prelude
from kinetree.errors import CompileError
from kinetree.optimal.cuda_sampling import written
from kinetree.optimal.cuda_text import BACKWARD, FORWARD, PICK
from kinetree.optimal.forward import Bounds, clipped
from kinetree.optimal.ilqr import (
    BAD_START,
    CONVERGED,
    FIRST_MU,
    ITERATIONS,
    LENGTHS,
    MOST_MU,
    MULTIPLIER,
    STUCK,
    TIME,
    Plans,
)
from kinetree.optimal.stages import Pattern, Transcription, end_slopes, product, stage_slopes

REASONS = (ITERATIONS, CONVERGED, STUCK, BAD_START)  # by the status of a problem; 0 is active
FACTS = ("expected", "limit error", "gap", "multiplier", "sound")
HISTORY = ("cost", "length", "expected", "gap", "mu", "limit error", "moved")
ROUNDS = 32  # that find the forces at their limits; few stages need more than four
UNSEEN = 4  # iterations between looks at the status: those of ended problems do nothing
Part = tuple[Pattern, int, int]  # a pattern, where it begins in shared memory, numbers in a row


class CudaSolver:
    """The passes of a transcription on the current GPU. It can be made without one."""

    def __init__(self, this: Transcription, limited: bool) -> None:
        self.this, self.limited = this, limited
        self.nx, self.n, self.m = this.space.size, this.space.rates, len(this.actuated)
        self.slopes, self.end = stage_slopes(this), end_slopes(this)
        self.stage = CudaKernel(self.slopes.graph, "stage of a plan")
        self.last = CudaKernel(self.end.graph, "end of a plan")
        self._known: dict[tuple[int, ...], Work] = {}

    @property
    def rows(self) -> int:
        """Rows of tiles of the largest symmetric matrix."""
        return max(size // divisor(size) for size in (self.n, self.n + self.m))

    @property
    def places(self) -> dict[str, int]:
        """Where the matrices of the backward pass begin in shared memory, and where they end."""
        n, m = self.n, self.m
        wide, columns = n + m, n + m + 1
        sizes = {
            "F": n * wide, "H": wide * wide, "l": wide, "gap": n, "V": n * n, "v": n, "vt": n,
            "W": n * wide, "Q": wide * wide, "g": wide, "X": m * columns, "M": m * m, "K": m * n,
            "k": m, "low": m, "high": m, "free": m, "slope": m, "moved": m, "sums": 5 * WARP,
            "raw": self.slopes.size, "corners": self.rows * (self.rows + 1) // 4 + 1,
        }  # fmt: skip
        ends = np.cumsum([0, *sizes.values()])
        return {name: int(x) for name, x in zip([*sizes, "end"], ends, strict=True)}

    @property
    def parts(self) -> tuple[list[Part], list[Part]]:
        """The patterns of a stage and of the end in shared memory."""
        at, n, wide, s = self.places, self.n, self.n + self.m, self.slopes
        stage = [
            (s.A, at["F"], wide), (s.B, at["F"] + n, wide), (s.hessian, at["H"], wide),
            (s.gradient, at["l"], 1), (s.gap, at["gap"], 1),
        ]  # fmt: skip
        return stage, [(self.end.hessian, at["V"], n), (self.end.gradient, at["v"], 1)]

    @property
    def tile(self) -> dict[str, int]:
        """Numbers of a stage for the forward pass, by array."""
        n, m = self.n, self.m
        return {"at": self.nx, "u": m, "K": m * n, "k": m, "gap": n, "p": self.this.layout.size}

    def source(self) -> str:
        """The kernels `kt_backward`, `kt_forward` and `kt_pick` as CUDA C++."""
        this, at, sizes = self.this, self.places, self.tile
        step, end = self._step(), self._end_costs()
        constants = Constants("kt_constants", "float64")
        groups, starts = WARP // len(LENGTHS), np.cumsum([0, *sizes.values()])
        names = {"a": "length", "x": "x", "low": "lowest", "high": "highest"}
        for (name, size), start in zip(sizes.items(), starts, strict=False):
            names[name] = f"(now + {groups * start} + group * {size})"
        parts = {
            "STEP": written(step, constants, names, ["next", "force", "here"], 8),
            "END": written(end, constants, {"x": "x", "p": "final"}, ["here"], 4),
            "POINTERS": (f"    real *{name} = tile + {at[name]};" for name in [*at][:-1]),
        }
        text = BACKWARD + FORWARD + PICK
        for name, lines in parts.items():
            text = text.replace(f"@{name}@", "\n".join(lines))
        numbers = {
            "N": self.n, "M": self.m, "NX": self.nx, "KINDS": len(this.costs),
            "S": self.slopes.size, "P": this.layout.size, "LENGTHS": len(LENGTHS),
            "LIMITED": int(self.limited), "TN": divisor(self.n), "TW": divisor(self.n + self.m),
            "ROWS": self.rows, "HALF": groups * int(starts[-1]), "ROUNDS": ROUNDS,
            "FIRST_MU": FIRST_MU, "MOST_MU": MOST_MU, "MULTIPLIER": MULTIPLIER,
            "FACTS": len(FACTS), "HISTORY": len(HISTORY), "END_S": self.end.graph.outputs[0].size,
            "PAIRS": len(scattered(self.parts[0], at["V"])[1]),
            "END_PAIRS": len(scattered(self.parts[1], at["vt"])[1]),
        }  # fmt: skip
        defined = "\n".join(f"#define KT_{name} {value!r}" for name, value in numbers.items())
        return f"{prelude('float64', step, end)}\n{constants.text()}{defined}\n{text}"

    def _step(self) -> Any:
        """The graph of a stage of the forward pass: next state, forces and costs."""
        this, n, m = self.this, self.n, self.m

        def step(
            at: Array, u: Array, K: Array, k: Array, gap: Array, p: Array, x: Array, a: Any,
            low: Array, high: Array,
        ) -> tuple[Array, ...]:  # fmt: skip
            u = u + k * a + product(K.reshape(m, n), this.deviation(at, x)[:, None])[:, 0]
            if self.limited:
                u = np.array([clipped(*each) for each in zip(u, low, high, strict=True)])
            reached = this.space.plus(this.next_state(x, u), gap * (a - 1.0))
            return reached, u, np.array(this.costs_of(x, u, p))

        ports = [Port(name, (size,)) for name, size in self.tile.items()]
        ports += [Port("x", (self.nx,)), Port("a", ()), Port("low", (m,)), Port("high", (m,))]
        return optimise(trace(step, ports))

    def _end_costs(self) -> Any:
        ports = self.this.ports[::2]
        return optimise(trace(lambda x, p: np.array(self.this.costs_of(x, None, p)), ports))

    def launches(self) -> dict[str, Any]:
        """The three kernels on the current GPU."""
        shared = {"kt_backward": self.places["end"], "kt_pick": 0}
        shared["kt_forward"] = 2 * WARP // len(LENGTHS) * sum(self.tile.values())
        source = self.source()
        return {name: load_narrow(source, name, 8 * size) for name, size in shared.items()}

    def work(self, N: int, B: int) -> "Work":
        """The arrays for problems of this number and length; those of one size are kept."""
        key = N, B, require_device().cuda.Device().id
        if key not in self._known:
            self._known = {key: Work(self, N, B)}
        return self._known[key]

    def rollout(self, x0: Array, u: Array, p: Array, bounds: Bounds) -> Any:
        """States (N + 1, B, nx), NumPy's, of the motions from x0, (B, nx), under the forces u."""
        work = self.work(*u.shape[:2])
        work.begin(np.broadcast_to(x0, (len(u) + 1, *x0.shape)), u, p, bounds, None)
        work.forward()
        work.x[1:] = work.tried["x"][1:, :: len(LENGTHS)]
        return require_device().asnumpy(work.x)

    def solve(
        self, x: Array, u: Array, p: Array, bounds: Bounds, *, iterations: int, tolerance: float,
        seconds: float = np.inf, mu: Array | None = None,
        each: Callable[[Plans], None] | None = None, stay: bool = False,
    ) -> Plans:  # fmt: skip
        """Improve plans, as `Solver.solve`; `stay`: its arrays are CuPy's and stay on the GPU."""
        begun, (N, B, _), cp = perf_counter(), u.shape, require_device()
        work = self.work(N, B)
        work.begin(x, np.clip(u, bounds.low, bounds.high), p, bounds, mu)
        work.measure(tolerance)
        plans = Plans(*(np.zeros(0),) * 7, reasons=[])
        status, timely = cp.asnumpy(work.status), True
        for first in range(0, iterations, UNSEEN):
            timely = perf_counter() - begun <= seconds
            if not timely or status.all():
                break
            rows = work.iterate(min(UNSEEN, iterations - first))
            status = cp.asnumpy(work.status)
            for k, row in enumerate(rows):
                facts = dict(zip(HISTORY, row, strict=True))
                if facts.pop("moved").any():
                    plans.history.append({"iteration": np.array(first + k + 1), **facts})
                if each is not None:
                    each(plans)
        reasons = [REASONS[k] if timely or k else TIME for k in status]
        arrays = {key: v if stay else cp.asnumpy(v) for key, v in work.results().items()}
        return replace(plans, **arrays, reasons=reasons)


class Work:
    """The arrays of B problems of N stages on the GPU, and the launches of an iteration."""

    def __init__(self, solver: CudaSolver, N: int, B: int) -> None:
        self.solver, self.N, self.B, self.cp = solver, N, B, require_device()
        cp, s, L = self.cp, solver, len(LENGTHS)
        n, m, nx, kinds = s.n, s.m, s.nx, len(s.this.costs)
        self.x, self.u = cp.empty((N + 1, B, nx)), cp.empty((N, B, m))
        self.p = cp.empty((N + 1, B, s.this.layout.size))
        self.slopes, self.stage_costs = cp.empty((N, B, s.slopes.size)), cp.empty((N, B, kinds))
        self.end, self.end_costs = cp.empty((B, s.end.graph.outputs[0].size)), cp.empty((B, kinds))
        self.K, self.k = cp.empty((2, N, B, m * n)), cp.empty((2, N, B, m))
        self.gaps, self.facts = cp.empty((N, B, n)), cp.zeros((B, len(FACTS)))
        self.low, self.high = cp.empty((B, m)), cp.empty((B, m))
        self.costs, self.mu, self.scale = cp.empty((B, kinds)), cp.empty(B), cp.empty(B)
        self.status, self.which, self.turn = (cp.zeros(B, "int32") for _ in range(3))
        self.tried = {
            "x": cp.empty((N + 1, L * B, nx)), "u": cp.empty((N, L * B, m)),
            "costs": cp.empty((L * B, kinds)),
        }  # fmt: skip
        self.history = cp.zeros((UNSEEN, len(HISTORY), B))
        self.tolerance = cp.empty(1)
        at = s.places
        parts = zip(s.parts, (0, at["V"]), (at["V"], at["vt"]), strict=True)
        tables = [scattered(part, end, begin) for part, begin, end in parts]
        self.tables = [cp.asarray(x) for pair in tables for x in pair]
        self.stage = s.stage.launch("float64", N * B)
        self.last = s.last.launch("float64", B)
        self.launches = s.launches()
        self.replay: Callable[[], None] = captured(cp, self.enqueue)

    def begin(self, x: Array, u: Array, p: Array, bounds: Bounds, mu: Array | None) -> None:
        """Set plans to begin with; their feedback is zero."""
        cp = self.cp
        shared = p.strides[1] == 0  # the same numbers for all problems travel once
        for target, source in (
            (self.x, x), (self.u, u), (self.p, p[:, :1] if shared else p),
            (self.low, bounds.low), (self.high, bounds.high), (self.mu, 0.0 if mu is None else mu),
        ):  # fmt: skip
            target[...] = cp.asarray(source)
        for zeroed in (self.K, self.k, self.gaps, self.status, self.which, self.turn):
            zeroed[...] = 0

    def linearise(self) -> None:
        """Slopes of all stages and of the ends."""
        x, p = self.x, self.p
        arrays = [x[:-1], self.u, p[:-1], x[1:], self.slopes, self.stage_costs]
        self.stage(self.N * self.B, arrays)
        self.last(self.B, [x[-1], p[-1], self.end, self.end_costs])

    def forward(self) -> None:
        """All lengths of all problems."""
        B, L, tried = self.B, len(LENGTHS), self.tried
        arrays = [
            np.int32(B), np.int32(self.N), self.x, self.u, self.K, self.k, self.gaps, self.p,
            self.low, self.high, self.status, self.which, tried["x"], tried["u"], tried["costs"],
        ]  # fmt: skip
        self.launches["kt_forward"](B * L, arrays)

    def enqueue(self) -> None:
        """One iteration of all problems that are active."""
        B, N, tried = np.int32(self.B), np.int32(self.N), self.tried
        self.linearise()
        arrays = [
            B, N, self.slopes, self.end, *self.tables, self.u, self.low, self.high, self.mu,
            self.status, self.which, self.K, self.k, self.gaps, self.facts,
        ]  # fmt: skip
        self.launches["kt_backward"](self.B * WARP, arrays)
        self.forward()
        arrays = [
            B, N, self.tolerance, self.facts, tried["x"], tried["u"], tried["costs"], self.scale,
            self.x, self.u, self.costs, self.mu, self.status, self.which, self.turn, self.history,
        ]  # fmt: skip
        self.launches["kt_pick"](self.B * WARP, arrays)

    def measure(self, tolerance: float) -> None:
        """Costs and curvature of the plans to begin with."""
        cp, n = self.cp, self.solver.n
        self.tolerance[...] = tolerance
        self.linearise()
        self.costs[...] = self.stage_costs.sum(0) + self.end_costs
        H = self.solver.slopes.hessian
        by_force = Pattern(np.diag(H.places)[n:], np.diag(H.numbers)[n:])
        largest = self.filled(by_force).max(2).max(0)
        self.scale[...] = cp.maximum(largest, 1e-12)
        self.status[~cp.isfinite(self.costs.sum(1))] = REASONS.index(BAD_START)

    def iterate(self, count: int) -> Array:
        """So many iterations; their `HISTORY`, (count, columns, B)."""
        self.turn[...] = 0
        for _ in range(count):
            self.replay()
        return self.cp.asnumpy(self.history[:count])

    def filled(self, pattern: Pattern) -> Any:
        """The matrices of a pattern of all stages, (N, B, *shape)."""
        places, numbers = (self.cp.asarray(x) for x in (pattern.places, pattern.numbers))
        return self.cp.where(places >= 0, self.slopes[..., places], numbers)

    def results(self) -> dict[str, Any]:
        """The arrays of `Plans`."""
        s, cp, odd = self.solver, self.cp, self.which[:, None] == 1
        self.linearise()
        K, k = (cp.where(odd, x[1], x[0]) for x in (self.K, self.k))
        return {
            "x": self.x.copy(), "u": self.u.copy(), "costs": self.costs.copy(),
            "gaps": self.filled(s.slopes.gap), "K": K.reshape(self.N, self.B, s.m, s.n), "k": k,
            "mu": self.mu.copy(),
        }  # fmt: skip


def divisor(size: int) -> int:
    """The size of tiles that cover a matrix of so many rows."""
    return next(k for k in (3, 2, 1) if size % k == 0)


def scattered(parts: Sequence[Part], end: int, begin: int = 0) -> tuple[Array, Array]:
    """Numbers from `begin` to `end` that never change, and (slope, place) pairs of the others."""
    numbers, pairs = np.zeros(end - begin), [np.empty((0, 2), int)]
    for pattern, start, width in parts:
        places = pattern.places.reshape(len(pattern.places), -1)
        at = start + np.arange(len(places))[:, None] * width + np.arange(places.shape[1])
        numbers[at - begin] = pattern.numbers.reshape(places.shape)
        pairs.append(np.stack([places[places >= 0], at[places >= 0]], axis=1))
    return numbers, np.concatenate(pairs).astype("int32")


def load_narrow(source: str, name: str, shared: int) -> Launch:
    """A kernel in blocks of one warp, which spread over the GPU; `shared`: bytes of each."""
    most = require_device().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    if shared > most:
        raise CompileError(
            f"a problem takes {shared} bytes of shared memory of the GPU, which has {most}; "
            "expected a smaller robot. Solve with target='cpu'."
        )
    return replace(load_with(source, name, shared, 0), threads=WARP)


def captured(cp: Any, enqueue: Callable[[], None]) -> Callable[[], None]:
    """The launches of an iteration as one graph of CUDA, launched on the current stream."""
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        enqueue()
        graph = stream.end_capture()
    return graph.launch
