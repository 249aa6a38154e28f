"""Plans by sampling: MPPI and the cross-entropy method, all samples in one run of machine code.

Forces are a filter of numbers v, one for each step and motor,

    y_t = a y_{t-1} + v_t,    u_t = clip(y_t),    a = exp(-dt / smooth)

so that normal numbers v make a smooth noise of the forces. An iteration draws samples of v around
the plan and runs them all; the state of a run carries y and the costs. The plan moves to a mean of
v: that of all samples weighted by exp(-cost / temperature) (MPPI), or that of the samples of least
cost, whose spread the next samples have (cross-entropy). Its forces are clipped again.

Random numbers depend on seed, iteration, sample and place alone (Philox 4x64-10; Box and Muller by
a kernel). Sums are taken in the order of the samples. The same seed gives the same bits on every
machine, with any number of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np

from kinetree.base.arrays import Array, ArrayLike
from kinetree.base.options import count, finite, numbers
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.stepping import NEVER, Field
from kinetree.engine.compiler.stepping import Run as LoopCall
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.memo import remembered
from kinetree.errors import InputError, ShapeError
from kinetree.optimal.forward import Bounds, clipped, loop
from kinetree.optimal.ilqr import ITERATIONS, Plans
from kinetree.optimal.residuals import key_of, target_of
from kinetree.optimal.stages import Transcription
from kinetree.scalars import cos, exp, log, sin, sqrt

METHODS = ("mppi", "cross-entropy")
LOST = "no sample has a finite cost"
BLOCK = 4  # words of 64 bits that Philox makes at once, each for two normal numbers
DRAWN = 1024  # samples that are drawn at once, which a cache holds
SMALLEST_WEIGHT = 1e-9  # of the largest; samples of less do not count
ELITES = 20  # one of so many samples, where no number is given


@dataclass(frozen=True, eq=False)
class Search:
    """How to sample; `Problem.sample` describes the fields."""

    method: str
    samples: int
    iterations: int
    temperature: float
    elites: int | None
    smooth: float
    seed: int

    def __post_init__(self) -> None:
        samples, _ = (count(getattr(self, key), key) for key in ("samples", "iterations"))
        for name, sound, expected in (
            ("method", self.method in METHODS, " or ".join(map(repr, METHODS))),
            ("samples", samples >= 2, "at least 2"),
            ("temperature", finite(self.temperature, "temperature") > 0, "a number > 0"),
            ("elites", self.elites is None or 2 <= count(self.elites, "elites") <= samples,
             f"2 to {samples}, the number of samples"),
            ("smooth", finite(self.smooth, "smooth") >= 0, "a time constant >= 0, in s"),
            ("seed", count(self.seed, "seed") < 2**64, "a whole number below 2^64"),
        ):  # fmt: skip
            if not sound:
                raise InputError(f"{name} is {getattr(self, name)!r:.60}; expected {expected}.")


def checked(value: ArrayLike, name: str, *shapes: tuple[int, ...]) -> Array:
    """Numbers of the motors' forces that are finite, of one of these shapes."""
    x = numbers(value, name, "numbers in N m or N")
    if x.shape not in shapes:
        raise ShapeError(f"{name} has shape {x.shape}; expected {' or '.join(map(str, shapes))}.")
    if not np.isfinite(x).all():
        raise InputError(f"{name} has a force that is not finite.")
    return x


