"""Simulated motions against closed forms and plain NumPy: methods, forces, events, friction."""

import math
from contextlib import nullcontext

import mpmath
import numpy as np
import pytest
from reference_robots import (
    cart,
    double_acceleration,
    double_bias,
    double_mass_matrix,
    double_pendulum,
    double_rate,
    energy,
    exact,
    free_body,
    order,
    pendulum,
    rk4_step,
)
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import kinetree as kt
from kinetree import controllers
from kinetree.errors import InputError, KinetreeError, KinetreeWarning
from kinetree.friction import Dahl, Friction, LuGre
from kinetree.joints import Actuator, Drive, Limits, Spring
from kinetree.scalars import cos, sin, where
from kinetree.simulate import SimulationError, event, signal
from spacing import ADAPTIVE, by

ORDERS = {"euler": 1, "semi_implicit_euler": 1, "implicit": 1, "implicitfast": 1, "rk4": 4}
ALL = (*ORDERS, *ADAPTIVE)
TIGHT = {"rtol": 1e-11, "atol": 1e-13}
EXACT = {"method": "DOP853", **TIGHT}
START = np.array([1.2, 0.7]), np.array([0.5, -1.0])
SMALL = {"euler": 2e-3, "semi_implicit_euler": 2e-3, "implicit": 2e-3, "implicitfast": 2e-3}
H = 1 / 512  # s, exact in binary


def off(method, otherwise=1e-8):
    """The error allowed in a motion of about a second with steps of 1 ms."""
    return SMALL.get(method, otherwise)


def frictionless_top(joint):
    """A symmetric body without gravity, on a free or a spherical joint."""
    built = kt.Builder("top", gravity=(0, 0, 0)).link("base")
    built.link("body", m=1.7, I_com=np.diag([0.05, 0.05, 0.02]))
    return built.joint("joint", joint, "base", "body").build()


def rotation(vector):
    angle = np.linalg.norm(vector)
    axis = vector / angle
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def product(a, b):
    return np.array([a[0] * b[0] - a[1:] @ b[1:],
                     *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])  # fmt: skip


# methods


def test_the_period_of_a_pendulum_is_the_elliptic_integral():
    omega = np.sqrt(1.3 * 9.81 * 0.7 / (0.05 + 1.3 * 0.49))
    period = float(4 * mpmath.ellipk(mpmath.sin(mpmath.mpf(1)) ** 2) / omega)
    turns = event(lambda t, q, dq: dq[0], direction=-1)
    motion = pendulum().simulate([2.0], duration=3.2 * period, events=turns, **EXACT)
    times = [found.t for found in motion.meta["events"]]
    np.testing.assert_allclose(times, period * np.arange(1, 4), rtol=1e-9)
    default = pendulum().simulate([2.0], duration=period)
    assert abs(default.q[-1, 0] - 2.0) < 1e-7 and abs(default.dq[-1, 0]) < 1e-6


@pytest.mark.parametrize("method", ORDERS)
def test_errors_shrink_with_the_order_of_the_method(method):
    robot = double_pendulum()
    true = exact(double_rate(), np.concatenate(START), [0.4])[-1]
    steps = (5e-3 if method == "rk4" else 2e-4) / 2 ** np.arange(3)
    options = {"duration": 0.4, "method": method}
    ends = [robot.simulate(*START, dt=h, **options) for h in steps]
    errors = [np.abs([*x.q[-1], *x.dq[-1]] - true).max() for x in ends]
    assert order(steps, errors) == pytest.approx(ORDERS[method], abs=0.1)


@pytest.mark.parametrize("joint", ["free", "spherical"])
@pytest.mark.parametrize("method", ["euler", "semi_implicit_euler", "rk4"])
def test_the_order_holds_for_rotations_of_a_free_top(method, joint):
    """exp(t L / A) exp(-t l e3): the spin about the axis and that about the angular momentum."""
    robot, w, v, T = frictionless_top(joint), np.array([2.0, -1.0, 4.0]), [0.3, 0.2, -0.5], 0.5
    relative = (0.02 - 0.05) / 0.05 * w[2]
    momentum = np.array([w[0], w[1], 0.02 / 0.05 * w[2]])
    turned = product(rotation(T * momentum), rotation(np.array([0, 0, -T * relative])))
    q0, dq0 = [1, 0, 0, 0], w
    if joint == "free":
        q0, dq0, turned = [*q0, 0, 0, 0], [*w, *v], [*turned, *(T * np.array(v))]
    steps = (0.02 if method == "rk4" else 1e-3) / 2 ** np.arange(3)
    errors = [
        np.linalg.norm(
            robot.difference(turned, robot.simulate(q0, dq0, duration=T, dt=h, method=method).q[-1])
        )
        for h in steps
    ]
    assert order(steps, errors) == pytest.approx(ORDERS[method], abs=0.15)
    assert errors[-1] < 1e-2


@pytest.mark.parametrize("method", ADAPTIVE)
def test_adaptive_methods_follow_their_tolerances(method):
    robot, t = double_pendulum(), np.linspace(0, 1, 11)
    true = exact(double_rate(), np.concatenate(START), t)[:, :2]
    errors = []
    for rtol in (1e-4, 1e-7, 1e-10):
        run = by(method, 0.1, rtol=rtol, atol=rtol / 100)
        found = robot.simulate(*START, duration=1, **run)
        np.testing.assert_allclose(found.t, t, atol=1e-14)
        errors.append(abs(found.q - true).max())
    # local errors within the tolerance add up to some hundred of them
    assert all(e < 300 * rtol for e, rtol in zip(errors, (1e-4, 1e-7, 1e-10), strict=True))
    assert errors[2] < 1e-3 * errors[0]


