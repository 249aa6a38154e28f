"""Physically possible bodies, and the most likely robot that has them, from data and a prior.

A body is physically possible exactly if its pseudo-inertia J = [[S, h], [h^T, m]] is positive
definite, where S has the second moments. Any ten numbers theta, the log-Cholesky coordinates, give
such a body (Rucker and Wensing, RA-L 2022):

    J = U U^T,   U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

so m = e^(2a) and the centre of mass is t. A prior J0 = U0 U0^T adds the squared size of
U0^-1 J U0^-T - 1, which does not depend on the choice of the frame (Lee, Wensing, Park, T-RO 2020).

`consistent` minimises |R x(theta) - z|^2 + |P x(theta) - p|^2 by the method of Levenberg and
Marquardt, from where `interior` leads. The first term has the base parameters in units of their
covariance, the second is the prior. Friction, armature and stiffness are their own coordinates and
stay at zero or above; preloads of springs and offsets of sensors may be negative. All numbers are
in the robot's own units (`dynamics.natural_units`), so that steps and bounds are the same in mm
and in m.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.parameters import ParameterLayout
from kinetree.identify import constants as const
from kinetree.identify.base import Base
from kinetree.identify.interior import inside
from kinetree.identify.least_squares import Fit
from kinetree.identify.unknowns import Unknowns
from kinetree.spatial.inertia import pseudo_inertia, second_moment

TRIANGLE = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


@dataclass(frozen=True, eq=False)
class Estimate:
    """x, (p,): unknowns of a physically possible robot.

    deviation: their standard deviations given data and prior, (p,). learned: share of the prior's
    variance that the data have removed, (p,), 0 if they have no information. rounds: iterations.
    distance: from the base parameters, squared, in units of their covariance. gain: change of the
    unknowns with the linear base parameters, (p, k), bounds aside.
    """

    x: Array
    deviation: Array
    learned: Array
    rounds: int
    distance: float
    gain: Array

    def widened(self, spread: Array) -> "Estimate":
        """The estimate with another covariance of base parameters and shapes, (r, r), added."""
        p, k = self.gain.shape
        shapes = len(self.x) - p
        G = np.zeros((len(self.x), len(spread)))
        G[:p, :k], G[p:, len(spread) - shapes :] = self.gain, np.eye(shapes)
        return replace(self, deviation=np.sqrt(self.deviation**2 + np.diag(G @ spread @ G.T)))


def consistent(
    sought: Unknowns,
    base: Base,
    found: Fit,
    R: Array,
    T: int,
    *,
    prior: float = 1.0,
    watch: Callable[[int, float], None] | None = None,
) -> Estimate:
    """The most likely physically possible robot, at the shapes of the unknowns' friction laws.

    The data are the base parameters with their covariance, so that correlation of errors and the
    uncertainty of shapes count for the robot as they do for intervals.

    Args:
        sought: the unknowns; their robot, as described, is the centre of the prior.
        base: combinations that the recording separates, then the shapes.
        found: their fit.
        R: triangle of each joint's rows [Y y], (n, p + 1, p + 1), without columns of shapes.
        T: number of rows.
        prior: relative error of the description: 1 is as large as the body itself.
        watch: is called with the round and the cost.
    """
    p = sought.p
    model, units, scale = sought.robot.model, sought.natural, sought.scale[: sought.p]
    R = R * np.append(scale, 1.0) / units.forces[:, None, None]
    linear = list(base.kept[: base.r - len(sought.shapes)])
    own = scale[linear]
    count, widths = len(linear), own
    V = found.covariance[:count, :count] / np.outer(own, own)
    largest = float(np.sqrt((R[..., -1] ** 2).sum(axis=1) / T).max(initial=0)) or 1.0
    floor = const.FINEST_NOISE * largest
    rows = R[..., linear].reshape(-1, count)
    V = V + floor**2 * np.linalg.inv(rows.T @ rows)
    values, vectors = np.linalg.eigh((V + V.T) / 2)
    root = vectors.T / np.sqrt(np.maximum(values, const.VARIANCE_ROUNDING * values[-1]))[:, None]
    K = base.K[:count, :p] * scale / own[:, None]
    data, z = root @ K, root @ (found.beta[:count] / own)
    bodies = [
        definite(m / units.mass, c / units.length, I / (units.mass * units.length**2), 1.0)
        for m, c, I in zip(model.m, model.com, model.I_com, strict=True)
    ]
    links, first = len(bodies), sought.layout.bodies  # unknowns of bodies, then those of drives
    own = (sought.values(model)[:p] / scale)[first:]
    spread = np.maximum(np.abs(own), _typical(R)[first:])
    spread[sought.offset_places - first] *= const.OFFSET_PRIOR
    P, centre = _prior(bodies, own, spread, prior)
    A, b = np.vstack([data, P]), np.concatenate([z, centre])
    start = np.concatenate([*map(coordinates, bodies), spread])
    signed = sought.signed[:p]
    begin, D = unknowns_at(start, links, sought.sums)
    drives = np.arange(p) >= first
    turn = np.where(drives & drives[:, None], D, np.eye(p))  # x = turn u, drives u above zero
    units_of_body = np.array([pseudo_of(unit) for unit in np.eye(10)])
    u = inside(A @ turn, b, np.linalg.solve(turn, begin), units_of_body, links, drives & ~signed)
    pairs = [coordinates(pseudo_of(x)) for x in u[:first].reshape(links, -1)]
    theta, rounds = descend(
        A, b, start, links, prior, watch, signed, sought.sums,
        begin=np.concatenate([*pairs, u[first:]]),
    )  # fmt: skip
    covariance = np.linalg.inv(A.T @ A)
    gain = scale[:, None] * (covariance @ data.T @ root) / widths
    before = np.diag(np.linalg.inv(P.T @ P))
    deviation = np.sqrt(np.diag(covariance))
    learned = np.clip(1 - deviation**2 / before, 0, 1)
    x = unknowns_at(theta, links, sought.sums)[0]
    distance = float(((data @ x - z) ** 2).sum())
    drives, signed = x[first:], signed[first:]
    drives[np.abs(drives) < const.ZERO_DRIVE * spread] = 0
    unseen = ~data[:, first:].any(axis=0)
    drives[unseen] = own[unseen]
    for static, coulomb in sought.sums:
        x[static] = max(x[static], x[coulomb])
    signed[sought.offset_places - first] = False  # only preloads are left
    for k in np.flatnonzero(signed & (drives != 0)):  # a preload needs some stiffness, before it
        drives[k - 1] = max(drives[k - 1], const.ZERO_DRIVE * spread[k - 1])
    return Estimate(x * scale, deviation * scale, learned, rounds, distance, gain)


def _prior(bodies: list[Array], own: Array, spread: Array, prior: float) -> tuple[Array, Array]:
    """P, (p, p), and p, (p,), of the prior |P x - p|^2 of bodies and drives."""
    layout = ParameterLayout(len(bodies))
    count = layout.bodies + len(own)
    P, p = np.zeros((count, count)), np.zeros(count)
    for i, J0 in enumerate(bodies):
        at = layout.link(i)
        P[at, at], p[at] = prior_rows(J0)
    rest = np.arange(layout.bodies, count)
    P[rest, rest], p[rest] = 1 / spread, own / spread
    return P / prior, p / prior


def _typical(R: Array) -> Array:
    """The value with which each column would give a tenth of the joint forces it acts on.

    R: triangles of the joints, (n, p + 1, p + 1), the last column that of the joint forces.
    """
    squares = (R**2).sum(axis=1)  # (n, p + 1)
    acts = squares[:, :-1] > 0
    force = np.sqrt(squares[:, -1] @ acts)
    size = np.sqrt(squares[:, :-1].sum(axis=0))
    return 0.1 * np.where(size > 0, force, 1) / np.where(size > 0, size, 1) + 1e-9


def unknowns_at(
    theta: Array, links: int, sums: Sequence[tuple[int, int]] = ()
) -> tuple[Array, Array]:
    """x, (p,), and dx/dtheta, (p, p): bodies by log-Cholesky coordinates, the rest as it is.

    sums: pairs (a, b) with x[a] = theta[a] + theta[b], so that x[a] is never the smaller one.
    """
    count, layout = len(theta), ParameterLayout(links)
    x, D = np.zeros(count), np.zeros((count, count))
    for i in range(links):
        at = layout.link(i)
        x[at], D[at, at] = body(theta[at])
    rest = np.arange(layout.bodies, count)
    x[rest], D[rest, rest] = theta[rest], 1
    for a, b in sums:
        x[a], D[a, b] = theta[a] + theta[b], 1
    return x, D


def descend(
    A: Array,
    b: Array,
    start: Array,
    links: int,
    prior: float,
    watch: Callable[[int, float], None] | None = None,
    signed: Array | None = None,
    sums: Sequence[tuple[int, int]] = (),
    begin: Array | None = None,
) -> tuple[Array, int]:
    """theta that minimises |A x(theta) - b|^2 from `begin` or the start on, and the rounds.

    Logarithms among theta are pulled towards the start: a step of `LOOSE_PRIOR` prior costs as much
    as one standard deviation. Data can make a body flat, but never of no thickness. Entries beyond
    the bodies stay at zero or above, except the `signed` ones; `sums` as in `unknowns_at`.
    """
    pull, first = np.zeros(len(start)), ParameterLayout(links).bodies
    pull[:first].reshape(links, -1)[:, :4] = 1 / (const.LOOSE_PRIOR * prior)

    def errors(theta: Array) -> tuple[Array, Array]:
        x, D = unknowns_at(theta, links, sums)
        return np.concatenate([A @ x - b, pull * (theta - start)]), np.vstack(
            [A @ D, np.diag(pull)]
        )

    # Levenberg and Marquardt: a step that lowers the cost is taken and the damping reduced, another
    # one is discarded and the damping increased. Drives are bounded by active sets: those at zero
    # that the gradient would push below are held there in this step.
    drives = np.arange(len(start)) >= first
    bounded = drives if signed is None else drives & ~signed
    theta = start if begin is None else begin
    error, J = errors(theta)
    cost, damping, k = float(error @ error), 1e-3, 0
    for k in range(1, const.BODY_ROUNDS + 1):
        g = J.T @ error
        free = ~(bounded & (theta <= 0) & (g > 0))  # zeros that would become negative stay zero
        H = J[:, free].T @ J[:, free]
        scale = np.diag(H) + 1e-12 * np.diag(H).max()
        step = np.zeros(len(theta))
        step[free] = -np.linalg.solve(H + damping * np.diag(scale), g[free])
        longest = float(np.abs(step[~drives]).max(initial=1e-300))
        new = theta + step * min(1, 2 / longest)  # exponentials do not overflow
        new[bounded] = np.maximum(new[bounded], 0)
        e, J_new = errors(new)
        found = float(e @ e)
        if watch is not None:
            watch(k, min(found, cost))
        if found <= cost:
            small = cost - found <= max(const.BODY_DECREASE, 1e-12 * cost)
            theta, error, cost, J, damping = new, e, found, J_new, max(damping / 5, 1e-7)
            if small:
                break
        else:
            damping = damping * 8
    return theta, k


def parameters_of(J: Array) -> Array:
    """The ten parameters, (10,), of a pseudo-inertia: I = tr(S) 1 - S."""
    S, h, m = J[:3, :3], J[:3, 3], J[3, 3]
    I = np.trace(S) * np.eye(3) - S
    return np.array([m, *h, I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])


def pseudo_of(pi: Array) -> Array:
    """The pseudo-inertia, (4, 4), of ten parameters, physically possible or not."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = pi
    S = second_moment(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return np.block([[S, np.array([[x], [y], [z]])], [np.array([[x, y, z]]), np.array([[m]])]])


def factor(J: Array) -> Array:
    """Upper triangular U with J = U U^T."""
    return np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]


