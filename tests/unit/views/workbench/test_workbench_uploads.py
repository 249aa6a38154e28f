"""Trajectories that are uploaded: the one reader, text alone, and its notes on the page."""

import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.views.workbench.files import read_motion_file
from kinetree.views.workbench.motions import remark

ROBOT = kt.robots.planar_2r()


def test_dialects_are_read_and_the_notes_are_shown(tmp_path):
    text = b"time,q1,q2\n0,1,2\n0.5,2,3\n1,4,3\n"
    found = read_motion_file(ROBOT, "log.CSV", text, tmp_path)
    assert found.q.tolist() == [[1, 2], [2, 3], [4, 3]]
    shown = remark(found)
    assert shown.startswith("Notes of the reader: numbered columns are taken in the order of the")
    assert shown.endswith("; dq and ddq are computed from the spline through q.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("start", [b"PAR1", b"PK\x03\x04", b"\x89MCAP0\r\n", b"#ROSBAG V2.0"])
def test_binary_formats_are_not_read_from_a_page(start, tmp_path):
    with pytest.raises(InputError, match=r"not a text; expected a CSV file|rename it so that"):
        read_motion_file(ROBOT, "a.csv", start + b" and more", tmp_path)
