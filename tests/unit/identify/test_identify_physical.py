"""Log-Cholesky coordinates: every ten numbers give a possible body, and every body has them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kinetree.identify.physical import (
    body,
    coordinates,
    pseudo_of,
)

THETA = arrays(float, 10, elements=st.floats(-2, 2))


@given(THETA)
@settings(max_examples=60, deadline=None)
def test_any_ten_numbers_are_a_body_that_exists(theta):
    x, _ = body(theta)
    J = pseudo_of(x)
    assert np.linalg.eigvalsh(J)[0] > -1e-12 * np.linalg.eigvalsh(J)[-1]
    assert x[0] == pytest.approx(np.exp(2 * theta[0]))
    assert x[1:4] / x[0] == pytest.approx(theta[7:], abs=1e-12)
    assert coordinates(J) == pytest.approx(theta, abs=1e-5)


@given(THETA)
@settings(max_examples=30, deadline=None)
def test_derivatives_are_those_of_differences(theta):
    _, D = body(theta)
    h = 1e-6
    for k in range(10):
        step = h * np.eye(10)[k]
        slope = (body(theta + step)[0] - body(theta - step)[0]) / (2 * h)
        assert np.abs(slope - D[:, k]).max() < 1e-8 * max(1, np.abs(D).max())
