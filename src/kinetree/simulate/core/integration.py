"""Integration: many rollouts under way with the adaptive method, each with its own time and step.

A step is accepted if its error is small, and if the polynomial through it obeys the equations of
motion at points that the method itself has not looked at. The distance from them is the defect of
the step; because of it nothing that happens between the stages can be passed over. Results are
values of that polynomial; the forces recorded with them are those that were compared with it.

States of a robot with constraints are projected onto them, at the end of steps and in results.

A step ends at a break, where an input may jump (switches.py); where a mode of dry friction ends
(friction/modes.py); and at a terminal event (events.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.kernel import Kernel, has_llvm
from kinetree.simulate.core.closure import check_closed
from kinetree.simulate.core.compiled_steps import ATTEMPTS, CompiledSteps, Memory
from kinetree.simulate.core.dop853 import (
    DOP853,
    RungeKuttaStep,
    first_length,
    root,
    stiffness,
    total,
)
from kinetree.simulate.core.events import (
    Event,
    Occurrence,
    close,
    crossings,
    measure,
    samples,
)
from kinetree.simulate.core.outcome import result_places
from kinetree.simulate.core.radau import Radau, RadauStep
from kinetree.simulate.core.rollouts import Polynomial, Rollouts
from kinetree.simulate.core.sampling import Sampling
from kinetree.simulate.core.step_frame import BREAK, LOST, OPEN, OVER, PAUSED, RUNNING
from kinetree.simulate.core.switches import Breaks
from kinetree.simulate.tuning import (
    CALM_STEPS,
    CHECKED_SHARES,
    DEFECT,
    DEFECT_AT_RESULTS,
    FADING,
    FINE_STEP,
    HINTED_STEPS,
    MAX_BY_ROW,
    MAX_FINE_STEPS,
    PACE_WINDOW,
    SHORTEST_STEP,
    SLIDE_REJECTED,
    SLIDE_SPREAD,
    SLIDE_TRIES,
    STIFF,
    STIFF_PHASE,
    STIFF_STEPS,
    TRIED_STEPS,
    WORTH,
)

Step = RungeKuttaStep | RadauStep


@dataclass(frozen=True, eq=False)
class AcceptedSteps:
    """S accepted steps: rollout, number in the rollout, t, h and the next break, all (S,).

    done, due: counts of results before and after the step. x: the state at its beginning, (S, x).
    modes: of joints with dry friction, (S, d). cut: whether dry friction ended it early.
    """

    rollout: Array
    number: Array
    t: Array
    h: Array
    until: Array
    done: Array
    due: Array
    x: Array
    modes: Array
    cut: Array

    @classmethod
    def joined(cls, parts: Sequence["AcceptedSteps"]) -> "AcceptedSteps":
        """All steps of several records, in their order."""
        names = [x.name for x in fields(cls)]
        return cls(**{name: np.concatenate([getattr(x, name) for x in parts]) for name in names})

    def results(self, part: Array, count: int) -> tuple[Array, Array]:
        """The results in some steps: their step, counted among these, and their own numbers."""
        return numbered(*(np.minimum(x[part], count) for x in (self.done, self.due)))


def numbered(done: Array, due: Array) -> tuple[Array, Array]:
    """For steps with results from `done` up to `due`: the step and the number of each result."""
    counts = np.maximum(due - done, 0)
    which = np.repeat(np.arange(len(counts)), counts)
    start = np.cumsum(counts) - counts
    return which, done[which] + np.arange(len(which)) - start[which]


@dataclass(frozen=True, eq=False)
class Checked:
    """Points of a step at which its polynomial was compared with the equations of motion.

    which: rows of the step, (P,). share: place in it. result: the number of the result there, -1
    for points that only check. x: states. moving: rates of the polynomial. k, y: rates and forces
    by the equations.
    """

    which: Array
    share: Array
    result: Array
    x: Array
    moving: Array
    k: Array
    y: Array


class Pace:
    """The steps of each rollout, to find motions that slide along a jump of the forces.

    A jump is crossed with steps so short that its error is allowed; behind it steps grow again, by
    many powers of ten. A motion that the forces drive back to a jump from both sides crosses it
    all the time: steps stay near the length at which a crossing is allowed, and many are rejected.
    Steps for stiff forces are short as well, but hardly any of them is rejected.
    """

    def __init__(self, rollouts: int, n: int, memory: Memory | None = None) -> None:
        memory = Memory(rollouts) if memory is None else memory
        self.tries, self.rejected = memory.whole("tries"), memory.whole("refused")
        self.longest, self.shortest = memory.number("longest"), memory.number("shortest")
        self.shortest[:] = np.inf
        self.since = np.zeros(rollouts)  # time at which the window began
        self.change = np.zeros((rollouts, n))  # of accelerations, in the last steps of a slide

    def doubtful(self, rows: Array) -> Array:
        """Return True for rollouts with so many rejected steps that they may slide along a jump."""
        return self.rejected[rows] >= SLIDE_REJECTED * PACE_WINDOW / 2

    def slides(self, rows: Array, t: Array, h: Array, good: Array, left: Array) -> Array:
        """Count a step of some rollouts that have come to t; whether they slide along a jump.

        left: time until the end of the motion.
        """
        self.tries[rows] += 1
        self.rejected[rows] += ~good
        self.longest[rows] = np.maximum(self.longest[rows], np.where(good, h, 0))
        self.shortest[rows] = np.minimum(self.shortest[rows], np.where(good, h, np.inf))
        return self.judged(rows, t, left)

    def judged(self, rows: Array, t: Array, left: Array) -> Array:
        """Return True for rollouts that slide along a jump, at the end of a window of steps."""
        full = self.tries[rows] >= PACE_WINDOW
        if not full.any():
            return full
        sliding = full & (self.rejected[rows] >= SLIDE_REJECTED * PACE_WINDOW)
        sliding &= self.longest[rows] < SLIDE_SPREAD * self.shortest[rows]
        sliding &= left * PACE_WINDOW > (t - self.since[rows]) * SLIDE_TRIES
        again = rows[full]
        self.tries[again] = self.rejected[again] = self.longest[again] = 0
        self.shortest[again], self.since[again] = np.inf, t[full]
        return sliding


@dataclass(eq=False)
class Integration:
    """The state of all rollouts, t, h (B,), x, k (B, x), and the results so far.

    outputs: times of the results, (T,). breaks: times at which steps end. log: receives all
    accepted steps, if it is a list. method: as that of a Run. sampling: of a digital controller.
    attempts: steps of a rollout that `advance` takes at most.
    """

    rollouts: Rollouts
    outputs: Array
    breaks: Breaks
    rtol: float
    atol: float
    max_step: float
    method: str = "dop853"
    events: list[Event] = field(default_factory=list)
    log: list[AcceptedSteps] | None = None
    sampling: Sampling | None = None
    attempts: int = ATTEMPTS
    t: Array = field(init=False)
    h: Array = field(init=False)
    stiff_since: Array = field(init=False)  # NaN: not stiff
    changed: Array = field(init=False)  # time at which the method changed
    stiff_length: Array = field(init=False)  # of steps of the implicit method, on average
    after: Array = field(init=False)  # whether the last step was rejected
    fine: Array = field(init=False)  # short steps one after the other
    stiff: Array = field(init=False)  # whether the implicit method goes on
    explicit_steps: Array = field(init=False)  # good ones, since that method went on
    implicit_steps: Array = field(init=False)
    phase: Array = field(init=False)  # steps of the implicit method before the other is tried
    stiff_steps: Array = field(init=False)
    calm_steps: Array = field(init=False)
    done: Array = field(init=False)  # results that are written
    taken: Array = field(init=False)  # accepted steps
    found: list[tuple[int, Occurrence]] = field(default_factory=list)

    def begin(self, x: Array) -> None:
        """Start at time 0."""
        count, rows = len(x), np.arange(len(x))
        self.memory = memory = Memory(count)
        for name in ("t", "h", "stiff_since", "changed", "stiff_length"):
            setattr(self, name, memory.number(name))
        for name in (
            "after", "fine", "stiff", "stiff_steps", "calm_steps", "explicit_steps",
            "implicit_steps", "phase", "done", "taken",
        ):  # fmt: skip
            setattr(self, name, memory.whole(name))
        self.x = x.copy()
        self._sample(rows)
        if self.rollouts.dry is not None:
            for row in rows:
                self.rollouts.settle(int(row), 0.0, self.x[row])
        k, y = self.rollouts.rate(self.t, self.x, rows)
        self.k = np.ascontiguousarray(k)
        with np.errstate(all="ignore"):  # the norm of a state near the largest number overflows
            slope = self.rollouts.slope(rows)
            first = first_length(slope, self.t, x, self.k, self.rtol, self.atol)
        self.h[:] = np.where(np.isfinite(first) & (first > 0), first, 1e-6)
        self.explicit = DOP853(self.rollouts.slope, self.rtol, self.atol)
        self.implicit = Radau(self.rollouts.rate, self.rtol, self.atol)
        self.stiff[:], self.phase[:] = self.method == "radau", STIFF_PHASE
        self.stiff_since[:] = np.nan
        self.alive = np.ones(count, bool)
        self.stuck = np.zeros(count, bool)  # whether forces jump back and forth without end
        self.pace = Pace(count, self.rollouts.space.model.n, memory)
        self.done[:] = 1
        results = len(self.outputs)
        self.result = np.full((results, count, x.shape[-1]), np.nan)
        self.rates = np.full((results, count, self.k.shape[-1]), np.nan)
        self.forces = np.full((results, count, y.shape[-1]), np.nan)
        self.result[0], self.rates[0], self.forces[0] = x, self.k, y
        self.sides = np.zeros((count, len(self.events)))
        self.ended = np.full(count, np.inf)
        self.last: dict[int, tuple[Array, Array, Array]] = {}  # x, k and y at terminal events
        self.compiled = self._compiled()

    @property
    def steps(self) -> int:
        """Accepted steps of all rollouts."""
        return int(self.memory.whole("steps").sum())

    @property
    def rejected(self) -> int:
        """Rejected steps of all rollouts."""
        return int(self.memory.whole("rejected").sum())

    def _compiled(self) -> CompiledSteps | None:
        """The machine code for these rollouts; None where a step needs Python."""
        rollouts, rate = self.rollouts, self.rollouts.system.rate
        signals = rollouts.signals if rollouts.external.sampled else None
        pause = bool(self.events) or self.log is not None or rollouts.dry is not None
        many = len(self.x) > MAX_BY_ROW and (pause or signals is not None)
        if many or not isinstance(rate, Kernel) or not has_llvm():
            return None
        self.memory.number("last_end")[:] = np.nan
        model = rollouts.space.model
        Phi = result_places(model, None, None).get("Phi", slice(0, 0))
        tolerance = np.inf if model.constraints is None else model.constraints.tolerance
        limit = STIFF_STEPS if self.method == "auto" else HINTED_STEPS
        arrays = {
            "x": self.x, "k": self.k, "p": rollouts.params,
            "change": self.pace.change, "outputs": np.ascontiguousarray(self.outputs),
            "result": self.result, "rates": self.rates, "forces": self.forces,
        }  # fmt: skip
        whole = {
            "stiff_steps": limit, "auto": self.method == "auto", "n": model.n, "nq": model.nq,
            "Phi": Phi.start, "Phi_end": Phi.stop, "pause": pause,
        }  # fmt: skip
        constants = {
            "rtol": self.rtol, "atol": self.atol, "max_step": self.max_step,
            "solved": self.implicit.solved, "tolerance": tolerance,
        }  # fmt: skip
        kernels = rate, rollouts.normal_kernel
        table = rollouts.external.table_size
        return CompiledSteps(kernels, self.memory, arrays, whole, constants, table, signals)

    def advance(self) -> None:
        """Take one step of every rollout that is under way."""
        for method in (self.explicit, self.implicit):
            rows = np.flatnonzero(self.alive & (self.stiff == (method is self.implicit)))
            if len(rows) and self.compiled is not None:
                self._advance_compiled(self.compiled, rows, method is self.implicit)
            elif len(rows):
                self._advance(method, rows)

    def _advance_compiled(self, compiled: CompiledSteps, rows: Array, implicit: bool) -> None:
        """Take many steps of some rollouts in machine code."""
        memory, status = self.memory, self.memory.whole("status")
        until, beyond = self.breaks.next(self.t[rows])
        memory.number("until")[rows], memory.number("beyond")[rows] = until, beyond
        status[rows] = RUNNING
        if compiled.pauses:
            for i, row in enumerate(rows.tolist()):
                self._advance_paused(compiled, row, implicit, beyond[i : i + 1])
        else:
            compiled.advance(rows.tolist(), implicit, self.attempts)
        if self.sampling is not None and not compiled.pauses:
            sampled = rows[status[rows] == BREAK]
            self._sample(sampled)
            self.k[sampled], _ = self.rollouts.rate(self.t[sampled], self.x[sampled], sampled)
        opened = rows[status[rows] == OPEN]
        if len(opened):
            _, y = self.rollouts.rate(self.t[opened], self.x[opened], opened)
            check_closed(self.rollouts.space.model, self.t[opened], y)
        self.alive[rows[(status[rows] == LOST) | (status[rows] == OVER)]] = False
        t = self.t[rows]
        sliding = self.pace.judged(rows, t, self.outputs[-1] - t)
        stuck = (sliding | (self.fine[rows] > MAX_FINE_STEPS)) & self.alive[rows]
        self.stuck[rows] = stuck
        self.alive[rows[stuck]] = False

    def _advance(self, method: DOP853 | Radau, rows: Array) -> None:
        """Take one step of some rollouts by a method."""
        t = self.t[rows]
        until, after = self.breaks.next(t)
        wanted = np.minimum(self.h[rows], self.max_step)
        h = np.where(t + 1.01 * wanted >= until, until - t, wanted)  # leave no tiny last step
        with np.errstate(all="ignore"):  # a step that runs away is rejected
            step = method.take_step(rows, t, h, self.x[rows], self.k[rows], until)
            wrong = method.error_ratio(step)  # type: ignore[arg-type]
        wrong = np.where(np.isfinite(wrong) & np.isfinite(step.end).all(-1), wrong, np.inf)
        good = wrong <= 1
        grown = method.step_factor(wrong)
        if good.any():
            self._accept(method, rows, step, good, grown, after)
        if isinstance(step, RungeKuttaStep):
            self._look_for_stiffness(rows, step, good)
        elif self.method == "auto":
            self.implicit_steps[rows] += good
            calm = rows[self.implicit_steps[rows] >= self.phase[rows]]
            self.stiff[calm] = self.explicit_steps[calm] = 0
            covered = self.t[calm] - self.changed[calm]
            self.stiff_length[calm] = covered / self.implicit_steps[calm]
            self.changed[calm] = self.t[calm]
        grown = np.minimum(grown, np.where(self.after[rows], 1.0, np.inf))
        # the length of a step that a break cut short does not limit that of the next
        next_h = np.where(good & (h < wanted), np.maximum(h * grown, wanted), h * grown)
        self.h[rows] = next_h
        self.after[rows] = ~good
        self.memory.whole("steps")[rows] += good
        self.memory.whole("rejected")[rows] += ~good
        lost = ~good & (next_h < SHORTEST_STEP * np.maximum(t, 1e-3 * self.max_step))
        self.stuck[rows] = self._stuck(rows, step, wanted, good)
        self.alive[rows[lost | self.stuck[rows]]] = False

    def _advance_paused(
        self, compiled: CompiledSteps, row: int, implicit: bool, beyond: Array
    ) -> None:
        """Take one good step of a rollout in machine code, and go on from its end in Python."""
        memory = self.memory
        compiled.advance([row], implicit, self.attempts)
        if memory.whole("status")[row] != PAUSED:
            return
        polynomial, kept = compiled.polynomial(row, implicit), np.ones(1, bool)
        due = self._go_on(np.array([row]), polynomial, kept, memory.number("ends")[[row]], beyond)
        for records in (self.result, self.rates, self.forces):
            records[due[0] : memory.whole("due")[row], row] = np.nan
        self.done[row] = due[0]
        memory.whole("resumed")[row] = 1
        if not self.alive[row]:  # count the last step
            memory.whole("status")[row] = RUNNING
            compiled.advance([row], implicit, attempts=1)

    def halt(self) -> None:
        """End the motion of every rollout that is under way where it is."""
        rows = np.flatnonzero(self.alive)
        k, y = self.rollouts.rate(self.t[rows], self.x[rows], rows)
        for i, row in enumerate(rows.tolist()):
            last = self.last[row] = self.x[row], k[i], y[i]
            due = self.done[row]
            if due < len(self.outputs) and self.outputs[due] <= self.t[row]:  # it waits for a step
                for records, value in zip(
                    (self.result, self.rates, self.forces), last, strict=True
                ):
                    records[due, row] = value
        self.ended[rows] = self.t[rows]
        self.alive[rows] = False

    def _look_for_stiffness(self, rows: Array, step: RungeKuttaStep, good: Array) -> None:
        """Note steps that stability limits; after many, a rollout goes on with the other method."""
        self.explicit_steps[rows] += good
        with np.errstate(all="ignore"):
            limited = good & (stiffness(step) > STIFF)
        seen, calm = self.stiff_steps[rows], self.calm_steps[rows]
        calm = np.where(good, np.where(limited, 0, calm + 1), calm)
        seen = np.where(calm >= CALM_STEPS, 0, seen + limited)
        self.stiff_steps[rows], self.calm_steps[rows] = seen, calm
        again = rows[calm >= CALM_STEPS]  # a stiff phase after many calm steps is judged by itself
        self.changed[again], self.explicit_steps[again] = self.t[again], 0
        taken = self.explicit_steps[rows]
        short = self.t[rows] - self.changed[rows] < taken * (WORTH * self.stiff_length[rows])
        tried = good & (taken == TRIED_STEPS) & short
        limit = STIFF_STEPS if self.method == "auto" else HINTED_STEPS
        unknown = self.stiff_length[rows] == 0
        many = rows[((seen >= limit) & (unknown | short)) | tried]
        new = many[np.isnan(self.stiff_since[many])]
        self.stiff_since[new] = self.t[new]
        if self.method == "auto":
            known = self.stiff_length[many] > 0
            self.changed[many] = self.t[many]
            self.phase[many] = np.where(known, 2 * self.phase[many], STIFF_PHASE)
            self.stiff[many] = 1
            self.stiff_steps[many] = self.calm_steps[many] = self.implicit_steps[many] = 0

    def _stuck(self, rows: Array, step: Step, wanted: Array, good: Array) -> Array:
        """Return True for rollouts that do not advance because forces jump back and forth."""
        pace, model, t = self.pace, self.rollouts.space.model, self.t[rows]
        fine = (step.h == wanted) & (step.h <= FINE_STEP * self.max_step)
        self.fine[rows] = np.where(fine, self.fine[rows] + 1, 0)
        for i in np.flatnonzero((self.fine[rows] > MAX_FINE_STEPS // 2) | pace.doubtful(rows)):
            rates = step.evaluated[:, i, model.nq : model.nq + model.n]
            with np.errstate(all="ignore"):  # a step that runs away has no difference
                change = np.ptp(rates, 0)
            pace.change[rows[i]] = np.fmax(FADING * pace.change[rows[i]], change)
        sliding = pace.slides(rows, t, step.h, good, self.outputs[-1] - t)
        return (sliding | (self.fine[rows] > MAX_FINE_STEPS)) & self.alive[rows]

    def _accept(
        self,
        method: DOP853 | Radau,
        rows: Array,
        step: Step,
        good: Array,
        grown: Array,
        after: Array,
    ) -> None:
        """Check the steps whose error is small, write results, look for events, go on.

        `good` and `grown` change where a polynomial does not obey the equations of motion.
        """
        at = np.flatnonzero(good)
        accepted, step = rows[at], step if good.all() else step.of(at)
        with np.errstate(all="ignore"):
            polynomial = method.polynomial(accepted, step)  # type: ignore[arg-type]
            ends = np.where(step.h == step.until - step.t, step.until, step.t + step.h)
            points = self._check(accepted, polynomial, ends)
            miss = self._defect(polynomial, points)
        kept = (miss <= 1) | (step.h <= FINE_STEP * self.max_step)
        good[at[~kept]] = False
        grown[at[~kept]] = np.clip(0.9 / root(miss[~kept], method.defect_order), 0.2, 0.9)
        due = self._go_on(accepted, polynomial, kept, ends, after[at])
        self._write(accepted, points, kept, due)

    def _go_on(
        self, accepted: Array, polynomial: Polynomial, kept: Array, ends: Array, after: Array
    ) -> Array:
        """Go on from the ends of steps that are kept; return the counts of results until there."""
        step = polynomial.step
        states, due = self.rollouts.normal(step.end), self.done[accepted].copy()
        again = (ends == step.until) & (ends < self.outputs[-1])  # the rate may jump there
        times = np.where(again, after, ends)
        cut = np.zeros(len(accepted), bool)
        shares = np.ones(len(accepted))
        for i in np.flatnonzero(kept) if self.rollouts.dry is not None or self.events else ():
            row = int(accepted[i])
            place = self.rollouts.cut(row, int(i), polynomial, self.atol)
            if place is not None:
                shares[i], states[i] = place
                times[i] = step.t[i] + shares[i] * step.h[i]
                cut[i] = True
            if self.events:
                self._find_events(row, int(i), polynomial, shares[i])
        # a result at a break belongs to the step after it, with the forces and modes that follow
        upto = np.searchsorted(self.outputs, np.where(cut, times, ends * (1 + 1e-15)), "right")
        last = np.where(times == step.until, times * (1 - 1e-15), step.until)  # 0.1 + 0.2 is 0.3
        upto = np.where(again & ~cut, np.searchsorted(self.outputs, last, "right"), upto)
        due[kept] = np.maximum(upto, due)[kept]
        if self.log is not None:
            results, modes = (self.done[accepted], due), self.rollouts.modes(accepted)
            taken = (
                accepted,
                self.taken[accepted],
                step.t,
                step.h,
                step.until,
                *results,
                step.x,
                modes,
                cut,
            )
            self.log.append(AcceptedSteps(*(x[kept] for x in taken)))

        # put the rollouts where their steps ended, in the modes that they have there
        went = accepted[kept]
        self.taken[went] += 1
        self.t[went], self.x[went] = times[kept], states[kept]
        self.k[went] = step.evaluated[-1][kept]
        self._sample(accepted[kept & again & ~cut & (self.t[accepted] < self.ended[accepted])])
        for i in np.flatnonzero(kept & (cut | again)) if self.rollouts.dry is not None else ():
            self.rollouts.settle(int(accepted[i]), float(times[i]), states[i])
        moved = accepted[kept & (cut | again | (states != step.end).any(-1))]
        if len(moved):
            self.k[moved], y = self.rollouts.rate(self.t[moved], self.x[moved], moved)
            check_closed(self.rollouts.space.model, self.t[moved], y)
        over = (self.t >= self.outputs[-1]) | (self.t >= self.ended)
        self.alive &= ~over
        return due

    def _sample(self, rows: Array) -> None:
        """Call a digital controller for rollouts that have come to a sample."""
        if self.sampling is not None:
            for row in rows.tolist():
                t, x, p = float(self.t[row]), self.x[row], self.rollouts.params[row]
                self.sampling.update(row, t, x, p)

    def _check(self, accepted: Array, polynomial: Polynomial, ends: Array) -> Checked:
        """The equations of motion at points between the stages, and at the results in a step."""
        count = len(accepted)
        due = np.searchsorted(self.outputs, ends * (1 + 1e-15), "right")
        which, result = numbered(self.done[accepted], due)
        step = polynomial.step
        share = np.clip((self.outputs[result] - step.t[which]) / step.h[which], 0, 1)
        which = np.concatenate([np.repeat(np.arange(count), len(CHECKED_SHARES)), which])
        share = np.concatenate([np.tile(CHECKED_SHARES, count), share])
        result = np.concatenate([np.full(count * len(CHECKED_SHARES), -1), result])
        x, moving = polynomial.moving(which, share)
        x = self.rollouts.normal(x)
        t = np.where(result >= 0, self.outputs[result], step.times(which, share))
        k, y = self.rollouts.rate(t, x, accepted[which])
        return Checked(which, share, result, x, moving, k, y)

    def _defect(self, polynomial: Polynomial, points: Checked) -> Array:
        """Largest defect of each step, (B,), divided by the defect allowed."""
        step, which = polynomial.step, points.which
        scale = self.atol + self.rtol * np.maximum(abs(step.x), abs(step.end))
        off = step.weighed(which, points.moving - points.k) * (step.h[:, None] / scale)[which]
        size = np.sqrt(total(off**2) / off.shape[-1]) / DEFECT
        size = np.where(points.result >= 0, size / DEFECT_AT_RESULTS, size)
        inner = (points.share > 1e-9) & (points.share < 1 - 1e-9)  # a jump there has two sides
        size = np.where(inner, np.where(np.isfinite(size), size, np.inf), 0)
        worst = np.zeros(len(step.t))
        np.maximum.at(worst, which, size)
        return worst

    def _write(self, accepted: Array, points: Checked, kept: Array, due: Array) -> None:
        """Write the results of accepted steps."""
        valid = (points.result >= 0) & kept[points.which] & (points.result < due[points.which])
        index, rows = points.result[valid], accepted[points.which[valid]]
        self.result[index, rows] = points.x[valid]
        self.rates[index, rows] = points.k[valid]
        self.forces[index, rows] = points.y[valid]
        self.done[accepted] = np.where(kept, due, self.done[accepted])

    def _find_events(self, row: int, i: int, polynomial: Polynomial, end: float) -> None:
        """Find all zeros of events in a step and keep them; a terminal one ends its rollout."""
        step, space = polynomial.step, self.rollouts.space

        def state(shares: Array) -> tuple[Array, Array, Array]:
            step_rows = np.full(len(shares), i)
            q, dq, _ = space.split(self.rollouts.normal(polynomial.at(step_rows, shares)))
            return step.times(step_rows, shares), q, dq

        def values(shares: Array) -> Array:
            return measure(self.events, *state(shares))

        shares, measured = samples(values, 0.0, float(end))
        results = (self.outputs - step.t[i]) / step.h[i]  # a g too narrow for the polynomial
        results = np.setdiff1d(results[(results > 0) & (results < end)], shares)
        if len(results):
            order = np.argsort(np.append(shares, results), kind="stable")
            shares = np.append(shares, results)[order]
            measured = np.concatenate([measured, values(results)])[order]
        changes, self.sides[row] = crossings(shares, measured, self.sides[row])
        zeros: list[tuple[Event, Occurrence]] = []
        for x in changes:
            event = self.events[x.index]
            if not event.wanted(x.rising):
                continue

            def value(share: float, event: Event = event) -> float:
                t, q, dq = state(np.array([share]))
                return event.value(float(t[0]), q[0], dq[0])

            share = close(value, x.low, x.high, x.rising)
            t, q, dq = state(np.array([share]))
            zeros.append((event, Occurrence(event.name, float(t[0]), q[0], dq[0])))
        stop = min((x.t for event, x in zeros if event.terminal), default=np.inf)
        if stop < self.ended[row]:
            self.ended[row] = stop
            t, share = np.array([stop]), (stop - step.t[i]) / step.h[i]
            x = self.rollouts.normal(polynomial.at(np.array([i]), np.array([share])))
            self.last[row] = x[0], *(part[0] for part in self.rollouts.rate(t, x, np.array([row])))
        self.found += [(row, x) for _, x in sorted(zeros, key=lambda x: x[1].t) if x.t <= stop]
