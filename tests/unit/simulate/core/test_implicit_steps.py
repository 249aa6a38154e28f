"""simulate(method="implicit"): its records, laws in Python, shorter last steps, and refusals."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from tensor_robots import arm, flyer

DAMPED = arm().with_friction({"shoulder": kt.Friction(viscous=20.0)})
FLYING = flyer().with_friction({"elbow": kt.Friction(viscous=20.0)})
OPTIONS = {"method": "implicit", "limits": "ignore"}


def state(robot):
    rng = np.random.default_rng(2)
    return robot.random(2), rng.normal(size=robot.n), rng.normal(size=robot.n)


@pytest.mark.parametrize("robot", [DAMPED, FLYING], ids=["arm", "flyer"])
def test_the_recorded_accelerations_satisfy_the_equations_of_motion(robot):
    q, dq, tau = state(robot)
    found = robot.simulate(q, dq, tau=tau, duration=0.1, dt=0.01, **OPTIONS)
    needed = robot.inverse_dynamics(found.q, found.dq, found.ddq)
    assert np.allclose(needed, tau, rtol=0, atol=1e-12 * (1 + abs(needed).max()))
    moved = np.diff(found.dq, axis=0) / 0.01  # what the steps made of it
    assert abs(moved - found.ddq[:-1]).max() > 1e-3


def test_a_shorter_last_step_is_as_implicit_as_the_others():
    q, dq, tau = state(DAMPED)
    found = DAMPED.simulate(q, dq, tau=tau, duration=0.025, dt=0.01, **OPTIONS)
    x = q, dq
    for h in np.diff(found.t):
        x = DAMPED.step(*x, tau, float(h), method="implicit")
    assert np.diff(found.t)[-1] < 0.006
    assert np.array_equal(x[0], found.q[-1]) and np.array_equal(x[1], found.dq[-1])


def test_laws_in_python_take_the_same_steps():
    q, dq, _ = state(DAMPED)

    def traced(t, q, dq):
        return -0.5 * dq

    def untraced(t, q, dq):
        return np.array([float(x) for x in -0.5 * dq])

    whole = DAMPED.simulate(q, dq, controller=traced, duration=0.05, dt=0.01, **OPTIONS)
    slow = DAMPED.simulate(q, dq, controller=untraced, duration=0.05, dt=0.01, **OPTIONS)
    assert whole.meta["compiled"] and not slow.meta["compiled"]
    for name in ("q", "dq", "ddq", "tau"):
        assert np.allclose(getattr(whole, name), getattr(slow, name), rtol=1e-12, atol=1e-13)


def test_signals_over_time_and_wrenches_act_as_with_other_methods():
    q, dq, _ = state(DAMPED)
    push = kt.simulate.signal([0.0, 0.05, 0.1], [[0.0, 0.0], [5.0, 1.0], [0.0, 0.0]], kind="linear")
    F_ext = np.random.default_rng(0).normal(size=(2, 6))
    acting = {"tau": push, "F_ext": F_ext, "duration": 0.1, "limits": "ignore"}
    fine = DAMPED.simulate(q, dq, method="rk4", dt=1e-3, **acting)
    errors = []
    for dt in (1e-3, 5e-4):
        found = DAMPED.simulate(q, dq, method="implicit", dt=dt, **acting)
        errors.append(abs(found.q[-1] - fine.q[-1]).max())
    assert 1.8 < errors[0] / errors[1] < 2.2


def test_masses_that_differ_between_rollouts_are_those_of_changed_robots():
    q, dq, tau = state(DAMPED)
    m = DAMPED.model.m
    mass = m * np.array([[1.0], [1.5]])
    found = DAMPED.simulate(
        q, dq, tau=tau, parameters={"mass": mass}, duration=0.05, dt=0.01, **OPTIONS
    )
    for k in range(2):
        heavier = kt.Robot(DAMPED.model.replace(m=mass[k]))
        alone = heavier.simulate(q, dq, tau=tau, duration=0.05, dt=0.01, **OPTIONS)
        assert np.allclose(found.q[:, k], alone.q, rtol=1e-12)


def test_sensitivities_are_refused_with_what_to_take():
    q, dq, _ = state(DAMPED)
    with pytest.raises(InputError, match="'implicit' are not available; take 'rk4'"):
        DAMPED.sensitivities(q, dq, duration=0.1, dt=0.01, method="implicit")
