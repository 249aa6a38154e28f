"""Armature and rotors: the forces that the inertia of drives adds to the links' dynamics.

A rotor of axial inertia I_m spins at r dq_i about the axis s of its carrier k, on top of the
carrier's own rotation. Beyond what the carrier's locked inertia accounts for, it needs

    on the carrier:  the moment  I_m r (ddq_i s + dq_i omega_k x s)
    at the joint:    the torque  I_m r (s . alpha_k + r ddq_i)

Armature I_a of a joint needs I_a ddq. The recursions of `kinetree.dynamics` have rotors as links
instead (`drives.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.joints.motors import inertia_forces
from kinetree.model import WORLD, JointRotor, Model
from kinetree.model.inputs import per_dof, per_link
from kinetree.spatial import cross


def rotor_moments(
    rotors: Sequence[JointRotor], dq: Array, ddq: Array, omega: Mapping[int, Array]
) -> dict[int, Array]:
    """Moment that the rotors on each link need, in {i}; omega is the links' angular velocity."""
    moments: dict[int, Array] = {}
    for rotor in rotors:
        d, k, s = rotor.dof, rotor.link, rotor.s
        if k != WORLD:
            spin = s * ddq[d] + cross(omega[k], s) * dq[d]  # explain: carrier
            moments[k] = moments.get(k, 0) + spin * (rotor.inertia * rotor.ratio)
    return moments


def rotor_forces(
    model: Model, rotors: Sequence[JointRotor], ddq: Array, alpha: Mapping[int, Array]
) -> Array:
    """Joint forces that accelerate the armature of the joints, rotors and motors, (n,).

    alpha: angular acceleration of every link in the frame in which its rotors are given, and of
    WORLD.
    """
    own = per_link(model, ddq)
    needed = per_dof(model, [own[i] * armature(model, i) for i in model.links])  # explain: armature
    tau = list(needed)
    for rotor in rotors:
        d, r = rotor.dof, rotor.ratio
        # explain: rotor
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
        M = M + np.outer(e, e) * (weight * rotor.ratio)  # explain: M rotor
        if rotor.link != WORLD:
            b = rotor.s @ J[rotor.link][:3]
            M = M + (np.outer(e, b) + np.outer(b, e)) * weight  # explain: M carrier
    return M


def armature(model: Model, i: int) -> Any:
    """Armature of joint i as its degree of freedom sees it (through a mimic joint's scale)."""
    joint = model.joints[i]
    return joint.armature * (joint.scale * joint.scale)
