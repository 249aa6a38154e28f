"""simulate with implicit methods: records, slopes of laws, shorter last steps, and refusals."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.engine.kernels import free_values
from kinetree.errors import InputError
from kinetree.scalars import sin
from tensor_robots import arm, flyer

DAMPED = arm().with_friction({"shoulder": kt.Friction(viscous=20.0)})
FLYING = flyer().with_friction({"elbow": kt.Friction(viscous=20.0)})
OPTIONS = {"method": "implicit", "limits": "ignore"}


def state(robot):
    rng = np.random.default_rng(2)
    return robot.random(rng=2), rng.normal(size=robot.n), rng.normal(size=robot.n)


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


def test_laws_in_python_are_constant_in_a_step_and_a_note_states_it():
    q, dq, _ = state(DAMPED)

    def untraced(t, q, dq):
        return np.array([float(x) for x in -0.5 * dq])

    found = DAMPED.simulate(q, dq, controller=untraced, duration=0.05, dt=0.01, **OPTIONS)
    assert not found.meta["compiled"]
    assert "Their slopes are not known, so each step takes them as constant" in found.meta["note"]
    x = q, dq
    for k in range(5):
        x = DAMPED.step(*x, -0.5 * x[1], 0.01, method="implicit")
        assert np.allclose(x[0], found.q[k + 1], rtol=1e-13)
        assert np.allclose(x[1], found.dq[k + 1], rtol=1e-12)


METHODS = {"implicit": True, "implicitfast": False}


@pytest.mark.parametrize("method", METHODS)
def test_gains_of_a_controller_are_those_of_single_steps(method):
    q, dq, _ = state(DAMPED)
    goal, kp, kd = q + 0.2, np.array([3e4, 2e3]), np.array([2e2, 1e3])
    law = controllers.PD(goal, kp=kp, kd=kd)
    found = DAMPED.simulate(
        q, dq, controller=law, duration=0.2, dt=0.01, **{**OPTIONS, "method": method}
    )
    x, h = (q, dq), np.diff(found.t)
    gains = {"kp": kp, "kd": kd} if METHODS[method] else {"kd": kd}
    for k in range(len(h)):
        tau = kp * (goal - x[0]) - kd * x[1]
        x = DAMPED.step(*x, tau, float(h[k]), method=method, **gains)
        assert np.allclose(x[0], found.q[k + 1], rtol=1e-11)
        assert np.allclose(x[1], found.dq[k + 1], rtol=1e-9, atol=1e-10)


def whirl(t, q, dq):
    """A law with slopes that are not symmetric, of all positions and rates."""
    twist = np.array([[0, 300], [-200, 0]])
    return twist @ dq - np.array([sin(3 * q[1]) * 40, 900 * q[0] + q[1] * dq[0]])


@pytest.mark.parametrize("method", METHODS)
def test_the_slopes_of_a_law_are_exact_and_need_not_be_symmetric(method):
    """One step is Newton's step on the equations of the end; slopes by central differences."""
    q, dq, _ = state(DAMPED)
    h, eps = 0.01, 1e-5
    found = DAMPED.simulate(
        q, dq, controller=whirl, duration=h, dt=h, **{**OPTIONS, "method": method}
    )
    e = np.eye(2) * eps
    by_q = [whirl(0, q + x, dq) - whirl(0, q - x, dq) for x in e]
    by_dq = [whirl(0, q, dq + x) - whirl(0, q, dq - x) for x in e]
    kp, kd = (-np.array(x, float).T / (2 * eps) for x in (by_q, by_dq))
    kp = kp if METHODS[method] else 0 * kp
    model = DAMPED.model
    A = DAMPED.mass_matrix(q) + h * (np.diag([20.0, 0.0]) + kd) + h * h * kp
    b = whirl(0, q, dq) - DAMPED.bias_forces(q, dq) - h * kp @ dq
    assert model.n == 2 and abs(A - A.T).max() > 0.1
    assert np.allclose(found.dq[-1], dq + h * np.linalg.solve(A, b.astype(float)), rtol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_a_law_of_quaternions_converges_with_the_order(method):
    """Slopes along tangents; a law on the coordinates of a free joint."""
    q, dq, _ = state(FLYING)
    goal = q.copy()
    q = FLYING.integrate(q, 0.3 * np.ones(FLYING.n))

    def hold(t, q, dq):
        return (
            np.array([*(-80 * q[1:4] * q[0]), *(-90 * (q[4:7] - goal[4:7])), -60 * q[7]]) - 8 * dq
        )

    options = {"controller": hold, "duration": 0.2, "limits": "ignore"}
    exact = FLYING.simulate(q, dq, **options)
    errors = [
        abs(FLYING.simulate(q, dq, dt=dt, method=method, **options).q[-1] - exact.q[-1]).max()
        for dt in (0.2 / 100, 0.2 / 200, 0.2 / 400)
    ]
    assert np.all(abs(np.log2(np.divide(errors[:-1], errors[1:])) - 1) < 0.15), errors


def laws(q):
    goal = q + 0.1
    return {
        "pd": controllers.PD(goal, kp=1e5, kd=1e3),
        "pd with gravity": controllers.PD(goal, kp=1e5, kd=1e4, gravity=True),
        "pid": controllers.PID(goal, kp=1e5, kd=1e3, ki=10.0),
        "computed torque": controllers.ComputedTorque(goal, kp=1e5, kd=1e3),
        "law": lambda t, q, dq: (goal - q) * 1e5 - dq * 1e3,
    }


PANDA = kt.robots.panda()


@pytest.mark.parametrize("name", laws(PANDA.neutral()))
def test_gains_of_a_hundred_thousand_are_stable_in_steps_of_ten_milliseconds(name):
    q = PANDA.neutral()
    options = {"controller": laws(q)[name], "duration": 3.0, "limits": "ignore", "dt": 0.01}
    found = PANDA.simulate(q, method="implicit", **options)
    assert found.meta["compiled"]
    assert abs(found.q[-1] - q - 0.1).max() < 1e-3 and abs(found.dq[-1]).max() < 1e-6
    with pytest.raises(kt.simulate.SimulationError, match="not finite"):
        PANDA.simulate(q, method="semi_implicit_euler", **options)


def test_a_controller_of_a_frame_takes_implicit_steps():
    robot, q = kt.robots.double_pendulum(), np.array([0.4, 0.9])
    T = robot.pose(q)
    T[[0, 2], 3] += 0.05
    law = controllers.Impedance(T, K=[500.0] * 2, D=[60.0] * 2, rows=(3, 5))
    options = {"controller": law, "duration": 0.3, "limits": "ignore"}
    exact = robot.simulate(q, **options)
    errors = [
        abs(robot.simulate(q, dt=dt, method="implicit", **options).q[-1] - exact.q[-1]).max()
        for dt in (0.002, 0.001)
    ]
    assert errors[1] < 1e-3 and 1.6 < errors[0] / errors[1] < 2.4


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


SPRUNG = DAMPED.with_springs(
    {"shoulder": kt.Spring(30.0, 0.4), "tie": kt.Spring(20.0, joints={"shoulder": 1, "slide": -2})}
)
GOAL = np.array([0.3, 0.1])


def swing(t, q, dq):
    """A stiff law whose slopes depend on the state."""
    return np.array([sin(q[0] - q[1]) * -400, -300 * q[1] * q[1] * q[1]]) - 30 * dq


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "law", [None, controllers.ComputedTorque(GOAL, 400.0, 40.0), swing], ids=["free", "ct", "law"]
)
def test_sensitivities_are_differences_of_simulations(law, method):
    robot = SPRUNG
    q, dq, tau = state(robot)
    names = ("q0", "dq0", "tau", "mass", "friction", "springs")
    options = {
        "duration": 0.05,
        "dt": 0.01,
        "method": method,
        "limits": "ignore",
        "controller": law,
    }
    found = robot.sensitivities(q, dq, tau=tau, wrt=names, **options)
    start = {"q0": q, "dq0": dq, "tau": tau}
    start |= {name: free_values(robot.model, name) for name in names[3:]}

    def end(values):
        given = {name: values[name] for name in names[3:]}
        x = robot.simulate(
            values["q0"], values["dq0"], tau=values["tau"], parameters=given, **options
        )
        return np.concatenate([x.q[-1], x.dq[-1]])

    rng = np.random.default_rng(5)
    for name in names:
        v = rng.normal(size=start[name].shape) * np.where(start[name] == 0, 0, 1)
        v = np.ones_like(v) if name in ("q0", "dq0", "tau") else v
        eps = 1e-5
        ends = [end({**start, name: start[name] + s * eps * v}) for s in (1, -1)]
        wanted = (ends[0] - ends[1]) / (2 * eps)
        by = found.by(name)[-1].reshape(2 * robot.n, -1) @ v.ravel()
        canceled = law not in (None, swing) and name in ("friction", "springs")
        assert canceled or abs(wanted).max() > 1e-6, name  # by computed torque
        assert np.allclose(by, wanted, rtol=0, atol=2e-7 * (1 + abs(wanted).max())), name


