"""Stateful: declared states are simulated, compiled, and are those of a loop written by hand."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError, ShapeError
from kinetree.scalars import clip, sin

ARM = kt.robots.planar_2r()
GOAL = np.array([0.1, 0.2])
Q0, DQ0 = np.array([0.3, -0.4]), np.array([0.5, 0.1])
MASS, LENGTH, G = 1.3, 0.7, 9.81


def pendulum():
    """A point mass on a massless rod, hanging at q = 0: m l^2 ddq = tau - m g l sin q."""
    rod = kt.Builder("pendulum").link("base").link("rod", MASS, (0, 0, -LENGTH))
    rod.joint("hinge", "revolute", "base", "rod", axis=(0, 1, 0))
    return rod.build()


def rk4(rate, x, dt, steps):
    """The classical method, written out."""
    found = [x]
    for k in range(steps):
        t = k * dt
        a = rate(t, x)
        b = rate(t + dt / 2, x + dt / 2 * a)
        c = rate(t + dt / 2, x + dt / 2 * b)
        d = rate(t + dt, x + dt * c)
        x = x + dt / 6 * (a + 2 * b + 2 * c + d)
        found.append(x)
    return np.array(found)


def filtered_pi(t, q, dq, z):
    """PI control of a filtered position: z = (integral of the error, filtered position)."""
    e = 0.4 + 0.1 * sin(2 * t) - z[1]
    return 6 * e - 0.8 * dq + 3 * z[:1], np.array([e, 20 * (q[0] - z[1])])


def pendulum_rate(t, x):
    q, dq, integral, seen = x
    e = 0.4 + 0.1 * np.sin(2 * t) - seen
    tau = 6 * e - 0.8 * dq + 3 * integral
    ddq = (tau - MASS * G * LENGTH * np.sin(q)) / (MASS * LENGTH**2)
    return np.array([dq, ddq, e, 20 * (q - seen)])


def test_the_state_is_integrated_with_the_robot():
    start = np.array([0.3, -0.2, 0.05, 0.1])
    expected = rk4(pendulum_rate, start, 0.01, 100)
    law = controllers.Stateful(filtered_pi, start[2:])
    options = {"duration": 1.0, "dt": 0.01, "limits": "ignore"}
    motion = pendulum().simulate(start[:1], start[1:2], controller=law, method="rk4", **options)
    assert motion.meta["compiled"] and motion.meta["controller"] == "Stateful"
    assert np.allclose(motion.q, expected[:, :1], rtol=0, atol=1e-12)
    assert np.allclose(motion.dq, expected[:, 1:2], rtol=0, atol=1e-11)
    assert np.allclose(motion.meta["controller_state"], expected[:, 2:], rtol=0, atol=1e-12)
    fine = rk4(pendulum_rate, start, 0.001, 1000)[::10]
    adaptive = pendulum().simulate(start[:1], start[1:2], controller=law, **options)
    assert adaptive.meta["compiled"]
    assert np.allclose(adaptive.q, fine[:, :1], rtol=0, atol=1e-8)
    assert np.allclose(adaptive.meta["controller_state"], fine[:, 2:], rtol=0, atol=1e-8)


def pid(t, q, dq, z):
    e = GOAL - q
    return 40 * e - 3 * dq + 25 * z, e


@pytest.mark.parametrize("method", ["dop853", "rk4", "semi_implicit_euler", "euler"])
def test_a_pid_of_ones_own_is_kinetrees(method):
    options = {"duration": 0.3, "dt": 0.01, "method": method, "limits": "ignore"}
    starts = Q0 + np.array([[0.0, 0.0], [0.3, -0.2], [-0.5, 0.1]])
    built_in = controllers.PID(GOAL, kp=40.0, kd=3.0, ki=25.0)
    expected = ARM.simulate(starts, DQ0, controller=built_in, **options)
    found = ARM.simulate(starts, DQ0, controller=controllers.Stateful(pid, [0, 0]), **options)
    assert found.meta["compiled"]
    for name in ("q", "dq", "ddq", "tau"):
        assert np.allclose(getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-10)
    states = (x.meta["controller_state"] for x in (found, expected))
    assert np.allclose(*states, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_a_law_that_cannot_be_traced_has_its_state_simulated_too(method):
    def branches(t, q, dq, z):
        return pid(t, q, dq, z) if q[0] < 1e6 else (dq, z)

    options = {"duration": 0.1, "dt": 0.01, "method": method, "limits": "ignore"}
    starts = Q0 + np.array([[0.0, 0.0], [0.3, -0.2]])
    expected = ARM.simulate(starts, DQ0, controller=controllers.Stateful(pid, [0, 0]), **options)
    found = ARM.simulate(starts, DQ0, controller=controllers.Stateful(branches, [0, 0]), **options)
    assert not found.meta["compiled"] and "truth value" in found.meta["note"]
    assert np.allclose(found.q, expected.q, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_a_run_that_is_split_goes_on_where_it_ended(method):
    options = {"dt": 0.01, "method": method, "limits": "ignore"}
    starts = Q0 + np.array([[0.0, 0.0], [0.3, -0.2]])
    first = controllers.Stateful(pid, [[0.1, 0.0], [0.0, -0.2]])  # a state for each rollout
    whole = ARM.simulate(starts, DQ0, controller=first, duration=0.4, **options)
    half = ARM.simulate(starts, DQ0, controller=first, duration=0.2, **options)
    then = controllers.Stateful(pid, half.meta["controller_state"][-1])
    rest = ARM.simulate(half.q[-1], half.dq[-1], controller=then, duration=0.2, **options)
    assert np.allclose(half.q, whole.q[:21], rtol=0, atol=1e-8)
    assert np.allclose(rest.q, whole.q[20:], rtol=0, atol=1e-8)
    ends = (x.meta["controller_state"][-1] for x in (rest, whole))
    assert np.allclose(*ends, rtol=0, atol=1e-8)


def test_a_batch_of_states_alone_makes_a_batch():
    law = controllers.Stateful(pid, np.zeros((3, 2)))
    motion = ARM.simulate(Q0, controller=law, duration=0.02, method="rk4", limits="ignore")
    assert motion.q.shape == (21, 3, 2) and motion.meta["controller_state"].shape == (21, 3, 2)
    with pytest.raises(ShapeError, match="the controller's state \\(3,\\)"):
        ARM.simulate(np.zeros((2, 2)), controller=law, duration=0.02, method="rk4")


def test_a_reference_is_given_after_the_state():
    def follows(t, q, dq, z, goal, speed):
        e = goal - q
        return 40 * e + 3 * (speed - dq) + 25 * z, e

    def reference(t):
        return GOAL * sin(t), GOAL * (1 - t)

    options = {"duration": 0.2, "dt": 0.01, "method": "rk4", "limits": "ignore"}
    law = controllers.Stateful(follows, [0, 0], reference=reference)
    built_in = controllers.PID(reference, kp=40.0, kd=3.0, ki=25.0)
    found, expected = (ARM.simulate(Q0, controller=x, **options) for x in (law, built_in))
    assert np.allclose(found.q, expected.q, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_derivatives_pass_through_the_state(method):
    law = controllers.Stateful(pid, [0.1, -0.1])
    options = {"duration": 0.1, "dt": 0.01, "method": method, "limits": "ignore"}
    found = ARM.sensitivities(Q0, DQ0, controller=law, **options).by("q0")
    fine = {} if method == "rk4" else {"rtol": 1e-12, "atol": 1e-13}
    for k in range(2):
        step = 1e-6 * np.eye(2)[k]
        ends = [ARM.simulate(Q0 + s, DQ0, controller=law, **options, **fine) for s in (step, -step)]
        ends = [np.concatenate([x.q[-1], x.dq[-1]]) for x in ends]
        assert np.allclose(found[-1][:, k], (ends[0] - ends[1]) / 2e-6, atol=1e-5)


def test_step_by_step_carries_the_state():
    law = controllers.step_by_step(controllers.Stateful(pid, [0.5, 0.25]), ARM)
    assert law.note is None and np.array_equal(law.start, [0.5, 0.25])
    tau, dz = law(0.0, Q0, DQ0)
    assert np.allclose(tau, 40 * (GOAL - Q0) - 3 * DQ0 + 25 * law.start, atol=1e-12)
    assert np.allclose(dz, GOAL - Q0, atol=1e-13)


def test_a_state_of_nothing_is_a_plain_law():
    law = controllers.Stateful(lambda t, q, dq, z: (-clip(q, -0.2, 0.2), []), [])
    options = {"duration": 0.1, "dt": 0.01, "method": "rk4", "limits": "ignore"}
    plain = ARM.simulate(Q0, tau=lambda t, q, dq: -clip(q, -0.2, 0.2), **options)
    assert np.allclose(ARM.simulate(Q0, controller=law, **options).q, plain.q, rtol=0, atol=1e-13)


def test_the_initial_state_is_copied():
    z = np.zeros(2)
    law = controllers.Stateful(pid, z)
    z[:] = 5
    assert (law.start(ARM.model) == 0).all()
    with pytest.raises(ValueError, match="read-only"):
        law.initial[0] = 1


def test_what_makes_no_sense_is_named():
    options = {"duration": 0.1, "dt": 0.01, "method": "rk4"}
    with pytest.raises(InputError, match="law of Stateful is 3; expected a function"):
        controllers.Stateful(3, [0])
    with pytest.raises(ShapeError, match=r"is 2; expected an array \(..., m\), such as \[2\]"):
        controllers.Stateful(pid, 2.0)
    with pytest.raises(InputError, match="expected finite numbers"):
        controllers.Stateful(pid, [0, np.nan])
    with pytest.raises(InputError, match="expected numbers"):
        controllers.Stateful(pid, ["a"])
    with pytest.raises(ShapeError, match=r"'short' returned dz of shape \(1,\); expected \(2,\)"):

        def short(t, q, dq, z):
            return -q, z[:1]

        ARM.simulate(Q0, controller=controllers.Stateful(short, [0, 0]), **options)
    with pytest.raises(ShapeError, match=r"'wide' returned tau of shape \(3,\); expected \(2,\)"):

        def wide(t, q, dq, z):
            return np.zeros(3), z

        ARM.simulate(Q0, controller=controllers.Stateful(wide, [0, 0]), **options)
    with pytest.raises(InputError, match="'alone' returned ndarray; expected a pair"):

        def alone(t, q, dq, z):
            return -q

        ARM.simulate(Q0, controller=controllers.Stateful(alone, [0, 0]), **options)
