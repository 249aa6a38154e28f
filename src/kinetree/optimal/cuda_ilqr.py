"""iLQR of many problems on a GPU: six launches an iteration, and no word to the CPU in between.

Slopes of all stages and of the ends have a thread each, at the same time. Backward in time a
problem has some warps. Forward in time each of the eight lengths of each problem has a thread that
computes states and forces; the numbers of the next stage arrive while one is computed. Costs of
all lengths and stages have a thread each. Last, a warp for each problem takes the best length and
sets the regularisation, by the rules of `driver.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
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
from kinetree.optimal.driver import (
    FIRST_MU,
    HIDDEN,
    HISTORY,
    LAST_MU,
    LEAST_CURVATURE,
    LONG,
    MULTIPLIER,
    OF_FIRST,
    SHORT,
)
from kinetree.optimal.forward import Bounds, clipped
from kinetree.optimal.ilqr import BAD_START, CONVERGED, ITERATIONS, LENGTHS, STALLED, TIME, Plans
from kinetree.optimal.stages import Pattern, Transcription, end_slopes, product, stage_slopes

REASONS = (ITERATIONS, CONVERGED, STALLED, BAD_START)  # by the status of a problem; 0 is active
FACTS = ("expected", "limit error", "gap", "multiplier", "sound", "scale")
ROUNDS = 64  # that find the forces at their limits; few stages need more than four
STAGE_BYTES = 4096  # of shared memory for a stage; measured: half the time of the usual 1792
UNSEEN = 4  # iterations between looks at the status: those of ended problems do nothing


class CudaSolver:
    """The passes of a transcription on the current GPU. It can be made without one."""

    def __init__(self, this: Transcription, limited: bool) -> None:
        self.this, self.limited = this, limited
        self.nx, self.n, self.m = this.space.size, this.space.rates, len(this.actuated)
        self.slopes, self.end = stage_slopes(this), end_slopes(this)
        if self.slopes.columns is not None or self.m > WARP:
            raise CompileError(
                f"{this.model.name!r} has {self.m} motors and steps of many operations; a GPU "
                f"takes at most {WARP} motors and shorter steps. Solve with target='cpu'."
            )
        self.last = CudaKernel(self.end.graph, "end of a plan")
        self._known: dict[tuple[int, ...], Work] = {}

    @property
    def places(self) -> dict[str, int]:
        """Where the matrices of the backward pass begin in shared memory, and where they end."""
        n, m, pitch = self.n, self.m, self.pitch
        sizes = {
            "F": n * pitch, "W": n * pitch, "U": m * pitch, "V": n * n, "v": n, "now": m,
            "both": 8 * m, "sums": 4, "raw": self.raw + len(self.tables[0]),
        }  # fmt: skip
        ends = np.cumsum([0, *sizes.values()])
        return {name: int(x) for name, x in zip([*sizes, "end"], ends, strict=True)}

    @property
    def pitch(self) -> int:
        """Distance of rows of F, in pairs of numbers."""
        return -(-(self.n + self.m + 1) // 2) * 2

    @property
    def raw(self) -> int:
        """Room for the slopes of a stage or of the end, behind which are numbers."""
        return max(self.slopes.graph.outputs[0].size, self.end.graph.outputs[0].size)

    @property
    def tables(self) -> tuple[Array, Array, Array]:
        """Entries of matrices that never change, and places of all entries of stage and end.

        Those of a stage are (A, B, gap) above (H, l), those of the end (V, v).
        """
        s, end = self.slopes, self.end
        grids = [[s.A, s.B, s.gap], [s.hessian, s.gradient]], [[end.hessian, end.gradient]]

        def block(grid: list[list[Pattern]], name: str) -> Array:
            rows = [[getattr(x, name) for x in row] for row in grid]
            return np.block([[x.reshape(len(x), -1) for x in row] for row in rows])

        numbers = np.unique(np.concatenate([block(grid, "numbers").ravel() for grid in grids]))
        tables = []
        for grid in grids:
            known = self.raw + np.searchsorted(numbers, block(grid, "numbers"))
            places = block(grid, "places")
            tables.append(np.where(places < 0, known, places).astype("uint16"))
        return numbers, *tables

    @property
    def tile(self) -> dict[str, int]:
        """Numbers of a stage for the forward pass, by array."""
        sizes = {"at": self.nx, "u": self.m, "K": self.m * self.n, "k": self.m, "gap": self.n}
        return sizes | ({"p": self.this.layout.size} if self.this.free else {})

    def source(self, warps: int) -> str:
        """The kernels as CUDA C++; a problem has so many warps backward in time."""
        this, at, m, sizes = self.this, self.places, self.m, self.tile
        costs = optimise(trace(lambda *x: np.array(this.costs_of(*x)), this.ports))
        end = optimise(trace(lambda x, p: np.array(this.costs_of(x, None, p)), this.ports[::2]))
        step, constants = self._step(), Constants("kt_constants", "float64")
        starts = np.cumsum([0, *sizes.values()])
        names = {"a": "length", "x": "x", "low": "limits", "high": f"(limits + {m})"}
        names |= {name: f"(now + {k})" for name, k in zip(sizes, starts, strict=False)}
        state = {"x": "x", "u": "force", "p": "now"}
        parts = {
            "STEP": written(step, constants, names, ["next", "force"], 8),
            "COSTS": written(costs, constants, state, ["here"], 4),
            "END": written(end, constants, state, ["here"], 4),
            "POINTERS": (f"    real *{name} = tile + {at[name]};" for name in [*at][:-1]),
        }
        text = BACKWARD + FORWARD + PICK
        for name, lines in parts.items():
            text = text.replace(f"@{name}@", "\n".join(lines))
        numbers = {
            "N": self.n, "M": m, "NX": self.nx, "KINDS": len(this.costs),
            "S": self.slopes.graph.outputs[0].size,
            "P": this.layout.size, "LENGTHS": len(LENGTHS), "LIMITED": int(self.limited),
            "FREE": int(bool(this.free)),
            "PITCH": self.pitch, "RAW": self.raw, "NUMBERS": len(self.tables[0]),
            "END_S": self.end.graph.outputs[0].size, "TILE": int(starts[-1]),
            "GROUP": 2 * int(starts[-1]) + 2 * m, "ROUNDS": ROUNDS, "WARPS": warps,
            "THREADS": WARP * warps, "X_ROWS": -(-self.n // warps), "U_ROWS": -(-m // warps),
            "FIRST_MU": FIRST_MU, "LAST_MU": LAST_MU,
            "MULTIPLIER": MULTIPLIER, "SHORT": SHORT, "LONG": LONG, "HIDDEN": HIDDEN,
            "OF_FIRST": OF_FIRST, "LEAST_CURVATURE": LEAST_CURVATURE,
            "FACTS": len(FACTS), "HISTORY": len(HISTORY) + 1,
        }  # fmt: skip
        defined = "\n".join(f"#define KT_{name} {value!r}" for name, value in numbers.items())
        head = prelude("float64", step, costs, end)
        return f"{head}\n{constants.text()}{defined}\n{text}"

    def _step(self) -> Any:
        """The graph of a stage of the forward pass: next state and forces."""
        this, n, m = self.this, self.n, self.m

        def step(
            at: Array, u: Array, K: Array, k: Array, gap: Array, *others: Any
        ) -> tuple[Array, ...]:
            *p, x, a, low, high = others
            u = u + k * a + product(K.reshape(m, n), this.deviation(at, x)[:, None])[:, 0]
            if self.limited:
                u = np.array([clipped(*each) for each in zip(u, low, high, strict=True)])
            return this.space.plus(this.next_state(x, u, *p), gap * (a - 1.0)), u

        ports = [Port(name, (size,)) for name, size in self.tile.items()]
        ports += [Port("x", (self.nx,)), Port("a", ()), Port("low", (m,)), Port("high", (m,))]
        return optimise(trace(step, ports))

    def launches(self, warps: int) -> dict[str, Any]:
        """The kernels on the current GPU, with so many warps for a problem backward in time."""
        source, L = self.source(warps), len(LENGTHS)
        numbers = {
            "kt_backward": self.places["end"], "kt_costs": 0, "kt_pick": L * len(self.this.costs),
            "kt_forward": WARP // L * 2 * (sum(self.tile.values()) + self.m),
        }  # fmt: skip
        widths = {"kt_backward": warps}
        return {
            name: load_narrow(source, name, 8 * count, widths.get(name, 1))
            for name, count in numbers.items()
        }

    def work(self, N: int, B: int) -> "Work":
        """The arrays for problems of this number and length; those of one size are kept."""
        key = N, B, require_device().cuda.Device().id
        if key not in self._known:
            self._known = {key: Work(self, N, B)}
        return self._known[key]

    def rollout(self, x0: Array, u: Array, p: Array, bounds: Bounds) -> Any:
        """States (N + 1, B, nx), NumPy's, of the motions from x0, (B, nx), under the forces u."""
        work = self.work(*u.shape[:2])
        work.begin(np.broadcast_to(x0, (len(u) + 1, *x0.shape)), u, p, bounds)
        work.forward()
        work.x[1:] = work.tried["x"][1:, :: len(LENGTHS)]
        return require_device().asnumpy(work.x)

    def solve(
        self, x: Array, u: Array, p: Array, bounds: Bounds, *, iterations: int, tolerance: float,
        seconds: float = np.inf, each: Callable[[int], None] | None = None, stay: bool = False,
    ) -> Plans:  # fmt: skip
        """Improve plans, as `Solver.solve`; `stay`: its arrays are CuPy's and stay on the GPU."""
        begun, (N, B, _), cp = perf_counter(), u.shape, require_device()
        work = self.work(N, B)
        work.begin(x, np.clip(u, bounds.low, bounds.high), p, bounds)
        work.measure(tolerance)
        status, timely, history = cp.asnumpy(work.status), True, list[dict[str, Array]]()
        for first in range(0, iterations, UNSEEN):
            timely = perf_counter() - begun <= seconds
            if not timely or status.all():
                break
            rows = work.iterate(min(UNSEEN, iterations - first))
            status = cp.asnumpy(work.status)
            for k, (*facts, moved) in enumerate(rows[:, : len(HISTORY) + 1], first + 1):
                if moved.any():
                    costs = rows[k - first - 1, len(HISTORY) + 1 :].T
                    row = {"iteration": np.array(k), **dict(zip(HISTORY, facts, strict=True))}
                    history.append({**row, "costs": costs})
            if each is not None:
                each(first + len(rows))
        reasons = [REASONS[k] if timely or k else TIME for k in status]
        arrays = {key: v if stay else cp.asnumpy(v) for key, v in work.results().items()}
        return Plans(**arrays, reasons=reasons, history=history)


