"""A problem as C is written from it (engine/export/plans.py): its graphs, numbers and self-test."""

from typing import Any

import numpy as np

from kinetree.algorithms.joints.configuration import start_position
from kinetree.base.arrays import Array
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.export.plans import Iteration, Stored
from kinetree.errors import InputError
from kinetree.optimal.forward import Bounds
from kinetree.optimal.ilqr import FIRST_MU, LENGTHS, MOST_MU, MULTIPLIER, Solver
from kinetree.optimal.riccati import ROUNDS, SWEEPS
from kinetree.optimal.stages import Transcription, end_slopes, stage_slopes

STARTS = 20  # tried for a self-test
NOISE = 16  # eps of the numbers, for the allowed difference
TRIES = 6  # plans with noise
ROOM = 8  # times their differences
SETTINGS = {
    "FIRST_MU": FIRST_MU, "MOST_MU": MOST_MU, "MULTIPLIER": MULTIPLIER, "ROUNDS": ROUNDS,
    "SWEEPS": SWEEPS, "LENGTHS": len(LENGTHS),
}  # fmt: skip


def graphs_of(this: Transcription) -> dict[str, Graph]:
    """The graphs of the functions that `iterate.c` calls."""
    x, u, p = this.ports
    slopes, end = stage_slopes(this), end_slopes(this)

    def stage(*arrays: Array) -> tuple[Any, ...]:
        values, costs = interpret(slopes.graph, *arrays)
        F = np.concatenate([slopes.A.of(values), slopes.B.of(values)], axis=1)
        others = (slopes.hessian, slopes.gradient, slopes.gap)
        return F, *(pattern.of(values) for pattern in others), np.sum(costs)

    def ended(*arrays: Array) -> tuple[Any, ...]:
        values, costs = interpret(end.graph, *arrays)
        return end.hessian.of(values), end.gradient.of(values), np.sum(costs)

    def step(x: Array, u: Array, p: Array, shift: Array) -> tuple[Any, ...]:
        return this.space.plus(this.next_state(x, u), shift), np.sum(this.costs_of(x, u, p))

    def last(x: Array, p: Array) -> Any:
        return np.sum(this.costs_of(x, None, p))

    following, other = (Port(name, x.shape) for name in ("following", "other"))
    shift = Port("shift", (this.space.rates,))
    functions: dict[str, tuple[Any, list[Port], str]] = {
        "stage": (stage, [x, u, p, following], "F H g gap cost"),
        "end": (ended, [x, p], "V v cost"),
        "step": (step, [x, u, p, shift], "next cost"),
        "last": (last, [x, p], "cost"),
        "between": (this.deviation, [x, other], "dx"),
    }
    return {
        name: optimise(trace(function, ports, [(word, ()) for word in outputs.split()]))
        for name, (function, ports, outputs) in functions.items()
    }


def iteration_of(solver: Solver, p: Array, bounds: Bounds) -> Iteration:
    """The iteration of a problem; p: numbers of its stages, (steps + 1, p)."""
    this, names = solver.this, solver.this.model.dof_names
    if not this.actuated:
        raise InputError(f"{this.model.name!r} has no motor; expected forces to plan.")
    layout = this.layout
    places = [(slice(0, 1), "time, s")]
    for name in this.costs:
        places.append((layout.weights[name], f"weight of {name}"))
        places.append((layout.targets[name], f"target of {name}"))
    graphs = graphs_of(this)
    return Iteration(
        this.model, graphs, len(p) - 1, this.h, p, (bounds.low, bounds.high),
        [names[k] for k in this.actuated], places, SETTINGS,
        lambda dtype: stored(solver, graphs, p, bounds, dtype),
    )  # fmt: skip


def stored(
    solver: Solver, graphs: dict[str, Graph], p: Array, bounds: Bounds, dtype: str
) -> Stored:
    """An iteration from a start near the rest position, with a step that rounding does not change.

    The allowed difference is that of plans whose start, numbers and matrices of the forces have
    noise of some eps.
    """
    this, N = solver.this, len(p) - 1
    m, eps = len(this.actuated), NOISE * float(np.finfo(dtype).eps)
    q = start_position(this.model)
    rest = np.concatenate([q, np.zeros(this.space.size - len(q))])

    def result(x0: Array, p: Array, mu: float) -> tuple[Array, Array, float]:
        numbers, u = p[:, None], np.zeros((N, 1, m))
        x = solver.rollout(x0[None], u, numbers, bounds)
        plans = solver.solve(x, u, numbers, bounds, iterations=1, tolerance=0.0, mu=np.array([mu]))
        length = plans.history[0]["length"][0] if plans.history else 0.0
        return plans.x[:, 0], plans.u[:, 0], float(length)

    for seed in range(STARTS):
        rng = np.random.default_rng(seed)
        x0 = this.space.plus(rest, rng.normal(0, 0.2, this.space.rates))
        x0 = x0.astype(dtype).astype(float)
        x, u, length = result(x0, p, 0.0)
        V = interpret(graphs["end"], x[-1], p[-1])[0]
        F, H, *_ = interpret(graphs["stage"], x[-2], u[-1], p[-2], x[-1])
        curvature = np.log(np.maximum(np.diag(H + F.T @ V @ F)[-m:], 1e-12)).mean()
        noise = [1 + eps * rng.uniform(-1, 1, (TRIES, *a.shape)) for a in (x0, p)]
        others = [
            result(a, b, eps * np.exp(curvature) * k / TRIES)
            for k, (a, b) in enumerate(zip(x0 * noise[0], p * noise[1], strict=True))
        ]
        if length and all(other[2] == length for other in others):
            allowed: list[Array] = []
            for k, a in enumerate((x, u)):
                size = np.maximum(np.abs(a).max(0), 1e-3 * np.abs(a).max())
                apart = np.max([np.abs(a - other[k]) for other in others], (0, 1))
                allowed.append(eps * size + ROOM * apart)
            return Stored(x0, np.zeros(m), x, u, (allowed[0], allowed[1]))
    raise InputError(
        f"no start near the rest position of {this.model.name!r} has a better plan after one "
        f"iteration that rounding in {dtype} does not change, so that no self-test can be written; "
        "expected a cost of the joint forces, and weights of like size."
    )
