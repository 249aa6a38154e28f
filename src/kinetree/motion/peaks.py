"""Peaks between samples: a sampled motion may exceed a limit where no sample shows it.

Around a sample that is a local extremum, the parabola through it and its neighbours has its vertex
near the peak; the quartic through five samples gives the value there, exact to h^4 of a smooth
motion. Where second differences of neighbouring samples disagree, the motion has a kink (a jump
of acceleration), and the sample itself is believed, not the vertex.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array

# relative change of second differences over two samples: a sine has less than SMOOTH with 35
# samples a period, and more than KINK with 15
SMOOTH, KINK = 0.1, 0.5


@dataclass(frozen=True, eq=False)
class Vertices:
    """Points between samples, at times t, (K,).

    A value there is the sum of `weights`, (K, w), times the samples from `first`, (K,), on.
    """

    t: Array
    first: Array
    weights: Array

    def __call__(self, x: Array) -> Array:
        """Values of samples x, (T,), at the vertices, (K,)."""
        window = self.first[:, None] + np.arange(self.weights.shape[1])
        return np.sum(self.weights * x[window], axis=1)


def vertices(t: Array, x: Array) -> Vertices:
    """The vertices of samples x, (T,), at times t, (T,)."""
    if len(t) < 4:
        return _at(t, np.zeros(0, int), np.zeros(0), np.zeros(0))
    slope = np.diff(x) / np.diff(t)
    bend = np.diff(slope) / (t[2:] - t[:-2])  # half the second derivative, at samples 1 .. T - 2
    k = np.flatnonzero((slope[:-1] * slope[1:] <= 0) & (bend != 0)) + 1
    trust = _trust(bend, k - 1)
    k, trust = k[trust > 0], trust[trust > 0]
    left = t[k] - t[k - 1]
    tangent = slope[k - 1] + bend[k - 1] * left
    at = np.clip(t[k] - tangent / (2 * bend[k - 1]), t[k - 1], t[k + 1])
    return _at(t, k, at, trust)


def _trust(bend: Array, i: Array) -> Array:
    """1 where the bend at i is that of its neighbours, 0 where it is another, and between."""
    change = [
        bend[np.clip(j, 0, len(bend) - 1)] / bend[i] - 1 for j in (i - 2, i - 1, i + 1, i + 2)
    ]
    return np.clip((KINK - np.max(np.abs(change), axis=0)) / (KINK - SMOOTH), 0, 1)


def _at(t: Array, k: Array, at: Array, trust: Array) -> Vertices:
    """Weights of the polynomial through samples around k (Lagrange), and the rest of sample k."""
    width = min(5, len(t))
    first = np.clip(k - width // 2, 0, len(t) - width)
    window = first[:, None] + np.arange(width)
    nodes = t[window]
    weights = np.ones(nodes.shape)
    for i in range(width):
        for j in range(width):
            if i != j:
                weights[:, i] *= (at - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
    own = window == k[:, None]
    return Vertices(at, first, np.where(own, 1 - trust[:, None], 0) + trust[:, None] * weights)
