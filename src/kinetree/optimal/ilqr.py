"""iLQR: plans improved by Newton's method with the Hessian of Gauss, one problem or many.

An iteration linearises all stages of a problem as one batch, finds the best change of the forces
backward in time, and tries eight lengths of it forward in time, one in each lane of a vector. Gaps
of a plan that is not yet a motion close by the length that is taken. The merit of a plan is its
cost and nu times the sum of its gaps, where nu exceeds every multiplier of a gap.

Iterations are machine code (driver.py) over memory that is kept for the next solve. Each problem of
many is solved as it would be alone, on any thread.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.call import threads
from kinetree.engine.compiler.graph import Graph, Node, Port
from kinetree.engine.kernel import Kernel, has_llvm
from kinetree.engine.llvm.compiled_graph import CompiledGraph
from kinetree.engine.llvm.object_code import load_or_compile
from kinetree.engine.llvm.target import host_target
from kinetree.engine.rollout import address
from kinetree.errors import MissingPackageError
from kinetree.optimal import driver
from kinetree.optimal.forward import Bounds, Forward
from kinetree.optimal.riccati import Sizes
from kinetree.optimal.stages import Pattern, Transcription, end_slopes, stage_slopes
from kinetree.simulate.inputs import on_cpu

KEPT = 2**26  # bytes of plans, at most, whose memory is kept for the next solve
LENGTHS = 0.5 ** np.arange(float(driver.LENGTHS))  # of a step, tried at once
SLICE = 16  # iterations in machine code, until Ctrl-C and progress are heard

CONVERGED = "converged"
ITERATIONS = "iterations"
TIME = "time"
STALLED = (
    "stalled: no step lowers the cost, but its gradient is not small; try another guess, more "
    "tries, a shorter time step or softer contacts"
)
BAD_START = "the cost of the start is not a finite number"
BAD_SLOPES = "the slopes of step {} are not finite, or too large"
REASONS = {
    driver.RUNNING: ITERATIONS, driver.CONVERGED: CONVERGED, driver.STALLED: STALLED,
    driver.BAD_START: BAD_START,
}  # fmt: skip


@dataclass(eq=False)
class Plans:
    """B plans: states (N + 1, B, nx), forces (N, B, m), and what the last iteration knew of them.

    costs: (B, kinds). gaps: (N, B, 2n), what each stage misses the next state by. K, k: feedback
    and last change of the forces, 0 where they are not finite. mu: regularisation. reasons: why
    each ended.
    """

    x: Array
    u: Array
    costs: Array
    gaps: Array
    K: Array
    k: Array
    mu: Array
    reasons: list[str]
    history: list[dict[str, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        lost = on_cpu(~np.isfinite(self.K).all((2, 3)))
        for b in np.flatnonzero(lost.any(0)):  # the way back in time met the last such step first
            if self.reasons[b] != BAD_START:
                self.reasons[b] = BAD_SLOPES.format(np.flatnonzero(lost[:, b])[-1])
            self.K[:, b] = self.k[:, b] = 0

    @property
    def cost(self) -> Array:
        """The whole cost of each plan, (B,)."""
        return self.costs.sum(1)

    def some(self, which: Sequence[int]) -> "Plans":
        """The plans of some of the problems."""
        b, rows = list(which), list[dict[str, Array]]()
        for row in self.history:
            rows.append({key: x[b] if np.ndim(x) else x for key, x in row.items()})
        timed = {name: getattr(self, name)[:, b] for name in ("x", "u", "gaps", "K", "k")}
        return Plans(
            **timed, costs=self.costs[b], mu=self.mu[b], reasons=[self.reasons[k] for k in b],
            history=rows,
        )  # fmt: skip

    def cheapest(self, tries: int) -> "Plans":
        """The cheapest of each group of so many plans."""
        groups = np.nan_to_num(self.cost, nan=np.inf).reshape(-1, tries)
        return self.some(groups.argmin(1) + tries * np.arange(len(groups)))


class Solver:
    """The compiled passes of a transcription."""

    def __init__(self, this: Transcription, limited: bool) -> None:
        self.this, n, m = this, this.space.rates, len(this.actuated)
        if not has_llvm():
            raise MissingPackageError(
                "llvmlite cannot be imported, which compiles plans. Install it with: "
                "pip install llvmlite."
            )
        target = host_target()
        lanes = target.lanes("float64")
        nx, p, kinds = this.space.size, this.layout.size, len(this.costs)
        slopes, end = stage_slopes(this), end_slopes(this)
        self.column = slopes.columns
        self.sizes = s = Sizes(n, m, nx, p, kinds, lanes, limited, self.column is not None)
        lower = replace(slopes.hessian, places=np.tril(slopes.hessian.places + 1) - 1)
        varying = np.unique(lower.places[lower.places >= 0])
        parts = [padded(slopes.gradient, s.wide), padded(slopes.gap, s.narrow)]
        parts.append(Pattern(varying, np.zeros(len(varying))))
        if self.column is None:
            parts.insert(0, joined(padded(slopes.A, n), padded(slopes.B, s.wide - n), axis=1))
        self.H = padded(Pattern(np.full_like(lower.places, -1), slopes.hessian.numbers), s.wide)
        rows, columns = np.nonzero(lower.places >= 0)
        source = s.block["end"] + np.searchsorted(varying, lower.places[rows, columns])
        place = s.work["H"] + rows * s.wide + columns
        self.scatter = np.stack([source, place], axis=1).astype(np.int64)
        self.stage = laid_out(slopes.graph, parts)
        self.block_size = s.block["end"] + len(varying)
        parts = [padded(end.hessian, s.narrow), padded(end.gradient, s.narrow)]
        self.end = laid_out(end.graph, parts)
        self.forward = Forward(this, s)
        self.spare: list[Memory] = []
        self.codes = {name: CompiledGraph(graph) for name, graph in self.graphs.items()}
        self.code = load_or_compile(
            ["ilqr", str(s)], target, lambda: driver.emit(s, target.triple), [driver.SYMBOL]
        )
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.code.address(driver.SYMBOL))

    @property
    def graphs(self) -> dict[str, Graph]:
        """What the kernels of a stage, of the last state and of a column of (A, B) compute."""
        column = {} if self.column is None else {"column": self.column}
        return {"stage": self.stage, "end": self.end, **column}

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """The same as kernels, for explanations."""
        return {name: Kernel(x, name, dtypes=("float64",)) for name, x in self.graphs.items()}

    def slopes(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Slopes (N, block_size) and costs (N, kinds) of the stages of a plan, by kernels."""
        s = self.sizes
        blocks, costs = self.kernels["stage"](x[:-1], u, p[:-1], x[1:])
        if self.column is not None:
            parts = (a[: len(u), None] for a in (x, u, p))
            F = np.zeros((len(u), s.n, s.wide))
            columns = self.kernels["column"](*parts, np.eye(s.n + s.m))
            F[..., : s.n + s.m] = columns.swapaxes(1, 2)
            blocks = np.concatenate([F.reshape(len(u), -1), blocks], axis=1)
        return blocks, costs

    def rollout(self, x0: Array, u: Array, p: Array, bounds: Bounds) -> Array:
        """States (N + 1, B, nx) of the motions from x0, (B, nx), under the forces u, (N, B, m)."""
        row = self.sizes.row
        table = np.zeros((*u.shape[:2], row["spare"]))
        table[..., : row["u"]] = x0
        table[..., row["u"] : row["gap"]], table[..., row["p"] : row["gains"]] = u, p[:-1]
        return self.forward.run(x0, table, self.forward.params(np.ones(len(x0)), bounds))[0]

    def memory(self, N: int, B: int) -> "Memory":
        """Memory for B plans of N steps that nobody uses; `spare` takes it back."""
        for k, memory in enumerate(self.spare):
            if memory.plans.shape[:2] == (B, N + 1):
                return self.spare.pop(k)
        return Memory(self, N, B)

    def solve(
        self,
        x: Array,
        u: Array,
        p: Array,
        bounds: Bounds,
        *,
        iterations: int,
        tolerance: float,
        seconds: float = np.inf,
        each: Callable[[int], None] | None = None,
    ) -> Plans:
        """Improve plans.

        Args:
            x: states, (N + 1, B, nx); the first row is the start.
            u: forces, (N, B, m).
            p: numbers of the stages, (N + 1, B, p).
            bounds: of the forces.
            iterations: at most so many.
            tolerance: of the decrease of the cost that is still expected, relative to the cost and
                a millionth of the first one, and of the sum of the gaps.
            seconds: no iteration begins that would end later, but the first.
            each: called with the number of iterations after some of them.
        """
        until, memory = perf_counter() + seconds, self.memory(*u.shape[:2])
        memory.limit(bounds)
        for name, value in (("x", x), ("u", np.clip(u, bounds.low, bounds.high)), ("p", p)):
            memory.part(name)[: len(value)] = value
        plans = memory.result(*memory.improve(iterations, tolerance, until, each))
        if memory.plans.nbytes < KEPT:
            self.spare = [*self.spare[-3:], memory]
        return plans


