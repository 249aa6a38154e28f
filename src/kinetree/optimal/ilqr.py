"""iLQR: plans improved by Newton's method with the Hessian of Gauss, one problem or many at once.

An iteration linearises all stages of all problems as one batch, finds the best change of the forces
backward in time, and tries lengths of it forward in time: eight at once for one problem, one in
each lane of a vector; one after the other for many, of which each has a lane. Gaps of a plan that
is not yet a motion close by the length that is taken. The merit of a plan is its cost and nu times
the sum of its gaps, where nu exceeds every multiplier of a gap.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from kinetree.base.arrays import Array
from kinetree.engine.kernel import Kernel
from kinetree.optimal.forward import Bounds, Forward
from kinetree.optimal.riccati import Riccati
from kinetree.optimal.stages import Pattern, Transcription, end_slopes, stage_slopes

LENGTHS = 0.5 ** np.arange(8.0)
FIRST_MU = 1e-4  # regularisation, of the largest curvature of the costs by a force
MOST_MU = 1e10  # of it, where the solver gives up
MULTIPLIER = 1.5  # nu, of the largest multiplier

CONVERGED = "converged"
ITERATIONS = "iterations"
TIME = "time"
STUCK = "no better step"
BAD_START = "the cost of the start is not a finite number"


@dataclass(eq=False)
class Plans:
    """B plans: states (N + 1, B, nx), forces (N, B, m), and what the last iteration knew of them.

    costs: (B, kinds). gaps: (N, B, 2n), what each stage misses the next state by. K, k: feedback
    and last change of the forces. mu: regularisation. reasons: why each ended.
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

    @property
    def cost(self) -> Array:
        """The whole cost of each plan, (B,)."""
        return self.costs.sum(1)

    def take(self, which: Array, **arrays: Array) -> None:
        """Replace arrays (N, B, ...) of some plans."""
        for name, x in arrays.items():
            if which.all():
                setattr(self, name, x)
            else:
                getattr(self, name)[:, which] = x[:, which]

    def one(self, k: int) -> "Plans":
        """The plan of one problem."""
        b, history = slice(k, k + 1), list[dict[str, Array]]()
        for row in self.history:
            history.append({key: x[b] if np.ndim(x) else x for key, x in row.items()})
        arrays = {key: getattr(self, key)[:, b] for key in ("x", "u", "gaps", "K", "k")}
        return replace(
            self, **arrays, costs=self.costs[b], mu=self.mu[b], reasons=self.reasons[b],
            history=history,
        )  # fmt: skip

    def moved_to(self, x: Array, u: Array) -> "Plans":
        """The same with other states and forces, to begin with."""
        return replace(self, x=x, u=u, history=[])


