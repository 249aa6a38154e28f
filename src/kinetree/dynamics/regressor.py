"""Y(q, dq, ddq) with Y pi = tau: joint forces as a linear function of the robot's parameters.

For a link with angular velocity omega, angular acceleration alpha and its origin's acceleration a
(gravity included), the force of a joint that moves it with the twist (w, l) at its origin is

    l . (m a + B h) + w . (h x a) + w . (I alpha + omega x I omega),    B = [alpha] + [omega]^2

from which the coefficients of m, h and I are read. `parameters.py` has pi and its names. Forces of
friction functions and external wrenches are not part of Y pi.

Adaptive control needs Y theta and Y^T s of the regressor Y of M ddq_r + C dq_r + g = Y theta, with
dM/dt - 2 C skew-symmetric and theta the ten moments m, h, Sigma (xx, yy, zz, xy, xz, yz) of each
link. This Y is not formed there: `reference_forces` has Y theta from the recursion over a Tree, and
Y^T s from the power of every link's wrench along the rates s. `reference_regressor` forms Y, over
the same parameters pi as `regressor`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.dynamics import motor_matrix
from kinetree.dynamics.inverse_dynamics import LinkMotion, joint_wrenches, link_motions
from kinetree.dynamics.joints.friction import refuse_load_friction
from kinetree.dynamics.joints.springs import spring_columns
from kinetree.dynamics.kinematics import tree_link_jacobians
from kinetree.dynamics.parameters import INDEX, LINK
from kinetree.dynamics.tree import Tree
from kinetree.files.description.joints import FREE, PLANAR
from kinetree.model import WORLD, Model
from kinetree.model.constrain import tree_of, without_constraints
from kinetree.model.inputs import columns, coordinates, rates
from kinetree.model.quantity import quantity
from kinetree.scalars import sign
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments


@quantity("q dq ddq -> Y: n p", over="model")
def regressor(model: Model, q: StateLike, dq: StateLike, ddq: StateLike) -> Array:
    """Regressor Y of the joint forces: tau = Y @ robot.parameters.

    Returns:
        Y: regressor of the joint forces [N m or N for a unit of each parameter].

    Example:
        >>> robot.regressor([0.1, 0.2], [1, 0], [0, 2]).shape
        (2, 30)
    """
    q, dq, ddq = coordinates(model, q), rates(model, dq, "dq"), rates(model, ddq, "ddq")
    if model.constraints is None:
        return _regressor(model, q, dq, ddq)
    J = tree_constraints(book_tree(model, q), placed(model), q).J
    return motor_matrix(model, J) @ _regressor(tree_of(model), q, dq, ddq)


@quantity(
    "q dq dq_r ddq_r -> Y: n p",
    over="model",
    weighs=True,
    refused="The joint forces of a robot with constraints are not linear in its parameters "
    "alone; use the tree without constraints",
    method=False,
)
def reference_regressor(
    model: Model, q: StateLike, dq: StateLike, dq_r: StateLike, ddq_r: StateLike
) -> Array:
    """Regressor of Slotine and Li: Y pi = M ddq_r + C dq_r + g + springs + friction of dq.

    Returns:
        Y: regressor of the forces of the reference [N m or N for a unit of each parameter pi of
            `robot.parameters`].

    Example:
        >>> robot.compile("reference_regressor")([0.1, 0.2], [1, 0], [0.5, 0], [0, 2]).shape
        (2, 30)
    """
    q, dq = coordinates(model, q), rates(model, dq, "dq")
    dq_r, ddq_r = rates(model, dq_r, "dq_r"), rates(model, ddq_r, "ddq_r")
    without_constraints(model, "dynamics.reference_regressor")
    return _regressor(model, q, dq, ddq_r, dq_r)


def _regressor(model: Model, q: Array, dq: Array, ddq: Array, dq_r: Array | None = None) -> Array:
    """Y, (n, p), of a motion, or of a reference dq_r whose rate is ddq."""
    tree = book_tree(model, q)
    motions, J = link_motions(tree, dq, ddq, dq_r), tree_link_jacobians(tree)
    links, rotors = _with_rotors(model, tree.each(lambda _, i: J[i].T @ _wrenches(motions[i])))
    joints, motors = _joint_columns(model, dq, ddq), _motor_columns(model, dq, ddq)
    return _joined([*links, *joints, *rotors, *spring_columns(model, q), *motors], model.n)


def _unit_bodies() -> list[tuple[int, Array, Array]]:
    """m, h and I of a link for a unit of each of its ten parameters, zero in all others."""
    unit, bodies = np.eye(len(LINK), dtype=int), []
    for m, *rest in unit.tolist():
        I = np.zeros((3, 3), int)
        for (a, b), value in zip(INDEX, rest[3:], strict=True):
            I[a, b] = I[b, a] = value
        bodies.append((m, np.array(rest[:3]), I))
    return bodies


UNIT_BODIES = _unit_bodies()


def _wrenches(motion: LinkMotion) -> Array:
    """Wrench (moment, force) that a link needs for a unit of each parameter, (6, 10), in {i}.

    The moment of a reference is I a + (omega x I omega_r + omega_r x I omega) / 2, with
    a = alpha + omega_r x omega / 2.
    """
    omega, omega_r = motion.omega, motion.omega_r
    alpha = motion.alpha + cross(omega_r, omega) / 2
    columns = []
    for m, h, I in UNIT_BODIES:
        turning = (cross(omega, I @ omega_r) + cross(omega_r, I @ omega)) / 2
        n = cross(h, motion.a) + I @ alpha + turning
        columns.append(np.concatenate([n, motion.a * m + motion.B @ h]))
    return np.array(columns).T


def _with_rotors(model: Model, blocks: Mapping[int, Array]) -> tuple[list[Array], list[Array]]:
    """Blocks of the links, (k, 10), and of the rotors, (k, 1), from those of the links of a tree.

    A rotor has the inertia s s^T, which the parameters of its carrier include.
    """
    rotors = []
    for k, rotor in enumerate(model.rotors, len(model.links)):
        block = blocks[k] if rotor.link == WORLD else blocks[k] - blocks[rotor.link]
        unit = np.array([0, 0, 0, 0, *(rotor.s[a] * rotor.s[b] for a, b in INDEX)])
        rotors.append((block @ unit)[:, None])
    return [blocks[i] for i in model.links], rotors


def _joint_columns(model: Model, dq: Array, ddq: Array) -> list[Array]:
    """Columns of friction and armature of each joint, (n, 5); Coulomb friction is zero at rest."""
    refuse_load_friction(model)
    blocks = []
    for i, joint in enumerate(model.joints):
        scale, armed = joint.scale, joint.type not in (FREE, PLANAR)
        rows = [
            [
                *(x * scale for x in _friction_shapes(dq[d] * scale)),
                ddq[d] * (scale * scale * armed),
            ]
            for d in joint.dofs
        ]
        blocks.append(columns(model, i).T @ np.array(rows).reshape(-1, 5))
    return blocks


def _friction_shapes(x: Any) -> list[Any]:
    """Viscous and Coulomb friction for x > 0 and x < 0, over their coefficients.

    (1 + s) / 2 is 1 for x > 0, else 0; at rest s = 0, and s * s keeps Coulomb friction at zero.
    """
    s = sign(x)
    return [(x + x * s) / 2, (x - x * s) / 2, (s + s * s) / 2, (s - s * s) / 2]


def _motor_columns(model: Model, dq: Array, ddq: Array) -> list[Array]:
    """Columns of friction and inertia of each motor, (n, 5)."""
    pairs = zip(model.motors, model.motor_matrix, strict=True)
    return [np.outer(a, [*_friction_shapes(x.rate(dq)), x.rate(ddq)]) for x, a in pairs]


def _joined(blocks: list[Array], rows: int) -> Array:
    return np.concatenate(blocks, 1) if blocks else np.zeros((rows, 0), int)


PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def moments_of(theta: Array) -> Moments:
    """Ten numbers as mass, first and second moments."""
    S = {pair: theta[4 + k] for k, pair in enumerate(PAIRS)}
    Sigma = np.array([[S[min(i, j), max(i, j)] for j in range(3)] for i in range(3)])
    return Moments(theta[0], theta[1:4], Sigma)


def numbers_of(moments: Moments) -> Array:
    """The ten numbers of a link."""
    return np.array([moments.m, *moments.h, *(moments.Sigma[pair] for pair in PAIRS)])


def reference_forces(
    tree: Tree, dq: Array, dq_r: Array, ddq_r: Array, theta: Array, s: Array
) -> tuple[Array, Array]:
    """Y theta, (n,), and Y^T s, (links, 10), for estimated moments theta, (links, 10).

    Masses, loads, friction, springs and drives of the tree are not used.
    """
    links = tuple(
        replace(link, body=moments_of(row), load=None)
        for link, row in zip(tree.links, theta, strict=False)
    )
    tree = replace(tree, links=links)
    motions = link_motions(tree, dq, ddq_r, dq_r)
    tau, twists = tree.joint_forces(joint_wrenches(tree, motions)), tree.twists(s)
    return tau, np.array([power(motions[i], *twists[i]) for i in tree.model.links])


def power(motion: LinkMotion, w: Array, v: Array) -> Array:
    """Contribution of each of the ten moments to v . f + w . n, (10,)."""
    a, B = motion.a, motion.B
    C = -(skew(w) @ B).T
    second = [C[i, j] if i == j else C[i, j] + C[j, i] for i, j in PAIRS]
    return np.array([v @ a, *(B.T @ v + cross(a, w)), *second])
