"""Jacobians of single frames: the tool, a link, the base."""

import numpy as np
import pytest

from kinetree import algorithms as kt
from kinetree import robots


def test_columns_of_the_space_jacobian_are_the_screws_of_the_joints():
    """Modern Robotics: joint 1 at the origin, joint 2 a metre away along the arm."""
    J = kt.space_jacobian(robots.planar_2r().model, [np.pi / 2, 0.3])
    assert J == pytest.approx(np.array([[0, 0, 1, 0, 0, 0], [0, 0, 1, 1, 0, 0]]).T)


def test_columns_of_the_body_jacobian_are_velocities_of_the_tool():
    J = kt.body_jacobian(robots.planar_2r().model, [0.4, 0])
    assert J == pytest.approx(np.array([[0, 0, 1, 0, 1.8, 0], [0, 0, 1, 0, 0.8, 0]]).T)


def test_a_named_frame_stands_for_any_link():
    model = robots.planar_2r().model
    J = kt.body_jacobian(model, [0.4, 1.0], "link1")
    assert np.array_equal(J, kt.link_jacobians(model, [0.4, 1.0])[0])
    assert not np.any(J[:, 1])


def test_the_base_does_not_move():
    model = robots.planar_2r().model
    for jacobian in (kt.body_jacobian, kt.space_jacobian):
        assert np.array_equal(jacobian(model, [0.4, 1.0], "base"), np.zeros((6, 2)))
    for rate in (kt.body_jacobian_rate, kt.space_jacobian_rate):
        assert np.array_equal(rate(model, [0.4, 1.0], [1, 2], "base"), np.zeros((6, 2)))