def compiled(function: Callable[..., Any], ports: Sequence[Port], name: str) -> Kernel:
    """The kernel of a function of traced scalars with one result."""
    return Kernel(optimise(trace(function, ports, [("y", ())])), name, dtypes=("float64",))


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

    Numbers of the stages that are the same in all steps are parameters, one row for all samples.
    The table has v and, beside it, targets that are paths.
    """

    def __init__(self, this: Transcription) -> None:
        self.this, layout = this, this.layout
        self.nx, self.m, self.kinds = this.space.size, len(this.actuated), len(this.costs)
        paths = [name for name, x in this.costs.items() if target_of(x, this.model).ndim == 2]
        places = range(layout.size)
        self.varying = [k for name in paths for k in places[layout.targets[name]]]
        self.constant = [k for k in places[1:] if k not in self.varying]
        nx, m, ends = self.nx, self.m, np.cumsum([1, self.m, self.m])

        def rate(t: Any, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
            (a,), low, high, constant = np.split(p, ends)
            here = np.empty(layout.size, object)
            here[0], here[self.constant], here[self.varying] = t, constant, s[m:]
            state, costs, y = np.split(x, [nx, nx + self.kinds])
            y = a * y + s[:m]
            u = np.array([clipped(*each) for each in zip(y, low, high, strict=True)])
            costs = costs + this.costs_of(state, u, here)
            return np.concatenate([this.next_state(state, u), costs, y]), u

        sizes = nx + self.kinds + m, int(ends[-1]) + len(self.constant), m + len(self.varying)
        self.loop = loop(rate, *sizes, [Field("x", 0, nx), Field("y", 0, m)])
        self.end = compiled(
            lambda x, p: np.array(this.costs_of(x, None, p)), this.ports[::2], "end of a sample"
        )

    def table(self, samples: int, p: Array) -> Array:
        """A table (S, N, m + path) for numbers of the stages p, (N + 1, p); v is yet to be set."""
        table = np.empty((samples, len(p) - 1, self.m + len(self.varying)))
        table[..., self.m :] = p[:-1, self.varying]
        return table

    def run(
        self, x0: Array, table: Array, p: Array, bounds: Bounds, a: float, recorded: bool = False
    ) -> tuple[Array, Array, Array]:
        """Costs (S, kinds) from x0, (nx,); if recorded states (N + 1, S, nx), forces (N, S, m)."""
        S, N, _ = table.shape
        state = np.zeros((S, self.nx + self.kinds + self.m))
        state[:, : self.nx] = x0
        params = np.concatenate([[a], bounds.low, bounds.high, p[0, self.constant]])
        R, watched = N if recorded else 0, state.shape
        states, forces = np.empty((R + 1, S, self.nx)), np.empty((R, S, self.m))
        self.loop.run(
            LoopCall(
                state=state, params=params[None], table=table.swapaxes(0, 1)[:, None],
                times=np.ascontiguousarray(p[:-1, :1]), h=np.ones(N),
                rows=np.arange(N) if recorded else np.full(N, NEVER), steps=N,
                records=[states[:-1], forces], first=np.full(watched, NEVER),
                amount=np.zeros(watched),
            )
        )  # fmt: skip
        states[-1] = state[:, : self.nx]
        costs = state[:, self.nx : self.nx + self.kinds] + self.end(states[-1], p[-1])
        return costs, states, forces

    def search(
        self, x0: Array, u: Array, noise: Array, p: Array, bounds: Bounds, search: Search,
        each: Callable[[], None],
    ) -> Plans:  # fmt: skip
        """The cheapest plan from x0, (nx,): that of u, (N, m), or of an iteration. noise: (m,)."""
        S = search.samples
        a = float(exponential()(-self.this.h / search.smooth)) if search.smooth else 0.0
        spread = np.tile(noise, (len(u), 1))
        spread[1:] *= np.sqrt(1 - a * a)  # so that y has the same spread at all times
        best, table = self.plan(x0, u, p, bounds), self.table(S, p)
        v, history = table[..., : self.m], list[dict[str, Array]]()
        for number in range(search.iterations):
            for first in range(0, S, DRAWN):
                part = range(first, min(first + DRAWN, S))
                drawn = normals(search.seed, number, part, u.size).reshape(-1, *u.shape)
                drawn[: first == 0] = 0  # the plan itself is among the samples
                drawn *= spread
                np.add(drawn, unfiltered(u, a), out=v[first : part.stop])
            costs = self.run(x0, table, p, bounds, a)[0].sum(1)
            costs[~np.isfinite(costs)] = np.inf
            if np.isfinite(costs).any():
                mean, spread = self._moved(v, costs, spread, search)
                u = np.clip(filtered(mean, a), bounds.low, bounds.high)
            plan = self.plan(x0, u, p, bounds)
            if plan.cost < best.cost or not np.isfinite(best.cost):
                best = plan
            row = {"iteration": [number + 1], "cost": plan.cost, "least": [costs.min()],
                   "costs": plan.costs}  # fmt: skip
            history.append({key: np.array(x) for key, x in row.items()})
            each()
        reason = ITERATIONS if np.isfinite(best.cost) else LOST
        return replace(best, reasons=[reason], history=history)

    def _moved(self, v: Array, costs: Array, spread: Array, search: Search) -> tuple[Array, Array]:
        """Mean and spread of v, (N, m), for the next samples."""
        if search.method != METHODS[0]:
            elites = search.elites or max(2, search.samples // ELITES)
            elites = min(elites, int(np.isfinite(costs).sum()))
            v = v[np.argsort(costs, kind="stable")[:elites]]
            return v.mean(0), v.std(0) if elites > 1 else spread
        least = costs.min()
        scale = search.temperature * (np.median(costs[np.isfinite(costs)]) - least)
        weights = exponential()((least - costs) / (scale or 1.0))  # 0: most cost the same
        weights, v = (x[weights > SMALLEST_WEIGHT] for x in (weights, v))
        return (weights[:, None, None] * v).sum(0) / np.add.accumulate(weights)[-1], spread

    def plan(self, x0: Array, u: Array, p: Array, bounds: Bounds) -> Plans:
        """The motion from x0, (nx,), under the forces u, (N, m); it has no feedback."""
        table = self.table(1, p)
        table[..., : self.m] = u
        costs, x, u = self.run(x0, table, p, bounds, 0.0, recorded=True)
        gaps, K = (np.zeros((*x, self.this.space.rates)) for x in (u.shape[:2], u.shape))
        return Plans(x, u, costs, gaps, K, np.zeros(u.shape), np.zeros(1), [ITERATIONS])


def filtered(v: Array, a: float) -> Array:
    """y of v, (N, m)."""
    return np.array(list(accumulate(v, lambda y, x: a * y + x)))


def unfiltered(y: Array, a: float) -> Array:
    """v of y, (N, m)."""
    return np.concatenate([y[:1], y[1:] - a * y[:-1]])


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


def sampler(this: Transcription) -> Sampler:
    """The compiled run, shared by transcriptions that differ in numbers alone."""
    targets = tuple(target_of(cost, this.model).ndim for cost in this.costs.values())
    kinds = tuple((name, *key_of(cost)) for name, cost in this.costs.items())
    key = "sampling", this.h, this.actuated, this.method, kinds, targets
    return remembered(this.model, key, lambda: Sampler(this))
