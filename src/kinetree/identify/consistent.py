"""The whole robot from data and a prior, with bodies that exist: Levenberg and Marquardt.

It minimises |R x(theta) - z|^2 + |P x(theta) - p|^2: the first term is the weighted least
squares of all samples, compressed once by a QR factorisation, the second the prior. Friction and
armature are their own coordinates and stay at zero or above. All numbers are in the robot's own
units (`algorithms.natural_units`), so that steps and bounds are the same in mm and in m.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kinetree.base.arrays import Array
from kinetree.identify.least_squares import triangle
from kinetree.identify.physical import body, coordinates, definite, prior_rows
from kinetree.identify.unknowns import Unknowns

ROUNDS = 200
LOOSE = 2.0  # of the logarithms of a body's size: e^2 is common
ENOUGH = 1e-6  # of the squares, in units of the noise: a thousandth of a standard deviation
NOTHING = 1e-9  # friction or armature, of its spread, that is what a descent leaves of zero
FINEST = 1e-6  # noise at least, relative to joint forces: rounding must not outweigh the prior


@dataclass(frozen=True, eq=False)
class Estimate:
    """x, (p,): unknowns of a robot that exists.

    deviation: their standard deviations given data and prior, (p,). learned: share of the prior's
    variance that the data have removed, (p,), 0 where they say nothing. rounds: iterations.
    """

    x: Array
    deviation: Array
    learned: Array
    rounds: int


def consistent(
    sought: Unknowns,
    Y: Array,
    tau: Array,
    weights: Array,
    *,
    prior: float = 1.0,
    watch: Callable[[int, float], None] | None = None,
) -> Estimate:
    """The most likely robot that exists.

    Args:
        sought: the unknowns; their robot, as described, is the middle of the prior.
        Y: regressor, (T, n, p), with tau = Y x.
        tau: joint forces, (T, n), less what is known.
        weights: of the rows' squares, (T, n), one over their variance.
        prior: how far off the description may be, relative: 1 is as large as the body itself.
        watch: is told the round and the cost.
    """
    model, units, scale = sought.robot.model, sought.natural, sought.scale
    Y, tau = Y * scale / units.forces[:, None], tau / units.forces
    weights = weights * units.forces**2
    largest = float(np.abs(tau).max(initial=0)) or 1.0
    weights = np.minimum(weights, 1 / (FINEST * largest) ** 2)
    compressed = triangle(Y, tau, weights)[: Y.shape[-1]]
    R, z = compressed[:, :-1], compressed[:, -1]
    bodies = [
        definite(m / units.mass, c / units.length, I / (units.mass * units.length**2), 1.0)
        for m, c, I in zip(model.m, model.com, model.I_com, strict=True)
    ]
    own = (sought.values(model) / scale)[10 * len(bodies) :]
    spread = np.maximum(np.abs(own), _typical(Y, tau)[10 * len(bodies) :])
    P, p = _prior(bodies, own, spread, prior)
    A, b = np.vstack([R, P]), np.concatenate([z, p])
    start = np.concatenate([*map(coordinates, bodies), spread])
    theta, rounds = descend(A, b, start, len(bodies), prior, watch)
    normal = A.T @ A
    covariance = np.linalg.inv(normal)
    before = np.diag(np.linalg.inv(P.T @ P))
    deviation = np.sqrt(np.diag(covariance))
    learned = np.clip(1 - deviation**2 / before, 0, 1)
    x = unknowns_at(theta, len(bodies))[0]
    drives = x[10 * len(bodies) :]
    drives[drives < NOTHING * spread] = 0
    return Estimate(x * scale, deviation * scale, learned, rounds)


def _prior(bodies: list[Array], own: Array, spread: Array, prior: float) -> tuple[Array, Array]:
    count = 10 * len(bodies) + len(own)
    P, p = np.zeros((count, count)), np.zeros(count)
    for i, J0 in enumerate(bodies):
        at = slice(10 * i, 10 * i + 10)
        P[at, at], p[at] = prior_rows(J0)
    rest = np.arange(10 * len(bodies), count)
    P[rest, rest], p[rest] = 1 / spread, own / spread
    return P / prior, p / prior


def _typical(Y: Array, tau: Array) -> Array:
    """The value with which each column would make a tenth of the joint forces it acts on."""
    acts = np.any(Y != 0, axis=0)  # (n, p)
    force = np.sqrt((tau**2).mean(axis=0) @ acts)
    size = np.sqrt((Y**2).mean(axis=0).sum(axis=0))
    return 0.1 * np.where(size > 0, force, 1) / np.where(size > 0, size, 1) + 1e-9


def unknowns_at(theta: Array, links: int) -> tuple[Array, Array]:
    """x, (p,), and its derivatives, (p, p): bodies by log-Cholesky, the rest as it is."""
    count = len(theta)
    x, D = np.zeros(count), np.zeros((count, count))
    for i in range(links):
        at = slice(10 * i, 10 * i + 10)
        x[at], D[at, at] = body(theta[at])
    rest = np.arange(10 * links, count)
    x[rest], D[rest, rest] = theta[rest], 1
    return x, D


def descend(
    A: Array,
    b: Array,
    start: Array,
    links: int,
    prior: float,
    watch: Callable[[int, float], None] | None = None,
) -> tuple[Array, int]:
    """theta that minimises |A x(theta) - b|^2 from a start on, and the rounds it took.

    Logarithms among theta are pulled towards the start, where one step of `LOOSE` prior costs as
    much as one standard deviation: data can make a body flat, but never flat altogether.
    """
    pull = np.zeros(len(start))
    pull[[10 * i + k for i in range(links) for k in range(4)]] = 1 / (LOOSE * prior)

    def errors(theta: Array) -> tuple[Array, Array]:
        x, D = unknowns_at(theta, links)
        return np.concatenate([A @ x - b, pull * (theta - start)]), np.vstack(
            [A @ D, np.diag(pull)]
        )

    drives = np.arange(len(start)) >= 10 * links
    theta, (error, J) = start, errors(start)
    cost, damping, k = float(error @ error), 1e-3, 0
    for k in range(1, ROUNDS + 1):
        g = J.T @ error
        free = ~(drives & (theta <= 0) & (g > 0))  # what is zero and would be less stays zero
        H = J[:, free].T @ J[:, free]
        scale = np.diag(H) + 1e-12 * np.diag(H).max()
        step = np.zeros(len(theta))
        step[free] = -np.linalg.solve(H + damping * np.diag(scale), g[free])
        longest = float(np.abs(step[~drives]).max(initial=1e-300))
        new = theta + step * min(1, 2 / longest)  # exponents stay sane
        new[drives] = np.maximum(new[drives], 0)
        e, J_new = errors(new)
        found = float(e @ e)
        if watch is not None:
            watch(k, min(found, cost))
        if found <= cost:
            small = cost - found <= max(ENOUGH, 1e-12 * cost)
            theta, error, cost, J, damping = new, e, found, J_new, max(damping / 5, 1e-7)
            if small:
                break
        elif damping > 1e12:
            break
        else:
            damping = damping * 8
    return theta, k
