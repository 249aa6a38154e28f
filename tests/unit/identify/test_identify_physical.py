"""Log-Cholesky coordinates: every ten numbers give a possible body, and every body has them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kinetree.identify.interior import inside
from kinetree.identify.physical import (
    body,
    coordinates,
    definite,
    parameters_of,
    prior_rows,
    pseudo_of,
)
from kinetree.spatial import exp_se3

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


def test_parameters_and_pseudo_inertia_undo_each_other():
    x = np.random.default_rng(0).normal(size=10)
    assert parameters_of(pseudo_of(x)) == pytest.approx(x, abs=1e-14)


def test_a_point_and_nothing_at_all_become_bodies():
    for m in (2.0, 0.0):
        J = definite(m, np.array([0.1, 0, 0]), np.zeros((3, 3)), 10.0)
        assert np.linalg.eigvalsh(J)[0] > 0
    solid = definite(2.0, np.zeros(3), np.diag([0.02, 0.02, 0.03]), 10.0)
    assert parameters_of(solid)[[4, 7, 9]] == pytest.approx([0.02, 0.02, 0.03])  # left as it is


def test_the_prior_does_not_depend_on_the_frame():
    rng = np.random.default_rng(1)
    J0, J = (pseudo_of(body(rng.normal(size=10) * 0.5)[0]) for _ in range(2))
    T = exp_se3(np.array([0, 0.6, 0.8, 0.3, -0.2, 0.1]), 0.7)
    sizes = []
    for turn in (np.eye(4), T):
        P, p = prior_rows(turn @ J0 @ turn.T)
        sizes.append(np.linalg.norm(P @ parameters_of(turn @ J @ turn.T) - p))
        assert np.abs(P @ parameters_of(turn @ J0 @ turn.T) - p).max() < 1e-12
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-10)


def test_the_least_cost_is_reached_through_a_narrow_valley():
    rng = np.random.default_rng(2)
    true = np.append(body(np.array([0.1, -3, -2, -4, 0.2, -0.3, 0.1, 0.5, -0.4, 0.3]))[0], 0.5)
    weights = 10.0 ** np.linspace(6, 0, 11)  # from loose to very exact combinations
    A = weights[:, None] * np.linalg.qr(rng.normal(size=(11, 11)))[0]
    start = np.append(body(np.zeros(10))[0], 1.0)
    units = np.array([pseudo_of(x) for x in np.eye(10)])
    x = inside(A, A @ true, start, units, 1, np.arange(11) == 10)
    assert ((A @ (x - true)) ** 2).sum() < 1  # at the start: 1e11 and more
    assert np.linalg.eigvalsh(pseudo_of(x[:10]))[0] > 0 and x[10] > 0
