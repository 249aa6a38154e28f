"""Distance from the ground: a brute force comparison, exact planes, circles, traced scalars."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.contacts import ContactPoint, stairs
from kinetree.dynamics.contacts.ground import contact_points, gap
from kinetree.errors import ModelError


def test_stairs_lead_up():
    steps = stairs(3, 0.3, 0.1, 1.0)
    for x, height in ((-0.7, 0), (0.15, 0.1), (0.45, 0.2), (0.75, 0.3)):
        assert gap(steps, np.array([x, 0.0, height + 0.01]))[0] == pytest.approx(0.01)


BALL = """<mujoco><worldbody><body><freejoint/><geom name="ball" type="sphere" size="0.1"
mass="1"/></body></worldbody></mujoco>"""


def test_a_robot_is_put_on_the_ground_and_starts_there():
    pytest.importorskip("mujoco")
    robot = kt.load_string(BALL).with_contacts(["ball"], stairs(3, 0.3, 0.1, 1.0))
    q = robot.neutral()
    q[4:] = 0.45, 0, 7
    q = kt.contacts.on_ground(robot, q)
    assert q[6] == pytest.approx(0.3, abs=1e-12)
    assert abs(contact_points(robot.model, q)[1][0]) < 1e-12
    assert kt.dynamics.start_position(robot)[6] == pytest.approx(0.2, abs=1e-9)  # on the first edge
    with pytest.raises(ModelError, match="free joint"):
        arm = kt.robots.panda().with_contacts([ContactPoint("tip", "tool")])
        kt.contacts.on_ground(arm, arm.neutral())
    with pytest.raises(ModelError, match="on_ground needs a robot with contacts"):
        kt.contacts.on_ground(robot.with_contacts(None), q)
