"""Implicit steps of robots with constraints, against dense equations in NumPy and by their laws."""

import numpy as np
import pytest

import kinetree as kt
from closed_loops import (
    four_bar,
    four_bar_position,
    slider_crank,
    slider_crank_position,
    tied_robot,
)
from kinetree import algorithms, controllers
from kinetree.algorithms.joints.gains import Gains
from kinetree.scalars import sin
from kinetree.simulate import SimulationError

METHODS = {"implicit": True, "implicitfast": False}  # whether positions count
ROBOT = slider_crank(actuated=["crank"]).with_friction({"slide": kt.Friction(viscous=2.0)})
Q = slider_crank_position(0.7)
DQ = ROBOT.project_rates(Q, [2.0, 0.0, 0.0])
PUSH = np.array([3.0, 0.0, 0.0])
GOAL = slider_crank_position(1.2)


def end_of_a_step(model, q, dq, tau, h, kp, kd, damping, stiffness):
    """Rates after a step, before they are projected: dense equations, in the null space of J."""
    J = algorithms.constraint_jacobian(model, q)
    M_h = algorithms.mass_matrix(model, q) + h * (damping + kd) + h * h * (stiffness + kp)
    b = tau - algorithms.bias_forces(model, q, dq) - h * (stiffness + kp) @ dq
    _, sizes, basis = np.linalg.svd(J)
    N = basis[(sizes > 1e-9).sum() :].T
    nu = np.linalg.pinv(J, rcond=1e-9) @ -algorithms.constraint_bias(model, q, dq)
    return dq + h * (nu + N @ np.linalg.solve(N.T @ M_h @ N, N.T @ (b - M_h @ nu)))