def step_by_hand(method, q, dq, tau, h, K, D):
    """One step of the double pendulum with springs K and damping D, by the formula."""
    M, bias = double_mass_matrix(q), double_bias(q, dq)
    pull = tau - bias - K @ q - D @ dq

    def rate(_, x):
        forces = tau - K @ x[:2] - D @ x[2:]
        return np.concatenate([x[2:], double_acceleration(x[:2], x[2:], forces)])

    if method == "rk4":
        end = rk4_step(rate, 0.0, np.concatenate([q, dq]), h)
        return end[:2], end[2:]
    if method == "implicit":
        ddq = np.linalg.solve(M + h * D + h * h * K, pull - h * K @ dq)
    elif method == "implicitfast":
        ddq = np.linalg.solve(M + h * D, pull)
    else:
        ddq = np.linalg.solve(M, pull)
    after = dq + h * ddq
    return q + h * (dq if method == "euler" else after), after


@pytest.mark.parametrize("method", ORDERS)
def test_steps_are_their_formulas_and_those_of_a_simulation(method):
    first = {"spring": Spring(40.0, damping=0.7), "friction": Friction(viscous=3.0)}
    second = {"spring": Spring(90.0), "friction": Friction(viscous=5.0)}
    robot, tau = double_pendulum(first, second), np.array([2.0, -1.0])
    K, D = np.diag([40.0, 90.0]), np.diag([3.7, 5.0])
    motion = robot.simulate(*START, duration=20 * H, dt=H, tau=tau, method=method)
    assert motion.q.shape == (21, 2)
    q, dq = START
    for k in range(20):
        expected = step_by_hand(method, q, dq, tau, H, K, D)
        q, dq = robot.step(q, dq, tau, H, method=method)
        np.testing.assert_allclose(q, expected[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(dq, expected[1], rtol=0, atol=1e-10)
        np.testing.assert_allclose(motion.q[k + 1], q, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(motion.dq[k + 1], dq, rtol=1e-12, atol=1e-12)


def test_gains_of_a_servo_count_in_an_implicit_step():
    robot, kp, kd = double_pendulum(), np.array([400.0, 100.0]), np.array([30.0, 10.0])
    q, dq = START
    tau = kp * ([0.1, 0.2] - q) - kd * dq
    expected = np.linalg.solve(
        double_mass_matrix(q) + H * np.diag(kd) + H * H * np.diag(kp),
        tau - double_bias(q, dq) - H * kp * dq,
    )
    end = robot.step(q, dq, tau, H, method="implicit", kp=kp, kd=kd)
    np.testing.assert_allclose(end[1], dq + H * expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(end[0], q + H * end[1], rtol=0, atol=1e-13)


def test_implicit_steps_hold_stiff_servos_and_explicit_ones_end_with_an_error():
    robot, goal = double_pendulum(), np.array([0.4, -0.2])
    law = controllers.PD(goal, kp=1e5, kd=1e4)
    held = robot.simulate(*START, duration=4, dt=0.01, controller=law, method="implicit")
    np.testing.assert_allclose(held.q[-1], goal - double_bias(held.q[-1], [0, 0]) / 1e5, atol=1e-9)
    with pytest.raises(KinetreeError):
        robot.simulate(*START, duration=4, dt=0.01, controller=law, method="euler")


@pytest.mark.parametrize("method", ALL)
def test_a_damped_spring_moves_as_its_closed_form(method):
    m, k, d, duration = 2.0, 50.0, 3.0, 1.0
    robot = cart(m, spring=Spring(k, rest=0.1), friction=Friction(viscous=d))
    motion = robot.simulate([0.5], [-1.0], duration=duration, **by(method, 1e-3, **TIGHT))
    A = np.array([[0, 1], [-k / m, -d / m]])
    x = np.array([expm(A * t) @ [0.4, -1.0] for t in motion.t[::100]])
    assert np.abs(motion.q[::100, 0] - 0.1 - x[:, 0]).max() < off(method)
    assert np.abs(motion.dq[::100, 0] - x[:, 1]).max() < 10 * off(method)
    np.testing.assert_allclose(
        motion.ddq[:, 0], (-k * (motion.q[:, 0] - 0.1) - d * motion.dq[:, 0]) / m, atol=1e-9
    )


def test_energy_and_momenta_of_free_motions_stay():
    robot = double_pendulum()
    swing = robot.simulate(*START, duration=10)
    assert np.ptp(energy(robot, swing)) < 1e-7 * np.ptp(robot.kinetic_energy(swing.q, swing.dq))
    quadruped = kt.robots.quadruped().with_gravity((0, 0, 0))
    rng = np.random.default_rng(3)
    q0 = quadruped.integrate(quadruped.neutral(), 0.3 * rng.normal(size=quadruped.n))
    thrown = quadruped.simulate(q0, rng.normal(size=quadruped.n), duration=0.5, dt=1e-3,
                                method="rk4", limits="ignore")  # fmt: skip
    momentum = quadruped.momentum(thrown.q, thrown.dq)
    assert abs(momentum - momentum[0]).max() < 1e-8 * abs(momentum[0]).max()
    assert abs(np.linalg.norm(thrown.q[:, :4], axis=1) - 1).max() < 4e-16


def test_symplectic_steps_keep_energy_where_explicit_ones_drift():
    drift = {}
    for method in ("euler", "semi_implicit_euler"):
        robot = double_pendulum()
        rises = method == "euler"
        with pytest.warns(KinetreeWarning, match="energy") if rises else nullcontext():
            motion = robot.simulate([0.3, 0.2], duration=10, dt=2e-3, method=method)
        drift[method] = abs(energy(robot, motion)[-500:] - energy(robot, motion)[0]).max()
    assert drift["semi_implicit_euler"] < 0.05 * drift["euler"]


# forces in every form


def force(t, q, dq):
    return np.array([2 * math.sin(5 * t) - q[1], 0.5 - 0.3 * dq[0]])


def test_forces_of_every_form_give_the_reference():
    robot, t = double_pendulum(), np.linspace(0, 0.5, 51)
    options = {"duration": 0.5, "record": 0.01, **EXACT}

    def law(t, q, dq):
        return np.array([2 * sin(5 * t) - q[1], 0.5 - 0.3 * dq[0]])

    true = exact(double_rate(force), np.concatenate(START), t)
    half = np.array([0.25, -0.5])
    forms = {
        "law": {"tau": law},
        "controller": {"controller": law},
        "python": {"tau": kt.simulate.python(force)},
        "sum": {"tau": half, "controller": lambda t, q, dq: law(t, q, dq) - half},
    }
    for name, how in forms.items():
        found = robot.simulate(*START, **how, **options)
        np.testing.assert_allclose(found.q, true[:, :2], atol=1e-8, err_msg=name)
        tau = [force(*x) for x in zip(t, found.q, found.dq, strict=True)]
        np.testing.assert_allclose(found.tau, tau, atol=1e-9, err_msg=name)
        assert found.meta["compiled"] == (name != "python")


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
@pytest.mark.parametrize("kind", ["hold", "linear"])
def test_signals_hold_their_values_or_connect_them(kind, method):
    """A cart of 1 kg under pieces of constant or linear force is a polynomial."""
    times, values = [0.2, 0.5, 0.7], [[1.0], [4.0], [-2.0]]
    run = by(method, 0.05, **TIGHT)
    motion = cart(1.0).simulate([0], duration=1, tau=signal(times, values, kind=kind), **run)

    def at(t):
        if kind == "linear":
            return np.interp(t, times, np.ravel(values))
        return values[max(0, sum(t >= np.array(times) - 1e-12) - 1)][0]

    np.testing.assert_allclose(motion.tau[:, 0], [at(t) for t in motion.t], atol=1e-12)
    grid = np.linspace(0, 1, 20001)[:-1] + 2.5e-5
    f = np.array([at(t) for t in grid])
    assert motion.dq[-1, 0] == pytest.approx(f.mean(), abs=1e-7)
    assert motion.q[-1, 0] == pytest.approx(((1 - grid) * f).mean(), abs=1e-7)


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_switch_of_time_is_not_missed(method):
    """10 N for 10 ms between two results."""
    step = 0.01 if method == "rk4" else 0.5
    with pytest.warns(KinetreeWarning, match="dt") if method == "rk4" else nullcontext():
        motion = cart(1.0).simulate(
            [0], duration=2, **by(method, step),
            tau=lambda t: [where(t >= 0.61, where(t < 0.62, 10.0, 0.0), 0.0)],
        )  # fmt: skip
    allowed = 0.04 if method == "rk4" else 1e-9
    assert motion.dq[-1, 0] == pytest.approx(0.1, abs=allowed)


def test_wrenches_move_a_free_body():
    """A constant force at the centre of mass, in the axes of the body, which does not turn."""
    robot, F = free_body(gravity=(0, 0, 0)), np.array([0, 0, 0, 4.0, -2.0, 6.0])
    motion = robot.simulate(robot.neutral(), duration=1, F_ext=robot.wrenches({"body": F}))
    np.testing.assert_allclose(motion.q[-1, 4:], F[3:] / 4, atol=1e-9)
    spin = np.array([0, 0, 0.08, 0, 0, 0])
    turned = robot.simulate(robot.neutral(), duration=1, F_ext=robot.wrenches({"body": spin}))
    assert 2 * np.arctan2(turned.q[-1, 3], turned.q[-1, 0]) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicit", "rk4", "DOP853"])
def test_lag_and_delay_of_a_drive_are_the_closed_form(method):
    delay = 0 if method == "DOP853" else 8
    robot = cart(drive=Drive(lag=0.05, delay=delay * H))
    motion = robot.simulate([0], duration=64 * H, tau=[2.0], **by(method, H))
    late = np.maximum(np.arange(65) - delay, 0) * H
    allowed = 1e-7 if method == "DOP853" else 1e-13
    np.testing.assert_allclose(motion.tau[:, 0], 2 * (1 - np.exp(-late / 0.05)), atol=allowed)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "DOP853"])
def test_a_drive_stays_below_its_curve_and_its_peak(method):
    robot = cart(1.0, drive=Drive(curve=((0, 2), (1, 2), (3, 0)), peak=1.5))
    motion = robot.simulate([0], duration=4, tau=[9.0], **by(method, 1e-2))
    most = np.minimum(1.5, np.interp(motion.dq[:, 0], [0, 1, 3], [2, 2, 0]))
    np.testing.assert_allclose(motion.tau[:, 0], most, atol=1e-9)
    assert 2.5 < motion.dq[-1, 0] < 3


def test_servos_are_springs_and_dampers_with_lag():
    """u acts through da = (u - a) / T; tau = kp (a - q) - kd dq, within its range."""
    servo = Actuator.position("rail", kp=30, kd=2, time_constant=0.1, force_range=(-4, 4))
    robot = cart(1.0).with_actuators({"servo": servo})
    motion = robot.simulate([0], duration=1, record=0.01, controls=[0.5], **EXACT)

    def rate(t, x):
        tau = np.clip(30 * (x[2] - x[0]) - 2 * x[1], -4, 4)
        return np.array([x[1], tau, (0.5 - x[2]) / 0.1])

    true = exact(rate, [0, 0, 0], motion.t, max_step=1e-3)
    np.testing.assert_allclose(motion.q[:, 0], true[:, 0], atol=1e-7)
    np.testing.assert_allclose(motion.meta["activation"]["servo"], true[:, 2], atol=1e-9)
    assert motion.tau.max() <= 4
    fast = robot.simulate([0], duration=1, dt=1e-3, controls=[5.0], method="rk4")
    assert fast.tau.max() == 4


# controllers with states


def pi_law(t, q, dq, z):
    e = 0.4 + 0.1 * sin(2 * t) - z[1]
    return 6 * e - 0.8 * dq + 3 * z[:1], np.array([e, 20 * (q[0] - z[1])])


def pi_rate(t, x):
    e = 0.4 + 0.1 * np.sin(2 * t) - x[3]
    tau = 6 * e - 0.8 * x[1] + 3 * x[2]
    return np.array([x[1], tau / 2, e, 20 * (x[0] - x[3])])


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_the_state_of_a_law_is_integrated_with_the_robot(method):
    start = np.array([0.3, -0.2, 0.05, 0.1])
    law = controllers.Stateful(pi_law, start[2:])
    run = {"duration": 1, **by(method, 0.01, **TIGHT)}
    motion = cart().simulate(start[:1], start[1:2], controller=law, **run)
    true = exact(pi_rate, start, motion.t)
    allowed = 3e-6 if method == "rk4" else 1e-8
    found = np.hstack([motion.q, motion.dq, motion.meta["controller_state"]])
    np.testing.assert_allclose(found, true, atol=allowed)
    first = cart().simulate(start[:1], start[1:2], controller=law, **run | {"duration": 0.4})
    # the law of the second half begins at t = 0 again: only its state goes on
    assert first.meta["controller_state"][-1] == pytest.approx(true[40, 2:], abs=allowed)


class Memory:
    def __init__(self):
        self.z, self.calls = np.zeros(1), []


def digital(t, q, dq, state):
    state.calls.append(t)
    state.z = state.z + 0.02 * (0.5 - q)
    return 20 * (0.5 - q) - 3 * dq + 30 * state.z


def zero_order_hold(steps, m=2.0, T=0.02):
    """The sampled cart: x' = x + T v + T^2 u / 2m, v' = v + T u / m."""
    x = v = z = 0.0
    rows = [(x, v)]
    for _ in range(steps):
        z += T * (0.5 - x)
        a = (20 * (0.5 - x) - 3 * v + 30 * z) / m
        x, v = x + T * v + T * T / 2 * a, v + T * a
        rows.append((x, v))
    return np.array(rows)


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_sampled_controller_is_called_once_a_sample_and_held_between(method):
    run = by(method, 0.005)
    law = controllers.Sampled(digital, 0.02, Memory)
    motion = cart().simulate([0], duration=1, controller=law, **run)
    state = motion.meta["controller_state"]
    np.testing.assert_allclose(state.calls, 0.02 * np.arange(50), atol=1e-15)
    assert len(state.calls) == 50
    np.testing.assert_allclose(
        np.hstack([motion.q, motion.dq])[::4], zero_order_hold(50), atol=1e-11
    )
    assert (np.ptp(motion.tau[:-1].reshape(50, 4), axis=1) == 0).all()
    first = cart().simulate([0], duration=0.4, controller=law, **run)
    rest = controllers.Sampled(digital, 0.02, first.meta["controller_state"])
    second = cart().simulate(first.q[-1], first.dq[-1], duration=0.6, controller=rest, **run)
    np.testing.assert_allclose(second.q, motion.q[80:], atol=1e-12)


def test_every_rollout_has_a_sampled_state_of_its_own_and_values_are_copied():
    starts = np.array([[0.0], [0.3], [-1.0]])
    law = controllers.Sampled(digital, 0.02, Memory)
    run = {"duration": 0.2, "dt": 0.01, "method": "rk4", "controller": law}
    batch = cart().simulate(starts, **run)
    for k, start in enumerate(starts):
        alone = cart().simulate(start, **run)
        np.testing.assert_allclose(batch.q[:, k], alone.q, atol=1e-13)
        assert len(batch.meta["controller_state"][k].calls) == 10
    held = {"n": 0}
    counted = controllers.Sampled(lambda t, q, dq, s: s.update(n=s["n"] + 1) or -q, 0.02, held)
    motion = cart().simulate([0], duration=0.2, dt=0.01, method="rk4", controller=counted)
    assert held == {"n": 0} and motion.meta["controller_state"] == {"n": 10}


def test_samples_that_steps_do_not_divide_are_refused():
    law = controllers.Sampled(digital, 0.02, Memory)
    with pytest.raises(InputError):
        cart().simulate([0], duration=0.3, dt=0.003, method="rk4", controller=law)


# events and limits


@pytest.mark.parametrize(
    ("direction", "times"),
    [(0, [0.25, 0.75, 1.25, 1.75]), (-1, [0.25, 1.25]), (1, [0.75, 1.75])],
)
def test_events_are_the_zeros_of_a_cosine(direction, times):
    robot = cart(1.0, spring=Spring((2 * np.pi) ** 2))
    middle = event(lambda t, q, dq: q[0], direction=direction, name="middle")
    plain = robot.simulate([1.0], duration=2, **EXACT)
    motion = robot.simulate([1.0], duration=2, events=[middle], **EXACT)
    found = motion.meta["events"]
    np.testing.assert_allclose([x.t for x in found], times, atol=1e-9)
    assert all(abs(x.q[0]) < 1e-9 and x.event == "middle" for x in found)
    np.testing.assert_allclose(np.abs([x.dq[0] for x in found]), 2 * np.pi, rtol=1e-8)
    np.testing.assert_allclose(motion.q, plain.q, atol=1e-10)


def test_a_terminal_event_ends_the_motion_there():
    wall = event(lambda t, q, dq: q[0] - 0.49, terminal=True, name="wall")
    motion = cart(1.0).simulate([0], tau=[2.0], duration=2, events=wall, **by("DOP853", 0.1))
    assert motion.t[-1] == motion.meta["ended"] == pytest.approx(0.7, abs=1e-9)
    assert motion.q[-1, 0] == pytest.approx(0.49, abs=1e-12)
    assert motion.dq[-1, 0] == pytest.approx(1.4, abs=1e-9)


def test_events_of_a_batch_name_their_rollouts():
    speeds = np.array([[1.0], [2.0], [-1.0]])
    there = event(lambda t, q, dq: q[0] - 0.5)
    run = {"duration": 1, "method": "LSODA", "events": there}
    found = cart().simulate(np.zeros((3, 1)), speeds, **run).meta["events"]
    assert sorted((x.rollout, round(x.t, 9)) for x in found) == [((0,), 0.5), ((1,), 0.25)]


def test_limits_stop_are_recorded_or_ignored():
    limits = Limits(-1, 0.3, velocity=5, effort=50)
    robot, run = cart(limits=limits), {"duration": 1, "dt": 0.01, "method": "rk4"}
    with pytest.raises(SimulationError) as ended:
        robot.simulate([0], [1.0], **run)
    assert "rail" in str(ended.value)
    assert 0.3 <= ended.value.trajectory.t[-1] <= 0.32
    motion = robot.simulate([0], [1.0], limits="record", **run)
    (violation,) = motion.meta["violations"]
    assert (violation.joint, violation.quantity) == ("rail", "position")
    assert violation.t == pytest.approx(0.31, abs=0.011)
    free = robot.simulate([0], [1.0], limits="ignore", **run)
    np.testing.assert_array_equal(free.q, motion.q)
    assert free.q[-1, 0] == pytest.approx(1.0)
    for over in ({"dq0": [6.0]}, {"dq0": [0.0], "tau": [60.0]}):
        run |= {"duration": 0.05}
        with pytest.raises(SimulationError):
            robot.simulate([0], **over, **run, limits="error")
        (violation,) = robot.simulate([0], **over, **run).meta["violations"]  # joints stop
        assert violation.quantity in ("velocity", "effort") and violation.t == 0


def test_a_law_that_is_not_a_number_ends_the_run():
    with pytest.raises(KinetreeError):
        cart().simulate([0], duration=1, method="rk4", dt=0.01,
                        tau=lambda t: [1 / (t - 0.5) * where(t > 0.49, np.nan, 1.0)])  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [{"duration": -1}, {"dt": 0}, {"method": "rk5"}, {"q0": [0.1, 0.2, 0.3]}, {"dq0": [np.nan, 0]},
     {"tau": [1.0]}, {"tau": "none"}, {"events": [3]}, {"parameters": {"height": 1}},
     {"controller": 5}, {"limits": "maybe"}, {"every": 0}, {"F_ext": np.zeros(6)},
     {"tau": lambda t, q, dq: [q[0]]}, {"tau": lambda q, dq, t: q}],
    ids=", ".join,
)  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(options):
    given = {"q0": START[0], "dq0": START[1], "duration": 0.1, "dt": 0.01, "method": "rk4"}
    given |= options
    with pytest.raises((KinetreeError, TypeError)):
        double_pendulum().simulate(given.pop("q0"), given.pop("dq0"), **given)


def test_a_joint_that_moves_no_inertia_is_refused_by_name():
    built = kt.Builder("light").link("base").link("nothing")
    robot = built.joint("slide", "prismatic", "base", "nothing").build()
    with pytest.raises(KinetreeError) as refused:
        robot.simulate([0.0], duration=0.1)
    assert "slide" in str(refused.value) or "nothing" in str(refused.value)


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("option", [{"dt": 0.01}, {"every": 2}])
def test_adaptive_methods_refuse_options_of_fixed_steps(method, option):
    with pytest.raises(InputError) as refused:
        cart().simulate([0], duration=0.1, method=method, **option)
    assert str(refused.value).startswith(f"{next(iter(option))} is for")


@pytest.mark.parametrize(
    "option",
    [{"rtol": 1e-6}, {"atol": 1e-6}, {"max_step": 0.1}, {"record": 0.01}, {"breaks": [0.05]},
     {"events": event(lambda t, q, dq: q[0] - 1)}],
)  # fmt: skip
def test_fixed_steps_refuse_options_of_adaptive_methods(option):
    for method in (None, "implicit"):
        with pytest.raises(InputError) as refused:
            cart().simulate([0], duration=0.1, method=method, **option)
        assert str(refused.value).startswith(f"{next(iter(option))} is for adaptive methods")


def test_the_default_method_depends_on_what_stops_the_robot():
    def found(robot):
        return robot.simulate(robot.neutral(), duration=0.01, limits="ignore").meta["method"]

    assert found(double_pendulum()) == found(cart(friction=Friction(viscous=1.0))) == "rk4"
    assert found(cart(friction=Friction(0, 1.0))) == "time_stepping"
    assert len(cart().simulate([0], duration=0.1)) == 101


def test_a_run_by_default_that_reaches_a_stop_is_one_of_the_step_law():
    """Thrown at its stop, the cart stays there; a batch asks for the method."""
    robot, run = cart(limits=Limits(-1, 0.3)), {"duration": 1.0, "tau": [1.0]}
    motion = robot.simulate([0], [1.0], **run)
    law = robot.simulate([0], [1.0], method="time_stepping", **run)
    assert motion.meta["method"] == "time_stepping"
    np.testing.assert_array_equal(motion.q, law.q)
    assert motion.q[-1, 0] == pytest.approx(0.3, abs=1e-6) and abs(motion.dq[-1, 0]) < 1e-9
    assert robot.simulate([0], [0.1], duration=0.1).meta["method"] == "rk4"
    with pytest.raises(SimulationError) as ended:
        robot.simulate([[0], [0]], [1.0], **run)
    assert "rail" in str(ended.value)
    with pytest.raises(SimulationError):
        robot.simulate([0.31], [1.0], **run)


@pytest.mark.parametrize("dt", [0.04, 0.02, 0.01])
def test_the_error_of_fixed_steps_is_estimated_and_a_large_one_warned_of(dt):
    robot, duration = double_pendulum(), 1.28
    times = np.linspace(0, duration, 33)
    true = exact(double_rate(), np.concatenate(START), times)[:, :2]
    large = nullcontext() if dt < 0.04 else pytest.warns(KinetreeWarning, match=r"dt = 0.04 s")
    with large:
        motion = robot.simulate(*START, duration=duration, dt=dt)
    error = np.abs(motion.q[:: round(0.04 / dt)] - true).max(0)
    assert (error < 2.5 * motion.meta["error"]).all()
    assert (motion.meta["error"] < 2.5 * error.max()).all()
    for method in ("euler", "semi_implicit_euler", "implicit"):
        ended = robot.simulate(*START, duration=0.2, dt=1e-4, method=method)
        true = exact(double_rate(), np.concatenate(START), [0.2])[-1, :2]
        off = np.abs(ended.q[-1] - true).max()
        assert 0.4 * off < ended.meta["error"].max() < 2.5 * off


def test_the_error_of_a_batch_is_that_of_the_rollout_that_ends_fastest():
    robot = double_pendulum()
    rates, tau = np.array([[3.0, -4.0], [0.1, 0.1]]), np.array([[1.0, 0.5], [0.0, 0.1]])
    times, run = [0, 0.1], {"duration": 0.2, "dt": 1e-3}
    batch = robot.simulate(START[0], rates, tau=signal(times, [tau, 2 * tau]), **run)
    alone = robot.simulate(START[0], rates[1], tau=signal(times, [tau[1], 2 * tau[1]]), **run)
    np.testing.assert_array_equal(batch.meta["error"], alone.meta["error"])


def test_a_motion_that_diverges_is_an_error_that_names_dt_and_other_methods():
    stiff = cart(1.0, spring=Spring(1e8))
    with pytest.raises(SimulationError) as ended:
        stiff.simulate([1.0], duration=1.0)
    assert "dt" in str(ended.value) and "implicit" in str(ended.value)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_steps_end_at_the_breaks_of_a_law_in_python(method):
    """10 N for 0.1 ms in ten seconds."""
    law = kt.simulate.python(lambda t, q, dq: [10.0 if 5 <= t < 5.0001 else 0.0])
    motion = cart(1.0).simulate([0], duration=10, tau=law, breaks=[5, 5.0001], method=method)
    assert motion.dq[-1, 0] == pytest.approx(1e-3, rel=1e-6)


def test_forces_that_jump_back_and_forth_end_an_adaptive_run_with_an_error():
    with pytest.raises(SimulationError) as ended:
        cart().simulate([0], [1.0], duration=5, method="DOP853",
                        tau=lambda t, q, dq: -3 * where(dq > 0, 1, -1))  # fmt: skip
    assert "short" in str(ended.value) and "rail" in str(ended.value)


# splitting, shifting, batches, threads


@pytest.mark.parametrize("method", ALL)
def test_a_run_can_be_split_and_shifted(method):
    robot, run = double_pendulum(), by(method, H, **TIGHT)

    def shifted(start):
        return lambda t: np.array([sin(9 * (t + start)), cos(5 * (t + start))])

    whole = robot.simulate(*START, duration=128 * H, tau=shifted(0), **run)
    half = robot.simulate(*START, duration=64 * H, tau=shifted(0), **run)
    rest = robot.simulate(half.q[-1], half.dq[-1], duration=64 * H, tau=shifted(64 * H), **run)
    allowed = 1e-8 if method in ADAPTIVE else 1e-13
    np.testing.assert_allclose(half.q, whole.q[:65], atol=allowed)
    np.testing.assert_allclose(rest.q, whole.q[64:], atol=allowed)
    np.testing.assert_allclose(rest.tau, whole.tau[64:], atol=1e-12)


@pytest.mark.filterwarnings("ignore:the motion of")
@pytest.mark.parametrize("method", ORDERS)
def test_a_batch_is_its_rollouts_bit_for_bit_with_any_number_of_threads(method):
    rng = np.random.default_rng(0)
    robot = kt.robots.spatial_3r()
    robot = robot.with_friction({x: Friction(0.2, 1.0) for x in robot.joint_names})
    q0, dq0 = rng.normal(size=(37, 3)), rng.normal(size=(37, 3))
    law = controllers.PD(np.zeros(3), kp=40.0, kd=4.0, gravity=True)
    run = {"duration": 20 * H, "dt": H, "method": method, "controller": law, "limits": "ignore"}
    with kt.kernels.threads(1):
        one = robot.simulate(q0, dq0, **run)
    with kt.kernels.threads(2):
        two = robot.simulate(q0, dq0, **run)
    for name in ("q", "dq", "ddq", "tau"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    for k in (0, 17, 36):
        alone = robot.simulate(q0[k], dq0[k], **run)
        np.testing.assert_array_equal(alone.q, one.q[:, k])
        np.testing.assert_array_equal(alone.ddq, one.ddq[:, k])


def test_axes_of_a_batch_broadcast():
    robot, rng = double_pendulum(), np.random.default_rng(1)
    q0, tau = rng.normal(size=(3, 1, 2)), rng.normal(size=(5, 2))
    batch = robot.simulate(q0, START[1], tau=tau, duration=10 * H, dt=H, method="rk4")
    assert batch.q.shape == (11, 3, 5, 2) and batch.tau.shape == batch.q.shape
    alone = robot.simulate(q0[2, 0], START[1], tau=tau[4], duration=10 * H, dt=H, method="rk4")
    np.testing.assert_array_equal(batch.q[:, 2, 4], alone.q)


def test_parameters_of_a_batch_make_other_robots():
    """Carts of other masses, and of other friction, under the same force."""
    run = {"duration": 1, "dt": H, "method": "rk4"}
    masses = np.array([[1.0], [2.0], [4.0]])
    motion = cart(friction=Friction(0, 1.0)).simulate(
        [0], tau=[3.0], parameters={"mass": masses}, **run
    )
    np.testing.assert_allclose(motion.q[-1, :, 0], 1 / masses[:, 0], rtol=1e-9)
    friction = np.zeros((3, 1, 4))
    friction[:, 0, 2:] = np.array([1.0, 1.5, 6.0])[:, None]
    rubbed = cart().simulate([0], tau=[3.0], parameters={"friction": friction}, **run)
    np.testing.assert_allclose(rubbed.q[-1, :, 0], [0.5, 0.375, 0], rtol=1e-9)
    with pytest.raises(InputError):
        cart().simulate([0], parameters={"mass": [[-1.0]]}, **run)


def test_every_keeps_some_steps_and_the_last():
    robot, run = double_pendulum(), {"duration": 0.1005, "dt": 1e-3, "method": "rk4"}
    whole, some = robot.simulate(*START, **run), robot.simulate(*START, every=30, **run)
    assert whole.t[-1] == 0.1005 and len(whole) == 102
    kept = [0, 30, 60, 90, 101]
    for name in ("t", "q", "dq", "ddq"):
        np.testing.assert_array_equal(getattr(some, name), getattr(whole, name)[kept])
    true = exact(double_rate(), np.concatenate(START), whole.t)  # the last step is a shorter one
    np.testing.assert_allclose(whole.q, true[:, :2], atol=1e-9)


# dry friction


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("sense", [1, -1])
def test_a_cart_stops_where_its_energy_is_spent_and_stays(method, sense):
    """m v^2 / 2 = F s: from 1.5 m/s it takes 1 s and 0.75 m."""
    robot = cart(friction=Friction(coulomb=3.0))
    motion = robot.simulate([0], [1.5 * sense], duration=1.5, **by(method, 1e-3))
    assert motion.q[-1, 0] == pytest.approx(0.75 * sense, abs=off(method, 1e-6))
    rest = motion.t > 1.02
    assert (motion.dq[rest] == 0).all() and (motion.ddq[rest] == 0).all()
    assert (motion.dq * sense >= 0).all()


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "DOP853"])
def test_friction_holds_until_the_force_exceeds_it_which_may_differ_by_direction(method):
    robot, run = cart(friction=Friction(coulomb=3.0)), by(method, 1e-3)
    motion = robot.simulate([0], duration=1, tau=lambda t: np.array([5 * sin(t)]), **run)
    assert motion.t[np.argmax(motion.dq[:, 0] != 0)] == pytest.approx(np.arcsin(0.6), abs=0.003)
    # 2 v(1) is the integral of 5 sin t - 3 from asin 0.6
    speed = (5 * (0.8 - np.cos(1)) - 3 * (1 - np.arcsin(0.6))) / 2
    assert motion.dq[-1, 0] == pytest.approx(speed, abs=off(method, 1e-4))
    unequal = cart(friction=Friction(coulomb=(4.0, 1.0)))
    assert (unequal.simulate([0], duration=0.5, tau=[3.0], **run).q == 0).all()
    pulled = unequal.simulate([0], duration=0.5, tau=[-3.0], **run)
    assert pulled.q[-1, 0] == pytest.approx(-0.125, rel=5e-3)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "implicit", "DOP853"])
