"""Armature and rotors: the forces that the inertia of drives adds to the links' dynamics.

A rotor of axial inertia I_m spins at r dq_i about the axis s of its carrier k, on top of the
carrier's own rotation. Beyond what the carrier's locked inertia accounts for, it needs

    on the carrier:  the moment  I_m r (ddq_i s + dq_i omega_k x s)
    at the joint:    the torque  I_m r (s . alpha_k + r ddq_i)

Armature I_a of a joint adds I_a |dq|^2 / 2 to the kinetic energy, with the joint's own rates, and
no weight. The rates of free and planar joints have a linear part v in the axes of the link, which
turn with w; the equations of motion of that energy are those of a point in the parent's axes,

    at the joint:    the moment  I_a dw,    the force  I_a (dv + w x v)

as in MuJoCo, whose rates of a free joint are in the axes of the world. On all other joints armature
needs I_a ddq.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.motors import inertia_forces
from kinetree.files.description.joints import FREE, PLANAR
from kinetree.model import WORLD, Joint, JointRotor, Model
from kinetree.model.inputs import per_dof, per_link, zeros
from kinetree.model.joint import is_plain
from kinetree.spatial import cross, skew


def rotor_moments(
    rotors: Sequence[JointRotor], dq: Array, ddq: Array, omega: Mapping[int, Array]
) -> dict[int, Array]:
    """Moment that the rotors on each link need, in {i}; omega is the links' angular velocity."""
    moments: dict[int, Array] = {}
    for rotor in rotors:
        d, k, s = rotor.dof, rotor.link, rotor.s
        if k != WORLD:
            spin = s * ddq[d] + cross(omega[k], s) * dq[d]
            moments[k] = moments.get(k, 0) + spin * (rotor.inertia * rotor.ratio)
    return moments


def rotor_forces(
    model: Model,
    rotors: Sequence[JointRotor],
    dq: Array,
    ddq: Array,
    alpha: Mapping[int, Array],
) -> Array:
    """Joint forces that accelerate the armature of the joints, rotors and motors, (n,).

    alpha: angular acceleration of every link in the frame in which its rotors are given, and of
    WORLD.
    """
    own = per_link(model, ddq)
    needed = per_dof(model, [own[i] * armature(model, i) for i in model.links])
    tau = list(needed + armature_bias(model, dq))
    for rotor in rotors:
        d, r = rotor.dof, rotor.ratio
        tau[d] = tau[d] + (rotor.s @ alpha[rotor.link] + r * ddq[d]) * (rotor.inertia * r)
    return np.array(tau) + inertia_forces(model, ddq) if model.motors else np.array(tau)


def rotor_inertia(model: Model, J: Array) -> Array:
    """Part of M that the rotors add, (n, n), from the body Jacobians of the links.

    A rotor of degree of freedom e on link k, with b = J_k^T (s, 0), adds
    I_m r (e b^T + b e^T) + I_m r^2 e e^T.
    """
    M = np.zeros((model.n, model.n), int)
    for rotor in model.rotors:
        e = np.eye(model.n, dtype=int)[rotor.dof]
        weight = rotor.inertia * rotor.ratio
        M = M + np.outer(e, e) * (weight * rotor.ratio)
        if rotor.link != WORLD:
            b = rotor.s @ J[rotor.link][:3]
            M = M + (np.outer(e, b) + np.outer(b, e)) * weight
    return M


def rotor_coriolis(model: Model, J: Array, dJ: Array, dq: Array) -> Array:
    """Part of C that the rotors add, (n, n): that of Christoffel for `rotor_inertia`."""
    C = np.zeros((model.n, model.n), int)
    for rotor in model.rotors:
        if rotor.link != WORLD:
            e = np.eye(model.n, dtype=int)[rotor.dof]
            s, J_omega, db = rotor.s, J[rotor.link][:3], rotor.s @ dJ[rotor.link][:3]
            turned = J_omega.T @ skew(s) @ J_omega
            y = -(turned @ dq)  # J^T (omega x s)
            gyroscopic = (np.outer(y, e) - np.outer(e, y) - turned * dq[rotor.dof]) / 2
            C = C + (np.outer(e, db) + gyroscopic) * (rotor.inertia * rotor.ratio)
    return C


def armature(model: Model, i: int) -> Any:
    """Armature of joint i as its degree of freedom sees it (through a mimic joint's scale)."""
    joint = model.joints[i]
    return joint.armature * (joint.scale * joint.scale)


def armature_bias(model: Model, dq: Array) -> Array:
    """Joint forces that armature needs at ddq = 0, (n,); 0 except at free and planar ones."""
    parts = []
    for i, joint in enumerate(model.joints):
        joint_rates = dq[list(joint.dofs)]
        turning = turns_armature(joint)
        force = (
            armature_turning(joint, joint_rates) * armature(model, i)
            if turning
            else zeros(len(joint_rates))
        )
        parts.append(force)
    return per_dof(model, parts)


def turns_armature(joint: Joint) -> bool:
    """Return True if armature of the joint needs forces of velocity: w x v of its linear rates."""
    return joint.type in (FREE, PLANAR) and not is_plain(joint.armature, 0)


def armature_turning(joint: Joint, dq: Array) -> Array:
    """(0, w x v) of the joint's own rates, (k,): the force at ddq = 0 for unit armature."""
    A = joint.A
    return A[3:].T @ cross(A[:3] @ dq, A[3:] @ dq)


def armature_coriolis(joint: Joint, dq: Array) -> Array:
    """The skew-symmetric matrix (0, [w]) that times dq gives `armature_turning`, (k, k)."""
    A = joint.A
    return A[3:].T @ skew(A[:3] @ dq) @ A[3:]


def armature_turning_slope(joint: Joint, dq: Array) -> Array:
    """Derivative of `armature_turning` by the joint's rates, (k, k)."""
    A = joint.A
    return armature_coriolis(joint, dq) - A[3:].T @ skew(A[3:] @ dq) @ A[:3]
