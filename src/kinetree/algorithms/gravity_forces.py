"""g(q) both ways: the base accelerates upward, or every link carries its weight."""

from typing import Any

import numpy as np

from kinetree.algorithms.drives import frictionless
from kinetree.algorithms.forward_kinematics import forward_kinematics
from kinetree.algorithms.inputs import zeros
from kinetree.algorithms.inverse_dynamics import inverse_dynamics
from kinetree.algorithms.jacobian import link_jacobians
from kinetree.base.arrays import Array
from kinetree.model import Model
from kinetree.spatial import cross


def gravity_forces(model: Model, q: Any) -> Array:
    """Joint forces that hold the robot still: g(q) in M ddq + c + g = tau, (n,).

    The base accelerates against gravity (equivalence principle). Equals the gradient of the
    potential energy.
    """
    rest = zeros(model.n)
    return inverse_dynamics(frictionless(model), q, rest, rest)


def gravity_wrenches(model: Model, q: Any) -> Array:
    """Weight of every link as a wrench onto it, in {i}, (links, 6): (com x m R^T g, m R^T g)."""
    T_si = forward_kinematics(model, q)
    weights = []
    for i in model.links:
        f = T_si[i][:3, :3].T @ model.gravity[3:] * model.m[i]
        weights.append(np.concatenate([cross(model.com[i], f), f]))
    return np.array(weights).reshape(-1, 6)


def gravity_forces_by_wrenches(model: Model, q: Any) -> Array:
    """g(q) = - sum over the links of J_i^T F_i, with F_i the link's weight."""
    J, F = link_jacobians(model, q), gravity_wrenches(model, q)
    return -sum((J[i].T @ F[i] for i in model.links), zeros(model.n))


def bias_forces(model: Model, q: Any, dq: Any) -> Array:
    """h(q, dq), (n,): joint forces of a motion without acceleration: c + g and friction."""
    return inverse_dynamics(model, q, dq, zeros(model.n))
