"""The fastest profile along a path: what it keeps back, and how it is slowed down."""

from dataclasses import replace

import numpy as np
import pytest

from kinetree.model.bounds import bounds_of
from kinetree.motion import quintic
from kinetree.motion.plan.fastest import (
    Limits,
    _excess,
    _excess_again,
    _fits,
    _most,
    _peaks,
    _slowed,
    _step,
    fastest,
)
from kinetree.motion.plan.path import paths_of
from kinetree.motion.plan.profile import FLAT_ROW, Known, Profile, Rows, fastest_profile, largest_x
from motion_robots import INERTIA, wheel

EFFORT = 3.0


def straight(robot, way=1.0, intervals=50):
    (path,) = paths_of(quintic([0], [way], 1, robot=robot), intervals)
    return path


def bang_bang(path, a):
    """x = 2 a s up to the middle, and back."""
    s = path.grid
    x = 2 * a * np.minimum(s, s[-1] - s)
    return Profile(path, x, np.diff(x) / (2 * np.diff(s)))


@pytest.mark.parametrize("too_much", [1.01, 1.3, 2.0, 5.0])
def test_a_profile_is_slowed_by_the_root_of_its_excess(too_much):
    """Torque is I a and goes with the square of the speed: the factor is sqrt(excess)."""
    robot = wheel(effort=EFFORT)
    profile = bang_bang(straight(robot), too_much * EFFORT / INERTIA)
    limits = Limits(*(np.array([x]) for x in (EFFORT, np.inf, np.inf)))
    slowed = _slowed(robot.model, profile, limits, 1e-9)
    assert slowed.duration / profile.duration == pytest.approx(np.sqrt(too_much), rel=1e-7)
    assert _fits(_excess(robot.model, slowed, limits), limits, 1e-9)


def test_speed_slows_in_proportion():
    robot = wheel(effort=EFFORT)
    profile = bang_bang(straight(robot), 1.0)  # peaks at 1 rad/s
    limits = Limits(*(np.array([x]) for x in (np.inf, 0.4, np.inf)))
    slowed = _slowed(robot.model, profile, limits, 1e-9)
    assert slowed.duration / profile.duration == pytest.approx(1 / 0.4, rel=1e-5)


def test_what_fits_is_not_slowed():
    robot = wheel(effort=EFFORT)
    profile = bang_bang(straight(robot), 0.9 * EFFORT / INERTIA)
    limits = Limits(*(np.array([x]) for x in (EFFORT, np.inf, np.inf)))
    assert _slowed(robot.model, profile, limits, 1e-9).duration == profile.duration


def test_excess_has_forces_up_and_down_speeds_and_accelerations():
    robot = wheel()
    profile = bang_bang(straight(robot), 1.5)
    limits = Limits(*(np.array([x]) for x in (2.0, 0.5, 1.0)))
    up, down, fast, more, less = _excess(robot.model, profile, limits)
    middle = len(up) // 2
    assert up[:middle] == pytest.approx(INERTIA * 1.5 - 2, abs=1e-6)
    assert down[middle:] == pytest.approx(INERTIA * 1.5 - 2, abs=1e-6)
    assert up[middle:] == pytest.approx(-INERTIA * 1.5 - 2, abs=1e-6)
    assert fast.max() == pytest.approx(np.sqrt(1.5) - 0.5, abs=1e-5)
    assert more[:middle] == pytest.approx(0.5, abs=1e-6)
    assert less[middle:] == pytest.approx(0.5, abs=1e-6)


def test_peaks_between_places_are_those_of_parabolas():
    x = np.linspace(0, 1, 13)
    for vertex, height in ((0.37, 2.0), (0.5, 1.0), (0.04, 3.0)):
        rows = (height - 5 * (x - vertex) ** 2)[:, None, None]
        assert _most(rows)[0, 0] == pytest.approx(height, rel=1e-12)
        assert _most(-rows)[0, 0] == max(-rows[0, 0, 0], -rows[-1, 0, 0])
    line = np.linspace(0, 1, 13)[:, None, None]
    assert _most(line)[0, 0] == 1 and _most(-line)[0, 0] == 0


def test_every_peak_beyond_a_limit_is_found():
    """Peaks below the limit need not be exact, but are not above it either."""
    rng = np.random.default_rng(3)
    x = np.cumsum(rng.normal(size=(13, 400, 3)), axis=0)
    exact = _most(x)
    for limit in (np.array([0.5, 2.0, np.inf]), np.array([-3.0, 0.0, 6.0])):
        found = _peaks(x, limit)
        beyond = exact > limit
        assert np.array_equal(found[beyond], exact[beyond])
        assert np.all((found <= limit)[~beyond])


