"""One rigid body: wrench of a motion and motion of a wrench."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetree import dynamics as kt
from kinetree.errors import SingularityError
from kinetree.spatial import spatial_inertia
from random_robots import random_body
from robot_states import EPS, relative


@given(st.integers(0, 10**6))
def test_acceleration_undoes_wrench(seed):
    rng = np.random.default_rng(seed)
    G = spatial_inertia(*random_body(rng))
    V, dV = rng.normal(size=(2, 6))
    F = kt.body_wrench(G, V, dV)
    assert relative(kt.body_acceleration(G, V, F), dV) < 100 * EPS * np.linalg.cond(G)


@given(st.integers(0, 10**6))
def test_the_wrench_is_that_of_newton_and_euler(seed):
    """m a at the centre, I alpha + omega x I omega about it, seen from the frame's origin."""
    rng = np.random.default_rng(seed)
    m, com, I = random_body(rng)
    V, dV = rng.normal(size=(2, 6))
    w, v, alpha = V[:3], V[3:], dV[:3]
    a = dV[3:] + np.cross(w, v) + np.cross(alpha, com) + np.cross(w, np.cross(w, com))
    moment = I @ alpha + np.cross(w, I @ w) + np.cross(com, m * a)
    F = kt.body_wrench(spatial_inertia(m, com, I), V, dV)
    assert relative(F, np.concatenate([moment, m * a])) < 100 * EPS


def test_a_body_of_no_extent_cannot_be_turned():
    G = spatial_inertia(1.0, np.zeros(3), np.zeros((3, 3)))
    with pytest.raises(SingularityError):
        kt.body_acceleration(G, np.zeros(6), np.ones(6))
