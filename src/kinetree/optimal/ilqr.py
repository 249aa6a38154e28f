"""iLQR: plans improved by Newton's method with the Hessian of Gauss, one problem or many.

An iteration linearises all stages of a problem as one batch, finds the best change of the forces
backward in time, and tries eight lengths of it forward in time, one in each lane of a vector. Gaps
of a plan that is not yet a motion close by the length that is taken. The merit of a plan is its
cost and nu times the sum of its gaps, where nu exceeds every multiplier of a gap.

Iterations are a program (driver.py), run by the CPU (cpu.py) or a GPU (cuda.py) over memory that is
kept for the next solve. Each problem of many is solved as it would be alone, on any thread.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.kernel import Kernel, has_llvm
from kinetree.engine.llvm.target import host_target
from kinetree.errors import MissingPackageError
from kinetree.optimal import driver
from kinetree.optimal.riccati import LENGTHS, Sizes
from kinetree.optimal.transcription import Bounds, Forward, Transcription
from kinetree.simulate.inputs import on_cpu

KEPT = 2**26  # bytes of plans, at most, whose memory is kept for the next solve
SLICE = 16  # iterations in machine code, until Ctrl-C and progress are heard
WARP = 32  # lanes of a GPU

CONVERGED = "converged"
ITERATIONS = "iterations"
TIME = "time"
STALLED = (
    "stalled: no step lowers the cost, but its gradient is not small; try another guess, tries=, "
    "a shorter time step or softer contacts"
)
BAD_START = "the cost of the start is not a finite number"
BAD_SLOPES = "the slopes of step {} are not finite, or too large"
REASONS = dict(enumerate(["", ITERATIONS, CONVERGED, STALLED, BAD_START]))  # by status


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
            **timed,
            costs=self.costs[b],
            mu=self.mu[b],
            reasons=[self.reasons[k] for k in b],
            history=rows,
        )

    def cheapest(self, tries: int) -> "Plans":
        """The cheapest of each group of so many plans."""
        groups = np.nan_to_num(on_cpu(self.cost), nan=np.inf).reshape(-1, tries)
        return self.some(groups.argmin(1) + tries * np.arange(len(groups)))


class Solver:
    """The compiled passes of a transcription, for the CPU or the current GPU."""

    def __init__(self, ocp: Transcription, limited: bool, target: str = "cpu") -> None:
        if not has_llvm():
            raise MissingPackageError(
                "llvmlite cannot be imported, which compiles plans. Install it with: "
                "pip install llvmlite."
            )
        self.ocp, n, m = ocp, ocp.space.rates, len(ocp.actuated)
        stage, end, column = ocp.stage(), ocp.end(), ocp.column
        below = np.tril(np.ones((n + m, n + m), bool))
        constants = stage.numbers(stage.nodes["H"])
        rows, columns = np.nonzero(below & np.isnan(constants))
        varying, order = np.unique(stage.nodes["H"][rows, columns], return_inverse=True)
        lanes = host_target().lanes("float64") if target == "cpu" else WARP
        sizes = n, m, ocp.space.size, ocp.layout.size, len(ocp.costs), lanes, limited
        self.sizes = s = Sizes(*sizes, column is not None, len(varying), len(rows))
        self.hessian = np.zeros((n + m, s.wide))
        self.hessian[:, : n + m] = np.where(below, np.nan_to_num(constants), 0)
        places = s.block["H"] + order, s.work["H"] + rows * s.wide + columns
        self.scatter = np.stack(places, axis=1).astype(np.int64)
        F = [stage.padded("A B", s.wide)] if column is None else []
        gradient, gap = stage.padded("gradient", s.wide), stage.padded("gap", s.narrow)
        last = [end.padded("H", s.narrow), end.padded("gradient", s.narrow)]
        self.graphs = {"stage": stage.block([*F, gradient, gap, varying]), "last": end.block(last)}
        if column is not None:
            self.graphs["column"] = column
        self.forward = Forward(ocp, s)
        if target == "cpu":
            from kinetree.optimal.cpu import Cpu as Target
        else:
            from kinetree.optimal.cuda import Cuda as Target
        self.target: Any = Target(s, self.graphs, self.forward)
        self.spare: list[Memory] = []

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """What stages, last states and columns compute, as kernels, for explanations."""
        return {name: Kernel(x, name, dtypes=("float64",)) for name, x in self.graphs.items()}

    def slopes(self, x: Array, u: Array, p: Array) -> tuple[Array, ...]:
        """A, B, l_x, l_u of the stages of a plan, and l_x of its end, by kernels."""
        s = self.sizes
        block = self.kernels["stage"](x[:-1], u, p[:-1], x[1:])[0]
        if s.columns:
            parts = (a[: len(u), None] for a in (x, u, p))
            F = self.kernels["column"](*parts, np.eye(s.n + s.m)).swapaxes(1, 2)
        else:
            F, block = np.split(block, [s.block["gradient"]], axis=1)
            F = F.reshape(len(u), s.n, s.wide)
        end = self.kernels["last"](x[-1], p[-1])[0][s.end["v"] :]
        A, B = F[..., : s.n], F[..., s.n : s.n + s.m]
        return A, B, block[:, : s.n], block[:, s.n : s.n + s.m], end[: s.n]

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
        stay: bool = False,
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
            stay: arrays that are on a GPU stay there.
        """
        until, memory = perf_counter() + seconds, self.memory(*u.shape[:2])
        memory.limit(bounds)
        for name, value in (("x", x), ("u", np.clip(u, bounds.low, bounds.high)), ("p", p)):
            memory.part(name)[: len(value)] = memory.arrays.asarray(value)
        plans = memory.result(*memory.improve(iterations, tolerance, until, each), stay=stay)
        if memory.plans.nbytes < KEPT:
            self.spare = [*self.spare[-3:], memory]
        return plans


