"""C(q, dq) by composite bodies, from the motion of mass points, and what follows from it.

With j_a the velocity of a mass point for unit rate of joint a, M_ab = sum of m j_a . j_b and
C_ab = sum of m j_a . dj_b/dt: space is flat, so these are Christoffel's. For points r of the bodies
beyond joint b, moving at dr relative to the joint's origin, which turns with omega,

    j_b  = w x r + l,     dj_b = (omega x w) x r + omega x l + w x dr

so that all sums follow from m, h, Sigma, dh = sum of m dr and K = sum of m r dr^T, which are
carried inward together with the composite bodies.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.inverse_dynamics import bias_forces
from kinetree.dynamics.tree import Pair, Step, Tree, TreeLink, body_onto, weightless
from kinetree.model import Model
from kinetree.model.inputs import zeros
from kinetree.model.labelled import labelled
from kinetree.model.quantity import quantity
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments

Matrix = list[list[Any]]  # (n, n), built up entry by entry


@labelled("n", "n", "n")
def christoffel_symbols(model: Model, q: StateLike) -> Array:
    """Gamma(q), (n, n, n), with C_ij = sum over k of Gamma_ijk dq_k, symmetric in j and k.

    C is linear in dq, so unit rates give the symbols one by one. (The rates of spherical and free
    joints are not derivatives of coordinates; with them the symbols are not symmetric.)
    """
    unit, tree = np.eye(model.n, dtype=int), book_tree(model, q)
    slices = [coriolis_matrix(tree, e) for e in unit]
    return np.array(slices).reshape(model.n, model.n, model.n).transpose(1, 2, 0)


@quantity(
    "q dq -> C: n n",
    meaning="Coriolis matrix of the Christoffel symbols",
    unit="the units of M per second",
    formula="C(q, dq), dM - 2C skew",
)
def coriolis_matrix(tree: Tree, dq: Array) -> Array:
    """Coriolis matrix C(q, dq): c = C dq, and dM/dt - 2 C is skew-symmetric.

    Example:
        >>> robot.coriolis_matrix([0.1, 0.2], [1, 0.5]).round(3)
        array([[-0.755, -2.265],
               [ 1.51 ,  0.   ]])
    """
    n = tree.model.n
    omega, u = link_velocities(tree, dq)
    spreads = {i: rigid(link.body, omega[i]) for i, link in enumerate(tree.links)}
    C: Matrix = [[0] * n for _ in range(n)]
    for i, (spread, body) in moving_bodies(tree, spreads, u):
        link = tree.links[i]
        for k, column in enumerate(link.dofs):
            rate = momentum_rates(body, spread, omega[i], link.A[:3, k], link.A[3:, k])
            _add_column(tree, omega, u, C, i, column, rate)
    return np.array(C).reshape(n, n)


@dataclass(frozen=True, eq=False)
class Spread:
    """Motion of the mass points of a composite body relative to its origin: dh (3,), K (3, 3)."""

    dh: Array
    K: Array

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(self.dh + other.dh, self.K + other.K)

    def inward(self, body: Moments, to: Step, u: Array) -> "Spread":
        """The spread about the parent's origin; u: velocity of the own origin from it, in {p}."""
        K = to.matrix_inward(self.K)
        h, dh = to.inward(body.h), to.inward(self.dh) + u * body.m
        return Spread(dh, K + np.outer(h, u) + np.outer(to.p, dh))

    def moment(self, w: Array, l: Array) -> Array:
        """Sum of m dr x j for the velocities j = w x r + l, (3,)."""
        return w * self.trace - self.K @ w + cross(self.dh, l)

    @property
    def trace(self) -> Array:
        """Trace of K: the sum of m r . dr."""
        return self.K[0, 0] + self.K[1, 1] + self.K[2, 2]


def rigid(x: Moments, omega: Array) -> Spread:
    """Points of one rigid body: dr = omega x r."""
    return Spread(cross(omega, x.h), x.Sigma @ skew(omega).T)


@dataclass(frozen=True, eq=False)
class MomentumRates:
    """Momentum of a composite body for unit rate of its joint, (3,) each, about its origin.

    f, n: sums of m j and of m r x j over the velocities j = w x r + l of its points. df, dn: the
    same of their rates dj. Q: sum of m dr x j, the change of moments with the points.
    """

    f: Array
    n: Array
    df: Array
    dn: Array
    Q: Array


def momentum_rates(
    body: Moments, spread: Spread, omega: Array, w: Array, l: Array
) -> MomentumRates:
    """Momentum for unit rate of an axis (w, l) in a frame that turns with omega, and its rates."""
    f, n = body.momentum(w, l)
    df, dn = body.momentum(cross(omega, w), cross(omega, l))
    df, dn = df + cross(w, spread.dh), dn + w * spread.trace - spread.K.T @ w
    return MomentumRates(f, n, df, dn, spread.moment(w, l))


