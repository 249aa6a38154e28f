"""Poses and Jacobians of a frame by name, in every way to give it."""

import copy
import gc
import inspect
import pickle
import weakref

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import KinetreeError
from kinetree.robot import Robot

OF_POSITION = ("pose", "body_jacobian", "space_jacobian")
OF_MOTION = ("frame_velocity",)


@pytest.fixture(scope="module")
def robot():
    return kt.robots.planar_2r()


def state(name):
    q, dq = np.array([0.3, -0.7]), np.array([1.5, 0.2])
    return (q,) if name in OF_POSITION else (q, dq)


@pytest.mark.parametrize("name", OF_POSITION + OF_MOTION)
def test_every_way_to_give_a_frame_gives_the_same_bits(robot, name):
    call, given = getattr(robot, name), state(name)
    for frame in (None, *robot.model.link_names):
        expected = robot.compile(name, frame=frame)(*given).tobytes()
        other = None if frame is None else "".join(list(frame))  # equal, but another object
        for _ in range(2):  # the second time in machine code
            call = getattr(robot, name)
            assert call(*given, frame).tobytes() == expected
            assert call(*given, frame=frame).tobytes() == expected
            assert call(*given, other).tobytes() == expected
            assert getattr(Robot, name)(robot, *given, frame).tobytes() == expected
            assert call(*(x.tolist() for x in given), frame).tobytes() == expected
            assert call(*(x[None] for x in given), frame)[0].tobytes() == expected
            named = dict(zip(("q", "dq"), given, strict=False))
            assert call(**named, frame=frame).tobytes() == expected
        if frame is None:
            assert call(*given).tobytes() == expected


@pytest.mark.parametrize("name", OF_POSITION + OF_MOTION)
def test_errors_name_the_frame_and_the_argument(robot, name):
    given = state(name)
    for _ in range(2):
        with pytest.raises(KinetreeError, match="gripper"):
            getattr(robot, name)(*given, "gripper")
        with pytest.raises(KinetreeError, match="q has shape"):
            getattr(robot, name)(np.zeros(3), *given[1:])
        with pytest.raises(TypeError):
            getattr(robot, name)()
        with pytest.raises(TypeError):
            getattr(robot, name)(*given, None, None)
        with pytest.raises(TypeError):
            getattr(robot, name)(*given, link="a")
        with pytest.raises((TypeError, KinetreeError)):
            getattr(robot, name)(*given, 3)


@pytest.mark.parametrize("name", OF_POSITION + OF_MOTION)
def test_a_call_is_documented_pickled_and_copied_like_a_method(name):
    robot = kt.robots.planar_2r()
    given, like = state(name), getattr(Robot, name)
    expected = getattr(robot, name)(*given)
    call = getattr(robot, name)
    assert call.__doc__ == like.__doc__ and call.__name__ == name
    parameters = list(inspect.signature(call).parameters)
    assert ["self", *parameters] == list(inspect.signature(like).parameters)
    for other in (pickle.loads(pickle.dumps(call)), copy.copy(call), copy.deepcopy(call)):
        assert np.array_equal(other(*given), expected)
    again = pickle.loads(pickle.dumps(robot))
    assert np.array_equal(getattr(again, name)(*given), expected)


def test_changed_robots_have_calls_of_their_own(robot):
    q = np.array([0.1, 0.2])
    robot.pose(q)
    moved = robot.with_tool("probe", [0.5, 0, 0])
    assert not np.array_equal(moved.pose(q), robot.pose(q))


def test_a_robot_with_such_calls_is_freed():
    robot = kt.robots.planar_2r()
    robot.pose(np.zeros(2))
    freed = weakref.ref(robot), weakref.ref(robot.model)
    del robot
    gc.collect()
    assert freed[0]() is None and freed[1]() is None
