"""Drives in the tables of the command line and of the report page."""

import pytest

import kinetree as kt
from kinetree.cli import info
from kinetree.views import report_page
from motion_robots import wheel

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


def test_the_report_page_names_the_drive(robot):
    assert "Drive of spin: curve 20 at 0, 0 at 4; peak 18; efficiency 0.8" in report_page(robot)
