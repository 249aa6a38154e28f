"""Adaptive steps: results at given times, to a given error, for each rollout by itself."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.progress import Progress
from kinetree.core.text import number
from kinetree.dynamics.dry_friction import dry_dofs
from kinetree.dynamics.joints.motors import refuse_dry_motors
from kinetree.dynamics.state import StateSpace
from kinetree.engine.compiler.interpret import interpret
from kinetree.errors import InputError, argument, warn
from kinetree.model.units import units
from kinetree.simulate.core.closure import normal_kernel
from kinetree.simulate.core.compiled_steps import ATTEMPTS
from kinetree.simulate.core.events import Event, Halt, Occurrence
from kinetree.simulate.core.integration import AcceptedSteps, Integration
from kinetree.simulate.core.laws import Parts, UserFunction
from kinetree.simulate.core.limits import margins_graph
from kinetree.simulate.core.outcome import Outcome, result_places
from kinetree.simulate.core.rollouts import Rollouts
from kinetree.simulate.core.run import ADAPTIVE, Run
from kinetree.simulate.core.setup import Setup, remembered_loop
from kinetree.simulate.core.signals import TimeSource
from kinetree.simulate.core.switches import (
    Breaks,
    merged,
    python_breaks,
    time_switches,
    traced_activity,
)
from kinetree.simulate.core.system import EquationsOfMotion, make_system
from kinetree.simulate.tuning import LEAST_STEPS, LEAST_STEPS_IN_PYTHON, NEAR_LAST_SPEED


def watched(event: Event) -> UserFunction:
    """The function of an event, which notes some of its calls."""

    def value(t: float, q: Array, dq: Array) -> Parts:
        return (np.array(event.value(t, q, dq)),)

    return UserFunction(f"the event {event.name!r}", value)


def _number(function: UserFunction, t: float, q: Array, dq: Array) -> float:
    return float(function(t, q, dq)[0])


def check_terminal(run: Run, setup: Setup) -> None:
    """Raise InputError if a terminal event is given for several rollouts."""
    if setup.batch and any(event.terminal for event in run.found_events):
        raise InputError(
            f"a terminal event was given for a batch of rollouts {setup.batch}, which end at "
            "different times; give one rollout, or an event that is not terminal."
        )


class AdaptiveSteps:
    """A robot with all that acts on it, ready to run with the adaptive method."""

    def __init__(self, run: Run, setup: Setup) -> None:
        model, actuation = run.model, setup.acting.actuation
        refuse_dry_motors(model, f"the adaptive method {run.method!r}")
        ranges = () if actuation is None else actuation.ranges(model)
        self.space = StateSpace(model, setup.extra, ranges=ranges)
        self.dry = len(dry_dofs(model, setup.acting.parameters))
        external = self.with_modes(setup).external
        self.system = make_system(EquationsOfMotion(self.space, setup.acting, external, None))
        self.places = result_places(model, None, setup.acting)
        last = "tau" if model.constraints is None else "Phi"
        self.bounded = self.places[last].stop  # entries of y that may have a bound
        self.margins = margins_graph(self.space, run.bounds, self.bounded)
        self.normal = normal_kernel(self.space)
        self.switches: dict[float, list[tuple[float, float]]] = {}  # by duration
        self.derivatives: dict[Any, Any] = {}  # compiled by sensitivities

    def with_modes(self, setup: Setup) -> Setup:
        """The setup with a mode for each joint that has dry friction, as the last constants."""
        if not self.dry:
            return setup
        return replace(setup, external=setup.external.with_constant("mode", np.zeros(self.dry)))

    def rollouts(self, setup: Setup) -> Rollouts:
        """The rollouts of a setup."""
        return Rollouts(self.system, self.with_modes(setup), self.dry, self.normal)

    def run(
        self, run: Run, setup: Setup, bar: Progress, log: list[AcceptedSteps] | None = None
    ) -> Outcome:
        """Integrate from setup.x0 over the times of the run; `log` receives all accepted steps.

        If a terminal event ends the motion, its time is the last, unless there is a log: then all
        results are times of the run.
        """
        check_terminal(run, setup)
        times = run.times
        least = LEAST_STEPS_IN_PYTHON if self.system.graph is None else LEAST_STEPS
        halts = [event for event in run.found_events if isinstance(event, Halt)]
        events = [event for event in run.found_events if not isinstance(event, Halt)]
        functions = [watched(event) for event in events]
        integration = Integration(
            rollouts=self.rollouts(setup),
            outputs=times,
            breaks=self.breaks(setup, float(times[-1])),
            rtol=float(run.rtol),
            atol=float(run.atol),
            max_step=float(times[-1]) / least if run.max_step is None else float(run.max_step),
            events=[
                replace(event, function=partial(_number, function))
                for event, function in zip(events, functions, strict=True)
            ],
            method=run.method,
            log=log,
            sampling=setup.sampling,
            attempts=1 if halts else ATTEMPTS,
        )
        integration.begin(setup.x0)
        while integration.alive.any():
            integration.advance()
            t = integration.t[integration.alive].min(initial=times[-1])
            bar.update(float(t))
            if any(halt.asked() for halt in halts):
                integration.halt()
        for function in functions:
            function.repeat()
        outcome = self._outcome(integration, log is None)
        outcome = replace(outcome, counts=_meta(integration, setup.batch))
        return outcome.thinned(run.every)

    def breaks(self, setup: Setup, end: float) -> Breaks:
        """Times at which an input may jump, bend, or begin or end to change."""
        graph = self.system.graph
        if end not in self.switches:
            traced = [] if graph is None else time_switches(graph, end)
            traced += [] if graph is None else traced_activity(graph, end)
            self.switches = {end: traced}
        pairs = list(self.switches[end])
        if setup.sampling is not None:
            pairs += [(float(t), float(t)) for t in setup.sampling.instants(end)[1:]]
        for source in setup.external.sampled.values():
            pairs += [(float(t), float(t)) for t in source.breaks]
            if not len(source.breaks):

                def values(t: Array, source: TimeSource = source) -> Array:
                    parts = source.at(t, np.zeros(len(t), bool))
                    return np.concatenate([np.reshape(x, (len(t), -1)) for x in parts], -1)

                pairs += python_breaks(values, end)
        return merged(pairs, end)

    def _outcome(self, run: Integration, with_last: bool) -> Outcome:
        """Records of every result, and the first violations of limits."""
        ended = float(run.ended.min())
        count = int(np.searchsorted(run.outputs, ended, "right"))
        times, parts = run.outputs[:count], (run.result, run.rates, run.forces)
        x, k, y = (records_of[:count] for records_of in parts)
        if run.last and with_last and times[-1] < ended:
            (last,) = run.last.values()  # a batch has no terminal events
            x, k, y = (
                np.append(records_of, end[None, None], axis=0)
                for records_of, end in zip((x, k, y), last, strict=True)
            )
            times = np.append(times, ended)
        nq, n = self.space.model.nq, self.space.model.n
        (w,) = interpret(self.margins, x, k[..., : self.space.rates], y[..., : self.bounded])
        w = np.broadcast_to(w, (*x.shape[:2], w.shape[-1]))
        wrong = np.concatenate([~np.isfinite(x), w < 0], -1)
        first = np.where(wrong.any(0), wrong.argmax(0), -1)
        watched = np.concatenate([x, w], -1)
        amount = np.take_along_axis(watched, np.maximum(first, 0)[None], 0)[0]
        q, dq, z = self.space.split(x)
        records = {"q": q, "dq": dq, "ddq": k[..., nq : nq + n], "tau": y[..., :n]}
        records |= {"z": z} if self.space.extra else {}
        for name, place in self.places.items():
            if name != "friction":
                records[name] = y[..., place]
        return Outcome(records, first, amount, times, np.arange(len(times)))


def _meta(run: Integration, batch: tuple[int, ...]) -> dict[str, Any]:
    """Counts of steps, events found, and how the integration ended, for `meta`."""
    meta: dict[str, Any] = {"steps": run.steps, "rejected": run.rejected}
    if run.method == "auto" and np.isnan(run.stiff_since).all():
        meta["method"] = ADAPTIVE
    ended = float(run.ended.min())
    if run.events:
        meta["events"] = _occurrences(run, batch)
    if np.isfinite(ended):
        meta["ended"] = ended
    if run.stuck.any():
        meta |= _jammed(run)
    if not np.isnan(run.stiff_since).all():
        meta["stiff"] = float(np.nanmin(run.stiff_since))
        if run.method == ADAPTIVE:
            warn(
                f"the motion is stiff from {meta['stiff']:.3g} s on, where {ADAPTIVE!r} takes "
                f"short steps for stability alone; "
                f"{argument('method', 'auto')} takes longer ones there."
            )
    return meta


def _jammed(run: Integration) -> dict[str, Any]:
    """Entries of `meta` on the first place where forces jump back and forth without end.

    They are the time, the joint, and the force that its drive loses there, "" if it is no drive.
    """
    row = int(np.where(run.stuck, run.t, np.inf).argmin())
    space = run.rollouts.space
    _, dq, _ = space.split(run.x[row])
    name, lost = space.model.dof_names[int(run.pace.change[row].argmax())], ""
    for joint in space.model.joints:
        curve = None if joint.drive is None or joint.follows is not None else joint.drive.curve
        if not curve or not curve[-1][1]:
            continue
        last, force = curve[-1]
        if abs(abs(dq[joint.dofs[0]]) - last) <= NEAR_LAST_SPEED * last:
            unit = units(space.model, "tau")[joint.dofs[0]]
            name, lost = joint.name, f"{number(force)} {unit}"
    return {"jammed": float(run.t[row]), "jammed_joint": name, "jammed_drive": lost}


def _occurrences(run: Integration, batch: tuple[int, ...]) -> tuple[Occurrence, ...]:
    """The zeros of events, in the order of time."""
    named: list[Occurrence] = []
    for row, zero in run.found:
        rollout = tuple(int(k) for k in np.unravel_index(row, batch)) if batch else ()
        named.append(replace(zero, rollout=rollout))
    return tuple(sorted(named, key=lambda zero: zero.t))


def adaptive_steps(run: Run, setup: Setup) -> AdaptiveSteps:
    """The adaptive method for a robot with all that acts on it, made once for equal laws."""
    return remembered_loop(run, setup, lambda: AdaptiveSteps(run, setup))
