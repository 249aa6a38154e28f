"""How the rates k = (dq, ddq, dz) of a system change with its state and its inputs.

From tau = ID(q, dq, ddq, F_ext, data), inverse dynamics, follows

    M d ddq = d tau - d ID,    ddq held in d ID

so that the robot's part comes from the recursion for derivatives of inverse dynamics and from the
regressor; only forces and controllers are differentiated through their graphs.
"""

# TODO merge docstring of kinetree.simulate.sensitivity.rates:
# What acts on a robot, f = (tau, dz, F_ext), and how it changes with the state and with inputs.
# TODO merge docstring of kinetree.simulate.sensitivity.rates:
# Between tangent vectors of states and changes of their coordinates, for many states at once.

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from kinetree.algorithms import parameters, with_parameters
from kinetree.algorithms.derivatives import tangent_map
from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.compiler.derivatives import jacobian
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.interpret import interpret
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.errors import InputError
from kinetree.kernels.compile import compile_derivative, compile_kernel
from kinetree.model import Model
from kinetree.simulate.core.external import ExternalInputs
from kinetree.simulate.core.state import StateSpace, plain
from kinetree.simulate.core.system import Actors
from kinetree.simulate.sensitivity.inputs import PARAMETERS, STATE, Input

DOUBLE = ("float64",)


class ForceChanges:
    """f, (f,), of t, x, p, s, and its slopes by x, by constants and by samples."""

    def __init__(
        self,
        space: StateSpace,
        actors: Actors,
        external: ExternalInputs,
        constants: Sequence[Input],
        samples: Sequence[Input],
    ) -> None:
        self.constants, self.samples = constants, samples
        by_pi = actors.controller is not None and any(x.name == PARAMETERS for x in constants)
        self.pi = [checked_parameters(space)] if by_pi else []
        graph = forces_graph(space, actors, external, len(self.pi[0]) if by_pi else 0)
        self.fed = {"p": [x for x in constants if x.place is not None], "s": list(samples)}
        self.wrt = ["x", *(name for name, given in self.fed.items() if given)]
        self.wrt += ["pi"] if by_pi else []
        self.graph = graph
        slope = self.differentiated(graph, space)
        # constant forces have slopes of zeros and ones, for which no code is needed
        idle = slope.operations == 0
        self.slope = partial(interpret, slope) if idle else Kernel(slope, "slopes", dtypes=DOUBLE)

    @cached_property
    def value(self) -> Kernel:
        """The kernel of f, where its wrenches are needed."""
        return Kernel(self.graph, "forces", dtypes=DOUBLE)

    def differentiated(self, graph: Graph, space: StateSpace) -> Graph:
        """d f/d(x along tangents; what is asked for of p and s; pi)."""
        sizes = {port.name: port.size for port in graph.inputs}
        along: dict[str, Any] = {"x": lambda x: tangents(space, x)}
        for name in self.wrt[1:]:
            if name in self.fed:
                along[name] = lambda _, name=name: chosen(sizes[name], self.fed[name])
        return optimise(jacobian(graph, self.wrt, along=along))

    def values(self, t: Array, x: Array, p: Array, s: Array) -> Array:
        """f, (S, f), of S states."""
        return self.value(t, x, p, s, *self.pi)

    def slopes(self, t: Array, x: Array, p: Array, s: Array) -> tuple[Array, Array, Array]:
        """By x, (S, f, N), by constants, (S, f, c), and by samples, (S, f, s)."""
        found = self.slope(t, x, p, s, *self.pi)
        found = found if isinstance(found, tuple) else (found,)
        by = dict(zip(self.wrt, found, strict=True))
        lead, at = by["x"].shape[:-1], 0
        columns = [np.zeros((*lead, 0))]
        for given in self.constants:
            if given.place is not None:
                columns.append(by["p"][..., at : at + given.size])
                at += given.size
            else:
                columns.append(by["pi"] if self.pi else np.zeros((*lead, given.size)))
        return by["x"], np.concatenate(columns, -1), by.get("s", np.zeros((*lead, 0)))