def test_an_oscillation_with_dry_friction_loses_two_offsets_a_half_period_and_sticks(method):
    m, k, c = 2.0, 50.0, 3.0
    robot = cart(m, spring=Spring(k), friction=Friction(coulomb=c))
    motion = robot.simulate([0.5], duration=3, **by(method, 1e-3))
    half, loss = round(np.pi * np.sqrt(m / k) * 1000), 2 * c / k
    turns = [0.5, -(0.5 - loss), 0.5 - 2 * loss, -(0.5 - 3 * loss), 0.5 - 4 * loss]
    found = [motion.q[min(j * half, 3000), 0] for j in range(5)]
    np.testing.assert_allclose(found, turns, atol=1e-2)
    assert abs(turns[-1]) < c / k and (motion.dq[-100:] == 0).all()


def stick_slip(pull, static, kinetic, speed, duration):
    """A mass of 1 kg with Stribeck friction on a pulled spring: phases of sticking and sliding."""
    stiffness, t, x, rows = 30.0, 0.0, 0.0, []

    def slide(t, y):
        level = kinetic + (static - kinetic) * np.exp(-((y[1] / speed) ** 2))
        return [y[1], stiffness * (pull * t - y[0]) - level]

    def stops(t, y):
        return y[1]

    stops.terminal, stops.direction = True, -1
    while t < duration:
        leaves = (static / stiffness + x) / pull
        rows.append((t, x))
        if leaves > duration:
            break
        found = solve_ivp(slide, (leaves, duration), [x, 1e-12], "Radau", rtol=1e-10, atol=1e-13,
                          events=stops, dense_output=True)  # fmt: skip
        t, x = found.t[-1], found.y[0, -1]
        rows += [(leaves, found.y[0, 0])]
        rows += [(s, found.sol(s)[0]) for s in np.linspace(leaves, t, 200)[1:]]
    return np.array(rows)


