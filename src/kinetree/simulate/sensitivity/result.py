"""Sensitivities: a motion with the linear system of its steps, forward and backward.

Small changes x of the state (a tangent vector of q, a change of dq, a change of the controller's
own state z) and u of inputs follow

    x_{k+1} = A_k x_k + B_k u

Forward, columns of d x/d u are carried along; backward, the slopes of a number by every state.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from kinetree.core.arrays import Array, ArrayLike
from kinetree.core.containers import refuse_labels
from kinetree.core.text import counted
from kinetree.dynamics.joints.tangents import tangent_map
from kinetree.engine.compiler.derivatives import jacobian
from kinetree.engine.compiler.graph import Graph, Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.trace import trace
from kinetree.errors import InputError, NameLookupError, ShapeError
from kinetree.model import Model
from kinetree.motion.trajectory import Trajectory
from kinetree.scalars import Scalar
from kinetree.simulate.sensitivity.inputs import STATE, Input

MAX_SLOPES = 2**28  # numbers of all derivatives of a motion, 2 GiB

FinalCost = Callable[[Array, Array], Scalar]  # of q and dq
RunningCost = Callable[[Scalar, Array, Array], Scalar]  # of t, q and dq


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivities:
    """Derivatives of a simulated motion.

    Args:
        motion: the simulation.
        model: the robot.
        inputs: the inputs that it can be differentiated by.
        A: derivatives of each step by the state before, shape (E, ..., N, N), in units of the
            state; N = 2n and the entries of a controller's own state.
        B: {input: derivatives of each step, shape (E, ..., N, *shape)}, units of the state per unit
            of the input.
    """

    motion: Trajectory
    model: Model
    inputs: tuple[Input, ...]
    A: Array
    B: Mapping[str, Array]

    def by(self, name: str) -> Array:
        """d(q, dq)/d input at every time, (T, ..., 2n, *shape), q and q0 along tangent vectors.

        The shape of a signal's values is (N, *shape). The derivative by the Coulomb friction of a
        joint that stands still is NaN.

        Args:
            name: an input of `wrt`, such as "q0" or "mass".
        """
        by, (A, B) = self._find(name), self._steps()
        n, lead, T = self.model.n, self.motion.batch_shape, len(self.motion)
        shape = (*A.shape[1:3], by.samples, by.size)
        if T * math.prod(shape) > MAX_SLOPES:
            raise InputError(
                f"d x/d {name} has {float(T * math.prod(shape)):.3g} numbers, of which "
                f"{MAX_SLOPES:.3g} are kept at most. For one number of the motion `gradient` and "
                "`cost` go backward and need no such table."
            )
        X = np.zeros(shape)
        if name in STATE:
            at = np.arange(n)
            X[:, n * STATE.index(name) + at, 0, at] = 1
        derivatives = np.empty((T, shape[0], 2 * n, *shape[2:]))
        derivatives[0] = X[:, : 2 * n]
        for k in range(len(A)):
            X = (A[k] @ X.reshape(*shape[:2], -1)).reshape(shape)
            for value, sample, weight in _samples(by, k):
                X[:, :, sample] += weight * B[name][k][:, :, value]
            derivatives[k + 1] = X[:, : 2 * n]
        return derivatives.reshape(T, *lead, 2 * n, *self._shape(by))

    @property
    def mode_changes(self) -> dict[str, Array]:
        """Steps in which a contact has another mode than in the step before, by name, (E, ...).

        Derivatives are those of the modes as they are: another input can move a change into another
        step, where they jump.
        """
        modes: dict[str, Array] = self.motion.meta.get("contact_modes", {})
        return {name: np.diff(x[:-1], axis=0, prepend=x[:1]) != 0 for name, x in modes.items()}

    def gradient(self, slopes: ArrayLike) -> dict[str, Array]:
        """Slopes of a number by every input, (..., *shape), from those by the states: backward.

        Args:
            slopes: d number/d(q, dq) at each time, shape (T, ..., 2n), along tangent vectors; in
                units of the number per rad, m, rad/s or m/s.
        """
        n, lead, T = self.model.n, self.motion.batch_shape, len(self.motion)
        refuse_labels(slopes, "slopes")
        slopes = np.asarray(slopes, float)
        if slopes.shape != (T, *lead, 2 * n):
            raise ShapeError(
                f"slopes has shape {slopes.shape}; expected {(T, *lead, 2 * n)}: d/d(q, dq) of "
                f"{T} states of {self.model.name!r}, {n} numbers each."
            )
        A, B = self._steps()
        wide = np.zeros((T, *A.shape[1:3]))
        wide[..., : 2 * n] = slopes.reshape(T, -1, 2 * n)
        totals = {x.name: np.zeros((A.shape[1], x.samples, x.size)) for x in self.inputs}
        back = wide[-1]
        for k in reversed(range(len(A))):
            for by in self.inputs:
                for value, sample, weight in _samples(by, k):
                    part = np.einsum("ki,kij->kj", back, B[by.name][k][:, :, value])
                    totals[by.name][:, sample] += weight * part
            back = np.einsum("bij,bi->bj", A[k], back) + wide[k]
        totals |= {name: back[:, n * k : n * (k + 1)] for k, name in enumerate(STATE)}
        return {x.name: totals[x.name].reshape(*lead, *self._shape(x)) for x in self.inputs}

    def _steps(self) -> tuple[Array, dict[str, Array]]:
        """A, (E, K, N, N), and B by name, (E, K, N, S, size), with the axes of the batch in one."""
        A = self.A.reshape(len(self.A), -1, *self.A.shape[-2:])
        sizes = {x.name: (x.values, x.size) for x in self.inputs}
        return A, {name: x.reshape(*A.shape[:3], *sizes[name]) for name, x in self.B.items()}

    def cost(
        self, final: FinalCost | None = None, running: RunningCost | None = None
    ) -> tuple[Array, dict[str, Array]]:
        """J, (...), and its slopes by every input, (..., *shape).

        J = final(q, dq) at the end + the sum over the steps of h running(t, q, dq) at their
        beginnings. Both functions return a number and are traced: take sin, cos and the like from
        kinetree.scalars.

        Args:
            final: cost of the last state, a traced function of (q, dq); None: zero.
            running: cost per s along the motion, a traced function of (t, q, dq); None: zero.
        """
        value, slopes = cost_slopes(self.model, self.motion, final, running)
        return value, self.gradient(slopes)

    def _shape(self, by: Input) -> tuple[int, ...]:
        return by.shape if by.weights is None else (by.samples, *by.shape)

    def _find(self, name: str) -> Input:
        named = {x.name: x for x in self.inputs}
        if name not in named:
            raise NameLookupError(
                f"the motion was not differentiated by {name!r}, only by {', '.join(named)}; name "
                "it in wrt."
            )
        return named[name]

    def __repr__(self) -> str:
        batch = f", batch {self.motion.batch_shape}" if self.motion.batch_shape else ""
        return (
            f"Sensitivities({self.model.name!r}, {counted(len(self.A), 'step')}, "
            f"{self.motion.duration:g} s{batch}, by {', '.join(x.name for x in self.inputs)})"
        )


def _samples(by: Input, k: int) -> list[tuple[int, int, float]]:
    """The number of each value that enters step k, and the samples behind it with their weights."""
    if not by.port:
        return []
    if by.weights is None:
        return [(0, 0, 1.0)]
    pairs = zip(by.weights.first[k].tolist(), by.weights.share[k].tolist(), strict=True)
    found: list[tuple[int, int, float]] = []
    for value, (first, share) in enumerate(pairs):
        found.append((value, first, 1 - share))
        found += [(value, first + 1, share)] if share else []
    return found


def cost_slopes(
    model: Model, motion: Trajectory, final: FinalCost | None, running: RunningCost | None
) -> tuple[Array, Array]:
    """J, (...), and d J/d(q, dq) at each time, (T, ..., 2n), along tangent vectors."""
    if final is None and running is None:
        raise InputError("the cost has no parts; give final(q, dq), running(t, q, dq), or both.")
    n, lead = model.n, motion.batch_shape
    value, slopes = np.zeros(lead), np.zeros((len(motion), *lead, 2 * n))
    if final is not None:
        last, slopes[-1] = _evaluated(model, final, "final", motion.q[-1], motion.dq[-1])
        value = value + last
    if running is not None:
        h = np.diff(motion.t).reshape(-1, *(1 for _ in lead))
        t = motion.t[:-1].reshape(h.shape)
        J, dJ = _evaluated(model, running, "running", motion.q[:-1], motion.dq[:-1], t)
        value = value + (h * J).sum(0)
        slopes[:-1] += h[..., None] * dJ
    return value, slopes


def _evaluated(
    model: Model, function: Callable[..., Scalar], name: str, q: Array, dq: Array, *t: Array
) -> tuple[Array, Array]:
    """The function and its slopes by (q, dq), at states of any leading shape."""
    graph, lead = _cost_graph(model, function, name, bool(t)), q.shape[:-1]
    slopes = jacobian(graph, ["q", "dq"], along={"q": partial(tangent_map, model)})
    (value,), parts = interpret(graph, *t, q, dq), interpret(slopes, *t, q, dq)
    by_q, by_dq = (np.broadcast_to(x, (*lead, model.n)) for x in parts)
    return np.broadcast_to(value, lead), np.concatenate([by_q, by_dq], -1)


def _cost_graph(model: Model, function: Callable[..., Scalar], name: str, timed: bool) -> Graph:
    """The graph of a cost: one number of q and dq, and of t if it is `timed`."""
    ports = [Port("q", (model.nq,)), Port("dq", (model.n,))]
    ports = [Port("t", ()), *ports] if timed else ports
    try:
        graph = trace(function, ports)
    except Exception as problem:
        raise InputError(
            f"{name} cannot be differentiated, because it cannot be traced: {problem}"
        ) from problem
    if [port.shape for port in graph.outputs] != [()]:
        shapes = ", ".join(str(port.shape) for port in graph.outputs)
        raise InputError(f"{name} returned arrays of shape {shapes}; expected one number.")
    return graph
