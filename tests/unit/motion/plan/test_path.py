"""Paths: the places of a trajectory over its length, cut where the robot has to stop."""

from itertools import pairwise

import numpy as np
import pytest

from kinetree.errors import InputError
from kinetree.motion import Trajectory, cubic, quintic, sinusoid, spline
from kinetree.motion.curve.splines import cubic_spline
from kinetree.motion.plan.path import _knots, _lengths, _pieces, _times_at, _turning, paths_of


def circle(angle, samples=101, radius=2.0):
    """A quarter or more of a circle at unit angular speed: its length is radius times angle."""
    t = np.linspace(0, angle, samples)
    c, s = np.cos(t), np.sin(t)
    q, dq = radius * np.stack([c, s], 1), radius * np.stack([-s, c], 1)
    return Trajectory(t=t, q=q, dq=dq, ddq=-q)


def test_a_motion_that_ends_in_motion_ends_its_piece_with_the_last_point():
    dq = np.array([[0.0, 0], [1, 0], [2, 0], [2, 0], [1, 0]])
    speed = np.linalg.norm(dq, axis=1)
    no = np.zeros(5, bool)
    assert list(_pieces(dq, speed, no)) == [(0, 4)]
    corner = np.array([False, False, True, False, False])
    assert list(_pieces(dq, speed, corner)) == [(0, 2), (2, 4)]


def test_standstills_are_passed_over_and_points_at_rest_end_a_piece():
    dq = np.array([[0.0, 0], [1, 0], [0, 0], [0, 0], [0, 0], [0, 1], [0, 0]])
    speed = np.linalg.norm(dq, axis=1)
    assert list(_pieces(dq, speed, np.zeros(7, bool))) == [(0, 2), (4, 6)]


def test_a_motion_that_goes_straight_on_through_a_rest_is_one_piece():
    straight = np.array([[0.0, 0], [1, 0], [0, 0], [1, 0], [0, 0]])
    bent = np.array([[0.0, 0], [1, 0], [0, 0], [1, 0.1], [0, 0]])
    cases = ((straight, [(0, 4)]), (bent, [(0, 2), (2, 4)]), (straight[:4], [(0, 3)]))
    for dq, wanted in cases:
        speed = np.linalg.norm(dq, axis=1)
        assert list(_pieces(dq, speed, np.zeros(len(dq), bool))) == wanted


@pytest.mark.parametrize("angle", [0.5, np.pi / 2, 2.5])
def test_the_path_of_an_arc_is_the_arc(angle):
    (path,) = paths_of(circle(angle), 200)
    assert path.grid[0] == 0
    assert path.grid[-1] == pytest.approx(2 * angle, rel=1e-10)
    s = np.linspace(0, path.grid[-1], 333)
    q, slope, bend = path.curve(s)
    assert np.allclose(np.linalg.norm(q, axis=1), 2, rtol=0, atol=1e-8)
    assert np.allclose(q, 2 * np.stack([np.cos(s / 2), np.sin(s / 2)], 1), atol=1e-8)
    assert np.allclose(np.linalg.norm(slope, axis=1), 1, atol=1e-6)
    assert np.allclose(bend, -q / 4, atol=1e-3)
    assert path.deviation < 1e-7


def test_the_length_is_that_of_the_curve():
    motion = circle(1.5)
    t = np.linspace(0, 1.5, 40)
    speed = np.full(40, 2.0)
    assert np.allclose(_lengths(motion, t, speed), 2 * t, rtol=1e-12)
    line = quintic([0, 0], [3, 4], 2.0, 0.1)
    t = np.linspace(0, 2, 200)
    speed = np.linalg.norm(line.pieces(t)[1], axis=1)
    way = np.linalg.norm(line.pieces(t)[0], axis=1)
    assert np.allclose(_lengths(line, t, speed), way, atol=1e-9)


def test_times_are_found_for_lengths():
    t = np.linspace(0, 2, 21)
    length, speed = t**3 / 3, t**2
    wanted = np.linspace(0, 8 / 3, 77)
    found = _times_at(wanted, t, length, speed)
    assert np.allclose(found, np.cbrt(3 * wanted), atol=1e-7)
    assert found[[0, -1]] == pytest.approx([0, 2], abs=1e-14)


