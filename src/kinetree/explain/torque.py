"""Shares of the joint forces by cause, which add up to tau."""

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, is_numeric
from kinetree.dynamics.joints.friction import (
    friction_forces,
)
from kinetree.dynamics.joints.springs import Springs, without_passive_forces
from kinetree.dynamics.textbook.newton_euler import newton_euler
from kinetree.explain.bodies import bodies_of, joint_forces, shares_of
from kinetree.explain.record import Torque
from kinetree.model import Model
from kinetree.model.edit import with_gravity
from kinetree.model.inputs import read_motion, zeros
from kinetree.model.units import units
from kinetree.spatial.matrices import is_zero

MAX_SINGLE_SQUARES = 40  # rates whose squares are found one by one; those of more, together

SHARES = (
    "inertia", "Coriolis", "centrifugal", "gravity", "spring", "friction", "rotor", "external",
    "base", "constraints",
)  # fmt: skip


def torque_shares(
    model: Model, q: Array, dq: Array, ddq: Array, tau: Array, **loads: Any
) -> Torque:
    """Shares of tau, each computed on its own and not as the rest of the others.

    The forces of a motion without acceleration are a quadratic form of the rates. Its squares are
    found by moving one degree of freedom at a time (many of them from unit motions, bodies.py);
    with Christoffel symbols they are the sum of Gamma_ijj dq_j^2. Rates of spherical, planar and
    free joints are the components of their twist, so their squares and products are those of these
    components.

    q, dq, ddq: the motion, as arrays. tau: joint forces of the motion, everything included. loads:
    F_ext, F_tip, V_base, dV_base of `inverse_dynamics`.
    """
    bare = without_passive_forces(model)
    rest, still = zeros(model.n), with_gravity(bare, zeros(3))
    links = without_drives(still)
    base = {key: loads.pop(key, None) for key in ("V_base", "dV_base")}
    moves = any(value is not None for value in base.values())

    def force(of: Model, dq: Array = rest, ddq: Array = rest, **rest_of: Any) -> Array:
        return newton_euler(of, q, dq, ddq, **rest_of).tau

    moving = [d for d in range(model.n) if not is_zero(dq[d])]
    unit = np.eye(model.n, dtype=int)
    if len(moving) > MAX_SINGLE_SQUARES and is_numeric(q) and is_numeric(dq):
        at = bodies_of(links, read_motion(model, q, dq, rest), np.zeros(6))
        squares = joint_forces(at, shares_of(at, pairs=False)["centrifugal"])
    else:
        squares = sum((force(links, unit[d] * dq[d]) for d in moving), rest)
    velocity = force(links, dq)
    shares = {
        "inertia": force(links, ddq=ddq),
        "Coriolis": velocity - squares,
        "centrifugal": squares,
        "gravity": force(without_drives(bare)),
        **({"spring": Springs(model, q).at(dq)} if model.springs else {}),
        "friction": friction_forces(model, dq),
        "rotor": force(massless(still), dq, ddq, **base),
        "external": force(massless(links), **loads),
    }
    if moves:
        shares["base"] = force(links, dq, **base) - velocity
    return Torque(model.dof_names, dof_units(model), shares, tau)


def without_drives(model: Model) -> Model:
    """The links alone: no rotors, no armature, no inertia of motors."""
    joints = tuple(replace(joint, armature=0) for joint in model.joints)
    motors = tuple(replace(motor, inertia=0) for motor in model.motors)
    return model.replace(joints=joints, rotors=(), motors=motors)


def massless(model: Model) -> Model:
    """The same robot with massless links; only its drives are left."""
    n = len(model.links)
    return model.replace(m=zeros(n), com=np.zeros((n, 3), int), I_com=np.zeros((n, 3, 3), int))


def dof_units(model: Model) -> tuple[str, ...]:
    """Units of the entries of tau."""
    return tuple(units(model, "tau"))
