"""Activations within their ranges; slopes of curves and control laws in implicit steps."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.algorithms.joints.actuation import actuate, control_gains, drive_forces, drive_gains

A = kt.Actuator
ARM = kt.robots.planar_2r()
METHODS = ("euler", "semi_implicit_euler", "implicit", "implicitfast", "rk4", "dop853")
IMPLICIT = ("implicit", "implicitfast")


def cart(mass=1.0, **joint):
    builder = kt.Builder("cart").link("base").link("cart", mass, I_com=np.eye(3))
    builder.joint("x", "prismatic", "base", "cart", axis=(1, 0, 0), **joint)
    return builder.build()


def lagging(low, high):
    """A servo whose goal lags behind the control with a time constant of 10 ms."""
    law = {"gain": (100, 0, 0), "bias": (0, -100, -20), "activation_range": (low, high)}
    return A({"x": 1}, dynamics="filter", time_constant=0.01, **law)


def end(robot, method, **options):
    given = {"q0": [0.0], "duration": 1.0, "dt": 0.01, "limits": "ignore"} | options
    return robot.simulate(method=method, **given)


@pytest.mark.parametrize("method", METHODS)
def test_steps_as_long_as_the_time_constant_end_at_the_range_of_the_activation(method):
    robot = cart().with_actuators({"a": lagging(-0.2, 0.2)})
    up = end(robot, method, controls=[1.0], duration=3.0)
    assert up.meta["activation"]["a"].max() == 0.2
    assert abs(up.q[-1, 0] - 0.2) < 1e-8
    down = end(robot, method, controls=[-1.0], duration=3.0)
    assert abs(up.q + down.q).max() < 1e-13


@pytest.mark.parametrize("method", METHODS)
def test_an_activation_comes_back_from_its_range_without_delay(method):
    """The goal is at its bound for 0.5 s, and leaves it at once when the control turns."""
    servo = A.integrated_velocity("x", 100, 20, activation_range=(-0.1, 0.25))
    robot = cart().with_actuators({"a": servo})
    turn = kt.simulate.signal([0, 0.5, 1], [[1.0], [-0.5], [-0.5]])
    found = end(robot, method, controls=turn, dt=1 / 128).meta["activation"]["a"]
    t = np.linspace(0, 1, len(found))
    exact = np.where(t <= 0.5, np.minimum(t, 0.25), np.maximum(0.25 - 0.5 * (t - 0.5), -0.1))
    assert abs(found - exact).max() < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_a_start_beyond_the_range_is_a_start_at_its_end(method):
    robot = cart().with_actuators({"a": lagging(0.1, 0.2), "b": lagging(-0.3, 0.3)})
    for given, clamped in (([5, -5], [0.2, -0.3]), ([-5, 0.1], [0.1, 0.1]), (None, [0.1, 0])):
        out, within = (
            end(robot, method, duration=0.1, controls=[0.15, 0.2], activation=a)
            for a in (given, clamped)
        )
        assert (out.q == within.q).all() and (out.tau == within.tau).all()


def test_a_step_of_order_four_clamps_what_it_is_given_and_what_it_returns():
    robot = cart().with_actuators({"a": lagging(-0.2, 0.2)})
    state = {"dt": 0.01, "method": "rk4", "controls": [1.0]}
    for given, clamped in ((5.0, 0.2), (-5.0, -0.2)):
        found = robot.step([0.1], [0.2], activation=[given], **state)
        assert np.array_equal(found, robot.step([0.1], [0.2], activation=[clamped], **state))
    assert robot.step([0.1], [0.2], activation=[0.19], **state)[2][0] == 0.2


CURVE = kt.Drive(curve=[(0, 100), (0.2, 0)])
MOTOR = {"m": A.motor("x", gear=4)}


@pytest.mark.parametrize("method", IMPLICIT)
@pytest.mark.parametrize(
    ("drive", "push"),
    [
        (CURVE, {"tau": [100.0]}),
        (CURVE, {"tau": lambda t, q, dq: np.array([300 - 2 * q[0] - dq[0]])}),
        (CURVE, {"tau": lambda t, q, dq: [300.0 - float(q[0])]}),
        (CURVE, {"controls": [25.0]}),
        (CURVE, {"controls": lambda t, q, dq: [200.0 - float(q[0])]}),
        (kt.Drive(curve=CURVE.curve, lag=0.05), {"tau": [100.0], "drive_state": [100.0]}),
        (kt.Drive(curve=CURVE.curve, delay=0.01), {"tau": [100.0], "drive_state": [100.0]}),
        (kt.Drive(curve=CURVE.curve, peak=100), {"tau": [900.0]}),
        (kt.Drive(curve=[(0, 100), (0.1, 50), (0.2, 0), (9, 0)]), {"tau": [100.0]}),
    ],
    ids=["tau", "law", "Python", "motor", "controls", "lag", "delay", "peak", "pieces"],
)
def test_a_falling_curve_is_viscous_friction_to_implicit_steps(drive, push, method):
    """A force of 100 - 500 dq is a force of 100 with a friction of 500 dq, in both directions."""
    damped = cart(friction=kt.Friction(500.0))
    expected = end(damped, method, tau=[100.0])
    found = end(cart(drive=drive).with_actuators(MOTOR), method, **push)
    assert abs(found.dq - expected.dq).max() < 1e-12
    assert abs(found.dq[-1, 0] - 0.2) < 1e-12
    if "drive_state" not in push and not callable(next(iter(push.values()))):
        back = {name: [-x[0]] for name, x in push.items()}
        other = end(cart(drive=drive).with_actuators(MOTOR), method, **back)
        assert abs(other.dq + found.dq).max() < 1e-15


@pytest.mark.parametrize("method", IMPLICIT)
def test_single_steps_take_the_slope_of_a_curve(method):
    damped, driven = cart(friction=kt.Friction(500.0)), cart(drive=CURVE)
    q, dq, tau = np.array([0.1]), np.array([0.12]), np.array([100.0])
    expected = damped.step(q, dq, tau, 0.01, method=method)
    for found in (
        driven.step(q, dq, tau, 0.01, method=method),
        driven.step(q, dq, tau, 0.01, method=method, kd=[7.0]),
        algorithms.step(driven.model, q, dq, tau, 0.01, method=method),
        driven.with_actuators(MOTOR).step(q, dq, dt=0.01, method=method, controls=[40.0]),
    ):
        assert np.allclose(found, expected, rtol=0, atol=1e-15)


def test_slopes_behind_drives_are_those_of_the_forces():
    """Central differences of the limited forces of a linear law, at random states."""
    drives = {
        "joint1": kt.Drive(curve=[(0, 5), (1, 4), (2, 1), (3, 0)], peak=4.5),
        "joint2": kt.Drive(curve=[(0, 3), (2, 0)]),
    }
    model = ARM.with_drives(drives).model
    rng = np.random.default_rng(3)
    K = np.array([[2.0, 0.3], [-0.4, 1.5]])
    seen = set()
    for _ in range(300):
        dq, tau = rng.uniform(-3.5, 3.5, 2), rng.normal(size=2) * 4
        gains = algorithms.joints.gains.Gains(0 * K, K, symmetric=False)
        found = drive_gains(model, dq, tau, gains).kd.astype(float)
        columns = [
            drive_forces(model, dq + e, tau - K @ e) - drive_forces(model, dq - e, tau + K @ e)
            for e in np.eye(2) * 1e-7
        ]
        wanted = -np.array(columns, float).T / 2e-7
        assert abs(found - wanted).max() < 1e-6
        seen |= {round(float(x), 3) for x in wanted.diagonal()}
    assert {0, 1, 3, 1.5, 2} <= seen  # held, falling pieces of both curves, and free


GEARS = {"a": A.motor("joint1", gear=10), "b": A.motor("joint2", gear=-2)}


@pytest.mark.parametrize("method", IMPLICIT)
def test_a_stiff_law_of_controls_moves_as_the_same_law_of_forces(method):
    def forces(t, q, dq):
        return 1e5 * (np.array([0.5, 0.2]) - q) - 1e4 * dq + 50 * q[::-1]

    def controls(t, q, dq):
        return forces(t, q, dq) / np.array([10, -2])

    options = {"duration": 1.0, "dt": 0.01, "limits": "ignore", "method": method}
    expected = ARM.simulate([0.1, 0.2], controller=forces, **options)
    for given in ({}, {"controller": lambda t, q, dq: -3 * dq, "tau": lambda t, q, dq: 3 * dq}):
        found = ARM.with_actuators(GEARS).simulate(
            [0.1, 0.2], controls=controls, **options, **given
        )
        assert found.meta["compiled"]
        assert abs(found.q - expected.q).max() < 1e-9
        assert abs(found.tau - expected.tau).max() < 1e-6 * abs(expected.tau).max()


def test_gains_of_a_control_law_are_the_slopes_of_the_forces():
    """Central differences of all forces, with controls that follow a linear law of the state."""
    model = ARM.with_actuators(
        {
            "pair": A({"joint1": 2, "joint2": -1}, (3, 0.5, 0.2), (0.1, -4, -1)),
            "narrow": A.motor("joint1", control_range=(-0.1, 0.1)),
            "weak": A.motor("joint2", gear=3, force_range=(-0.2, 0.2)),
            "lag": A({"joint1": 1}, (7, 0, 0), dynamics="filter", time_constant=0.2),
            "early": A(
                {"joint2": 1}, (7, 0, 0), dynamics="filter", time_constant=0.2, early=True
            ),
            "exact": A(
                {"joint1": 1}, (5, 0, 0), dynamics="filterexact", time_constant=0.1, early=True
            ),
            "sum": A({"joint1": 2}, (9, 0, 0), dynamics="integrator", early=True),
            "full": A(
                {"joint2": 1}, (9, 0, 0), dynamics="integrator", early=True,
                activation_range=(-0.3, 0.3),
            ),
            "late": A.motor("joint2", delay=0.01),
        }
    ).model  # fmt: skip
    rng, h = np.random.default_rng(4), 0.05
    for _ in range(50):
        q, dq, a = rng.normal(size=2), rng.normal(size=2), rng.normal(size=5) * 0.4
        start, S = rng.normal(size=9), rng.normal(size=(9, 4))
        S[8] = 0  # a late control is that of an earlier state
        found = actuate(model, q, dq, start, a, h)
        own = algorithms.joints.actuation.actuator_gains(model, found)
        gains = own.plus(control_gains(model, found, start, S, h, set()))
        S_late = S + (np.arange(9) == 8)[:, None]
        late = own.plus(control_gains(model, found, start, S_late, h, {8}))
        columns = []
        for e in np.eye(4) * 1e-6:
            taus = [
                actuate(model, q + s * e[:2], dq + s * e[2:], start + s * S @ e, a, h).tau
                for s in (1, -1)
            ]
            columns.append((taus[0] - taus[1]) / 2e-6)
        wanted = -np.array(columns, float).T
        for x in (gains, late):
            both = np.concatenate([x.kp, x.kd], -1).astype(float)
            assert abs(both - wanted).max() < 1e-7


@pytest.mark.parametrize("method", IMPLICIT)
def test_a_law_in_python_leaves_the_gains_of_servos_to_implicit_steps(method):
    servos = {"a": A.position("joint1", 1e5, 1e4), "b": A.position("joint2", 1e5, 1e4)}
    robot = ARM.with_actuators(servos)
    for drive in (kt.Drive(), kt.Drive(peak=500), kt.Drive(curve=[(0, 900), (20, 0)])):
        driven = robot.with_drives({"joint2": drive})
        options = {"duration": 0.5, "dt": 0.01, "limits": "ignore", "method": method}
        starts = [[0.1, 0.2], [0.3, 0.1]]
        expected = driven.simulate(starts, controls=[0.5, 0.3], **options)
        found = driven.simulate(
            starts, controls=lambda t, q, dq: [0.5 if float(t) >= 0 else 0, 0.3], **options
        )
        assert not found.meta["compiled"]
        assert "Slopes of actuators and drives count" in found.meta["note"]
        assert abs(found.q - expected.q).max() < 1e-12
