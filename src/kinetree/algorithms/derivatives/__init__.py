"""Derivatives of the dynamics by recursion: what changes along a chain is summed once, inward."""

from kinetree.algorithms.derivatives.inverse_dynamics import inverse_dynamics_derivatives

__all__ = ["inverse_dynamics_derivatives"]