class Memory:
    """Plans of one solver in the memory that its machine code works on.

    plans: (B, N + 1, row). records, costs, history: of each problem, as driver.py has them.
    """

    def __init__(self, solver: Solver, N: int, B: int) -> None:
        self.solver, s = solver, solver.sizes
        self.plans = np.zeros((B, N + 1, s.row["end"]))
        self.records, self.costs = np.zeros((B, len(driver.RECORD))), np.zeros((B, s.kinds))
        self.history = np.zeros((B, SLICE, len(driver.HISTORY) + s.kinds))
        self.tolerance, self.scratches = np.zeros(1), list[Scratch]()
        self.bounds = Bounds(np.full(s.m, -np.inf), np.full(s.m, np.inf))

    def part(self, name: str) -> Array:
        """A view of a part of all rows, (N + 1, B, ...): x, u, gap, p or gains."""
        row = list(self.solver.sizes.row.items())
        k = next(k for k, (key, _) in enumerate(row) if key == name)
        return self.plans.swapaxes(0, 1)[..., row[k][1] : row[k + 1][1]]

    def limit(self, bounds: Bounds) -> None:
        """Set the limits of the forces."""
        self.bounds.low[:], self.bounds.high[:] = bounds.low, bounds.high

    def improve(
        self, iterations: int, tolerance: float, until: float,
        each: Callable[[int], None] | None = None,
    ) -> tuple[list[Array], list[str]]:  # fmt: skip
        """Parts of the history, and why each problem ended; until: a time of perf_counter."""
        self.records[:] = 0
        rows, done, last = list[Array](), 0, perf_counter()
        while True:
            count = min(iterations - done, SLICE if until == np.inf else 1)
            self.run(count, tolerance)
            rows.append(self.history[:, :count].copy())
            done, now = done + count, perf_counter()
            if each is not None:
                each(done)
            codes = self.records[:, 0].tolist()
            late = now + (now - last) > until
            if done >= iterations or late or driver.RUNNING not in codes:
                break
            last = now
        cut = late and done < iterations
        return rows, [TIME if cut and x == driver.RUNNING else REASONS[int(x)] for x in codes]

    def run(self, iterations: int, tolerance: float) -> None:
        """Run up to SLICE iterations of problems that have not ended; `history` has their rows."""
        B, count = len(self.plans), threads.thread_count()
        self.tolerance[0] = tolerance
        self.history.fill(np.nan)
        if B == 1:
            self._call(iterations, slice(0, 1))
        else:
            pieces = threads.cut(B, count * threads.PIECES, 1)
            threads.run([partial(self._call, iterations, piece) for piece in pieces], count)

    def _call(self, iterations: int, part: slice) -> None:
        try:
            scratch = self.scratches.pop()
        except IndexError:
            scratch = Scratch(self)
        scratch.words[:3] = part.start, part.stop, iterations
        if self.solver.sizes.limited:
            np.concatenate([self.bounds.low, self.bounds.high], out=scratch.params[0, 1:])
            scratch.params[1:, 1:] = scratch.params[0, 1:]
        self.solver.function(scratch.address)
        self.scratches.append(scratch)

    def result(self, parts: Sequence[Array], reasons: list[str]) -> Plans:
        """A copy of the plans; parts: of the history, (B, iterations, ...)."""
        rows = np.concatenate(parts, axis=1)
        s, (N, B) = self.solver.sizes, (self.plans.shape[1] - 1, len(self.plans))
        gains = self.part("gains")[:-1].reshape(N, B, s.m, s.n + 1)
        taken = {name: self.part(name).copy() for name in ("x", "u", "gap")}
        for t in range(1, rows.shape[1]):  # a problem that has ended stays as it is
            over = np.isnan(rows[:, t, 0])
            rows[over, t] = rows[over, t - 1]
            rows[over, t, 1] = 0
        moved = np.flatnonzero((rows[:, :, 1] > 0).any(0))
        names, history = driver.HISTORY, list[dict[str, Array]]()
        for t in moved:
            row = dict(zip(names, rows[:, t].T, strict=False))
            history.append({"iteration": np.array(t + 1), **row, "costs": rows[:, t, len(names) :]})
        return Plans(
            taken["x"], taken["u"][:-1], self.costs.copy(), taken["gap"][:-1],
            gains[..., : s.n].copy(), gains[..., s.n].copy(), self.records[:, 1].copy(), reasons,
            history,
        )  # fmt: skip


