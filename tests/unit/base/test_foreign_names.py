"""Attributes that do not exist: the message has our name for them, or the nearest one."""

import copy
import pickle
import re

import pytest

import kinetree as kt
from kinetree.base.foreign_names import SPELLINGS, UnknownAttributeError, translated

NAMES = [
    ("rnea", "robot.inverse_dynamics(q, dq, ddq)"),
    ("rne", "robot.inverse_dynamics(q, dq, ddq)"),
    ("mj_inverse", "robot.inverse_dynamics(q, dq, ddq)"),
    ("CalcInverseDynamics", "robot.inverse_dynamics(q, dq, ddq)"),
    ("crba", "robot.mass_matrix(q)"),
    ("M", "robot.mass_matrix(q)"),
    ("inertia", "robot.mass_matrix(q)"),
    ("CompositeRigidBodyAlgorithm", "robot.mass_matrix(q)"),
    ("aba", "robot.forward_dynamics(q, dq, tau)"),
    ("accel", "robot.forward_dynamics(q, dq, tau)"),
    ("gravload", "robot.gravity_forces(q)"),
    ("coriolis", "robot.coriolis_matrix(q, dq)"),
    ("nle", "robot.bias_forces(q, dq), springs and friction included"),
    ("CalcBiasTerm", "robot.coriolis_forces(q, dq)"),
    ("qfrc_bias", "robot.bias_forces(q, dq)"),
    ("nonLinearEffects", "robot.bias_forces(q, dq)"),
    ("jacob0", "robot.body_jacobian(q, frame) turned to the axes of {s}"),
    ("jacobe", "robot.body_jacobian(q, frame)"),
    ("computeJointJacobians", "robot.space_jacobian(q, frame)"),
    ("fkine", "robot.pose(q, frame)"),
    ("forward_kinematics", "robot.pose(q, frame)"),
    ("ikine_LM", "robot.inverse_kinematics(T)"),
    ("nv", "robot.n"),
    ("njoints", "robot.n"),
    ("qpos", "a robot stores no state"),
    ("load_urdf", "kt.load(path)"),
    ("buildModelFromUrdf", "kt.load(path)"),
]


@pytest.fixture(scope="module")
def robot():
    return kt.robots.planar_2r()


@pytest.mark.parametrize(("name", "ours"), NAMES)
def test_a_name_of_another_library_is_answered_with_ours(robot, name, ours):
    for owner in (robot, kt):
        with pytest.raises(AttributeError) as caught:
            getattr(owner, name)
        assert repr(name) in str(caught.value) and ours in str(caught.value)
        assert caught.value.name == name
        assert not hasattr(owner, name) and getattr(owner, name, 3) == 3


def test_every_answer_names_attributes_that_exist(robot):
    owners = {"robot": robot, "kt": kt}
    for ours in SPELLINGS:
        for owner, path in re.findall(r"\b(robot|kt)\.([\w.]+)", ours):
            found = owners[owner]
            for part in path.split("."):
                found = getattr(found, part)


def test_no_name_is_answered_in_two_ways():
    others = [name for names in SPELLINGS.values() for name in names.lower().split()]
    assert len(others) == len(set(others))


def test_names_of_a_robot_on_the_module_lead_to_the_robot():
    with pytest.raises(AttributeError, match=r"here it is robot\.mass_matrix\(q\)\.$"):
        getattr(kt, "mass_matrix")  # noqa: B009
    assert translated("no_such_thing") is None


def test_misspelt_names_get_the_nearest(robot):
    with pytest.raises(AttributeError, match="Did you mean mass_matrix or"):
        robot.mass_matrx  # noqa: B018
    with pytest.raises(AttributeError, match=r"Did you mean load"):
        getattr(kt, "laod")  # noqa: B009
    with pytest.raises(AttributeError, match=r"here it is kt\.motion\.sinusoid\."):
        getattr(kt, "sinusoid")  # noqa: B009
    with pytest.raises(AttributeError, match=r"'xyzzy'; dir\(\) lists what there is"):
        robot.xyzzy  # noqa: B018


def test_copies_pickles_and_dir_are_as_before(robot):
    for thing in (robot, robot.model):
        again = [copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))]
        assert all(x.name == thing.name for x in again)
        assert not {"rnea", "crba"} & set(dir(thing)) and "joint_names" in dir(thing)
        assert not hasattr(thing, "_repr_png_") and not hasattr(thing, "__array__")


def test_the_error_survives_a_pickle(robot):
    with pytest.raises(UnknownAttributeError) as caught:
        robot.rnea  # noqa: B018
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, AttributeError) and str(again) == str(caught.value)


def test_the_module_simulate_can_be_called(robot):
    motion = kt.simulate(robot, [0.1, 0.2], duration=0.1, dt=0.01, method="rk4")
    own = robot.simulate([0.1, 0.2], duration=0.1, dt=0.01, method="rk4")
    assert motion.q.tobytes() == own.q.tobytes()
    assert kt.simulate.Trajectory is kt.motion.Trajectory
