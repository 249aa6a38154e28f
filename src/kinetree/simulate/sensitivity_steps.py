"""How small changes go through one step of a method, along tangent vectors.

A stage leads from x along v(h, x, k_1, ...) to exp_x(v). v is differentiated through its graph. For
a joint that turns, with the tangents of q multiplied from the right,

    d(q exp(v)) = exp(-ad v) dq + phi(-ad v) dv,    phi(X) = (exp(X) - 1) / X

and both are blocks of one matrix exponential; other joints add.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.algorithms.derivatives.linearize import discretize, turning
from kinetree.arrays import Array
from kinetree.backends.kernel import Kernel
from kinetree.compiler.graph import Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.products import jvp
from kinetree.compiler.trace import trace
from kinetree.model import Model
from kinetree.simulate.integrators import Method
from kinetree.simulate.space import Space


class Way:
    """The tangent vector of one stage, v(h, r, k_1, ...) with r = (dq, z), and its changes."""

    def __init__(self, space: Space, stage: Callable[..., Array], i: int) -> None:
        rest = space.size - space.model.nq
        self.stays = _Stays(space)

        def function(h: Any, r: Array, *k: Array) -> Array:
            x = np.concatenate([np.zeros(space.model.nq, int), r])  # v does not look at q
            return stage(self.stays, h, x, k)

        ports = [Port("h", ()), Port("r", (rest,))]
        ports += [Port(f"k{j + 1}", (space.rates,)) for j in range(i + 1)]
        graph = optimise(trace(function, ports, [("v", ())]))
        self.value = Kernel(graph, "v", dtypes=("float64",))
        names = [port.name for port in ports[1:]]
        self.change = Kernel(optimise(jvp(graph, names)), "dv", dtypes=("float64",))


class _Stays:
    """A space in which a stage ends where it began: `plus` is the tangent vector itself."""

    def __init__(self, space: Space) -> None:
        self.model, self.split, self.inverse_rate = space.model, space.split, space.inverse_rate

    def plus(self, x: Array, v: Array) -> Array:
        """Where to, seen from x."""
        return v

    def settle(self, before: Array, after: Array) -> Array:
        """Joints that come to rest are refused before."""
        return after


class StepChanges:
    """A method on a space, ready to carry changes through its stages."""

    def __init__(self, space: Space, method: Method) -> None:
        self.space = space
        self.ways = [Way(space, stage, i) for i, stage in enumerate(method.stages)]

    def move(
        self, i: int, h: Array, x: Array, k: Sequence[Array], dx: Array, dk: Sequence[Array]
    ) -> Array:
        """Changes after stage i of those of the state that the step began with.

        Args:
            i: number of the stage.
            h: (S,); x: (S, x); k: each (S, N), of S steps.
            dx: changes of x, (S, c, N), c directions side by side; dk: of k, the same.
        """
        model, way = self.space.model, self.ways[i]
        n, r = model.n, x[:, model.nq :]
        wide = [y[:, None] for y in (h, r, *k)]
        v = way.change(*wide, dx[..., n:], *dk)
        turned = moved(model, way.value(h, r, *k)[:, :n], dx[..., :n], v[..., :n])
        return np.concatenate([turned, dx[..., n:] + v[..., n:]], -1)


def moved(model: Model, v: Array, dq: Array, dv: Array) -> Array:
    """Change of q exp(v), tangent there, (S, c, n), of changes dq and dv; v: (S, n)."""
    found = dq + dv
    for joint in model.joints:
        own = list(joint.dofs)
        if len(own) > 1:
            bracket = turning(model, v)[(..., *np.ix_(own, own))]
            E, phi = discretize(-bracket, np.broadcast_to(np.eye(len(own)), bracket.shape), 1.0)
            along = dq[..., own] @ E.swapaxes(-1, -2), dv[..., own] @ phi.swapaxes(-1, -2)
            found[..., own] = along[0] + along[1]
    return found