@pytest.mark.parametrize(
    ("method", "dt"), [("rk4", 2e-4), ("semi_implicit_euler", 2e-4), ("DOP853", 0.01)]
)
def test_stick_slip_follows_its_phases(method, dt):
    law = Friction(0, 2.0, stribeck=kt.friction.Stribeck(3.0, 0.05))
    motion = cart(1.0, friction=law).simulate(
        [0], duration=4, tau=lambda t, q, dq: 30.0 * (0.1 * t - q), **by(method, dt)
    )
    rows = stick_slip(0.1, 3.0, 2.0, 0.05, 4.0)
    expected = np.interp(motion.t, rows[:, 0], rows[:, 1])
    slips = np.flatnonzero(np.diff((motion.dq[:, 0] > 1e-6).astype(int)) == 1)
    assert len(slips) >= 2
    assert np.abs(motion.q[:, 0] - expected).max() < 0.02 * expected.max()


LUGRE = Friction(0.4, 1.0, stribeck=kt.friction.Stribeck(1.5, 1e-3), presliding=LuGre(1e4, 100.0))


@pytest.mark.parametrize(
    ("method", "dt", "error"),
    [("Radau", 1e-2, 1e-3), ("rk4", 1e-4, 1e-3), ("implicit", 1e-4, 1e-2)],
)
def test_lugre_friction_follows_small_steps(method, dt, error):
    def pull(t):
        return 1.45 * math.sin(4 * math.pi * t)

    x = v = z = 0.0
    h, rows = 1e-5, []
    for k in range(40001):
        if k % 1000 == 0:
            rows.append((x, z))
        level = 1 + 0.5 * math.exp(-((v / 1e-3) ** 2))
        rate = v - 1e4 * abs(v) * z / level
        a = pull(k * h) - 1e4 * z - 100 * rate - 0.4 * v
        x, v, z = x + h * v, v + h * a, z + h * rate
    motion = cart(1.0, friction=LUGRE).simulate(
        [0], duration=0.4, tau=lambda t: [1.45 * sin(4 * math.pi * t)], **by(method, dt)
    )
    x, z = np.array(rows).T
    every = round(1e-2 / dt)
    assert np.abs(motion.q[::every, 0] - x).max() < error * np.abs(x).max()
    bristle = motion.meta["friction_state"]["rail"][::every]
    assert np.abs(bristle - z).max() < 10 * error * np.abs(z).max()


