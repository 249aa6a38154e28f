"""Robots of the package example-robot-data, and a small one with everything on it."""

import warnings
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.compiler.graph import Graph
from kinetree.kernels.free import FREE, free_values
from kinetree.model.samples import ALL_TYPES, random_model

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
        warnings.simplefilter("ignore", kt.KinetreeWarning)
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


def arguments(model: kt.Model, graph: Graph, count: int, seed: int = 0) -> list[np.ndarray]:
    """Random arrays for all inputs of a graph, (count, *shape)."""
    rng = np.random.default_rng(seed)
    given = []
    for port in graph.inputs:
        if port.name == "q":
            given.append(np.array([algorithms.random(model, rng) for _ in range(count)]))
        elif port.name in FREE:
            values = free_values(model, port.name)
            given.append(np.broadcast_to(values, (count, *port.shape)).copy())
        else:
            given.append(rng.normal(size=(count, *port.shape)))
    return given