def test_what_did_not_change_is_not_evaluated_again():
    robot = wheel(effort=EFFORT)
    path = straight(robot)
    limits = Limits(*(np.array([x]) for x in (2.0, 0.5, 1.0)))
    before, after = bang_bang(path, 1.5), bang_bang(path, 1.5)
    after.x[20:30] *= 0.9
    after = Profile(path, after.x, np.diff(after.x) / (2 * np.diff(path.grid)))
    excess = _excess(robot.model, before, limits)
    found = _excess_again(robot.model, after, limits, before, excess)
    assert np.array_equal(found, _excess(robot.model, after, limits))
    assert not np.array_equal(found, excess)


def test_reserves_follow_the_effect_of_the_last_step():
    limits = Limits(*(np.array([x]) for x in (1.0, 1.0, 1.0)))
    shape = (5, 2, 1)
    last, step = np.full(shape, 4e-6), np.full(shape, 4e-6)
    excess = np.full(shape, 2e-6)
    excess[:, 1] = -1.0
    found = _step(limits, excess, step, last)
    assert found[:, 0] == pytest.approx(4e-6)  # half the effect: twice the excess
    assert np.all(found[:, 1] == 0)
    assert _step(limits, excess, 0 * step, 0 * last)[:, 0] == pytest.approx(2e-6)  # the first step
    nearly = _step(limits, last * (1 - 1e-9), step, last)
    assert nearly == pytest.approx(5 * 4e-6)  # at most so many times
    large = np.full(shape, 1e-2)
    assert _step(limits, large / 2, large, large) == pytest.approx(5e-3)


def test_the_margin_is_kept_back():
    robot = wheel(effort=EFFORT)
    path = straight(robot)
    for margin in (1e-9, 1e-2, 0.3):
        found = fastest(robot.model, path, bounds_of(robot.model), np.array([np.inf]), margin)
        wanted = 2 * np.sqrt(INERTIA / (EFFORT * (1 - margin)))
        assert found.duration == pytest.approx(wanted, rel=1e-6)


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


def brute(a, b, c):
    """The largest x with some u, by trying all corners of pairs of rows."""
    best = -np.inf
    for i in range(len(a)):
        for j in range(i):
            det = a[i] * b[j] - a[j] * b[i]
            if abs(det) > 1e-12:
                x = (a[i] * c[j] - a[j] * c[i]) / det
                u = (b[j] * c[i] - b[i] * c[j]) / det
                if np.all(a * u + b * x <= c + 1e-9):
                    best = max(best, x)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_x_is_that_of_all_corners(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 8))
    c = rng.uniform(0.1, 1, 8)  # rest, u = x = 0, is allowed
    a, b, c = (np.append(x, y) for x, y in ((a, [0, 1, -1]), (b, [1, 0, 0]), (c, [9, 9, 9])))
    order = rng.permutation(len(a))
    rows = np.stack([[a, b, c], [a[order], b[order], c[order]]], axis=1)  # two intervals
    flat = np.full((2, 1), FLAT_ROW)
    x = largest_x(*rows, np.full(2, np.inf), flat)
    assert x == pytest.approx([brute(a, b, c)] * 2, rel=1e-9)
    assert np.array_equal(largest_x(*rows, x / 2, flat), x / 2)  # bounds count


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


def test_rows_without_a_way_give_none():
    n = 10
    lengths = np.full(n, 1 / n)
    still = Rows(np.tile([1.0, -1.0], (n, 1)), np.zeros((n, 2)), np.zeros((n, 2)),
                 np.full(n + 1, 1.0), lengths)  # fmt: skip
    assert fastest_profile(still) is None
    # x may not even be zero: 1 x <= -1
    shut = Rows(np.tile([1.0, -1.0, 0.0], (n, 1)), np.tile([0.0, 0, 1], (n, 1)),
                np.tile([1.0, 1, -1], (n, 1)), np.full(n + 1, 1.0), lengths)  # fmt: skip
    assert fastest_profile(shut) is None


def test_polynomials_of_a_curved_path_are_its_motion():
    """Every coefficient counts: long intervals, strong bends and large u."""
    from kinetree.motion.curve.splines import cubic_spline
    from kinetree.motion.plan.path import Path

    s = np.linspace(0, 3, 5)
    curve = cubic_spline(s, np.random.default_rng(0).normal(size=(5, 2)) * 3)
    x = np.array([0.0, 4.0, 9.0, 2.0, 0.0])
    profile = Profile(Path(curve, s, 0.0), x, np.diff(x) / (2 * np.diff(s)))
    c, knots = profile.coefficients(), profile.times
    for k in range(4):
        since = np.linspace(0, 1, 9)[1:-1] * (knots[k + 1] - knots[k])
        for order, wanted in enumerate(profile(knots[k] + since)):
            found = [np.polynomial.Polynomial(c[:, k, j]).deriv(order)(since) for j in range(2)]
            assert np.allclose(np.transpose(found), wanted, atol=1e-9)
