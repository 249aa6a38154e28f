"""A robot is put on the ground."""

import pytest

import kinetree as kt
from kinetree.contacts import ContactPoint, stairs
from kinetree.errors import ModelError

BALL = """<mujoco><worldbody><body><freejoint/><geom name="ball" type="sphere" size="0.1"
mass="1"/></body></worldbody></mujoco>"""


def test_a_robot_is_put_on_the_ground_and_starts_there():
    pytest.importorskip("mujoco")
    robot = kt.load_string(BALL).with_contacts(["ball"], stairs(3, 0.3, 0.1, 1.0))
    q = robot.neutral()
    q[4:] = 0.45, 0, 7
    q = kt.contacts.on_ground(robot, q)
    assert q[6] == pytest.approx(0.3, abs=1e-12)
    assert kt.dynamics.start_position(robot)[6] == pytest.approx(0.2, abs=1e-9)  # on the first edge
    with pytest.raises(ModelError, match="free joint"):
        arm = kt.robots.panda().with_contacts([ContactPoint("tip", "tool")])
        kt.contacts.on_ground(arm, arm.neutral())
    with pytest.raises(ModelError, match="on_ground needs a robot with contacts"):
        kt.contacts.on_ground(robot.with_contacts(None), q)
