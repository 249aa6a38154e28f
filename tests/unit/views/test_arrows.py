"""Arrows: the recursion's vectors in {s}, whichever frame they were computed in."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.spatial import Ad
from kinetree.views import recursion_arrows


@pytest.fixture
def state():
    robot, rng = kt.robots.panda(), np.random.default_rng(4)
    return robot, (robot.random(rng=rng), rng.normal(size=7), rng.normal(size=7))


def test_arrows_are_the_same_from_every_formulation(state):
    robot, motion = state
    link, space = (robot.newton_euler(*motion, formulation=name) for name in ("link", "space"))
    for quantity in ("V", "dV", "F"):
        for a, b in zip(*(recursion_arrows(x, quantity, 0.3) for x in (link, space)), strict=True):
            np.testing.assert_allclose(a.value, b.value, atol=1e-10)
            np.testing.assert_allclose(a.tip, b.tip, atol=1e-12)


def test_twists_are_those_of_the_space_jacobian(state):
    robot, (q, dq, ddq) = state
    arrows = recursion_arrows(robot.newton_euler(q, dq, ddq), "V", 0.3)
    omega, v = (
        next(a for a in arrows if a.link == 6 and a.name == name) for name in ("omega", "v")
    )
    V_s = robot.space_jacobian(q, robot.model.link_names[6]) @ dq
    np.testing.assert_allclose(omega.value, V_s[:3], atol=1e-12)
    np.testing.assert_allclose(v.value, V_s[3:] + np.cross(V_s[:3], v.start), atol=1e-12)


def test_forces_at_the_first_joint_carry_the_weight(state):
    robot, (q, dq, _) = state
    arrows = recursion_arrows(robot.newton_euler(q, 0 * dq, 0 * dq), "F", 0.3)
    force = next(a for a in arrows if a.link == 0 and a.name == "force")
    weight = float(np.sum(robot.model.m)) * 9.81
    np.testing.assert_allclose(force.value, (0, 0, weight), atol=1e-10)
    T = robot.link_poses(q)[0]
    F = robot.newton_euler(q, 0 * dq, 0 * dq).F[0]
    np.testing.assert_allclose((Ad(np.linalg.inv(T)).T @ F)[3:], force.value, atol=1e-10)


def test_the_longest_arrow_has_the_length_asked_for(state):
    robot, motion = state
    found = robot.newton_euler(*motion)
    for name in ("moment", "force"):
        arrows = [a for a in recursion_arrows(found, "F", 0.4) if a.name == name]
        assert max(np.linalg.norm(a.tip - a.start) for a in arrows) == pytest.approx(0.4)
    still = recursion_arrows(robot.newton_euler(motion[0], np.zeros(7), np.zeros(7)), "V", 0.4)
    assert all(np.array_equal(a.tip, a.start) for a in still)
    assert {a.link for a in recursion_arrows(found, "V", 0.4, range(2, 3))} == {2}


def test_other_quantities_are_refused(state):
    robot, motion = state
    with pytest.raises(InputError, match="expected V, dV, F"):
        recursion_arrows(robot.newton_euler(*motion), "tau", 0.3)
