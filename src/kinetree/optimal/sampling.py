"""Plans by sampling: MPPI and the cross-entropy method, all samples in one run of compiled code.

A sample adds to the forces of the guess a line through knots, at equal times of the horizon,

    u_t = clip(guess_t + sum of hat_k(t) y_k),    y = mean + L z

with normal numbers z. An iteration runs all samples and weighs them: by exp(-cost / temperature),
of the temperature that lets a share of the samples count (MPPI), or the cheapest share alike
(cross-entropy). With the weights w, which sum to 1, the mean moves by L sum(w z), and the spread
L L^T becomes a mix of itself and L sum(w z z^T) L^T, about the mean before, so that it grows along
the way to better samples and shrinks across. At first L makes accelerations of joints that do not
depend on each other.

Random numbers are those of Philox, in NumPy's form on the CPU and in CuPy's on a GPU: a seed gives
the same plan again on the same target.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.options import count, finite
from kinetree.engine.compiler.stepping import NEVER, Field
from kinetree.engine.compiler.stepping import Run as LoopCall
from kinetree.engine.kernels.memo import remembered
from kinetree.engine.rollout import Rollout
from kinetree.errors import InputError
from kinetree.optimal.ilqr import ITERATIONS, Plans
from kinetree.optimal.transcription import Bounds, Transcription, compiled, stepping
from kinetree.scalars import clip
from kinetree.simulate.inputs import on_cpu

METHODS = ("mppi", "cross-entropy")
LOST = "no sample has a finite cost"
KNOTS = 8  # where no number is given, but fewer than steps, and with all motors at most
COORDINATES = 96  # of a sample, for which some thousand samples suffice
LEARNED = 0.8  # share of the new spread; 0.5 needs a third more iterations for Panda, 1 is unsteady
HALVINGS = 40  # of the logarithm of the interval of the temperature, which begins with 60 decades
WEIGHED = 2048  # samples that decide the temperature


@dataclass(frozen=True, eq=False)
class Search:
    """How to sample; `Problem.sample` describes the fields."""

    method: str
    samples: int
    iterations: int
    share: float
    knots: int | None
    seed: int

    def __post_init__(self) -> None:
        samples, _ = (count(getattr(self, key), key) for key in ("samples", "iterations"))
        for name, sound, expected in (
            ("method", self.method in METHODS, " or ".join(map(repr, METHODS))),
            ("samples", samples >= 2, "at least 2"),
            ("share", 0 < finite(self.share, "share") < 1, "a number between 0 and 1"),
            ("knots", self.knots is None or count(self.knots, "knots") >= 2, "at least 2"),
            ("seed", count(self.seed, "seed") < 2**64, "a whole number below 2^64"),
        ):
            if not sound:
                raise InputError(f"{name} is {getattr(self, name)!r:.60}; expected {expected}.")


@dataclass(frozen=True, eq=False)
class Machine:
    """Where samples run: arrays of NumPy or CuPy, their types, the code, and Philox by its seed."""

    arrays: Any
    dtype: str
    integer: str
    rollout: Any
    end: Any
    philox: Callable[[int], Any]


class Sampler:
    """The compiled run of a transcription, and the searches with it.

    Parameters of a sample are its knots y and the limits. The table, one for all samples, has the
    hats of the knots, the forces of the guess and the numbers of the stages.
    """

    def __init__(self, ocp: Transcription, knots: int) -> None:
        self.ocp, self.knots = ocp, knots
        self.nx, self.m, self.kinds = (ocp.space.size, len(ocp.actuated), len(ocp.costs))
        self.machines: dict[tuple[str, str], Machine] = {}
        nx, m = self.nx, self.m

        def rate(t: Any, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
            y, low, high = np.split(p, [knots * m, knots * m + m])
            hats, guess, here = np.split(s, [knots, knots + m])
            state, costs = np.split(x, [nx])
            u = clip(guess + hats @ y.reshape(knots, m), low, high)
            costs = costs + ocp.costs_of(state, u, here)
            return np.concatenate([ocp.next_state(state, u, here), costs]), u

        sizes = nx + self.kinds, (knots + 2) * m, knots + m + ocp.layout.size
        self.stepping = stepping(rate, *sizes, [Field("x", 0, nx), Field("y", 0, m)])
        self.end = compiled(
            lambda x, p: np.array(ocp.costs_of(x, None, p)), ocp.ports[::2], "end of a sample"
        )

    def table(self, u: Array, p: Array) -> Array:
        """The table, (N, width), for forces of the guess u, (N, m), and numbers p, (N + 1, p)."""
        at = np.arange(len(u))[:, None] * ((self.knots - 1) / max(len(u) - 1, 1))
        hats = np.maximum(0, 1 - np.abs(at - np.arange(self.knots)))
        return np.concatenate([hats, u, p[:-1]], axis=1)

    def machine(self, target: str, dtype: str = "float64") -> Machine:
        """The CPU or the current GPU, made at the first request."""
        if (target, dtype) not in self.machines:
            self.machines[target, dtype] = self._machine(target, dtype)
        return self.machines[target, dtype]

    def _machine(self, target: str, dtype: str) -> Machine:
        if target == "cpu":
            rollout = Rollout(self.stepping)
            return Machine(np, dtype, "int64", rollout, self.end, np.random.Philox)
        from kinetree.engine.cuda.kernel import CudaKernel
        from kinetree.engine.cuda.launch import require_device
        from kinetree.engine.cuda.rollout import CudaRollout

        xp, rollout = require_device(), CudaRollout(self.stepping)
        end = CudaKernel(self.end.graph, "end")
        return Machine(xp, dtype, "int32", rollout, end, xp.random.Philox4x3210)

    def run(
        self, on: Machine, x0: Array, table: Array, y: Any, last: Array, bounds: Bounds
    ) -> tuple[Any, LoopCall]:
        """Costs (S, kinds) of samples with the knots y, (S, knots * m), from x0, (nx,).

        One sample is recorded: states (N, 1, nx), forces (N, 1, m). last: p of the last state.
        """
        S, N, xp, m = len(y), len(table), on.arrays, self.m
        given = x0, table, last, np.concatenate([bounds.low, bounds.high])
        start, table, last, limits = (xp.asarray(x, on.dtype) for x in given)
        state = xp.zeros((S, self.nx + self.kinds), on.dtype)
        params = xp.empty((S, (self.knots + 2) * m), on.dtype)
        state[:, : self.nx], params[:, : -2 * m], params[:, -2 * m :] = start, y, limits
        R, rows = (N, np.arange(N)) if S == 1 else (0, np.full(N, NEVER))
        call = LoopCall(
            state=state,
            params=params,
            table=table[:, None, None],
            times=xp.zeros((N, 1), on.dtype),
            h=xp.ones(N, on.dtype),
            rows=xp.asarray(rows, on.integer),
            steps=N,
            records=[xp.empty((R, S, size), on.dtype) for size in (self.nx, m)],
            first=xp.full(state.shape, NEVER, on.integer),
            amount=xp.zeros(state.shape, on.dtype),
        )
        on.rollout.run(call)
        end = xp.ascontiguousarray(state[:, : self.nx])
        return state[:, self.nx :] + on.end(end, last), call

    def search(
        self,
        on: Machine,
        search: Search,
        x0: Array,
        u: Array,
        T: Array,
        p: Array,
        bounds: Bounds,
        each: Callable[[], None],
    ) -> Plans:
        """The cheapest plan from x0, (nx,): that of u, (N, m), or of an iteration.

        T: (m, m), the forces at a knot for numbers z of 1.
        """
        xp, size, rng = on.arrays, self.knots * self.m, on.arrays.random.Generator
        table, mean, L = self.table(u, p), np.zeros(size), np.kron(np.eye(self.knots), T)
        best, history = self.plan(x0, table, mean, p, bounds), list[dict[str, Array]]()
        draw = rng(on.philox(search.seed)).standard_normal
        for number in range(search.iterations):
            z = draw((search.samples, size))
            z[0] = 0  # the plan itself is among the samples
            y = xp.asarray(mean) + z @ xp.asarray(L.T)
            costs = self.run(on, x0, table, y, p[-1], bounds)[0].sum(1)
            costs = xp.where(xp.isfinite(costs), costs, np.inf)
            least = float(costs.min())
            if np.isfinite(least):
                w = weights_of(xp, costs, search)
                step, spread = on_cpu(w @ z), on_cpu(z.T @ (z * w[:, None]))
                mean = mean + L @ step
                L = L @ np.linalg.cholesky((1 - LEARNED) * np.eye(size) + LEARNED * spread)
            plan = self.plan(x0, table, mean, p, bounds)
            if plan.cost < best.cost or not np.isfinite(best.cost):
                best = plan
            row = {"iteration": [number + 1], "cost": plan.cost, "least": [least]}
            row["costs"] = plan.costs
            history.append({key: np.array(x) for key, x in row.items()})
            each()
        reason = ITERATIONS if np.isfinite(best.cost) else LOST
        return replace(best, reasons=[reason], history=history)

    def plan(self, x0: Array, table: Array, y: Array, p: Array, bounds: Bounds) -> Plans:
        """The motion from x0, (nx,), with the knots y, (knots * m,); it has no feedback."""
        costs, call = self.run(self.machine("cpu"), x0, table, y[None], p[-1], bounds)
        x, u = call.records
        x = np.concatenate([x, call.state[None, :, : self.nx]])
        gaps, K = (np.zeros((*x, self.ocp.space.rates)) for x in (u.shape[:2], u.shape))
        return Plans(x, u, costs, gaps, K, np.zeros(u.shape), np.zeros(1), [ITERATIONS])


def weights_of(xp: Any, costs: Any, search: Search) -> Any:
    """Weights of samples, whose sum is 1; inf costs weigh nothing."""
    if search.method == METHODS[0]:
        T = temperature(on_cpu(costs[xp.isfinite(costs)][:WEIGHED]).astype(float), search.share)
        w = xp.exp((costs.min() - costs) / T)
    else:
        w, count = xp.zeros(len(costs)), int(search.share * int(xp.isfinite(costs).sum()))
        w[xp.argsort(costs, kind="stable")[: max(1, count)]] = 1.0
    return w / w.sum()


def temperature(costs: Array, share: float) -> float:
    """The temperature at which a share of the samples counts, (sum w)^2 / sum w^2 of them."""
    counting, over = max(1.0, share * len(costs)), costs - costs.min()
    low, middle, high = 1e-30, 1.0, 1e30  # samples that explode cost 1e100
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        w = np.exp(-over / middle)
        few = w.sum() ** 2 < counting * (w @ w)
        low, high = (middle, high) if few else (low, middle)
    return middle


def together(plans: Sequence[Plans]) -> Plans:
    """Plans of one problem each as those of many."""
    arrays = {
        key: np.concatenate([getattr(one, key) for one in plans], axis=axis)
        for axis, keys in ((0, ("costs", "mu")), (1, ("x", "u", "gaps", "K", "k")))
        for key in keys
    }
    rows = zip(*(one.history for one in plans), strict=True)
    history = [{key: np.concatenate([x[key] for x in row]) for key in row[0]} for row in rows]
    return Plans(**arrays, reasons=[one.reasons[0] for one in plans], history=history)


def sampler(ocp: Transcription, steps: int, knots: int | None = None) -> Sampler:
    """The compiled run, shared by transcriptions of the same form."""
    if knots is None:
        knots = max(2, min(KNOTS, COORDINATES // len(ocp.actuated), steps))
    key = "sampling", ocp.key, knots
    return remembered(ocp.model, key, lambda: Sampler(ocp, knots))
