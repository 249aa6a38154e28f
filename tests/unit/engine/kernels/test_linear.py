"""A and B of linearize: of one kernel, and as differences of neighbouring motions."""

import numpy as np
import pytest

import kinetree as kt


def floating():
    """A body that floats, with an arm: quaternions in q, brackets in A."""
    builder = kt.Builder("glider").link("world")
    builder.link("hull", 3, (0.1, 0, 0), np.diag([0.2, 0.3, 0.4]))
    builder.link("arm", 1, (0.1, 0.2, 0.3), np.diag([0.1, 0.1, 0.1]))
    builder.joint("base", "free", "world", "hull")
    return builder.joint("hinge", "revolute", "hull", "arm", axis=(0, 0.6, 0.8)).build()


@pytest.mark.parametrize("make", [kt.robots.planar_2r, floating])
def test_a_and_b_are_those_of_the_textbook(make):
    robot, rng = make(), np.random.default_rng(1)
    state = robot.random(rng=rng), rng.normal(size=robot.n), rng.normal(size=robot.n)
    F_ext = rng.normal(size=(len(robot.model.links), 6))
    for loads in ((), (F_ext,)):
        found = robot.linearize(*state, *loads)
        expected = kt.dynamics.linearize(robot.model, *state, *loads)
        np.testing.assert_allclose(found.A, expected.A, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.B, expected.B, rtol=1e-9, atol=1e-9)


def test_positions_of_a_turning_body_drift_apart_as_a_says():
    """A deviation d of q grows by A[:n, :n] d while both motions have the same rates."""
    robot, rng, h, small = floating(), np.random.default_rng(2), 1e-3, 1e-4
    n, q, dq = robot.n, robot.random(rng=rng), rng.normal(size=robot.n)
    A = robot.linearize(q, dq, np.zeros(n)).A
    for d in np.eye(n):
        other = robot.integrate(q, small * d)
        ends = [
            robot.difference(robot.integrate(q, s * h * dq), robot.integrate(other, s * h * dq))
            for s in (1, -1)
        ]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h * small), A[:n, :n] @ d, atol=1e-3)
