"""g(q) both ways: the base accelerates upward, or every link carries its weight."""

from typing import Any

from kinetree.algorithms.inverse_dynamics import inverse_dynamics
from kinetree.base.arrays import Array
from kinetree.formulations.drives import frictionless
from kinetree.model import Model
from kinetree.model.inputs import zeros


def gravity_forces(model: Model, q: Any) -> Array:
    """Joint forces that hold the robot still: g(q) in M ddq + c + g = tau, (n,).

    The base accelerates against gravity (equivalence principle). Equals the gradient of the
    potential energy.
    """
    rest = zeros(model.n)
    return inverse_dynamics(frictionless(model), q, rest, rest)


def bias_forces(model: Model, q: Any, dq: Any) -> Array:
    """h(q, dq), (n,): joint forces of a motion without acceleration: c + g and friction."""
    return inverse_dynamics(model, q, dq, zeros(model.n))
