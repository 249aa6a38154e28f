"""Functions with loops (`kinetree.core.repeat`), for the compiler and every backend."""

import numpy as np

from kinetree import scalars
from kinetree.core.repeat import repeat, repeated, scan
from kinetree.engine import Field, Graph, Port, Run, Stepping, optimise, trace
from kinetree.engine.compiler.stepping import NEVER

N = 3
MANY = 10**9  # rounds that no test could wait for
PORTS = (Port("D", (N, N)), Port("b", (N,)), Port("tolerance", ()))


def sweep(carried, fixed):
    """One round of a projected Gauss-Seidel iteration: x_i = max(0, b_i - sum_j x_j / D_ij).

    Carried: open, rounds, x. Divisions are not fused, so floats give the bits of a kernel.
    """
    D, b, tolerance = fixed[: N * N].reshape(N, N), fixed[N * N : -1], fixed[-1]
    x, change = list(carried[2:]), 0
    for i in range(N):
        y = b[i]
        for j in range(N):
            if j != i:
                y = y - x[j] / D[i, j]
        y = scalars.maximum(y, 0)
        change = scalars.maximum(change, abs(y - x[i]))
        x[i] = y
    return np.array([scalars.where(change - tolerance, 1, 0), carried[1] + 1, *x])


def solve(rounds):
    """The loop between operations of its own: of D, b, and a tolerance, to open, rounds and x."""

    def function(D, b, tolerance):
        start = np.array([1, 0, *(b / 2)])
        computed = repeated(sweep, rounds, start, np.array([*D.ravel(), *b, tolerance]))
        return np.array([computed[0], computed[1], *(computed[2:] * computed[1])])

    return function


def solve_graph(rounds=MANY) -> Graph:
    return optimise(trace(solve(rounds), PORTS, [("y", ())]))


def two_loops(x, p):
    """One loop after another, with sines and calls inside; the second one may never begin."""

    def first(carried, fixed):
        y = (carried[1] + fixed[0] / carried[1]) / 2
        return np.array([scalars.where(abs(y - carried[1]) - 1e-12, 1, 0), y])

    def second(carried, fixed):
        moved = carried[1] + scalars.sin(carried[2] + fixed[1]) ** 2 + 0.1
        pulled = scalars.exp(-carried[2]) + fixed[0] * scalars.minimum(fixed[1], carried[1])
        return np.array([scalars.where(3 - carried[1], 1, 0), moved, pulled])

    root = repeated(first, MANY, np.array([1, 1]), np.array([2 * p[0]]))[1]
    start, fixed = np.array([x[0], x[1], root]), np.array([root, p[1], 2.5])
    return repeated(second, 7, start, fixed), scalars.sin(root)


def two_graph() -> Graph:
    return optimise(trace(two_loops, [Port("x", (2,)), Port("p", (2,))], [("y", ()), ("s", ())]))


def nested(x):
    """A loop whose rounds have two loops, one of which needs no fixed numbers."""

    def doubled(carried, _):
        return np.array([10 - carried[1] * 2, carried[1] * 2])

    def raised(carried, fixed):
        return np.array([fixed[0] - carried[1], carried[1] * 1.5 + 0.1])

    def both(carried, fixed):
        y = repeated(raised, MANY, np.array([1, carried[1]]), carried[2:])[1]
        z = repeated(doubled, 6, np.array([1, y]), np.array([]))[1]
        return np.array([fixed[0] - z, z / 4, carried[2] + 0.5])

    return repeated(both, np.int64(30), np.array([1, *x]), np.array([100 * x[1]]))


def nested_graph() -> Graph:
    return optimise(trace(nested, [Port("x", (2,))], [("y", ())]))


STEPS = 6


