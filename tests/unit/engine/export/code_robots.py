"""Robots of the package example-robot-data, and a small one with everything on it."""

import warnings
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.engine import Graph
from kinetree.engine.kernels import FREE, free_values
from kinetree.errors import KinetreeWarning
from kinetree.friction import Friction
from kinetree.joints import Mimic, Spring
from kinetree.model import Model
from random_robots import ALL_TYPES, random_model

FILES = {
    "panda": "panda_description/urdf/panda.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
}


@cache
def real_robot(key: str) -> kt.Robot:
    """Panda or Talos from its file; the test is skipped where the package is absent."""
    try:
        package = distribution("example-robot-data")
    except PackageNotFoundError:
        pytest.skip("the package example-robot-data is not installed")
    path = Path(
        str(package.locate_file(f"cmeel.prefix/share/example-robot-data/robots/{FILES[key]}"))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinetreeWarning)
        return kt.load(path)


@cache
def full_robot(*, functions: bool = True) -> kt.Robot:
    """Joints of every type, drives, mimic joints; friction with functions of its own, or without.

    Without them the graphs are kept on disk, and traced once for all tests.
    """
    model = random_model(12, 7, types=ALL_TYPES, mimic=True)
    assert any(joint.friction.function for joint in model.joints)
    if not functions:
        plain = [replace(x, friction=replace(x.friction, function=None)) for x in model.joints]
        model = model.replace(joints=tuple(plain))
    return kt.Robot(model)


@cache
def sprung_robot() -> kt.Robot:
    """A tree with a mimic joint, springs of joints and across branches, and viscous friction."""
    builder = kt.Builder("sprung", gravity=(0, 0, -9.81)).link("base")
    for name in ("cart", "left", "hand", "right"):
        builder.link(name, 1.2, (0.1, 0.05, 0.02), np.diag([0.02, 0.03, 0.04]))
    builder.joint("slide", "prismatic", "base", "cart", axis=(0.6, 0, 0.8))
    builder.joint("shoulder", "revolute", "cart", "left", axis=(0, 0.6, 0.8))
    builder.joint("wrist", "revolute", "left", "hand", axis=(0, 1, 0), at=(0.3, 0, 0.1))
    builder.joint("hip", "revolute", "cart", "right", mimic=Mimic("wrist", -0.5, 0.1))
    springs = {
        "slide": Spring(300.0, rest=0.2),
        "hip": Spring(50.0),
        "belt": Spring(80.0, rest=-0.3, joints={"wrist": 1, "shoulder": -0.7, "slide": 2}),
    }
    friction = {"wrist": Friction(viscous=(2.0, 5.0))}
    return builder.build().with_springs(springs).with_friction(friction)


def code_robot(key: str) -> kt.Robot:
    """A robot by its key: "full", "sprung", or one with a file."""
    own = {"full": full_robot, "sprung": sprung_robot}
    return own[key]() if key in own else real_robot(key)


SPRUNG = [
    ("sprung", "inverse_dynamics", {}),
    ("sprung", "forward_dynamics", {}),
    ("sprung", "spring_forces", {}),
    ("sprung", "potential_energy", {}),
    ("sprung", "inverse_dynamics", {"free": ("springs",)}),
]


def arguments(model: Model, graph: Graph, count: int, seed: int = 0) -> list[np.ndarray]:
    """Random arrays for all inputs of a graph, (count, *shape)."""
    rng = np.random.default_rng(seed)
    given = []
    for port in graph.inputs:
        if port.name == "q":
            given.append(np.array([dynamics.random(model, rng) for _ in range(count)]))
        elif port.name in FREE:
            values = free_values(model, port.name)
            given.append(np.broadcast_to(values, (count, *port.shape)).copy())
        else:
            given.append(rng.normal(size=(count, *port.shape)))
    return given
