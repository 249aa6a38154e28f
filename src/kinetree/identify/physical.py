"""Bodies that exist: log-Cholesky coordinates of the pseudo-inertia, and its prior.

A body is real exactly when its pseudo-inertia J = [[S, h], [h^T, m]] is positive definite, S the
second moments. Any ten numbers theta give one (Rucker and Wensing, RA-L 2022):

    J = U U^T,   U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

so m = e^(2a) and the centre of mass is t. A prior J0 = U0 U0^T pulls by the size of
U0^-1 J U0^-T - 1, which does not depend on the choice of the frame (Lee, Wensing, Park, T-RO 2020).
"""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.spatial.inertia import pseudo_inertia, second_moment

TRIANGLE = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
THINNEST = 0.1  # least gyration radius of a prior body, relative to its largest
SMALLEST = 0.02  # and the gyration radius of a point, in lengths of the robot


def parameters_of(J: Array) -> Array:
    """The ten parameters, (10,), of a pseudo-inertia: I = tr(S) 1 - S."""
    S, h, m = J[:3, :3], J[:3, 3], J[3, 3]
    I = np.trace(S) * np.eye(3) - S
    return np.array([m, *h, I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]])


def pseudo_of(pi: Array) -> Array:
    """The pseudo-inertia, (4, 4), of ten parameters, real or not."""
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


def definite(m: Any, com: Array, I_com: Array, total: float) -> Array:
    """A positive definite pseudo-inertia near that of a described body, which may be a point.

    All in units of the robot; `total` is its mass: what has no mass gets a thousandth of it.
    """
    m = float(m) if m > 0 else 1e-3 * max(total, 1.0)
    S = second_moment(np.asarray(I_com, float))
    moments, axes = np.linalg.eigh((S + S.T) / 2)
    least = m * max(SMALLEST, THINNEST * np.sqrt(max(moments[-1], 0) / m)) ** 2
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