def test_dahl_friction_is_a_function_of_position_between_reversals():
    law = Friction(0, 2.0, presliding=Dahl(400.0))
    motion = cart(1.0, friction=law).simulate(
        [0], duration=3, tau=lambda t: [2.2 * sin(3 * t)], **by("DOP853", 2e-3)
    )
    x, b = motion.q[:, 0], 400 * motion.meta["friction_state"]["rail"]
    way = np.sign(motion.dq[:, 0])
    turns = np.flatnonzero(np.diff(way[1:])) + 2
    assert len(turns) >= 2
    for first, last in zip(turns, [*turns[1:], len(x)], strict=True):
        part = slice(first, last - 1)
        left = (1 - way[first] * b[first] / 2) * np.exp(-200 * np.abs(x[part] - x[first]))
        np.testing.assert_allclose(b[part], way[first] * 2 * (1 - left), atol=1e-5)


def test_friction_holds_a_pendulum_up_to_its_level():
    robot = pendulum(1.0, 0.5, 0.0, friction=Friction(0, 1.0))
    held = robot.simulate([0.2], duration=0.5, dt=1e-3, method="rk4")
    assert (held.q == 0.2).all()  # 9.81 * 0.5 * sin 0.2 = 0.97 N m
    swings = robot.simulate([0.21], duration=0.01, dt=1e-4, method="rk4")
    a = -(9.81 * 0.5 * np.sin(0.21) - 1.0) / 0.25
    assert swings.ddq[0, 0] == pytest.approx(a, rel=1e-9)
    assert swings.dq[-1, 0] == pytest.approx(a * 0.01, rel=1e-3)


