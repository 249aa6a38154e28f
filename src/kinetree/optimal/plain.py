"""Iterations of iLQR in NumPy, where LLVM is missing: those of driver.py, equal to rounding."""

from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.optimal import driver
from kinetree.optimal.riccati import LEAST_PULL, ROUNDS

LENGTHS = 0.5 ** np.arange(float(driver.LENGTHS))


def run(memory: Any, b: int, iterations: int, tolerance: float) -> None:
    """Improve plan b in the memory of a solver (ilqr.Memory)."""
    solver, costs = memory.solver, memory.costs[b]
    record: dict[str, float] = dict(zip(driver.RECORD, memory.records[b].tolist(), strict=True))
    part = {name: memory.part(name)[:, b] for name in ("x", "u", "gap", "p", "gains")}
    plan, end = (part["x"], part["u"][:-1], part["p"]), solver.kernels["end"]
    if record["status"] <= driver.RUNNING:
        blocks, first = solver.slopes(*plan)
        slopes, last = end(part["x"][-1], part["p"][-1])
        if record["status"] == driver.FRESH:
            costs[:] = first.sum(0) + last
            record["first cost"] = costs.sum()
            record["status"] = driver.RUNNING if np.isfinite(costs.sum()) else driver.BAD_START
        for row in memory.history[b, :iterations]:
            if record["status"] == driver.RUNNING:
                blocks, slopes = iteration(
                    memory, memory.plans[b], part, record, costs, blocks, slopes, row, tolerance
                )
    memory.records[b] = list(record.values())


def iteration(
    memory: Any, rows: Array, part: dict[str, Array], record: dict[str, float], costs: Array,
    blocks: Array, slopes: Array, row: Array, tolerance: float,
) -> tuple[Array, Array]:  # fmt: skip
    """One iteration; returns the slopes of the stages and of the last state of the plan."""
    solver, s, total = memory.solver, memory.solver.sizes, costs.sum()
    part["gap"][:-1] = blocks[:, s.block["gap"] :][:, : s.n]
    expected, v0 = backward(memory, part, blocks, slopes, record)
    open_by = np.abs(part["gap"][:-1]).sum()
    closed, measure = open_by <= tolerance, total + driver.OF_FIRST * record["first cost"]
    small = tolerance * measure
    lost = closed and expected > 2 * measure  # more than a sum of squares can fall by
    sound = np.isfinite(expected + v0.sum()) and not lost
    multiplier = max(np.abs(v0).max(), np.abs(slopes[s.end["v"] :]).max())
    penalty = 0.0 if closed else driver.MULTIPLIER * multiplier * open_by
    first_mu = driver.FIRST_MU * record["scale"]
    row[:] = total, 0, expected, open_by, record["mu"], 0, *costs
    light = record["mu"] <= first_mu  # else mu alone may make k small
    near = sound and closed
    near = near and expected <= small * (driver.HIDDEN if record["checked"] > 1 else 1)
    if near and light:
        record["status"] = driver.CONVERGED
        return blocks, slopes
    if sound and not (near and record["checked"] == 0):
        params = solver.forward.params(LENGTHS, memory.bounds)
        x, u, tried = solver.forward.run(part["x"][0], rows[:-1, None], params)
        ends, last = solver.kernels["end"](x[-1], part["p"][-1])
        merits = (tried + last).sum(1) + (1 - LENGTHS) * penalty
        best = int(np.argmin(np.nan_to_num(merits, nan=np.inf)))
        if merits[best] < total + penalty:
            part["x"][:], part["u"][:-1], costs[:] = x[:, best], u[:, best], (tried + last)[best]
            if LENGTHS[best] < driver.SHORT:
                record["mu"] = max(10 * record["mu"], first_mu)
            elif LENGTHS[best] > driver.LONG:
                record["mu"] *= 0.1 * (record["mu"] > first_mu / 10)
            record["checked"] = 0.0
            row[[0, 1, 4]] = costs.sum(), LENGTHS[best], record["mu"]
            row[-s.kinds :] = costs
            blocks, _ = solver.slopes(part["x"], part["u"][:-1], part["p"])
            part["gap"][:-1] = blocks[:, s.block["gap"] :][:, : s.n]
            return blocks, ends[best]
    hidden = sound and closed and expected <= driver.HIDDEN * small
    check = hidden and not record["checked"]
    record["mu"] = 0.0 if check else max(10 * record["mu"], first_mu)
    record["checked"] = 1.0 if light else driver.ASKED if check else record["checked"]
    if hidden and light:
        record["status"] = driver.CONVERGED
    elif record["mu"] > record["scale"] * (1 if hidden else driver.LAST_MU):
        record["status"] = driver.STALLED
    return blocks, slopes