class Scratch:
    """What one thread works with: the slopes of one problem, lanes of plans, and the words."""

    def __init__(self, memory: Memory) -> None:
        solver, s = memory.solver, memory.solver.sizes
        N, L = memory.plans.shape[1] - 1, driver.LENGTHS
        size, F = solver.block_size, s.n * s.wide * s.columns
        forward, row = solver.forward, 8 * s.row["end"]
        self.params = forward.params(LENGTHS, memory.bounds)
        run = forward.prepared(np.zeros((L, s.nx)), memory.plans[0, :-1, None], self.params)
        words, self.frame = forward.loop.words(run)
        work = np.zeros(s.work["end"] + s.lanes)
        work[s.work["H"] :][: solver.H.numbers.size] = solver.H.numbers.ravel()
        arrays: dict[str, Any] = {
            "plans": memory.plans, "records": memory.records, "costs": memory.costs,
            "history": memory.history, "tolerance": memory.tolerance, "low": memory.bounds.low,
            "high": memory.bounds.high, "scatter": solver.scatter, "work": work,
            "blocks": np.zeros((N, size)), "stage_costs": np.zeros((N, s.kinds)),
            "end_blocks": np.zeros((L + 1, s.end["end"])), "end_costs": np.zeros((L, s.kinds)),
            "forward_words": words, "params": self.params, "state": run.state,
            "states": run.records[0], "forces": run.records[1],
            "stage_dims": np.array([N]), "end_dims": np.array([L]), "end_one": np.array([1]),
            "stage_steps": np.array([row] * 4 + [8 * size, 8 * s.kinds] + [8] * 6),
            "end_steps": np.array(
                [8 * (s.nx + s.kinds), 0, 8 * s.end["end"], 8 * s.kinds] + [8] * 4
            ),
        }  # fmt: skip
        out = [address(arrays[name]) for name in ("blocks", "stage_costs")]
        arrays["stage_args"] = np.array([0, 0, 0, 0, out[0] + 8 * F, out[1]])
        out = [address(arrays[name]) for name in ("end_blocks", "end_costs")]
        arrays["end_args"] = np.array([address(run.state), 0, *out])
        if s.columns:  # a column of F at a time, for all columns of a stage
            one = arrays["one"] = np.eye(s.n + s.m)
            arrays["column_args"] = np.array([0, 0, 0, address(one), 0])
            arrays["column_dims"] = np.array([len(one)])
            steps = [0, 0, 0, one.strides[0], 8] + [8] * 4 + [8 * s.wide]
            arrays["column_steps"] = np.array(steps)
        values = {
            **{name: address(x) for name, x in arrays.items()}, "first": 0, "last": 1,
            "iterations": 0, "history_rows": memory.history.shape[1], "stages": N,
            "block_size": size, "scatter_count": len(solver.scatter),
            "forward_code": forward.loop.entry,
        }  # fmt: skip
        self.kept = arrays, run
        self.words = np.array([values.get(name, 0) for name in driver.WORDS], np.int64)
        self.address = address(self.words)
        for name, code in solver.codes.items():
            self.words[driver.WORDS.index(f"{name}_code")] = code.loop("float64").address


