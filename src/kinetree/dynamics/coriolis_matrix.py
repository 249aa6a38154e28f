"""C(q, dq) by composite bodies, from the motion of mass points, and what follows from it.

With j_a the velocity of a mass point for unit rate of joint a, M_ab = sum of m j_a . j_b and
C_ab = sum of m j_a . dj_b/dt: space is flat, so these are Christoffel's. For points r of the bodies
beyond joint b, moving at dr relative to the joint's origin, which turns with omega,

    j_b  = w x r + l,     dj_b = (omega x w) x r + omega x l + w x dr

so that all sums follow from m, h, Sigma, dh = sum of m dr and K = sum of m r dr^T, which are
carried inward together with the composite bodies.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.inverse_dynamics import bias_forces
from kinetree.dynamics.tree import JointTransform, Tree, TreeLink, weightless
from kinetree.model import WORLD, Model
from kinetree.model.inputs import zeros
from kinetree.model.labelled import labelled
from kinetree.model.quantity import quantity
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments
from kinetree.spatial.matrices import dense
from kinetree.spatial.se3 import split


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
    slices = [coriolis_matrix(tree, e) for e in unit]
    return np.array(slices).reshape(model.n, model.n, model.n).transpose(1, 2, 0)


@quantity("q dq -> C: n n")
def coriolis_matrix(tree: Tree, dq: Array) -> Array:
    """Coriolis matrix C(q, dq): c = C dq, and dM/dt - 2 C is skew-symmetric.

    Returns:
        C: Coriolis matrix of the Christoffel symbols [the units of M per second].

    Example:
        >>> robot.coriolis_matrix([0.1, 0.2], [1, 0.5]).round(3)
        array([[-0.755, -2.265],
               [ 1.51 ,  0.   ]])
    """
    moving = moving_bodies(tree, dq)

    def own(i: int, link: TreeLink) -> list[MomentumRates]:
        return [moving.momentum_rates(i, *split(axis)) for axis in link.A.T]

    def carry(i: int, link: TreeLink, x: MomentumRates) -> MomentumRates:
        return x.inward(link.to, moving.u[i])

    C = np.zeros((tree.model.n, tree.model.n), object)
    for at in tree.couplings(own, carry):
        link, omega, column, x = tree.links[at.link], moving.omega[at.link], at.dof, at.x
        for row, (w, l) in zip(link.dofs, map(split, link.A.T), strict=True):
            C[row, column] = C[row, column] + (w @ x.dn + l @ x.df)
            if at.axis is None:
                opposite = cross(omega, w) @ x.n + cross(omega, l) @ x.f
                C[column, row] = C[column, row] + opposite + w @ x.Q
    return dense(C)


@dataclass(frozen=True, eq=False)
class VelocityMoments:
    """Motion of the mass points of a body relative to its origin.

    dh: sum of m dr, (3,). K: sum of m r dr^T, (3, 3).
    """

    dh: Array
    K: Array

    def __add__(self, other: "VelocityMoments") -> "VelocityMoments":
        return VelocityMoments(self.dh + other.dh, self.K + other.K)

    def inward(self, body: Moments, to: JointTransform, u: Array) -> "VelocityMoments":
        """The same about the parent's origin; u: velocity of the own origin from it, in {p}."""
        K = to.matrix_inward(self.K)
        h, dh = to.inward(body.h), to.inward(self.dh) + u * body.m
        return VelocityMoments(dh, K + np.outer(h, u) + np.outer(to.p, dh))

    def moment(self, w: Array, l: Array) -> Array:
        """Sum of m dr x j for the velocities j = w x r + l, (3,)."""
        return w * self.trace - self.K @ w + cross(self.dh, l)

    @property
    def trace(self) -> Array:
        """Trace of K: the sum of m r . dr."""
        return self.K[0, 0] + self.K[1, 1] + self.K[2, 2]


def rigid_velocities(body: Moments, omega: Array) -> VelocityMoments:
    """Velocity moments of one rigid body: dr = omega x r."""
    return VelocityMoments(cross(omega, body.h), body.Sigma @ skew(omega).T)


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

    def inward(self, to: JointTransform, u: Array) -> "MomentumRates":
        """The same about the parent's origin; u: velocity of the link's from it."""
        f, n = to.pair_inward(self.f, self.n)
        df, dn = to.pair_inward(self.df, self.dn)
        return MomentumRates(f, n, df, dn, to.inward(self.Q) + cross(u, f))


@dataclass(frozen=True, eq=False)
class MovingBodies:
    """All bodies beyond each joint as one, and the motion of their points, by link.

    omega: angular velocity of the link. u: velocity of its origin from its parent's, in {p}.
    """

    omega: dict[int, Array]
    u: dict[int, Array]
    bodies: dict[int, Moments]
    velocities: dict[int, VelocityMoments]

    def momentum_rates(self, i: int, w: Array, l: Array) -> MomentumRates:
        """Momentum of the bodies for unit rate of an axis (w, l) of joint i, and its rates."""
        omega, body, moving = self.omega[i], self.bodies[i], self.velocities[i]
        f, n = body.momentum(w, l)
        df, dn = body.momentum(cross(omega, w), cross(omega, l))
        df, dn = df + cross(w, moving.dh), dn + w * moving.trace - moving.K.T @ w
        return MomentumRates(f, n, df, dn, moving.moment(w, l))


def moving_bodies(
    tree: Tree, dq: Array, times: int = 1, base: Moments | None = None
) -> MovingBodies:
    """The composite bodies of a tree, and `times` their velocity moments.

    base: as in `Tree.composite_bodies`; the base is at rest.
    """
    omega = {i: twist[0] for i, twist in tree.twists(dq).items()}
    bodies = tree.composite_bodies(base)

    def velocity(link: TreeLink, _: int) -> Array:
        l = (link.A @ dq[list(link.dofs)])[3:]
        return cross(omega.get(link.parent, zeros(3)), link.to.p) + link.to.inward(l)

    u = tree.each(velocity)
    velocities = tree.each(lambda link, i: rigid_velocities(link.body, times * omega[i]))
    if base is not None:
        velocities[WORLD] = VelocityMoments(zeros(3), np.zeros((3, 3), int))
    tree.gathered(
        velocities, lambda i, link, x, parent: parent + x.inward(bodies[i], link.to, times * u[i])
    )
    return MovingBodies(omega, u, bodies, velocities)


@quantity("q dq -> dM: n n", method=False)
def mass_matrix_rate(tree: Tree, dq: Array) -> Array:
    """Rate of the mass matrix: dM/dt = C + C^T.

    Returns:
        dM: rate of the mass matrix [the units of M per second].

    Example:
        >>> robot.compile("mass_matrix_rate")([0.1, 0.2], [1, 0.5]).round(3)
        array([[-1.51 , -0.755],
               [-0.755,  0.   ]])
    """
    C = coriolis_matrix(tree, dq)
    return C + C.T


@quantity("q dq -> c: n")
def coriolis_forces(tree: Tree, dq: Array) -> Array:
    """Coriolis and centrifugal joint forces: c(q, dq) = C dq.

    Returns:
        c: Coriolis and centrifugal forces [N m or N].

    Example:
        >>> robot.coriolis_forces([0.1, 0.2], [1, 0.5]).round(3)
        array([-1.887,  1.51 ])
    """
    return bias_forces(weightless(tree), dq)
