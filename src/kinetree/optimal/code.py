"""A problem as C is written from it (engine/export/plans.py): its graphs, numbers and self-test."""

from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.configuration import start_position
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.export.plans import Iteration, Stored
from kinetree.errors import InputError
from kinetree.optimal import driver
from kinetree.optimal.forward import Bounds
from kinetree.optimal.ilqr import Solver
from kinetree.optimal.riccati import ROUNDS
from kinetree.optimal.stages import Transcription, end_slopes, stage_slopes

STARTS = 20  # tried for a self-test
NOISE = 2**10  # eps of the start and the numbers, which must leave the step as it is
TRIES = 4  # plans with noise
ALLOWED_EPS = 2**18  # of the largest value of an entry; Panda in float needs 2**14
NAMES = ("FIRST_MU", "LAST_MU", "MULTIPLIER", "LENGTHS", "SHORT", "LONG", "HIDDEN")
SETTINGS = {**{name: getattr(driver, name) for name in NAMES}, "ROUNDS": ROUNDS}


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
        return this.space.plus(this.next_state(x, u, p), shift), np.sum(this.costs_of(x, u, p))

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
    this = solver.this
    names = this.model.actuator_names if this.controls else this.model.dof_names
    if stage_slopes(this).columns is not None:
        raise InputError(
            f"the slopes of a step of {this.model.name!r} are too long for C; expected "
            "method='semi_implicit_euler' and no constraints, or a smaller robot."
        )
    layout = this.layout
    places = [(slice(0, 1), "time, s")]
    for name in this.costs:
        places.append((layout.weights[name], f"weight of {name}"))
        places.append((layout.targets[name], f"target of {name}"))
    places += [(at, f"{name} of the robot") for name, at in layout.data.items()]
    return Iteration(
        this.model, graphs_of(this), len(p) - 1, this.h, p, (bounds.low, bounds.high),
        [names[k] for k in this.actuated], places, SETTINGS,
        lambda dtype: stored(solver, p, bounds, dtype),
    )  # fmt: skip


def stored(solver: Solver, p: Array, bounds: Bounds, dtype: str) -> Stored:
    """An iteration from a start near the rest position, whose step does not hang on rounding."""
    this, N = solver.this, len(p) - 1
    m, eps = len(this.actuated), float(np.finfo(dtype).eps)
    q = start_position(this.model)
    rest = np.concatenate([q, np.zeros(this.space.size - len(q))])

    def result(x0: Array, p: Array) -> tuple[Array, Array, float]:
        numbers, u = p[:, None], np.zeros((N, 1, m))
        x = solver.rollout(x0[None], u, numbers, bounds)
        plans = solver.solve(x, u, numbers, bounds, iterations=1, tolerance=0.0)
        length = plans.history[0]["length"][0] if plans.history else 0.0
        return plans.x[:, 0], plans.u[:, 0], float(length)

    for seed in range(STARTS):
        rng = np.random.default_rng(seed)
        x0 = this.space.plus(rest, rng.normal(0, 0.2, this.space.rates))
        x0 = x0.astype(dtype).astype(float)
        x, u, length = result(x0, p)
        noisy = (1 + NOISE * eps * rng.uniform(-1, 1, (TRIES, *a.shape)) for a in (x0, p))
        if length and all(result(x0 * a, p * b)[2] == length for a, b in zip(*noisy, strict=True)):
            sizes = (np.maximum(np.abs(a).max(0), 1e-3 * np.abs(a).max()) for a in (x, u))
            x_size, u_size = (ALLOWED_EPS * eps * size for size in sizes)
            return Stored(x0, np.zeros(m), x, u, (x_size, u_size))
    raise InputError(
        f"no start near the rest position of {this.model.name!r} has a better plan after one "
        f"iteration that rounding in {dtype} does not change, so that no self-test can be written; "
        "expected a cost of the joint forces, and weights of like size."
    )
