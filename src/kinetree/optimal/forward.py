"""The forward pass of iLQR: a loop over time in machine code (engine/rollout.py).

For several lengths a of the step at once, one lane each,

    u = clip(u + a k + K dx),    x' = F(x, u) moved by (a - 1) gap
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.stepping import NEVER, Field, Run, Stepping
from kinetree.engine.compiler.trace import trace
from kinetree.engine.rollout import Rollout
from kinetree.optimal.riccati import Sizes
from kinetree.optimal.transcription import Bounds, Transcription
from kinetree.scalars import clip as clipped


class Forward:
    """The forward pass, compiled: the plan with new forces, for several lengths of the step.

    A row of the table is a row of a plan; the inputs that stay are the length and the limits.
    """

    def __init__(self, ocp: Transcription, sizes: Sizes) -> None:
        self.sizes = sizes
        n, m, nx, row = sizes.n, sizes.m, sizes.nx, sizes.row

        def rate(t: Any, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
            state, costs = x[:nx], x[nx:]
            at, u, gap, numbers, gains = np.split(s, list(row.values())[1:5])
            gains = gains.reshape(m, n + 1)
            dx = ocp.deviation(at, state)
            u = u + gains[:, n] * p[0] + gains[:, :n] @ dx
            if sizes.limited:
                u = clipped(u, p[1 : 1 + m], p[1 + m :])
            reached = ocp.space.plus(ocp.next_state(state, u, numbers), gap * (p[0] - 1.0))
            return np.concatenate([reached, costs + ocp.costs_of(state, u, numbers)]), u

        fields = [Field("x", 0, nx), Field("y", 0, m)]
        self.stepping = stepping(rate, sizes.candidate, sizes.params, row["end"], fields)

    @cached_property
    def loop(self) -> Rollout:
        """The machine code of this machine."""
        return Rollout(self.stepping)

    def params(self, lengths: Array, bounds: Bounds) -> Array:
        """The inputs of each lane that stay: its length, and the limits."""
        limits = (bounds.low, bounds.high) if self.sizes.limited else ()
        rows = [np.broadcast_to(x, (len(lengths), self.sizes.m)) for x in limits]
        return np.ascontiguousarray(np.concatenate([lengths[:, None], *rows], axis=1))

    def prepared(
        self, state: Array, table: Array, params: Array, records: Sequence[Array] = ()
    ) -> Run:
        """A run from states (L, nx + kinds) along rows of plans, (N, L or 1, row)."""
        s, (N, L) = self.sizes, (len(table), len(params))
        return Run(
            state=state,
            params=params,
            table=table[:, None],
            times=np.zeros((N, 1)),
            h=np.ones(N),
            rows=np.arange(N),
            steps=N,
            records=records or [np.empty((N, L, k)) for k in (s.nx, s.m)],
            first=np.full(state.shape, NEVER),
            amount=np.empty(state.shape),
        )

    def motions(self, x0: Array, u: Array, p: Array, bounds: Bounds) -> Array:
        """States (N + 1, B, nx) of the motions from x0, (B, nx), under the forces u, (N, B, m)."""
        row, B, nx = self.sizes.row, len(x0), self.sizes.nx
        table, state = np.zeros((*u.shape[:2], row["end"])), np.zeros((B, self.sizes.candidate))
        table[..., : row["u"]], state[:, :nx] = x0, x0
        table[..., row["u"] : row["gap"]], table[..., row["p"] : row["gains"]] = u, p[:-1]
        run = self.prepared(state, table, self.params(np.ones(B), bounds))
        self.loop.run(run)
        return np.concatenate([run.records[0], run.state[None, :, :nx]])


def stepping(
    rate: Any, state: int, parameters: int, table: int, fields: Sequence[Field]
) -> Stepping:
    """A loop over time whose rate returns the next state itself, in place of its rate."""
    x = Port("x", (state,))
    ports = [Port("t", ()), x, Port("p", (parameters,)), Port("s", (table,))]
    graph = optimise(trace(rate, ports, [("k", ()), ("y", ())]))
    stage = trace(lambda h, x, k: k, [Port("h", ()), x, Port("k1", (state,))], [("out", ())])
    watch = Graph((), (x, *graph.outputs), (Port("w", (0,)),), ((),))
    return Stepping(graph, (stage,), watch, tuple(fields))
