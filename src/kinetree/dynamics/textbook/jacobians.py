"""M and g as sums over the links with their Jacobians: the definitions, to check against.

    M = sum of J^T G J,    g = - sum of J^T F_weight

`dynamics` has M by composite bodies and g by the recursion, with far fewer operations.
"""

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.kinematics import forward_kinematics, link_jacobians
from kinetree.dynamics.textbook.rotors import armature, rotor_inertia
from kinetree.model import Model
from kinetree.model.inputs import columns, zeros
from kinetree.model.labelled import labelled
from kinetree.spatial import cross


@labelled("n", "n")
def mass_matrix_by_jacobians(model: Model, q: StateLike) -> Array:
    """M(q), (n, n): the sum of J_i^T G_i J_i over the links, drives included.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
    """
    J = link_jacobians(model, q)
    M = np.zeros((model.n, model.n), int)
    for i in model.links:
        pick = columns(model, i)
        M = M + J[i].T @ model.G[i] @ J[i] + pick.T @ pick * armature(model, i)  # explain: M
    M = M + rotor_inertia(model, J)
    if model.motors:
        N, inertia = model.motor_matrix, [motor.inertia for motor in model.motors]
        M = M + N.T @ np.diag(np.array(inertia)) @ N  # explain: M motor
    return M


@labelled("n")
def gravity_forces_by_wrenches(model: Model, q: StateLike) -> Array:
    """g(q), (n,): minus the sum over the links of J_i^T F_i, with F_i the weight of link i.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
    """
    T_si, J, g = forward_kinematics(model, q), link_jacobians(model, q), zeros(model.n)
    for i in model.links:
        f = T_si[i][:3, :3].T @ model.gravity[3:] * model.m[i]  # weight, and its moment about {i}
        g = g - J[i].T @ np.concatenate([cross(model.com[i], f), f])
    return g
