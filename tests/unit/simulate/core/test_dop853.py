"""The method of order 8: its table, steps and values between against SciPy's, and its order."""

import numpy as np
import pytest

from kinetree.simulate.core.dop853 import (
    E3,
    E5,
    STAGES,
    A,
    B,
    C,
    D,
    dense_output,
    error_ratio,
    first_length,
    step_factor,
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


def test_the_table_is_that_of_scipy():
    """SciPy keeps it in a private module, which may move."""
    other = pytest.importorskip("scipy.integrate._ivp.dop853_coefficients")

    def wide(row, width):
        found = np.zeros(width)
        found[list(row)] = list(row.values())
        return found

    pairs = [(wide(row, 16), other.A[i]) for i, row in enumerate(A)]
    pairs += [(wide(row, 16), other.D[i]) for i, row in enumerate(D)]
    pairs += [(wide(B, STAGES), other.B), (np.array(C), other.C)]
    pairs += [(wide(E3, 13), other.E3), (wide(E5, 13), other.E5)]
    for own, theirs in pairs:
        assert own == pytest.approx(theirs, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("t0", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(5))
def test_first_steps_have_scipys_length(t0, seed):
    t, x = start(t0, seed)
    for rtol, atol in ((1e-3, 1e-6), (1e-8, 1e-10)):
        found = first_length(slope, t, x, slope(t, x), rtol, atol)
        for k in range(len(x)):
            solver = integrate.DOP853(slope, t0, x[k], 1e9, rtol=rtol, atol=atol)
            assert found[k] == pytest.approx(solver.h_abs, rel=1e-12)


def test_a_first_step_is_probed_forwards_at_the_end_of_a_small_step():
    """Before t0 a force may be another one, or undefined."""
    t, x = start(0.5, 1)
    seen = []

    def watched(at, state, ends):
        seen.append((at, state, ends))
        return slope(at, state)

    k = slope(t, x)
    first_length(watched, t, x, k, 1e-8, 1e-10)
    ((at, state, ends),) = seen
    assert (at > t).all() and ends
    assert state == pytest.approx(x + (at - t)[:, None] * k, rel=1e-12, abs=1e-15)


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


def test_the_error_grows_with_the_step_and_decides_the_next():
    small, large = (error_ratio(ends_of(h), 1e-8, 1e-10)[0] for h in (0.1, 1.0))
    assert small < 1e-3 < large
    assert step_factor(np.array([0.0]))[0] == 6 and step_factor(np.array([np.inf]))[0] == 0.333
    assert step_factor(np.array([0.9**8]))[0] == pytest.approx(1.0)


def test_a_first_step_is_neither_huge_nor_nothing():
    x, t = np.array([[1.0, 0.2, 0.0], [0.0, 0.0, 0.0]]), np.zeros(2)
    first = first_length(pendulum, t, x, pendulum(t, x, False), 1e-8, 1e-10)
    assert (first > 1e-6).all() and (first < 1).all()
    still = first_length(lambda t, x, e: 0 * x, t, x, 0 * x, 1e-8, 1e-10)
    assert (still > 0).all() and np.isfinite(still).all()