def test_held_joints_feel_the_others():
    """A knee that friction holds is a rigid knee."""
    robot = double_pendulum(second={"friction": Friction(coulomb=30.0)})
    rigid = robot.lock({"knee": 0.0})
    run = {"duration": 1, "dt": 1e-3, "method": "rk4"}
    motion, alone = robot.simulate([1.0, 0.0], **run), rigid.simulate([1.0], **run)
    assert (motion.q[:, 1] == 0).all()
    np.testing.assert_allclose(motion.q[:, 0], alone.q[:, 0], atol=1e-9)


def test_what_friction_takes_is_its_work():
    robot = double_pendulum(*[{"friction": Friction(0.1, 0.3)}] * 2)
    motion = robot.simulate(*START, duration=2, dt=1e-3, method="rk4")
    lost = energy(robot, motion)[0] - energy(robot, motion)[-1]
    speed = np.abs(motion.dq)
    work = np.trapezoid((0.3 * speed + 0.1 * speed**2).sum(-1), motion.t)
    assert lost == pytest.approx(work, rel=2e-4)


# sensitivities


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
def test_sensitivities_are_differences_of_motions(method):
    robot = double_pendulum(*[{"friction": Friction(0.3)}] * 2)
    tau, mass, h = np.array([1.0, -0.5]), robot.model.m, 1e-5
    run = {"duration": 0.2, "dt": 0.01, "method": method}
    found = kt.simulate.sensitivities(
        robot, *START, tau=tau, wrt=("q0", "dq0", "tau", "mass"), **run
    )
    at = {"q0": START[0], "dq0": START[1], "tau": tau, "mass": mass}

    def states(values):
        motion = robot.simulate(values["q0"], values["dq0"], tau=values["tau"],
                                parameters={"mass": values["mass"]}, **run)  # fmt: skip
        return np.hstack([motion.q, motion.dq])

    for name, value in at.items():
        slopes = found.by(name)
        for k in range(len(value)):
            step = h * np.eye(len(value))[k]
            ends = [states(at | {name: value + s * step}) for s in (1, -1)]
            expected = (ends[0] - ends[1]) / (2 * h)
            np.testing.assert_allclose(slopes[..., k], expected, atol=2e-7, err_msg=name)


