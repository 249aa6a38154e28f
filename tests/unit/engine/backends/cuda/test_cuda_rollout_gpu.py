"""simulate(target="cuda") on a GPU; without one these tests skip."""

import numpy as np
import pytest
from optimal_problems import METHODS

import kinetree as kt
from kinetree import controllers
from kinetree.errors import KinetreeError
from kinetree.friction import Dahl, Friction, LuGre, Stribeck
from kinetree.simulate import SimulationError, signal
from tensor_robots import sprung

RNG = np.random.default_rng(8)
# the CPU may take NumPy's sines here, which differ in the last bit; steps of a smooth motion let
# such a difference grow by little, and 20 steps have less than 1e3 roundings behind each other
CLOSE = 1e3 * np.finfo(float).eps


@pytest.fixture(scope="module")
def robot():
    return kt.robots.planar_2r()


def both(cp, robot, q0, **options):
    own = {key: cp.asarray(x) if isinstance(x, np.ndarray) else x for key, x in options.items()}
    found = robot.simulate(cp.asarray(q0), target="cuda", **own)
    assert isinstance(found.q, cp.ndarray)
    return found.cpu(), robot.simulate(q0, **options)


def close(found, expected):
    for name in ("t", "q", "dq", "ddq", "tau"):
        x, y = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(x, y, rtol=0, atol=CLOSE * max(1, np.abs(y).max()))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 32, 100])
def test_the_motion_of_the_cpu(cp, robot, method, count):
    q0, tau = RNG.normal(size=(2, count, 2))
    options = {"method": method, "duration": 0.02, "dt": 1e-3, "every": 6, "limits": "ignore"}
    close(*both(cp, robot, q0, tau=tau, **options))


@pytest.mark.parametrize("method", METHODS)
def test_springs_and_stiff_controllers(cp, method):
    robot, q0 = sprung(), RNG.normal(size=(40, 2))
    options = {"method": method, "duration": 0.02, "dt": 1e-3, "limits": "ignore"}
    close(*both(cp, robot, q0, **options))
    law = controllers.ComputedTorque(lambda t: (np.array([t, -t]),) * 3, kp=1e4, kd=200)
    close(*both(cp, robot, q0, controller=law, **options))


def test_signals_controllers_and_varied_masses(cp, robot):
    q0 = RNG.normal(size=(40, 2))
    options = {"method": "rk4", "duration": 0.02, "dt": 1e-3, "limits": "ignore"}
    tau = signal([0, 0.01], RNG.normal(size=(2, 40, 2)))
    close(*both(cp, robot, q0, tau=tau, **options))
    law = controllers.ComputedTorque(lambda t: (np.array([t, -t]),) * 3, kp=100, kd=20)
    close(*both(cp, robot, q0, controller=law, **options))
    mass = robot.model.m * RNG.uniform(0.5, 2, (40, 2))
    found = robot.simulate(
        cp.asarray(q0), parameters={"mass": cp.asarray(mass)}, target="cuda", **options
    )
    close(found.cpu(), robot.simulate(q0, parameters={"mass": mass}, **options))


@pytest.mark.parametrize("kind", ["hold", "linear"])
@pytest.mark.parametrize("batch", [(), (40,)])
def test_signals_that_lie_on_the_gpu(cp, robot, kind, batch):
    q0, values = RNG.normal(size=(40, 2)), RNG.normal(size=(3, *batch, 2))
    options = {"method": "rk4", "duration": 0.02, "dt": 1e-3, "limits": "ignore"}
    tau = signal(cp.asarray([0, 0.005, 0.01]), cp.asarray(values), kind)
    assert isinstance(tau.values, cp.ndarray)
    found = robot.simulate(cp.asarray(q0), tau=tau, target="cuda", **options)
    close(found.cpu(), robot.simulate(q0, tau=signal([0, 0.005, 0.01], values, kind), **options))
    with pytest.raises(KinetreeError, match=r"are on the GPU.*cupy\.asnumpy"):
        robot.simulate(q0, tau=tau, **options)
    values[1, ..., 0] = np.nan
    with pytest.raises(KinetreeError, match="expected a finite number"):
        signal([0, 0.005, 0.01], cp.asarray(values))


