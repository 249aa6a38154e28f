"""Graphs that would take too long to compile or to trace."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine import kernel as kernels
from kinetree.engine.compiler import builder

NAMES = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "pose")


@pytest.fixture(params=["interpreted", "untraced"])
def robot(request, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "0")
    if request.param == "interpreted":
        monkeypatch.setattr(kernels, "LONGEST_COMPILED", 10)
    else:
        monkeypatch.setattr(builder, "LONGEST", 50)
    return kt.robots.spatial_3r()


def arguments(kernel, *leading):
    rng = np.random.default_rng(5)
    return [rng.normal(size=(*leading, *port.shape)) for port in kernel.graph.inputs]


@pytest.mark.parametrize("name", NAMES)
def test_they_give_the_same_numbers_with_a_note(robot, name, caplog):
    kernel, compiled = robot.compile(name), getattr(kt.dynamics, name)
    assert "interprets" in caplog.text
    given = arguments(kernel, 5)
    found = kernel(*given)
    for k in range(5):
        expected = compiled(robot.model, *(x[k] for x in given))
        np.testing.assert_allclose(found[k], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(kernel(*(x[k] for x in given)), found[k])


def test_wrenches_may_follow(robot):
    model, q = robot.model, np.full(3, 0.3)
    F_ext = np.random.default_rng(1).normal(size=(len(model.links), 6))
    found = robot.inverse_dynamics(q, q, q, F_ext)
    np.testing.assert_allclose(found, kt.dynamics.inverse_dynamics(model, q, q, q, F_ext=F_ext))


def test_what_needs_a_graph_is_refused(monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", "0")
    monkeypatch.setattr(builder, "LONGEST", 50)
    robot = kt.robots.spatial_3r()
    for make in (robot.derivative, lambda name: robot.compile(name, sparse=True)):
        with pytest.raises(kt.errors.GraphError):
            make("inverse_dynamics")
    with pytest.raises(kt.errors.GraphError):
        _ = robot.compile("inverse_dynamics").graph.nodes
