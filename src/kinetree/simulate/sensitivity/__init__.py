"""Derivatives of simulated motions by states, forces and parameters."""
