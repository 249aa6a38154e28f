"""Y(q, dq, ddq) with Y pi = tau: joint forces as a linear function of the robot's parameters.

For a link with angular velocity omega, angular acceleration alpha and its origin's acceleration a
(gravity included), the force of a joint that moves it with the twist (w, l) at its origin is

    l . (m a + B h) + w . (h x a) + w . (I alpha + omega x I omega),    B = [alpha] + [omega]^2

from which the coefficients of m, h and I are read. `parameters.py` has pi and its names. Forces of
friction functions and external wrenches are not part of Y pi. The motion is that of the link form
of the recursion.

Adaptive control needs Y theta and Y^T s of the regressor Y of M ddq_r + C dq_r + g = Y theta, with
dM/dt - 2 C skew-symmetric and theta the ten moments m, h, Sigma (xx, yy, zz, xy, xz, yz) of each
link. This Y is not formed there: `reference_forces` has Y theta from the recursion over a Tree, and
Y^T s from the power of every link's wrench along the rates s. `reference_regressor` forms Y, over
the same parameters pi as `regressor`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.constraints.closures import placed, tree_constraints
from kinetree.dynamics.constraints.dynamics import motor_matrix
from kinetree.dynamics.drive_terms import (
    reference_rotor_columns,
    rotor_columns,
    rotor_energies,
    rotor_momenta,
)
from kinetree.dynamics.inverse_dynamics import (
    LinkMotion,
    acceleration_matrix,
    joint_wrenches,
    link_motions,
)
from kinetree.dynamics.joints.friction import refuse_load_friction
from kinetree.dynamics.joints.rotors import armature_coriolis, armature_turning
from kinetree.dynamics.joints.springs import spring_columns, spring_energies
from kinetree.dynamics.kinematics import forward_kinematics, link_jacobians
from kinetree.dynamics.textbook.newton_euler import newton_euler
from kinetree.dynamics.tree import Pair, Tree
from kinetree.files.description.joints import FREE, PLANAR
from kinetree.model import Model
from kinetree.model.constrain import tree_of, without_constraints
from kinetree.model.inputs import columns, coordinates, per_link, rates, zeros
from kinetree.model.quantity import quantity
from kinetree.scalars import sign
from kinetree.spatial import cross, skew
from kinetree.spatial.inertia import Moments
from kinetree.spatial.twist import split

RECURSIVE = 64  # links from which twists take a recursion: Jacobians grow with their square


@quantity(
    "q dq ddq -> Y: n p",
    meaning="regressor of the joint forces",
    unit="N m or N for a unit of each parameter",
    formula="Y, tau = Y pi",
    over="model",
)
def regressor(model: Model, q: StateLike, dq: StateLike, ddq: StateLike) -> Array:
    """Regressor Y of the joint forces: tau = Y @ robot.parameters.

    Example:
        >>> robot.regressor([0.1, 0.2], [1, 0], [0, 2]).shape
        (2, 30)
    """
    q, dq, ddq = coordinates(model, q), rates(model, dq, "dq"), rates(model, ddq, "ddq")
    if model.constraints is not None:
        J = tree_constraints(book_tree(model, q), placed(model), q).J
        return motor_matrix(model, J) @ regressor(tree_of(model), q, dq, ddq)
    motion = newton_euler(model, q, dq, ddq, formulation="link")
    J = link_jacobians(model, q)
    blocks = [body_rows(J[i], motion.omega[i], motion.alpha[i], motion.a_e[i]) for i in model.links]
    blocks += _joint_columns(model, dq, ddq)
    blocks += rotor_columns(model, J, motion, dq, ddq)
    blocks += spring_columns(model, q)
    blocks += _motor_columns(model, dq, ddq)
    return _joined(blocks, model.n)


@quantity(
    "q dq dq_r ddq_r -> Y: n p",
    meaning="regressor of the forces of the reference",
    unit="N m or N for a unit of each parameter pi of `robot.parameters`",
    formula="Y, Y pi = M ddq_r + C dq_r + g",
    over="model",
    weighs=True,
    refused=(
        "The joint forces of a robot with constraints are not linear in its parameters "
        "alone; use the tree without constraints"
    ),
)
def reference_regressor(
    model: Model, q: StateLike, dq: StateLike, dq_r: StateLike, ddq_r: StateLike
) -> Array:
    """Regressor of Slotine and Li: Y pi = M ddq_r + C dq_r + g + springs + friction of dq.

    Example:
        >>> robot.reference_regressor([0.1, 0.2], [1, 0], [0.5, 0], [0, 2]).shape
        (2, 30)
    """
    q, dq = coordinates(model, q), rates(model, dq, "dq")
    dq_r, ddq_r = rates(model, dq_r, "dq_r"), rates(model, ddq_r, "ddq_r")
    without_constraints(model, "dynamics.reference_regressor")
    motions = link_motions(book_tree(model, q), dq, ddq_r, dq_r)
    J = link_jacobians(model, q)
    blocks = [reference_rows(J[i], motions[i]) for i in model.links]
    blocks += _joint_columns(model, dq, ddq_r, dq_r)
    blocks += reference_rotor_columns(model, J, motions, dq, dq_r, ddq_r)
    blocks += spring_columns(model, q)
    blocks += _motor_columns(model, dq, ddq_r)
    return _joined(blocks, model.n)


def reference_rows(J: Array, motion: LinkMotion) -> Array:
    """Coefficients of (m, h, I) of a link in the joint forces of a reference, (n, 10).

    The moments Sigma of `power` are tr(I) / 2 - I.
    """
    rows = []
    for w, l in zip(J[:3].T, J[3:].T, strict=True):
        m, x, y, z, xx, yy, zz, xy, xz, yz = power(motion, w, l)
        half = (xx + yy + zz) / 2
        rows.append([m, x, y, z, half - xx, -xy, -xz, half - yy, -yz, half - zz])
    return np.array(rows).reshape(-1, 10)


def body_rows(J: Array, omega: Array, alpha: Array, a: Array) -> Array:
    """Coefficients of (m, h, I) of a link in the joint forces, (n, 10); J is its body Jacobian."""
    B = acceleration_matrix(omega, alpha, omega)
    rows = []
    for w, l in zip(J[:3].T, J[3:].T, strict=True):
        h = B.T @ l + cross(a, w)
        rows.append([l @ a, *h, *_quadratic(w, alpha, cross(w, omega), omega)])
    return np.array(rows).reshape(-1, 10)


def _quadratic(a: Array, b: Array, c: Array, d: Array) -> list[Any]:
    """Coefficients of the six entries of I in a . I b + c . I d."""
    return [
        a[0] * b[0] + c[0] * d[0],
        a[0] * b[1] + a[1] * b[0] + c[0] * d[1] + c[1] * d[0],
        a[0] * b[2] + a[2] * b[0] + c[0] * d[2] + c[2] * d[0],
        a[1] * b[1] + c[1] * d[1],
        a[1] * b[2] + a[2] * b[1] + c[1] * d[2] + c[2] * d[1],
        a[2] * b[2] + c[2] * d[2],
    ]


def _joint_columns(model: Model, dq: Array, ddq: Array, dq_r: Array | None = None) -> list[Array]:
    """Columns of friction and armature of each joint, (n, 5); Coulomb friction is zero at rest.

    dq_r: reference rates whose change is ddq; None: dq. Friction is that of dq.
    """
    refuse_load_friction(model)
    blocks = []
    joint_rates, accelerations = per_link(model, dq), per_link(model, ddq)
    reference = None if dq_r is None else per_link(model, dq_r)
    for i, joint in enumerate(model.joints):
        scale = joint.scale
        rows = []
        change = accelerations[i]
        if joint.type in (FREE, PLANAR):
            if reference is None:
                change = change + armature_turning(joint, joint_rates[i])
            else:
                change = change + armature_coriolis(joint, joint_rates[i]) @ reference[i]
        for x, ddx in zip(joint_rates[i] * scale, change * scale, strict=True):
            rows.append([*(part * scale for part in _friction_shapes(x)), ddx * scale])
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
    rows = ([*_friction_shapes(x.rate(dq)), x.rate(ddq)] for x in model.motors)
    return [np.outer(a, row) for a, row in zip(model.motor_matrix, rows, strict=True)]


@quantity(
    "q dq -> y_T: p, y_U: p",
    meaning=(
        "regressor of the kinetic energy",
        "regressor of the potential energy",
    ),
    unit=(
        "J for a unit of each parameter",
        "J for a unit of each parameter",
    ),
    formula="y_T, y_U: energies = y pi",
    over="model",
)
def energy_regressor(model: Model, q: StateLike, dq: StateLike) -> tuple[Array, Array]:
    """Regressors of the energies: T = y_T @ robot.parameters, U = y_U @ robot.parameters.

    Example:
        >>> robot.energy_regressor([0.1, 0.2], [1, 0])[0].shape
        (30,)
    """
    q, dq = coordinates(model, q), rates(model, dq, "dq")
    twists = _twists(model, q, dq)
    T_si, g = forward_kinematics(model, q), model.gravity[3:]
    kinetic: list[Any] = []
    potential: list[Any] = []
    spins = {}
    for i, (omega, v) in enumerate(twists):
        spins[i] = omega
        half = [x / 2 for x in _quadratic(omega, omega, zeros(3), zeros(3))]
        kinetic += [v @ v / 2, *cross(v, omega), *half]
        potential += [-(g @ T_si[i][:3, 3]), *(-(T_si[i][:3, :3].T @ g)), *zeros(6)]
    for joint, joint_rates in zip(model.joints, per_link(model, dq), strict=True):
        kinetic += [0, 0, 0, 0, joint_rates @ joint_rates * (joint.scale * joint.scale) / 2]
    kinetic += rotor_energies(model, spins, dq)
    potential += list(zeros(len(kinetic) - len(potential)))
    potential += spring_energies(model, q)
    kinetic += list(zeros(len(potential) - len(kinetic)))
    for motor in model.motors:
        rate = motor.rate(dq)
        kinetic += [0, 0, 0, 0, rate * rate / 2]
    potential += list(zeros(len(kinetic) - len(potential)))
    return np.array(kinetic), np.array(potential)


@quantity(
    "q dq -> Y: 6 p",
    meaning="regressor of the momentum",
    unit="N m s and N s for a unit of each parameter",
    formula="momentum = Y pi",
    over="model",
)
def momentum_regressor(model: Model, q: StateLike, dq: StateLike) -> Array:
    """Regressor of the momentum about the origin of {s}: h = Y @ robot.parameters.

    Example:
        >>> robot.momentum_regressor([0.1, 0.2], [1, 0]).shape
        (6, 30)
    """
    q, dq = coordinates(model, q), rates(model, dq, "dq")
    twists, T_si = _twists(model, q, dq), forward_kinematics(model, q)
    blocks = []
    for i, (omega, v) in enumerate(twists):
        R, p = T_si[i][:3, :3], T_si[i][:3, 3]
        unit = np.eye(3, dtype=int)
        linear = [v, *(cross(omega, e) for e in unit), *([zeros(3)] * 6)]
        angular = [zeros(3), *(cross(e, v) for e in unit), *_inertia_columns(omega)]
        f = [R @ x for x in linear]
        n = [R @ x + cross(p, y) for x, y in zip(angular, f, strict=True)]
        blocks.append(np.array([np.concatenate(pair) for pair in zip(n, f, strict=True)]).T)
    blocks.append(np.zeros((6, 5 * len(model.joints)), int))
    blocks += rotor_momenta(model, T_si, dq)
    blocks.append(np.zeros((6, 2 * len(model.springs) + 5 * len(model.motors)), int))
    return _joined(blocks, 6)


def _twists(model: Model, q: Array, dq: Array) -> Iterator[Pair]:
    """Twist of every link in its own axes, by Jacobians; of a long robot by recursion."""
    if len(model.links) < RECURSIVE:
        return (split(J @ dq) for J in link_jacobians(model, q))
    twists = book_tree(model, q).twists(dq)
    return (twists[i] for i in model.links)


def _inertia_columns(w: Array) -> list[Array]:
    """I w for a unit of each of the six entries of I."""
    x, y, z = w
    rows = [[x, 0, 0], [y, x, 0], [z, 0, x], [0, y, 0], [0, z, y], [0, 0, z]]
    return [np.array(row) for row in rows]


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

    Masses, loads, friction, springs, armature and rotors of the tree are not used.
    """
    links = [
        replace(link, body=moments_of(row), load=None)
        for link, row in zip(tree.links, theta, strict=True)
    ]
    tree = replace(tree, links=tuple(links), rotors=())
    motions = link_motions(tree, dq, ddq_r, dq_r)
    tau = tree.joint_forces(joint_wrenches(tree, motions, dq, ddq_r))
    twists = tree.twists(s)
    return tau, np.array([power(motions[i], *twists[i]) for i in range(len(links))])


def power(motion: LinkMotion, w: Array, v: Array) -> Array:
    """Contribution of each of the ten moments to v . f + w . n, (10,)."""
    a, B = motion.a, motion.B
    C = -(skew(w) @ B).T
    second = [C[i, j] if i == j else C[i, j] + C[j, i] for i, j in PAIRS]
    return np.array([v @ a, *(B.T @ v + cross(a, w)), *second])
