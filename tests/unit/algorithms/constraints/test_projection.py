"""Positions and rates on the constraints."""

import numpy as np
import pytest

from closed_loops import (
    CONNECTING_ROD,
    four_bar,
    slider_crank,
    slider_crank_position,
    slider_crank_tree,
    tied_robot,
)
from kinetree import algorithms
from kinetree.constraints import Loop
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.spatial import pose


def test_a_position_is_closed_with_a_joint_kept():
    robot = slider_crank()
    for angle in np.linspace(-3, 3, 7):
        expected = slider_crank_position(angle)
        q = robot.project(expected + np.array([0, 0.2, -0.1]), keep=["crank"])
        assert np.abs(q - expected).max() < 1e-9
        assert np.abs(robot.constraint_errors(q)).max() < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_random_robots_are_closed_with_unit_quaternions(seed):
    tree, given, q = tied_robot(seed)
    model = tree.constrained(given, near=q).model
    rng = np.random.default_rng(seed)
    start = algorithms.integrate(model, q, rng.normal(size=model.n) * 0.05)
    found = algorithms.project(model, start)
    assert np.abs(algorithms.constraint_errors(model, found)).max() < 1e-10
    algorithms.mass_matrix(model, found)  # which checks the length of quaternions


def test_kernels_and_the_textbook_form_project_alike():
    robot, start = four_bar(), [0.5, 0.4, 1.8]
    found = robot.project(start)
    assert np.abs(found - algorithms.project(robot.model, start)).max() < 1e-9


def test_batches_and_names_are_projected():
    robot, angles = slider_crank(), np.array([[0.2, 0.4], [1.1, 2.0]])
    q = np.array([[slider_crank_position(x) for x in row] for row in angles])
    found = robot.project(q + np.array([0, 0.05, 0.02]), keep=["crank"])
    assert found.shape == (2, 2, 3) and np.abs(found - q).max() < 1e-9
    named = robot.project({"crank": 0.2, "rod": -0.2, "slide": 1.0}, keep=["crank"])
    assert set(named) == {"crank", "rod", "slide"} and abs(named["slide"] - q[0, 0, 2]) < 1e-9


def test_a_start_that_cannot_be_closed_is_refused_with_residual_and_name():
    robot = slider_crank()
    with pytest.raises(InputError, match=r"crank, slide kept: constraint 'loop' stays open by 0.1"):
        robot.project([0.3, 0, 1.2], keep=["crank", "slide"])


def test_bad_names_are_refused():
    robot = slider_crank()
    with pytest.raises(NameLookupError, match=r"keep names 'krank'.*crank, rod, slide"):
        robot.project([0, 0, 1.1], keep=["krank"])
    with pytest.raises(InputError, match="expected names of joints"):
        robot.project([0, 0, 1.1], keep="crank")
    with pytest.raises(ModelError, match="has none"):
        robot.constrained({"loop": None}).project([0, 0, 1.1])


def test_rates_are_projected_as_an_impulse_would():
    robot, q = four_bar(), four_bar().project([0.7, 0.2, 1.8])
    dq = robot.project_rates(q, [1.0, 0.3, -0.2])
    assert np.abs(robot.constraint_jacobian(q) @ dq).max() < 1e-12
    assert np.abs(robot.project_rates(q, dq) - dq).max() < 1e-12
    assert np.abs(dq - algorithms.project_rates(robot.model, q, [1.0, 0.3, -0.2])).max() < 1e-12


def test_frames_that_are_half_a_turn_apart_are_named():
    """The axis of the pin points down, a common slip: no motion of a plane can turn it."""
    down = pose(np.diag([1.0, -1.0, -1.0]), np.array([CONNECTING_ROD, 0, 0]))
    tree = slider_crank_tree().with_tool("turned", down, "bar")
    with pytest.raises(InputError, match="'hinge' are turned by half a turn from one another"):
        tree.constrained({"hinge": Loop("pin", "turned", "axis")})
    assert tree.constrained({"ball": Loop("pin", "turned", "point")}).mobility.rows


def test_a_state_of_a_batch_that_cannot_be_closed_is_named():
    robot, good = slider_crank(), slider_crank_position(0.3)
    batch = np.array([[good, good, good], [good, [0.3, 0, 1.2], good]])
    with pytest.raises(
        InputError, match=r"^state \[1, 1\] of the batch: .*'loop' stays open by 0.1"
    ):
        robot.project(batch, keep=["crank", "slide"])
    batch[0, 2] = np.nan
    with pytest.raises(InputError, match=r"^state \[0, 2\] of the batch: .*"):
        robot.project(batch[:1])


@pytest.mark.parametrize("tolerance", [0, -1e-3, np.nan])
def test_a_tolerance_that_no_position_meets_is_refused(tolerance):
    robot, batch = slider_crank(), np.array([slider_crank_position(0.3)])
    for project in (
        robot.project,
        lambda q, **options: algorithms.project(robot.model, *q, **options),
    ):
        with pytest.raises(InputError, match=r"^tolerance is .*expected a number > 0"):
            project(batch, tolerance=tolerance)