class Memory:
    """Plans of one solver in the memory that its code works on: arrays of NumPy or CuPy.

    plans: (B, N + 1, row). records, costs, history: of each problem, as driver.py has them.
    scratches: what threads have worked with.
    """

    def __init__(self, solver: Solver, N: int, B: int) -> None:
        self.solver, self.arrays, s = solver, solver.target.arrays, solver.sizes
        zeros = self.arrays.zeros
        self.plans = zeros((B, N + 1, s.row["end"]))
        self.records, self.costs = zeros((B, len(driver.RECORD))), zeros((B, s.kinds))
        self.history = zeros((B, SLICE, len(driver.HISTORY) + s.kinds))
        self.options, self.scratches = zeros(2), list[Any]()
        self.params = zeros((2, LENGTHS, s.params))
        self.params[0, :, 0] = 0.5 ** self.arrays.arange(float(LENGTHS))
        self.hessian, self.scatter = map(self.arrays.asarray, (solver.hessian, solver.scatter))

    def words(self) -> list[int]:
        """The counts and addresses of `driver.WORDS`."""
        arrays = [getattr(self, name) for name in driver.ARRAYS]
        counts = [self.plans.shape[1] - 1, SLICE]
        return counts + [self.solver.target.address(x) for x in arrays]

    def part(self, name: str) -> Array:
        """A view of a part of all rows, (N + 1, B, ...): x, u, gap, p or gains."""
        row = list(self.solver.sizes.row.items())
        k = next(k for k, (key, _) in enumerate(row) if key == name)
        return self.plans.swapaxes(0, 1)[..., row[k][1] : row[k + 1][1]]

    def limit(self, bounds: Bounds) -> None:
        """Set the limits of the forces."""
        if self.solver.sizes.limited:
            self.params[..., 1:] = self.arrays.asarray(np.concatenate([bounds.low, bounds.high]))

    def improve(
        self,
        iterations: int,
        tolerance: float,
        until: float,
        each: Callable[[int], None] | None = None,
        *,
        follow: bool = False,
    ) -> tuple[list[Array], list[str]]:
        """Parts of the history, and why each problem ended.

        until: a time of perf_counter. follow: begin with the motion that follows the plan.
        """
        self.records[:] = 0
        self.options[0], self.options[1] = tolerance, follow
        rows, done, last = list[Array](), 0, perf_counter()
        while True:
            count = min(iterations - done, SLICE if until == np.inf else 1)
            self.history.fill(np.nan)
            self.solver.target.run(self, count)
            self.options[1] = 0
            rows.append(on_cpu(self.history)[:, :count].copy())
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

    def result(self, parts: Sequence[Array], reasons: list[str], *, stay: bool = False) -> Plans:
        """A copy of the plans; parts: of the history, (B, iterations, ...)."""
        s, (N, B) = self.solver.sizes, (self.plans.shape[1] - 1, len(self.plans))
        gains = self.part("gains")[:-1].reshape(N, B, s.m, s.n + 1)
        taken = {
            "x": self.part("x"),
            "u": self.part("u")[:-1],
            "costs": self.costs,
            "gaps": self.part("gap")[:-1],
            "K": gains[..., : s.n],
            "k": gains[..., s.n],
            "mu": self.records[:, 1],
        }
        copies = {name: x.copy() if stay else on_cpu(x.copy()) for name, x in taken.items()}
        return Plans(**copies, reasons=reasons, history=history_of(parts))


def history_of(parts: Sequence[Array]) -> list[dict[str, Array]]:
    """What each iteration did that moved a plan; parts: (B, iterations, ...)."""
    rows, names = np.concatenate(parts, axis=1), driver.HISTORY
    for t in range(1, rows.shape[1]):  # a problem that has ended stays as it is
        over = np.isnan(rows[:, t, 0])
        rows[over, t] = rows[over, t - 1]
        rows[over, t, 1] = 0
    history = list[dict[str, Array]]()
    for t in np.flatnonzero((rows[:, :, 1] > 0).any(0)):
        row = dict(zip(names, rows[:, t].T, strict=False))
        history.append({"iteration": np.array(t + 1), **row, "costs": rows[:, t, len(names) :]})
    return history
