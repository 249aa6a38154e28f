"""Space: the states (q, dq, z) of a simulation, and how they move along tangent vectors."""

from dataclasses import dataclass

import numpy as np

from kinetree.algorithms.lean.integrate import integrate, inverse_rate
from kinetree.base.arrays import Array
from kinetree.model import Model
from kinetree.scalars import absolute, where

REST = 1e-10  # rad/s or m/s


@dataclass(frozen=True, eq=False)
class Space:
    """States x = (q, dq, z) with tangent vectors (n + n + extra); z is a controller's own state.

    `rubbing` are the degrees of freedom with dry friction, which can come to rest.
    """

    model: Model
    extra: int = 0
    rubbing: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Numbers in x."""
        return self.model.nq + self.model.n + self.extra

    @property
    def rates(self) -> int:
        """Numbers in a tangent vector of x."""
        return 2 * self.model.n + self.extra

    def split(self, x: Array) -> tuple[Array, Array, Array]:
        """q, dq and z of a state; leading axes stay."""
        a, b = self.model.nq, self.model.nq + self.model.n
        return x[..., :a], x[..., a:b], x[..., b:]

    def plus(self, x: Array, v: Array) -> Array:
        """The state reached from x along v."""
        n = self.model.n
        q, dq, z = self.split(x)
        faster = self.settle(dq, dq + v[n : 2 * n])
        return np.concatenate([integrate(self.model, q, v[:n]), faster, z + v[2 * n :]])

    def settle(self, before: Array, after: Array) -> Array:
        """Rates after a step; what dry friction has slowed down to next to nothing is at rest."""
        rates = list(after)
        for k in self.rubbing:
            size = absolute(after[k])
            slower = where(absolute(before[k]) - 2 * size, 0, after[k])
            rates[k] = where(REST - size, slower, after[k])
        return np.array(rates)

    def inverse_rate(self, u: Array, k: Array) -> Array:
        """Rate of the coordinates u of a step x + u, from the rate k of the state reached."""
        n = self.model.n
        return np.concatenate([inverse_rate(self.model, u[:n], k[:n]), k[n:]])
