"""Marks in tables, limits of followers, corners between samples, jumps at the ends."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ShapeError
from kinetree.model import bounds_of
from kinetree.motion import Trajectory
from kinetree.motion.curve.pieces import from_arrays


def test_limits_of_a_joint_that_follows_do_not_bind_its_leader():
    body = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    file = (
        f'<robot name="pair"><link name="base"/><link name="a">{body}</link>'
        f'<link name="b">{body}</link>'
        '<joint name="leader" type="revolute"><parent link="base"/><child link="a"/>'
        '<axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="3" effort="4"/></joint>'
        '<joint name="follower" type="revolute"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 0 1"/><limit lower="-0.1" upper="0.1" velocity="0.2" effort="0.3"/>'
        '<mimic joint="leader"/></joint></robot>'
    )
    bounds = bounds_of(kt.load_string(file).model)
    found = [bounds.lower, bounds.upper, bounds.velocity, bounds.effort]
    assert [x.tolist() for x in found] == [[-2.0], [2.0], [3.0], [4.0]]


@pytest.mark.parametrize("end", ["first", "last"])
def test_a_jump_at_an_end_of_the_motion_is_not_within_it(end):
    """The sample at the end has another acceleration than the motion next to it."""
    t = np.linspace(0, 1, 5)
    q, dq, ddq = t**2, 2 * t, np.full(5, 2.0)
    ddq[0 if end == "first" else -1] = -3.0
    motion = Trajectory(t=t, q=q[:, None], dq=dq[:, None], ddq=ddq[:, None])
    jumps = motion.curve.jumps
    assert ((jumps > t[0]) & (jumps < t[-1])).all()
    fine = np.linspace(0, 1, 41)
    assert abs(motion.resample(fine).q[:, 0] - fine**2).max() < 1e-9


@pytest.mark.parametrize(
    ("name", "shape"), [("forces_tau", (3,)), ("forces_tau", (4, 2)), ("forces_tau", (3, 2))]
)
def test_forces_of_pieces_have_a_row_for_each_time(name, shape):
    arrays = {"forces_t": np.arange(3.0), name: np.ones(shape)}
    arrays |= {"pieces_t": np.arange(2.0), "pieces_c": np.zeros((3, 2, 2))}
    if shape == (3, 2):
        assert from_arrays(arrays).forces.tau.shape == shape
        return
    with pytest.raises(ShapeError, match=r"forces_tau has shape .*; expected \(3, \.\.\., n\)"):
        from_arrays(arrays)
