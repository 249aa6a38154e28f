"""Optimal control on the compiled kernels: problems as data, iLQR, sampling, MPC and LQR."""

from kinetree.optimal.costs import (
    CenterOfMass,
    Cost,
    Effort,
    EffortChange,
    FramePosition,
    FrameRotation,
    FrameTwist,
    JointLimits,
    Momentum,
    Posture,
    Rates,
    Residual,
    SpeedLimits,
)
from kinetree.optimal.least_effort import distances, least_effort, smoothed
from kinetree.optimal.lqr import Regulator, lqr, regulate, sampled
from kinetree.optimal.mpc import MPC, Tick
from kinetree.optimal.problem import Problem
from kinetree.optimal.solution import Solution

__all__ = [
    "MPC",
    "CenterOfMass",
    "Cost",
    "Effort",
    "EffortChange",
    "FramePosition",
    "FrameRotation",
    "FrameTwist",
    "JointLimits",
    "Momentum",
    "Posture",
    "Problem",
    "Rates",
    "Regulator",
    "Residual",
    "Solution",
    "SpeedLimits",
    "Tick",
    "distances",
    "least_effort",
    "lqr",
    "regulate",
    "sampled",
    "smoothed",
]
