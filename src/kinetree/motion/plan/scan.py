"""Scans: x[k + 1] = max(floor[k], min(cap[k], P[k, 0] + Q[k, 0] x[k], P[k, 1] + ...)).

Both passes of a phase plane have this form. Every x depends on the one before, so that arrays do
not help; the loop over the knots is the loop of `simulate` in machine code
(engine/compiler/stepping.py), with the lines of each knot as inputs that change with time, and a
step that ends in its rate.
"""

import functools

import numpy as np

from kinetree.base.arrays import Array
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.stepping import NEVER, Field, Run, Stepping
from kinetree.engine.compiler.trace import trace
from kinetree.engine.rollout import Rollout
from kinetree.scalars import Scalar, maximum, minimum

LINES = 16  # counts of lines are rounded up to multiples of this, so that few loops are compiled


def scan(P: Array, Q: Array, cap: Array, floor: Array, start: float) -> Array:
    """x at all knots, (N + 1,), from x[0] = start.

    Args:
        P: of the lines of every knot, (N, L); infinite where there is none.
        Q: their slopes, (N, L), finite.
        cap: upper bounds, (N,).
        floor: lower bounds, (N,), which count before the upper bounds and the lines.
    """
    N, L = P.shape
    size = -(-L // LINES) * LINES
    table = np.empty((N + 1, 1, 1, 2 * size + 2))
    rows = table[:N, 0, 0]
    rows[:, L:size], rows[:, size + L : -2] = np.inf, 0.0
    rows[:, :L], rows[:, size : size + L], rows[:, -2], rows[:, -1] = P, Q, cap, floor
    table[N] = 0.0  # the last evaluation records the last x; no step follows it
    found = np.empty((N + 1, 1, 1))
    run = Run(
        state=np.array([[start]]),
        params=np.zeros((1, 1)),
        table=table,
        times=np.zeros((N + 1, 1)),
        h=np.zeros(N + 1),
        rows=np.arange(N + 1),
        steps=N,
        records=[found],
        first=np.full((1, 2), NEVER),
        amount=np.zeros((1, 2)),
    )
    _loop(size).run(run)
    return found[:, 0, 0]


@functools.cache
def _loop(size: int) -> Rollout:
    """The compiled loop for so many lines; counts are multiples of LINES, so there are few."""

    def step(t: Scalar, x: Array, p: Array, s: Array) -> tuple[Array, Array]:
        values = list(s[:size] + s[size : 2 * size] * x[0])
        while len(values) > 1:  # in pairs, so that a minimum waits for few others
            rest = values[2 * (len(values) // 2) :]
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [*(minimum(a, b) for a, b in pairs), *rest]
        after = maximum(s[-1], minimum(s[-2], values[0]))
        return np.array([after]), np.array([0])

    def move(h: Scalar, x: Array, k: Array) -> Array:
        return k

    def watch(x: Array, k: Array, y: Array) -> Array:
        return np.array([0])

    one = Port("x", (1,)), Port("k", (1,)), Port("y", (1,))
    ports = [Port("t", ()), one[0], Port("p", (1,)), Port("s", (2 * size + 2,))]
    return Rollout(
        Stepping(
            rate=optimise(trace(step, ports, [("k", ()), ("y", ())])),
            stages=(optimise(trace(move, [Port("h", ()), one[0], one[1]], [("out", ())])),),
            watch=optimise(trace(watch, list(one), [("w", ())])),
            fields=(Field("x", 0, 1),),
        )
    )