def forces_graph(
    space: StateSpace, actors: Actors, external: ExternalInputs, parameter_count: int
) -> Graph:
    """The graph of f(t, x, p, s), and of pi where the controller may look at the robot."""

    def forces(t: Any, x: Array, p: Array, s: Array, *pi: Array) -> Array:
        given = external.named(p, s)
        own = actors.changed(space.model, given)
        own = with_parameters(own, pi[0]) if pi else own
        q, dq, z = space.split(x)
        tau, dz = actors.forces(own, t, q, dq, z, given)
        F_ext = actors.wrenches(t, q, dq, given)
        load = [] if F_ext is None else [np.ravel(F_ext)]
        return np.concatenate([tau, dz, *load])

    sizes = {"x": space.size, "p": external.params_size, "s": external.table_size}
    sizes |= {"pi": parameter_count} if parameter_count else {}
    ports = [Port("t", ()), *(Port(name, (size,)) for name, size in sizes.items())]
    return traced_forces(space.model, forces, ports, "f")


def traced_forces(
    model: Model, function: Callable[..., Array], ports: Sequence[Port], name: str
) -> Graph:
    """The graph of a function in which forces act, or why there is none."""
    try:
        return optimise(trace(function, ports, [(name, ())]))
    except Exception as problem:
        reason = str(problem).splitlines()[0] if str(problem) else "no reason given"
        raise InputError(
            f"the forces on {model.name!r} cannot be differentiated, because they cannot be "
            f"traced: {type(problem).__name__}: {reason} Write laws with sin, cos, where and "
            "clip of kinetree.scalars and without `if` on q."
        ) from problem


def checked_parameters(space: StateSpace) -> Array:
    """Pi of the robot, to be traced with its centres of mass, which massless links do not have."""
    model = space.model
    for name, m in zip(model.link_names, model.m, strict=True):
        if m == 0:
            raise InputError(
                f"link {name!r} has no mass, so its centre has no slope by 'parameters', which "
                "controllers and \"dop853\" need. Give the link a mass, ask for 'mass', 'com' and "
                "'inertia', or take method=\"rk4\" without a controller."
            )
    return np.asarray(parameters(model), float)


def chosen(size: int, inputs: Sequence[Input]) -> Array:
    """Columns of the identity at the places of the inputs, (size, c)."""
    places = [k for x in inputs for k in range(size)[x.place or slice(0)]]
    return np.eye(size, dtype=int)[:, places]


def tangents(space: StateSpace, x: Array) -> Array:
    """Directions of the entries of x along tangent vectors, (x, N)."""
    nq, rest = space.model.nq, space.size - space.model.nq
    N = tangent_map(space.model, x[:nq])
    upper = np.concatenate([N, np.zeros((nq, rest), int)], -1)
    lower = np.concatenate([np.zeros((rest, space.model.n), int), np.eye(rest, dtype=int)], -1)
    return np.concatenate([upper, lower])


class TangentMaps:
    """Both ways on a space; quaternions that have left length 1 are brought back to it."""

    def __init__(self, space: StateSpace) -> None:
        self.space, self.plain = space, plain(space.model)
        ports = [Port("x", (space.size,))]
        self.graph = None if self.plain else trace(lambda x: tangents(space, x), ports)

    def out(self, x: Array) -> Array:
        """Changes of the coordinates for unit tangent vectors, (S, x, N)."""
        if self.graph is None:
            return np.broadcast_to(np.eye(self.space.size), (len(x), self.space.size, x.shape[-1]))
        return interpret(self.graph, x)[0]

    def back(self, x: Array, dx: Array) -> Array:
        """Tangent vectors at the state with unit quaternions, (S, c, N), of dx, (S, c, x)."""
        if self.graph is None:
            return dx
        length = self.lengths(x)
        N = self.out(x / length)
        return (dx / length[:, None]) @ N / (N * N).sum(-2)[:, None]  # columns are orthogonal

    def lengths(self, x: Array) -> Array:
        """Lengths of quaternions for each of their entries, 1 for all others, (S, x)."""
        found = np.ones_like(x)
        for joint in self.space.model.joints:
            if joint.type in (SPHERICAL, FREE) and joint.follows is None:
                own = list(joint.coords[:4])
                found[:, own] = np.linalg.norm(x[:, own], axis=-1, keepdims=True)
        return found


@dataclass(frozen=True, eq=False)
class Slopes:
    """d k/d x, (S, N, N), d k/d constants, (S, N, c), d k/d samples, (S, N, s)."""

    x: Array
    constants: Array
    samples: Array