class Solver:
    """The compiled passes of a transcription."""

    def __init__(self, this: Transcription, limited: bool) -> None:
        self.this = this
        self.slopes, self.end = stage_slopes(this), end_slopes(this)
        self.stage = self.slopes.kernel()
        self.last = Kernel(self.end.graph, "end of a plan", dtypes=("float64",))
        self.backward = Riccati(self.slopes, this.space.rates, len(this.actuated), limited)
        self.forward = Forward(this, limited)

    def rollout(self, x0: Array, u: Array, p: Array, bounds: Bounds) -> Array:
        """States (N + 1, B, nx) of the motions from x0, (B, nx), under the forces u, (N, B, m)."""
        (N, B, m), n = u.shape, self.this.space.rates
        x = np.broadcast_to(x0, (N + 1, *x0.shape))
        still = np.zeros((N, B, m, n)), np.zeros((N, B, m))
        gaps = np.zeros((N, B, n))
        return self.forward.run(np.ones(B), x, u, still, gaps, p[:-1], bounds)[0]

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
        mu: Array | None = None,
        each: Callable[[Plans], None] | None = None,
    ) -> Plans:
        """Improve plans.

        Args:
            x: states, (N + 1, B, nx); the first row is the start.
            u: forces, (N, B, m).
            p: numbers of the stages, (N + 1, B, p).
            bounds: of the forces.
            iterations: at most so many.
            tolerance: of the decrease of the cost that is still expected, relative to 1 + cost, and
                of the sum of the gaps.
            seconds: at most so long.
            mu: regularisation to begin with, (B,).
            each: called after each iteration.
        """
        begun, (N, B, m), n = perf_counter(), u.shape, self.this.space.rates
        u = np.clip(u, bounds.low, bounds.high)
        slopes, costs = self.stage(x[:-1], u, p[:-1], x[1:])
        start = costs.sum(0) + self.last(x[-1], p[-1])[1]
        plans = Plans(
            x, u, start, filled(self.slopes.gap, slopes), np.zeros((N, B, m, n)),
            np.zeros((N, B, m)), np.zeros(B) if mu is None else mu.copy(), [ITERATIONS] * B,
        )  # fmt: skip
        scale = self._curvature(slopes)
        active = np.isfinite(plans.cost)
        for b in np.flatnonzero(~active):
            plans.reasons[b] = BAD_START
        for number in range(iterations):
            if not active.any():
                break
            if perf_counter() - begun > seconds:
                plans.reasons = [TIME if active[b] else plans.reasons[b] for b in range(B)]
                break
            moved = self._iterate(plans, slopes, p, bounds, active, scale, tolerance, number)
            if moved:
                slopes, _ = self.stage(plans.x[:-1], plans.u, p[:-1], plans.x[1:])
                plans.gaps = filled(self.slopes.gap, slopes)
            if each is not None:
                each(plans)
        return plans

    def _iterate(
        self, plans: Plans, slopes: Array, p: Array, bounds: Bounds, active: Array, scale: Array,
        tolerance: float, number: int,
    ) -> bool:  # fmt: skip
        """One iteration of the plans that are active; True if one of them has moved."""
        values, _ = self.last(plans.x[-1], p[-1])
        end = filled(self.end.hessian, values), filled(self.end.gradient, values)
        low, high = (np.broadcast_to(x, plans.u.shape[1:]) for x in (bounds.low, bounds.high))
        K, k, sums, v0 = self.backward.run(*end, slopes, plans.u, low, high, plans.mu)
        expected, total = -(sums[:, 0] + sums[:, 1]), plans.cost
        open_by = np.abs(plans.gaps).sum((0, 2))
        closed, small = open_by <= tolerance, tolerance * (1 + np.abs(total))
        sound = np.isfinite(sums).all(1) & np.isfinite(v0).all(1)
        done = active & sound & closed & (expected <= small)
        self._end(plans, active, done, CONVERGED)
        if done.any():
            plans.take(done, K=K, k=k)
        trying = active & sound
        nu = MULTIPLIER * np.maximum(np.abs(end[1]).max(1), np.abs(v0).max(1)) * (open_by > 0)
        length, x, u, costs = self._search(
            plans, (K, k), p, bounds, trying, total + nu * open_by, nu * open_by
        )
        moved, fails = trying & (length > 0), active & ~(trying & (length > 0))
        plans.take(moved, x=x, u=u, K=K, k=k)
        plans.costs[moved] = costs[moved]
        lower = plans.mu[moved] / 10
        plans.mu[moved] = np.where(lower > FIRST_MU * scale[moved] / 100, lower, 0)
        # rounding hides a decrease that is still expected but tiny
        self._end(plans, active, fails & sound & closed & (expected <= 1e3 * small), CONVERGED)
        fails &= active
        plans.mu[fails] = np.maximum(10 * plans.mu[fails], FIRST_MU * scale[fails])
        self._end(plans, active, fails & (plans.mu > MOST_MU * scale), STUCK)
        if moved.any():
            plans.history.append(
                {
                    "iteration": np.array(number + 1), "cost": plans.cost, "length": length,
                    "expected": expected, "gap": open_by, "mu": plans.mu.copy(),
                    "limit error": sums[:, 2], "costs": plans.costs.copy(),
                }
            )  # fmt: skip
        return bool(moved.any())

    def _search(
        self, plans: Plans, gains: tuple[Array, Array], p: Array, bounds: Bounds, trying: Array,
        merit: Array, penalty: Array,
    ) -> tuple[Array, Array, Array, Array]:  # fmt: skip
        """The length that is taken, 0 where none is better, with its states, forces and costs."""
        B = len(merit)
        length = np.zeros(B)
        if B == 1:
            x, u, costs = self._tried(LENGTHS, plans, gains, p, bounds)
            merits = costs.sum(1) + (1 - LENGTHS) * penalty
            best = int(np.argmin(np.where(np.isfinite(merits), merits, np.inf)))
            if merits[best] < merit[0]:
                length[0] = LENGTHS[best]
            return length, x[:, best : best + 1], u[:, best : best + 1], costs[best : best + 1]
        taken: tuple[Array, Array, Array] | None = None
        for a in LENGTHS:
            open_ones = trying & (length == 0)
            if not open_ones.any():
                break
            x, u, costs = self._tried(np.full(B, a), plans, gains, p, bounds)
            merits = costs.sum(1) + (1 - a) * penalty
            better = open_ones & (merits < merit)
            length[better] = a
            if taken is None:
                taken = x, u, costs
            else:
                taken[0][:, better], taken[1][:, better] = x[:, better], u[:, better]
                taken[2][better] = costs[better]
        if taken is None:
            return length, plans.x, plans.u, plans.costs
        return length, *taken

    def _tried(
        self, lengths: Array, plans: Plans, gains: tuple[Array, Array], p: Array, bounds: Bounds
    ) -> tuple[Array, Array, Array]:
        x, u, costs = self.forward.run(lengths, plans.x, plans.u, gains, plans.gaps, p[:-1], bounds)
        return x, u, costs + self.last(x[-1], p[-1])[1]

    def _curvature(self, slopes: Array) -> Array:
        """The largest curvature of the costs by a force, (B,), to measure regularisation by."""
        n = self.this.space.rates
        H = self.slopes.hessian
        by_force = Pattern(np.diag(H.places)[n:], np.diag(H.numbers)[n:])
        return np.maximum(filled(by_force, slopes).max((0, 2), initial=0), 1e-12)

    @staticmethod
    def _end(plans: Plans, active: Array, which: Array, reason: str) -> None:
        if which.any():
            for b in np.flatnonzero(which):
                plans.reasons[b] = reason
            active &= ~which


def filled(pattern: Pattern, slopes: Array) -> Array:
    """The matrices of a pattern, (..., *shape), from slopes (..., slopes)."""
    if not slopes.shape[-1]:
        return np.broadcast_to(pattern.numbers, (*slopes.shape[:-1], *pattern.numbers.shape))
    return np.where(pattern.places >= 0, slopes[..., pattern.places], pattern.numbers)
