"""The table of the method of order 8, by the conditions that its numbers must meet."""

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

EPS = np.finfo(float).eps


def matrix(rows, width):
    found = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        for j, number in row.items():
            found[i, j] = number
    return found


def test_rows_add_up_to_the_times_of_the_stages():
    # sums of up to 15 numbers of size 30
    assert abs(matrix(A, 16).sum(1) - C).max() < 500 * EPS


@pytest.mark.parametrize("k", range(8))
def test_quadrature_conditions_up_to_order_8(k):
    """sum b c^k = 1 / (k + 1)."""
    b, c = matrix([B], STAGES)[0], np.array(C[:STAGES])
    assert abs(b @ c**k - 1 / (k + 1)) < 200 * EPS


def test_conditions_of_tall_trees():
    """b A^k c^m = m! / (m + k + 1)!: every chain of evaluations is integrated."""
    a, b = matrix(A[:STAGES], STAGES), matrix([B], STAGES)[0]
    c = np.array(C[:STAGES])
    for m in range(1, 8):
        row = b.copy()
        for k in range(1, 8 - m):
            row = row @ a
            factors = [m + j for j in range(1, k + 2)]
            assert abs(row @ c**m - 1 / np.prod(factors)) < 1e-14, (m, k)


def test_error_estimates_vanish_for_low_orders():
    """Differences of two methods do not see polynomials that both integrate."""
    c = np.append(np.array(C[:STAGES]), 1.0)
    for estimate, order in ((E5, 5), (E3, 3)):
        e = matrix([estimate], STAGES + 1)[0]
        assert all(abs(e @ c**k) < 1e-13 for k in range(order))
        assert abs(e @ c**8) > 1e-6


def test_rows_of_the_dense_output_kill_constants():
    assert abs(matrix(D, 16).sum(1)).max() < 1e-12


def slope(t, x, ends):
    """A pendulum and a clock: x = (angle, rate, time)."""
    return np.stack([x[:, 1], -np.sin(x[:, 0]), np.ones(len(x))], -1)


def ends_of(h):
    x, t = np.array([[1.0, 0.2, 0.0]]), np.zeros(1)
    step = take_step(slope, t, np.array([h]), x, slope(t, x, False))
    return step


def test_a_step_has_local_order_9_and_its_polynomial_8():
    steps = 0.8 / 2 ** np.arange(3)
    fine = {}
    for h in steps:
        x, t = np.array([[1.0, 0.2, 0.0]]), np.zeros(1)
        for _ in range(16):
            part = take_step(slope, t, np.array([h / 16]), x, slope(t, x, False))
            x, t = part.end, t + h / 16
            fine.setdefault(h, []).append(x[0])
    local = [abs(ends_of(h).end[0] - fine[h][-1]).max() for h in steps]
    inner = []
    for h in steps:
        polynomial = dense_output(slope, ends_of(h))
        found = polynomial.at(np.zeros(15, int), np.arange(1, 16) / 16)
        inner.append(abs(found - fine[h][:15]).max())
    assert np.polyfit(np.log(steps), np.log(local), 1)[0] > 8.5
    assert np.polyfit(np.log(steps), np.log(inner), 1)[0] > 7.3


def test_the_polynomial_begins_and_ends_with_the_step():
    step = ends_of(0.5)
    polynomial = dense_output(slope, step)
    assert np.array_equal(polynomial.at(np.zeros(1, int), np.zeros(1)), step.x)
    assert abs(polynomial.at(np.zeros(1, int), np.ones(1)) - step.end).max() < 4 * EPS


def test_the_error_grows_with_the_step_and_decides_the_next():
    small, large = (error_ratio(ends_of(h), 1e-8, 1e-10)[0] for h in (0.1, 1.0))
    assert small < 1e-3 < large
    assert step_factor(np.array([0.0]))[0] == 6 and step_factor(np.array([np.inf]))[0] == 0.333
    assert step_factor(np.array([0.9**8]))[0] == pytest.approx(1.0)


def test_a_first_step_is_neither_huge_nor_nothing():
    x, t = np.array([[1.0, 0.2, 0.0], [0.0, 0.0, 0.0]]), np.zeros(2)
    first = first_length(slope, t, x, slope(t, x, False), 1e-8, 1e-10)
    assert (first > 1e-6).all() and (first < 1).all()
    still = first_length(lambda t, x, e: 0 * x, t, x, 0 * x, 1e-8, 1e-10)
    assert (still > 0).all() and np.isfinite(still).all()
