"""Flight: many rollouts under way with the adaptive method, each with its own time and step.

Every accepted step fills the results that lie in it, from its polynomial. A step that passes the
end of a mode of dry friction, or a terminal event, is cut there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.simulate.dop853 import Dense, Slope, Step, dense, error, factor, first_length, take
from kinetree.simulate.events import Event, Occurrence, crosses, locate

Seen = Callable[[Array, Step, Array, Array, Array, Array], None]
SHORTEST = 16 * np.finfo(float).eps  # of the time reached: a step that cannot be seen any more


@dataclass(eq=False)
class Flight:
    """The state of all rollouts: t, h (B,), x, k (B, x), and what they have left behind.

    slope(rows) is the rate of some of them; normal brings states back to their space; cut(row,
    step, polynomial) says at which share of the step it must end, and to which state (None: it need
    not). modes(row) is what is kept beside each result. seen(rows, step, good, due, cut,
    modes) is told of every step: which rows of it are accepted, how many results are then due, and
    which rows are cut.
    """

    slope: Callable[[Array], Slope]
    normal: Callable[[Array], Array]
    cut: Callable[[int, int, Step, Dense], tuple[float, Array] | None]
    guarded: Callable[[Array, Step], Array]
    modes: Callable[[Array], Array]
    outputs: Array
    breaks: Array
    rtol: float
    atol: float
    split: Callable[[Array], Any]
    events: list[Event] = field(default_factory=list)
    seen: Seen | None = None
    found: list[tuple[int, Occurrence]] = field(default_factory=list)
    steps: int = 0
    rejected: int = 0

    def begin(self, x: Array, kept: int) -> None:
        """Start at time 0."""
        count, rows = len(x), np.arange(len(x))
        self.t = np.zeros(count)
        self.x = x.copy()
        self.k = self.slope(rows)(self.t, self.x, False)
        with np.errstate(all="ignore"):  # states near the end of numbers' range have no length
            first = first_length(self.slope(rows), self.t, x, self.k, self.rtol, self.atol)
        self.h = np.where(np.isfinite(first) & (first > 0), first, 1e-6)
        self.after = np.zeros(count, bool)  # whether the last step was rejected
        self.alive = np.ones(count, bool)
        self.done = np.ones(count, int)  # results that are written
        self.result = np.full((len(self.outputs), count, x.shape[-1]), np.nan)
        self.result[0] = x
        self.kept = np.zeros((len(self.outputs), count, kept))
        self.kept[0] = self.modes(rows)
        self.values = np.array([self.measure(0.0, state) for state in self.x])
        self.ended = np.full(count, np.inf)

    def advance(self) -> None:
        """One step of every rollout that is under way."""
        rows = np.flatnonzero(self.alive)
        t, limit = self.t[rows], self.limit(rows)
        h = np.minimum(self.h[rows], limit - t)
        h = np.where(t + 1.01 * h >= limit, limit - t, h)  # no crumbs
        slope = self.slope(rows)
        with np.errstate(all="ignore"):  # a step that runs away is rejected
            step = take(slope, t, h, self.x[rows], self.k[rows])
            wrong = error(step, self.rtol, self.atol)
        wrong = np.where(np.isfinite(wrong) & np.isfinite(step.end).all(-1), wrong, np.inf)
        good = wrong <= 1
        grown = np.minimum(factor(wrong), np.where(self.after[rows], 1.0, np.inf))
        self.h[rows] = h * grown
        self.after[rows] = ~good
        self.steps, self.rejected = self.steps + int(good.sum()), self.rejected + int((~good).sum())
        lost = ~good & (h * grown < SHORTEST * np.maximum(t, 1e-3))
        self.alive[rows[lost]] = False
        if good.any():
            self.accept(rows, step, good, slope, limit)

    def accept(self, rows: Array, step: Step, good: Array, slope: Slope, limit: Array) -> None:
        """Write results, look for events, go on."""
        ends = np.where(step.h == limit - step.t, limit, step.t + step.h)
        due = np.searchsorted(self.outputs, ends * (1 + 1e-15), "right")
        cut = self.guarded(rows, step) & good
        crossed = self.crossed(rows, step, good)
        if self.seen is not None:
            self.seen(rows, step, good, due, cut, self.modes(rows))
        polynomial = None
        if (good & (due > self.done[rows])).any() or cut.any() or any(crossed):
            polynomial = dense(slope, step)
        states = self.normal(step.end)
        again = np.zeros(len(rows), bool)  # the rate jumps here and is computed anew
        again[good] = ends[good] == limit[good]
        for i in np.flatnonzero(cut):
            assert polynomial is not None
            place = self.cut(int(rows[i]), int(i), step, polynomial)
            if place is not None:
                share, states[i] = place
                ends[i] = step.t[i] + share * step.h[i]
                due[i] = np.searchsorted(self.outputs, ends[i], "right")
                again[i] = True
        if any(crossed):
            assert polynomial is not None
            self.note(rows, step, polynomial, crossed, ends)
        if polynomial is not None:
            self.write(rows, step, polynomial, np.where(good, due, self.done[rows]))
        went = rows[good]
        self.t[went], self.x[went] = ends[good], states[good]
        self.k[went] = step.rates[12][good]
        moved = np.flatnonzero(again | (good & (states != step.end).any(-1)))
        if len(moved):
            own = rows[moved]
            self.k[own] = self.slope(own)(self.t[own], self.x[own], False)
        over = (self.t >= self.outputs[-1]) | (self.t >= self.ended)
        self.alive &= ~over

    def write(self, rows: Array, step: Step, polynomial: Dense, due: Array) -> None:
        """The results between what was written and `due`."""
        counts = due - self.done[rows]
        which = np.repeat(np.arange(len(rows)), counts)
        if not len(which):
            return
        start = np.repeat(np.cumsum(counts) - counts, counts)
        index = self.done[rows][which] + np.arange(len(which)) - start
        share = np.clip((self.outputs[index] - step.t[which]) / step.h[which], 0, 1)
        self.result[index, rows[which]] = self.normal(polynomial.at(which, share))
        self.kept[index, rows[which]] = self.modes(rows[which])
        self.done[rows] = due

    def limit(self, rows: Array) -> Array:
        """The next time at which something jumps."""
        t = self.t[rows]
        return self.breaks[np.searchsorted(self.breaks, t * (1 + 1e-15), "right")]

    def measure(self, t: float, x: Array) -> list[float]:
        """The functions of all events."""
        q, dq, _ = self.split(x)
        return [float(event.function(t, q, dq)) for event in self.events]

    def crossed(self, rows: Array, step: Step, good: Array) -> list[tuple[int, int]]:
        """(row of the step, event) of every zero within an accepted step."""
        found = []
        for i in np.flatnonzero(good) if self.events else ():
            values = self.measure(float(step.t[i] + step.h[i]), self.normal(step.end[i]))
            for j, event in enumerate(self.events):
                if crosses(event, self.values[rows[i], j], values[j]):
                    found.append((int(i), j))
            self.values[rows[i]] = values
        return found

    def note(
        self,
        rows: Array,
        step: Step,
        polynomial: Dense,
        crossed: list[tuple[int, int]],
        ends: Array,
    ) -> None:
        """Find the zeros and remember them; a terminal one ends its rollout."""
        for i, j in crossed:
            event = self.events[j]

            def state(share: float, i: int = i) -> Array:
                return self.normal(polynomial.at(np.array([i]), np.array([share])))[0]

            def value(share: float, i: int = i, event: Event = event) -> float:
                q, dq, _ = self.split(state(share, i))
                return float(event.function(float(step.t[i] + share * step.h[i]), q, dq))

            share = locate(value, 0.0, 1.0)
            t = float(step.t[i] + share * step.h[i])
            if t > ends[i]:
                continue  # beyond the end of a mode: it is looked for again
            q, dq, _ = self.split(state(share))
            self.found.append((int(rows[i]), Occurrence(event.name, t, q, dq)))
            if event.terminal:
                self.ended[rows[i]] = min(self.ended[rows[i]], t)
