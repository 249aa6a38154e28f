"""Stages: one step of a plan as graphs: where it leads, what it costs, and how both change.

With x = (q, dq, z), the forces or controls u and the numbers p of a stage (its time, weights and
target of every cost, and robot data that differ between problems), a stage leads to F(x, u, p) and
costs l(x, u, p). z has the activations of actuators and, where a cost asks for the change of u,
the u of the step before. Deviations of x are tangent vectors. The slopes of a stage are

    deviation of F = A dx + B du
    l = l0 + l_x dx + l_u du + (dx, du) H (dx, du) / 2,   H = J^T W J  (Gauss and Newton)

Entries that are the same number in every state are known once and for all; the others are one
vector of a stage, the `slopes`.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.methods import METHODS
from kinetree.dynamics.state import StateSpace, tangents
from kinetree.engine.compiler.derivatives import jacobian, jvp
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.optimise import optimise
from kinetree.engine.compiler.trace import trace
from kinetree.engine.kernels.compile import trace_quantity
from kinetree.engine.kernels.free import free_ports, with_free
from kinetree.engine.kernels.step import joint_forces, step_name, whole_step
from kinetree.model import Model
from kinetree.optimal.chart import deviation, position_slopes, tangent_scales
from kinetree.optimal.costs import Cost
from kinetree.optimal.residuals import KINDS, Stage, key_of, shape_of, size_of

EULER = "semi_implicit_euler"
# operations of a Jacobian that is traced as a whole; longer ones compile for minutes
LONGEST_JACOBIAN = 300_000


@dataclass(frozen=True, eq=False)
class Layout:
    """Places of the weights and target of each cost and of robot data in the numbers p."""

    weights: dict[str, slice]
    targets: dict[str, slice]
    data: dict[str, slice]
    size: int


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
        actuated: the degrees of freedom with a motor, whose forces are u; with controls, the
            numbers of the actuators, whose controls are u.
        costs: by name.
        method: of one step.
        controls: whether u are controls.
        free: names of robot data that stand in the numbers p.
    """

    model: Model
    h: float
    actuated: tuple[int, ...]
    costs: dict[str, Cost]
    method: str = EULER
    controls: bool = False
    free: tuple[str, ...] = ()

    @cached_property
    def key(self) -> tuple[Hashable, ...]:
        """Everything that decides the graphs, beside the robot."""
        kinds = tuple((name, *key_of(cost)) for name, cost in self.costs.items())
        return self.h, self.actuated, self.method, self.controls, self.free, kinds

    @property
    def activations(self) -> int:
        """Number of activations in z."""
        return len(self.model.activation_names) if self.controls else 0

    @property
    def remembers(self) -> bool:
        """Whether z ends with the u of the step before."""
        return any(KINDS[type(cost)].changes for cost in self.costs.values())

    @property
    def space(self) -> StateSpace:
        """States x = (q, dq, z)."""
        return StateSpace(self.model, self.activations + self.remembers * len(self.actuated))

    @cached_property
    def layout(self) -> Layout:
        """Places in the numbers of a stage; p[0] is the time."""
        weights, targets, end = {}, {}, 1
        for name, cost in self.costs.items():
            size = size_of(cost, self.model, len(self.actuated))
            aim = prod(shape_of(cost, self.model, len(self.actuated)))
            weights[name] = slice(end, end + size)
            targets[name] = slice(end + size, end + size + aim)
            end += size + aim
        data = {}
        for port in free_ports(self.model, self.free):
            data[port.name] = slice(end, end := end + port.size)
        return Layout(weights, targets, data, end)

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

    def robot(self, p: Array | None) -> Model:
        """The robot with its free data from the numbers p."""
        if not self.free:
            return self.model
        assert p is not None
        ports = free_ports(self.model, self.free)
        data = [p[self.layout.data[port.name]].reshape(port.shape) for port in ports]
        return with_free(self.model, self.free, data)

    def parts(self, x: Array, u: Array) -> tuple[Array, dict[str, Array]]:
        """Joint forces that are asked for, (n,), and the arguments of a step beside them."""
        tau = np.zeros(self.model.n, object)
        if not self.controls:
            tau[list(self.actuated)] = u
            return tau, {}
        activation = self.space.split(x)[2][: self.activations]
        return tau, {"controls": u} | ({"activation": activation} if self.activations else {})

    def acting(self, x: Array, u: Array) -> tuple[Array, Array]:
        """Joint forces behind actuators and drives, (n,), and z after a step, over any scalars."""
        tau, arguments = self.parts(x, u)
        q, dq, z = self.space.split(x)
        at, asked = (q, dq, z[: self.activations]), {**arguments, "h": self.h}
        forces, _, after = joint_forces(self.model, METHODS[self.method], at, tau, asked)
        return forces, np.concatenate([after, *([u] if self.remembers else [])])

    def next_state(self, x: Array, u: Array, p: Array | None = None) -> Array:
        """F(x, u, p), over any scalars; p matters where robot data are free."""
        tau, arguments = self.parts(x, u)
        name = step_name(self.method, controls=self.controls, activation=self.activations > 0)
        step = whole_step(name, marked=False, stops=False)(self.robot(p), not self.free, None)
        q, dq, _ = self.space.split(x)
        reached = step(q, dq, tau, self.h, *arguments.values())
        return np.concatenate([*reached, *([u] if self.remembers else [])])

    def residuals(self, x: Array, u: Array | None, p: Array) -> dict[str, Array]:
        """The residual of each cost that the stage has, over any scalars."""
        q, dq, z = self.space.split(x)
        tau = change = None
        if u is not None:
            tau = self.acting(x, u)[0] if self.controls else self.parts(x, u)[0]
            change = (u - z[self.activations :]) * (1 / self.h) if self.remembers else None
        stage = Stage(self.robot(p), p[0], q, dq, tau, change)
        return {
            name: KINDS[type(cost)].residual(cost, stage, p[self.layout.targets[name]])
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


def linear_step(this: Transcription, x: Array, u: Array, p: Array, reached: Array) -> list[Array]:
    """A and B at a state, over traced scalars; reached: F(x, u, p)."""
    model, h, n = this.model, this.h, this.model.n
    q, dq, _ = this.space.split(x)
    if this.method == EULER and model.constraints is None:
        acting = trace(this.acting, this.ports[:2], [("tau", ()), ("z", ())])
        tau_x, tau_u, z_x, z_u = interpret(_by_state(this, acting), x, u)
        graph = trace_quantity(model, "forward_dynamics_derivatives", free=this.free)
        data = [p[place] for place in this.layout.data.values()]
        by_q, by_dq, by_tau = interpret(graph, q, dq, interpret(acting, x, u)[0], *data)
        one, zero = np.eye(n, dtype=int), np.zeros((n, n), int)
        by_z = np.zeros((n, this.space.extra), int)
        ddq_x = added(np.concatenate([by_q, by_dq, by_z], axis=1), product(by_tau, tau_x))
        dq_x = added(np.concatenate([zero, one, by_z], axis=1), h * ddq_x)
        A = np.concatenate([np.concatenate([one, zero, by_z], axis=1), dq_x, z_x])
        B = np.concatenate([np.zeros(tau_u.shape, int), h * product(by_tau, tau_u), z_u])
        along, turned = position_slopes(model, reached[model.nq : model.nq + n] * h)
        T = np.eye(this.space.rates, dtype=object)
        T[:n, :n], T[:n, n : 2 * n] = along, h * turned
        return [product(T, A), product(T, B)]
    slopes = _by_state(this, trace(this.next_state, this.ports, [("next", ())]))
    left = left_inverse(this, reached)
    return [product(left, by) for by in interpret(slopes, x, u, p)]


def _by_state(this: Transcription, graph: Graph) -> Graph:
    """The Jacobians of a graph by the tangent vector of x and, where it is an input, by u."""
    wrt = [port.name for port in graph.inputs if port.name in ("x", "u")]
    along = {"x": lambda x: tangents(this.space, x)}
    return jacobian(graph, wrt, along=along, mode="forward")


def columns_of(this: Transcription) -> Graph | None:
    """The graph of one column of (A, B) where all of them would be too long to compile.

    Its arguments are x, u, p and v, with the column (A, B) v. None: the graph of a stage has all.
    """
    if this.method == EULER and this.model.constraints is None:
        return None
    graph = trace(this.next_state, this.ports, [("next", ())])
    size = this.space.rates
    if len(graph.nodes) * (size + len(this.actuated)) <= LONGEST_JACOBIAN:
        return None
    slope = jvp(graph, ["x", "u"])

    def column(x: Array, u: Array, p: Array, v: Array) -> Array:
        (reached,) = interpret(graph, x, u, p)
        (changed,) = interpret(slope, x, u, p, tangents(this.space, x) @ v[:size], v[size:])
        return product(left_inverse(this, reached), changed[:, None])[:, 0]

    v = Port("v", (size + len(this.actuated),))
    return optimise(trace(column, [*this.ports, v], [("column", ())]))


def left_inverse(this: Transcription, x: Array) -> Array:
    """The matrix that makes a change of the entries of x a tangent vector, (rates, nx)."""
    flat = this.space.rates - this.model.n
    scales = np.concatenate([tangent_scales(this.model), np.ones(flat, int)])
    return scales[:, None] * tangents(this.space, x).T


def quadratic_cost(this: Transcription, x: Array, u: Array | None, p: Array) -> tuple[Array, Array]:
    """Gradient and Hessian of Gauss and Newton of l by (dx, du), over traced scalars."""
    arrays = [x, p] if u is None else [x, u, p]

    def stacked(x: Array, *others: Array) -> Array:
        u, p = others if len(others) == 2 else (None, *others)
        return np.concatenate([np.zeros(0), *this.residuals(x, u, p).values()])

    graph = trace(stacked, this.ports[::2] if u is None else this.ports, [("r", ())])
    (r,) = interpret(graph, *arrays)
    J = np.concatenate(interpret(_by_state(this, graph), *arrays), axis=1)
    places = [p[this.layout.weights[name]] for name in this.residuals(x, u, p)]
    w = np.concatenate([np.zeros(0), *places]) * (1 if u is None else this.h)
    weighted = J * w[:, None]
    return product(weighted.T, r[:, None])[:, 0], symmetric_product(J, weighted)


def product(a: Array, b: Array) -> Array:
    """The product of two matrices without the terms that are zero."""
    c = np.empty((len(a), b.shape[1]), object)
    for i, row in enumerate(a):
        for j in range(b.shape[1]):
            c[i, j] = dot(row, b[:, j])
    return c


def added(a: Array, b: Array) -> Array:
    """The sum of two matrices without the terms that are zero."""
    pairs = zip(a.ravel(), b.ravel(), strict=True)
    c = np.empty(a.size, object)
    c[:] = [y if is_number(x, 0) else x if is_number(y, 0) else x + y for x, y in pairs]
    return c.reshape(a.shape)


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
    columns: None, or the graph of a column of (A, B), whose columns follow the slopes of `graph`.
    """

    graph: Graph
    A: Pattern
    B: Pattern
    gap: Pattern
    gradient: Pattern
    hessian: Pattern
    columns: Graph | None = None


def stage_slopes(this: Transcription) -> StageSlopes:
    """Trace the slopes of a stage."""
    (x, u, p), columns = this.ports, columns_of(this)
    n, m = this.space.rates, len(this.actuated)

    def function(x: Array, u: Array, p: Array, following: Array) -> tuple[Array, ...]:
        reached = this.next_state(x, u, p)
        linear = [] if columns else linear_step(this, x, u, p, reached)
        return (
            *linear, this.deviation(following, reached),
            *quadratic_cost(this, x, u, p), np.array(this.costs_of(x, u, p)),
        )  # fmt: skip

    graph, *patterns = separated(function, [x, u, p, Port("following", x.shape)])
    if columns:
        places = graph.outputs[0].size + np.arange((n + m) * n).reshape(n + m, n).T
        patterns = [Pattern(a, a * 0.0) for a in np.split(places, [n], axis=1)] + patterns
    return StageSlopes(graph, *patterns, columns=columns)


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
                numbers[k] = whole.nodes[node].number
            else:
                at[k] = places.setdefault(node, len(places))
        patterns.append(Pattern(at.reshape(port.shape), numbers.reshape(port.shape)))
    if not places:  # a kernel has at least one result
        places[whole.results[-1][0]] = 0
    outputs = Port("slopes", (len(places),)), Port("costs", (len(whole.results[-1]),))
    graph = replace(whole, outputs=outputs, results=(tuple(places), whole.results[-1]))
    return optimise(graph), *patterns