class Work:
    """The arrays of B problems of N stages on the GPU, and the launches of an iteration."""

    def __init__(self, solver: CudaSolver, N: int, B: int) -> None:
        self.solver, self.N, self.B, self.cp = solver, N, B, require_device()
        cp, s, L = self.cp, solver, len(LENGTHS)
        n, m, nx, kinds = s.n, s.m, s.nx, len(s.this.costs)
        self.x, self.u = cp.empty((N + 1, B, nx)), cp.empty((N, B, m))
        self.p = cp.empty((N + 1, B, s.this.layout.size))
        self.slopes, self.stage_costs = (
            cp.empty((N, B, s.slopes.graph.outputs[0].size)),
            cp.empty((N, B, kinds)),
        )
        self.end, self.end_costs = cp.empty((B, s.end.graph.outputs[0].size)), cp.empty((B, kinds))
        self.K, self.k = cp.empty((2, N, B, m * n)), cp.empty((2, N, B, m))
        self.gaps, self.facts = cp.empty((N, B, n)), cp.zeros((B, len(FACTS)))
        self.low, self.high = cp.empty((B, m)), cp.empty((B, m))
        self.costs, self.mu, self.first_cost = cp.empty((B, kinds)), cp.empty(B), cp.empty(B)
        self.status, self.checked, self.which, self.turn = (cp.zeros(B, "int32") for _ in range(4))
        self.tried = {
            "x": cp.empty((N + 1, L * B, nx)), "u": cp.empty((N, L * B, m)),
            "costs": cp.empty((N + 1, L * B, kinds)),
        }  # fmt: skip
        self.history = cp.zeros((UNSEEN, len(HISTORY) + 1 + kinds, B))
        self.tolerance = cp.empty(1)
        self.tables = [cp.asarray(x) for x in s.tables]
        stage = CudaKernel(s.slopes.graph, "stage of a plan", budget=stage_bytes())
        self.stage = stage.launch("float64")
        self.last = s.last.launch("float64")
        self.warps = warps_of(B, n + m + 1)
        self.launches = s.launches(self.warps)
        self.replay: Callable[[], None] = captured(cp, self.enqueue)

    def begin(self, x: Array, u: Array, p: Array, bounds: Bounds) -> None:
        """Set plans to begin with; their feedback is zero."""
        cp = self.cp
        shared = p.strides[1] == 0  # the same numbers for all problems travel once
        for target, source in (
            (self.x, x), (self.u, u), (self.p, p[:, :1] if shared else p),
            (self.low, bounds.low), (self.high, bounds.high),
        ):  # fmt: skip
            target[...] = cp.asarray(source)
        per_problem = self.mu, self.status, self.checked, self.which, self.turn
        for zeroed in (self.K, self.k, self.gaps, *per_problem):
            zeroed[...] = 0

    def linearise(self) -> None:
        """Slopes of all stages and of the ends."""
        x, p = self.x, self.p
        arrays = [x[:-1], self.u, p[:-1], x[1:], self.slopes, self.stage_costs]
        beside(
            lambda: self.stage(self.N * self.B, arrays),
            lambda: self.last(self.B, [x[-1], p[-1], self.end, self.end_costs]),
        )

    def forward(self) -> None:
        """All lengths of all problems."""
        B, N, tries, tried = np.int32(self.B), np.int32(self.N), self.B * len(LENGTHS), self.tried
        arrays = [
            B, N, self.x, self.u, self.K, self.k, self.gaps, self.p, self.low, self.high,
            self.status, self.which, tried["x"], tried["u"],
        ]  # fmt: skip
        self.launches["kt_forward"](tries, arrays)
        arrays = [B, N, self.status, self.p, *tried.values()]
        self.launches["kt_costs"]((self.N + 1) * tries, arrays)

    def enqueue(self) -> None:
        """One iteration of all problems that are active."""
        B, N, tried = np.int32(self.B), np.int32(self.N), self.tried
        self.linearise()
        arrays = [
            B, N, self.slopes, self.end, *self.tables, self.u, self.low, self.high, self.mu,
            self.status, self.which, self.K, self.k, self.gaps, self.facts,
        ]  # fmt: skip
        self.launches["kt_backward"](self.B * WARP * self.warps, arrays)
        self.forward()
        arrays = [
            B, N, self.tolerance, self.facts, tried["x"], tried["u"], tried["costs"],
            self.first_cost,
            self.x, self.u, self.costs, self.mu, self.status, self.checked, self.which, self.turn,
            self.history,
        ]  # fmt: skip
        self.launches["kt_pick"](self.B * WARP, arrays)

    def measure(self, tolerance: float) -> None:
        """Costs of the plans to begin with."""
        self.tolerance[...] = tolerance
        self.linearise()
        self.costs[...] = self.stage_costs.sum(0) + self.end_costs
        self.first_cost[...] = self.costs.sum(1)
        self.status[~self.cp.isfinite(self.first_cost)] = REASONS.index(BAD_START)

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


