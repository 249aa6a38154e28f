"""Adaptive steps: SciPy's solvers over the compiled rate, to a given error.

Each rollout is driven by itself, in Python. Breaks (breaks.py), samples of a digital controller and
changes of the modes of dry friction (friction_modes.py) cut its time into stretches of smooth
motion, and a solver integrates each of them:

- steps end at breaks, so that a force that jumps there has one value for the whole step;
- states are projected onto constraints and unit quaternions after each step and in results; DOP853
  and Radau go on from there, LSODA and BDF begin anew where the projection moves them far;
- zeros of events, and the ends of modes of dry friction, are found on the dense output.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.progress import Progress
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.joints.motors import refuse_dry_motors
from kinetree.dynamics.state import StateSpace, is_ranged, normalised, quaternions, within_ranges
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernel import Kernel
from kinetree.engine.kernels.step import lean_closing
from kinetree.errors import InputError
from kinetree.simulate.adaptive.breaks import Pair, breaks_of_function, breaks_of_graph, merged
from kinetree.simulate.adaptive.friction_modes import consistent_modes, read_dry_friction
from kinetree.simulate.equations import EquationsOfMotion, System, make_system
from kinetree.simulate.events import (
    Event,
    Occurrence,
    close,
    crossings,
    measure,
    samples,
    with_samples,
)
from kinetree.simulate.limits import margins_graph, result_places
from kinetree.simulate.options import Run
from kinetree.simulate.result import Outcome
from kinetree.simulate.setup import Setup, remembered_loop

RTOL, ATOL = 1e-8, 1e-10  # relative, and in rad, m, rad/s or m/s: errors allowed in a step
DRIFT = 1e3  # of the error allowed in a step: a larger drift begins multistep solvers anew
FADING = 0.98  # of the changes of accelerations, from step to step, that name the joint
LEAST_STEPS = 25  # in a run: bounds what a step can pass over where nothing shows before
LEAST_STEPS_IN_PYTHON = 100  # the same for forces that may depend on t in ways that no trace shows
MOST_WINDOWS = 2000  # that may be left at this pace: about ten minutes of computing
NEAR = 1e-12  # of a time: results that are so close to a break belong to the stretch after it
PACE_WINDOW = 1000  # steps, after which the pace of a run is judged

ONE_STEP = ("DOP853", "Radau")  # solvers that go on from a state that was changed


@dataclass(frozen=True, eq=False)
class AdaptiveSteps:
    """A robot with all that acts on it, ready to run with adaptive methods.

    places: of results in y. margins: of limits. dry: degrees of freedom with dry friction. normal:
    projects states (K, x).
    """

    space: StateSpace
    system: System
    places: dict[str, slice]
    margins: Graph
    dry: tuple[int, ...]
    normal: Callable[[Array], Array]

    def run(self, run: Run, setup: Setup, bar: Progress) -> Outcome:
        """Integrate from setup.x0 over the times of the run."""
        if setup.batch and any(event.terminal for event in run.found_events):
            raise InputError(
                f"a terminal event was given for a batch of rollouts {setup.batch}, which end at "
                "different times; give one rollout, or an event that is not terminal."
            )
        setup, breaks, end = with_modes(setup, self.dry), self.breaks(run, setup), run.times[-1]
        motions = [Motion(self, run, setup, row, breaks) for row in range(len(setup.x0))]
        for row, motion in enumerate(motions):
            motion.integrate(lambda t, row=row: bar.update((row * end + t) / len(motions)))
        return self._outcome(run, setup, motions)

    def breaks(self, run: Run, setup: Setup) -> list[Pair]:
        """Times at which an input may jump, bend, or begin or end to change."""
        end = float(run.times[-1])
        pairs = [] if self.system.graph is None else breaks_of_graph(self.system.graph, end)
        times = run.break_times.tolist()
        if setup.sampling is not None:
            times += setup.sampling.instants(end)[1:].tolist()
        for source in setup.external.sampled.values():
            times += source.breaks.tolist()
            if not len(source.breaks):
                pairs += breaks_of_function(source.over, end)
        return merged(pairs + [(t, t) for t in times], end)

    def _outcome(self, run: Run, setup: Setup, motions: Sequence["Motion"]) -> Outcome:
        """Records of every result, and the first violations of limits."""
        ended = min(motion.ended for motion in motions)
        times = run.times[: np.searchsorted(run.times, ended, "right")]
        x, k, y = (np.stack([getattr(m, name) for m in motions], 1)[: len(times)] for name in "xky")
        last = motions[0].last  # a batch has no terminal events
        if last is not None and times[-1] < ended:
            pairs = zip((x, k, y), last, strict=True)
            x, k, y = (np.append(part, end[None, None], 0) for part, end in pairs)
            times = np.append(times, ended)
        bounded = self.margins.inputs[2].shape[0]
        (w,) = interpret(self.margins, x, k[..., : self.space.rates], y[..., :bounded])
        w = np.broadcast_to(w, (*x.shape[:2], w.shape[-1]))
        beyond = np.concatenate([~np.isfinite(x), w < 0], -1)
        first = np.where(beyond.any(0), beyond.argmax(0), -1)
        amount = np.take_along_axis(np.concatenate([x, w], -1), np.maximum(first, 0)[None], 0)[0]
        nq, n = self.space.model.nq, self.space.model.n
        q, dq, z = self.space.split(x)
        records = {"q": q, "dq": dq, "ddq": k[..., nq : nq + n], "tau": y[..., :n]}
        records |= {"z": z} if self.space.extra else {}
        records |= {name: y[..., at] for name, at in self.places.items() if name != "friction"}
        counts = _counts(run, setup, motions)
        return Outcome(records, first, amount, times, np.arange(len(times)), counts)


def adaptive_steps(run: Run, setup: Setup) -> AdaptiveSteps:
    """Adaptive steps of a robot with all that acts on it, made once for equal laws."""
    model, acting = run.model, setup.acting
    refuse_dry_motors(model, f"the adaptive method {run.method!r}")

    def make() -> AdaptiveSteps:
        ranges = () if acting.actuation is None else acting.actuation.ranges(model)
        space = StateSpace(model, setup.extra, ranges=ranges)
        rough = dry_dofs(model, acting.parameters)
        dry = tuple(dict.fromkeys(d for x in model.joints for d in x.dofs if d in rough))
        external = with_modes(setup, dry).external
        places = result_places(model, None, acting)
        bounded = places["tau" if model.constraints is None else "Phi"].stop
        equations = EquationsOfMotion(space, acting, external, None, saturates=run.saturates)
        return AdaptiveSteps(
            space=space,
            system=make_system(equations),
            places=places,
            margins=margins_graph(space, run.bounds, bounded),
            dry=dry,
            normal=normal_states(space),
        )

    return remembered_loop(run, setup, make)


def with_modes(setup: Setup, dry: Sequence[int]) -> Setup:
    """The setup with a mode for each joint that has dry friction, as the last constants."""
    if not dry:
        return setup
    return replace(setup, external=setup.external.with_constant("mode", np.zeros(len(dry))))


def normal_states(space: StateSpace) -> Callable[[Array], Array]:
    """The function that makes states (..., x) normal.

    Their quaternions have length 1, activations are in range, and constraints are satisfied.
    """
    closed = lean_closing(space.model)
    if closed is None and not quaternions(space.model) and not is_ranged(space):
        return lambda x: x

    def normal(x: Array) -> Array:
        x = within_ranges(space, normalised(space.model, x))
        return x if closed is None else closed(x)

    graph = optimise(trace(normal, [Port("x", (space.size,))], [("out", ())]))
    return Kernel(graph, "normal", dtypes=("float64",))


class StuckError(Exception):
    """A motion that cannot go on: a number is not finite, or steps became too short."""


class Motion:
    """One rollout under way, and its results so far: x, k and y at the times of the run."""

    def __init__(
        self, loop: AdaptiveSteps, run: Run, setup: Setup, row: int, breaks: Sequence[Pair]
    ) -> None:
        self.loop, self.run, self.setup, self.row = loop, run, setup, row
        self.space, self.times, self.breaks = loop.space, run.times, breaks
        params = setup.external.params(setup.batch)
        self.p = np.array(params[row % len(params)])
        self.modes = self.p[len(self.p) - len(loop.dry) :]  # of dry friction
        inputs = setup.external.named(self.p, np.zeros(setup.external.table_size))
        robot = setup.acting.changed_model(run.model, inputs)
        self.dry = read_dry_friction(robot, loop.dry) if loop.dry else None
        least = LEAST_STEPS_IN_PYTHON if loop.system.graph is None else LEAST_STEPS
        longest = float(self.times[-1]) / least
        self.options = {"max_step": longest, "rtol": RTOL, "atol": ATOL} | run.solver_options
        self.sides, self.found = np.zeros(len(run.found_events)), list[Occurrence]()
        self.ended, self.last = np.inf, None  # by a terminal event or a halt: time, and x, k and y
        self.done, self.steps, self.evaluations, self.judged = 0, 0, 0, 0.0
        self.solver: Any = None  # of the last step, and its states in between
        self.dense: Any = None
        self.jammed: float | None = None  # time at which steps became too short
        self.dq = self.space.split(setup.x0[row])[1]
        self.ddq, self.change = np.full(run.model.n, np.nan), np.zeros(run.model.n)

    # rates

    def rates(self, t: Array, x: Array, ends: bool = False) -> tuple[Array, Array]:
        """k and y of states (K, x) at times (K,); ends: a force that jumps has not done so yet."""
        self.evaluations += len(t)
        signals, external = np.zeros((1, 1)), self.setup.external
        if external.sampled:
            table = external.table(t, np.full(len(t), ends), self.setup.batch)
            signals = table[:, self.row % table.shape[1]]
        return self.loop.system.rate(t, x, self.p[None], signals)

    def slope(self, until: float) -> Callable[[float, Array], Array]:
        """The rate before a break as SciPy calls it: of a state (x,), or of columns (x, K)."""
        alone = not self.setup.external.sampled and self.loop.system.graph is not None
        rate, p, signals = self.loop.system.rate, self.p, np.zeros(1)

        def slope(t: float, x: Array) -> Array:
            t = min(t, until)
            if alone and x.ndim == 1:  # straight into machine code
                self.evaluations += 1
                return rate(t, x, p, signals)[0]
            rows = np.ascontiguousarray(x.reshape(len(x), -1).T)
            k, _ = self.rates(np.full(len(rows), t), rows, ends=t >= until)
            return np.broadcast_to(k, rows.shape).T.reshape(x.shape)

        return slope

    # the run

    def integrate(self, show: Callable[[float], None]) -> None:
        """Go on from break to break, to the end, a terminal event or a halt."""
        t, x = 0.0, self.setup.x0[self.row].copy()
        self._begin(t, x)
        parts = x[None], *self.rates(np.zeros(1), x[None])
        shapes = [(len(self.times), part.shape[-1]) for part in parts]
        self.x, self.k, self.y = (np.full(shape, np.nan) for shape in shapes)
        try:
            for before, after in self.breaks:
                while t < after and self.ended == np.inf:
                    t, x = self._stretch(t, x, before, after, show)
                    if self.ended == np.inf:
                        self._begin(t, x)
        except StuckError:
            return
        if self.ended == np.inf:
            self._record(len(self.times), self.times[-1:], x[None])

    def _begin(self, t: float, x: Array) -> None:
        """Call a digital controller that has come to a sample, and find the modes of friction."""
        if self.setup.sampling is not None and t < self.times[-1]:
            self.setup.sampling.update(self.row, t, x, self.p)
        if self.dry is None:
            return
        nq, n = self.space.model.nq, self.space.model.n

        def evaluate(mode: Array) -> tuple[Array, Array]:
            self.modes[:] = mode
            k, y = self.rates(np.array([t]), x[None])
            return k[0, nq : nq + n], y[0, n : n + len(mode)]

        self.modes[:] = consistent_modes(self.dry, self.space.split(x)[1], evaluate)

    def _stretch(
        self, t: float, x: Array, before: float, after: float, show: Callable[[float], None]
    ) -> tuple[float, Array]:
        """Integrate to a break, or to the end of a mode of friction; the time and state there."""
        if before <= t:
            return after, x
        solver = self._solver(t, x, before)
        while True:
            self._step(solver)
            cut = self._cut()
            stop, end = (solver.t, self.loop.normal(solver.y)) if cut is None else cut
            self._find_events(stop)
            if self.run.halted and self.ended == np.inf:
                self._end(stop, end)
            self._record_results(stop)
            show(stop)
            if cut is not None or self.ended < np.inf:
                return stop, end
            if solver.status == "finished":
                return after, end
            solver = self._projected(solver, end, before)

    def _solver(self, t: float, x: Array, until: float, **options: Any) -> Any:
        """A solver of SciPy from a state to a break."""
        from scipy import integrate  # takes 0.2 s

        kind, many = getattr(integrate, self.run.method_name), self.run.method in ("Radau", "BDF")
        with np.errstate(all="ignore"):
            return kind(self.slope(until), t, x, until, vectorized=many, **self.options, **options)

    def _step(self, solver: Any) -> None:
        """Take the next step of a solver; raise StuckError if there is none."""
        with np.errstate(all="ignore"):  # a step that runs away is rejected
            solver.step()
        self.steps += 1
        if not np.isfinite(solver.y).all():
            raise StuckError
        dq = self.space.split(solver.y)[1].copy()
        ddq = (dq - self.dq) / max(solver.t - solver.t_old, np.finfo(float).tiny)
        self.change = np.fmax(FADING * self.change, abs(ddq - self.ddq))
        self.dq, self.ddq, hopeless = dq, ddq, False
        if self.steps % PACE_WINDOW == 0:
            hopeless = (solver.t - self.judged) * MOST_WINDOWS < self.times[-1] - solver.t
            self.judged = solver.t
        if hopeless or solver.status == "failed":
            self.jammed = solver.t
            raise StuckError
        self.solver, self.dense = solver, None

    def _within(self, shares: Array) -> Array:
        """Times at shares of the last step, (K,)."""
        t0, t1 = self.solver.t_old, self.solver.t
        return np.minimum(t0 + shares * (t1 - t0), t1)

    def _at(self, t: Array) -> Array:
        """States at times within the last step, (K, x), projected."""
        if self.dense is None:
            self.dense = self.solver.dense_output()
        return self.loop.normal(np.ascontiguousarray(self.dense(t).T))

    def _projected(self, solver: Any, x: Array, until: float) -> Any:
        """The solver in a projected state x, or a new one that begins there."""
        off = abs(x - solver.y)
        if self.run.method in ONE_STEP and off.any():
            solver.y, solver.f = x, self.slope(until)(solver.t, x)
        elif (off > DRIFT * (self.options["atol"] + self.options["rtol"] * abs(x))).any():
            first = min(solver.step_size, until - solver.t)
            return self._solver(solver.t, x, until, first_step=first)
        return solver

    def _record_results(self, stop: float) -> None:
        """Record the results in a step before a time."""
        # a result at a break belongs to the step after it, with the forces that follow
        last = self.ended if self.ended <= stop else stop * (1 - NEAR)
        due = int(np.searchsorted(self.times[:-1], last, "right"))
        if due <= self.done:
            return
        t = np.clip(self.times[self.done : due], self.solver.t_old, self.solver.t)
        x = self._at(t)
        if self.dry is not None:  # a joint that stops may have passed rest by `atol`
            rates = x[:, self.space.model.nq + self.dry.dofs]
            back = (self.modes * rates < 0) & (abs(rates) <= 2 * self.options["atol"])
            x[:, self.space.model.nq + self.dry.dofs] = np.where(back, 0.0, rates)
        self._record(due, t, x)

    def _record(self, count: int, t: Array, x: Array) -> None:
        """Record states at times as the results up to a count."""
        part, self.done = slice(self.done, count), count
        self.x[part] = x
        self.k[part], self.y[part] = self.rates(t, x)

    def _end(self, t: float, x: Array) -> None:
        """End the motion."""
        k, y = self.rates(np.array([t]), x[None])
        self.ended, self.last = t, (x, k[0], y[0])

    # events and dry friction

    def _find_events(self, stop: float) -> None:
        """Find all zeros of events in a step before a time; a terminal one ends the motion."""
        events, begin = self.run.found_events, self.solver.t_old
        length = self.solver.t - begin
        if not events or not length:
            return

        def values(shares: Array) -> Array:
            t = self._within(shares)
            return measure(events, t, *self.space.split(self._at(t))[:2])

        end = min((stop - begin) / length, 1.0)
        results = (self.times - begin) / length  # for a g too narrow for the polynomial
        results = results[(results > 0) & (results < end)]
        measured = with_samples(values, *samples(values, 0.0, end), results)
        changes, self.sides = crossings(*measured, self.sides)
        zeros = list[tuple[Event, Occurrence]]()
        for change in changes:
            event = events[change.index]
            if event.wanted(change.rising):
                t = self._within(np.array([close(values, change)]))
                q, dq, _ = self.space.split(self._at(t))
                zeros.append((event, Occurrence(event.name, float(t[0]), q[0], dq[0])))
        over = min((x.t for event, x in zeros if event.terminal), default=np.inf)
        self.found += sorted((x for _, x in zeros if x.t <= over), key=lambda x: x.t)
        if over < np.inf:
            self._end(over, self._at(np.array([over]))[0])

    def _cut(self) -> tuple[float, Array] | None:
        """The time in a step at which the mode ends first, and the state there; None: it stays."""
        if self.dry is None:
            return None
        shares, values = samples(self._guards, 0.0, 1.0)
        changes, _ = crossings(shares, values, np.ones(values.shape[1]))
        first = np.inf
        for change in changes:
            if not change.rising and change.low < first:
                first = min(first, close(self._guards, change))
        if first == np.inf:
            return None
        t = self._within(np.array([first]))
        state = self._at(t)[0]
        stopped = self.dry.stopped(self.modes, self.space.split(state)[1])
        state[self.space.model.nq + np.append(stopped, self.dry.dofs[self.modes == 0])] = 0.0
        return float(t[0]), state

    def _guards(self, shares: Array) -> Array:
        """The functions that end the mode where they pass zero, (K, G), at shares of a step."""
        assert self.dry is not None
        t, n = self._within(shares), self.space.model.n
        x = self._at(t)
        friction = np.zeros((len(shares), len(self.modes)))  # sliding joints need none
        if (self.modes == 0).any():
            friction = self.rates(t, x)[1][:, n : n + len(self.modes)]
        return self.dry.guards(self.modes, self.space.split(x)[1], friction, self.options["atol"])


def _counts(run: Run, setup: Setup, motions: Sequence[Motion]) -> dict[str, Any]:
    """Counts of steps, events found, and how the integration ended, for `meta`."""
    counts: dict[str, Any] = {
        "steps": sum(motion.steps for motion in motions),
        "evaluations": sum(motion.evaluations for motion in motions),
    }
    if run.found_events:
        rollouts = list(np.ndindex(setup.batch))
        found = [replace(x, rollout=rollouts[m.row]) for m in motions for x in m.found]
        counts["events"] = tuple(sorted(found, key=lambda x: x.t))
    ended = min(motion.ended for motion in motions)
    counts |= {"ended": ended} if ended < np.inf else {}
    jammed = [motion for motion in motions if motion.jammed is not None]
    if jammed:
        first = min(jammed, key=lambda motion: motion.jammed or 0.0)
        joint = run.model.dof_names[int(first.change.argmax())]
        counts |= {"jammed": first.jammed, "jammed_joint": joint}
    return counts
