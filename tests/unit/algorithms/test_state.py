"""Positions move along tangent vectors, traced as well as computed."""

import numpy as np
import pytest

from kinetree import algorithms
from kinetree.algorithms.joints.tangents import integrate, inverse_rate
from kinetree.algorithms.state import StateSpace, coordinate_rates, normalised
from kinetree.engine.compiler.graph import Port
from kinetree.engine.compiler.interpret import interpret
from kinetree.engine.compiler.trace import trace
from kinetree.model.samples import ALL_TYPES, random_model

MODEL = random_model(3, 9, types=ALL_TYPES)


@pytest.mark.parametrize("size", [0, 1e-300, 1e-160, 1e-9, 1e-3, 0.2, 0.45, 0.55, 1, 3, 10])
def test_the_traced_way_is_that_of_the_textbook(size):
    rng = np.random.default_rng(1)
    ports = [Port("q", (MODEL.nq,)), Port("v", (MODEL.n,))]
    graph = trace(lambda q, v: integrate(MODEL, q, v), ports)
    for _ in range(5):
        q, v = algorithms.random(MODEL, rng), rng.normal(size=MODEL.n) * size
        expected = algorithms.integrate(MODEL, q, v)
        assert np.allclose(integrate(MODEL, q, v), expected, rtol=0, atol=4e-15 * (1 + size))
        (found,) = interpret(graph, q, v)
        assert np.allclose(found, expected, rtol=0, atol=4e-15 * (1 + size))


def test_inverse_rate_is_the_rate_of_the_coordinates_of_a_step():
    """d/dt of q exp(u) has body rates v where du/dt = inverse_rate(u, v), to fourth order in u."""
    rng = np.random.default_rng(2)
    q, direction, v = algorithms.random(MODEL, rng), *rng.normal(size=(2, MODEL.n))
    errors = []
    for size in (0.4, 0.2, 0.1):
        u = direction * size
        du, e = inverse_rate(MODEL, u, v), 1e-5
        here = algorithms.integrate(MODEL, q, u)
        ahead, behind = (algorithms.integrate(MODEL, q, u + s * e * du) for s in (1, -1))
        rate = algorithms.difference(MODEL, here, ahead) - algorithms.difference(
            MODEL, here, behind
        )
        errors.append(abs(rate / (2 * e) - v).max())
    assert errors[0] / errors[1] > 12 and errors[1] / errors[2] > 12 and errors[0] < 0.05


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
