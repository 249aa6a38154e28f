"""What acts on a robot, f = (tau, dz, F_ext), and how it changes with the state and with inputs."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from kinetree.algorithms import parameters, with_parameters
from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.compiler.derivatives import jacobian
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.interpret import interpret
from kinetree.compiler.optimise import optimise
from kinetree.compiler.trace import trace
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.simulate.feed import Feed
from kinetree.simulate.sensitivity_inputs import PARAMETERS, Input
from kinetree.simulate.sensitivity_tangents import tangents
from kinetree.simulate.space import Space
from kinetree.simulate.system import Actors

DOUBLE = ("float64",)


class ForceChanges:
    """f, (f,), of t, x, p, s, and its slopes by x, by constants and by samples."""

    def __init__(
        self,
        space: Space,
        actors: Actors,
        feed: Feed,
        constants: Sequence[Input],
        samples: Sequence[Input],
    ) -> None:
        self.constants, self.samples = constants, samples
        by_pi = actors.controller is not None and any(x.name == PARAMETERS for x in constants)
        self.pi = [checked_parameters(space)] if by_pi else []
        graph = forces_graph(space, actors, feed, len(self.pi[0]) if by_pi else 0)
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

    def differentiated(self, graph: Graph, space: Space) -> Graph:
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


def forces_graph(space: Space, actors: Actors, feed: Feed, parameter_count: int) -> Graph:
    """The graph of f(t, x, p, s), and of pi where the controller may look at the robot."""

    def forces(t: Any, x: Array, p: Array, s: Array, *pi: Array) -> Array:
        given = feed.given(p, s)
        own = actors.changed(space.model, given)
        own = with_parameters(own, pi[0]) if pi else own
        q, dq, z = space.split(x)
        tau, dz = actors.forces(own, t, q, dq, z, given)
        F_ext = actors.wrenches(t, q, dq, given)
        load = [] if F_ext is None else [np.ravel(F_ext)]
        return np.concatenate([tau, dz, *load])

    sizes = {"x": space.size, "p": feed.params_size, "s": feed.table_size}
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


def checked_parameters(space: Space) -> Array:
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