class RateChanges:
    """The slopes of k, made once for a system and the inputs that are asked for."""

    def __init__(
        self, space: StateSpace, actors: Actors, external: ExternalInputs, inputs: Sequence[Input]
    ) -> None:
        self.space, self.model, self.free = space, space.model, actors.parameters
        self.constants = [x for x in inputs if x.name not in STATE and x.weights is None]
        self.samples = [x for x in inputs if x.weights is not None]
        self.loaded = actors.F_ext is not None
        self.forces = ForceChanges(space, actors, external, self.constants, self.samples)
        self.data_of = partial(free_data, external, self.free)
        make = partial(compile_kernel, self.model, free=self.free)
        self.derivatives = make("inverse_dynamics_derivatives", wrenches=self.loaded)
        self.mass_matrix = make("mass_matrix")
        names = [x.name for x in self.constants if x.name in (PARAMETERS, *self.free)]
        names += ["F_ext"] if self.loaded else []
        self.by = {name: self.slope_of_dynamics(name) for name in names}

    @cached_property
    def dynamics(self) -> Kernel:
        """Inverse dynamics, where dry friction must be looked at."""
        return compile_kernel(self.model, "inverse_dynamics", free=self.free, wrenches=self.loaded)

    def slope_of_dynamics(self, name: str) -> Kernel:
        """d ID/d one of its arguments; ID is linear in pi, with the regressor as its slope."""
        if name == PARAMETERS:
            return compile_kernel(self.model, "regressor", free=self.free)
        options = {"wrenches": self.loaded, "free": self.free}
        return compile_derivative(self.model, "inverse_dynamics", name, **options)

    def slopes(self, t: Array, x: Array, p: Array, s: Array, k: Array) -> Slopes:
        """At S states x, (S, x), with rates k, (S, N); t (S,), p (S, p), s (S, s)."""
        n, m = self.model.n, self.space.extra
        q, dq, _ = self.space.split(x)
        ddq, data = k[:, n : 2 * n], self.data_of(p)
        load = self.loads(self.forces.values(t, x, p, s)) if self.loaded else []
        by_q, by_dq = self.derivatives(q, dq, ddq, *load, *data)
        parts = self.forces.slopes(t, x, p, s)  # by x, constants and samples
        f = np.concatenate(parts, -1)
        ID = np.zeros((len(x), n, f.shape[-1]))
        ID[..., :n], ID[..., n : 2 * n] = by_q, by_dq
        states, constants = parts[0].shape[-1], parts[1].shape[-1]
        ID[..., states : states + constants] = self.by_constants(q, dq, ddq, load, data)
        if self.loaded:  # wrenches that depend on something
            by_load = self.by["F_ext"](q, dq, ddq, *load, *data).reshape(len(x), n, -1)
            ID += by_load @ f[:, n + m :]
        faster = np.zeros_like(ID)
        faster[:, np.arange(n), n + np.arange(n)] = 1  # d dq/d dq
        solved = np.linalg.solve(self.mass_matrix(q, *data), f[:, :n] - ID)
        whole = np.concatenate([faster, solved, f[:, n : n + m]], 1)
        return Slopes(*np.split(whole, (states, states + constants), -1))

    def joint_forces(self, t: Array, x: Array, p: Array, s: Array, k: Array) -> Array:
        """Joint forces that the accelerations in k need where all joints slide, (S, n)."""
        n = self.model.n
        q, dq, _ = self.space.split(x)
        load = self.loads(self.forces.values(t, x, p, s)) if self.loaded else []
        return self.dynamics(q, dq, k[:, n : 2 * n], *load, *self.data_of(p))

    def loads(self, f: Array) -> list[Array]:
        """F_ext, (S, links, 6), as the further argument of a kernel."""
        first = self.model.n + self.space.extra
        return [f[:, first:].reshape(len(f), -1, 6)]

    def by_constants(
        self, q: Array, dq: Array, ddq: Array, load: list[Array], data: list[Array]
    ) -> Array:
        """d ID/d constants, (S, n, c); forces are no part of ID."""
        columns = [np.zeros((len(q), self.model.n, 0))]
        for given in self.constants:
            kernel = self.by.get(given.name)
            if kernel is None or given.name == "F_ext":
                columns.append(np.zeros((len(q), self.model.n, given.size)))
                continue
            loads = [] if given.name == PARAMETERS else load
            found = kernel(q, dq, ddq, *loads, *data)
            columns.append(found.reshape(len(q), self.model.n, given.size))
        return np.concatenate(columns, -1)


def free_data(external: ExternalInputs, names: Sequence[str], p: Array) -> list[Array]:
    """Free data of the robot out of the constants p, (S, p), in the order of their names."""
    found, at = {}, 0
    for name, (_, shape) in external.constants.items():
        end = at + math.prod(shape)
        found[name] = p[:, at:end].reshape(len(p), *shape)
        at = end
    return [found[f"parameter {name}"] for name in names]
