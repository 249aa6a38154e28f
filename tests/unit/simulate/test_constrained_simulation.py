"""Simulation of robots with constraints, against minimal coordinates and its own laws."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from closed_loops import (
    CONNECTING_ROD,
    CRANK,
    four_bar,
    four_bar_position,
    slider_crank,
    slider_crank_position,
    tied_robot,
)
from kinetree import algorithms
from kinetree.errors import InputError
from kinetree.simulate import SimulationError
from kinetree.simulate.core.closure import PLAIN_STARTS, check_start

FIXED = ("euler", "semi_implicit_euler", "rk4")
CRANKED, BARS = slider_crank(actuated=["crank"]), four_bar()
PUSH = np.array([0.4, 0.0, 0.0])  # N m on the crank
OPEN = np.array([0.0, 0.0, 0.01])  # m, of the slider


def start(robot, angle, rate):
    """A state on the constraints with a rate of the crank."""
    four = robot.name == "four_bar"
    q = four_bar_position(robot, angle) if four else slider_crank_position(angle)
    slope = np.linalg.lstsq(
        np.vstack([robot.constraint_jacobian(q), [1, 0, 0]]),
        [*np.zeros(len(robot.mobility.rows)), rate],
        rcond=None,
    )[0]
    return q, slope


def energy(robot, motion):
    return robot.kinetic_energy(motion.q, motion.dq) + robot.potential_energy(motion.q)


def rates_off(robot, motion):
    return np.abs(np.einsum("...ij,...j->...i", robot.constraint_jacobian(motion.q), motion.dq))


def crank_of_minimal_coordinates(angle, rate, t, torque):
    """Angle and rate of the slider-crank's crank, from one equation of motion by SciPy.

    Lengths, masses and inertias are those of closed_loops; energies are written in the angle a of
    the crank, and the equation follows from T = m(a) a'^2 / 2 and V(a):
    m a'' + m' a'^2 / 2 + V' = torque.
    """
    r, L, g, I = CRANK, CONNECTING_ROD, 9.81, 0.03

    def inertia(a):
        s, c = np.sin(a), np.cos(a)
        cb = np.sqrt(1 - (r * s / L) ** 2)
        db = -r * c / (L * cb)  # of the angle b of the rod, sin b = -r sin a / L
        sb = -r * s / L
        rod = np.array([-r * s - L / 2 * sb * db, r * c + L / 2 * cb * db])
        slide = -r * s - L * sb * db
        return I + 1.2 * (r / 2) ** 2 + I * db**2 + 0.7 * (rod @ rod) + 2.0 * slide**2

    def rate_of(_, x):
        a, w = x
        h = 1e-5  # of a difference of order 8
        taps = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
        e = 100 * h
        slope = sum(c * (inertia(a + k * e) - inertia(a - k * e)) for k, c in taps.items()) / e
        # heights: r sin a / 2 for the crank, r sin a + L sin b / 2 = r sin a / 2 for the rod
        pull = g * np.cos(a) * r / 2 * (1.2 + 0.7)
        return [w, (torque - pull - slope * w * w / 2) / inertia(a)]

    found = solve_ivp(rate_of, (0, t[-1]), [angle, rate], "DOP853", t, rtol=1e-13, atol=1e-13)
    return found.y


def test_slider_crank_moves_as_in_minimal_coordinates():
    q, dq = start(CRANKED, 0.4, 9.0)
    motion = CRANKED.simulate(q, dq, duration=2.0, dt=0.05, tau=PUSH, rtol=1e-12, atol=1e-12)
    a, w = crank_of_minimal_coordinates(0.4, 9.0, motion.t, PUSH[0])
    assert a[-1] > 4 * np.pi  # more than two turns
    np.testing.assert_allclose(motion.q[:, 0], a, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion.dq[:, 0], w, rtol=0, atol=1e-8)
    expected = [slider_crank_position(x)[2] for x in a]
    np.testing.assert_allclose(motion.q[:, 2], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method, order", [("euler", 1), ("semi_implicit_euler", 1), ("rk4", 4)])
def test_fixed_steps_converge_with_their_order(method, order):
    q, dq = start(CRANKED, 0.4, 3.0)
    (exact, _) = crank_of_minimal_coordinates(0.4, 3.0, np.array([0.0, 0.4]), PUSH[0])
    steps = (0.02, 0.01) if order == 4 else (0.001, 0.0005)
    off = [
        abs(
            CRANKED.simulate(q, dq, duration=0.4, dt=h, tau=PUSH, method=method).q[-1, 0] - exact[1]
        )
        for h in steps
    ]
    assert 2 ** (order - 0.3) < off[0] / off[1] < 2 ** (order + 0.3)


def test_four_bar_keeps_energy_and_closure_for_a_hundred_turns():
    q, dq = start(BARS, 0.5, 14.0)
    motion = BARS.simulate(q, dq, duration=51.0, dt=2e-4, method="rk4", every=500)
    turns = (motion.q[-1, 0] - q[0]) / (2 * np.pi)
    total = energy(BARS, motion)
    assert turns > 100
    assert np.ptp(total) < 1e-8 * total[0]
    assert motion.meta["closure"].max() < 1e-10
    assert rates_off(BARS, motion).max() < 1e-8


def test_adaptive_steps_keep_energy_and_closure():
    q, dq = start(BARS, 0.5, 12.0)
    motion = BARS.simulate(q, dq, duration=5.0, rtol=1e-12, atol=1e-12)
    total = energy(BARS, motion)
    assert motion.q[-1, 0] - q[0] > 8 * 2 * np.pi
    assert np.ptp(total) < 1e-10 * total[0]
    assert motion.meta["closure"].max() < 1e-12
    assert rates_off(BARS, motion).max() < 1e-11


@pytest.mark.parametrize("method", FIXED)
def test_projection_bounds_the_closure_of_many_steps(method):
    q, dq = start(BARS, 0.5, 4.0)
    damped = BARS.with_friction({"crank": kt.Friction(viscous=0.3)})
    motion = damped.simulate(q, dq, duration=20.0, dt=0.001, method=method, every=10)
    assert motion.meta["closure"].max() < 1e-10
    assert rates_off(damped, motion).max() < 1e-8


def test_the_time_constant_bounds_the_closure_and_agrees_with_projection():
    q, dq = start(BARS, 0.5, 4.0)
    options = {"duration": 2.0, "dt": 0.001, "method": "rk4"}
    projected = BARS.simulate(q, dq, **options)
    pulled = BARS.simulate(q, dq, closure_time=0.02, **options)
    assert 0 < pulled.meta["closure"].max() < 1e-8
    np.testing.assert_allclose(pulled.q, projected.q, rtol=0, atol=1e-7)


def test_an_error_decays_with_the_time_constant():
    """Phi'' + 2 Phi'/T + Phi/T^2 = 0 from Phi = e at rest: e (1 + t/T) exp(-t/T)."""
    q, _ = start(BARS, 0.5, 0.0)
    opened = q + np.array([0, 0, 5e-9])
    e = BARS.constraint_errors(opened)
    motion = BARS.simulate(
        opened, duration=0.3, dt=0.001, method="rk4", closure_time=0.1, tau=np.zeros(3)
    )
    t = motion.t[:, None] / 0.1
    rows = np.abs(e) > 1e-10
    found = np.array([BARS.constraint_errors(x) for x in motion.q])[:, rows]
    np.testing.assert_allclose(found, (e * (1 + t) * np.exp(-t))[:, rows], atol=3e-10)
    assert rows.any()


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_the_recorded_forces_and_accelerations_are_those_of_the_states(method):
    q, dq = start(CRANKED, 1.0, 5.0)
    motion = CRANKED.simulate(q, dq, duration=0.5, dt=0.01, tau=PUSH, method=method)
    ddq, lam, _ = CRANKED.constrained_forward_dynamics(motion.q, motion.dq, motion.tau)
    np.testing.assert_allclose(motion.ddq, ddq, rtol=1e-10, atol=1e-9)
    assert list(motion.meta["constraint_forces"]) == ["loop"]
    found = motion.meta["constraint_forces"]["loop"]
    np.testing.assert_allclose(found, lam, rtol=1e-9, atol=1e-9)
    errors = np.abs(CRANKED.constraint_errors(motion.q)).max(-1)
    np.testing.assert_allclose(motion.meta["closure"], errors, atol=1e-13)


