"""The method Radau IIA: one step of order 5 for many rollouts at once, for stiff forces.

A step ends where the cubic through its three stages ends, and obeys the equations of motion at
each of them (Hairer and Wanner, Solving Ordinary Differential Equations II, sections IV.5 and
IV.8). The stages Z = h A f(x + Z) are found by Newton's method: with W = T^-1 Z its matrix falls
into one of the size of x and one of twice that size. Its Jacobian is a difference quotient, all of
whose columns are one call of the compiled rate; results do not depend on it beyond the tolerance
of Newton's method.

Every rollout has its own time, step length and number of iterations, so that its bits do not depend
on the others; sums run in a fixed order, so that they do not depend on the processor.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.simulate.core.dop853 import root, total

# (t, x, numbers of the rollouts, ends) -> dx/dt and forces
RowRate = Callable[[Array, Array, Array, "bool | Array"], tuple[Array, Array]]
ORDER = 4  # of the error estimate, whose step lengths are chosen by it
SAFETY, SHRINK, GROW = 0.9, 0.2, 8.0
ITERATIONS = 7
DIFFERENCE = 2.0**-26  # of a coordinate, or of 1 if it is smaller

R6 = 6**0.5
C = np.array([(4 - R6) / 10, (4 + R6) / 10, 1.0])
# eigenvalues of A^-1: one real, and a pair ALPHA +- i BETA
MU = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
ALPHA = 3 + (3 ** (1 / 3) - 3 ** (2 / 3)) / 2
BETA = (3 ** (5 / 6) + 3 ** (7 / 6)) / 2
# fmt: off
T = np.array([[0.09443876248897524, -0.14125529502095421, 0.03002919410514742],
              [0.25021312296533332, 0.20412935229379994, -0.38294211275726192],
              [1.0, 1.0, 0.0]])
T_INVERSE = np.array([[4.17871859155190428, 0.32768282076106237, 0.52337644549944951],
                      [-4.17871859155190428, -0.32768282076106237, 0.47662355450055044],
                      [0.50287263494578682, -2.57192694985560522, 0.59603920482822492]])
ERROR = np.array([-13 - 7 * R6, -13 + 7 * R6, -1]) / 3  # weights of Z in the error
# coefficients of s, s^2 and s^3 of the cubic, by Z
CUBIC = np.array([[13 + 7 * R6, 13 - 7 * R6, 1], [-23 - 22 * R6, -23 + 22 * R6, -8],
                  [10 + 15 * R6, 10 - 15 * R6, 10]]) / 3
# fmt: on


@dataclass(frozen=True, eq=False)
class RadauStep:
    """A step from x to `end`, with the coefficients of its cubic, (3, B, x).

    No rate is evaluated after `until`, (B,). evaluated: the rates at the beginning and at the three
    stages, the last of which is the end, (4, B, x). damped: (1 - h J / MU)^-1, (B, x, x), which
    takes away what stiff forces would make of an error.
    """

    t: Array
    h: Array
    x: Array
    end: Array
    until: Array
    evaluated: Array
    parts: Array
    damped: Array
    error: Array

    def of(self, rows: Array) -> "RadauStep":
        """The step of some of its rollouts."""
        by_row = {
            name: getattr(self, name)[rows]
            for name in ("t", "h", "x", "end", "until", "damped", "error")
        }
        more = {name: getattr(self, name)[:, rows] for name in ("evaluated", "parts")}
        return replace(self, **by_row, **more)

    def times(self, rows: Array, share: Array) -> Array:
        """The times at shares from 0 to 1 of the step of some rollouts."""
        return np.minimum(self.t[rows] + share * self.h[rows], self.until[rows])

    @property
    def step(self) -> "RadauStep":
        """Itself, since its cubic needs nothing more."""
        return self

    def at(self, rows: Array, share: Array) -> Array:
        """States of some rollouts, by row, at a share of the step; (K,) -> (K, x)."""
        a, b, c = self.parts[:, rows]
        s = share[:, None]
        return self.x[rows] + s * (a + s * (b + s * c))

    def moving(self, rows: Array, share: Array) -> tuple[Array, Array]:
        """States as in `at`, and their time derivatives, both (K, x)."""
        a, b, c = self.parts[:, rows]
        s = share[:, None]
        return self.at(rows, share), (a + s * (2 * b + s * (3 * c))) / self.h[rows, None]

    def weighed(self, rows: Array, off: Array) -> Array:
        """Differences of rates, (K, x), less what stiff forces make of a small error of x."""
        return product(self.damped[rows], off)


class Radau:
    """The method; it remembers the last step of each rollout, from which Newton's method begins."""

    defect_order = 3

    def __init__(self, rate: RowRate, rtol: float, atol: float) -> None:
        self.rate, self.rtol, self.atol = rate, rtol, atol
        self.solved = max(10 * np.finfo(float).eps / rtol, min(0.03, rtol**0.5))
        self.last: dict[int, tuple[float, float, Array]] = {}  # end, h and cubic of the last step

    def take_step(
        self, rows: Array, t: Array, h: Array, x: Array, k: Array, until: Array
    ) -> RadauStep:
        """Take a step of length h from (t, x) with rate k there; rows: numbers of the rollouts."""
        J = self._jacobian(rows, t, x, k) * h[:, None, None]
        one = np.eye(x.shape[1])
        damped = inverse(one - J / MU)
        turned = ALPHA * one - J, np.broadcast_to(BETA * one, J.shape)
        pair = inverse(np.block([[turned[0], turned[1]], [-turned[1], turned[0]]]))
        Z, rates, solved = self._stages(rows, (t, h, x, until), damped, pair)
        end = x + Z[2]
        rates[2], _ = self.rate(np.minimum(t + h, until), end, rows, True)
        error = product(damped, (mixed(ERROR[None], Z)[0] + h[:, None] * k) / MU)
        error[~solved] = np.inf
        parts = mixed(CUBIC, Z)
        for i, row in enumerate(rows.tolist()):
            self.last[row] = float(t[i] + h[i]), float(h[i]), parts[:, i]
        rates = np.concatenate([k[None], rates])
        return RadauStep(t, h, x, end, until, rates, parts, damped, error)

    def _jacobian(self, rows: Array, t: Array, x: Array, k: Array) -> Array:
        """d rate / d x, (B, x, x), by difference quotients."""
        count, size = x.shape
        step = DIFFERENCE * np.maximum(abs(x), 1.0)
        moved = np.repeat(x[:, None], size, 1)  # (B, column, x)
        moved[:, np.arange(size), np.arange(size)] += step
        of = np.repeat(np.arange(count), size)
        rates, _ = self.rate(t[of], moved.reshape(-1, size), rows[of], False)
        slopes = (rates.reshape(count, size, size) - k[:, None]) / step[..., None]
        return slopes.swapaxes(1, 2)

    def _stages(
        self, rows: Array, step: tuple[Array, Array, Array, Array], damped: Array, pair: Array
    ) -> tuple[Array, Array, Array]:
        """Z and the rates of the stages, (3, B, x), and which rollouts are solved, (B,)."""
        t, h, x, until = step
        count, size = x.shape
        scale = self.atol + self.rtol * abs(x)
        W = mixed(T_INVERSE, self._guess(rows, t, h, x))
        Z, rates = mixed(T, W), np.zeros((3, count, size))
        under_way, solved = np.ones(count, bool), np.zeros(count, bool)
        before = np.full(count, np.nan)
        for number in range(ITERATIONS):
            at = np.flatnonzero(under_way)
            if not len(at):
                break
            times = np.minimum(t[at] + C[:, None] * h[at], until[at])
            ends = np.repeat(C == 1, len(at))
            states = (x[at] + Z[:, at]).reshape(-1, size)
            k, _ = self.rate(times.ravel(), states, np.tile(rows[at], 3), ends)
            rates[:, at] = k.reshape(3, len(at), size)
            w, F = W[:, at], mixed(T_INVERSE, rates[:, at] * h[at, None])
            turned = [F[1] - ALPHA * w[1] - BETA * w[2], F[2] - ALPHA * w[2] + BETA * w[1]]
            pairs = product(pair[at], np.concatenate(turned, -1))
            change = np.stack([product(damped[at], F[0] / MU - w[0]), *np.split(pairs, 2, -1)])
            W[:, at] = w + change
            Z[:, at] = mixed(T, W[:, at])
            one, two, three = total((mixed(T, change) / scale[at]) ** 2)
            moved = np.sqrt((one + two + three) / (3 * size))
            pace = moved / before[at]
            left = np.where(pace < 1, pace / (1 - pace), np.inf) * moved  # if it goes on like this
            at_last = left
            for _ in range(ITERATIONS - 1 - number):
                at_last = at_last * pace
            hopeless = at_last > self.solved
            done = (moved == 0) | (left < self.solved)
            solved[at[done]] = True
            before[at] = moved
            under_way[at[done | ~np.isfinite(moved) | (hopeless & (number > 0))]] = False
        return Z, rates, solved

    def _guess(self, rows: Array, t: Array, h: Array, x: Array) -> Array:
        """Z where the cubic of the last step goes on, (3, B, x); 0 after a jump."""
        Z = np.zeros((3, *x.shape))
        for i, row in enumerate(rows.tolist()):
            end, before, (a, b, c) = self.last.get(row, (np.nan, 1.0, Z[:, i]))
            if end == t[i]:
                s = (1 + C * (h[i] / before))[:, None]
                Z[:, i] = s * (a + s * (b + s * c)) - (a + b + c)
        return Z

    def polynomial(self, rows: Array, step: RadauStep) -> RadauStep:
        """The cubic over a step."""
        return step

    def error_ratio(self, step: RadauStep) -> Array:
        """Error of the step divided by the error allowed, (B,): up to 1 the step is accepted."""
        scale = self.atol + self.rtol * np.maximum(abs(step.x), abs(step.end))
        return np.sqrt(total((step.error / scale) ** 2) / scale.shape[-1])

    def step_factor(self, ratio: Array) -> Array:
        """Length of the next step divided by that of a step with this error ratio."""
        with np.errstate(divide="ignore"):
            return np.clip(SAFETY / root(ratio, ORDER), SHRINK, GROW)


def mixed(weights: Array, parts: Array) -> Array:
    """Weighted sums of three parts, (3, B, x), for each row of the weights."""
    a, b, c = parts
    return np.stack([w[0] * a + w[1] * b + w[2] * c for w in weights])


def product(matrix: Array, vector: Array) -> Array:
    """The product of matrices (B, n, n) with vectors (B, n), summed in the order of the columns."""
    return np.add.reduce(np.moveaxis(matrix * vector[:, None], -1, 0).copy())


def inverse(matrix: Array) -> Array:
    """The inverses of matrices (B, n, n), by elimination with the largest pivot of a column."""
    count, size, _ = matrix.shape
    rows = np.concatenate([matrix, np.broadcast_to(np.eye(size), matrix.shape)], -1)
    all_ = np.arange(count)
    for j in range(size):
        p = j + abs(rows[:, j:, j]).argmax(1)
        chosen = rows[all_, p]
        rows[all_, p] = rows[:, j]
        rows[:, j] = chosen / chosen[:, j, None]
        factor = rows[:, :, j].copy()
        factor[:, j] = 0
        rows -= factor[..., None] * rows[:, j, None]
    return rows[..., size:]
