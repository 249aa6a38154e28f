"""Friction as a function with exp and tanh: every quantity, form and language, or a refusal."""

import math

import mpmath
import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree import dynamics
from kinetree.controllers import step_by_step
from kinetree.errors import InputError
from kinetree.scalars import absolute, exp, power, tanh
from kinetree.symbols import symbolic

Q, DQ, DDQ = np.array([0.1, -0.4, 0.7]), np.array([0.05, -0.3, 1.1]), np.array([1.0, 0.5, -2.0])


def stribeck(dq):
    """Coulomb friction that falls from 1.5 to 0.6 N m over 0.1 rad/s, and viscous friction."""
    return (0.6 + 0.9 * exp(-((dq / 0.1) ** 2))) * tanh(dq / 0.01) + 0.2 * dq


def sigmoid(dq):
    """The friction of Gaz and others, 2019, which is zero at rest."""
    return 0.5 / (1 + exp(-6.0 * (dq + 0.1))) - 0.5 / (1 + math.exp(-6.0 * 0.1))


def rough(dq):
    return tanh(20 * dq) * power(absolute(dq) + 0.1, 0.3)


@pytest.fixture(scope="module")
def robot():
    laws = {"joint1": stribeck, "joint2": sigmoid, "joint3": rough}
    friction = {name: kt.friction.Friction(0.1, 0.0, function) for name, function in laws.items()}
    return kt.robots.spatial_3r().with_friction(friction)


def exact(x):
    return np.array([mpmath.mpf(v) for v in np.ravel(x).tolist()]).reshape(np.shape(x))


def test_torques_are_those_of_fifty_digits(robot):
    with mpmath.workdps(50):
        expected = dynamics.inverse_dynamics(robot.model, exact(Q), exact(DQ), exact(DDQ))
    found = robot.inverse_dynamics(Q, DQ, DDQ)
    scale = np.max(np.abs(found))
    assert np.max(np.abs(found - expected.astype(float))) < 4 * np.finfo(float).eps * scale
    np.testing.assert_allclose(robot.forward_dynamics(Q, DQ, found), DDQ, rtol=1e-13)


def test_slopes_are_those_of_fifty_digits(robot):
    found = robot.inverse_dynamics_derivatives(Q, DQ, DDQ)[1]
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -20
        columns = [
            dynamics.inverse_dynamics(robot.model, exact(Q), exact(DQ) + h * e, exact(DDQ))
            - dynamics.inverse_dynamics(robot.model, exact(Q), exact(DQ) - h * e, exact(DDQ))
            for e in np.eye(3, dtype=int)
        ]
        expected = (np.array(columns).T / (2 * h)).astype(float)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def test_torch_differentiates_the_law(robot):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    given = [torch.tensor(x, requires_grad=True) for x in (Q, DQ, DDQ)]
    robot.inverse_dynamics(*given).sum().backward()
    expected = robot.inverse_dynamics_derivatives(Q, DQ, DDQ)[1].sum(0)
    np.testing.assert_allclose(given[1].grad.numpy(), expected, rtol=1e-12)


def test_symbols_have_the_law_as_a_formula(robot):
    forms = symbolic(robot).friction
    rate = sorted(forms.free_symbols, key=str)
    values = dict(zip(rate, DQ.tolist(), strict=True))
    found = np.array(forms.subs(values).evalf(30), float).ravel()
    expected = dynamics.friction_forces(robot.model, DQ)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert forms.has(sympy.exp) and forms.has(sympy.tanh)


def test_a_simulation_is_compiled_and_loses_energy(robot):
    found = robot.simulate(Q, DQ, duration=0.3)
    assert found.meta.get("note") is None
    smooth = kt.robots.spatial_3r().simulate(Q, DQ, duration=0.3)

    def energy(motion):
        return robot.kinetic_energy(motion.q[-1], motion.dq[-1]) + robot.potential_energy(
            motion.q[-1]
        )

    assert energy(found) < energy(smooth)


def test_a_controller_with_saturation_is_compiled(robot):
    def law(t, q, dq):
        return 20 * np.tanh(3 * (0.2 - q)) - np.clip(dq, -1, 1) * np.exp(-t) + np.maximum(q, 0)

    compiled = step_by_step(law, robot)
    assert compiled.note is None
    np.testing.assert_allclose(compiled(0.3, Q, DQ)[0], law(0.3, Q, DQ), rtol=1e-14)
    assert "np.sinh is not defined" in step_by_step(lambda t, q, dq: np.sinh(q), robot).note


def test_forces_that_are_no_function_of_the_rate_are_refused():
    random, calls = np.random.default_rng(0), []

    def counting(dq):
        calls.append(1)
        return dq * len(calls)

    for law in (lambda dq: dq + random.normal(), counting):
        with pytest.raises(InputError):
            kt.friction.Friction(function=law)

    def caught(dq):
        try:
            return 5.0 * dq if abs(dq) > 4.0 else dq
        except Exception:
            return dq

    with pytest.raises(InputError):
        kt.friction.Friction(function=caught)
    for law in (lambda dq: (dq, dq), lambda dq: np.array([dq, dq])):
        with pytest.raises(InputError):
            kt.friction.Friction(function=law)
