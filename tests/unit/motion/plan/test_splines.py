"""Splines: through their points, smooth, with the ends asked for; as SciPy's, where it is there."""

import numpy as np
import pytest

from kinetree.errors import InputError, ShapeError
from kinetree.motion import spline
from kinetree.motion.curve.splines import cubic_spline
from kinetree.robots import planar_2r

KNOTS = np.array([0.0, 0.4, 1.1, 1.5, 2.6])
POINTS = np.random.default_rng(0).normal(size=(5, 3))


@pytest.mark.parametrize("ends", ["clamped", "natural", "not-a-knot"])
def test_the_spline_passes_its_points_twice_smooth(ends):
    curve = cubic_spline(KNOTS, POINTS, ends, 0.3, -0.2)
    assert np.allclose(curve(KNOTS)[0], POINTS, rtol=0, atol=1e-14)
    inner, step = KNOTS[1:-1], 1e-9
    for left, right in zip(curve(inner - step), curve(inner + step), strict=True):
        assert np.allclose(left, right, atol=1e-6)


@pytest.mark.parametrize("ends", ["clamped", "natural", "not-a-knot"])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_spline_is_that_of_scipy(ends, count):
    interpolate = pytest.importorskip("scipy.interpolate")
    knots, points = KNOTS[:count], POINTS[:count]
    other = interpolate.CubicSpline(knots, points, bc_type=ends)
    t = np.linspace(0, knots[-1], 50)
    ours = cubic_spline(knots, points, ends)(t)
    for order, found in enumerate(ours):
        assert np.allclose(found, other(t, order), rtol=0, atol=1e-11)


def test_the_trajectory_starts_and_ends_at_rest():
    motion = spline(POINTS, KNOTS, dt=0.01)
    assert np.allclose(motion.q[[0, -1]], POINTS[[0, -1]], rtol=0, atol=1e-14)
    assert np.allclose(motion.dq[[0, -1]], 0, atol=1e-13)
    assert motion.t[-1] == KNOTS[-1]


def test_natural_ends_have_no_acceleration_and_given_rates_are_met():
    assert np.allclose(spline(POINTS, KNOTS, ends="natural").ddq[[0, -1]], 0, atol=1e-12)
    motion = spline(POINTS, KNOTS, dq0=[1, 2, 3], dq1=4)
    assert np.allclose(motion.dq[[0, -1]], [[1, 2, 3], [4, 4, 4]], rtol=1e-12)


def test_one_duration_is_shared_out_by_distance():
    motion = spline([[0, 0], [3, 4], [3, 5]], 1.2, dt=0.1)
    at = int(np.argmin(np.abs(motion.t - 1.0)))
    assert np.allclose(motion.q[at], [3, 4], atol=1e-12)


@pytest.mark.parametrize(
    ("points", "times", "says"),
    [
        (POINTS, [0, 1, 1, 2, 3], "waypoint 2 at 1 s does not come after waypoint 1 at 1 s"),
        (POINTS, [0, 1, 2, 3], "times has 4 entries; expected 5"),
        (POINTS[:1], [0], "at least 2 waypoints"),
        ([[0, np.nan]], [0], r"points\[0, 1\] is nan"),
        ([[0], [1], [1]], 1.0, "points may not repeat"),
        ([[0], [0]], 1.0, "same position"),
        (POINTS, -1.0, "times is -1 s"),
    ],
)
def test_bad_waypoints_are_named(points, times, says):
    with pytest.raises(InputError, match=says):
        spline(points, times)


def test_bad_ends_and_columns_are_named():
    with pytest.raises(InputError, match="ends is 'free'"):
        spline(POINTS, KNOTS, ends="free")
    with pytest.raises(ShapeError, match="points has 3 columns; expected 2"):
        spline(POINTS, KNOTS, robot=planar_2r())
