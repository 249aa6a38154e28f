"""The method of order 8: its table, steps and values between against SciPy's, and its order."""

import numpy as np
import pytest

from kinetree.simulate.core.dop853 import (
    dense_output,
    take_step,
)

integrate = pytest.importorskip("scipy.integrate")
EPS = np.finfo(float).eps


def slope(t, x, ends=False):
    """A driven pendulum whose force depends on time, so that times count as much as states."""
    force = np.exp(-3 * t) * np.cos(4 * t)
    return np.stack([x[..., 1], force - np.sin(x[..., 0]) - 0.1 * x[..., 1]], -1)


def start(t0, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4, 2)) * np.array([[1.0], [1e-3], [10.0], [0.0]])
    return np.full(4, t0), x


@pytest.mark.parametrize("seed", range(3))
def test_a_step_and_the_values_between_are_scipys(seed):
    t, x = start(0.3, seed)
    h = 0.3
    step = take_step(slope, t, np.full(4, h), x, slope(t, x))
    polynomial = dense_output(slope, step)
    shares = np.linspace(0, 1, 11)
    for k in range(len(x)):
        solver = integrate.DOP853(
            slope, 0.3, x[k], 0.3 + h, rtol=1e9, atol=1e9, first_step=h, max_step=h
        )
        solver.step()
        assert solver.t == pytest.approx(0.3 + h)
        assert step.end[k] == pytest.approx(solver.y, rel=1e-13, abs=1e-14)
        expected = solver.dense_output()(0.3 + h * shares).T
        rows = np.full(len(shares), k)
        assert polynomial.at(rows, shares) == pytest.approx(expected, rel=1e-12, abs=1e-13)
        assert step.times(rows, shares) == pytest.approx(0.3 + h * shares, rel=1e-14)


def test_the_rate_of_the_polynomial_is_its_derivative():
    t, x = start(0.3, 7)
    step = take_step(slope, t, np.full(4, 0.1), x, slope(t, x))
    polynomial = dense_output(slope, step)
    shares = np.linspace(0.05, 0.95, 10)
    for k in range(len(x)):
        rows, small = np.full(len(shares), k), 1e-5
        values, rates = polynomial.moving(rows, shares)
        assert values == pytest.approx(polynomial.at(rows, shares), rel=1e-12, abs=1e-14)
        ahead, behind = (polynomial.at(rows, shares + s) for s in (small, -small))
        assert rates == pytest.approx((ahead - behind) / (2 * small * 0.1), rel=1e-6, abs=1e-7)
        exact = slope(0.3 + 0.1 * shares, values)
        assert rates == pytest.approx(exact, rel=1e-5, abs=1e-6)


def test_no_time_of_a_step_lies_beyond_its_end():
    t, x = start(0.3, 2)
    until = np.array([0.5, 0.6, 0.7, 0.8])
    seen = []

    def watched(at, state, ends):
        seen.append(at)
        return slope(at, state)

    step = take_step(watched, t, np.full(4, 0.4), x, slope(t, x), until)
    dense_output(watched, step)
    assert (np.max(seen, 0) == np.minimum(until, 0.7)).all()
    assert np.min(seen) > 0.3
    assert step.times(np.arange(4), np.ones(4)) == pytest.approx(np.minimum(until, 0.7))


def pendulum(t, x, ends):
    """A pendulum and a clock: x = (angle, rate, time)."""
    return np.stack([x[:, 1], -np.sin(x[:, 0]), np.ones(len(x))], -1)


def ends_of(h):
    x, t = np.array([[1.0, 0.2, 0.0]]), np.zeros(1)
    step = take_step(pendulum, t, np.array([h]), x, pendulum(t, x, False))
    return step


def test_a_step_has_local_order_9_and_its_polynomial_8():
    steps = 0.8 / 2 ** np.arange(3)
    fine = {}
    for h in steps:
        x, t = np.array([[1.0, 0.2, 0.0]]), np.zeros(1)
        for _ in range(16):
            part = take_step(pendulum, t, np.array([h / 16]), x, pendulum(t, x, False))
            x, t = part.end, t + h / 16
            fine.setdefault(h, []).append(x[0])
    local = [abs(ends_of(h).end[0] - fine[h][-1]).max() for h in steps]
    inner = []
    for h in steps:
        polynomial = dense_output(pendulum, ends_of(h))
        found = polynomial.at(np.zeros(15, int), np.arange(1, 16) / 16)
        inner.append(abs(found - fine[h][:15]).max())
    assert np.polyfit(np.log(steps), np.log(local), 1)[0] > 8.5
    assert np.polyfit(np.log(steps), np.log(inner), 1)[0] > 7.3


def test_the_polynomial_begins_and_ends_with_the_step():
    step = ends_of(0.5)
    polynomial = dense_output(pendulum, step)
    assert np.array_equal(polynomial.at(np.zeros(1, int), np.zeros(1)), step.x)
    assert abs(polynomial.at(np.zeros(1, int), np.ones(1)) - step.end).max() < 4 * EPS
