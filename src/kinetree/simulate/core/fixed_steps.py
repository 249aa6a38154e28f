"""Methods of integration with fixed steps: what each stage makes of the rates so far.

Each method is written once, over any scalar kind: it is traced into the compiled loop, and run as
it is where a controller can only be run by Python. x + v means the way along a tangent vector,
on quaternions too (space.py).
"""

# TODO merge docstring of kinetree.simulate.core.fixed_steps:
# Fixed steps: the whole loop in machine code, called for as many steps as a fraction of a second.
#
# Between calls a bar can move, Ctrl-C is heard and limits are looked at; the state goes on where it
# was.

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kinetree.backends.rollout import Rollout
from kinetree.base.arrays import Array
from kinetree.base.progress import Progress
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.stepping import NEVER, Field, Run, Stepping, interpret_run
from kinetree.compiler.trace import trace
from kinetree.errors import InputError
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.limits import Bound, watch_graph
from kinetree.simulate.core.state import StateSpace
from kinetree.simulate.core.system import System

Stage = Callable[[StateSpace, Any, Array, Sequence[Array]], Array]


@dataclass(frozen=True)
class Method:
    """When the rate is evaluated within a step, as parts of h, and what follows from it.

    braking: how many times 1 / h dry friction may brake at most. For dq' = -braking / h dq one step
    leaves little of dq: nothing with Euler's methods, a quarter with Runge and Kutta's.
    """

    name: str
    order: int
    braking: float
    times: tuple[float, ...]
    stages: tuple[Stage, ...]


def euler(space: StateSpace, h: Any, x: Array, k: Sequence[Array]) -> Array:
    """X + h k_1: the book's, of first order; q moves with the old dq."""
    return space.plus(x, k[0] * h)


def semi_implicit_euler(space: StateSpace, h: Any, x: Array, k: Sequence[Array]) -> Array:
    """Dq + h ddq first, then q moves with the new dq: of first order, but energy does not drift."""
    n = space.model.n
    _, dq, _ = space.split(x)
    new = space.settle(dq, dq + k[0][n : 2 * n] * h)
    return space.plus(x, np.concatenate([new * h, new - dq, k[0][2 * n :] * h]))


RK4_SHARES = (0.5, 0.5, 1.0)  # where in the step k_2, k_3 and k_4 are evaluated, and with how much


def rk4_stage(i: int) -> Stage:
    """Stages 1 to 3 of the classical method lead to where k_2, k_3 and k_4 are evaluated."""

    def stage(space: StateSpace, h: Any, x: Array, k: Sequence[Array]) -> Array:
        return space.plus(x, step_rates(space, h, k)[i] * (h * RK4_SHARES[i]))

    return stage


def rk4_end(space: StateSpace, h: Any, x: Array, k: Sequence[Array]) -> Array:
    """X + h (k_1 + 2 k_2 + 2 k_3 + k_4) / 6."""
    a, b, c, d = step_rates(space, h, k)
    return space.plus(x, (a + (b + c) * 2 + d) * (h / 6))


def step_rates(space: StateSpace, h: Any, k: Sequence[Array]) -> list[Array]:
    """The rates as those of the coordinates of the step (Munthe-Kaas); k itself without turns."""
    found = [k[0]]
    for share, rate in zip(RK4_SHARES, k[1:], strict=False):
        found.append(space.inverse_rate(found[-1] * (h * share), rate))
    return found


METHODS = {
    "euler": Method("euler", 1, 1.0, (0.0,), (euler,)),
    "semi_implicit_euler": Method("semi_implicit_euler", 1, 1.0, (0.0,), (semi_implicit_euler,)),
    "rk4": Method(
        "rk4", 4, 1.6, (0.0, 0.5, 0.5, 1.0), (rk4_stage(0), rk4_stage(1), rk4_stage(2), rk4_end)
    ),
}
ADAPTIVE = "dop853"


def find_method(name: str) -> Method | None:
    """The method of that name; None is the adaptive one."""
    if name == ADAPTIVE:
        return None
    if name not in METHODS:
        known = ", ".join([*METHODS, ADAPTIVE])
        raise InputError(f"method is {name!r}; choose one of {known}.")
    return METHODS[name]


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
        external: ExternalInputs,
        batch: tuple[int, ...],
        times: Array,
        rows: Array,
        progress: Progress,
        stop: bool,
    ) -> Outcome:
        """All steps from x0, (B, x), at times (T,); rows says which of them are recorded where."""
        count, watched = len(x0), self.stepping.watched
        external = with_stop(external, self.space, self.method.braking / float(times[1] - times[0]))
        state, params = (
            np.array(x0, order="C"),
            external.params(batch),
        )  # the loop moves its own copy
        first = np.full((count, watched), NEVER)
        amount = np.zeros((count, watched))
        kept = int(rows.max()) + 1
        records = [np.empty((kept, count, field.size)) for field in self.stepping.fields]
        h = np.append(np.diff(times), 0.0)
        length = self.chunk(count, external.table(times[:1], np.array([False]), batch).size)
        for begin in range(0, len(times), length):
            part = slice(begin, min(begin + length, len(times)))
            stages = times[part, None] + h[part, None] * np.array(self.method.times)
            run = Run(
                state=state,
                params=params,
                table=self.table(external, stages, batch),
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

    def table(self, external: ExternalInputs, stages: Array, batch: tuple[int, ...]) -> Array:
        """What changes with time, (E, S, B or 1, s)."""
        ends = np.broadcast_to(np.array(self.method.times) == 1, stages.shape)
        found = external.table(stages.ravel(), ends.ravel(), batch)
        return np.ascontiguousarray(found.reshape(*stages.shape, *found.shape[1:]))

    def chunk(self, count: int, table: int) -> int:
        """Steps in one call."""
        stages = len(self.method.stages)
        if self.rollout is None:
            return max(1, SLOW // (stages * count))
        work = stages * count * (self.stepping.rate.operations + 50)
        return max(1, min(WORK // work, TABLE // (stages * table)))


def with_stop(external: ExternalInputs, space: StateSpace, stop: float = 0.0) -> ExternalInputs:
    """The external with the rate at which dry friction may brake, 1/s, where there is any."""
    if not space.dry:
        return external
    return replace(external, constants={**external.constants, "stop": (np.array([stop]), (1,))})


def fields_of(space: StateSpace, constant: bool) -> dict[str, Field]:
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


def _stage(space: StateSpace, stage: Any, i: int) -> Graph:
    def function(h: Any, x: Array, *k: Array) -> Array:
        return partial(stage, space)(h, x, k)

    ports = [Port("h", ()), Port("x", (space.size,))]
    ports += [Port(f"k{j + 1}", (space.rates,)) for j in range(i + 1)]
    return optimise(trace(function, ports, [("out", ())]))
