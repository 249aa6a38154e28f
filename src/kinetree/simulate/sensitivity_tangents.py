"""Between tangent vectors of states and changes of their coordinates, for many states at once."""

import numpy as np

from kinetree.algorithms.derivatives import tangent_map
from kinetree.base.arrays import Array
from kinetree.compiler.graph import Port
from kinetree.compiler.interpret import interpret
from kinetree.compiler.trace import trace
from kinetree.description.joints import FREE, SPHERICAL
from kinetree.simulate.space import Space
from kinetree.simulate.velocity import plain


def tangents(space: Space, x: Array) -> Array:
    """Directions of the entries of x along tangent vectors, (x, N)."""
    nq, rest = space.model.nq, space.size - space.model.nq
    N = tangent_map(space.model, x[:nq])
    upper = np.concatenate([N, np.zeros((nq, rest), int)], -1)
    lower = np.concatenate([np.zeros((rest, space.model.n), int), np.eye(rest, dtype=int)], -1)
    return np.concatenate([upper, lower])


class TangentMaps:
    """Both ways on a space; quaternions that have left length 1 are brought back to it."""

    def __init__(self, space: Space) -> None:
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
