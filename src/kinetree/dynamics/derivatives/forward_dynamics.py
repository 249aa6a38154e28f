"""Derivatives of forward dynamics, and the dynamics near a state as a linear system.

Inverse and forward dynamics undo each other, tau(q, dq, ddq(q, dq, tau)) = tau, hence

    d ddq/d q = -M^-1 d tau/d q,    d ddq/d dq = -M^-1 d tau/d dq,    d ddq/d tau = M^-1

with the derivatives of tau taken at the acceleration ddq that tau gives. Let x be the deviation
from the nominal motion, a small tangent vector of q on top of a small change of dq, and u a small
change of tau. Then

    dx/dt = A x + B u,   A = [-ad(dq), 1; d ddq/d q, d ddq/d dq],   B = [0; M^-1]

Tangent vectors of joints with several degrees of freedom turn with the joint: ad(dq) is the bracket
of the joint's own rates, and zero for joints of one degree of freedom.
"""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.core.options import finite
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from kinetree.dynamics.inverse_dynamics import inverse_dynamics
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import Tree
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import without_constraints
from kinetree.model.contacts import check_no_contacts
from kinetree.model.inputs import Wrenches, rates, zeros
from kinetree.model.quantity import quantity
from kinetree.present.tables import formulas, matrix
from kinetree.spatial import ad
from kinetree.spatial.matrices import InverseFactor, solve

USE = "Use robot.forward_dynamics_derivatives"


@quantity(
    "q dq tau -> da_dq: n n, da_dv: n n, da_dtau: n n",
    wrenches=True,
    solves=True,
    weighs=True,
    instead=USE,
)
def forward_dynamics_derivatives(tree: Tree, dq: Array, tau: Array) -> tuple[Array, Array, Array]:
    """Derivatives of `forward_dynamics`; q is moved along tangent vectors of `integrate`.

    Returns:
        da_dq: d ddq/d q [1/s^2 or the like].
        da_dv: d ddq/d dq [1/s or the like].
        da_dtau: d ddq/d tau = M^-1 [1/(kg m^2) or the like].

    Example:
        >>> robot.forward_dynamics_derivatives([0.1, 0.2], [1, 0], [0, 2])[2].round(3)
        array([[ 0.121, -0.39 ],
               [-0.39 ,  1.558]])
    """
    h = inverse_dynamics(tree, dq, zeros(tree.model.n))
    M = factor_mass_matrix(tree.model, mass_matrix(tree))
    by_q, by_dq = inverse_dynamics_derivatives(tree, dq, solve(M, tau - h))
    inverse = InverseFactor(M)
    return inverse.times(-by_q), inverse.times(-by_dq), inverse.matrix()


@dataclass(frozen=True, eq=False)
class Linearization:
    """A (..., 2n, 2n) and B (..., 2n, n) of x = (tangent of q, change of dq); dt None: d/dt x.

    Args:
        A: system matrix, shape (..., 2n, 2n), in units of x per s, or of x after dt.
        B: input matrix, shape (..., 2n, n), in units of x per s, or of x after dt, per N m or N.
        dt: length of a time step, s; None: continuous time.
    """

    A: Array
    B: Array
    dt: float | None = None

    def _repr_latex_(self) -> str:
        step = "" if self.dt is None else rf"\text{{ at steps of {self.dt:g} s}}"
        change = r"\dot x" if self.dt is None else "x_{k+1}"
        return formulas(f"{change} = A x + B u{step}", matrix("A", self.A), matrix("B", self.B))

    def discrete(self, dt: float) -> "Linearization":
        """The exact system at steps of dt with constant tau in between: x_next = A x + B u.

        Args:
            dt: length of a time step, s.
        """
        if self.dt is not None:
            raise InputError(
                f"the system is discrete already, at steps of {self.dt} s; start from the "
                "continuous one."
            )
        return Linearization(*discretize(self.A, self.B, dt), dt)


def linearize(
    model: Model, q: StateLike, dq: StateLike, tau: StateLike, F_ext: Wrenches = None
) -> Linearization:
    """The continuous system at a state; arguments as in `forward_dynamics_derivatives`.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        tau: joint forces, shape (n,), N m or N.
        F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
            shape (l, 6), N m and N; None: no wrench.
    """
    check_no_contacts(model, "linearize")
    without_constraints(model, "dynamics.linearize", USE)
    dq, tau = rates(model, dq, "dq"), rates(model, tau, "tau")
    tree = book_tree(model, q, F_ext)
    return assemble(model, dq, *forward_dynamics_derivatives(tree, dq, tau))


def assemble(model: Model, dq: Array, by_q: Array, by_dq: Array, by_tau: Array) -> Linearization:
    """A and B from the blocks, any leading axes."""
    n = model.n
    unit = np.broadcast_to(np.eye(n, dtype=int), by_q.shape)
    upper = np.concatenate([-turning(model, dq), unit], -1)
    A = np.concatenate([upper, np.concatenate([by_q, by_dq], -1)], -2)
    return Linearization(A, np.concatenate([by_tau * 0, by_tau], -2))


def turning(model: Model, dq: Array) -> Array:
    """Bracket of each joint's own rates with its tangent vectors, (..., n, n), block by block."""
    out = np.zeros((*dq.shape, model.n), dq.dtype)
    for joint in model.joints:
        k = list(joint.dofs)
        if len(k) > 1:
            E = joint.A
            brackets = np.array([E.T @ ad(axis) @ E for axis in E.T])  # for unit rates
            out[(..., *np.ix_(k, k))] = np.tensordot(dq[..., k], brackets, 1)
    return out


def discretize(A: ArrayLike, B: ArrayLike, dt: float) -> tuple[Array, Array]:
    """exp(A dt) and the integral of exp(A t) B over the step, any leading axes.

    Both are blocks of the exponential of [[A, B], [0, 0]] dt.
    """
    A, B = np.asarray(A, float), np.asarray(B, float)
    from scipy.linalg import expm

    if not (finite(dt, "dt") > 0 and np.isfinite(A).all() and np.isfinite(B).all()):
        raise InputError(f"dt is {dt} s; expected above 0, and A and B with finite entries.")
    n, m = B.shape[-2:]
    joined = np.zeros((*A.shape[:-2], n + m, n + m))
    joined[..., :n, :n], joined[..., :n, n:] = A * dt, B * dt
    exponential = expm(joined)
    return exponential[..., :n, :n], exponential[..., :n, n:]
