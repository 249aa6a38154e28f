"""Flow: the rates of the adaptive method with those of their changes, dx/dt = f, through a graph.

Coordinates move straight within a step, so that quaternions leave length 1 there: f is
differentiated as it stands, by all coordinates, and not along tangent vectors.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algorithms import with_parameters
from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.products import jvp
from kinetree.scalars import where
from kinetree.simulate.feed import Feed
from kinetree.simulate.sensitivity_forces import checked_parameters, traced_forces
from kinetree.simulate.sensitivity_inputs import PARAMETERS, STATE, Input
from kinetree.simulate.space import Space
from kinetree.simulate.stiction import dry_friction
from kinetree.simulate.system import Actors, robot_rates


class Flow:
    """The kernel of d f for changes of x, of constants p, of samples s, and of pi."""

    def __init__(self, space: Space, actors: Actors, feed: Feed, inputs: Sequence[Input]) -> None:
        self.constants = [x for x in inputs if x.name not in STATE and x.weights is None]
        self.samples = [x for x in inputs if x.weights is not None]
        by_pi = any(x.name == PARAMETERS for x in self.constants)
        self.pi = [checked_parameters(space)] if by_pi else []
        graph = rate_graph(space, actors, feed, self.pi)
        self.wrt = ["x"]
        self.wrt += ["p"] if any(x.place is not None for x in self.constants) else []
        self.wrt += ["s"] if self.samples else []
        self.wrt += ["pi"] if by_pi else []
        self.change = Kernel(optimise(jvp(graph, self.wrt)), "changes", dtypes=("float64",))
        self.states, self.feed = space.rates, feed

    @property
    def columns(self) -> int:
        """Directions: tangent vectors, constants, and of each signal the samples on either side."""
        return (
            self.states
            + sum(x.size for x in self.constants)
            + 2 * sum(x.size for x in self.samples)
        )

    def by_constants(self) -> dict[str, Array]:
        """Changes of p and of pi in every direction, (columns, size)."""
        sizes = {"p": self.feed.params_size, "pi": len(self.pi[0]) if self.pi else 0}
        found = {name: np.zeros((self.columns, size)) for name, size in sizes.items()}
        at = self.states
        for given in self.constants:
            own = np.arange(given.size)
            first = 0 if given.place is None else given.place.start
            found["pi" if given.name == PARAMETERS else "p"][at + own, first + own] = 1
            at += given.size
        return found

    def by_samples(self, shares: Sequence[Array]) -> Array:
        """Changes of s, (S, columns, s), where signals stand at shares (S,) between two samples."""
        count = len(shares[0]) if shares else 1
        found = np.zeros((count, self.columns, self.feed.table_size))
        at = self.columns - 2 * sum(x.size for x in self.samples)
        for given, share in zip(self.samples, shares, strict=True):
            assert given.place is not None
            own = np.arange(given.size)
            for weight in (1 - share, share):
                found[:, at + own, given.place.start + own] = weight[:, None]
                at += given.size
        return found

    def changes(self, t: Array, x: Array, p: Array, s: Array, dx: Array, ds: Array) -> Array:
        """d f, (S, columns, x), of dx, (S, columns, x); t (S,), x (S, x), p (S, p), s (S, s)."""
        by = self.by_constants() | {"x": dx, "s": ds}
        state = (t[:, None], *(y[:, None] for y in (x, p, s)))
        return self.change(*state, *self.pi, *(by[name] for name in self.wrt))


def rate_graph(space: Space, actors: Actors, feed: Feed, pi: Sequence[Array]) -> Graph:
    """The graph of f(t, x, p, s), and of pi where it is differentiated by."""
    # numbers that are traced cannot be regrouped: the robot is told that some are
    varied = replace(actors, parameters=(PARAMETERS,)) if pi else actors

    def rate(t: Any, x: Array, p: Array, s: Array, *pi: Array) -> Array:
        given = feed.given(p, s)
        own = actors.changed(space.model, given)
        q, dq, z = space.split(x)
        if pi:
            given = given | sliding(space, given, dq)
            own = with_parameters(own, pi[0])
        tau, dz = actors.forces(own, t, q, dq, z, given)
        F_ext = actors.wrenches(t, q, dq, given)
        moving, ddq, _ = robot_rates(space, varied, True, own, q, dq, tau, F_ext, given)
        return np.concatenate([moving, ddq, dz])

    sizes = {"x": space.size, "p": feed.params_size, "s": feed.table_size}
    sizes |= {"pi": len(pi[0])} if pi else {}
    ports = [Port("t", ()), *(Port(name, (size,)) for name, size in sizes.items())]
    return traced_forces(space.model, rate, ports, "k")


def sliding(space: Space, given: dict[str, Any], dq: Array) -> dict[str, Any]:
    """The way in which every joint slides, since Coulomb friction is a parameter of them all."""
    if "mode" not in given:
        return {}
    known = dict(zip(dry_friction(space.model), given["mode"][0], strict=True))
    order = dict.fromkeys(d for joint in space.model.joints for d in joint.dofs)
    way = [known[d] if d in known else where(dq[d], 1, -1) for d in order]
    return {"mode": (np.array(way),)}
