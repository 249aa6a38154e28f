"""Physically possible unknowns near a minimum of |A x - b|^2, found from inside.

The cost is convex in the unknowns x, and so is the set of possible ones: pseudo-inertias J that are
positive definite, and drives above zero. Log-Cholesky coordinates bend the valley of the cost, in
which steps of Gauss and Newton become short far from its end. In x itself,

    |A x - b|^2 - mu (sum of log det J + sum of log drives)

has one minimum, which Newton's method reaches from any possible x in some tens of steps; it leads
to the minimum of the cost as mu decreases.
"""

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.parameters import ParameterLayout
from kinetree.identify import constants as const


def inside(A: Array, b: Array, x: Array, units: Array, links: int, above: Array) -> Array:
    """Possible unknowns, (p,), whose cost is next to the least.

    Args:
        A: rows, shape (N, p), dimensionless.
        b: their other side, shape (N,), dimensionless.
        x: possible unknowns to start from, shape (p,), in units of the robot.
        units: pseudo-inertias of the ten unit parameters of a body, shape (10, 4, 4).
        links: number of bodies, ten unknowns each, which come first.
        above: whether each unknown must be above zero, shape (p,).
    """
    H0, g0 = 2 * A.T @ A, 2 * A.T @ b
    last = int(np.log(const.LAST_MU) / np.log(const.MU_FACTOR))
    first = int(np.log(max(float(((A @ x - b) ** 2).mean()), 1.0)) / np.log(const.MU_FACTOR))
    for power in range(first, last - 1, -1):
        mu = const.MU_FACTOR**power
        for _ in range(const.NEWTON_STEPS):
            value, g, H = _wall(x, units, links, above)
            g, H = H0 @ x - g0 + mu * g, H0 + mu * H
            d = 1 / np.sqrt(np.diag(H))
            step = -d * np.linalg.solve(H * np.outer(d, d), d * g)
            expected = -float(g @ step)
            if expected < const.NEWTON_DECREASE * mu:
                break
            cost = float(((A @ x - b) ** 2).sum()) + mu * value
            for share in 0.5 ** np.arange(const.STEP_HALVES):
                new = x + share * step
                found = _wall_height(new, units, links, above)
                if (
                    (A @ new - b) ** 2
                ).sum() + mu * found < cost - const.DECREASE_SHARE * share * expected:
                    x = new
                    break
            else:
                break  # rounding
    return x


def _wall_height(x: Array, units: Array, links: int, above: Array) -> float:
    """-(sum of log det J + sum of log drives); infinite for impossible unknowns."""
    J = np.einsum("lk,kij->lij", x[: ParameterLayout(links).bodies].reshape(links, -1), units)
    if np.any(x[above] <= 0) or np.linalg.eigvalsh(J).min(initial=1.0) <= 0:
        return np.inf
    return -float(np.linalg.slogdet(J)[1].sum() + np.log(x[above]).sum())


def _wall(x: Array, units: Array, links: int, above: Array) -> tuple[float, Array, Array]:
    """The height of the wall, its gradient, (p,), and its second derivatives, (p, p)."""
    g, H = np.zeros(len(x)), np.zeros((len(x), len(x)))
    for k in range(links):
        at = ParameterLayout(links).link(k)
        M = np.linalg.inv(np.tensordot(x[at], units, 1)) @ units
        g[at], H[at, at] = -np.trace(M, axis1=1, axis2=2), np.einsum("aij,bji->ab", M, M)
    drives = np.flatnonzero(above)
    g[drives], H[drives, drives] = -1 / x[drives], 1 / x[drives] ** 2
    return _wall_height(x, units, links, above), g, H