def shared_bytes() -> int:
    """Shared memory that a block may have on the current GPU."""
    return require_device().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]


def stage_bytes() -> int:
    """Shared memory for a stage: most have room for all slopes, which are then written as rows."""
    return min(STAGE_BYTES, shared_bytes() // WARP)


def warps_of(problems: int, columns: int) -> int:
    """Warps of a problem backward in time: several for few problems, and for large robots."""
    count = require_device().cuda.Device().attributes["MultiProcessorCount"]
    return 4 if problems <= count or columns > WARP else 2 if problems <= 2 * count else 1


def beside(first: Callable[[], None], second: Callable[[], None]) -> None:
    """Launch both, the second on a stream of its own; the current stream waits for it."""
    cp = require_device()
    current, other = cp.cuda.get_current_stream(), cp.cuda.Stream(non_blocking=True)
    other.wait_event(current.record())
    first()
    with other:
        second()
    current.wait_event(other.record())


def load_narrow(source: str, name: str, shared: int, warps: int) -> Launch:
    """A kernel in small blocks, which spread over the GPU; `shared`: bytes of each block."""
    if shared > shared_bytes():
        raise CompileError(
            f"a problem takes {shared} bytes of shared memory of the GPU, which has "
            f"{shared_bytes()}; expected a smaller robot. Solve with target='cpu'."
        )
    each = -(-shared // warps)
    return replace(load_with(source, name, each, 0), threads=WARP * warps)


def captured(cp: Any, enqueue: Callable[[], None]) -> Callable[[], None]:
    """The launches of an iteration as one graph of CUDA, launched on the current stream."""
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        enqueue()
        graph = stream.end_capture()
    return graph.launch
