"""Shares of the joint forces by cause, which add up to tau."""

from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algorithms.joints.friction import (
    friction_forces,
    frictionless,
    load_coefficients,
    load_friction_forces,
)
from kinetree.algorithms.joints.springs import joint_spring_forces, without_passive_forces
from kinetree.algorithms.textbook.newton_euler import newton_euler
from kinetree.base.arrays import Array
from kinetree.explain.record import Torque
from kinetree.files.description.joints import PRISMATIC
from kinetree.model import WORLD, Model
from kinetree.model.inputs import link_adjoints, zeros
from kinetree.model.joint import rate_names
from kinetree.scalars import Scalar

MAX_SINGLE_SQUARES = 40  # rates whose squares are found one by one; those of more, in one recursion

SHARES = (
    "inertia", "Coriolis", "centrifugal", "gravity", "spring", "friction", "rotor", "external",
    "base", "constraints",
)  # fmt: skip


def torque_shares(
    model: Model, q: Array, dq: Array, ddq: Array, tau: Array, **loads: Any
) -> Torque:
    """Shares of tau, each computed on its own and not as the rest of the others.

    The forces of a motion without acceleration are a quadratic form of the rates. Its squares are
    found by moving one degree of freedom at a time (many of them in one recursion); with
    Christoffel symbols they are the sum of Gamma_ijj dq_j^2. Rates of spherical, planar and free
    joints are the components of their twist, so their squares and products are those of these
    components.

    Args:
        model: the robot.
        q, dq, ddq: the motion, as arrays.
        tau: joint forces of the motion, everything included.
        loads: F_ext, F_tip, V_base, dV_base of `inverse_dynamics`.
    """
    bare = without_passive_forces(model)
    rest, still = zeros(model.n), bare.with_gravity(zeros(3))
    links = without_drives(still)
    base = {key: loads.pop(key, None) for key in ("V_base", "dV_base")}
    moves = any(value is not None for value in base.values())

    def force(of: Model, dq: Array = rest, ddq: Array = rest, **rest_of: Any) -> Array:
        return newton_euler(of, q, dq, ddq, **rest_of).tau

    friction = friction_forces(model, dq)
    if load_coefficients(model):
        load = force(frictionless(model), dq, ddq, **loads, **base)
        friction = friction + load_friction_forces(model, dq, load)
    moving = [d for d in range(model.n) if not _is_zero(dq[d])]
    followed = {d for joint in model.joints if joint.follows is not None for d in joint.dofs}
    together = set(moving) - followed if len(moving) > MAX_SINGLE_SQUARES else set[int]()
    squares = forces_of_squares(links, q, dq, together) if together else rest
    unit = np.eye(model.n, dtype=int)
    for d in moving:
        if d not in together:
            squares = squares + force(links, unit[d] * dq[d])
    velocity = force(links, dq)
    shares = {
        "inertia": force(links, ddq=ddq),
        "Coriolis": velocity - squares,
        "centrifugal": squares,
        "gravity": force(without_drives(bare)),
        **({"spring": joint_spring_forces(model, q)} if model.springs else {}),
        "friction": friction,
        "rotor": force(massless(still), dq, ddq, **base),
        "external": force(massless(links), **loads),
    }
    if moves:
        shares["base"] = force(links, dq, **base) - velocity
    return Torque(model.dof_names, dof_units(model), shares, tau)


def forces_of_squares(model: Model, q: Array, dq: Array, moving: Set[int]) -> Array:
    """Sum of the joint forces of motions of one degree of freedom each, (n,), in one recursion.

    A link that moves by one joint alone has a constant twist V along the axis of that joint, so its
    body needs the wrench -ad(V)^T G V. This is linear in V V^T, whose sum over all motions is
    carried outward: Q_i = Ad_ip Q_p Ad_ip^T + sum of A A^T dq^2.

    Args:
        model: the links without gravity, friction and drives.
        q, dq: the motion.
        moving: degrees of freedom that move; no joint follows one of them.
    """
    Ad_ip = link_adjoints(model, q)
    rates = [dq[d] * int(d in moving) for d in range(model.n)]
    Q = {WORLD: np.zeros((6, 6), int)}
    F: dict[int, Array] = {}
    for i, joint in enumerate(model.joints):
        own = model.A[i] * np.array([rates[d] for d in joint.dofs])
        Q[i] = Ad_ip[i] @ Q[model.parent[i]] @ Ad_ip[i].T + own @ own.T
        K = model.G[i] @ Q[i]  # sum of momentum times twist
        F[i] = np.concatenate([_turning(K[:3, :3]) + _turning(K[3:, 3:]), _turning(K[3:, :3])])
    tau = [0] * model.n
    for i in reversed(model.links):
        if model.parent[i] != WORLD:
            F[model.parent[i]] = F[model.parent[i]] + Ad_ip[i].T @ F[i]
        for d, part in zip(model.joints[i].dofs, model.A[i].T @ F[i], strict=True):
            tau[d] = tau[d] + part
    return np.array(tau)


def _turning(K: Array) -> Array:
    """Sum of omega x n from the sum K of n omega^T, (3,)."""
    return np.array([K[2, 1] - K[1, 2], K[0, 2] - K[2, 0], K[1, 0] - K[0, 1]])


def without_drives(model: Model) -> Model:
    """The links alone: no rotors, no armature."""
    joints = tuple(replace(joint, armature=0) for joint in model.joints)
    return model.replace(joints=joints, rotors=())


def massless(model: Model) -> Model:
    """The same robot with massless links; only its drives are left."""
    n = len(model.links)
    return model.replace(m=zeros(n), com=np.zeros((n, 3), int), I_com=np.zeros((n, 3, 3), int))


def dof_units(model: Model) -> tuple[str, ...]:
    """Units of the entries of tau."""
    units = []
    for joint in model.joints:
        if joint.follows is None:
            names = [name.rpartition(".")[2] for name in rate_names(joint)]
            linear = joint.type == PRISMATIC
            for name in names:
                pushes = linear if joint.screw is not None else name[0] == "v"
                units.append("N" if pushes else "N m")
    return tuple(units)


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, int | float | np.number) and bool(x == 0)
