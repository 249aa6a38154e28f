"""Drives of joints: wrong numbers are refused in words, right ones survive every copy."""

import pickle

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.kernels import model_hash
from kinetree.errors import InputError, ModelError, NameLookupError
from kinetree.files.description.drive import checked_drive
from kinetree.model import build_model, describe_model
from motion_robots import wheel

CURVE = [(0, 80), (3, 80), (6, 0)]
FULL = kt.Drive(CURVE, peak=70, efficiency=0.8, lag=0.01, delay=0.002)


@pytest.mark.parametrize(
    ("drive", "words"),
    [
        (
            kt.Drive([(0, 10), (2, 12)]),
            "'spin' rises from 10 to 12 at the speed 2; expected forces",
        ),
        (kt.Drive([(0, 10), (2, 5), (1, 3)]), "has the speed 1 after 2; expected speeds that inc"),
        (kt.Drive([(-1, 10), (2, 5)]), "begins at the speed -1; expected 0"),
        (kt.Drive([(0.5, 10), (2, 5)]), "begins at the speed 0.5; expected 0"),
        (kt.Drive([(0, 10), (2, -5)]), "has the force -5 at the speed 2; expected 0 or more"),
        (kt.Drive([(0, 0), (2, 0)]), "has no force at standstill"),
        (kt.Drive([(0, 10)]), "has 1 point; expected pairs"),
        (kt.Drive([]), "has 0 points; expected pairs"),
        (kt.Drive([(0, 10), (2, 5, 1)]), r"has \(2, 5, 1\) as point 2; expected pairs"),
        (kt.Drive([0, 10]), "expected pairs"),
        (kt.Drive([(0, 10), (2, np.nan)]), "force 2 of the torque-speed curve .* finite"),
        (kt.Drive([(0, "ten"), (2, 1)]), "force 1 .* is 'ten'; expected a number"),
        (kt.Drive(peak=0), "peak force of the drive of joint 'spin' is 0; expected a force above"),
        (kt.Drive(peak=-2), "peak force of the drive of joint 'spin' is -2"),
        (kt.Drive(efficiency=0), "efficiency of the drive of joint 'spin' is 0; expected .* above"),
        (kt.Drive(efficiency=1.2), "efficiency of the drive of joint 'spin' is 1.2"),
        (kt.Drive(lag=-1), "lag of the drive of joint 'spin' is -1 s; expected 0 or more"),
        (kt.Drive(delay=-1), "delay of the drive of joint 'spin' is -1 s; expected 0 or more"),
        (kt.Drive(delay=np.inf), "delay of the drive of joint 'spin' is inf; expected a finite"),
        ("strong", r"drive of joint 'spin' is 'strong'; expected a record Drive\(...\)"),
    ],
)
def test_wrong_numbers_are_refused_in_words(drive, words):
    with pytest.raises(InputError, match=words):
        wheel().with_drives({"spin": drive})


def test_drives_belong_to_joints_of_one_degree_of_freedom():
    ball = kt.Builder().link("base").link("ball", 1, (0, 0, 0), np.eye(3))
    ball = ball.joint("socket", "spherical", "base", "ball").build()
    with pytest.raises(ModelError, match="'socket' of type 'spherical' has a drive; expected a"):
        ball.with_drives({"socket": FULL})
    hand = kt.Builder().link("base").link("left", 1).link("right", 1)
    hand = hand.joint("a", "prismatic", "base", "left")
    hand = hand.joint("b", "prismatic", "base", "right", mimic=kt.Mimic("a")).build()
    with pytest.raises(ModelError, match="'b' follows another joint and has a drive"):
        hand.with_drives({"b": FULL})
    with pytest.raises(NameLookupError, match="no joint 'spine' to give a drive to"):
        wheel().with_drives({"spine": FULL})
    with pytest.raises(InputError, match="expected them by joint"):
        wheel().with_drives([FULL])


def test_a_drive_survives_description_pickle_and_other_changes():
    robot = kt.robots.ur5e().with_drives({"elbow": FULL})
    expected = checked_drive(FULL, "elbow")
    assert expected.curve == ((0.0, 80.0), (3.0, 80.0), (6.0, 0.0))
    copies = (
        robot,
        pickle.loads(pickle.dumps(robot)),
        kt.Robot(build_model(describe_model(robot.model))),
        robot.with_payload(1.0).with_gravity([0, 0, 0]).with_friction({"elbow": kt.Friction(1)}),
        robot.attach(wheel(), prefix="more/"),
        robot.subtree("shoulder"),
        robot.lock({"wrist_1": 0.3}),
    )
    for copy in copies:
        joint = copy.model.joint("elbow")
        assert joint.drive == expected
        assert joint.friction.load == pytest.approx((0.25, 0.2))
    bare = robot.with_drives({"elbow": None}).model.joint("elbow")
    assert bare.drive is None and bare.friction.load == (0, 0)


def test_the_key_of_stored_graphs_knows_the_drive():
    robot = wheel()
    keys = {model_hash(robot.with_drives({"spin": x}).model) for x in (None, FULL, kt.Drive(CURVE))}
    assert len(keys) == 3


def test_efficiency_is_power_at_the_joint_over_power_of_the_motor():
    eta = 0.8
    plain, geared = (wheel().with_drives({"spin": x}) for x in (None, kt.Drive(efficiency=eta)))
    q, dq, ddq = (
        np.zeros((4, 1)),
        np.array([[2.0], [-2], [2], [-2]]),
        np.array([[3.0], [-3], [-3], [3]]),
    )
    load, tau = (x.inverse_dynamics(q, dq, ddq) * dq for x in (plain, geared))
    assert load[:2] / tau[:2] == pytest.approx(np.full((2, 1), eta))
    assert tau[2:] / load[2:] == pytest.approx(np.full((2, 1), eta))
    with pytest.raises(
        InputError, match=r"load friction .* and a drive of efficiency 0.8; expected"
    ):
        geared.with_friction({"spin": kt.Friction(load=0.1)})


def test_files_name_the_drive_as_a_loss():
    robot = kt.robots.ur5e().with_drives({"elbow": kt.Drive(CURVE, lag=0.01)})
    words = "drive of joint 'elbow': curve 80 at 0, 80 at 3, 0 at 6; lag 0.01 s"
    for write in (robot.to_urdf, robot.to_mjcf):
        with pytest.raises(ModelError, match=words):
            write(losses="error")
        assert words in write(losses="allow")
