"""Optimal control on the compiled kernels: problems as data, iLQR and LQR."""

from kinetree.optimal.costs import (
    CenterOfMass,
    Cost,
    Effort,
    FramePosition,
    FrameRotation,
    JointLimits,
    Posture,
    Rates,
    Residual,
)
from kinetree.optimal.problem import Problem, Solution

__all__ = [
    "CenterOfMass",
    "Cost",
    "Effort",
    "FramePosition",
    "FrameRotation",
    "JointLimits",
    "Posture",
    "Problem",
    "Rates",
    "Residual",
    "Solution",
]