@pytest.mark.parametrize("method", ["dop853", "rk4", "semi_implicit_euler"])
def test_a_run_can_be_split(method):
    q, dq = start(BARS, 0.5, 4.0)
    options = {"dt": 0.01 if method == "dop853" else 0.001, "method": method}
    options |= {"rtol": 1e-12, "atol": 1e-12}
    whole = BARS.simulate(q, dq, duration=1.0, **options)
    first = BARS.simulate(q, dq, duration=0.5, **options)
    second = BARS.simulate(first.q[-1], first.dq[-1], duration=0.5, **options)
    np.testing.assert_allclose(second.q[-1], whole.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(second.dq[-1], whole.dq[-1], rtol=0, atol=1e-9)


def test_a_shift_of_time_shifts_the_motion():
    q, dq = start(CRANKED, 0.4, 0.0)

    def later(t, q, dq):
        return np.array([kt.scalars.sin((t - 0.25) * 5) * 3, 0 * t, 0 * t])

    def now(t, q, dq):
        return np.array([kt.scalars.sin(t * 5) * 3, 0 * t, 0 * t])

    options = {"rtol": 1e-11, "atol": 1e-12, "dt": 0.05}
    whole = CRANKED.simulate(q, dq, duration=1.0, tau=later, **options)
    k = 5  # the sample at 0.25 s
    rest = CRANKED.simulate(whole.q[k], whole.dq[k], duration=0.75, tau=now, **options)
    np.testing.assert_allclose(rest.q, whole.q[k:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_the_motion_does_not_depend_on_which_joint_is_cut(method):
    other = four_bar("ground")
    q, dq = start(BARS, 0.5, 4.0)
    p = other.project([q[0], q[1], q[2] - q[0] - q[1]], keep=["crank"])
    dp = start_rates(other, p, dq[0])
    options = {"duration": 1.0, "dt": 0.002, "method": method, "rtol": 1e-11, "atol": 1e-12}
    one, two = BARS.simulate(q, dq, **options), other.simulate(p, dp, **options)
    np.testing.assert_allclose(one.q[:, :2], two.q[:, :2], rtol=0, atol=1e-8)
    np.testing.assert_allclose(energy(BARS, one), energy(other, two), rtol=1e-7)


def start_rates(robot, q, rate):
    """Rates that the constraints allow, with a rate of the crank."""
    N = robot.reduced_dynamics(q, np.zeros(robot.n))[2][:, 0]
    return N / N[0] * rate


@pytest.mark.parametrize("seed", [0, 2])
def test_random_mechanisms_keep_energy_without_friction(seed):
    """Quaternions, mimic joints, springs, rods, couples and holds: nothing dissipates."""
    tree, given, q = tied_robot(seed)
    smooth = tree.with_friction({x.name: kt.Friction() for x in tree.model.joints})
    robot = smooth.constrained(given, near=q)
    q, dq = algorithms.project(robot.model, q), np.random.default_rng(seed).normal(size=robot.n)
    dq = algorithms.project_rates(robot.model, q, dq * 0.3)
    options = {"duration": 0.3, "limits": "ignore", "rtol": 1e-11, "atol": 1e-12}
    motion = robot.simulate(q, dq, **options)
    total = energy(robot, motion)
    size = 1 + np.abs(robot.kinetic_energy(motion.q, motion.dq)).max()
    assert np.ptp(total) < 1e-8 * size
    assert motion.meta["closure"].max() < 1e-9


@pytest.mark.parametrize("method", FIXED)
def test_steps_are_those_of_simulate_and_of_the_textbook(method):
    q, dq = start(BARS, 0.5, 4.0)
    motion = BARS.simulate(q, dq, duration=0.02, dt=0.001, tau=PUSH, method=method)
    x = q, dq
    for k, h in enumerate(np.diff(motion.t)):
        y = algorithms.step(BARS.model, *x, PUSH, h, method=method)
        x = BARS.step(*x, PUSH, h, method=method)
        np.testing.assert_allclose(y[0], x[0], rtol=0, atol=1e-13)
        np.testing.assert_allclose(y[1], x[1], rtol=0, atol=1e-12)
        assert np.array_equal(x[0], motion.q[k + 1])
        assert np.array_equal(x[1], motion.dq[k + 1])


def test_a_batch_is_its_rollouts():
    states = [start(BARS, 0.5, 4.0), start(BARS, 1.5, -2.0)]
    q, dq = (np.array(x) for x in zip(*states, strict=True))
    for method in ("dop853", "rk4"):
        both = BARS.simulate(q, dq, duration=0.2, dt=0.01, method=method)
        for k, state in enumerate(states):
            one = BARS.simulate(*state, duration=0.2, dt=0.01, method=method)
            np.testing.assert_allclose(both.q[:, k], one.q, rtol=0, atol=1e-9)
            forces = both.meta["constraint_forces"]["loop"][:, k]
            np.testing.assert_allclose(forces, one.meta["constraint_forces"]["loop"], atol=1e-5)
        assert both.meta["closure"].shape == (len(both.t), 2)


def test_events_are_found_on_the_constraints():
    q, dq = start(CRANKED, 0.4, 9.0)
    stop = kt.simulate.event(lambda t, q, dq: q[2] - 0.8, terminal=True)
    motion = CRANKED.simulate(q, dq, duration=2.0, events=stop)
    (found,) = motion.meta["events"]
    assert abs(found.q[2] - 0.8) < 1e-9
    assert np.abs(CRANKED.constraint_errors(found.q)).max() < 1e-12
    assert motion.t[-1] == motion.meta["ended"] == found.t


def test_a_law_in_python_moves_the_robot_as_a_compiled_one():
    q, dq = start(CRANKED, 0.4, 2.0)

    def opaque(t, q, dq):
        return np.array([3 - 2 * float(dq[0]), 0.0, 0.0])

    def traced(t, q, dq):
        return np.array([3 - 2 * dq[0], 0, 0])

    for method in ("dop853", "rk4"):
        options = {"duration": 0.3, "dt": 0.01, "method": method}
        slow = CRANKED.simulate(q, dq, tau=opaque, **options)
        fast = CRANKED.simulate(q, dq, tau=traced, **options)
        assert not slow.meta["compiled"] and fast.meta["compiled"]
        np.testing.assert_allclose(slow.q, fast.q, rtol=0, atol=1e-9)
        for x, y in zip(
            slow.meta["constraint_forces"]["loop"], fast.meta["constraint_forces"]["loop"],
            strict=True,
        ):  # fmt: skip
            np.testing.assert_allclose(x, y, atol=1e-6)


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_actuators_and_drives_act_through_the_loop(method):
    """A servo of the crank with a limited drive is the law that it stands for."""
    q, dq = start(CRANKED, 0.4, 2.0)
    servo = kt.Actuator.position("crank", kp=20, kd=1)
    driven = CRANKED.with_drives({"crank": kt.Drive(peak=6)}).with_actuators({"servo": servo})

    def law(t, q, dq):
        return np.array([kt.scalars.clip(20 * (1.2 - q[0]) - dq[0], -6, 6), 0, 0])

    options = {"duration": 0.5, "dt": 0.01, "method": method}
    one = driven.simulate(q, dq, controls=[1.2], **options)
    two = CRANKED.simulate(q, dq, tau=law, **options)
    assert 0 < (np.abs(one.tau[:, 0]) == 6).sum() < len(one.t)
    np.testing.assert_allclose(one.q, two.q, rtol=0, atol=1e-6)
    np.testing.assert_allclose(one.tau, two.tau, rtol=0, atol=1e-4)
    np.testing.assert_allclose(
        one.meta["constraint_forces"]["loop"], two.meta["constraint_forces"]["loop"], atol=1e-3
    )
    assert one.meta["controls"]["servo"].shape == one.t.shape


def test_the_derivative_of_a_step_follows_the_constraints():
    """Changes of the end are tangent to the constraints, and equal differences along them."""
    q, dq = start(CRANKED, 0.4, 2.0)
    step = CRANKED.derivative("step_rk4", ["tau"])
    by_tau = [np.asarray(x) for x in step(q, dq, PUSH, 0.01)]
    e = 1e-3  # the end is nearly linear in tau
    ends = [CRANKED.step(q, dq, PUSH * (1 + x), 0.01, method="rk4") for x in (e, -e)]
    for found, plus, minus in zip(by_tau, *ends, strict=True):
        np.testing.assert_allclose(
            found[:, 0], (plus - minus) / (2 * e * PUSH[0]), rtol=1e-6, atol=1e-9
        )
    end = CRANKED.step(q, dq, PUSH, 0.01, method="rk4")[0]
    assert np.abs(CRANKED.constraint_jacobian(end) @ by_tau[0]).max() < 1e-12


def test_damping_takes_the_energy_that_the_balance_shows():
    q, dq = start(BARS, 0.5, 6.0)
    damped = BARS.with_friction({"rocker": kt.Friction(viscous=0.5)})
    motion = damped.simulate(q, dq, duration=1.0, dt=0.001, rtol=1e-11, atol=1e-12)
    found = motion.energy()
    total = energy(damped, motion)
    lost = 0.5 * motion.dq[:, 2] ** 2
    expected = np.concatenate([[0], np.cumsum((lost[1:] + lost[:-1]) / 2 * np.diff(motion.t))])
    np.testing.assert_allclose(total[0] - total, expected, atol=1e-5)
    assert total[-1] < total[0] - 0.1
    assert str(found)


def test_a_limit_of_a_joint_ends_the_motion():
    tree = slider_crank_with_limits()
    q, dq = start(tree, 0.4, 9.0)
    with pytest.raises(SimulationError, match=r"position of joint 'slide'.*beyond its limit"):
        tree.simulate(q, dq, duration=2.0, method="rk4")
    motion = tree.simulate(q, dq, duration=0.5, method="rk4", limits="record")
    assert {v.joint for v in motion.meta["violations"]} == {"slide"}


def slider_crank_with_limits():
    """The slider-crank with a stop of the slider at 0.9 m."""
    stop = kt.Limits(lower=0.9)
    builder = kt.Builder("limited", gravity=(0, -9.81, 0)).link("base")
    builder.link("arm", m=1.2, com=(0.15, 0, 0), I_com=0.02 * np.eye(3))
    builder.link("bar", m=0.7, com=(0.4, 0, 0), I_com=0.02 * np.eye(3))
    builder.link("block", m=2.0, I_com=0.02 * np.eye(3))
    builder.joint("crank", "revolute", "base", "arm")
    builder.joint("rod", "revolute", "arm", "bar", at=(CRANK, 0, 0))
    builder.joint("slide", "prismatic", "base", "block", axis=(1, 0, 0), limits=stop)
    builder.frame("tip", "bar", (CONNECTING_ROD, 0, 0))
    return builder.build().constrained({"pin": kt.constraints.Loop("block", "tip", "axis")})


def test_a_start_off_the_constraints_is_refused_with_the_residual_and_the_way_out():
    q, dq = start(CRANKED, 0.4, 2.0)
    with pytest.raises(
        InputError, match=r"q0 does not satisfy.*'loop' is open by 0\.01 .*linear_.*robot\.project"
    ):
        CRANKED.simulate(q + OPEN, dq, duration=0.1)
    with pytest.raises(
        InputError, match=r"dq0 breaks.* in rollout \[1\].*'loop' opens at .*robot\.project_rates"
    ):
        CRANKED.simulate([q, q], [dq, dq + 10 * OPEN[::-1]], duration=0.1)
    with pytest.raises(InputError, match=r"dq0 breaks .*'slider_crank': constraint 'loop' opens"):
        CRANKED.simulate(q, dq + 10 * OPEN[::-1], duration=0.1)
    assert CRANKED.simulate(CRANKED.project(q + OPEN), duration=0.1).t[-1] == 0.1


def test_the_first_starts_are_judged_as_all_others():
    robot = four_bar()
    q, dq = start(robot, 0.4, 2.0)
    refused = {"q0 does not": (q + OPEN, dq), "dq0 breaks": (q, dq + OPEN), "": (q, dq)}
    messages: dict[str, set[str]] = {}
    for _ in range(PLAIN_STARTS):  # the last two thirds by kernels
        for words, state in refused.items():
            try:
                check_start(robot.model, *state)
                message = ""
            except InputError as error:
                message = str(error)
            assert message.startswith(words)
            messages.setdefault(words, set()).add(message)
    assert all(len(found) == 1 for found in messages.values())
    alone = four_bar()
    assert not [x for x in alone.model.memo if "constraint_errors" in str(x)]
    check_start(alone.model, q, dq)
    assert not [x for x in alone.model.memo if "constraint_errors" in str(x)]
    assert [x for x in robot.model.memo if "constraint_errors" in str(x)]


MASSES = np.array([[1.2, 0.7, 2.0], [2.5, 1.4, 0.8]])


def with_masses(robot, mass):
    """The robot with other masses, built anew."""
    return kt.Robot(robot.model.replace(m=mass))


def apart(method, **options):
    """How far rollouts with masses as parameters are from robots with these masses."""
    q, dq = start(CRANKED, 0.4, 5.0)
    options = {"duration": 0.5, "method": method, **options}
    both = CRANKED.simulate(q, dq, parameters={"mass": MASSES}, **options)
    own = [with_masses(CRANKED, mass).simulate(q, dq, **options) for mass in MASSES]
    assert both.meta["closure"].max() < 1e-12
    assert np.abs(own[0].q - own[1].q).max() > 0.1
    return [np.abs(both.q[:, k] - motion.q).max() for k, motion in enumerate(own)]


@pytest.mark.parametrize("method", [*FIXED, "implicit", "implicitfast"])
def test_a_step_from_an_open_state_is_not_a_number(method):
    """`simulate` refuses such a start; a kernel cannot raise an error, and must not repair it."""
    q, dq = start(CRANKED, 0.7, 2.0)
    push = np.zeros(3)
    turned = np.array([0.0, 0.0, 0.1])  # m/s of the slider, against the loop
    states = np.stack([q, q + OPEN, q, q + OPEN * 1e-7]), np.stack([dq, dq, dq + turned, dq])
    found = np.stack(CRANKED.step(*states, push, 1e-3, method=method))
    assert np.isnan(found).all(axis=(0, 2)).tolist() == [0, 1, 1, 0]
    assert np.isfinite(found[:, [0, 3]]).all()
    single = [np.asarray(x, np.float32) for x in (q, dq, push)]
    assert np.isfinite(CRANKED.step(*single, np.float32(1e-3), method=method)).all()
    single[0] = single[0] + OPEN.astype(np.float32)
    assert np.isnan(CRANKED.step(*single, np.float32(1e-3), method=method)).all()


def test_masses_can_be_parameters_of_a_batch():
    assert max(apart("dop853", rtol=1e-11, atol=1e-12, dt=0.05)) < 1e-9


def test_masses_as_parameters_keep_the_order_of_a_method():
    """States are projected with the masses of the robot itself, which costs a part of the error."""
    long, short = apart("rk4", dt=0.002), apart("rk4", dt=0.001)
    assert long[0] < 1e-12 and short[0] < 1e-12  # the robot's own masses
    assert 1e-11 < short[1] < 1e-9 and 13 < long[1] / short[1] < 19


@pytest.mark.parametrize("method", ["semi_implicit_euler", "implicitfast"])
def test_gravity_can_be_a_parameter(method):
    q, dq = start(BARS, 0.5, 4.0)
    options = {"duration": 0.2, "dt": 0.001, "method": method}
    both = BARS.simulate(q, dq, parameters={"gravity": [[0, -9.81, 0], [3, 0, 0]]}, **options)
    moon = kt.Robot(BARS.model.replace(gravity=np.array([0, 0, 0, 3.0, 0, 0])))
    for k, robot in enumerate((BARS, moon)):
        own = robot.simulate(q, dq, **options)
        np.testing.assert_allclose(both.q[:, k], own.q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(
            both.meta["constraint_forces"]["loop"][:, k], own.meta["constraint_forces"]["loop"],
            atol=1e-8,
        )  # fmt: skip


def test_masses_of_a_compiled_step_are_arguments():
    q, dq = start(CRANKED, 0.4, 5.0)
    free = CRANKED.compile("forward_dynamics", free=["mass"])
    other = with_masses(CRANKED, MASSES[1])
    np.testing.assert_allclose(
        free(q, dq, PUSH, MASSES[1]), other.forward_dynamics(q, dq, PUSH), rtol=1e-11, atol=1e-11
    )
    step = CRANKED.compile("step_rk4", free=["mass"])
    for x, y in zip(
        step(q, dq, PUSH, 1e-3, MASSES[1]), other.step(q, dq, PUSH, 1e-3, method="rk4"), strict=True
    ):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-10)


@pytest.mark.parametrize("limits", ["stop", "record", "ignore"])
def test_constraints_that_cannot_be_closed_end_the_motion_by_name(limits):
    """Steps far too long for the motion leave the reach of the projection."""
    q, dq = start(BARS, 0.5, 40.0)
    with pytest.raises(SimulationError, match=r"(equation 'loop\.\w+' of the constraints|not fin)"):
        BARS.simulate(q, dq, duration=3.0, dt=0.1, method="euler", limits=limits)


REFUSED = {
    "parameters": (
        lambda: BARS.simulate(
            start(BARS, 0.5, 0.0)[0], duration=1, parameters={"friction": np.zeros((3, 4))}
        ),
        InputError,
        r"friction is given as an argument.*'four_bar' has constraints.*robot\.with_friction",
    ),
    "free step": (
        lambda: BARS.compile("step_rk4", free=["friction"]),
        InputError,
        r"friction is given as an argument.*constraints",
    ),
    "time constant of adaptive steps": (
        lambda: BARS.simulate(start(BARS, 0.5, 0.0)[0], duration=1, closure_time=0.1),
        InputError,
        r"closure_time is for fixed steps; method 'auto'",
    ),
    "time constant too short": (
        lambda: BARS.simulate(
            start(BARS, 0.5, 0.0)[0], duration=1, dt=0.01, method="rk4", closure_time=0.01
        ),
        InputError,
        r"closure_time is 0\.01 s with steps of 0\.01 s; expected at least 2 steps, 0\.02 s",
    ),
    "time constant of a tree": (
        lambda: kt.robots.planar_2r().simulate(
            [0.0, 0.0], duration=1, method="rk4", closure_time=0.1
        ),
        InputError,
        r"has no constraints",
    ),
    "no time": (
        lambda: BARS.simulate(
            start(BARS, 0.5, 0.0)[0], duration=1, method="rk4", closure_time=-1.0
        ),
        InputError,
        r"closure_time",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_motions_that_would_be_wrong_are_refused(case):
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call()