def coordinates(J: Array) -> Array:
    """theta = (a, d1, d2, d3, s12, s23, s13, t1, t2, t3) of a positive definite J."""
    U = factor(J)
    N = U / U[3, 3]
    entries = [N[at] for at in TRIANGLE]
    return np.array([np.log(U[3, 3]), *np.log(entries[:3]), *entries[3:]])


def body(theta: Array) -> tuple[Array, Array]:
    """The ten parameters, (10,), and their derivatives by theta, (10, 10)."""
    size = np.exp(theta[0])
    N = np.eye(4)
    for at, x in zip(TRIANGLE, [*np.exp(theta[1:4]), *theta[4:]], strict=True):
        N[at] = x
    U = size * N
    changes = [U]
    for k, at in enumerate(TRIANGLE):
        dU = np.zeros((4, 4))
        dU[at] = U[at] if k < 3 else size
        changes.append(dU)
    return parameters_of(U @ U.T), np.array(
        [parameters_of(dU @ U.T + U @ dU.T) for dU in changes]
    ).T


def definite(m: float, com: Array, I_com: Array, total: float) -> Array:
    """A positive definite pseudo-inertia near that of a described body, which may be a point.

    All in units of the robot; `total` is its mass, of which a body without mass gets a thousandth.
    """
    m = float(m) if m > 0 else 1e-3 * max(total, 1.0)
    S = second_moment(np.asarray(I_com, float))
    moments, axes = np.linalg.eigh((S + S.T) / 2)
    least = (
        m * max(const.SMALLEST_BODY, const.THINNEST_BODY * np.sqrt(max(moments[-1], 0) / m)) ** 2
    )
    S = (axes * np.maximum(moments, least)) @ axes.T
    I = np.trace(S) * np.eye(3) - S
    return pseudo_inertia(m, np.asarray(com, float), I)


def prior_rows(J0: Array) -> tuple[Array, Array]:
    """P, (10, 10), and p, (10,): |P pi - p|^2 is the squared size of U0^-1 J U0^-T - 1."""
    inverse = np.linalg.inv(factor(J0))
    upper = [(a, b) for a in range(4) for b in range(a, 4)]
    weight = np.array([1.0 if a == b else np.sqrt(2) for a, b in upper])

    def rows(J: Array) -> Array:
        turned = inverse @ J @ inverse.T
        return weight * np.array([turned[at] for at in upper])

    P = np.array([rows(pseudo_of(unit)) for unit in np.eye(10)]).T
    return P, rows(J0)
