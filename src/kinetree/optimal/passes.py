"""The two passes of iLQR as loops over time in machine code (engine/rollout.py).

Backward, from the last state: with V, v of the next state, y = A dx + B du and T,

    V~ = T^T V T,    v~ = T^T (v + V gap)
    Q = H + (A, B)^T V~ (A, B),    (Q_x, Q_u) = (l_x, l_u) + (A, B)^T v~
    du = k + K dx minimises Q within the limits of u;    V = Q_xx + Q_xu K,    v = Q_x + Q_xu k

Forward, for several lengths a of the step at once, one lane each:

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
from kinetree.optimal.chart import deviation
from kinetree.optimal.stages import (
    StageSlopes,
    Transcription,
    dot,
    product,
    symmetric_product,
)
from kinetree.scalars import maximum, minimum, where
from kinetree.spatial.matrices import factor, solve

BOX_ROUNDS = 4  # rounds that find the forces at their limits; most steps need two
BOX_SWEEPS = 2  # times along the coordinates in each round


def upper(size: int) -> tuple[Array, Array]:
    """Rows and columns of the entries on and above a diagonal."""
    return np.triu_indices(size)


def unpacked(entries: Array, size: int) -> Array:
    """The symmetric matrix of its upper entries."""
    V = np.empty((size, size), object)
    rows, columns = upper(size)
    V[rows, columns] = V[columns, rows] = entries
    return V


@dataclass(frozen=True, eq=False)
class Bounds:
    """Where u may be, (m,) or (B, m), and whether there are limits at all."""

    low: Array
    high: Array

    @property
    def any(self) -> bool:
        """Return True if some force is limited."""
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())


def backward_step(
    slopes: StageSlopes, V: Array, v: Array, s: Array, room: tuple[Array, Array] | None, mu: Any
) -> tuple[Array, ...]:
    """V, v, K, k, and k Q_u, k Q_uu k / 2 and the error of k of one stage, over any scalars.

    room: least and greatest k. mu: is added to the diagonal of Q_uu.
    """
    T, A, B = (pattern.of(s) for pattern in (slopes.T, slopes.A, slopes.B))
    v = v + product(V, slopes.gap.of(s)[:, None])[:, 0]
    v = product(T.T, v[:, None])[:, 0]
    V = symmetric_product(T, product(V, T))
    AB = np.concatenate([A, B], axis=1)
    Q = slopes.hessian.of(s) + symmetric_product(AB, product(V, AB))
    g = slopes.gradient.of(s) + product(AB.T, v[:, None])[:, 0]
    n = len(A)
    Quu, Qux, gu = Q[n:, n:], Q[n:, :n], g[n:]
    Quu = Quu + np.diag([mu] * len(gu))
    if room is None:
        L = factor(Quu, [""] * len(gu))
        k, K = -solve(L, gu), -solve(L, Qux)
        error: Any = 0.0
    else:
        k, free, error = box_minimum(Quu, gu, *room)
        L = factor(masked(Quu, free), [""] * len(gu))
        K = -solve(L, Qux * free[:, None])
    V = Q[:n, :n] + symmetric_product(Qux, K)
    v = g[:n] + product(Qux.T, k[:, None])[:, 0]
    linear, curved = dot(k, gu), dot(k, product(Quu, k[:, None])[:, 0]) * 0.5
    return V, v, K, k, np.array([linear, curved, error])


def masked(H: Array, free: Array) -> Array:
    """H among the free entries, ones on the diagonal for the others."""
    return H * np.outer(free, free) + np.diag(1 - free)


def box_minimum(H: Array, g: Array, low: Array, high: Array) -> tuple[Array, Array, Any]:
    """The minimum of g k + k H k / 2 with low <= k <= high.

    Each round goes once or twice along each coordinate, which finds the entries at their limits,
    and then takes a step of Newton among the others, if that is lower. No round is higher than the
    one before.

    Returns:
        k; 1 for entries that are free and 0 for those at a limit that holds them; the error
        |k - clip(k - gradient / H)| of the largest entry.
    """
    k = np.array([clipped(0.0, a, b) for a, b in zip(low, high, strict=True)])
    for _ in range(BOX_ROUNDS):
        for _ in range(BOX_SWEEPS):
            for i in range(len(k)):
                k[i] = clipped(k[i] - (g[i] + dot(H[i], k)) / H[i, i], low[i], high[i])
        gradient = g + product(H, k[:, None])[:, 0]
        free = free_entries(k, gradient, low, high)
        step = solve(factor(masked(H, free), [""] * len(k)), -gradient * free)
        moved = np.array([clipped(x, a, b) for x, a, b in zip(k + step, low, high, strict=True)])
        lower = height(H, g, k) - height(H, g, moved)
        k = np.array([where(lower, x, y) for x, y in zip(moved, k, strict=True)])
    gradient = g + product(H, k[:, None])[:, 0]
    error: Any = 0.0
    for i, x in enumerate(k):
        off = x - clipped(x - gradient[i] / H[i, i], low[i], high[i])
        error = maximum(error, maximum(off, -off))
    return k, free_entries(k, gradient, low, high), error


def height(H: Array, g: Array, k: Array) -> Any:
    """The value g k + k H k / 2."""
    return dot(k, g + product(H, k[:, None])[:, 0] * 0.5)


def clipped(x: Any, low: Any, high: Any) -> Any:
    """The nearest number between two limits."""
    return minimum(maximum(x, low), high)


def free_entries(k: Array, gradient: Array, low: Array, high: Array) -> Array:
    """1 for entries that the gradient does not hold at their limit, 0 for the others."""
    return np.array(
        [
            where(x - a, 1.0, where(y, 0.0, 1.0)) * where(b - x, 1.0, where(-y, 0.0, 1.0))
            for x, y, a, b in zip(k, gradient, low, high, strict=True)
        ]
    )


class Backward:
    """The backward pass, compiled: a loop over the stages from the last to the first."""

    def __init__(self, this: Transcription, slopes: StageSlopes, limited: bool) -> None:
        n, m = 2 * this.model.n, len(this.actuated)
        self.n, self.m, self.packed = n, m, n * (n + 1) // 2
        self.upper = rows, columns = upper(n)

        def rate(t: Any, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
            V, v = unpacked(x[: self.packed], n), x[self.packed : self.packed + n]
            mu = p[0]
            room = None
            if limited:
                u = s[slopes.size : slopes.size + m]
                room = p[1 : 1 + m] - u, p[1 + m : 1 + 2 * m] - u
            V, v, K, k, sums = backward_step(slopes, V, v, s[: slopes.size], room, mu)
            error = maximum(x[-1], sums[2])
            totals = np.array([x[-3] + sums[0], x[-2] + sums[1], error])
            return np.concatenate([V[rows, columns], v, totals]), np.concatenate([K.ravel(), k])

        size = self.packed + n + 3
        self.gains = m * n + m
        parameters = 1 + (2 * m if limited else 0)
        table = slopes.size + (m if limited else 0)
        self.limited = limited
        self.loop = loop(rate, size, parameters, table, [Field("y", 0, self.gains)])

    def run(
        self, end: tuple[Array, Array], slopes: Array, u: Array, bounds: Bounds, mu: Array
    ) -> tuple[Array, Array, Array, Array]:
        """K, (N, B, m, 2n), k, (N, B, m), sums, (B, 3), and v of the start, (B, 2n), of B problems.

        end: V, (B, 2n, 2n), and v, (B, 2n), of the last states. slopes: (N, B, slopes). u: (N, B, m).
        mu: (B,). The sums are those of k Q_u and of k Q_uu k / 2, and the largest error of k.
        """
        (V, v), (N, B) = end, u.shape[:2]
        rows, columns = self.upper
        state = np.concatenate([V[:, rows, columns], v, np.zeros((B, 3))], axis=1)
        params = mu[:, None]
        if self.limited:
            limits = [np.broadcast_to(x, (B, self.m)) for x in (bounds.low, bounds.high)]
            params = np.concatenate([params, *limits], axis=1)
            slopes = np.concatenate([slopes, u], axis=-1)
        record = np.empty((N, B, self.gains))
        call(self.loop, state, params, slopes[::-1, None], [record])
        gains = record[::-1]
        K, k = gains[..., : self.m * self.n], gains[..., self.m * self.n :]
        v0 = state[:, self.packed : self.packed + self.n]
        return K.reshape(N, B, self.m, self.n), k, state[:, -3:], v0


class Forward:
    """The forward pass, compiled: the plan with new forces, for several lengths of the step."""

    def __init__(self, this: Transcription, limited: bool) -> None:
        nq, n, m = this.model.nq, 2 * this.model.n, len(this.actuated)
        self.nx = nx = this.space.size
        self.m, self.limited, self.kinds = m, limited, len(this.costs)
        ends = np.cumsum([nx, m, m * n, m, n, this.layout.size])

        def rate(t: Any, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
            state, costs = x[:nx], x[nx:]
            at, u, K, k, gap, numbers = np.split(s, ends[:-1])
            moved = deviation(this.model, at[:nq], state[:nq])
            dx = np.concatenate([moved, state[nq:] - at[nq:]])
            u = u + k * p[0] + product(K.reshape(m, n), dx[:, None])[:, 0]
            if limited:
                limits = zip(u, p[1 : 1 + m], p[1 + m :], strict=True)
                u = np.array([clipped(x, a, b) for x, a, b in limits])
            reached = this.space.plus(this.next_state(state, u), gap * (p[0] - 1.0))
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


def loop(
    rate: Any, state: int, parameters: int, table: int, fields: Sequence[Field]
) -> Rollout:
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
    N, count = len(table), len(state)
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
            first=np.full((count, loop.stepping.watched), -1),
            amount=np.zeros((count, loop.stepping.watched)),
        )
    )

