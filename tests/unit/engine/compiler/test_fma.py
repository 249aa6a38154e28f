"""The fused multiply-add is correctly rounded, also where exponents are extreme."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kinetree.engine.compiler.array_arithmetic import fma
from kinetree.engine.compiler.float_arithmetic import exact_fma

floats = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-30)
HARD = 1 + 2.0**-27  # its square has a tail just where the rounding is decided


def rounded(total: Fraction) -> float:
    try:
        return total.numerator / total.denominator
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def expected(a, b, c):
    total = Fraction(a) * Fraction(b) + Fraction(c)
    return rounded(total) if total else a * b + c


@given(a=moderate, b=moderate, c=moderate)
@example(a=HARD, b=HARD, c=2.0**-106)
@example(a=HARD, b=-HARD, c=1.0)
@example(a=1 + 2.0**-52, b=1 - 2.0**-53, c=-1.0)
def test_moderate_numbers_round_once(a, b, c):
    assert fma(a, b, c) == expected(a, b, c)


@given(a=moderate, b=moderate, shift=st.integers(-120, 120), tail=st.sampled_from([1, -1, 3]))
def test_near_cancellation_rounds_once(a, b, shift, tail):
    c = -(a * b) * (1 + tail * 2.0**shift) if shift < 0 else -(a * b) + tail * 2.0**-shift
    assert fma(a, b, c) == expected(a, b, c)


@given(a=floats, b=floats, c=floats)
@example(a=1e300, b=1e300, c=-1e300)
@example(a=1e-200, b=1e-200, c=5e-324)
@example(a=2.0**-600, b=2.0**-474, c=2.0**-1074)
@example(a=1.7e308, b=1.0, c=1.7e308)
def test_all_finite_numbers_round_once(a, b, c):
    assert fma(a, b, c) == expected(a, b, c)


@given(
    a=st.floats(width=32, allow_nan=False, allow_infinity=False),
    b=st.floats(width=32, allow_nan=False, allow_infinity=False),
    c=st.floats(width=32, allow_nan=False, allow_infinity=False),
)
def test_float32_rounds_once(a, b, c):
    found = fma(np.float32(a), np.float32(b), np.float32(c))
    assert found.dtype == np.float32
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if np.isfinite(found):
        # No float32 is nearer, and a tie goes to the even one.
        error = abs(Fraction(float(found)) - total)
        for direction in (-np.inf, np.inf):
            with np.errstate(over="ignore"):
                other = np.nextafter(found, np.float32(direction))
            if np.isfinite(other):
                distance = abs(Fraction(float(other)) - total)
                even = found.view(np.int32) % 2 == 0
                assert error < distance or (error == distance and even)
    else:
        assert abs(total) >= Fraction(float(np.finfo(np.float32).max))


@pytest.mark.parametrize(
    ("a", "b", "c", "result"),
    [
        (math.inf, 1.0, 1.0, math.inf),
        (math.inf, -1.0, 1.0, -math.inf),
        (1e300, 1e300, -math.inf, -math.inf),
        (1.0, 2.0, math.inf, math.inf),
        (0.0, 5.0, -3.0, -3.0),
    ],
)
def test_infinities_and_zeros(a, b, c, result):
    assert fma(a, b, c) == exact_fma(a, b, c) == result


@pytest.mark.parametrize(
    ("a", "b", "c"), [(math.inf, 0.0, 1.0), (math.inf, 1.0, -math.inf), (math.nan, 1.0, 1.0)]
)
def test_nan_where_there_is_no_answer(a, b, c):
    assert math.isnan(fma(a, b, c))


def test_signed_zeros():
    assert math.copysign(1, fma(-0.0, 1.0, -0.0)) == -1
    assert math.copysign(1, fma(-1e-200, 1e-200, 0.0)) == -1
    assert math.copysign(1, fma(1.0, 1.0, -1.0)) == 1


def test_one_extreme_element_leaves_its_neighbours_alone():
    a = np.array([[HARD, 1e300, 2.0], [np.nan, 1e-300, np.inf]])
    found = fma(a, a, np.float64(-1.0))
    assert found.shape == (2, 3)
    assert found[0].tolist() == [expected(HARD, HARD, -1.0), np.inf, 3.0]
    assert np.isnan(found[1, 0]) and found[1, 1] == -1.0 and found[1, 2] == np.inf
