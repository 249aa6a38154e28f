"""Least squares in cones of Lorentz, x_0 >= |x_1|, three numbers each, over any scalars.

Solved by a primal-dual interior-point method with Nesterov and Todd's scaling and Mehrotra's
corrector (Vandenberghe, "The CVXOPT linear and quadratic cone program solvers", 2010). Equations
that x can satisfy are satisfied to rounding. Where their multipliers grow beyond MAX_MULTIPLIER,
which they do without bound if no x satisfies them, the rounds begin again with the error of the
equations weighted by 1 / SOFTNESS. A round has the same operations for every problem.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree.core.arrays import Array
from kinetree.core.repeat import repeated
from kinetree.scalars import Scalar, absolute, clip, maximum, minimum, sqrt, where
from kinetree.spatial.matrices import factor, solve

ROUNDS = 80  # 8 to 16 are usual; equations without solution take up to 50
TOLERANCE = 1e-13  # of optimality; all quantities are scaled to the size of 1
SOFTNESS, SOFT_TOLERANCE = 1e-6, 1e-11  # of equations without solution
ENOUGH = 1e-9  # optimality at which rounding may end the rounds
MAX_MULTIPLIER = 1e5  # of equations that count as solvable
RIDGE = 1e-13  # of dependent equations
# share of the way to the boundary of a cone that a round takes at most: with 0.99, 16 of 60,000
# problems went round in circles, with 0.95 none
TO_BOUNDARY = 0.95
TINY = 1e-150  # scale of a problem of zeros


class ConeProblem(NamedTuple):
    """Minimise x^T P x / 2 - c^T x with A x = b, each three of x in the cone of Lorentz.

    P: (3 K, 3 K), or its diagonal, (3 K,). idle: 1 for a cone whose x is zero, (K,); the columns of
    A, and of P beside the diagonal, are zero there.
    """

    A: Array
    b: Array
    P: Array
    c: Array
    idle: Array


def solved(problem: ConeProblem) -> tuple[Array, Scalar]:
    """x, (3 K,), and the optimality that was reached, where all scales are 1.

    optimality: the largest of the duality gap and of the errors of the equations.
    """
    A, b, P, c, idle = problem
    (m, N), diagonal = A.shape, P if P.ndim == 1 else np.diag(P)
    scale_A = sqrt((A * A).sum() / max(1, m) + TINY)
    scale_P = diagonal.sum() / N + TINY
    scale_b = sqrt(b @ b + TINY) + sqrt(c @ c) * scale_A / scale_P
    scale_x = scale_b / scale_A
    c = c / (scale_P * scale_x)
    # a cost of its normal force keeps an idle contact at zero in few rounds
    c = np.array([x - (idle[k // 3] if k % 3 == 0 else 0) for k, x in enumerate(c)])
    fixed = np.concatenate([(A / scale_A).ravel(), b / scale_b, (P / scale_P).ravel(), c])
    middle = np.array([1, 0, 0] * (N // 3))
    carried = np.concatenate([[1, 1, 1], middle, middle, np.zeros(m, int)])
    last = repeated(newton_round(m, N, P.ndim == 2), ROUNDS, carried, fixed)
    return last[3 : 3 + N] * scale_x, last[2]


def newton_round(m: int, N: int, dense: bool) -> Callable[[Array, Array], Array]:
    """A round: a step from (open, exact, optimality, x, z, y) towards the solution.

    z are the forces of the cones and y the multipliers of A x = b:
    P x - c + A^T y - z = 0, x and z in the cones, x^T z = 0. exact: 1, or 0 where A x = b + e is
    solved with e = SOFTNESS y.

    Args:
        m: rows of A.
        N: length of x.
        dense: P is a matrix; otherwise a diagonal.
    """
    cones = [slice(k, k + 3) for k in range(0, N, 3)]
    blocks = [slice(0, N)] if dense else cones

    def sweep(carried: Array, fixed: Array) -> Array:
        exact, (x, z, y) = carried[1], np.split(carried[3:], [N, 2 * N])
        A, b, P, c = np.split(fixed, np.cumsum([m * N, m, N * N if dense else N]))
        A, P = A.reshape(m, N), P.reshape(N, N) if dense else np.diag(P)
        softness = (1 - exact) * SOFTNESS

        def errors(x: Array, z: Array, y: Array) -> tuple[Array, Array]:
            return A @ x - b - y * softness, P @ x - c + A.T @ y - z

        primal, dual = errors(x, z, y)
        scalings = [Scaling(x[i], z[i]) for i in cones]
        H = P + _block_diagonal([w.inverse_square() for w in scalings])
        factors = [(i, factor(H[i, i], None)) for i in blocks]
        over_H = np.concatenate([solve(of, A.T[i]) for i, of in factors])  # H^-1 A^T, (N, m)
        ridge = softness + RIDGE
        S = factor(A @ over_H + np.eye(m, dtype=int) * ridge, None)

        def direction(forces: Array) -> tuple[Array, Array, Array]:
            g = forces - dual - z
            by_g = np.concatenate([solve(of, g[i]) for i, of in factors])
            dy = solve(S, A @ by_g + primal)
            dx = by_g - over_H @ dy
            return dx, P @ dx + A.T @ dy + dual, dy  # dz so that the dual error vanishes

        def length(dx: Array, dz: Array) -> Scalar:
            """The longest step, 1 at most, that leaves all cones by no more than TO_BOUNDARY."""
            steepest: Any = TO_BOUNDARY
            for i in cones:
                steepest = maximum(
                    steepest, maximum(_steepness(x[i], dx[i]), _steepness(z[i], dz[i]))
                )
            return TO_BOUNDARY / steepest

        gap = x @ z
        dx, dz, _ = direction(np.zeros(N, int))
        a = length(dx, dz)
        share = clip(((x + dx * a) @ (z + dz * a)) / gap, 0, 1)
        centre = share * share * share * gap * 3 / N
        pairs = zip(cones, scalings, strict=True)
        dx, dz, dy = direction(
            np.concatenate([w.corrector(centre, dx[i], dz[i]) for i, w in pairs])
        )
        a = length(dx, dz)
        x, z, y = x + dx * a, z + dz * a, y + dy * a
        inside: Any = 1
        for i in cones:
            inside = minimum(inside, minimum(_depth(x[i]), _depth(z[i])))

        primal, dual = errors(x, z, y)
        largest = sqrt(y @ y)
        off = maximum(x @ z * 3 / N, _largest(dual)) / (1 + largest)
        off = maximum(off, _largest(primal) / 10)
        # rounding ends the rounds where the error is small and no longer falls
        falls = where(inside, where(carried[2] - off, 1, 0), 0)
        ends = where(ENOUGH - carried[2], 1 - falls, 0)
        # where the multipliers of exact equations grow, the rounds begin again without exactness
        lost = where(inside, where(largest - MAX_MULTIPLIER, 1, 0), 1)
        again = exact * lost * (1 - ends)
        limit = where(exact, TOLERANCE, SOFT_TOLERANCE)
        stays = maximum(ends, where(inside, 0, 1))  # where it is
        is_open = maximum(again, where(off - limit, 1, 0) * (1 - stays))
        middle = np.array([1, 0, 0] * (N // 3))
        fresh = np.concatenate([[1], middle, middle, np.zeros(m, int)])
        kept = where(stays, carried[2:], np.concatenate([[off], x, z, y]))
        state = where(again, fresh, kept)
        return np.concatenate([[is_open, exact - again], state])

    return sweep


class Scaling:
    """W of Nesterov and Todd for a pair in a cone: W z = W^-1 x.

    W = eta [[w_0, w_1^T], [w_1, 1 + w_1 w_1^T / (1 + w_0)]] with w_0^2 - w_1^2 = 1.
    """

    def __init__(self, x: Array, z: Array) -> None:
        size_x, size_z = _size(x), _size(z)
        x, z = x / size_x, z / size_z
        half = sqrt((1 + x @ z) / 2) * 2
        self.w = np.array([x[0] + z[0], x[1] - z[1], x[2] - z[2]]) / half
        self.eta = sqrt(size_x / size_z)
        self.point = self.inverse(x * size_x)  # W z = W^-1 x

    def inverse_square(self) -> Array:
        """W^-2, (3, 3)."""
        w = self.w * np.array([1, -1, -1])
        return (np.outer(w, w) * 2 - np.diag([1, -1, -1])) / (self.eta * self.eta)

    def times(self, v: Array) -> Array:
        """W v."""
        return _boosted(self.w, v) * self.eta

    def inverse(self, v: Array) -> Array:
        """W^-1 v."""
        return _boosted(self.w * np.array([1, -1, -1]), v) / self.eta

    def corrector(self, centre: Scalar, dx: Array, dz: Array) -> Array:
        """W^-1 (point^-1 o (centre - (W^-1 dx) o (W dz))), the second-order part of a step."""
        a, b = self.inverse(dx), self.times(dz)
        v = np.array([centre - a @ b, *(-(a[0] * b[1:] + b[0] * a[1:]))])
        point = self.point
        first = (point[0] * v[0] - point[1:] @ v[1:]) / _determinant(point)
        return self.inverse(np.array([first, *((v[1:] - point[1:] * first) / point[0])]))


def _boosted(w: Array, v: Array) -> Array:
    along = w[1:] @ v[1:]
    return np.array([w[0] * v[0] + along, *(v[1:] + w[1:] * (v[0] + along / (1 + w[0])))])


def _determinant(x: Array) -> Scalar:
    across = sqrt(x[1] * x[1] + x[2] * x[2])
    return (x[0] - across) * (x[0] + across)


def _size(x: Array) -> Scalar:
    return sqrt(_determinant(x))


def _depth(x: Array) -> Scalar:
    """Positive inside the cone, also after rounding."""
    return x[0] - sqrt(x[1] * x[1] + x[2] * x[2])


def _steepness(x: Array, dx: Array) -> Scalar:
    """1 / a for the largest a with x + a dx in the cone; not above 0 if there is no largest."""
    size = _size(x)
    x = x / size
    along = x[0] * dx[0] - x[1:] @ dx[1:]
    across = dx[1:] - x[1:] * ((along + dx[0]) / (x[0] + 1))
    return (sqrt(across @ across) - along) / size


def _largest(x: Array) -> Scalar:
    most: Any = 0
    for entry in x:
        most = maximum(most, absolute(entry))
    return most


def _block_diagonal(blocks: Sequence[Array]) -> Array:
    N = 3 * len(blocks)
    whole = np.zeros((N, N), object)
    for k, block in enumerate(blocks):
        whole[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = block
    return whole
