"""Adaptive steps: results at given times, to a given error, for each rollout by itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.compiler.interpret import interpret
from kinetree.errors import InputError
from kinetree.simulate.events import read_events
from kinetree.simulate.feed import Feed
from kinetree.simulate.flight import Flight, Seen
from kinetree.simulate.inputs import Setup
from kinetree.simulate.loop import Outcome
from kinetree.simulate.progress import Progress
from kinetree.simulate.space import Space
from kinetree.simulate.stiction import rubbing
from kinetree.simulate.system import Actors, make_system
from kinetree.simulate.trip import Trip
from kinetree.simulate.velocity import normalised
from kinetree.simulate.watch import Bound, watch_graph


class AdaptiveSteps:
    """A robot with all that acts on it, ready to run with the adaptive method."""

    def __init__(self, space: Space, actors: Actors, feed: Feed, limits: Sequence[Bound]) -> None:
        self.space, self.actors = space, actors
        self.dry = len(rubbing(space.model, actors.parameters))
        self.system = make_system(space, actors, self.with_modes(feed, ()), adaptive=True)
        self.watch = watch_graph(space, limits)

    def with_modes(self, feed: Feed, batch: tuple[int, ...]) -> Feed:
        """The feed with a mode for each joint that has dry friction, as the last constants."""
        if not self.dry:
            return feed
        modes = np.zeros((*batch, self.dry)), (self.dry,)
        return replace(feed, constants={**feed.constants, "mode": modes})

    def run(
        self,
        setup: Setup,
        times: Array,
        tolerances: tuple[float, float],
        events: Any,
        progress: Progress,
        stop: bool,
        seen: Seen | None = None,
    ) -> tuple[Outcome, dict[str, Any]]:
        """From setup.x0 over `times`, which begin at 0; `seen` is told of every step."""
        listed = read_events(events)
        if setup.batch and any(event.terminal for event in listed):
            raise InputError(
                f"a terminal event was given for a batch of rollouts {setup.batch}, which end at "
                "different times; give one rollout, or an event that is not terminal."
            )
        feed = self.with_modes(setup.feed, ())
        trip = Trip(self.system, self.actors, feed, setup.batch, len(setup.x0), self.dry)
        flight = Flight(
            slope=trip.slope,
            normal=lambda x: normalised(self.space.model, x),
            cut=trip.cut,
            guarded=trip.guarded,
            modes=trip.modes,
            outputs=times,
            breaks=breaks(trip.feed, times),
            rtol=tolerances[0],
            atol=tolerances[1],
            split=self.space.split,
            events=listed,
            seen=seen,
        )
        trip.start(setup.x0)
        flight.begin(setup.x0, self.dry)
        while flight.alive.any():
            flight.advance()
            progress.update(float(flight.t[flight.alive].min(initial=times[-1])))
        return self.outcome(trip, flight, setup)

    def outcome(self, trip: Trip, flight: Flight, setup: Setup) -> tuple[Outcome, dict[str, Any]]:
        """Accelerations and forces of every result, margins, and what was met on the way."""
        ended = float(flight.ended.min())
        times = flight.outputs[flight.outputs <= ended]
        x = flight.result[: len(times)]
        k, y = trip.evaluate(times, x, flight.kept[: len(times)])
        (w,) = interpret(self.watch, x, k[..., : self.space.rates], y[..., : self.space.model.n])
        wrong = np.concatenate(
            [~np.isfinite(x), np.broadcast_to(w < 0, (*x.shape[:2], w.shape[-1]))], -1
        )
        amount = np.concatenate([x, np.broadcast_to(w, (*x.shape[:2], w.shape[-1]))], -1)
        first = np.where(wrong.any(0), wrong.argmax(0), -1)
        found = np.take_along_axis(amount, np.maximum(first, 0)[None], 0)[0]
        nq, n = self.space.model.nq, self.space.model.n
        q, dq, z = self.space.split(x)
        records = {"q": q, "dq": dq, "ddq": k[..., nq : nq + n], "tau": y[..., :n]}
        records |= {"z": z} if self.space.extra else {}
        meta: dict[str, Any] = {"steps": flight.steps, "rejected": flight.rejected}
        if flight.events:
            meta["events"] = occurrences(flight, setup.batch)
        if np.isfinite(ended):
            meta["ended"] = ended
        kept = {name: np.ascontiguousarray(x) for name, x in records.items()}
        return Outcome(kept, first, found), meta


def breaks(feed: Feed, times: Array) -> Array:
    """Times within the run at which an input may jump or bend, and its end."""
    inner = [source.breaks for source in feed.sampled.values()]
    found = np.unique(np.concatenate([*inner, np.zeros(0)]))
    return np.append(found[(found > 0) & (found < times[-1])], times[-1])


def occurrences(flight: Flight, batch: tuple[int, ...]) -> tuple[Any, ...]:
    """What was found, in the order of time."""
    named = []
    for row, found in flight.found:
        rollout = tuple(int(k) for k in np.unravel_index(row, batch)) if batch else ()
        named.append(replace(found, rollout=rollout))
    return tuple(sorted(named, key=lambda found: found.t))
