"""Positions move along tangent vectors, traced as well as computed."""

import numpy as np

from kinetree import algorithms
from kinetree.algorithms.state import StateSpace, coordinate_rates, normalised
from kinetree.model import ALL_TYPES, random_model

MODEL = random_model(3, 9, types=ALL_TYPES)


def test_coordinate_rates_are_derivatives():
    rng = np.random.default_rng(3)
    q, v, e = algorithms.random(MODEL, rng), rng.normal(size=MODEL.n), 1e-6
    ahead, behind = (algorithms.integrate(MODEL, q, s * e * v) for s in (1, -1))
    assert np.allclose(coordinate_rates(MODEL, q, v), (ahead - behind) / (2 * e), atol=1e-8)


def test_normalised_touches_quaternions_alone():
    rng = np.random.default_rng(4)
    q = np.array([algorithms.random(MODEL, rng) for _ in range(4)])
    assert np.allclose(normalised(MODEL, q), q, atol=1e-15)
    stretched = q * 1.5
    found = normalised(MODEL, stretched)
    quaternions = [k for x in MODEL.joints if x.type in ("spherical", "free") for k in x.coords[:4]]
    others = [k for k in range(MODEL.nq) if k not in quaternions]
    assert np.allclose(found[:, quaternions], q[:, quaternions], atol=1e-15)
    assert np.array_equal(found[:, others], stretched[:, others])


def test_what_rubs_comes_to_rest_and_what_starts_does_not():
    space = StateSpace(random_model(0, 2, types=("revolute",), drives=False), dry=(0,))
    slowed = space.settle(np.array([1e-9, 1e-9]), np.array([1e-11, 1e-11]))
    assert slowed.tolist() == [0.0, 1e-11]
    assert space.settle(np.array([0.0, 0.0]), np.array([1e-11, 0.0])).tolist() == [1e-11, 0.0]
    assert space.settle(np.array([1.0, 0.0]), np.array([0.3, 0.0])).tolist() == [0.3, 0.0]
