"""Physically possible bodies, and the most likely robot that has them, from data and a prior.

A body is physically possible exactly if its pseudo-inertia J = [[S, h], [h^T, m]] is positive
definite, where S has the second moments. A prior J0 = U0 U0^T adds the squared size of
U0^-1 J U0^-T - 1, which does not depend on the choice of the frame (Lee, Wensing, Park, T-RO 2020).

Data and prior together are |A x - b|^2 in the unknowns x. This cost is convex, and so is the set of
possible x: pseudo-inertias that are positive definite, and drives above zero. So

    |A x - b|^2 - mu (sum of log det J + sum of log drives)

has one minimum, which Newton's method reaches from any possible x; as mu decreases it leads to the
minimum of the cost. All numbers are in the robot's own units (`dynamics.natural_units`), so that
they are the same in mm and in m.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.parameters import ParameterLayout
from kinetree.identify.solve import Solved
from kinetree.spatial.inertia import pseudo_inertia, second_moment


@dataclass(frozen=True, eq=False)
class Estimate:
    """x, (p,): unknowns of a physically possible robot, shapes last.

    deviation: their standard deviations given data and prior, (p,). learned: share of the prior's
    variance that the data have removed, (p,), 0 if they have no information.
    """

    x: Array
    deviation: Array
    learned: Array


def possible_robot(solved: Solved, prior: float) -> Estimate:
    """The most likely physically possible robot, at the shapes of the friction laws found.

    The data are the base parameters with their covariance, so that correlation of errors and the
    uncertainty of shapes count for the robot as they do for intervals.

    Args:
        solved: the fit.
        prior: relative error of the description: 1 is as large as the body itself.
    """
    params, found, base = solved.params, solved.fit, solved.base
    p, units, scale = params.p, params.natural, params.scale[: params.p]
    linear = [k for k in base.kept if k < p]
    count, own = len(linear), scale[linear]
    V = found.covariance[:count, :count] / np.outer(own, own)
    floor = 1e-6 * np.sqrt((solved.rows.y**2).mean(axis=0)) / found.sigma
    V = V * (1 + float(floor.max()) ** 2)  # without noise, the prior still counts
    values, vectors = np.linalg.eigh((V + V.T) / 2)
    root = vectors.T / np.sqrt(np.maximum(values, 1e-15 * values[-1]))[:, None]
    data, z = root @ (base.K[:count, :p] * scale / own[:, None]), root @ (found.beta[:count] / own)
    model = params.robot.model
    bodies = [
        definite(m / units.mass, c / units.length, I / (units.mass * units.length**2), 1.0)
        for m, c, I in zip(model.m, model.com, model.I_com, strict=True)
    ]
    first = params.layout.bodies  # unknowns of bodies, then those of drives
    described = (params.values(model)[:p] / scale)[first:]
    spread = np.maximum(np.abs(described), _typical(solved)[first:])
    P, centre = _prior(bodies, described, spread, prior)
    A, b = np.vstack([data, P]), np.concatenate([z, centre])
    begin = np.concatenate([*(parameters_of(J) for J in bodies), spread])
    turn = np.eye(p)  # x = turn u: static friction is Coulomb friction and something above zero
    for static, coulomb in params.sums:
        turn[static, coulomb] = 1
    above = (np.arange(p) >= first) & ~params.signed[:p]
    x = inside(A @ turn, b, begin, len(bodies), above)
    covariance, before = np.linalg.inv(A.T @ A), np.diag(np.linalg.inv(P.T @ P))
    deviation = np.sqrt(np.diag(covariance))
    least = np.zeros(p)  # what the barrier alone keeps above zero
    least[first:] = np.minimum(0.02 * spread, deviation[first:])
    kept = ~(above & (turn @ x < least))
    x[kept] = inside((A @ turn)[:, kept], b, x[kept], len(bodies), above[kept])  # the others are 0
    x = _without_barrier(turn @ np.where(kept, x, 0), solved, least[first:], described)
    shapes = np.zeros(len(params.shapes))
    return Estimate(
        np.concatenate([x * scale, params.shapes]),
        np.concatenate([deviation * scale, shapes + found.standard_error[count:]]),
        np.concatenate([np.clip(1 - deviation**2 / before, 0, 1), shapes + 1]),
    )


def _without_barrier(x: Array, solved: Solved, least: Array, described: Array) -> Array:
    """x with drives as described where the data do not show them; preloads with a stiffness."""
    params = solved.params
    first, x = params.layout.bodies, x.copy()
    drives, signed = x[first:], params.signed[first : params.p].copy()
    unseen = ~solved.base.K[:, first : params.p].any(axis=0)
    drives[:] = np.where(unseen, described, drives)
    for static, coulomb in params.sums:
        x[static] = max(x[static], x[coulomb])
    signed[params.offset_places - first] = False  # only preloads are left
    for k in np.flatnonzero(signed & (drives != 0)):  # a preload needs some stiffness, before it
        drives[k - 1] = max(drives[k - 1], 1e-6 * least[k - 1])
    return x


def _prior(
    bodies: list[Array], described: Array, spread: Array, prior: float
) -> tuple[Array, Array]:
    """P, (p, p), and p, (p,), of the prior |P x - p|^2 of bodies and drives."""
    layout = ParameterLayout(len(bodies))
    count = layout.bodies + len(described)
    P, p = np.zeros((count, count)), np.zeros(count)
    for i, J0 in enumerate(bodies):
        at = layout.link(i)
        P[at, at], p[at] = prior_rows(J0)
    drives = np.arange(layout.bodies, count)
    P[drives, drives], p[drives] = 1 / spread, described / spread
    return P / prior, p / prior


def _typical(solved: Solved) -> Array:
    """The value with which each column would give a tenth of the joint forces it acts on, (p,).

    An offset of a sensor may be as large as the forces.
    """
    params, forces = solved.params, solved.params.natural.forces
    columns = solved.rows.columns(range(params.p)) * params.scale[: params.p]
    squares = ((columns / forces[:, None]) ** 2).sum(axis=0)  # (n, p)
    force = ((solved.rows.y / forces) ** 2).sum(axis=0) @ (squares > 0)
    size = squares.sum(axis=0)
    typical = 0.1 * np.sqrt(np.where(size > 0, force, 1) / np.where(size > 0, size, 1)) + 1e-9
    typical[params.offset_places] *= 10
    return typical


def inside(A: Array, b: Array, x: Array, links: int, above: Array) -> Array:
    """Possible unknowns, (p,), whose cost |A x - b|^2 is next to the least.

    Args:
        A: rows, shape (N, p), dimensionless.
        b: their other side, shape (N,), dimensionless.
        x: possible unknowns to start from, shape (p,), in units of the robot.
        links: number of bodies, ten unknowns each, which come first.
        above: whether each unknown must be above zero, shape (p,).
    """
    H0, g0 = 2 * A.T @ A, 2 * A.T @ b
    first = np.ceil(np.log10(max(float(((A @ x - b) ** 2).mean()), 1.0)))
    # at the end, the cost is 1e-3 from its minimum for each unknown: far below a deviation
    for mu in 10.0 ** np.arange(first, -3.5, -1):
        for _ in range(40):  # some ten are enough
            height, g, H = _wall(x, links, above)
            g, H = H0 @ x - g0 + mu * g, H0 + mu * H
            d = 1 / np.sqrt(np.diag(H))
            step = -d * np.linalg.solve(H * np.outer(d, d), d * g)
            expected = -float(g @ step)
            if expected < 0.1 * mu:
                break
            cost = float(((A @ x - b) ** 2).sum()) + mu * height
            for share in 0.5 ** np.arange(40):
                new = x + share * step
                now = float(((A @ new - b) ** 2).sum()) + mu * _height(new, links, above)
                if now < cost - 0.1 * share * expected:
                    x = new
                    break
            else:
                break  # rounding
    return x


def _height(x: Array, links: int, above: Array) -> float:
    """-(sum of log det J + sum of log drives); infinite for impossible unknowns."""
    J = np.einsum("lk,kij->lij", x[: ParameterLayout(links).bodies].reshape(links, -1), UNITS)
    if np.any(x[above] <= 0) or np.linalg.eigvalsh(J).min(initial=1.0) <= 0:
        return np.inf
    return -float(np.linalg.slogdet(J)[1].sum() + np.log(x[above]).sum())


def _wall(x: Array, links: int, above: Array) -> tuple[float, Array, Array]:
    """The height of the wall, its gradient, (p,), and its second derivatives, (p, p)."""
    g, H = np.zeros(len(x)), np.zeros((len(x), len(x)))
    for k in range(links):
        at = ParameterLayout(links).link(k)
        M = np.linalg.inv(np.tensordot(x[at], UNITS, 1)) @ UNITS
        g[at], H[at, at] = -np.trace(M, axis1=1, axis2=2), np.einsum("aij,bji->ab", M, M)
    drives = np.flatnonzero(above)
    g[drives], H[drives, drives] = -1 / x[drives], 1 / x[drives] ** 2
    return _height(x, links, above), g, H


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


UNITS = np.array([pseudo_of(unit) for unit in np.eye(10)])  # of the ten parameters


def definite(m: float, com: Array, I_com: Array, total: float) -> Array:
    """A positive definite pseudo-inertia near that of a described body, which may be a point.

    All in units of the robot; `total` is its mass, of which a body without mass gets a thousandth.
    """
    m = float(m) if m > 0 else 1e-3 * max(total, 1.0)
    S = second_moment(np.asarray(I_com, float))
    moments, axes = np.linalg.eigh((S + S.T) / 2)
    # a tenth of the largest gyration radius, for a point 2 % of the robot's length
    radius = max(0.02, 0.1 * float(np.sqrt(max(moments[-1], 0) / m)))
    S = (axes * np.maximum(moments, m * radius**2)) @ axes.T
    I = np.trace(S) * np.eye(3) - S
    return pseudo_inertia(m, np.asarray(com, float), I)


def prior_rows(J0: Array) -> tuple[Array, Array]:
    """P, (10, 10), and p, (10,): |P pi - p|^2 is the squared size of U0^-1 J U0^-T - 1."""
    inverse = np.linalg.inv(np.linalg.cholesky(J0[::-1, ::-1])[::-1, ::-1])  # U0, upper triangular
    a, b = np.triu_indices(4)
    weight = np.where(a == b, 1.0, np.sqrt(2))
    P = np.array([weight * (inverse @ unit @ inverse.T)[a, b] for unit in UNITS]).T
    return P, weight * (inverse @ J0 @ inverse.T)[a, b]
