"""Derivatives of the dynamics by recursion: changes along a chain are summed once, inward."""

from kinetree.dynamics.derivatives.forward_dynamics import (
    Linearization,
    discretize,
    forward_dynamics_derivatives,
    linearize,
)
from kinetree.dynamics.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from kinetree.dynamics.joints.tangents import tangent_map

__all__ = [
    "Linearization",
    "discretize",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
    "linearize",
    "tangent_map",
]
