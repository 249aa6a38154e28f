"""The terms that armature and rotors add to M, C, momentum, derivatives and regressors.

`joints/rotors.py` has their physics. A rotor of degree of freedom e spins about s on its carrier
k with the weight w = I_m r; with J_k the angular Jacobian of the carrier and b = J_k^T s it adds

    M:  w (e b^T + b e^T) + w r e e^T
    C:  w (e db^T + (y e^T - e y^T - dq_e J_k^T [s] J_k) / 2),   y = J_k^T (omega_k x s)

b and the rest are found by walking from the carrier to the base, with s carried along. Rotors on
the base only add to the diagonal of M.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.inverse_dynamics import LinkMotion
from kinetree.dynamics.joints.motors import motor_inertia
from kinetree.dynamics.joints.rotors import (
    armature,
    armature_coriolis,
    armature_turning_slope,
    turns_armature,
)
from kinetree.dynamics.textbook.recursion import Recursion
from kinetree.dynamics.tree import Pair, Step, Tree
from kinetree.model import WORLD, Joint, JointRotor, Model
from kinetree.model.inputs import zeros
from kinetree.spatial import cross

Matrix = list[list[Any]]  # (n, n), built up entry by entry


def add_drives_to_mass_matrix(tree: Tree, M: Matrix) -> None:
    """Add the armature of every joint, all rotors and motors."""
    for i, d, *_ in tree.axes():
        M[d][d] = M[d][d] + armature(tree.model, i)
    for rotor in tree.rotors:
        e, n = rotor.dof, rotor.s * (rotor.inertia * rotor.ratio)
        M[e][e] = M[e][e] + rotor.inertia * rotor.ratio * rotor.ratio
        for k in tree.path_inward(rotor.link):
            link = tree.links[k]
            entries, n = pass_spin(link.to, link.A, n)
            for d, b in zip(link.dofs, entries, strict=True):
                M[e][d] = M[e][d] + b
                M[d][e] = M[d][e] + b
    for d, e, inertia in motor_inertia(tree.model):
        M[d][e] = M[d][e] + inertia


def pass_spin(to: Step, A: Array, n: Array) -> tuple[Array, Array]:
    """An angular momentum on a joint's axes, (k,), and in the axes of the parent."""
    return A[:3].T @ n, to.inward(n)


def add_drives_to_coriolis_matrix(
    tree: Tree, omega: dict[int, Array], dq: Array, C: Matrix
) -> None:
    """Add the rotors, and the armature of free and planar joints; omega of every link."""
    for rotor in tree.rotors:
        if rotor.link != WORLD:
            _add_rotor_to_coriolis_matrix(tree, rotor, omega, dq, C)
    _add_turning_armature(tree, dq, armature_coriolis, C)


def _add_rotor_to_coriolis_matrix(
    tree: Tree, rotor: JointRotor, omega: dict[int, Array], dq: Array, C: Matrix
) -> None:
    e, weight = rotor.dof, rotor.inertia * rotor.ratio
    s, gyro = rotor.s * weight, cross(omega[rotor.link], rotor.s * weight)
    passed: list[tuple[int, Array]] = []  # (degree of freedom, s x w) of the axes passed so far
    for j in tree.path_inward(rotor.link):
        link = tree.links[j]
        for a, d in enumerate(link.dofs):
            w = link.A[:3, a]
            y = w @ gyro / 2
            C[e][d] = C[e][d] + w @ (cross(s, omega[j]) + gyro) - y
            C[d][e] = C[d][e] + y
            for b, turned in passed:
                entry = w @ turned * dq[e] / 2
                C[d][b] = C[d][b] - entry
                C[b][d] = C[b][d] + entry
            passed.append((d, cross(s, w)))
        to = link.to
        passed = [(d, to.inward(x)) for d, x in passed]
        s, gyro = to.inward(s), to.inward(gyro)


def rotor_spins(tree: Tree, dq: Array) -> list[tuple[int, Array]]:
    """Link that carries each rotor, and the angular momentum of the rotor beyond the carrier's."""
    return [
        (rotor.link, rotor.s * (rotor.inertia * rotor.ratio * dq[rotor.dof]))
        for rotor in tree.rotors
    ]


def spin_momenta(tree: Tree, dq: Array) -> dict[int, Pair]:
    """Momentum (linear, angular) of the spin of the rotors on each link and WORLD, in {i}."""
    momenta = {i: (zeros(3), zeros(3)) for i in (WORLD, *range(len(tree.links)))}
    for k, spin in rotor_spins(tree, dq):
        momenta[k] = momenta[k][0], momenta[k][1] + spin
    return momenta


