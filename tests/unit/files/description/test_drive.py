"""Drives of joints: wrong numbers are refused in words, right ones survive every copy."""

import pickle

import pytest

import kinetree as kt
from kinetree.engine.kernels import model_hash
from kinetree.friction import Friction
from kinetree.joints import Drive
from kinetree.model import build_model
from motion_robots import wheel

CURVE = [(0, 80), (3, 80), (6, 0)]
FULL = Drive(CURVE, peak=70, efficiency=0.8, lag=0.01, delay=0.002)


def test_a_drive_survives_description_pickle_and_other_changes():
    robot = kt.robots.ur5e().with_drives({"elbow": FULL})
    expected = robot.model.joint("elbow").drive
    assert expected.curve == ((0.0, 80.0), (3.0, 80.0), (6.0, 0.0))
    copies = (
        robot,
        pickle.loads(pickle.dumps(robot)),
        kt.Robot(build_model(robot.model.description)),
        robot.with_payload(1.0).with_gravity([0, 0, 0]).with_friction({"elbow": Friction(1)}),
        robot.attach(wheel(), prefix="more/"),
        robot.subtree("shoulder"),
        robot.lock({"wrist_1": 0.3}),
    )
    for copy in copies:
        joint = copy.model.joint("elbow")
        assert joint.drive == expected
        assert joint.loss == pytest.approx((0.25, 0.2))
    bare = robot.with_drives({"elbow": None}).model.joint("elbow")
    assert bare.drive is None and bare.loss == (0, 0)


def test_the_key_of_stored_graphs_knows_the_drive():
    robot = wheel()
    keys = {model_hash(robot.with_drives({"spin": x}).model) for x in (None, FULL, Drive(CURVE))}
    assert len(keys) == 3
