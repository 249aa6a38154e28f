"""Mechanisms to identify, and recordings of their motors alone."""

from typing import Any

import numpy as np

import kinetree as kt
from kinetree.constraints import Couple, Loop

FRICTION = kt.Friction(viscous=0.06, coulomb=0.12)


def excavator() -> Any:
    """A boom that a cylinder lifts: a prismatic joint in a loop, its motor is the cylinder."""
    builder = kt.Builder("excavator", gravity=(0, -9.81, 0)).link("base")
    builder.link("boom", m=40, com=(1.1, 0.1, 0), I_com=np.diag([2, 15, 15.0]))
    builder.link("barrel", m=6, com=(0.3, 0, 0), I_com=np.diag([0.05, 0.3, 0.3]))
    builder.link("rod", m=4, com=(-0.2, 0, 0), I_com=np.diag([0.02, 0.2, 0.2]))
    builder.joint("lift", "revolute", "base", "boom", axis=(0, 0, 1))
    builder.joint("pivot", "revolute", "base", "barrel", axis=(0, 0, 1), at=(0.5, -0.6, 0))
    builder.joint("cylinder", "prismatic", "barrel", "rod", axis=(1, 0, 0), at=(0.9, 0, 0))
    builder.frame("eye", "boom", (1.2, -0.1, 0)).frame("pin", "rod", (0, 0, 0), tool=True)
    return builder.build().constrained(
        {"loop": Loop("eye", "pin", "axis")}, actuated=["cylinder"], near=[0.5, 0.8, 0.3]
    )


def gripper() -> Any:
    """Two fingers, one of them coupled to the other, on a wrist that turns."""
    builder = kt.Builder("gripper", gravity=(0, -9.81, 0)).link("base")
    builder.link("palm", m=0.8, com=(0.05, 0.01, 0), I_com=np.diag([0.001, 0.002, 0.002]))
    for side, y in (("left", 0.04), ("right", -0.04)):
        builder.link(f"{side}_finger", m=0.15, com=(0.05, y / 8, 0), I_com=np.eye(3) * 2e-4)
        builder.joint(side, "revolute", "palm", f"{side}_finger", axis=(0, 0, 1), at=(0.1, y, 0))
    builder.joint("wrist", "revolute", "base", "palm", axis=(0, 0, 1))
    return builder.build().constrained(
        {"mimic": Couple("right", {"left": -1})}, actuated=["wrist", "left"]
    )


def motors_of(robot: Any) -> list[int]:
    return list(robot.model.constraints.actuated)


def motor_motion(robot: Any, seed: int, size: float = 0.5, duration: float = 10.0) -> Any:
    """t, and q, dq and ddq of the motors: sums of sines about the neutral position."""
    rng, motors = np.random.default_rng(seed), motors_of(robot)
    t = np.arange(0, duration, 0.005)
    x = np.zeros((3, len(t), len(motors)))
    for k in range(1, 6):
        w = 2 * np.pi * k / 5
        a, b = rng.normal(size=(2, len(motors))) * size / k
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        x += [a * s + b * (c - 1), w * (a * c - b * s), -w * w * (a * s + b * c)]
    x[0] += robot.neutral()[motors]
    return t, x


def recorded(true: Any, seed: int, noise: float, size: float = 0.5, encoder: float = 0.0) -> Any:
    """A recording of the motors' positions and noisy forces of a true robot."""
    t, x = motor_motion(true, seed, size)
    motors, rng = motors_of(true), np.random.default_rng((seed, 1))
    exact = kt.identify.make_recording(
        true, t, x[0], np.sin(3 * t)[:, None] * [1.0, 2, 3][: len(motors)], x[1], x[2]
    )
    tau = true.inverse_dynamics(exact.q, exact.dq, exact.ddq)[:, motors]
    tau = tau + noise * rng.normal(size=tau.shape)
    if encoder:
        return kt.identify.make_recording(true, t, x[0] + encoder * rng.normal(size=tau.shape), tau)
    return kt.identify.make_recording(true, t, x[0], tau, x[1], x[2])


def heavier(robot: Any, seed: int) -> Any:
    """The robot with other masses, and friction of its motors."""
    rng, sought = np.random.default_rng((seed, 2)), kt.identify.unknowns(robot, "known", False)
    x = sought.values(robot.model)
    factors = rng.uniform(0.7, 1.4, len(robot.model.links)).repeat(10)
    x[: len(factors)] *= factors
    names = [robot.dof_names[d] for d in motors_of(robot)]
    return kt.Robot(sought.model(x)).with_friction(dict.fromkeys(names, FRICTION))
