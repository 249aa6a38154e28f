"""Closed forms: the period of a pendulum, and the book's Euler steps one by one."""

import mpmath
import numpy as np

import kinetree as kt
from kinetree import algorithms


def pendulum(m=1.3, length=0.7, inertia=0.05):
    return (
        kt.Builder("pendulum")
        .link("base")
        .link("bob", m=m, com=(0, 0, -length), I_com=np.eye(3) * inertia)
        .joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0))
        .build()
    )


def test_the_period_is_the_elliptic_integral():
    m, length, inertia, angle = 1.3, 0.7, 0.05, 2.0
    robot = pendulum(m, length, inertia)
    omega = np.sqrt(m * 9.81 * length / (inertia + m * length**2))
    with mpmath.workdps(30):
        period = float(4 * mpmath.ellipk(mpmath.sin(mpmath.mpf(angle) / 2) ** 2) / omega)

    def turns(t, q, dq):
        return dq[0]

    motion = robot.simulate(
        [angle], duration=4.2 * period, rtol=1e-12, atol=1e-14,
        events=kt.simulate.event(turns, direction=-1),
    )  # fmt: skip
    times = [found.t for found in motion.meta["events"]]
    assert np.allclose(times, period * np.arange(1, 5), rtol=1e-9, atol=0)
    back = [found.q[0] for found in motion.meta["events"]]
    assert np.allclose(back, angle, atol=1e-9)


def test_the_period_holds_to_1e_8_with_default_settings():
    robot = pendulum()
    omega = np.sqrt(1.3 * 9.81 * 0.7 / (0.05 + 1.3 * 0.49))
    period = 4 * float(mpmath.ellipk(np.sin(0.5) ** 2)) / omega
    motion = robot.simulate([1.0], duration=period, dt=period / 100)
    assert abs(motion.q[-1, 0] - 1.0) < 1e-8 and abs(motion.dq[-1, 0]) < 1e-7


def test_the_books_euler_algorithm_step_for_step():
    """Modern Robotics 8.3: forward dynamics, then theta and its rate with the old rates."""
    robot = kt.robots.iiwa_14()
    rng = np.random.default_rng(4)
    q, dq = robot.random(rng=rng), rng.normal(size=robot.n)
    tau, dt = rng.normal(size=robot.n), 0.01
    motion = robot.simulate(q, dq, duration=0.5, dt=dt, method="euler", tau=tau, limits="ignore")
    for k in range(len(motion)):
        assert np.allclose(motion.q[k], q, rtol=1e-11, atol=1e-11)
        assert np.allclose(motion.dq[k], dq, rtol=1e-11, atol=1e-11)
        ddq = algorithms.forward_dynamics(robot.model, q, dq, tau)
        assert np.allclose(motion.ddq[k], ddq, rtol=1e-9, atol=1e-9)
        q, dq = q + dt * dq, dq + dt * ddq


def test_results_lie_on_one_motion_whatever_their_spacing():
    robot = pendulum()
    coarse = robot.simulate([1.0], duration=1.0, dt=0.25, rtol=1e-10, atol=1e-12)
    fine = robot.simulate([1.0], duration=1.0, dt=0.001, rtol=1e-10, atol=1e-12)
    assert np.allclose(coarse.q, fine.q[::250], atol=1e-9)
    # between the steps too: dq is the slope of q
    slopes = np.gradient(fine.q[:, 0], fine.t)[1:-1]
    assert abs(slopes - fine.dq[1:-1, 0]).max() < 1e-5
