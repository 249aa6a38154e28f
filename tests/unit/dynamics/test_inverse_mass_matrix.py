"""M^-1: the inverse of M, symmetric, and a refusal that names the joint."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from robot_states import EPS, any_robot, random_state, size


@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_inverse_and_symmetric_to_the_last_bit(seed):
    model = any_robot(seed, 12)
    x = random_state(model, seed)
    M, found = dynamics.mass_matrix(model, x.q), dynamics.inverse_mass_matrix(model, x.q)
    assert np.array_equal(found, found.T)
    slack = 100 * EPS * np.linalg.cond(M)
    assert size(found @ M - np.eye(model.n)) <= slack
    assert size(found - np.linalg.inv(M)) <= slack * size(found)


def test_joints_of_separate_branches_do_not_accelerate_each_other():
    """Two arms on a fixed base: the zeros between them are exact."""
    body = {"m": 1.0, "com": (0.3, 0.1, 0)}
    builder = kt.Builder("two arms").link("base").link("left", **body).link("right", **body)
    builder.joint("a", "revolute", "base", "left").joint("b", "revolute", "base", "right")
    robot = builder.build()
    assert robot.inverse_mass_matrix([0.1, 0.2])[0, 1] == 0
    assert dynamics.inverse_mass_matrix(robot.model, [0.1, 0.2])[1, 0] == 0
