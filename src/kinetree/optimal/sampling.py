"""Plans by sampling: MPPI and the cross-entropy method, all samples in one run of machine code.

A sample adds to the forces of the guess a line through knots, at equal times of the horizon,

    u_t = clip(guess_t + sum of hat_k(t) y_k),    y = mean + L z

with normal numbers z. An iteration runs all samples and weighs them: by exp(-cost / temperature),
of the temperature that lets a share of the samples count (MPPI), or the cheapest share alike
(cross-entropy). With the weights w, which sum to 1, the mean moves by L sum(w z), and the spread
L L^T becomes a mix of itself and L sum(w z z^T) L^T, about the mean before, so that it grows along
the way to better samples and shrinks across. At first L makes accelerations of joints that do not
depend on each other.

Random numbers depend on seed, iteration, sample and place alone (Philox 4x64-10; Box and Muller by
a kernel). Products of matrices take whole numbers below 2^53, which no order of a sum rounds. The
same seed gives the same bits on every machine, with any number of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, times
from kinetree.core.options import count, finite
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.stepping import NEVER, Field
from kinetree.engine.compiler.stepping import Run as LoopCall
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.memo import remembered
from kinetree.engine.rollout import Rollout
from kinetree.errors import InputError
from kinetree.optimal.forward import Bounds, compiled, stepping
from kinetree.optimal.ilqr import ITERATIONS, Plans
from kinetree.optimal.stages import Transcription
from kinetree.scalars import clip, cos, exp, log, sin, sqrt

METHODS = ("mppi", "cross-entropy")
LOST = "no sample has a finite cost"
BLOCK = 4  # words of 64 bits that Philox makes at once, each for two normal numbers
KNOTS = 8  # where no number is given, but fewer than steps, and with all motors at most
COORDINATES = 96  # of a sample, for which some thousand samples suffice
LEARNED = 0.8  # share of the new spread; 0.5 needs a third more iterations for Panda, 1 is unsteady
HALVINGS = 40  # of the logarithm of the interval of the temperature, which begins with 60 decades
ROWS = 16  # samples in one product of matrices, which BLAS then takes to no other threads
Z_GRID, L_GRID, W_GRID = 2.0**16, 2.0**24, 2.0**14  # |z| < 8: products and sums are below 2^53

Drawing = Callable[[Array, Array, int], tuple[float, Array, Array]]


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
        ):  # fmt: skip
            if not sound:
                raise InputError(f"{name} is {getattr(self, name)!r:.60}; expected {expected}.")


@cache
def exponential() -> Kernel:
    """exp with the same bits on every machine, which that of NumPy does not have."""
    return compiled(lambda x: exp(x), [Port("x", ())], "exp")


@cache
def box_muller() -> Kernel:
    """Two normal numbers from two whole ones below 2^32."""

    def pair(i: Array) -> Array:
        r, angle = sqrt(-2 * log((i[0] + 0.5) * 2.0**-32)), i[1] * (2.0**-31 * np.pi)
        return np.array([r * cos(angle), r * sin(angle)])

    return compiled(pair, [Port("i", (2,))], "normal numbers")


def normals(seed: int, iteration: int, samples: range, size: int) -> Array:
    """Independent normal numbers, (samples, size); those of a sample are the same in any range."""
    blocks = -(-size // (2 * BLOCK))
    at = np.array([samples.start * blocks, 0, 0, 0], np.uint64)
    source = np.random.Philox(key=np.array([seed, iteration], np.uint64), counter=at)
    words = source.random_raw(len(samples) * blocks * BLOCK)
    halves = words.astype("<u8", copy=False).view("<u4").astype(float)
    return box_muller()(halves.reshape(-1, 2)).reshape(len(samples), -1)[:, :size]


class Sampler:
    """The compiled run of a transcription, and the searches with it.

    Parameters of a sample are its knots y, the limits and the numbers of the stages that are the
    same in all steps. The table, one for all samples, has the hats of the knots, the forces of the
    guess and the numbers that vary: targets that move.
    """

    def __init__(self, this: Transcription, varying: Sequence[int], knots: int) -> None:
        self.this, layout, self.varying = this, this.layout, list(varying)
        self.nx, self.m, self.kinds = this.space.size, len(this.actuated), len(this.costs)
        self.constant = [k for k in range(1, layout.size) if k not in self.varying]
        self.knots, nx, m = knots, self.nx, self.m
        ends, parts = np.cumsum([knots * m, m, m]), np.cumsum([knots, m])

        def rate(t: Any, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
            (y, low, high, constant), (hats, guess, moving) = np.split(p, ends), np.split(s, parts)
            here = np.empty(layout.size, object)
            here[0], here[self.constant], here[self.varying] = t, constant, moving
            state, costs = np.split(x, [nx])
            u = clip(guess + hats @ y.reshape(knots, m), low, high)
            costs = costs + this.costs_of(state, u, here)
            return np.concatenate([this.next_state(state, u, here), costs]), u

        sizes = nx + self.kinds, int(ends[-1]) + len(self.constant), knots + m + len(self.varying)
        self.stepping = stepping(rate, *sizes, [Field("x", 0, nx), Field("y", 0, m)])
        self.loop = Rollout(self.stepping)
        self.end = compiled(
            lambda x, p: np.array(this.costs_of(x, None, p)), this.ports[::2], "end of a sample"
        )

    def table(self, u: Array, p: Array) -> Array:
        """The table, (N, width), for forces of the guess u, (N, m), and numbers p, (N + 1, p)."""
        at = np.arange(len(u))[:, None] * ((self.knots - 1) / max(len(u) - 1, 1))
        hats = np.maximum(0, 1 - np.abs(at - np.arange(self.knots)))
        return np.concatenate([hats, u, p[:-1, self.varying]], axis=1)

    def params(self, y: Array, p: Array, bounds: Bounds) -> Array:
        """Parameters (S, width) of samples with the knots y, (S, knots * m)."""
        constant = np.concatenate([bounds.low, bounds.high, p[0, self.constant]])
        return np.concatenate([y, np.broadcast_to(constant, (len(y), constant.size))], axis=1)

    def run(
        self, x0: Array, table: Array, params: Array, p: Array, recorded: bool = False
    ) -> tuple[Array, Array, Array]:
        """Costs (S, kinds) from x0, (nx,); if recorded states (N + 1, S, nx), forces (N, S, m)."""
        S, N = len(params), len(table)
        state = np.zeros((S, self.nx + self.kinds))
        state[:, : self.nx] = x0
        R, watched = N if recorded else 0, state.shape
        states, forces = np.empty((R + 1, S, self.nx)), np.empty((R, S, self.m))
        self.loop.run(
            LoopCall(
                state=state, params=params, table=table[:, None, None],
                times=np.ascontiguousarray(p[:-1, :1]), h=np.ones(N),
                rows=np.arange(N) if recorded else np.full(N, NEVER), steps=N,
                records=[states[:-1], forces], first=np.full(watched, NEVER),
                amount=np.zeros(watched),
            )
        )  # fmt: skip
        states[-1] = state[:, : self.nx]
        costs = state[:, self.nx :] + self.end(states[-1], p[-1])
        return costs, states, forces

    def search(
        self, x0: Array, u: Array, T: Array, p: Array, bounds: Bounds, search: Search,
        each: Callable[[], None], draw: Any = None,
    ) -> Plans:  # fmt: skip
        """The cheapest plan from x0, (nx,): that of u, (N, m), or of an iteration.

        T: (m, m), the forces at a knot for numbers z of 1. draw: in place of `Sampler.draw`.
        """
        size = self.knots * self.m
        table, mean, L = self.table(u, p), np.zeros(size), np.kron(np.eye(self.knots), T)
        weighed = (draw or self.draw)(x0, table, p, bounds, search)
        best, history = self.plan(x0, table, mean, p, bounds), list[dict[str, Array]]()
        for number in range(search.iterations):
            least, step, spread = weighed(mean, L, number)
            if np.isfinite(least):
                mean = mean + (L.T * step[:, None]).sum(0)
                L = times(L, cholesky((1 - LEARNED) * np.eye(size) + LEARNED * spread))
            plan = self.plan(x0, table, mean, p, bounds)
            if plan.cost < best.cost or not np.isfinite(best.cost):
                best = plan
            row = {
                "iteration": [number + 1], "cost": plan.cost, "least": [least],
                "costs": plan.costs,
            }  # fmt: skip
            history.append({key: np.array(x) for key, x in row.items()})
            each()
        reason = ITERATIONS if np.isfinite(best.cost) else LOST
        return replace(best, reasons=[reason], history=history)

    def draw(self, x0: Array, table: Array, p: Array, bounds: Bounds, search: Search) -> Drawing:
        """A function of mean, L and the number of an iteration, which runs and weighs its samples.

        It returns their least cost, sum(w z) and sum(w z z^T).
        """
        S, size = search.samples, self.knots * self.m
        params = self.params(np.zeros((S, size)), p, bounds)
        z = np.zeros((-(-S // ROWS) * ROWS, size))
        blocks = z.reshape(-1, ROWS, size)

        def weighed(mean: Array, L: Array, number: int) -> tuple[float, Array, Array]:
            z[:S] = np.rint(normals(search.seed, number, range(S), size) * Z_GRID)
            z[0] = 0  # the plan itself is among the samples
            unit = np.abs(L).max() / L_GRID
            moved = (blocks @ np.rint(L / unit).T).reshape(z.shape)[:S]
            np.multiply(moved, unit / Z_GRID, out=params[:, :size])
            params[:, :size] += mean
            costs = self.run(x0, table, params, p)[0].sum(1)
            sound, w = np.isfinite(costs), np.zeros((len(z), 1))
            if sound.any():
                w[:S][sound, 0] = weights_of(costs[sound], search)
            weighted = (z * w).reshape(blocks.shape)
            spread = (blocks.swapaxes(1, 2) @ weighted).sum(0) / (W_GRID * Z_GRID**2)
            step = weighted.sum((0, 1)) / (W_GRID * Z_GRID)
            return costs[sound].min(initial=np.inf), step, spread

        return weighed

    def plan(self, x0: Array, table: Array, y: Array, p: Array, bounds: Bounds) -> Plans:
        """The motion from x0, (nx,), with the knots y, (knots * m,); it has no feedback."""
        costs, x, u = self.run(x0, table, self.params(y[None], p, bounds), p, recorded=True)
        gaps, K = (np.zeros((*x, self.this.space.rates)) for x in (u.shape[:2], u.shape))
        return Plans(x, u, costs, gaps, K, np.zeros(u.shape), np.zeros(1), [ITERATIONS])


def weights_of(costs: Array, search: Search) -> Array:
    """Weights of samples as whole numbers, whose sum is about W_GRID."""
    counting, w = max(1.0, search.share * len(costs)), np.zeros(len(costs))
    if search.method != METHODS[0]:
        w[np.argsort(costs, kind="stable")[: int(counting)]] = 1.0
    else:
        over = costs - costs.min()
        interval = np.array([1e-30, 1e30])  # of the temperature; samples that explode cost 1e100
        for _ in range(HALVINGS):
            middle = np.sqrt(interval[0] * interval[1])
            w = exponential()(-over / middle)
            few = np.add.accumulate(w)[-1] ** 2 < counting * np.add.accumulate(w * w)[-1]
            interval[0 if few else 1] = middle
    return np.rint(w * (W_GRID / np.add.accumulate(w)[-1]))


def cholesky(A: Array) -> Array:
    """R with R R^T = A, lower, in an order of operations that is the same on every machine."""
    A, R = A.copy(), np.zeros(A.shape)
    for j in range(len(A)):
        R[j:, j] = A[j:, j] / np.sqrt(A[j, j])
        A[j:, j:] -= R[j:, j, None] * R[j:, j]
    return R


def inverse(A: Array) -> Array:
    """The inverse of a positive matrix, in an order of operations that is the same everywhere."""
    X = np.concatenate([A, np.eye(len(A))], axis=1)
    for j in range(len(A)):
        X[j] /= X[j, j]
        others = np.arange(len(A)) != j
        X[others] -= X[others, j, None] * X[j]
    return X[:, len(A) :]


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


def sampler(this: Transcription, p: Array, knots: int | None = None) -> Sampler:
    """The compiled run, shared by transcriptions and numbers p, (N + 1, B, p), of the same form."""
    varying = tuple((1 + np.flatnonzero((p[:-1] != p[0]).any((0, 1))[1:])).tolist())
    if knots is None:
        knots = max(2, min(KNOTS, COORDINATES // len(this.actuated), len(p) - 1))
    key = "sampling", this.key, varying, knots
    return remembered(this.model, key, lambda: Sampler(this, varying, knots))
