"""C(q, dq) by composite bodies, from the motion of mass points, and what follows from it.

With j_a the velocity of a mass point for unit rate of joint a, M_ab = sum of m j_a . j_b and
C_ab = sum of m j_a . dj_b/dt: space is flat, so these are Christoffel's. For points r of the bodies
beyond joint b, moving at dr relative to the joint's origin, which turns with omega,

    j_b  = w x r + l,     dj_b = (omega x w) x r + omega x l + w x dr

so that all sums follow from m, h, Sigma, dh = sum of m dr and K = sum of m r dr^T, which are
carried inward together with the composite bodies.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kinetree.algorithms.book import book_tree
from kinetree.algorithms.drive_terms import Matrix, add_drives_to_coriolis_matrix
from kinetree.algorithms.inverse_dynamics import tree_bias_forces
from kinetree.algorithms.joints.springs import without_passive_forces
from kinetree.algorithms.lean import over_tree
from kinetree.algorithms.tree import Step, Tree
from kinetree.base.arrays import Array, StateLike
from kinetree.model import WORLD, Model
from kinetree.model.inputs import rates, zeros
from kinetree.model.labelled import labelled
from kinetree.model.quantity import Quantity, Result
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments


@labelled("n", "n")
def coriolis_matrix(model: Model, q: StateLike, dq: StateLike) -> Array:
    """C(q, dq), (n, n), of the Christoffel symbols: c = C dq and dM/dt - 2 C is skew-symmetric.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
    """
    return tree_coriolis_matrix(book_tree(model, q), rates(model, dq, "dq"))


@labelled("n")
def coriolis_forces(model: Model, q: StateLike, dq: StateLike) -> Array:
    """c(q, dq) = C dq, (n,): the centrifugal and Coriolis part of tau.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
    """
    return coriolis_matrix(model, q, dq) @ rates(model, dq, "dq")


@labelled("n", "n")
def mass_matrix_rate(model: Model, q: StateLike, dq: StateLike) -> Array:
    """dM/dt along dq, (n, n): C + C^T.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
    """
    C = coriolis_matrix(model, q, dq)
    return C + C.T


@labelled("n", "n", "n")
def christoffel_symbols(model: Model, q: StateLike) -> Array:
    """Gamma(q), (n, n, n), with C_ij = sum over k of Gamma_ijk dq_k, symmetric in j and k.

    C is linear in dq, so unit rates give the symbols one by one. (The rates of spherical and free
    joints are not derivatives of coordinates; with them the symbols are not symmetric.)

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
    """
    unit, tree = np.eye(model.n, dtype=int), book_tree(model, q)
    slices = [tree_coriolis_matrix(tree, e) for e in unit]
    return np.array(slices).reshape(model.n, model.n, model.n).transpose(1, 2, 0)


def tree_coriolis_matrix(tree: Tree, dq: Array) -> Array:
    """C(q, dq), (n, n), with armature and rotors."""
    n = tree.model.n
    omega, u = link_velocities(tree, dq)
    bodies = [link.body for link in tree.links]
    spreads = [rigid(bodies[i], omega[i]) for i in range(len(bodies))]
    C: Matrix = [[0] * n for _ in range(n)]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        for k in range(len(link.dofs)):
            _add_joint(tree, omega, u, C, i, k, bodies[i], spreads[i])
        p = link.parent
        if p != WORLD:
            spreads[p] = spreads[p] + spreads[i].inward(bodies[i], link.to, u[i])
            bodies[p] = bodies[p] + link.to.body_inward(bodies[i])
    add_drives_to_coriolis_matrix(tree, omega, dq, C)
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


class MomentumRates(NamedTuple):
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


def link_velocities(tree: Tree, dq: Array) -> tuple[dict[int, Array], list[Array]]:
    """Angular velocity of every link, and velocity u of its origin from its parent's, in {p}."""
    omega, u = {WORLD: tree.base.omega}, []
    for i, (link, own) in enumerate(zip(tree.links, tree.per_link(dq), strict=True)):
        twist = link.A @ own
        omega_p = omega[link.parent]
        omega[i] = link.to.outward(omega_p) + twist[:3]
        u.append(cross(omega_p, link.to.p) + link.to.inward(twist[3:]))
    return omega, u


def _add_joint(
    tree: Tree,
    omega: dict[int, Array],
    u: list[Array],
    C: Matrix,
    i: int,
    k: int,
    body: Moments,
    spread: Spread,
) -> None:
    """Add the entries of unit rate k of joint i with its own joint and with all ancestors'."""
    A, column = tree.links[i].A, tree.links[i].dofs[k]
    f, n, df, dn, Q = momentum_rates(body, spread, omega[i], A[:3, k], A[3:, k])
    for j in tree.path_inward(i):
        link = tree.links[j]
        for a, row in enumerate(link.dofs):
            w_j, l_j = link.A[:3, a], link.A[3:, a]
            C[row][column] = C[row][column] + w_j @ dn + l_j @ df
            if j != i:
                turned = cross(omega[j], w_j) @ n + cross(omega[j], l_j) @ f
                C[column][row] = C[column][row] + turned + w_j @ Q
        f, n = link.to.pair_inward(f, n)
        df, dn = link.to.pair_inward(df, dn)
        Q = link.to.inward(Q) + cross(u[j], f)


def _tree_mass_matrix_rate(tree: Tree, dq: Array) -> Array:
    C = tree_coriolis_matrix(tree, dq)
    return C + C.T


def _weightless_model(model: Model) -> Model:
    return without_passive_forces(model).with_gravity(zeros(3))


CORIOLIS_MATRIX = Quantity(
    "coriolis_matrix", "q dq",
    (
        Result(
            "C", "n n", "Coriolis matrix of the Christoffel symbols",
            "the units of M per second",
        ),
    ),
    "Coriolis matrix C(q, dq): c = C dq, and dM/dt - 2 C is skew-symmetric.",
    "C(q, dq), dM - 2C skew",
    over_tree(tree_coriolis_matrix, 1),
    (
        "robot.coriolis_matrix([0.1, 0.2], [1, 0.5]).round(3)",
        "array([[-0.755, -2.265],\n       [ 1.51 ,  0.   ]])",
    ),
)  # fmt: skip
CORIOLIS_FORCES = Quantity(
    "coriolis_forces", "q dq",
    (Result("c", "n", "Coriolis and centrifugal forces", "N m or N"),),
    "Coriolis and centrifugal joint forces: c(q, dq) = C dq.",
    "c(q, dq) = C dq",
    over_tree(tree_bias_forces, 1, of=_weightless_model),
    ("robot.coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)", "array([-1.887,  1.51 ])"),
)  # fmt: skip
MASS_MATRIX_RATE = Quantity(
    "mass_matrix_rate", "q dq",
    (Result("dM", "n n", "rate of the mass matrix", "the units of M per second"),),
    "Rate of the mass matrix: dM/dt = C + C^T.",
    "dM/dt",
    over_tree(_tree_mass_matrix_rate, 1),
    (
        "robot.mass_matrix_rate([0.1, 0.2], [1, 0.5]).round(3)",
        "array([[-1.51 , -0.755],\n       [-0.755,  0.   ]])",
    ),
)  # fmt: skip
