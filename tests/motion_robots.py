"""Robots of one or two joints whose motions have answers in closed form."""

from math import inf

import numpy as np

import kinetree as kt
from kinetree.friction import Friction
from kinetree.joints import Limits

INERTIA = 2.0  # kg m^2, of the wheel
MASS = 3.0  # kg, of the lift
GRAVITY = 9.81


def wheel(effort: float = inf, velocity: float = inf, lower=-inf, upper=inf, friction=None):
    """A wheel about a vertical axis: tau = INERTIA ddq + friction."""
    builder = kt.Builder("wheel").link("base").link("disk", 1.0, (0, 0, 0), np.eye(3) * INERTIA)
    limits = Limits(lower, upper, velocity, effort)
    builder.joint(
        "spin", "revolute", "base", "disk", axis=(0, 0, 1), limits=limits,
        friction=friction or Friction(),
    )  # fmt: skip
    return builder.build()


def lift(effort: float = inf, velocity: float = inf, friction=None):
    """A mass on a vertical slide: tau = MASS (ddq + GRAVITY) + friction."""
    builder = kt.Builder("lift").link("base").link("cabin", MASS, (0, 0, 0))
    builder.joint(
        "rise", "prismatic", "base", "cabin", axis=(0, 0, 1),
        limits=Limits(velocity=velocity, effort=effort), friction=friction or Friction(),
    )  # fmt: skip
    return builder.build()


def pendulum(effort: float = inf):
    """A point mass of 1 kg at 1 m: tau = ddq + GRAVITY sin q."""
    builder = kt.Builder("pendulum").link("base").link("bob", 1.0, (0, 0, -1))
    builder.joint("swing", "revolute", "base", "bob", axis=(0, 1, 0), limits=Limits(effort=effort))
    return builder.build()


PANDA_START = np.array([0, -0.5, 0, -2, 0, 1.5, 0.5])
PANDA_END = np.array([1.5, 1.2, -0.3, -0.5, 0.4, 2.9, 0])