def test_a_robot_in_flight(cp):
    robot = kt.robots.quadruped()
    q0 = np.array([robot.random(rng=seed) for seed in range(33)])
    close(*both(cp, robot, q0, method="rk4", duration=0.005, dt=1e-3, limits="ignore"))


def test_float32_of_float32_and_the_current_stream(cp, robot):
    q0 = RNG.normal(size=(64, 2)).astype("float32")
    options = {"method": "rk4", "duration": 0.02, "dt": 1e-3, "limits": "ignore"}
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        found = robot.simulate(cp.asarray(q0), target="cuda", **options)
    stream.synchronize()
    assert found.q.dtype == np.float32
    expected = robot.simulate(q0.astype(float), **options)
    np.testing.assert_allclose(found.q.get(), expected.q, rtol=0, atol=1e3 * 2.0**-24)


def test_limits_are_watched(cp):
    robot = kt.robots.panda()
    q0 = np.tile(np.array([0, 0.3, 0, -1.5, 0, 1.9, 0.0]), (3, 1))
    tau = np.zeros((3, 7))
    tau[1, 3] = 40
    options = {"method": "rk4", "duration": 0.3, "dt": 5e-3}
    found, expected = both(cp, robot, q0, tau=tau, limits="record", **options)
    noted = [(v.t, v.joint, v.quantity, v.rollout) for v in found.meta["violations"]]
    wanted = [(v.t, v.joint, v.quantity, v.rollout) for v in expected.meta["violations"]]
    assert noted == wanted and noted
    with pytest.raises(SimulationError, match="rollout") as problem:
        robot.simulate(cp.asarray(q0), tau=cp.asarray(tau), target="cuda", **options)
    assert isinstance(problem.value.trajectory.q, cp.ndarray)


def test_a_changed_gain_counts(cp, robot):
    gains = {"kp": 5.0}
    options = {"method": "rk4", "duration": 0.02, "dt": 1e-3, "limits": "ignore"}

    def law(t, q, dq):
        return -gains["kp"] * q - dq

    q0, found = RNG.normal(size=(40, 2)), []
    for kp in (5.0, 500.0):
        gains["kp"] = kp
        found.append(robot.simulate(cp.asarray(q0), target="cuda", controller=law, **options).cpu())
        close(found[-1], robot.simulate(q0, tau=lambda t, q, dq, kp=kp: -kp * q - dq, **options))
    assert np.abs(found[0].q - found[1].q).max() > 1e-3


def test_declared_states_and_laws_with_a_memory(cp, robot):
    options = {"method": "rk4", "duration": 0.02, "dt": 1e-3, "limits": "ignore"}
    q0 = RNG.normal(size=(40, 2))
    pid = controllers.Stateful(lambda t, q, dq, z: (-9 * q - dq + 4 * z, -q), np.zeros((40, 2)))
    built_in = controllers.PID(np.zeros(2), kp=9.0, kd=1.0, ki=4.0)
    found = robot.simulate(cp.asarray(q0), target="cuda", controller=pid, **options).cpu()
    close(found, robot.simulate(q0, controller=built_in, **options))
    z = np.zeros(2)

    def remembers(t, q, dq):
        nonlocal z
        z = z + q
        return -z

    with pytest.raises(KinetreeError):
        robot.simulate(cp.asarray(q0), target="cuda", controller=remembers, **options)


RUBBING = {
    "LuGre": Friction(0.3, 1, stribeck=Stribeck(1.4, 0.2), presliding=LuGre(300, 5)),
    "Dahl": Friction(0, 0.5, presliding=Dahl(100, 1.5)),
}


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "implicit"])
@pytest.mark.parametrize("law", RUBBING)
def test_friction_with_a_memory(cp, robot, law, method):
    rubbing = robot.with_friction({"joint1": RUBBING[law]})
    q0, dq0 = RNG.normal(size=(2, 40, 2))
    bent = RNG.normal(size=(40, 1)) * 1e-3
    options = {"method": method, "duration": 0.02, "dt": 1e-3, "limits": "ignore"}
    found, expected = both(cp, rubbing, q0, dq0=dq0, friction_state=bent, **options)
    close(found, expected)
    deflections = [x.meta["friction_state"]["joint1"] for x in (found, expected)]
    np.testing.assert_allclose(*deflections, rtol=0, atol=CLOSE)
