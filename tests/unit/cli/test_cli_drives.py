"""Drives in the tables of the command line and of the report page."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.cli import check, info
from kinetree.motion import Trajectory
from kinetree.views.page.report import joint_table
from motion_robots import INERTIA, wheel

CURVE = [(0, 20), (4, 0)]


@pytest.fixture
def robot():
    return wheel().with_drives({"spin": kt.Drive(CURVE, peak=18, efficiency=0.8, lag=0.01)})


def test_info_lists_curve_peak_efficiency_and_lag(robot, capsys):
    info.print_robot(robot, degrees=True, folder=None)
    shown = capsys.readouterr().out
    for text in ("drives", "20 at 0, 0 at 229.18 deg/s", "18", "0.8", "0.01 s"):
        assert text in shown
    drive = info.document(robot, degrees=False, folder=None)["joints"][0]["drive"]
    assert drive["curve"] == [[0, 20], [4, 0]] and drive["peak"] == 18 and drive["delay"] == 0
    assert info.document(wheel(), degrees=False, folder=None)["joints"][0]["drive"] is None


def test_check_shows_the_limit_at_the_speed_in_the_users_unit(robot):
    motion = Trajectory(t=[0], q=[[0]], dq=[[3]], ddq=[[6 / INERTIA]], model=robot.model)
    report = robot.check(motion)
    rows = check.margins(robot, motion, report, True, None, None)
    (torque,) = [x for x in rows if x.quantity == "torque"]
    assert (torque.value, torque.upper, torque.ok) == (
        pytest.approx(6 / 0.8),
        pytest.approx(5),
        False,
    )
    (violation,) = report.violations
    assert "of its drive at 171.9 deg/s" in check.sentence(violation, degrees=True)
    assert "of its drive at 3 rad/s" in check.sentence(violation, degrees=False)
    found = check.document(report, rows, degrees=True)
    assert found["violations"][0]["rate"] == pytest.approx(np.degrees(3))


def test_the_report_page_names_the_drive(robot):
    assert "Drive of spin: curve 20 at 0, 0 at 4; peak 18; efficiency 0.8" in joint_table(
        robot.model
    )
