"""Adaptive steps: results at given times, to a given error, for each rollout by itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.base.progress import Progress
from kinetree.compiler.interpret import interpret
from kinetree.errors import InputError
from kinetree.simulate.core.events import read_events
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.fixed_steps import Outcome
from kinetree.simulate.core.integration import STUCK, Integration, Rollouts, Seen
from kinetree.simulate.core.limits import Bound, watch_graph
from kinetree.simulate.core.setup import Setup
from kinetree.simulate.core.state import StateSpace
from kinetree.simulate.core.switches import (
    Breaks,
    merged,
    python_breaks,
    time_switches,
    traced_activity,
)
from kinetree.simulate.core.system import Actors, make_system
from kinetree.simulate.friction.stiction import rubbing

# The default of max_step is the duration over this number. It bounds what a step can pass over
# where nothing moves, and neither a switch nor a sample shows that something is going to.
FEWEST = 25
FEWEST_BY_PYTHON = 100  # forces from Python may depend on t in ways that cannot be found before


class AdaptiveSteps:
    """A robot with all that acts on it, ready to run with the adaptive method."""

    def __init__(
        self, space: StateSpace, actors: Actors, external: ExternalInputs, limits: Sequence[Bound]
    ) -> None:
        self.space, self.actors = space, actors
        self.dry = len(rubbing(space.model, actors.parameters))
        self.system = make_system(space, actors, self.with_modes(external, ()), adaptive=True)
        self.watch = watch_graph(space, limits)
        self.switches: dict[float, list[tuple[float, float]]] = {}  # by duration

    def with_modes(self, external: ExternalInputs, batch: tuple[int, ...]) -> ExternalInputs:
        """The external with a mode for each joint that has dry friction, as the last constants."""
        if not self.dry:
            return external
        modes = np.zeros((*batch, self.dry)), (self.dry,)
        return replace(external, constants={**external.constants, "mode": modes})

    def run(
        self,
        setup: Setup,
        times: Array,
        tolerances: tuple[float, float],
        events: Any,
        progress: Progress,
        max_step: float | None = None,
        seen: Seen | None = None,
    ) -> tuple[Outcome, dict[str, Any], Array]:
        """From setup.x0 over `times`, which begin at 0; `seen` is given every accepted step.

        Returns the records, what `meta` says of them, and their times: where a terminal event ends
        the motion, the last is its own, unless `seen` is to know every result from its steps.
        """
        listed = read_events(events)
        if setup.batch and any(event.terminal for event in listed):
            raise InputError(
                f"a terminal event was given for a batch of rollouts {setup.batch}, which end at "
                "different times; give one rollout, or an event that is not terminal."
            )
        external = self.with_modes(setup.external, ())
        rollouts = Rollouts(
            self.system, self.actors, external, setup.batch, len(setup.x0), self.dry
        )
        integration = Integration(
            rollouts=rollouts,
            outputs=times,
            breaks=self.breaks(external, float(times[-1])),
            rtol=tolerances[0],
            atol=tolerances[1],
            max_step=self.longest(float(times[-1])) if max_step is None else max_step,
            events=listed,
            seen=seen,
        )
        integration.begin(setup.x0)
        while integration.alive.any():
            integration.advance()
            t = integration.t[integration.alive].min(initial=times[-1])
            progress.update(float(t))
        return self.outcome(integration, setup, seen is None)

    def longest(self, duration: float) -> float:
        """The default of max_step, s."""
        return duration / (FEWEST_BY_PYTHON if self.system.graph is None else FEWEST)

    def breaks(self, external: ExternalInputs, end: float) -> Breaks:
        """Times at which an input may jump, bend, or begin or end to change."""
        graph = self.system.graph
        if end not in self.switches:
            traced = [] if graph is None else time_switches(graph, end)
            traced += [] if graph is None else traced_activity(graph, end)
            self.switches = {end: traced}
        found = list(self.switches[end])
        for source in external.sampled.values():
            found += [(float(t), float(t)) for t in source.breaks]
            if not len(source.breaks):

                def values(t: Array, source: Any = source) -> Array:
                    parts = source.at(t, np.zeros(len(t), bool))
                    return np.concatenate([np.reshape(x, (len(t), -1)) for x in parts], -1)

                found += python_breaks(values, end)
        return merged(found, end)

    def outcome(
        self, run: Integration, setup: Setup, with_last: bool
    ) -> tuple[Outcome, dict[str, Any], Array]:
        """Records of every result, margins to the limits, and what was found on the way."""
        ended = float(run.ended.min())
        count = int(np.searchsorted(run.outputs, ended, "right"))
        times, parts = run.outputs[:count], (run.result, run.rates, run.forces)
        x, k, y = (found[:count] for found in parts)
        if run.last and with_last and times[-1] < ended:
            (last,) = run.last.values()  # a batch has no terminal events
            x, k, y = (
                np.append(found, end[None, None], axis=0)
                for found, end in zip((x, k, y), last, strict=True)
            )
            times = np.append(times, ended)
        nq, n = self.space.model.nq, self.space.model.n
        (w,) = interpret(self.watch, x, k[..., : self.space.rates], y[..., :n])
        wrong = np.concatenate(
            [~np.isfinite(x), np.broadcast_to(w < 0, (*x.shape[:2], w.shape[-1]))], -1
        )
        amount = np.concatenate([x, np.broadcast_to(w, (*x.shape[:2], w.shape[-1]))], -1)
        first = np.where(wrong.any(0), wrong.argmax(0), -1)
        found = np.take_along_axis(amount, np.maximum(first, 0)[None], 0)[0]
        q, dq, z = self.space.split(x)
        records = {"q": q, "dq": dq, "ddq": k[..., nq : nq + n], "tau": y[..., :n]}
        records |= {"z": z} if self.space.extra else {}
        meta: dict[str, Any] = {"steps": run.steps, "rejected": run.rejected}
        if run.events:
            meta["events"] = occurrences(run, setup.batch)
        if np.isfinite(ended):
            meta["ended"] = ended
        if (run.stuck > STUCK).any():
            meta["stuck"] = float(run.t[run.stuck > STUCK].min())
        return Outcome(records, first, found), meta, times


def occurrences(run: Integration, batch: tuple[int, ...]) -> tuple[Any, ...]:
    """The zeros of events, in the order of time."""
    named = []
    for row, found in run.found:
        rollout = tuple(int(k) for k in np.unravel_index(row, batch)) if batch else ()
        named.append(replace(found, rollout=rollout))
    return tuple(sorted(named, key=lambda found: found.t))
