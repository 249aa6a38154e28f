"""Inverse dynamics: joint forces from a motion, by one recursion over a Tree.

With B = [alpha] + [omega][omega], every point x fixed in a link accelerates by a + B x, where a is
the acceleration of the frame's origin. Hence the link needs, from its mass moments,

    f = m a + B h
    n = h x a + axial(B Sigma - Sigma B^T)

The same recursion gives M ddq_r + C dq_r + g for reference rates dq_r that differ from dq: a point
x then moves along the reference with v_r + omega_r x x, and this velocity changes by a + B x with
B = [alpha_r] + [omega_r][omega]. With dq_r = dq all of this is inverse dynamics.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, StateLike
from kinetree.dynamics import joints
from kinetree.dynamics.tree import Pair, Tree, TreeLink
from kinetree.model import Model
from kinetree.model.inputs import TipWrench, Wrenches, rates, zeros
from kinetree.model.quantity import at_state, quantity
from kinetree.spatial import cross
from kinetree.spatial.inertia import Moments
from kinetree.spatial.se3 import split


@quantity(
    "q dq ddq -> tau: n",
    wrenches=True,
    weighs=True,
    instead="Use dynamics.constrained_inverse_dynamics",
    caution="tau is NaN where the motors cannot make the motion, as at a dead centre.",
)
def inverse_dynamics(tree: Tree, dq: Array, ddq: Array) -> Array:
    """Joint forces of a motion: tau = M ddq + c + g + springs + friction - J^T F_ext.

    Returns:
        tau: joint forces [N m or N].

    Example:
        >>> robot.inverse_dynamics([0.1, 0.2], [1, 0], [0, 2]).round(3)
        array([385.633,  79.416])
    """
    wrenches = joint_wrenches(tree, link_motions(tree, dq, ddq))
    tau = tree.joint_forces(wrenches) + joints.friction_forces(tree.model, dq)
    return tau if tree.springs is None else tau + tree.springs.at(dq)


@quantity("q dq -> h: n", wrenches=True, weighs=True)
def bias_forces(tree: Tree, dq: Array) -> Array:
    """Joint forces at zero acceleration: h(q, dq) = c + g + springs + friction - J^T F_ext.

    Returns:
        h: joint forces of a motion without acceleration [N m or N].

    Example:
        >>> robot.bias_forces([0.1, 0.2], [1, 0.5]).round(3)
        array([362.168,  72.736])
    """
    return inverse_dynamics(tree, dq, zeros(tree.model.n))


@at_state(inverse_dynamics)
def inverse_dynamics_at_state(
    model: Model,
    q: StateLike,
    dq: StateLike,
    ddq: StateLike,
    F_ext: Wrenches = None,
    *,
    F_tip: TipWrench = None,
    V_base: ArrayLike | None = None,
    dV_base: ArrayLike | None = None,
    formulation: str | None = None,
) -> Array:
    """Joint forces of a motion: tau = M ddq + c + g + springs + friction - J^T F_ext.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        dq: joint rates, shape (n,), rad/s or m/s.
        ddq: joint accelerations, shape (n,), rad/s^2 or m/s^2.
        F_ext: wrenches (moment, force) from the world onto the links, each in its link's frame,
            shape (l, 6), N m and N; None: no wrench.
        F_tip: the book's wrench exerted BY the tool on the world, in the tool frame, (6,), or a
            mapping from frame names to such wrenches.
        V_base: twist (angular, linear) of the base in its own axes, shape (6,), rad/s and m/s;
            None: at rest.
        dV_base: acceleration of the base in its own axes, shape (6,), rad/s^2 and m/s^2; None:
            zero.
        formulation: None for the recursion that kernels are traced from, or where the base moves
            for "link"; "screw", "closed", "link" or "space" for a form of the book. All give the
            same to rounding.

    Returns:
        tau: shape (n,), N m or N, with armature, rotors, springs and friction.
    """
    if formulation is not None or V_base is not None or dV_base is not None:
        from kinetree.dynamics.textbook.newton_euler import newton_euler  # not for kernels

        base, form = {"V_base": V_base, "dV_base": dV_base}, formulation or "link"
        return newton_euler(model, q, dq, ddq, F_ext, F_tip=F_tip, **base, formulation=form).tau
    from kinetree.dynamics.book import book_tree  # not for kernels

    tree = book_tree(model, q, F_ext, F_tip)
    return inverse_dynamics(tree, rates(model, dq, "dq"), rates(model, ddq, "ddq"))


@dataclass(frozen=True, eq=False)
class LinkMotion:
    """Motion of link i in {i}; of the reference where one is given.

    omega_p, alpha_p, a_p: the parent's angular velocity, angular acceleration, and the acceleration
    of the parent's point under the origin of {i}: the motion that a joint at rest would give. w, l:
    the joint's own rates, angular and linear. omega, alpha, a: those of the link. B: every point x
    of the link accelerates by a + B x.
    """

    omega_p: Array
    alpha_p: Array
    a_p: Array
    w: Array
    l: Array
    omega: Array
    omega_r: Array  # of the reference; omega itself where none is given
    alpha: Array
    a: Array
    B: Array


def link_motions(
    tree: Tree, dq: Array, ddq: Array, dq_r: Array | None = None
) -> dict[int, LinkMotion]:
    """Motion of every link, WORLD included, parents before children.

    With R from {p} to {i}, p the origin of {i} seen from the parent, (w, l) = A dq, (w_r, l_r) =
    A dq_r and (dw, dl) = A ddq:

    omega_i = R omega_p + w
    alpha_i = R alpha_p + dw + omega_i x w_r
    a_i     = R (a_p + B_p p) + dl + (R omega_r,p) x l + omega_i x l_r

    dq_r: rates of a reference, whose change is ddq; dq itself where None.
    """

    def step(_: int, link: TreeLink, p: LinkMotion) -> LinkMotion:
        to, dofs = link.to, list(link.dofs)
        (w, l), (dw, dl) = split(link.A @ dq[dofs]), split(link.A @ ddq[dofs])
        w_r, l_r = (w, l) if dq_r is None else split(link.A @ dq_r[dofs])
        turning, turning_r = to.outward(p.omega), to.outward(p.omega_r)
        omega, omega_r = turning + w, turning_r + w_r
        # The order of these terms decides the last bits of every kernel. With dq_r = dq, w x w_r
        # and `apart` are zero: the first is left out, the tracer finds the second.
        alpha_p = to.outward(p.alpha)
        alpha = alpha_p + dw + cross(turning if dq_r is None else omega, w_r)
        a_p = to.outward(p.a + p.B @ to.p)
        apart = cross(turning_r, l) - cross(turning, l_r)
        a = a_p + dl + (2 * cross(turning, l_r) + apart) + cross(w, l_r)
        B = acceleration_matrix(omega, alpha, omega_r)
        return LinkMotion(turning, alpha_p, a_p, w, l, omega, omega_r, alpha, a, B)

    o = zeros(3)
    base = LinkMotion(o, o, tree.up, o, o, o, o, o, tree.up, np.zeros((3, 3), int))
    return tree.outward(base, step)


def joint_wrenches(tree: Tree, motions: Mapping[int, LinkMotion]) -> dict[int, Pair]:
    """Force f and moment n through every joint onto its link, in {i}."""
    return tree.gathered_pairs(lambda link, i: needed_wrench(link, motions[i]))


def needed_wrench(link: TreeLink, motion: LinkMotion) -> Pair:
    """Force and moment that a link needs for its motion."""
    f, n = body_wrench(link.body, motion)
    if link.load is None:
        return f, n
    return f - link.load[0], n - link.load[1]  # the world pushes the link, the joint pushes back


def acceleration_matrix(omega: Array, alpha: Array, omega_r: Array) -> Array:
    """[alpha] + [omega_r][omega], (3, 3)."""
    (x, y, z), (u, v, w) = omega, omega_r
    xu, yv, zw = x * u, y * v, z * w
    return np.array(
        [
            [-(yv + zw), x * v - alpha[2], x * w + alpha[1]],
            [y * u + alpha[2], -(xu + zw), y * w - alpha[0]],
            [z * u - alpha[1], z * v + alpha[0], -(xu + yv)],
        ]
    )


def body_wrench(x: Moments, motion: LinkMotion) -> Pair:
    """Force and moment about the origin that a body needs for its motion.

    The axial vector is written out: differences of the diagonal of B are differences of squares.
    """
    S, h, a, B = x.Sigma, x.h, motion.a, motion.B
    xx, yy, zz = motion.omega * motion.omega_r
    x_turn = B[2, 0] * S[0, 1] - B[1, 0] * S[0, 2] + B[2, 1] * S[1, 1] - B[1, 2] * S[2, 2]
    y_turn = B[0, 1] * S[1, 2] - B[2, 1] * S[0, 1] + B[0, 2] * S[2, 2] - B[2, 0] * S[0, 0]
    z_turn = B[1, 2] * S[0, 2] - B[0, 2] * S[1, 2] + B[1, 0] * S[0, 0] - B[0, 1] * S[1, 1]
    turning = np.array(
        [x_turn + (zz - yy) * S[1, 2], y_turn + (xx - zz) * S[0, 2], z_turn + (yy - xx) * S[0, 1]]
    )
    return a * x.m + B @ h, cross(h, a) + turning


@quantity("q -> g: n", weighs=True)
def gravity_forces(tree: Tree) -> Array:
    """Joint forces that carry the weight of the robot at rest: g(q), without springs.

    Returns:
        g: joint forces that carry the weight of the robot [N m or N].

    Example:
        >>> robot.gravity_forces([0.1, 0.2]).round(3)
        array([364.056,  71.226])
    """
    smooth = replace(tree, model=joints.without_passive_forces(tree.model), springs=None)
    return bias_forces(smooth, zeros(tree.model.n))
