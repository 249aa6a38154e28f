"""Second derivatives times weights, against fifty-digit differences of the algorithms."""

import mpmath
import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.engine import interpret
from kinetree.errors import InputError

H = mpmath.mpf(10) ** -14  # of central differences, whose error is H^2


def exact(x):
    return np.array([mpmath.mpf(float(v)) for v in np.ravel(x)], dtype=object)


def by_differences(robot, state, y, first, second):
    """d^2(y . tau)/d a d b of two arguments, one entry after the other."""
    model = robot.model.astype(mpmath.mpf)

    def moved(values, name, direction, h):
        k = ("q", "dq", "ddq").index(name)
        step = exact(np.eye(robot.n)[direction]) * h
        values = list(values)
        values[k] = algorithms.integrate(model, values[k], step) if k == 0 else values[k] + step
        return values

    def along(name, i, other, j):
        """Both moves of q are one: the second derivative by v of integrate(q, v)."""
        total = 0
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            if name == other == "q":
                step = exact(np.eye(robot.n)[i]) * (a * H) + exact(np.eye(robot.n)[j]) * (b * H)
                values = [algorithms.integrate(model, base[0], step), *base[1:]]
            else:
                values = moved(moved(base, name, i, a * H), other, j, b * H)
            tau = algorithms.inverse_dynamics(model, *values)
            total += a * b * (tau @ exact(y))
        return total / (4 * H * H)

    base = [exact(x) for x in state]
    return [(i, j, along(first, i, second, j)) for i, j in PLACES[robot.n]]


PLACES = {
    7: [(0, 0), (2, 1), (5, 6), (3, 3)],
    18: [(0, 0), (0, 1), (1, 0), (2, 4), (5, 1), (3, 3), (7, 2), (4, 9), (17, 17)],
}


@pytest.mark.parametrize("name", ["panda", "quadruped"])
def test_every_block_is_that_of_fifty_digits(name):
    robot = getattr(kt.robots, name)()
    wrt = ["q", "dq", "ddq"]
    kernel = robot.derivative("inverse_dynamics", wrt, order=2)
    rng = np.random.default_rng(3)
    q = robot.random(rng=rng)
    dq, ddq, y = rng.normal(size=(3, robot.n))
    pairs = [(a, b) for k, a in enumerate(wrt) for b in wrt[k:]]
    blocks = dict(zip(pairs, kernel(q, dq, ddq, y), strict=True))
    with mpmath.workdps(50):
        for (a, b), block in blocks.items():
            size = max(1.0, abs(block).max())
            for i, j, value in by_differences(robot, (q, dq, ddq), y, a, b):
                assert abs(block[i, j] - float(value)) < 1e-11 * size, (a, b, i, j)
    assert not blocks["dq", "ddq"].any() and not blocks["ddq", "ddq"].any()


def test_weights_of_one_joint_give_one_slice_of_the_tensor():
    robot = kt.robots.panda()
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.normal(size=(3, 5, 7))
    second = robot.derivative("inverse_dynamics", "q", order=2)
    tensor = robot.derivative("inverse_dynamics_derivatives", "q")(q, dq, ddq)[0]
    for i in range(7):
        y = np.broadcast_to(np.eye(7)[i], (5, 7))
        assert np.allclose(second(q, dq, ddq, y), tensor[:, i], 1e-11, 1e-11)


def test_a_single_number_needs_no_weights():
    robot = kt.robots.planar_2r()
    second = robot.derivative("potential_energy", order=2)
    assert np.allclose(
        second([0.3, -0.2]), robot.derivative("gravity_forces")([0.3, -0.2]), 1e-13, 1e-13
    )


def test_the_order_and_the_number_of_results_are_checked():
    robot = kt.robots.planar_2r()
    with pytest.raises(InputError, match="order is 3; expected 1, or 2"):
        robot.derivative("inverse_dynamics", order=3)
    with pytest.raises(InputError, match="has 2 results; expected one"):
        robot.derivative("inverse_dynamics_derivatives", order=2)


@pytest.mark.parametrize("wrt", [("dq", "q"), ("ddq", "q", "dq"), "dq"])
def test_arguments_come_in_any_order_and_with_free_masses(wrt):
    """Against the graph of y . tau, differentiated twice as that of any quantity."""
    robot = kt.robots.panda(friction=True)
    rng = np.random.default_rng(5)
    q, dq, ddq, y = rng.normal(size=(4, 7))
    masses = robot.model.m * rng.uniform(0.8, 1.2, len(robot.model.links))
    kernel = robot.derivative("inverse_dynamics", wrt, order=2, free=["mass"])
    found = kernel(q, dq, ddq, masses, y)
    names = [wrt] if isinstance(wrt, str) else list(wrt)
    forces = robot.compile("inverse_dynamics", free=["mass"]).graph

    def weighted(q, dq, ddq):
        return interpret(forces, q, dq, ddq, masses)[0] @ y

    sizes = {"q": 7, "dq": 7, "ddq": 7}
    expected = kt.derivative(weighted, names, kind="hessian", shapes=sizes)(q, dq, ddq)
    expected = expected if isinstance(expected, tuple) else (expected,)
    count, several = len(names), found if isinstance(found, tuple) else (found,)
    pairs = [(a, b) for a in range(count) for b in range(a, count)]
    assert len(several) == len(pairs)
    for block, (a, b) in zip(several, pairs, strict=True):
        other = expected[a * count + b]
        assert np.abs(block - other).max() < 1e-11 * max(1.0, np.abs(other).max())
