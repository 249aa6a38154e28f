"""Simulations converge at the order of their method, and keep what nature keeps."""

from contextlib import nullcontext

import numpy as np
import pytest

import kinetree as kt
from kinetree.model import random_model

START = [2.0, 1.0]


def slope(steps, errors):
    """Order from a line through the logarithms of all errors."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def thrown_chain():
    """A free body with two links on hinges and a ball joint."""
    return (
        kt.Builder("thrown", gravity=(0, 0, 0))
        .link("base")
        .link("trunk", m=2.0, com=(0.02, 0.01, -0.03), I_com=np.diag([0.03, 0.04, 0.05]))
        .link("arm", m=0.7, com=(0, 0.1, 0), I_com=np.diag([0.004, 0.001, 0.004]))
        .link("hand", m=0.3, com=(0, 0.05, 0.01), I_com=np.diag([0.001, 0.0008, 0.001]))
        .joint("thrown", "free", "base", "trunk")
        .joint("shoulder", "revolute", "trunk", "arm", at=(0.1, 0, 0.1), axis=(1, 0, 0))
        .joint("wrist", "spherical", "arm", "hand", at=(0, 0.2, 0))
        .build()
    )


def thrown_state(robot):
    rng = np.random.default_rng(3)
    return robot.random(rng=rng), rng.normal(size=robot.n)


@pytest.mark.parametrize(
    ("method", "order", "dt"),
    [
        ("euler", 1, 1e-4),
        ("semi_implicit_euler", 1, 1e-4),
        ("implicit", 1, 1e-4),
        ("implicitfast", 1, 1e-4),
        ("rk4", 4, 5e-3),
    ],
)
def test_errors_shrink_with_the_order_of_the_method(method, order, dt):
    robot = kt.robots.double_pendulum()
    options = {"duration": 0.5, "limits": "ignore"}
    exact = robot.simulate(START, rtol=1e-13, atol=1e-14, **options).q[-1]
    steps = dt / 2 ** np.arange(4)
    ends = [robot.simulate(START, dt=h, method=method, **options).q[-1] for h in steps]
    assert slope(steps, [abs(end - exact).max() for end in ends]) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize(
    ("method", "order", "dt"),
    [("euler", 1, 1e-3), ("semi_implicit_euler", 1, 1e-3), ("rk4", 4, 0.02)],
)
@pytest.mark.parametrize("joint", ["spherical", "planar", "free"])
def test_the_order_holds_on_manifolds(method, order, dt, joint):
    model = random_model(5, 3, types=(joint,), chain=True, drives=False)
    robot, rng = kt.Robot(model), np.random.default_rng(1)
    q0, dq0 = robot.random(rng=rng), rng.normal(size=robot.n)
    exact = robot.simulate(q0, dq0, duration=0.4, rtol=1e-13, atol=1e-14).q[-1]
    steps = dt / 2 ** np.arange(4)
    ends = [robot.simulate(q0, dq0, duration=0.4, dt=h, method=method).q[-1] for h in steps]
    errors = [np.linalg.norm(robot.difference(exact, end)) for end in ends]
    assert slope(steps, errors) == pytest.approx(order, abs=0.15)


def test_the_adaptive_method_follows_its_tolerance():
    robot = kt.robots.double_pendulum()
    exact = robot.simulate(START, duration=1.0, rtol=1e-13, atol=1e-15, limits="ignore")
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        found = robot.simulate(START, duration=1.0, rtol=rtol, atol=rtol / 100, limits="ignore")
        errors.append(abs(found.q - exact.q).max())
    # local errors within the tolerance add up to about a hundred of them over this second
    assert all(e < 100 * rtol for e, rtol in zip(errors, (1e-4, 1e-6, 1e-8, 1e-10), strict=True))
    assert errors[-1] < 1e-3 * errors[0]


def test_a_double_pendulum_keeps_its_energy_with_default_settings():
    robot = kt.robots.double_pendulum()
    motion = robot.simulate(START, duration=10.0, limits="ignore")
    kinetic = robot.kinetic_energy(motion.q, motion.dq)
    total = kinetic + robot.potential_energy(motion.q)
    assert abs(total - total[0]).max() <= 1e-7 * kinetic.max()


@pytest.mark.parametrize(
    "options",
    [{"rtol": 1e-13, "atol": 1e-14}, {"method": "rk4", "dt": 2e-4}],
    ids=["dop853", "rk4"],
)
def test_a_thrown_free_chain_keeps_its_momenta(options):
    robot = thrown_chain()
    q0, dq0 = thrown_state(robot)
    motion = robot.simulate(q0, dq0, duration=1.0, **options)
    momentum = robot.momentum(motion.q, motion.dq)
    assert abs(motion.dq - dq0).max() > 0.1  # it does tumble
    assert abs(momentum - momentum[0]).max() <= 1e-12 * abs(momentum[0]).max()
    lengths = np.linalg.norm(motion.q[:, :4], axis=-1)
    assert abs(lengths - 1).max() < 4e-16


def test_semi_implicit_euler_keeps_energy_where_the_books_drifts():
    robot = kt.robots.double_pendulum()
    drift = {}
    for method in ("euler", "semi_implicit_euler"):
        with nullcontext() if method != "euler" else pytest.warns(kt.KinetreeWarning):
            motion = robot.simulate([0.3, 0.2], duration=20.0, dt=2e-3, method=method)
        energy = robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)
        drift[method] = abs(energy[-1000:] - energy[0]).max()
    assert drift["semi_implicit_euler"] < 0.05 * drift["euler"]
