"""Small robots and states for tests with arrays of other packages."""

from functools import cache

import numpy as np

import kinetree as kt
from kinetree.dynamics.quantities import DECLARED
from kinetree.engine.kernels import free_values
from kinetree.friction import Friction, Sigmoid, Stribeck
from kinetree.joints import Spring
from kinetree.kernels import Kernel

NAMES = [name for name, x in DECLARED.items() if not x.letters & {*"mdc"}]
FREE = ("mass", "com", "inertia", "gravity", "friction")


@cache
def arm() -> kt.Robot:
    """Two joints with friction, gravity across them."""
    builder = kt.Builder("arm", gravity=(0, -9.81, 0)).link("base")
    inertia = ((0.02, 0.001, 0), (0.001, 0.03, 0.002), (0, 0.002, 0.04))
    builder.link("upper", 1.5, (0.3, 0.02, 0.01), inertia).link("lower", 0.8, (0.2, 0, 0), inertia)
    friction = Friction(viscous=0.3, coulomb=0.2)
    builder.joint("shoulder", "revolute", "base", "upper", friction=friction)
    builder.joint("slide", "prismatic", "upper", "lower", axis=(0.6, 0, 0.8), at=(0.6, 0, 0))
    return builder.build()


@cache
def sprung() -> kt.Robot:
    """The arm with a spring at a joint and one between its joints, without dry friction."""
    springs = {
        "shoulder": Spring(30.0, 0.4),
        "tie": Spring(20.0, joints={"shoulder": 1, "slide": -2}),
    }
    return arm().with_friction({"shoulder": Friction(viscous=0.7)}).with_springs(springs)


@cache
def flyer() -> kt.Robot:
    """A free body that carries an arm: quaternion coordinates."""
    builder = kt.Builder("flyer")
    body = ((0.3, 0.01, 0), (0.01, 0.4, 0.02), (0, 0.02, 0.5))
    builder.link("world").link("body", 2, (0.1, 0, 0.2), body)
    builder.link("arm", 1, (0, 0.1, 0.3), ((0.1, 0, 0), (0, 0.15, 0), (0, 0, 0.1)))
    builder.joint("base", "free", "world", "body")
    builder.joint("elbow", "revolute", "body", "arm", axis=(0, 1, 0), at=(0, 0, 0.5))
    return builder.build()


def state(robot: kt.Robot, kernel: Kernel, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    """Arguments of a kernel: positions of the robot, its own free data, other numbers at random."""
    rng = np.random.default_rng(5)
    arrays = []
    for port in kernel.graph.inputs:
        if port.name == "q":
            flat = [robot.random(rng=k) for k in range(int(np.prod(batch)))]
            arrays.append(np.reshape(flat, (*batch, *port.shape)))
        elif port.name in (*FREE, "springs"):
            arrays.append(free_values(robot.model, port.name))
        else:
            arrays.append(rng.normal(size=(*batch, *port.shape)))
    return arrays


def rubbing() -> kt.Robot:
    """A chain of three joints with every friction law of their rates."""
    laws = [
        Friction(0.1, (0.4, 0.3), stribeck=Stribeck((0.9, 0.8), 0.3)),
        Friction(0.0, 0.2, stribeck=Stribeck(0.5, 0.5, 1.5), sigmoid=Sigmoid(0.3, 5)),
        Friction(0.2, sigmoid=Sigmoid(0.6, 9.0, -0.04)),
    ]
    robot = kt.robots.spatial_3r()
    return robot.with_friction(dict(zip(robot.model.joint_names, laws, strict=True)))
