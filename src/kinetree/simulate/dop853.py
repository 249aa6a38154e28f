"""One step of the method of order 8 for many rollouts, each with its own time and step length.

Arrays have a row for each rollout: t and h (B,), states and rates (B, x).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.simulate.dop853_table import E3, E5, STAGES, A, B, C, D

# (t, x, ends) -> dx/dt; `ends` says that t is the end of a step, and not the beginning of one
Slope = Callable[[Array, Array, bool], Array]
ORDER = 8
RATES = STAGES + 4


Weights = tuple[Array, Array]


def as_arrays(weights: Mapping[int, float]) -> Weights:
    """Which rates have weights, (w,), and the weights, (w, 1, 1)."""
    return np.array(list(weights), int), np.array(list(weights.values()))[:, None, None]


STATES = [as_arrays(weights) for weights in A]
END, FIFTH, THIRD = as_arrays(B), as_arrays(E5), as_arrays(E3)
BETWEEN = [as_arrays(weights) for weights in D]
SAFETY, SHRINK, GROW = 0.9, 0.333, 6.0  # of the next step's length, as in Hairer's program


@dataclass(frozen=True, eq=False)
class Step:
    """A step: where it began and ended, and its rates (RATES, B, x), number STAGES at its end.

    No rate is evaluated after `until`, (B,), where t + h may lie by rounding: forces may jump
    there.
    """

    t: Array
    h: Array
    x: Array
    end: Array
    rates: Array
    until: Array

    def of(self, rows: Array) -> "Step":
        """The step of some of its rollouts."""
        t, h, x, end, until = (a[rows] for a in (self.t, self.h, self.x, self.end, self.until))
        return Step(t, h, x, end, self.rates[:, rows], until)

    def times(self, rows: Array, share: Array) -> Array:
        """The times at shares of the step of some rollouts."""
        return np.minimum(self.t[rows] + share * self.h[rows], self.until[rows])


def take(slope: Slope, t: Array, h: Array, x: Array, k: Array, until: Array | None = None) -> Step:
    """A step from (t, x) with rate k there."""
    until = np.full(len(t), np.inf) if until is None else until
    rates = np.empty((RATES, *k.shape), k.dtype)  # the last three are for the values between
    rates[0] = k
    column = h[:, None]
    for i in range(1, STAGES):
        at = np.minimum(t + C[i] * h, until)
        rates[i] = slope(at, x + column * weighted(STATES[i], rates), C[i] == 1)
    end = x + column * weighted(END, rates)
    rates[STAGES] = slope(np.minimum(t + h, until), end, True)
    return Step(t, h, x, end, rates, until)


def weighted(weights: Weights, rates: Array) -> Array:
    """A sum of rates with these weights; its rounding does not depend on the number of rollouts."""
    index, weight = weights
    return np.add.reduce(weight * rates[index])


def error(step: Step, rtol: float, atol: float) -> Array:
    """Error of the step over what is allowed, (B,): a step with at most 1 is accepted."""
    scale = atol + rtol * np.maximum(abs(step.x), abs(step.end))
    fifth, third = (weighted(E, step.rates) / scale for E in (FIFTH, THIRD))
    five, three = (fifth**2).sum(-1), (third**2).sum(-1)
    below = np.sqrt((five + 0.01 * three) * step.x.shape[-1])
    return np.abs(step.h) * five / np.where(below > 0, below, 1.0)


def factor(found: Array) -> Array:
    """By how much the next step is longer or shorter."""
    with np.errstate(divide="ignore"):
        return np.clip(SAFETY * found ** (-1 / ORDER), SHRINK, GROW)


def first_length(slope: Slope, t: Array, x: Array, k: Array, rtol: float, atol: float) -> Array:
    """A first step: from the size of the rate, and of its change over a small Euler step."""
    scale = atol + rtol * abs(x)

    def norm(v: Array) -> Array:
        return np.sqrt(((v / scale) ** 2).mean(-1))

    d0, d1 = norm(x), norm(k)
    tiny = (d0 < 1e-5) | (d1 < 1e-5)
    small = np.where(tiny, 1e-6, 0.01 * d0 / np.where(tiny, 1.0, d1))
    d2 = norm(slope(t + small, x + small[:, None] * k, True) - k) / small
    largest = np.maximum(d1, d2)
    steady = largest <= 1e-15
    next_to = (0.01 / np.where(steady, 1.0, largest)) ** (1 / ORDER)
    return np.minimum(100 * small, np.where(steady, np.maximum(1e-6, small * 1e-3), next_to))


@dataclass(frozen=True, eq=False)
class Dense:
    """The polynomial of degree 7 over a step: (7, B, x) coefficients."""

    step: Step
    parts: list[Array]

    def at(self, rows: Array, share: Array) -> Array:
        """States of some rollouts, by row, at a share from 0 to 1 of the step; (K,) -> (K, x)."""
        y = np.zeros((len(rows), self.step.x.shape[-1]))
        for i, part in enumerate(reversed(self.parts)):
            y = (y + part[rows]) * (share if i % 2 == 0 else 1 - share)[:, None]
        return y + self.step.x[rows]

    def moving(self, rows: Array, share: Array) -> tuple[Array, Array]:
        """Those states and their time derivatives, (K, x) both."""
        y = np.zeros((len(rows), self.step.x.shape[-1]))
        slope = np.zeros_like(y)
        up, down = share[:, None], 1 - share[:, None]
        for i, part in enumerate(reversed(self.parts)):
            y += part[rows]
            if i % 2 == 0:
                slope *= up
                slope += y
                y *= up
            else:
                slope *= down
                slope -= y
                y *= down
        return y + self.step.x[rows], slope / self.step.h[rows, None]


def dense(slope: Slope, step: Step) -> Dense:
    """The values between; three further rates are needed."""
    rates = step.rates
    column = step.h[:, None]
    for i in range(STAGES + 1, STAGES + 4):
        state = step.x + column * weighted(STATES[i], rates)
        rates[i] = slope(np.minimum(step.t + C[i] * step.h, step.until), state, False)
    move = step.end - step.x
    parts = [
        move,
        column * rates[0] - move,
        2 * move - column * (rates[STAGES] + rates[0]),
        *(column * weighted(row, rates) for row in BETWEEN),
    ]
    return Dense(step, parts)
