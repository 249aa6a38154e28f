"""Stages: one step of a plan as graphs: where it leads, what it costs, and how both change.

With x = (q, dq), the controls u of the motors and the numbers p of a stage (its time, and weights
and target of every cost), a stage leads to F(x, u) and costs l(x, u, p). Deviations of x are
tangent vectors, 2n numbers. The slopes of a stage are

    deviation of F = A dx + B du
    l = l0 + l_x dx + l_u du + (dx, du) H (dx, du) / 2,   H = J^T W J  (Gauss and Newton)

Entries that are the same number in every state are known once and for all; the others are one
vector of a stage, the `slopes`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algorithms.state import StateSpace, tangents
from kinetree.base.arrays import Array
from kinetree.engine.compiler.derivatives import jacobian
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernels.compile import trace_quantity
from kinetree.engine.kernels.step import whole_step
from kinetree.model import Model
from kinetree.optimal.chart import deviation, position_slopes, tangent_scales
from kinetree.optimal.costs import Cost
from kinetree.optimal.residuals import KINDS, Stage, residual_of, size_of, target_of

EULER = "semi_implicit_euler"


@dataclass(frozen=True, eq=False)
class Layout:
    """Places of the time, and of weights and target of each cost, in the numbers p of a stage."""

    weights: dict[str, slice]
    targets: dict[str, slice]
    size: int


def layout_of(model: Model, costs: Mapping[str, Cost]) -> Layout:
    """The layout for these costs; p[0] is the time."""
    weights, targets, end = {}, {}, 1
    for name, cost in costs.items():
        size, aim = size_of(cost, model), target_of(cost, model).shape[-1]
        weights[name] = slice(end, end + size)
        targets[name] = slice(end + size, end + size + aim)
        end += size + aim
    return Layout(weights, targets, end)


@dataclass(frozen=True, eq=False)
class Pattern:
    """A matrix whose entries are numbers, or entries of the slopes of a stage.

    places: the entry of the slopes, -1 for a number. numbers: its value.
    """

    places: Array
    numbers: Array

    def of(self, slopes: Array) -> Array:
        """The matrix, over the scalars of the slopes; numbers stay numbers."""
        entries = np.empty(self.places.size, object)
        flat = zip(self.places.ravel(), self.numbers.ravel(), strict=True)
        entries[:] = [slopes[k] if k >= 0 else float(x) for k, x in flat]
        return entries.reshape(self.places.shape)


@dataclass(frozen=True, eq=False)
class Transcription:
    """A robot, a time step and costs, from which all graphs of the solvers are made.

    Args:
        model: the robot.
        h: the time step, s.
        actuated: the degrees of freedom with a motor, whose forces are u.
        costs: by name.
        method: of one step.
    """

    model: Model
    h: float
    actuated: tuple[int, ...]
    costs: dict[str, Cost]
    method: str = EULER

    @property
    def space(self) -> StateSpace:
        """States x = (q, dq)."""
        return StateSpace(self.model)

    @property
    def layout(self) -> Layout:
        """Places in the numbers of a stage."""
        return layout_of(self.model, self.costs)

    @property
    def ports(self) -> tuple[Port, Port, Port]:
        """x, u and p."""
        sizes = {"x": self.space.size, "u": len(self.actuated), "p": self.layout.size}
        return tuple(Port(name, (size,)) for name, size in sizes.items())  # type: ignore[return-value]

    def deviation(self, x0: Array, x1: Array) -> Array:
        """The tangent vector from the state x0 to x1, over any scalars."""
        (q0, *flat0), (q1, *flat1) = self.space.split(x0), self.space.split(x1)
        moved = deviation(self.model, q0, q1)
        return np.concatenate([moved, *(b - a for a, b in zip(flat0, flat1, strict=True))])

    def forces(self, u: Array) -> Array:
        """Joint forces of all degrees of freedom, (n,)."""
        tau = np.zeros(self.model.n, object)
        tau[list(self.actuated)] = u
        return tau

    def next_state(self, x: Array, u: Array) -> Array:
        """F(x, u), over any scalars."""
        step = whole_step(f"step_{self.method}")(self.model, True, None)
        q, dq, _ = self.space.split(x)
        return np.concatenate(step(q, dq, self.forces(u), self.h))

    def residuals(self, x: Array, u: Array | None, p: Array) -> dict[str, Array]:
        """The residual of each cost that the stage has, over any scalars."""
        q, dq, _ = self.space.split(x)
        stage = Stage(self.model, p[0], q, dq, None if u is None else self.forces(u))
        return {
            name: residual_of(cost, stage, p[self.layout.targets[name]])
            for name, cost in self.costs.items()
            if u is not None or not KINDS[type(cost)].forces
        }

    def costs_of(self, x: Array, u: Array | None, p: Array) -> list[Any]:
        """l of each cost in their order; 0 for one that the stage does not have."""
        scale = 0.5 if u is None else 0.5 * self.h
        residuals = self.residuals(x, u, p)
        return [
            scale * (p[self.layout.weights[name]] @ residuals[name] ** 2)
            if name in residuals
            else 0.0
            for name in self.costs
        ]


def linear_step(this: Transcription, x: Array, u: Array, reached: Array) -> list[Array]:
    """A and B at a state, over traced scalars; reached: F(x, u)."""
    model, h, n = this.model, this.h, this.model.n
    q, dq, _ = this.space.split(x)
    motors = list(this.actuated)
    if this.method == EULER and model.constraints is None:
        graph = trace_quantity(model, "forward_dynamics_derivatives")
        by_q, by_dq, by_tau = interpret(graph, q, dq, this.forces(u))
        one, zero = np.eye(n, dtype=int), np.zeros((n, n), int)
        A = np.block([[one, zero], [h * by_q, one + h * by_dq]])
        B = np.concatenate([zero[:, motors], h * by_tau[:, motors]])
        along, turned = position_slopes(model, reached[model.nq :] * h)
        T = np.block([[along, h * turned], [zero, one]])
        return [product(T, A), product(T, B)]
    graph = trace(this.next_state, this.ports[:2], [("next", ())])
    slopes = jacobian(graph, along={"x": lambda x: tangents(this.space, x)}, mode="forward")
    by_x, by_u = interpret(slopes, x, u)
    left = left_inverse(this, reached)
    return [product(left, by_x), product(left, by_u)]


def left_inverse(this: Transcription, x: Array) -> Array:
    """The matrix that makes a change of the entries of x a tangent vector, (2n, nx)."""
    scales = np.concatenate([tangent_scales(this.model), np.ones(this.model.n, int)])
    return scales[:, None] * tangents(this.space, x).T


def quadratic_cost(this: Transcription, x: Array, u: Array | None, p: Array) -> tuple[Array, Array]:
    """Gradient and Hessian of Gauss and Newton of l by (dx, du), over traced scalars."""
    ports = list(this.ports if u is not None else (this.ports[0], this.ports[2]))
    names = list(this.residuals(x, u, p))

    def stacked(*arrays: Array) -> Array:
        x, u, p = arrays if u_given else (arrays[0], None, arrays[1])
        return np.concatenate([np.zeros(0), *this.residuals(x, u, p).values()])

    u_given = u is not None
    graph = trace(stacked, ports, [("r", ())])
    arrays = [x, u, p] if u is not None else [x, p]
    wrt = ["x", "u"] if u_given else ["x"]
    slopes = jacobian(graph, wrt, along={"x": lambda x: tangents(this.space, x)}, mode="forward")
    (r,) = interpret(graph, *arrays)
    J = np.concatenate(interpret(slopes, *arrays), axis=1)
    scale = this.h if u_given else 1
    w = np.concatenate([np.zeros(0), *(p[this.layout.weights[name]] for name in names)]) * scale
    weighted = J * w[:, None]
    return product(weighted.T, r[:, None])[:, 0], symmetric_product(J, weighted)


def product(a: Array, b: Array) -> Array:
    """The product of two matrices without the terms that are zero."""
    c = np.empty((len(a), b.shape[1]), object)
    for i, row in enumerate(a):
        for j in range(b.shape[1]):
            c[i, j] = dot(row, b[:, j])
    return c


def symmetric_product(a: Array, b: Array) -> Array:
    """The product of the transposed a with b, which is known to be symmetric."""
    size = a.shape[1]
    c = np.empty((size, size), object)
    for i in range(size):
        for j in range(i, size):
            c[i, j] = c[j, i] = dot(a[:, i], b[:, j])
    return c


def dot(a: Array, b: Array) -> Any:
    """The product of two vectors without the terms that are zero."""
    total: Any = 0
    for x, y in zip(a, b, strict=True):
        if is_number(x, 0) or is_number(y, 0):
            continue
        term = y if is_number(x, 1) else x if is_number(y, 1) else x * y
        total = term if is_number(total, 0) else total + term
    return total


def is_number(x: Any, value: float) -> bool:
    """Return True for a plain number of this value."""
    return isinstance(x, int | float | np.number) and x == value


@dataclass(frozen=True, eq=False)
class StageSlopes:
    """The kernel graph of the slopes of a stage, and where they stand in the matrices.

    graph: of x, u, p and the next state of the plan; the results are the slopes, and l by cost.
    """

    graph: Graph
    A: Pattern
    B: Pattern
    gap: Pattern
    gradient: Pattern
    hessian: Pattern

    @property
    def size(self) -> int:
        """The number of slopes."""
        return self.graph.outputs[0].size


def stage_slopes(this: Transcription) -> StageSlopes:
    """Trace the slopes of a stage."""
    x, u, p = this.ports

    def function(x: Array, u: Array, p: Array, following: Array) -> tuple[Array, ...]:
        reached = this.next_state(x, u)
        return (
            *linear_step(this, x, u, reached), this.deviation(following, reached),
            *quadratic_cost(this, x, u, p), np.array(this.costs_of(x, u, p)),
        )  # fmt: skip

    return StageSlopes(*separated(function, [x, u, p, Port("following", x.shape)]))


@dataclass(frozen=True, eq=False)
class EndSlopes:
    """The same of the last state: graph of x and p."""

    graph: Graph
    gradient: Pattern
    hessian: Pattern


def end_slopes(this: Transcription) -> EndSlopes:
    """Trace the slopes of the last state."""
    x, _, p = this.ports

    def function(x: Array, p: Array) -> tuple[Array, ...]:
        return *quadratic_cost(this, x, None, p), np.array(this.costs_of(x, None, p))

    return EndSlopes(*separated(function, [x, p]))


def separated(function: Callable[..., Any], ports: Sequence[Port]) -> tuple[Any, ...]:
    """A graph whose first result has all entries that are no numbers, and the patterns.

    The last result of the function, the costs, stays a result of its own.
    """
    whole = trace(function, ports)
    places: dict[int, int] = {}
    patterns = []
    for port, nodes in zip(whole.outputs[:-1], whole.results[:-1], strict=True):
        at, numbers = np.full(len(nodes), -1), np.zeros(len(nodes))
        for k, node in enumerate(nodes):
            if whole.nodes[node].op == "const":
                numbers[k] = whole.nodes[node].value
            else:
                at[k] = places.setdefault(node, len(places))
        patterns.append(Pattern(at.reshape(port.shape), numbers.reshape(port.shape)))
    if not places:  # a kernel has at least one result
        places[whole.results[-1][0]] = 0
    outputs = Port("slopes", (len(places),)), Port("costs", (len(whole.results[-1]),))
    graph = replace(whole, outputs=outputs, results=(tuple(places), whole.results[-1]))
    return optimise(graph), *patterns
