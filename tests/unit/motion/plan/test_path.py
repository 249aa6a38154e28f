"""Paths: the places of a trajectory over its length, cut where the robot has to stop."""

from itertools import pairwise

import numpy as np
import pytest

from kinetree.errors import InputError
from kinetree.motion import Trajectory, cubic, sinusoid, spline
from kinetree.motion.plan.path import paths_of


def circle(angle, samples=101, radius=2.0):
    """A quarter or more of a circle at unit angular speed: its length is radius times angle."""
    t = np.linspace(0, angle, samples)
    c, s = np.cos(t), np.sin(t)
    q, dq = radius * np.stack([c, s], 1), radius * np.stack([-s, c], 1)
    return Trajectory(t=t, q=q, dq=dq, ddq=-q)


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
    motion = joined(cubic([0, 0], [1, 0], 1, 0.1), cubic([1, 0], [1, 2], 1, 0.1))
    paths = paths_of(motion, 50)
    assert [path.grid[-1] for path in paths] == pytest.approx([1, 2], rel=1e-6)


def test_joints_at_rest_stay_exactly_at_rest():
    motion = spline([[0.3, 0, 1], [0.3, 1, 2], [0.3, 3, 2.5]], 2.0)
    (path,) = paths_of(motion, 60)
    assert np.all(path.curve.points[:, 0] == 0.3)


def joined(*parts):
    """Motions one after the other, each (t, q, dq, ddq) from t = 0."""
    starts = np.cumsum([0, *(x.t[-1] for x in parts)])
    t = np.concatenate([x.t[k > 0 :] + starts[k] for k, x in enumerate(parts)])
    signals = {
        name: np.concatenate([getattr(x, name)[k > 0 :] for k, x in enumerate(parts)])
        for name in ("q", "dq", "ddq")
    }
    return Trajectory(t=t, **signals)


def test_a_rest_ends_a_piece_unless_the_motion_goes_straight_on():
    first, still = cubic([0, 0], [1, 0], 1, 0.1), cubic([1, 0], [1, 0], 1, 0.1)
    on, bent = cubic([1, 0], [2, 0], 1, 0.1), cubic([1, 0], [2, 0.1], 1, 0.1)
    lengths = [path.grid[-1] for path in paths_of(joined(first, on), 50)]
    assert lengths == pytest.approx([2])
    for motion in (joined(first, bent), joined(first, still, bent)):
        lengths = [path.grid[-1] for path in paths_of(motion, 50)]
        assert lengths == pytest.approx([1, np.hypot(1, 0.1)], rel=1e-6)


def test_a_standing_robot_has_no_path():
    with pytest.raises(InputError, match="'cubic' stands still; it has no path"):
        paths_of(cubic([1], [1], 1), 10)


def test_long_or_curved_paths_get_more_knots():
    """A spline errs by h^4: 10 intervals leave too much of an arc, and up to 40 are taken."""
    for given, taken in ((10, 40), (20, 80), (30, 60), (50, 50)):
        (path,) = paths_of(circle(2.5), given)
        assert len(path.curve.knots) == taken + 1, given
