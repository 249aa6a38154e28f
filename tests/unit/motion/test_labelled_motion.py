"""Planners and inverse kinematics with names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import kinetree as kt
from kinetree import motion
from kinetree.errors import InputError

A, B = np.array([0.1, -0.2, 0.3, 0.0, 0.5, -0.4]), np.array([0.6, 0.1, -0.3, 0.2, 0.1, 0.9])
ORDER = [4, 0, 5, 2, 1, 3]


@pytest.fixture(scope="module")
def robot():
    return kt.robots.ur5e()


def same(found, expected):
    assert found.joint_names == expected.joint_names
    for name in ("t", "q", "dq", "ddq"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


def named(robot, x):
    return pd.Series(x, index=robot.joint_names).iloc[ORDER]


def keyed(robot, x):
    return {robot.joint_names[k]: float(x[k]) for k in ORDER}


PLANS = {
    "cubic": lambda x, y, **o: motion.cubic(x(A), y(B), 1, 0.1, dq0=y(B), dq1=x(A), **o),
    "quintic": lambda x, y, **o: motion.quintic(x(A), y(B), 1, 0.1, ddq0=y(B), ddq1=x(A), **o),
    "trapezoid": lambda x, y, **o: motion.trapezoid(
        x(A), y(B), acceleration=y(A + 2), velocity=x(B + 2), **o
    ),
    "sinusoid": lambda x, y, **o: motion.sinusoid(
        x(A), y(B), x(A + 2), 1.0, phase=y(A), dt=0.1, **o
    ),
}


@pytest.mark.parametrize("plan", PLANS)
def test_ends_and_rates_are_taken_by_name(robot, plan):
    found = PLANS[plan](lambda x: named(robot, x), lambda x: keyed(robot, x), robot=robot)
    same(found, PLANS[plan](lambda x: x, lambda x: x, robot=robot))


@pytest.mark.parametrize("plan", PLANS)
def test_names_of_a_plan_without_a_robot_come_from_its_start(robot, plan):
    found = PLANS[plan](lambda x: named(robot, x), lambda x: keyed(robot, x))
    names = tuple(robot.joint_names[k] for k in ORDER)
    same(found, PLANS[plan](lambda x: x[ORDER], lambda x: x[ORDER], joint_names=names))


@pytest.mark.parametrize("times", [1.0, [0.0, 0.5, 1.5], pd.to_timedelta([0, 0.5, 1.5], unit="s")])
@pytest.mark.parametrize("kind", ["DataFrame", "polars", "dict"])
def test_waypoints_are_rows_of_a_frame(robot, kind, times):
    points = np.array([A, B, A + 0.3])
    names = robot.joint_names
    columns = {names[k]: points[:, k] for k in ORDER}
    make = {"DataFrame": pd.DataFrame, "polars": pl.DataFrame, "dict": dict}[kind]
    plain = times if isinstance(times, float) else [0.0, 0.5, 1.5]
    found = motion.spline(make(columns), times, 0.1, robot=robot)
    same(found, motion.spline(points, plain, 0.1, robot=robot))


def test_the_result_of_inverse_kinematics_is_labelled_like_its_start(robot):
    q0 = np.array([0.1, -1.0, 1.2, -0.5, 0.4, 0.2])
    T = robot.pose(q0 + 0.05)
    plain = robot.inverse_kinematics(T, q0)
    found = robot.inverse_kinematics(T, named(robot, q0))
    assert found.index.tolist() == list(robot.joint_names) and np.array_equal(found, plain)
    found = robot.inverse_kinematics(T, keyed(robot, q0))
    assert list(found) == list(robot.joint_names) and np.array_equal([*found.values()], plain)
    assert type(robot.inverse_kinematics(T)) is np.ndarray


def test_a_pose_with_names_can_be_reached(robot):
    q0 = np.array([0.1, -1.0, 1.2, -0.5, 0.4, 0.2])
    T = robot.pose(named(robot, q0 + 0.05))
    plain = robot.inverse_kinematics(robot.pose(q0 + 0.05), q0)
    mixed = T.loc[["w", "y", "x", "z"], ["z", "x", "w", "y"]]
    assert np.array_equal(robot.inverse_kinematics(mixed, q0), plain)
    array = robot.pose(named(robot, q0 + 0.05).rename_axis("joint").to_xarray())
    assert np.array_equal(robot.inverse_kinematics(array, q0), plain)


def test_a_line_and_an_excitation_start_by_name(robot):
    q0 = np.array([0.1, -1.0, 1.2, -0.5, 0.4, 0.2])
    goal = robot.pose(q0)
    goal[:3, 3] += [0.01, 0.02, 0.0]
    found = motion.straight_line(robot, named(robot, q0), goal, 0.2, 0.1)
    same(found, motion.straight_line(robot, q0, goal, 0.2, 0.1))
    found = motion.excitation(robot, 1.0, 0.1, center=keyed(robot, A))
    same(found, motion.excitation(robot, 1.0, 0.1, center=A))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r, x: motion.cubic(x.iloc[:5], A, 1, robot=r), "q0: .*missing"),
        (lambda r, x: motion.cubic(A, x.rename({"elbow": "y"}), 1, robot=r), "q1: .*unknown 'y'"),
        (lambda r, x: motion.cubic(x, x.rename({"elbow": "y"}), 1), "q1: .*missing 'elbow'"),
        (lambda r, x: motion.cubic(x.to_frame().T, A, 1, robot=r), "one number for each joint"),
        (lambda r, x: motion.cubic(A, B, 1, dq0=x), "dq0 is a pandas Series.*robot=|missing"),
        (lambda r, x: motion.spline([x, x], 1.0, robot=r), "a list of objects of type pandas"),
        (lambda r, x: motion.spline(pd.DataFrame([x, x]).T, 1.0, robot=r), r"Pass frame\.T"),
        (lambda r, x: r.inverse_kinematics(np.eye(4), x.iloc[:3]), "q0: .*missing"),
        (lambda r, x: r.inverse_kinematics(pd.DataFrame(np.eye(4)), x), "T is a pandas DataFrame"),
        (lambda r, x: motion.straight_line(r, x, {"x": 1}, 1.0), "goal is a dict"),
        (
            lambda r, x: motion.trapezoid(x, -x, acceleration={"elbow": 1}, robot=r),
            "acceleration: ",
        ),
    ],
)
def test_names_that_do_not_fit_are_refused(robot, call, words):
    with pytest.raises(InputError, match=words):
        call(robot, named(robot, A))