def test_sensitivities_of_a_flyer_are_along_tangents():
    q, dq, tau = state(FLYING)
    push = kt.simulate.signal([0.0, 0.05, 0.1], np.outer([1, 2, 0], tau), kind="linear")
    options = {"duration": 0.1, "dt": 0.01, "method": "implicit", "limits": "ignore"}
    found = FLYING.sensitivities(q, dq, tau=push, wrt=("q0", "tau"), **options)
    moved = [
        FLYING.simulate(FLYING.integrate(q, s * np.ones(FLYING.n)), dq, tau=push, **options)
        for s in (1e-6, -1e-6)
    ]
    wanted = (moved[0].dq[-1] - moved[1].dq[-1]) / 2e-6
    got = (found.by("q0")[-1] @ np.ones(FLYING.n))[FLYING.n :]
    assert np.allclose(got, wanted, rtol=1e-6, atol=1e-7 * abs(wanted).max())


def test_parameters_of_controlled_implicit_steps_are_refused_with_what_to_take():
    q, dq, _ = state(DAMPED)
    options = {"duration": 0.1, "dt": 0.01, "method": "implicit", "wrt": "parameters"}
    with pytest.raises(InputError, match="ask for 'mass', 'com', 'inertia', 'friction' or 'spr"):
        DAMPED.sensitivities(q, dq, controller=controllers.PD(GOAL, 9.0, 3.0), **options)