def backward(
    memory: Any, part: dict[str, Array], blocks: Array, slopes: Array, record: dict[str, float]
) -> tuple[float, Array]:
    """The expected decrease, and v of the start; the gains are written."""
    solver, s = memory.solver, memory.solver.sizes
    n, size, expected = s.n, s.n + s.m, 0.0
    V, v = slopes[: s.end["v"]].reshape(n, -1)[:, :n], slopes[s.end["v"] :][:n]
    work = np.zeros(s.work["end"])
    work[s.work["H"] :][: solver.H.numbers.size] = solver.H.numbers.ravel()
    record["scale"] = driver.LEAST_CURVATURE
    for t in range(len(blocks) - 1, -1, -1):
        work[solver.scatter[:, 1]] = blocks[t, solver.scatter[:, 0]]
        H = np.tril(work[s.work["H"] :][: size * s.wide].reshape(size, -1)[:, :size])
        F = blocks[t, : n * s.wide].reshape(n, -1)[:, :size]
        g, u = blocks[t, s.block["gradient"] :][:size], part["u"][t]
        room = (memory.bounds.low - u, memory.bounds.high - u) if s.limited else None
        v = v + V @ part["gap"][t]
        K, k, V, v, change, scale = stage(F, H + np.tril(H, -1).T, g, V, v, record["mu"], room)
        part["gains"][t] = np.concatenate([K, k[:, None]], axis=1).ravel()
        record["scale"], expected = max(record["scale"], scale), expected - change
    return expected, v


def stage(
    F: Array, H: Array, g: Array, V: Array, v: Array, mu: float, room: tuple[Array, Array] | None
) -> tuple[Array, Array, Array, Array, float, float]:
    """K, k, V, v, expected change and largest Q_uu of a stage in NumPy, without LLVM."""
    n = len(V)
    Q, g = H + F.T @ V @ F, g + F.T @ v
    M, Q_ux, g_u = Q[n:, n:] + mu * np.eye(len(g) - n), Q[n:, :n], g[n:]
    scale = float(np.diag(Q)[n:].max())
    if not np.isfinite(M).all() or not (np.linalg.eigvalsh(M) > 0).all():
        return Q_ux, g_u, V, v, np.nan, scale
    k, free = -np.linalg.solve(M, g_u), np.ones(len(M), bool)
    if room is not None:
        k, free = box(M, g_u, *room)
    K = np.zeros_like(Q_ux)
    K[free] = -np.linalg.solve(M[np.ix_(free, free)], Q_ux[free])
    V = Q[:n, :n] + Q_ux.T @ K
    return K, k, (V + V.T) / 2, g[:n] + Q_ux.T @ k, float(k @ g_u + k @ M @ k / 2), scale


def box(M: Array, g: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The minimum of g k + k M k / 2 within limits, and which entries are free; as `Backward`."""
    k = np.clip(-np.linalg.solve(M, g), low, high)
    inward = lambda: np.where(k <= low, -1, 1) * (g + M @ k)  # noqa: E731
    free = ~(((k <= low) | (k >= high)) & (inward() < 0))
    for _ in range(ROUNDS * len(k)):
        y = np.zeros(len(k))
        y[free] = -np.linalg.solve(M[np.ix_(free, free)], (g + M @ k)[free])
        with np.errstate(all="ignore"):
            lengths = np.where(y == 0, np.inf, (np.where(y < 0, low, high) - k) / y)
        stopped = int(np.argmin(lengths))
        if lengths[stopped] < 1:
            k = np.clip(k + lengths[stopped] * y, low, high)
            k[stopped], free[stopped] = (low if y[stopped] < 0 else high)[stopped], False
            continue
        k = np.clip(k + y, low, high)
        pull = np.where(free, 0, inward())
        if pull.max() <= LEAST_PULL * np.abs(g).max():
            break
        free[np.argmax(pull)] = True
    return k, free