@pytest.mark.filterwarnings("ignore:the motion of")
@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
def test_sensitivities_pass_through_controllers_and_samples_of_signals(method):
    robot, rng = double_pendulum(), np.random.default_rng(0)
    law, times = controllers.PD([0.2, -0.1], kp=20.0, kd=3.0), np.array([0, 0.05, 0.1])
    values, q0, h = rng.normal(size=(3, 2)), np.array([START[0], -START[0]]), 1e-5
    run = {"duration": 0.12, "dt": 0.01, "method": method, "controller": law}
    found = kt.simulate.sensitivities(
        robot, q0, START[1], wrt=("q0", "tau"), tau=signal(times, values), **run
    )

    def ends(q0, values):
        motion = robot.simulate(q0, START[1], tau=signal(times, values), **run)
        return np.concatenate([motion.q[-1], motion.dq[-1]], axis=-1)

    for k in range(2):
        step = h * np.eye(2)[k]
        expected = (ends(q0 + step, values) - ends(q0 - step, values)) / (2 * h)
        np.testing.assert_allclose(found.by("q0")[-1, ..., k], expected, atol=1e-7)
        for row in range(3):
            moved = np.zeros((3, 2))
            moved[row] = step
            expected = (ends(q0, values + moved) - ends(q0, values - moved)) / (2 * h)
            slopes = found.by("tau")[-1].reshape(2, 4, 3, 2)
            np.testing.assert_allclose(slopes[..., row, k], expected, atol=1e-7)


def test_linearizations_are_differences_of_accelerations():
    robot, tau = double_pendulum(), np.array([1.0, -0.5])
    found = robot.linearize(*START, tau)
    h, n = 1e-6, 2
    for k in range(2 * n):
        step = h * np.eye(4)[k]
        ends = [double_acceleration(START[0] + s * step[:2], START[1] + s * step[2:], tau)
                for s in (1, -1)]  # fmt: skip
        np.testing.assert_allclose(found.A[n:, k], (ends[0] - ends[1]) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(found.B[n:], np.linalg.inv(double_mass_matrix(START[0])), atol=1e-10)
    np.testing.assert_allclose(found.A[:n], np.eye(2, 4, 2), atol=1e-12)


def test_an_unstable_controller_is_named_where_stops_keep_the_motion_finite():
    robot = kt.robots.panda()
    q = np.array([0, -0.3, 0, -2, 0, 1.8, 0.5])
    law = kt.controllers.PD(q, kp=600.0, kd=50.0, gravity=True)
    with pytest.warns(KinetreeWarning, match="times its velocity limit"):
        robot.simulate(q + 0.1, controller=law, duration=1.0)