def test_knots_are_densest_at_the_ends_and_in_bends():
    length = np.linspace(0, 10, 101)
    straight = _knots(length, 0 * length, 40)
    wanted = 5 * (1 - np.cos(np.linspace(0, np.pi, 41)))  # equal steps of the angle
    assert np.allclose(straight, wanted, atol=1e-3)
    turning = np.where(length < 5, 0, np.where(length > 5.5, np.pi, (length - 5) / 0.5 * np.pi))
    bent = _knots(length, turning, 40)
    inside = (bent >= 5) & (bent <= 5.5)
    assert inside.sum() >= 20  # half of the steps go into the bend
    assert bent[0] == 0 and bent[-1] == 10 and np.all(np.diff(bent) > 0)


def test_turning_counts_the_angle_of_the_direction():
    motion = circle(2.5)
    speed = np.full(len(motion), 2.0)
    assert np.allclose(_turning(motion.dq, speed), motion.t, atol=1e-12)
    speed = np.array([0.0, 1, 1, 0, 1])
    dq = np.array([[0, 0], [1, 0], [0, 1], [0, 0], [-1, 0]], float)
    assert np.allclose(_turning(dq, speed), [0, 0, np.pi / 2, np.pi / 2, np.pi / 2])


def test_the_grid_has_the_places_where_a_joint_turns_back():
    """q2 turns back at the vertex of a parabola, which no knot hits."""
    s = np.linspace(0, 1, 8)
    curve = cubic_spline(s, np.stack([s, (s - 0.4) ** 2], 1))
    from kinetree.motion.plan.path import _grid

    grid = _grid(curve)
    assert len(grid) == 9 and np.min(np.abs(grid - 0.4)) < 1e-12
    on_knot = cubic_spline(s, np.stack([s, (s - s[3]) ** 2], 1))
    assert len(_grid(on_knot)) == 8


def test_a_swing_is_cut_where_it_turns_back_and_keeps_its_places():
    motion = sinusoid([0.0, 1.0], [1.0, 2.0], 1.0, 1.0, 0.013, phase=0.3)
    paths = paths_of(motion, 100)
    # two turns of amplitude sqrt 5, from sin 0.3 on and back to it
    way = np.sqrt(5) * np.array([1 - np.sin(0.3), 2, 1 + np.sin(0.3)])
    assert [path.grid[-1] for path in paths] == pytest.approx(way, rel=1e-7)
    for one, other in pairwise(paths):
        assert np.array_equal(one.curve.points[-1], other.curve.points[0])
    assert np.allclose(paths[0].curve.points[-1], [1, 3], atol=1e-7)
    assert np.array_equal(paths[0].curve.points[0], motion.q[0])


def test_corners_of_straight_lines_are_stops():
    """Two cubics that meet at a right angle: dq is zero there and turns."""
    one, other = cubic([0, 0], [1, 0], 1, 0.1), cubic([1, 0], [1, 2], 1, 0.1)
    motion = Trajectory(
        t=np.concatenate([one.t, 1 + other.t[1:]]),
        **{x: np.concatenate([getattr(one, x), getattr(other, x)[1:]]) for x in ("q", "dq", "ddq")},
    )
    paths = paths_of(motion, 50)
    assert [path.grid[-1] for path in paths] == pytest.approx([1, 2], rel=1e-6)


def test_joints_at_rest_stay_exactly_at_rest():
    motion = spline([[0.3, 0, 1], [0.3, 1, 2], [0.3, 3, 2.5]], 2.0)
    (path,) = paths_of(motion, 60)
    assert np.all(path.curve.points[:, 0] == 0.3)


def test_a_standing_robot_has_no_path():
    with pytest.raises(InputError, match="'cubic' stands still; it has no path"):
        paths_of(cubic([1], [1], 1), 10)


def test_long_or_curved_paths_get_more_knots():
    """A spline errs by h^4: 10 intervals leave too much of an arc, and up to 40 are taken."""
    for given, taken in ((10, 40), (20, 80), (30, 60), (50, 50)):
        (path,) = paths_of(circle(2.5), given)
        assert len(path.curve.knots) == taken + 1, given