def assert_projected(model, end, rates):
    """The end of a step is closed, and its rates are the nearest allowed ones."""
    q, dq = end
    assert np.abs(algorithms.constraint_errors(model, q)).max() < 1e-10
    projected = algorithms.project_rates(model, q, rates)
    np.testing.assert_allclose(dq, projected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("method, seed", [("implicit", 0), ("implicitfast", 2)])
def test_a_step_solves_the_dense_equations(method, seed):
    """Random mechanisms with quaternions, mimic joints and springs, and slopes of tau."""
    tree, given, q = tied_robot(seed)
    own = [x.name for x in tree.model.joints if x.follows is None and len(x.dofs) == 1]
    smooth = {x.name: kt.Friction() for x in tree.model.joints}
    tree = tree.with_friction({**smooth, own[0]: kt.Friction(viscous=5.0)})
    robot, rng = tree.constrained(given, near=q), np.random.default_rng(seed)
    q = algorithms.project(robot.model, q)
    dq = algorithms.project_rates(robot.model, q, 0.3 * rng.normal(size=robot.n))
    tau, h = rng.normal(size=robot.n), 1e-3
    kp, kd = 10 ** rng.uniform(1, 5, (2, robot.n))
    kp = kp * METHODS[method]
    e = np.eye(robot.n) * 1e-6
    model, bare = robot.model, tree.with_friction(smooth).constrained(given, near=q).model

    def differences(function):
        return np.array([function(x) - function(-x) for x in e]).T / 2e-6

    def springs(x):
        return algorithms.spring_forces(model, algorithms.integrate(model, q, x))

    def rubbing(x):
        now = dq + x
        return algorithms.bias_forces(model, q, now) - algorithms.bias_forces(bare, q, now)

    stiffness = differences(springs) * METHODS[method]
    damping = differences(rubbing)
    assert np.abs(damping).max() == pytest.approx(5.0, rel=1e-6)
    slopes = np.diag(kp), np.diag(kd), damping, np.abs(stiffness)
    rates = end_of_a_step(model, q, dq, tau, h, *slopes)
    end = algorithms.step(model, q, dq, tau, h, method=method, gains=Gains.of_joints(kp, kd))
    assert_projected(model, end, rates)


def whirl(t, q, dq):
    """A law with slopes that are not symmetric, of all positions and rates."""
    return np.array(
        [-sin(3 * q[1]) * 400 - 30 * dq[0] + 90 * dq[1], -50 * dq[0] - 5 * dq[1], -80 * q[0]]
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["axis", "point"])
def test_slopes_of_a_law_need_not_be_symmetric(method, kind):
    robot, h, eps = slider_crank(kind), 0.01, 1e-5
    found = robot.simulate(Q, DQ, controller=whirl, duration=h, dt=h, method=method)
    e = np.eye(3) * eps
    by_q = [whirl(0, Q + x, DQ) - whirl(0, Q - x, DQ) for x in e]
    by_dq = [whirl(0, Q, DQ + x) - whirl(0, Q, DQ - x) for x in e]
    kp, kd = (-np.array(x, float).T / (2 * eps) for x in (by_q, by_dq))
    kp, none = kp if METHODS[method] else 0 * kp, np.zeros((3, 3))
    tau = np.array(whirl(0, Q, DQ), float)
    rates = end_of_a_step(robot.model, Q, DQ, tau, h, kp, kd, none, none)
    assert np.abs(kd - kd.T).max() > 100
    assert_projected(robot.model, (found.q[-1], found.dq[-1]), rates)


@pytest.mark.parametrize("method", METHODS)
def test_implicit_steps_converge_with_the_first_order(method):
    law = controllers.PD(GOAL, [40.0, 0, 0], [4.0, 0, 0], gravity=True)
    options = {"controller": law, "duration": 0.4}
    exact = ROBOT.simulate(Q, DQ, rtol=1e-10, **options).q[-1, 0]
    off = [
        abs(ROBOT.simulate(Q, DQ, dt=h, method=method, **options).q[-1, 0] - exact)
        for h in (0.002, 0.001)
    ]
    assert 1e-6 < off[1] and 1.7 < off[0] / off[1] < 2.3


def test_a_stiff_servo_is_stable_at_long_steps():
    """kp of 1e5 N m/rad at 10 ms, far beyond explicit methods, which fail on it."""
    law = controllers.PD(GOAL, [1e5, 0, 0], [1e3, 0, 0], gravity=True)
    options = {"controller": law, "duration": 1.0, "dt": 0.01, "limits": "ignore"}
    motion = ROBOT.simulate(Q, DQ, method="implicit", **options)
    np.testing.assert_allclose(motion.q[-1], GOAL, atol=1e-6)
    assert motion.meta["closure"].max() < 1e-8
    with pytest.raises(SimulationError):
        ROBOT.simulate(Q, DQ, method="semi_implicit_euler", **options)


@pytest.mark.parametrize("kp", [1e3, 1e7, 1e11])
def test_a_servo_of_any_stiffness_keeps_the_loop(kp):
    """Rows of J M_h^-1 J^T shrink with the stiffness, and are solved as well as before."""
    robot = four_bar()
    q = four_bar_position(robot, 0.5)
    dq = robot.reduced_dynamics(q, np.zeros(3))[2][:, 0]
    h, stiff = 1e-3, np.full(3, kp)
    end = robot.step(q, dq, np.zeros(3), h, method="implicit", kp=stiff, kd=0 * stiff)
    rates = end_of_a_step(robot.model, q, dq, np.zeros(3), h, np.diag(stiff), *np.zeros((3, 3, 3)))
    np.testing.assert_allclose(end[1], robot.project_rates(end[0], rates), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_steps_are_those_of_simulate_and_of_the_textbook(method):
    motion = ROBOT.simulate(Q, DQ, duration=0.02, dt=0.001, tau=PUSH, method=method)
    x = Q, DQ
    for k, h in enumerate(np.diff(motion.t)):
        y = algorithms.step(ROBOT.model, *x, PUSH, h, method=method)
        x = ROBOT.step(*x, PUSH, h, method=method)
        np.testing.assert_allclose(y[0], x[0], rtol=0, atol=1e-13)
        np.testing.assert_allclose(y[1], x[1], rtol=0, atol=1e-12)
        assert np.array_equal(x[0], motion.q[k + 1])
        assert np.array_equal(x[1], motion.dq[k + 1])


def test_the_textbook_takes_gains():
    kp, kd = np.array([1e4, 0, 0]), np.array([50.0, 0, 0])
    one = ROBOT.step(Q, DQ, PUSH, 0.01, method="implicit", kp=kp, kd=kd)
    two = algorithms.step(
        ROBOT.model, Q, DQ, PUSH, 0.01, method="implicit", gains=Gains.of_joints(kp, kd)
    )
    for x, y in zip(one, two, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_record_has_accelerations_and_forces_now(method):
    motion = ROBOT.simulate(Q, DQ, duration=0.1, dt=0.01, tau=PUSH, method=method)
    ddq, lam, _ = ROBOT.constrained_forward_dynamics(motion.q, motion.dq, motion.tau)
    np.testing.assert_allclose(motion.ddq, ddq, rtol=1e-10, atol=1e-9)
    found = motion.meta["constraint_forces"]["loop"]
    np.testing.assert_allclose(found, lam, rtol=1e-9, atol=1e-9)
    errors = np.abs(ROBOT.constraint_errors(motion.q)).max(-1)
    np.testing.assert_allclose(motion.meta["closure"], errors, atol=1e-13)
    moved = np.diff(motion.dq, axis=0) / 0.01  # what the steps made of it
    assert np.abs(moved - motion.ddq[:-1]).max() > 1e-3


def test_a_time_constant_pulls_implicit_steps_back():
    options = {"duration": 0.5, "dt": 0.001, "tau": PUSH, "method": "implicitfast"}
    pulled = ROBOT.simulate(Q, DQ, closure_time=0.02, **options)
    projected = ROBOT.simulate(Q, DQ, **options)
    assert 1e-12 < pulled.meta["closure"].max() < 1e-3
    np.testing.assert_allclose(pulled.q, projected.q, atol=1e-3)


def test_actuators_are_taken_at_the_end_of_a_step():
    """A position servo with the slopes of a PD law moves the robot in the same way."""
    servo = kt.Actuator.position("crank", kp=1e5, kd=1e3)
    driven = ROBOT.with_actuators({"servo": servo})
    options = {"duration": 0.2, "dt": 0.01, "method": "implicit", "limits": "ignore"}
    one = driven.simulate(Q, DQ, controls=[GOAL[0]], **options)
    two = ROBOT.simulate(
        Q, DQ, controller=controllers.PD(GOAL, [1e5, 0, 0], [1e3, 0, 0]), **options
    )
    np.testing.assert_allclose(one.q, two.q, rtol=0, atol=1e-8)


def test_a_loop_that_cannot_be_closed_ends_implicit_steps_by_name():
    robot = four_bar()
    q = four_bar_position(robot, 0.5)
    dq = robot.reduced_dynamics(q, np.zeros(3))[2][:, 0] * 40
    with pytest.raises(SimulationError, match=r"(equation 'loop\.\w+' of the constraints|not fin)"):
        robot.simulate(q, dq, duration=3.0, dt=0.1, method="implicit", limits="ignore")