def padded(pattern: Pattern, width: int) -> Pattern:
    """The pattern with rows of so many entries, zeros behind."""
    more = [(0, 0)] * (pattern.places.ndim - 1) + [(0, width - pattern.places.shape[-1])]
    places = np.pad(pattern.places, more, constant_values=-1)
    return Pattern(places, np.pad(pattern.numbers, more))


def joined(*patterns: Pattern, axis: int = 0) -> Pattern:
    """Patterns one behind the other."""
    return Pattern(
        np.concatenate([x.places for x in patterns], axis=axis),
        np.concatenate([x.numbers for x in patterns], axis=axis),
    )


def laid_out(graph: Graph, patterns: Sequence[Pattern]) -> Graph:
    """The graph of slopes whose first result has the entries of these patterns in their order."""
    nodes = list(graph.nodes)
    known = {node.value: k for k, node in enumerate(nodes) if node.op == "const"}
    result = []
    flat = joined(*(Pattern(x.places.ravel(), x.numbers.ravel()) for x in patterns))
    for place, value in zip(flat.places.tolist(), flat.numbers.tolist(), strict=True):
        if place < 0 and value not in known:
            known[value] = len(nodes)
            nodes.append(Node("const", (), value))
        result.append(known[value] if place < 0 else graph.results[0][place])
    ports = Port("block", (len(result),)), graph.outputs[1]
    return replace(
        graph, nodes=tuple(nodes), outputs=ports, results=(tuple(result), graph.results[1])
    )
