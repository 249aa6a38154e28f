"""Adaptive steps: results at given times, to a given error, for each rollout by itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.arrays import Array
from kinetree.compiler.interpret import interpret
from kinetree.errors import InputError
from kinetree.simulate.dop853 import Dense, Slope, Step
from kinetree.simulate.events import read_events
from kinetree.simulate.feed import Feed
from kinetree.simulate.flight import Flight
from kinetree.simulate.inputs import Setup
from kinetree.simulate.loop import Outcome
from kinetree.simulate.progress import Progress
from kinetree.simulate.sliding import Dry, dry_of, settle_modes
from kinetree.simulate.space import Space
from kinetree.simulate.stiction import rubbing
from kinetree.simulate.system import Actors, make_system
from kinetree.simulate.velocity import normalised
from kinetree.simulate.watch import Bound, watch_graph

BLOCK = 65_536  # states that are evaluated at a time for the record


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
    ) -> tuple[Outcome, dict[str, Any]]:
        """From setup.x0 over `times`, which begin at 0."""
        listed = read_events(events)
        if setup.batch and any(event.terminal for event in listed):
            raise InputError(
                f"a terminal event was given for a batch of rollouts {setup.batch}, which end at "
                "different times; give one rollout, or an event that is not terminal."
            )
        trip = Trip(self, setup)
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
        )
        trip.start(setup.x0)
        flight.begin(setup.x0, self.dry)
        while flight.alive.any():
            flight.advance()
            progress.update(float(flight.t[flight.alive].min(initial=times[-1])))
        return self.outcome(trip, flight, setup)

    def outcome(self, trip: "Trip", flight: Flight, setup: Setup) -> tuple[Outcome, dict[str, Any]]:
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


class Trip:
    """The numbers of one run: what its rollouts are given, and the modes they are in."""

    def __init__(self, steps: AdaptiveSteps, setup: Setup) -> None:
        self.steps, self.batch = steps, setup.batch
        self.feed = steps.with_modes(setup.feed, ())
        count = len(setup.x0)
        rows = self.feed.params(setup.batch)
        self.params = np.array(np.broadcast_to(rows, (count, rows.shape[-1])))
        self.end = self.feed.params_size if self.feed.constants else 0
        self.dry = self.read_dry() if steps.dry else None

    def read_dry(self) -> Dry:
        """What friction can give in each rollout."""
        actors, empty = self.steps.actors, np.zeros(self.feed.table_size)
        rows = self.params if actors.parameters else self.params[:1]
        found = dry_of(
            self.steps.space.model, [self.feed.given(p, empty) for p in rows], actors.changed
        )
        shape = (len(self.params), found.plus.shape[-1])
        return Dry(
            found.dofs, np.broadcast_to(found.plus, shape), np.broadcast_to(found.minus, shape)
        )

    def modes(self, rows: Array) -> Array:
        """The modes that rollouts are in, (K, d)."""
        return self.params[rows, self.end - self.steps.dry : self.end]

    def set_mode(self, row: int, mode: Array) -> None:
        """Put a rollout into a mode."""
        self.params[row, self.end - self.steps.dry : self.end] = mode

    def signals(self, t: Array, ends: bool, rows: Array) -> Array:
        """What changes with time, (K or 1, s), a row for each time and rollout."""
        if not self.feed.sampled:
            return np.zeros((1, 1))
        found = []
        for at in range(0, len(t), 64):
            part = slice(at, at + 64)
            table = self.feed.table(t[part], np.full(len(t[part]), ends), self.batch)
            own = np.zeros(len(t[part]), int) if table.shape[1] == 1 else rows[part]
            found.append(table[np.arange(len(own)), own])
        return np.concatenate(found)

    def slope(self, rows: Array) -> Slope:
        """The rate of some rollouts."""

        def slope(t: Array, x: Array, ends: bool) -> Array:
            s = self.signals(t, ends, rows)
            return self.steps.system.rate(t, x, self.params[rows], s)[0]

        return slope

    def friction(self, row: int, t: float, x: Array, ends: bool) -> tuple[Array, Array]:
        """ddq and the dry friction of one rollout."""
        times, rows = np.array([t]), np.array([row])
        s = self.signals(times, ends, rows)
        k, y = self.steps.system.rate(times, x[None], self.params[rows], s)
        nq, n = self.steps.space.model.nq, self.steps.space.model.n
        return k[0, nq : nq + n], y[0, n:]

    def start(self, x: Array) -> None:
        """The modes at the beginning."""
        for row in range(len(x)) if self.dry else ():
            self.settle(row, 0.0, x[row])

    def settle(self, row: int, t: float, x: Array) -> None:
        """The mode that a state asks for."""

        def evaluate(mode: Array) -> tuple[Array, Array]:
            self.set_mode(row, mode)
            return self.friction(row, t, x, False)

        assert self.dry is not None
        _, dq, _ = self.steps.space.split(x)
        self.set_mode(row, settle_modes(self.dry, row, dq, evaluate))

    def guarded(self, rows: Array, step: Step) -> Array:
        """Which rollouts have left their mode at the end of a step."""
        if self.dry is None:
            return np.zeros(len(rows), bool)
        s = self.signals(step.t + step.h, True, rows)
        _, y = self.steps.system.rate(step.t + step.h, step.end, self.params[rows], s)
        _, dq, _ = self.steps.space.split(step.end)
        friction = y[:, self.steps.space.model.n :]
        return np.any(self.dry.guards(rows, self.modes(rows), dq, friction) < 0, axis=-1)

    def cut(self, row: int, i: int, step: Step, polynomial: Dense) -> tuple[float, Array] | None:
        """Where in a step the first mode ends, and the state there, in its new mode."""
        assert self.dry is not None
        rows, space = np.array([row]), self.steps.space
        mode = self.modes(rows)

        def state(share: float) -> Array:
            x = polynomial.at(np.array([i]), np.array([share]))[0]
            return normalised(space.model, x)

        def guards(share: float) -> Array:
            x = state(share)
            _, friction = self.friction(row, float(step.t[i] + share * step.h[i]), x, share == 1)
            dq = space.split(x)[1][None]
            return self.dry.guards(rows, mode, dq, friction[None])[0]  # type: ignore[union-attr]

        low, high = 0.0, 1.0
        while high - low > 1e-13:  # the first change of sign, whichever guard it is
            middle = (low + high) / 2
            low, high = (low, middle) if (guards(middle) < 0).any() else (middle, high)
        x = state(high)
        left = np.flatnonzero((guards(high) < 0) & (mode[0] != 0))
        x[space.model.nq + self.dry.dofs[left]] = 0.0
        x[space.model.nq + self.dry.dofs[mode[0] == 0]] = 0.0
        self.settle(row, float(step.t[i] + high * step.h[i]), x)
        return high, x

    def evaluate(self, times: Array, x: Array, modes: Array) -> tuple[Array, Array]:
        """Rates and forces of all results, (T, B, ...)."""
        count = x.shape[1]
        found: list[tuple[Array, Array]] = []
        for begin in range(0, len(times), max(1, BLOCK // count)):
            part = slice(begin, begin + max(1, BLOCK // count))
            block = x[part].reshape(-1, x.shape[-1])
            t = np.repeat(times[part], count)
            rows = np.tile(np.arange(count), len(times[part]))
            p = self.params[rows].copy()
            if self.steps.dry:
                p[:, self.end - self.steps.dry : self.end] = modes[part].reshape(len(p), -1)
            found.append(self.steps.system.rate(t, block, p, self.signals(t, False, rows)))
        k, y = (np.concatenate([pair[j] for pair in found]) for j in (0, 1))
        return k.reshape(*x.shape[:2], -1), y.reshape(*x.shape[:2], -1)


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
