"""Wide numbers against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from kinetree.base.wide import BITS, Wide, stack, where, wide

UNIT = Fraction(1, 1 << BITS)
A = np.array([0.1, -2.5, 3e-9, 7e12, 1.0, -1e-30])
B = np.array([0.3, 1e-5, -4.0, 2e-7, -1.0, 1e30])


def exact(x):
    return [Fraction(units) * UNIT for units in x.units.tolist()]


def fractions(x):
    return [Fraction(value) for value in x.tolist()]


def test_doubles_are_kept_without_rounding():
    assert exact(wide(A)) == fractions(A)
    assert (wide(A).astype(float) == A).all()
    assert (wide(np.array([2, -3])).astype(float) == [2, -3]).all()


def test_sums_are_exact_and_products_and_quotients_are_to_one_unit():
    pairs = list(zip(fractions(A), fractions(B), strict=True))
    a, b = wide(A), wide(B)
    assert exact(a + b) == [x + y for x, y in pairs]
    assert exact(a - b) == [x - y for x, y in pairs]
    for found, expected in ((a * b, [x * y for x, y in pairs]), (a / b, [x / y for x, y in pairs])):
        assert all(abs(x - y) <= UNIT for x, y in zip(exact(found), expected, strict=True))


def test_a_matrix_product_is_rounded_once():
    R = np.random.default_rng(3).normal(size=(4, 3, 3))
    found = (wide(R) @ wide(R).swapaxes(1, 2)).units
    for n, a, b in np.ndindex(4, 3, 3):
        expected = sum(Fraction(x) * Fraction(y) for x, y in zip(R[n, a], R[n, b], strict=True))
        assert abs(Fraction(found[n, a, b]) * UNIT - expected) <= UNIT


def test_square_roots_and_comparisons():
    x = wide(np.abs(A))
    for root, value in zip(exact(x.sqrt()), exact(x), strict=True):
        assert root * root <= value < (root + UNIT) ** 2
    assert (wide(A) < wide(B)).tolist() == (A < B).tolist()
    assert ((-wide(A)).astype(float) == -A).all()


def test_arrays_are_chosen_and_stacked_like_those_of_numpy():
    chosen, a, b = A > 0, wide(A), wide(B)
    assert (where(chosen, a, b).astype(float) == np.where(chosen, A, B)).all()
    assert (stack([a, b]).astype(float) == np.stack([A, B], -1)).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_beyond_the_doubles_is_infinite(sign):
    huge = wide(np.array([1e300]))
    assert (huge * huge * wide(sign)).astype(float).tolist() == [sign * np.inf]
    assert isinstance(huge, Wide)
