"""Fixed steps: the whole loop in machine code, called for as many steps as a fraction of a second.

Between calls a bar can move, Ctrl-C is heard and limits are looked at; the state goes on where it
was.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kinetree.backends.rollout import Rollout
from kinetree.base.arrays import Array
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.stepping import NEVER, Field, Run, Stepping, interpret_run
from kinetree.compiler.trace import trace
from kinetree.simulate.feed import Feed
from kinetree.simulate.integrators import Method
from kinetree.simulate.progress import Progress
from kinetree.simulate.space import Space
from kinetree.simulate.system import System
from kinetree.simulate.watch import Bound, watch_graph

WORK = 4_000_000_000  # operations between looks at the clock, about a tenth of a second
TABLE = 4_000_000  # numbers of the table that are kept at a time
SLOW = 2_000  # evaluations by Python between looks


@dataclass(frozen=True, eq=False)
class Outcome:
    """Records (R, B, size) by name, of q, dq, ddq, tau and z, and what was noted on the way.

    There is no record of tau where it is constant, and none of z where there is no such state.
    """

    records: dict[str, Array]
    first: Array
    amount: Array

    def thinned(self, kept: Array) -> "Outcome":
        """The outcome with some rows of its records, in memory of their own."""
        records = {name: np.ascontiguousarray(x[kept]) for name, x in self.records.items()}
        return Outcome(records, self.first, self.amount)


class FixedSteps:
    """A system and a method, ready to run."""

    def __init__(
        self, system: System, method: Method, limits: Sequence[Bound], constant: bool
    ) -> None:
        self.system, self.method, self.space = system, method, system.space
        self.fields = fields_of(system.space, constant)
        self.stepping = make_stepping(system, method, limits, tuple(self.fields.values()))
        self.rollout = None if system.graph is None else Rollout(self.stepping)

    def run(
        self,
        x0: Array,
        feed: Feed,
        batch: tuple[int, ...],
        times: Array,
        rows: Array,
        progress: Progress,
        stop: bool,
    ) -> Outcome:
        """All steps from x0, (B, x), at times (T,); rows says which of them are recorded where."""
        count, watched = len(x0), self.stepping.watched
        feed = with_stop(feed, self.space, self.method.braking / float(times[1] - times[0]))
        state, params = np.array(x0, order="C"), feed.params(batch)  # the loop moves its own copy
        first = np.full((count, watched), NEVER)
        amount = np.zeros((count, watched))
        kept = int(rows.max()) + 1
        records = [np.empty((kept, count, field.size)) for field in self.stepping.fields]
        h = np.append(np.diff(times), 0.0)
        length = self.chunk(count, feed.table(times[:1], np.array([False]), batch).size)
        for begin in range(0, len(times), length):
            part = slice(begin, min(begin + length, len(times)))
            stages = times[part, None] + h[part, None] * np.array(self.method.times)
            run = Run(
                state=state,
                params=params,
                table=self.table(feed, stages, batch),
                times=stages,
                h=h[part].copy(),
                rows=rows[part].copy(),
                steps=min(part.stop, len(times) - 1) - begin,
                records=records,
                first=first,
                amount=amount,
                offset=begin,
            )
            self.call(run)
            progress.update(float(times[part.stop - 1]))
            if stop and (first >= 0).any():
                break
        return Outcome(dict(zip(self.fields, records, strict=True)), first, amount)

    def call(self, run: Run) -> None:
        """Some of the steps."""
        if self.rollout is not None:
            self.rollout.run(run)
        else:
            interpret_run(self.stepping, run, self.system.rate)

    def table(self, feed: Feed, stages: Array, batch: tuple[int, ...]) -> Array:
        """What changes with time, (E, S, B or 1, s)."""
        ends = np.broadcast_to(np.array(self.method.times) == 1, stages.shape)
        found = feed.table(stages.ravel(), ends.ravel(), batch)
        return np.ascontiguousarray(found.reshape(*stages.shape, *found.shape[1:]))

    def chunk(self, count: int, table: int) -> int:
        """Steps in one call."""
        stages = len(self.method.stages)
        if self.rollout is None:
            return max(1, SLOW // (stages * count))
        work = stages * count * (self.stepping.rate.operations + 50)
        return max(1, min(WORK // work, TABLE // (stages * table)))


def with_stop(feed: Feed, space: Space, stop: float = 0.0) -> Feed:
    """The feed with the rate at which dry friction may brake, 1/s, where there is any."""
    if not space.rubbing:
        return feed
    return replace(feed, constants={**feed.constants, "stop": (np.array([stop]), (1,))})


def fields_of(space: Space, constant: bool) -> dict[str, Field]:
    """What is recorded; constant forces are not."""
    nq, n = space.model.nq, space.model.n
    found = {"q": Field("x", 0, nq), "dq": Field("x", nq, n), "ddq": Field("k", n, n)}
    if not constant:
        found["tau"] = Field("y", 0, n)
    if space.extra:
        found["z"] = Field("x", nq + n, space.extra)
    return found


def make_stepping(
    system: System, method: Method, limits: Sequence[Bound], fields: tuple[Field, ...]
) -> Stepping:
    """The graphs of a step."""
    space = system.space
    x, k = Port("x", (space.size,)), Port("k", (space.rates,))
    rate = system.graph or Graph((), (Port("t", ()), x), (k, Port("y", (space.model.n,))), ())
    return Stepping(
        rate=rate,
        stages=tuple(_stage(space, stage, i) for i, stage in enumerate(method.stages)),
        watch=watch_graph(space, limits),
        fields=fields,
    )


def _stage(space: Space, stage: Any, i: int) -> Graph:
    def function(h: Any, x: Array, *k: Array) -> Array:
        return partial(stage, space)(h, x, k)

    ports = [Port("h", ()), Port("x", (space.size,))]
    ports += [Port(f"k{j + 1}", (space.rates,)) for j in range(i + 1)]
    return optimise(trace(function, ports, [("out", ())]))
