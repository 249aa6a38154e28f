"""All sign changes of smooth functions over a step, found on their own interpolants.

A function g of the share s of a step is sampled at Chebyshev points and replaced by the polynomial
through them. Where the coefficients have not died out, the step is halved. The polynomial's
extremes separate its zeros, so that between samples and extremes each zero of g stands alone, two
zeros close together included; brackets are closed on g itself.

A pair of zeros is found when g between them exceeds RESOLVED times its largest value over the step.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from kinetree.base.arrays import Array

DEGREE = 16
RESOLVED = 1e-7  # of the largest coefficient: where the last ones must be
DEEPEST = 6  # halvings of a step whose function does not die out: it bends or jumps
CLOSEST = 1e-15  # of a step: how far a root is from a sign change of the function at most

NODES = (1 - np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)) / 2  # from 0 to 1
TO_SERIES = np.linalg.inv(chebyshev.chebvander(2 * NODES - 1, DEGREE))

Function = Callable[[Array], Array]  # shares (K,) -> values (K, G)


@dataclass(frozen=True)
class Crossing:
    """A change of sign of function `index` between two shares of a step."""

    index: int
    low: float
    high: float
    rising: bool


def samples(function: Function, low: float, high: float, depth: int = 0) -> tuple[Array, Array]:
    """Shares (K,), increasing, and values (K, G), between which no function has two zeros."""
    shares = low + (high - low) * NODES
    shares[-1] = high
    values = function(shares)
    series = TO_SERIES @ values
    size = abs(series)
    largest = size.max(0)
    # a function that its constant part keeps away from zero needs no further look
    near = size[0] <= size[1:].sum(0)
    rough = near & (size[-3:].max(0) > RESOLVED * largest)
    if rough.any() and depth < DEEPEST:
        middle = (low + high) / 2
        first = samples(function, low, middle, depth + 1)
        second = samples(function, middle, high, depth + 1)
        return np.append(first[0], second[0][1:]), np.concatenate([first[1], second[1][1:]])
    extremes = [extreme_points(series[:, j]) for j in np.flatnonzero(near)]
    found = np.unique(np.concatenate([*extremes, np.zeros(0)]))
    found = low + (high - low) * found
    found = np.setdiff1d(found[(found > low) & (found < high)], shares)
    if not len(found):
        return shares, values
    order = np.argsort(np.append(shares, found), kind="stable")
    return np.append(shares, found)[order], np.concatenate([values, function(found)])[order]


def extreme_points(series: Array) -> Array:
    """Where a Chebyshev series on [0, 1] has its extremes."""
    slope = chebyshev.chebder(series)
    size = abs(slope)
    kept = np.flatnonzero(size > 1e-13 * size.max()) if size.max() > 0 else np.zeros(0, int)
    if not len(kept) or kept[-1] == 0:
        return np.zeros(0)
    roots = chebyshev.chebroots(slope[: kept[-1] + 1])
    real = roots.real[abs(roots.imag) <= 1e-6]  # two that almost meet count as one
    return (real[abs(real) <= 1] + 1) / 2


def crossings(shares: Array, values: Array, sides: Array) -> tuple[list[Crossing], Array]:
    """Sign changes in the order of their brackets, and the signs after them.

    sides, (G,), are the signs before the first sample; 0 where there was none yet. A zero keeps
    the sign before it, so that a function that comes back from zero has not crossed it.
    """
    found: list[Crossing] = []
    sides = sides.copy()
    for j in range(values.shape[1]):
        last = shares[0]
        for s, v in zip(shares, values[:, j], strict=True):
            sign = np.sign(v)
            if sign != 0:
                if sides[j] == -sign:
                    found.append(Crossing(j, float(last), float(s), bool(sign > 0)))
                sides[j] = sign
            last = s
    return sorted(found, key=lambda x: (x.low, x.high)), sides


def close(function: Callable[[float], float], low: float, high: float, rising: bool) -> float:
    """The share at which a function has changed its sign, by bisection and false position.

    The value at the share returned has the sign after the change, or is 0.
    """
    way = 1.0 if rising else -1.0
    f_low, f_high = way * function(low), way * function(high)
    if f_low >= 0:
        return low
    kept = 0  # how often one end has stayed
    for k in range(200):
        if high - low <= CLOSEST:
            break
        middle = (low + high) / 2
        if k % 3 != 2 and f_high > f_low:  # every third time in the middle: it cannot get stuck
            middle = low - f_low * (high - low) / (f_high - f_low)
        if not low < middle < high:
            middle = (low + high) / 2
            if not low < middle < high:
                break
        f = way * function(middle)
        if f == 0:
            return middle
        if f > 0:
            high, f_high = middle, f
            kept = kept + 1 if kept > 0 else 1
            f_low = f_low / 2 if kept > 1 else f_low
        else:
            low, f_low = middle, f
            kept = kept - 1 if kept < 0 else -1
            f_high = f_high / 2 if kept < -1 else f_high
    return high