def link_velocities(tree: Tree, dq: Array) -> tuple[dict[int, Array], dict[int, Array]]:
    """Angular velocity of every link, and velocity u of its origin from its parent's, in {p}."""

    def step(i: int, link: TreeLink, parent: Pair) -> Pair:
        twist, (omega_p, _) = link.A @ dq[list(link.dofs)], parent
        u = cross(omega_p, link.to.p) + link.to.inward(twist[3:])
        return link.to.outward(omega_p) + twist[:3], u

    velocities = tree.outward((zeros(3), zeros(3)), step)
    return {i: x[0] for i, x in velocities.items()}, {i: x[1] for i, x in velocities.items()}


def added_spread(
    to: Step, spread: Spread, body: Moments, u: Array, twice: bool, parent: Spread
) -> Spread:
    """The spread of a body added to another about the parent's origin."""
    return parent + spread.inward(body, to, 2 * u if twice else 1 * u)


def moving_bodies(
    tree: Tree,
    spreads: Mapping[int, Spread],
    u: Mapping[int, Array],
    times: int = 1,
) -> Iterator[tuple[int, tuple[Spread, Moments]]]:
    """Composite body of every link and the spread of its points, children before parents.

    spreads: those of single links, by link. u: velocity of the origin of every link, as in
    `link_velocities`. times: the multiple of the spread that is wanted, and that `spreads` have.
    """

    def onto(
        i: int, link: TreeLink, x: tuple[Spread, Moments], parent: tuple[Spread, Moments]
    ) -> tuple[Spread, Moments]:
        spread = added_spread(link.to, x[0], x[1], u[i], times == 2, parent[0])
        return spread, body_onto(i, link, x[1], parent[1])

    moving = {i: (spreads[i], link.body) for i, link in enumerate(tree.links)}
    return tree.inward(moving, onto)


def _add_column(
    tree: Tree,
    omega: dict[int, Array],
    u: dict[int, Array],
    C: Matrix,
    i: int,
    column: int,
    rate: MomentumRates,
) -> None:
    """Add the entries of a unit rate of joint i with its own joint and with all ancestors'."""
    for j in tree.path_inward(i):
        link = tree.links[j]
        for a, row in enumerate(link.dofs):
            entries = rates_on_axis(link.A[:, a], omega[j], rate, j != i)
            C[row][column] = C[row][column] + entries[0]
            for entry in entries[1:]:
                C[column][row] = C[column][row] + entry
        rate = pass_rates(link.to, u[j], rate)


def rates_on_axis(A: Array, omega: Array, rate: MomentumRates, other: bool) -> tuple[Any, ...]:
    """Entry of a joint with axis A, and if it is another one the two parts of the opposite entry.

    omega: of the link of the joint.
    """
    w, l = A[:3], A[3:]
    entry = w @ rate.dn + l @ rate.df
    if not other:
        return (entry,)
    return entry, cross(omega, w) @ rate.n + cross(omega, l) @ rate.f, w @ rate.Q


def pass_rates(to: Step, u: Array, rate: MomentumRates) -> MomentumRates:
    """The same about the parent's origin; u: velocity of the link's from it."""
    f, n = to.pair_inward(rate.f, rate.n)
    df, dn = to.pair_inward(rate.df, rate.dn)
    return MomentumRates(f, n, df, dn, to.inward(rate.Q) + cross(u, f))


@quantity(
    "q dq -> dM: n n",
    meaning="rate of the mass matrix",
    unit="the units of M per second",
    formula="dM/dt",
    method=False,
)
def mass_matrix_rate(tree: Tree, dq: Array) -> Array:
    """Rate of the mass matrix: dM/dt = C + C^T.

    Example:
        >>> robot.compile("mass_matrix_rate")([0.1, 0.2], [1, 0.5]).round(3)
        array([[-1.51 , -0.755],
               [-0.755,  0.   ]])
    """
    C = coriolis_matrix(tree, dq)
    return C + C.T


@quantity(
    "q dq -> c: n",
    meaning="Coriolis and centrifugal forces",
    unit="N m or N",
    formula="c(q, dq) = C dq",
)
def coriolis_forces(tree: Tree, dq: Array) -> Array:
    """Coriolis and centrifugal joint forces: c(q, dq) = C dq.

    Example:
        >>> robot.coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)
        array([-1.887,  1.51 ])
    """
    return bias_forces(weightless(tree), dq)
