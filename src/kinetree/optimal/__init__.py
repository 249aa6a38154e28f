"""Optimal control on the compiled kernels: problems as data, iLQR, sampling, MPC and LQR."""

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
from kinetree.optimal.explain import Pushes
from kinetree.optimal.lqr import Regulator, lqr, regulate, sampled
from kinetree.optimal.mpc import MPC, Tick
from kinetree.optimal.problem import Problem, Solution

__all__ = [
    "MPC",
    "CenterOfMass",
    "Cost",
    "Effort",
    "FramePosition",
    "FrameRotation",
    "JointLimits",
    "Posture",
    "Problem",
    "Pushes",
    "Rates",
    "Regulator",
    "Residual",
    "Solution",
    "Tick",
    "lqr",
    "regulate",
    "sampled",
]
