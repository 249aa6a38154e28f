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
from kinetree.backends.kernel import Kernel
from kinetree.base.arrays import Array
from kinetree.compiler.graph import Graph, Port
from kinetree.compiler.optimise import optimise
from kinetree.compiler.products import jvp
from kinetree.compiler.trace import trace
from kinetree.model import Model
from kinetree.simulate.integrators import Method
from kinetree.simulate.space import Space
from kinetree.simulate.velocity import plain


class Way:
    """The tangent vector of one stage, v(h, r, k_1, ...) with r = (dq, z), and its changes.

    Where every joint adds, v is linear in r and k, and the stage runs on arrays of steps as it is.
    """

    def __init__(self, space: Space, stage: Callable[..., Array], i: int) -> None:
        self.space, self.stage = space, stage
        self.stays = _Stays(space)
        self.adds = plain(space.model)
        if self.adds:
            self.value = self.added
            return
        rest = space.size - space.model.nq
        ports = [Port("h", ()), Port("r", (rest,))]
        ports += [Port(f"k{j + 1}", (space.rates,)) for j in range(i + 1)]
        graph = optimise(trace(self.vector, ports, [("v", ())]))
        self.value = Kernel(graph, "v", dtypes=("float64",))
        names = [port.name for port in ports[1:]]
        self.slope = Kernel(optimise(jvp(graph, names)), "dv", dtypes=("float64",))

    def change(self, h: Array, at: Sequence[Array], along: Sequence[Array]) -> Array:
        """Changes of v, (S, c, N), at (r, k_1, ...), each (S, N), along changes, each (S, c, N)."""
        if self.adds:
            return self.added(h[:, None], *along)
        return self.slope(h[:, None], *(y[:, None] for y in at), *along)

    def vector(self, h: Any, r: Array, *k: Array) -> Array:
        """V, its entries along the first axis; it does not look at q."""
        q = np.zeros((self.space.model.nq, *r.shape[1:]), int)
        return self.stage(self.stays, h, np.concatenate([q, r]), k)

    def added(self, h: Array, r: Array, *k: Array) -> Array:
        """V of many steps, (S, ..., N)."""
        return np.moveaxis(self.vector(h, *(np.moveaxis(y, -1, 0) for y in (r, *k))), 0, -1)


class _Stays:
    """A space in which a stage ends where it began: `plus` is the tangent vector itself."""

    def __init__(self, space: Space) -> None:
        self.model = space.model
        self.inverse_rate = _unturned if plain(space.model) else space.inverse_rate

    def split(self, x: Array) -> tuple[Array, Array, Array]:
        """q, dq and z, along the first axis."""
        a, b = self.model.nq, self.model.nq + self.model.n
        return x[:a], x[a:b], x[b:]

    def plus(self, x: Array, v: Array) -> Array:
        """Where to, seen from x."""
        return v

    def settle(self, before: Array, after: Array) -> Array:
        """Joints that come to rest are refused before."""
        return after


def _unturned(u: Array, k: Array) -> Array:
    return k


class StepChanges:
    """A method on a space, ready to carry states and changes through its stages.

    graphs: of the states that stages lead to.
    """

    def __init__(self, space: Space, method: Method, graphs: Sequence[Graph]) -> None:
        self.space = space
        self.ways = [Way(space, stage, i) for i, stage in enumerate(method.stages)]
        turns = () if plain(space.model) else graphs
        self.stages = [Kernel(graph, "stage", dtypes=("float64",)) for graph in turns]

    def reach(self, i: int, h: Array, x: Array, k: Sequence[Array]) -> Array:
        """States after stage i, (S, x)."""
        if self.stages:
            return self.stages[i](h, x, *k)
        return x + self.ways[i].value(h, x[:, self.space.model.nq :], *k)

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
        v = way.change(h, (r, *k), (dx[..., n:], *dk))
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
