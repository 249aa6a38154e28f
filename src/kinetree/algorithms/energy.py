"""Kinetic and potential energy, momentum, centre of mass."""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.errors import ModelError
from kinetree.formulations.drives import armature
from kinetree.formulations.kinematics import forward_kinematics, link_jacobians
from kinetree.model import WORLD, Model
from kinetree.model.inputs import per_link, rates
from kinetree.spatial import Ad, inverse, translation


def kinetic_energy(model: Model, q: Any, dq: Any) -> Any:
    """Sum of V_i^T G_i V_i / 2, with what armature and rotors add, J."""
    dq = rates(model, dq, "dq")
    V = [J @ dq for J in link_jacobians(model, q)]
    own = per_link(model, dq)
    twice = sum(
        V[i] @ model.G[i] @ V[i] + own[i] @ own[i] * armature(model, i) for i in model.links
    )
    for rotor in model.rotors:
        spin = rotor.ratio * dq[rotor.dof]
        carried = 0 if rotor.link == WORLD else rotor.s @ V[rotor.link][:3]
        twice = twice + rotor.inertia * spin * (spin + 2 * carried)
    return twice / 2


def potential_energy(model: Model, q: Any) -> Any:
    """- sum of m g . x over all links and the base, zero at the origin of {s}, J."""
    T_si, g = forward_kinematics(model, q), model.gravity[3:]
    energy = -(model.base[0] * (g @ model.base[1]))
    for i in model.links:
        energy = energy - model.m[i] * (g @ (T_si[i][:3, :3] @ model.com[i] + T_si[i][:3, 3]))
    return energy


def total_mass(model: Model) -> Any:
    """Mass of all links and the base, kg."""
    return model.base[0] + sum(model.m)


def center_of_mass(model: Model, q: Any) -> Array:
    """Centre of mass of all links and the base, in {s}, (3,), m."""
    mass = total_mass(model)
    if isinstance(mass, int | float) and mass == 0:
        raise ModelError(f"{model.name!r} has no mass, so it has no centre of mass.")
    T_si = forward_kinematics(model, q)
    h = model.base[0] * model.base[1]
    for i in model.links:
        h = h + (T_si[i][:3, :3] @ model.com[i] + T_si[i][:3, 3]) * model.m[i]
    return h / mass


def momentum(model: Model, q: Any, dq: Any) -> Array:
    """Angular momentum about the origin of {s} and linear momentum, in {s}, (6,).

    The spin of rotors on moving links and on the base is included, armature is not (it is no body).
    """
    dq = rates(model, dq, "dq")
    T_si, J = forward_kinematics(model, q), link_jacobians(model, q)
    total = np.zeros(6, int)
    for i in model.links:
        total = total + Ad(inverse(T_si[i])).T @ (model.G[i] @ (J[i] @ dq))
    for rotor in model.rotors:
        s = rotor.s if rotor.link == WORLD else T_si[rotor.link][:3, :3] @ rotor.s
        spin = s * (rotor.inertia * rotor.ratio * dq[rotor.dof])
        total = total + np.concatenate([spin, np.zeros(3, int)])
    return total


def centroidal_momentum(model: Model, q: Any, dq: Any) -> Array:
    """The same momentum about the centre of mass, axes of {s}, (6,)."""
    return Ad(translation(center_of_mass(model, q))).T @ momentum(model, q, dq)
