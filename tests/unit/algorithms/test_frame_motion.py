"""Motion of frames: Jacobians of the walk, twists and accelerations in three kinds of axes."""

import numpy as np
import pytest

from kinetree import algorithms, robots
from kinetree.algorithms.book import book_tree
from kinetree.algorithms.walk import tree_frame_jacobian
from kinetree.model.quantity import EXPRESSED
from kinetree.spatial import Ad
from precise_robots import TINY, derivative, precise, precise_state
from robot_states import EPS, any_robot, random_state, size


def case(seed):
    model = any_robot(seed, 8)
    x = random_state(model, seed)
    return model, x, list(model.frames)[seed % len(model.frames)]


@pytest.mark.parametrize("seed", range(10))
def test_the_walk_gives_the_jacobians_of_the_textbook(seed):
    model, x, frame = case(seed)
    tree, place = book_tree(model, x.q), model.frame(frame)
    for axes in ("body", "space"):
        J, dJ = tree_frame_jacobian(tree, place, axes, x.dq)
        expected = getattr(algorithms, f"{axes}_jacobian")(model, x.q, frame)
        rate = getattr(algorithms, f"{axes}_jacobian_rate")(model, x.q, x.dq, frame)
        terms = (1 + size(expected)) * (1 + size(expected @ x.dq))
        assert size(J - expected) <= 100 * EPS * (1 + size(expected))
        assert size(dJ - rate) <= 100 * EPS * terms


@pytest.mark.parametrize("seed", range(6))
def test_the_acceleration_is_the_time_derivative_of_the_twist(seed, fifty_digits):
    """In fifty digits, along the motion q(t), dq + ddq t; for "aligned" also that of the pose."""
    model, x, frame = case(seed)
    model, x = precise(model), precise_state(model, x)
    q, dq, ddq = x.motion

    def moved(t):
        return algorithms.integrate(model, q, dq * t)

    def twist(t, axes):
        return algorithms.frame_velocity(model, moved(t), dq + ddq * t, frame, expressed=axes)

    for axes in EXPRESSED:
        found = algorithms.frame_acceleration(model, q, dq, ddq, frame, expressed=axes)
        scale = 1 + size(found) + size(twist(0, axes)) ** 2
        assert size(found - derivative(lambda t, axes=axes: twist(t, axes))) < TINY * scale
    velocity = derivative(lambda t: algorithms.pose(model, moved(t), frame)[:3, 3])
    assert size(twist(0, "aligned")[3:] - velocity) < TINY * (1 + size(velocity))


@pytest.mark.parametrize("seed", range(6))
def test_the_three_twists_are_one_motion(seed):
    model, x, frame = case(seed)
    T = algorithms.pose(model, x.q, frame)
    body, space, aligned = (
        algorithms.frame_velocity(model, x.q, x.dq, frame, expressed=axes) for axes in EXPRESSED
    )
    slack = 100 * EPS * (1 + size(T)) * (1 + size(space))
    assert size(Ad(T) @ body - space) <= slack
    R = np.kron(np.eye(2), T[:3, :3])
    assert size(R @ body - aligned) <= slack
    assert size(space[3:] + np.cross(space[:3], T[:3, 3]) - aligned[3:]) <= slack


def test_a_frame_of_the_base_does_not_move():
    model = robots.ur5e().model
    x = random_state(model, 0)
    for axes in EXPRESSED:
        for function, motion in (
            (algorithms.frame_velocity, (x.q, x.dq)),
            (algorithms.frame_acceleration, x.motion),
        ):
            assert not function(model, *motion, model.base_name, expressed=axes).any()
