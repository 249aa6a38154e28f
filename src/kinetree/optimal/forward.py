"""The forward pass of iLQR: a loop over time in machine code (engine/rollout.py).

For several lengths a of the step at once, or several problems, one lane each,

    u = clip(u + a k + K dx),    x' = F(x, u) moved by (a - 1) gap
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.stepping import Field, Stepping
from kinetree.engine.compiler.stepping import Run as LoopCall
from kinetree.engine.compiler.trace import trace
from kinetree.engine.rollout import Rollout
from kinetree.optimal.stages import Transcription, product
from kinetree.scalars import maximum, minimum


@dataclass(frozen=True, eq=False)
class Bounds:
    """Where u may be, (m,) or (B, m), and whether there are limits at all."""

    low: Array
    high: Array

    @property
    def any(self) -> bool:
        """Return True if some force is limited."""
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())


class Forward:
    """The forward pass, compiled: the plan with new forces, for several lengths of the step."""

    def __init__(self, this: Transcription, limited: bool) -> None:
        n, m = this.space.rates, len(this.actuated)
        self.nx = nx = this.space.size
        self.m, self.limited, self.kinds = m, limited, len(this.costs)
        ends = np.cumsum([nx, m, m * n, m, n, this.layout.size])

        def rate(t: Any, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
            state, costs = x[:nx], x[nx:]
            at, u, K, k, gap, numbers = np.split(s, ends[:-1])
            dx = this.deviation(at, state)
            u = u + k * p[0] + product(K.reshape(m, n), dx[:, None])[:, 0]
            if limited:
                limits = zip(u, p[1 : 1 + m], p[1 + m :], strict=True)
                u = np.array([clipped(x, a, b) for x, a, b in limits])
            reached = this.space.plus(this.next_state(state, u, numbers), gap * (p[0] - 1.0))
            return np.concatenate([reached, costs + this.costs_of(state, u, numbers)]), u

        parameters = 1 + (2 * m if limited else 0)
        fields = [Field("x", 0, nx), Field("y", 0, m)]
        self.loop = loop(rate, nx + self.kinds, parameters, int(ends[-1]), fields)

    def run(
        self, lengths: Array, x: Array, u: Array, gains: tuple[Array, Array], gap: Array,
        numbers: Array, bounds: Bounds,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        """States (N + 1, L, nx), forces (N, L, m) and costs (L, kinds) without that of the end.

        The other arrays are (N, L, ...) of L problems, or (N, 1, ...) of one for all lengths.
        """
        (N, B), L = u.shape[:2], len(lengths)
        K, k = gains
        state = np.zeros((L, self.nx + self.kinds))
        state[:, : self.nx] = x[0]
        limits = (bounds.low, bounds.high) if self.limited else ()
        limits = [np.broadcast_to(v, (L, self.m)) for v in limits]
        params = np.concatenate([lengths[:, None], *limits], axis=1)
        parts = [x[:-1], u, K.reshape(N, B, -1), k, gap, numbers]
        table = np.concatenate(parts, axis=-1)[:, None]
        states, forces = np.empty((N + 1, L, self.nx)), np.empty((N, L, self.m))
        call(self.loop, state, params, table, [states[:-1], forces])
        states[-1] = state[:, : self.nx]
        return states, forces, state[:, self.nx :]


def clipped(x: Any, low: Any, high: Any) -> Any:
    """The nearest number between two limits."""
    return minimum(maximum(x, low), high)


def loop(rate: Any, state: int, parameters: int, table: int, fields: Sequence[Field]) -> Rollout:
    """A loop over time whose rate returns the next state itself, in place of its rate."""
    ports = [
        Port("t", ()), Port("x", (state,)), Port("p", (parameters,)), Port("s", (table,)),
    ]  # fmt: skip
    graph = optimise(trace(rate, ports, [("k", ()), ("y", ())]))
    k, y = graph.outputs

    def follow(h: Any, x: Array, k: Array) -> Array:
        return k

    stage_ports = [Port("h", ()), Port("x", (state,)), Port("k1", (state,))]
    stage = trace(follow, stage_ports, [("out", ())])
    watched = [Port("x", (state,)), Port("k", k.shape), Port("y", y.shape)]
    watch = Graph((), tuple(watched), (Port("w", (0,)),), ((),))
    return Rollout(Stepping(graph, (stage,), watch, tuple(fields)))


def call(
    loop: Rollout, state: Array, params: Array, table: Array, records: Sequence[Array]
) -> None:
    """Run a loop over all rows of the table; the state is replaced by the last one."""
    N, count, watched = len(table), len(state), state.shape[1]  # margins are not watched
    loop.run(
        LoopCall(
            state=state,
            params=np.ascontiguousarray(params),
            table=np.ascontiguousarray(table),
            times=np.zeros((N, 1)),
            h=np.ones(N),
            rows=np.arange(N),
            steps=N,
            records=records,
            first=np.full((count, watched), -1),
            amount=np.empty((count, watched)),
        )
    )