def scanned(x, u, p):
    """Steps of a pendulum under forces u, (STEPS, 2), each with a loop inside.

    Returns its states at the steps, the last state, and a sum over the steps.
    """

    def halve(now, given):
        y = (now["y"] + given["a"] / now["y"]) / 2
        return {"open": scalars.where(abs(y - now["y"]) - 1e-3, 1, 0), "y": y}

    def step(now, row, given):
        a = 1 + row["u"] @ row["u"]
        root = repeat(halve, MANY, {"open": 1, "y": a}, {"a": a})["y"]
        force = row["v"] * root - given["p"][0] * scalars.sin(now["x"][0])
        x = np.array([now["x"][0] + given["p"][1] * now["x"][1], now["x"][1] + force / 8])
        return {"x": x, "sum": now["sum"] + root}, {"before": now["x"], "root": root}

    rows = {"u": u, "v": [u[k, 0] - k for k in range(STEPS)]}
    end, at = scan(step, {"x": x, "sum": 0}, rows, {"p": p, "unused": [3.0, p[0]]})
    return at["before"], end["x"], end["sum"] + at["root"][2]


SCANNED = (Port("x", (2,)), Port("u", (STEPS, 2)), Port("p", (2,)))


def scan_graph() -> Graph:
    return optimise(trace(scanned, SCANNED, [("before", ()), ("end", ()), ("sum", ())]))


def motions(count, dtype="float64"):
    """Arguments of `scanned`."""
    rng = np.random.default_rng(2)
    return [rng.normal(size=(count, *port.shape)).astype(dtype) for port in SCANNED]


def starts(count, dtype="float64"):
    """Arguments of `nested`."""
    return [np.random.default_rng(0).uniform(0.1, 2, (count, 2)).astype(dtype)]


def problems(count, dtype="float64", seed=0):
    """Arguments of `solve` that need different numbers of rounds."""
    rng = np.random.default_rng(seed)
    D = rng.uniform(2.1, 4, (count, N, N)) * rng.choice([-1, 1], (count, N, N))
    return [
        D.astype(dtype),
        rng.normal(size=(count, N)).astype(dtype),
        rng.choice([1e-1, 1e-3, 1e-5], count).astype(dtype),
    ]


def pairs(count, dtype="float64", seed=0):
    """Arguments of `two_loops`; some begin closed, one has a NaN."""
    rng = np.random.default_rng(seed)
    x, p = rng.uniform(-1, 3, (count, 2)), rng.uniform(0.2, 3, (count, 2))
    x[count // 2 :, 0] = abs(x[count // 2 :, 0])
    x[-1, 1] = np.nan
    return [x.astype(dtype), p.astype(dtype)]


def stepping() -> Stepping:
    """Explicit steps whose rate has two loops."""

    def rate(t, x, p, s):
        y, root = two_loops(x, p)
        return np.array([y[1] - x[0] * t, s[0] - x[1]]), np.array([*y, root])

    ports = [Port("t", ()), Port("x", (2,)), Port("p", (2,)), Port("s", (1,))]
    step = [Port("h", ()), Port("x", (2,)), Port("k1", (2,))]
    seen = [Port("x", (2,)), Port("k", (2,)), Port("y", (4,))]
    return Stepping(
        rate=optimise(trace(rate, ports, [("k", ()), ("y", ())])),
        stages=(optimise(trace(lambda h, x, k: x + h * k, step)),),
        watch=optimise(trace(lambda x, k, y: np.array([4 - y[1]]), seen, [("w", ())])),
        fields=(Field("x", 0, 2), Field("y", 0, 4)),
    )


def make_run(program, count, whole="int64"):
    """A run of 12 evaluations, every third of which is recorded."""
    rng, evaluations = np.random.default_rng(4), 12
    rows = np.full(evaluations, NEVER, whole)
    rows[::3] = np.arange(4)
    return Run(
        state=rng.uniform(0.2, 2, (count, 2)),
        params=rng.uniform(0.2, 3, (count, 2)),
        table=rng.normal(size=(evaluations, 1, 1, 1)),
        times=np.arange(evaluations)[:, None] * 0.1,
        h=np.full(evaluations, 0.1),
        rows=rows,
        steps=evaluations,
        records=[np.full((4, count, field.size), np.nan) for field in program.fields],
        first=np.full((count, program.watched), NEVER, whole),
        amount=np.zeros((count, program.watched)),
    )
