"""The fastest profile along a path: what it keeps back, and how it is slowed down."""

from dataclasses import replace

import numpy as np
import pytest

from kinetree.motion import quintic
from kinetree.motion.plan.path import paths_of
from kinetree.motion.plan.profile import Known, Profile, Rows, fastest_profile
from motion_robots import wheel


def straight(robot, way=1.0, intervals=50):
    (path,) = paths_of(quintic([0], [way], 1, robot=robot), intervals)
    return path


def bang_bang(path, a):
    """x = 2 a s up to the middle, and back."""
    s = path.grid
    x = 2 * a * np.minimum(s, s[-1] - s)
    return Profile(path, x, np.diff(x) / (2 * np.diff(s)))


def test_a_profile_is_its_own_motion():
    """From rest at a: s = a t^2 / 2 up to the middle; times, rates and coefficients agree."""
    robot = wheel()
    profile = bang_bang(straight(robot), 2.0)
    t = np.linspace(0, profile.duration, 97)
    assert profile.duration == pytest.approx(2 * np.sqrt(1 / 2.0), rel=1e-9)
    q, dq, ddq = profile(t)
    back = profile.duration - t
    wanted = np.where(t < back, t * t, 1 - back * back)
    assert np.allclose(q[:, 0], wanted, atol=1e-9)
    assert np.allclose(dq[:, 0], 2 * np.minimum(t, back), atol=1e-7)
    half = np.abs(t - back) > 0.1
    assert np.allclose(ddq[half, 0], np.where(t < back, 2.0, -2.0)[half], atol=1e-5)
    slower = profile.slower(3.0)
    assert slower.duration == pytest.approx(3 * profile.duration, rel=1e-12)
    c = profile.coefficients()
    knots = profile.times
    for k in (0, 7, 40):
        since = 0.3 * (knots[k + 1] - knots[k])
        powers = since ** np.arange(7)
        assert c[:, k, 0] @ powers == pytest.approx(profile(np.array([knots[k] + since]))[0][0, 0])


def by_loops(rows):
    """Both passes as the textbook has them, one knot after the other, by pairs of rows."""
    n = len(rows.lengths)
    reach = np.zeros(n + 1)
    for i in reversed(range(n)):
        h = 2 * rows.lengths[i]
        a, b = np.append(rows.a[i], [h, -h]), np.append(rows.b[i], [1, -1])
        c = np.append(rows.c[i], [reach[i + 1], 0])
        best = rows.most[i]
        for k, l in np.ndindex(len(a), len(a)):
            slope = a[k] * b[l] - a[l] * b[k]
            if a[k] > 0 > a[l] and slope > 1e-12:
                best = min(best, (a[k] * c[l] - a[l] * c[k]) / slope)
        reach[i] = best
    x = [0.0]
    for i in range(n):
        up = rows.a[i] > 0
        u = np.min((rows.c[i] - rows.b[i] * x[-1])[up] / rows.a[i][up])
        x.append(min(x[-1] + 2 * rows.lengths[i] * u, reach[i + 1]))
    return np.array(x)


@pytest.mark.parametrize("seed", range(5))
def test_profiles_are_those_of_a_loop_over_pairs_of_rows(seed):
    rng = np.random.default_rng(seed)
    n, count = 30, int(rng.integers(1, 6))
    lengths = rng.uniform(0.02, 0.05, n)
    a, b = rng.normal(size=(2, n, count))
    c = rng.uniform(0.5, 1, (2, n, count))
    rows = Rows(
        np.concatenate([a, -a], axis=1), np.concatenate([b, -b], axis=1), np.concatenate(c, axis=1),
        rng.uniform(0.05, 0.4, n + 1), lengths,
    )  # fmt: skip
    x, u = fastest_profile(rows)
    assert np.allclose(x, by_loops(rows), atol=1e-12)
    assert np.allclose(x[1:] - x[:-1], 2 * lengths * u, atol=1e-15)
    known = Known()
    assert np.array_equal(fastest_profile(rows, known)[0], x)
    rows.c[::7] *= 0.9  # other rows of some intervals, in a new object
    rows = replace(rows, c=rows.c.copy(), most=np.where(np.arange(n + 1) % 5, rows.most, 0.03))
    known.rows = replace(known.rows, c=np.where(np.arange(n)[:, None] % 7, rows.c, rows.c / 0.9))
    assert np.array_equal(fastest_profile(rows, known)[0], fastest_profile(rows)[0])


def test_a_profile_of_bounded_acceleration_is_a_trapezoid_of_speed():
    """|u| <= 2 on a length of 1 with x <= 0.5: rise, cruise and fall."""
    n = 100
    lengths = np.full(n, 1 / n)
    rows = Rows(np.tile([1.0, -1.0], (n, 1)), np.zeros((n, 2)), np.full((n, 2), 2.0),
                np.full(n + 1, 0.5), lengths)  # fmt: skip
    x, u = fastest_profile(rows)
    s = np.linspace(0, 1, n + 1)
    wanted = np.minimum(0.5, 4 * np.minimum(s, 1 - s))
    assert np.allclose(x, wanted, atol=1e-12)
    assert np.allclose(u, np.diff(wanted) / (2 / n), atol=1e-10)
