"""How the rates k = (dq, ddq, dz) of a system change with its state and its inputs.

From tau = ID(q, dq, ddq, F_ext, data), inverse dynamics, follows

    M d ddq = d tau - d ID,    ddq held in d ID

so that the robot's part comes from the recursion for derivatives of inverse dynamics and from the
regressor; only forces and controllers are differentiated through their graphs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.kernels.compile import compile_derivative, compile_kernel
from kinetree.simulate.feed import Feed
from kinetree.simulate.sensitivity_forces import ForceChanges
from kinetree.simulate.sensitivity_inputs import PARAMETERS, STATE, Input
from kinetree.simulate.space import Space
from kinetree.simulate.system import Actors


@dataclass(frozen=True, eq=False)
class Slopes:
    """d k/d x, (S, N, N), d k/d constants, (S, N, c), d k/d samples, (S, N, s)."""

    x: Array
    constants: Array
    samples: Array


class RateChanges:
    """The slopes of k, made once for a system and the inputs that are asked for."""

    def __init__(self, space: Space, actors: Actors, feed: Feed, inputs: Sequence[Input]) -> None:
        self.space, self.model, self.free = space, space.model, actors.parameters
        self.constants = [x for x in inputs if x.name not in STATE and x.weights is None]
        self.samples = [x for x in inputs if x.weights is not None]
        self.loaded = actors.F_ext is not None
        self.forces = ForceChanges(space, actors, feed, self.constants, self.samples)
        self.data_of = partial(free_data, feed, self.free)
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


def free_data(feed: Feed, names: Sequence[str], p: Array) -> list[Array]:
    """Free data of the robot out of the constants p, (S, p), in the order of their names."""
    found, at = {}, 0
    for name, (_, shape) in feed.constants.items():
        end = at + math.prod(shape)
        found[name] = p[:, at:end].reshape(len(p), *shape)
        at = end
    return [found[f"parameter {name}"] for name in names]