def add_drives_to_slopes(
    tree: Tree,
    omega: dict[int, Array],
    changes: Sequence[Sequence[tuple[Any, Any]]],
    dq: Array,
    by_q: Matrix,
    by_dq: Matrix,
) -> None:
    """Add to d tau/d q and d tau/d dq; `changes` of every link's joint, with position and rate.

    They have vectors x and y (derivatives/inverse_dynamics.py).

    A rotor needs the force w s . alpha_k at its joint and the moment w dq_e omega_k x s on its
    carrier. The angular acceleration of the carrier changes by y + x x omega_k, and
    s . (x x omega_k) is x . (omega_k x s). Armature of free and planar joints needs w x v of their
    rates, which no position changes.
    """
    for rotor in tree.rotors:
        e, s = rotor.dof, rotor.s * (rotor.inertia * rotor.ratio)
        gyro = cross(omega[rotor.link], s)
        for j in tree.path_inward(rotor.link):
            link = tree.links[j]
            for a, b in enumerate(link.dofs):
                moves, turns = changes[j][a]
                by_q[e][b] = by_q[e][b] + s @ moves.y + gyro @ moves.x
                by_dq[e][b] = by_dq[e][b] + s @ turns.y + gyro @ turns.x
                by_dq[b][e] = by_dq[b][e] + link.A[:3, a] @ gyro
            s, gyro = link.to.inward(s), link.to.inward(gyro)
    _add_turning_armature(tree, dq, armature_turning_slope, by_dq)


def rotor_columns(model: Model, J: Array, motion: Recursion, dq: Array, ddq: Array) -> list[Array]:
    """Joint forces of every rotor over its inertia, (n, 1) each; J of the links, in {i}."""
    columns = []
    for rotor in model.rotors:
        r, e = rotor.ratio, np.eye(model.n, dtype=int)[rotor.dof]
        column = e * (r * r * ddq[rotor.dof])
        if rotor.link != WORLD:
            k, s = rotor.link, rotor.s
            spin = s * ddq[rotor.dof] + cross(motion.omega[k], s) * dq[rotor.dof]
            column = column + (J[k][:3].T @ spin + e * (s @ motion.alpha[k])) * r
        columns.append(column[:, None])
    return columns


def reference_rotor_columns(
    model: Model,
    J: Array,
    motions: Mapping[int, LinkMotion],
    dq: Array,
    dq_r: Array,
    ddq_r: Array,
) -> list[Array]:
    """The same for M ddq_r + C dq_r with reference rates dq_r, (n, 1) each; C is Christoffel's."""
    columns = []
    for rotor in model.rotors:
        r, d, e = rotor.ratio, rotor.dof, np.eye(model.n, dtype=int)[rotor.dof]
        column = e * (r * r * ddq_r[d])
        if rotor.link != WORLD:
            k, s, motion = rotor.link, rotor.s, motions[rotor.link]
            gyro = cross(motion.omega, s)
            moment = s * ddq_r[d] + (gyro * dq_r[d] - cross(s, motion.omega_r) * dq[d]) / 2
            # alpha is the rate of omega_r in space; in the axes of the link it is smaller by
            # omega x omega_r, so that s . (omega x omega_r) = -gyro . omega_r changes its sign
            force = s @ motion.alpha + gyro @ motion.omega_r / 2
            column = column + (J[k][:3].T @ moment + e * force) * r
        columns.append(column[:, None])
    return columns


def rotor_energies(model: Model, omega: Mapping[int, Array], dq: Array) -> list[Any]:
    """Kinetic energy of every rotor over its inertia; omega of the links, in {i}."""
    energies = []
    for rotor in model.rotors:
        spin = rotor.ratio * dq[rotor.dof]
        carried = 0 if rotor.link == WORLD else rotor.s @ omega[rotor.link]
        energies.append(spin * (spin + 2 * carried) / 2)
    return energies


def rotor_momenta(model: Model, T_si: Array, dq: Array) -> list[Array]:
    """Momentum of every rotor in {s} over its inertia, (6, 1) each."""
    momenta = []
    for rotor in model.rotors:
        s = rotor.s if rotor.link == WORLD else T_si[rotor.link][:3, :3] @ rotor.s
        spin = np.concatenate([s * (rotor.ratio * dq[rotor.dof]), zeros(3)])
        momenta.append(spin[:, None])
    return momenta


def _add_turning_armature(
    tree: Tree, dq: Array, of_joint: Callable[[Joint, Array], Array], matrix: Matrix
) -> None:
    """Add the blocks, (k, k), of joints whose armature needs forces of velocity."""
    for i, joint in enumerate(tree.model.joints):
        if turns_armature(joint):
            block = of_joint(joint, dq[list(joint.dofs)]) * armature(tree.model, i)
            for a, row in enumerate(joint.dofs):
                for b, column in enumerate(joint.dofs):
                    matrix[row][column] = matrix[row][column] + block[a, b]
