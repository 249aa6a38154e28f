"""Friction laws, actuators and drives on a GPU; without a GPU these tests skip."""

import numpy as np
import pytest
from optimal_problems import METHODS

import kinetree as kt
from tensor_robots import NAMES, rubbing
from tensor_robots import state as arguments

# without LLVM the CPU takes NumPy's sines, which differ in the last bit
CLOSE = 1e3 * np.finfo(float).eps
RNG = np.random.default_rng(8)


def parts(x):
    return [x] if hasattr(x, "dtype") else list(x)


def close(found, expected):
    for x, y in zip(parts(found), parts(expected), strict=True):
        np.testing.assert_allclose(x.get(), y, rtol=0, atol=CLOSE * max(1, np.abs(y).max()))


@pytest.mark.parametrize("name", NAMES)
def test_the_panda_with_its_published_friction(cp, name):
    robot = kt.robots.panda(friction=True)
    cpu, gpu = robot.compile(name), robot.compile(name, target="cuda")
    given = arguments(robot, cpu, (37,))
    close(gpu(*map(cp.asarray, given)), cpu(*given))


@pytest.mark.parametrize(
    "name",
    ["inverse_dynamics", "forward_dynamics", "friction_forces", "forward_dynamics_derivatives"],
)
def test_stribeck_and_sigmoid_friction(cp, name):
    robot = rubbing()
    cpu, gpu = robot.compile(name), robot.compile(name, target="cuda")
    given = arguments(robot, cpu, (37,))
    close(gpu(*map(cp.asarray, given)), cpu(*given))


def actuated():
    servo = kt.joints.Actuator.position("joint2", 50, 5, time_constant=0.1, force_range=(-30, 30))
    return kt.robots.planar_2r().with_actuators(
        {"elbow": servo, "m": kt.joints.Actuator.motor("joint1", 3, control_range=(-1, 1))}
    )


@pytest.mark.parametrize("method", METHODS)
def test_steps_with_controls(cp, method):
    robot = actuated()
    q, dq, tau, u = RNG.normal(size=(4, 33, 2))
    a = RNG.normal(size=(33, 1))
    expected = robot.step(q, dq, tau, 0.01, method=method, controls=u, activation=a)
    moved = [cp.asarray(x) for x in (q, dq, tau)]
    controls = {"controls": cp.asarray(u), "activation": cp.asarray(a)}
    close(robot.step(*moved, 0.01, method=method, **controls), expected)


@pytest.mark.parametrize("method", METHODS)
def test_simulated_controls_and_drives(cp, method):
    drive = kt.joints.Drive(((0, 3), (2, 0)), peak=2, lag=0.01, delay=2e-3)
    robot = actuated().with_drives({"joint1": drive})
    q0, u = RNG.normal(size=(2, 40, 2))
    options = {"method": method, "duration": 0.02, "dt": 2e-3, "limits": "ignore"}
    found = robot.simulate(cp.asarray(q0), target="cuda", controls=cp.asarray(u), **options)
    expected = robot.simulate(q0, controls=u, **options)
    close([found.q, found.dq, found.tau], [expected.q, expected.dq, expected.tau])
