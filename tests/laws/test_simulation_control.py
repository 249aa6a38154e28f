"""Closed loops: exact parameters track exactly, for one robot and for a thousand perturbed ones."""

from functools import cache

import numpy as np
import pytest

import kinetree as kt
from kinetree import controllers
from kinetree.controllers.adaptive import moments
from kinetree.scalars import clip, cos, sin

COUNT = 1000
HOME = np.array([0, -0.3, 0, -2.0, 0, 1.8, 0.5])
GOAL = HOME + np.array([0.5, 0.4, -0.3, 0.4, 0.3, -0.4, 0.5])
WAY = np.array([0.1, 0.15, -0.1])
OPTIONS = {"duration": 1.0, "dt": 2e-3, "method": "rk4", "limits": "ignore"}


@cache
def panda():
    return kt.robots.panda()


def profile(t):
    """Quintic from 0 to 1 within a second, with its derivatives."""
    s = clip(t, 0, 1)
    u = s * s * s * (10 - 15 * s + 6 * s * s)
    return u, 30 * s * s * (1 - s) * (1 - s), 60 * s * (1 - s) * (1 - 2 * s)


def quintic(t):
    u, du, ddu = profile(t)
    return HOME + (GOAL - HOME) * u, (GOAL - HOME) * du, (GOAL - HOME) * ddu


def line(t):
    """The hand along a straight line, not turning."""
    u, du, ddu = profile(t)
    T = panda().pose(HOME)
    p = T[:3, 3] + WAY * u
    pose = np.array([[*T[i, :3], p[i]] for i in range(3)] + [[0, 0, 0, 1]])
    still = np.zeros(3, int)
    return pose, np.concatenate([still, WAY * du]), np.concatenate([still, WAY * ddu])


def perturbed():
    """Masses up to 20 % and centres up to some centimetres off."""
    model, rng = panda().model, np.random.default_rng(0)
    return {
        "mass": model.m * rng.uniform(0.8, 1.2, (COUNT, len(model.m))),
        "com": model.com + rng.normal(size=(COUNT, *model.com.shape)) * 0.01,
    }


def joint_error(motion):
    wanted = np.array([quintic(float(t))[0] for t in motion.t])
    return abs(motion.q - wanted.reshape(len(wanted), *(1,) * len(motion.batch_shape), -1)).max()


def hand_error(motion):
    found = panda().pose(motion.q)
    wanted = np.array([line(float(t))[0] for t in motion.t], float)
    wanted = wanted.reshape(len(wanted), *(1,) * len(motion.batch_shape), 4, 4)
    return np.linalg.norm((found - wanted)[..., :3, 3], axis=-1).max()


def operational_space(**options):
    posture = controllers.Posture(HOME, kp=25.0, kd=10.0)
    return controllers.OperationalSpace(line, kp=400.0, kd=40.0, posture=posture, **options)


def test_computed_torque_tracks_a_quintic():
    law = controllers.ComputedTorque(quintic, kp=400.0, kd=40.0)
    motion = panda().simulate(HOME, controller=law, **OPTIONS)
    assert motion.meta["compiled"]
    assert joint_error(motion) < 1e-6
    assert joint_error(panda().simulate(HOME, controller=law, duration=1.0, limits="ignore")) < 1e-6
    assert abs(motion.q[-1] - GOAL).max() < 1e-6


def test_computed_torque_tracks_on_a_thousand_perturbed_robots():
    law = controllers.ComputedTorque(quintic, kp=400.0, kd=40.0)
    motion = panda().simulate(HOME, controller=law, parameters=perturbed(), every=50, **OPTIONS)
    assert motion.q.shape == (11, COUNT, 7)
    assert joint_error(motion) < 1e-6
    assert motion.tau.std(axis=1).max() > 0.1  # the robots do differ


def test_wrong_parameters_leave_an_error_that_gains_shrink():
    errors = []
    for kp, kd in ((100.0, 20.0), (400.0, 40.0), (1600.0, 80.0)):
        law = controllers.ComputedTorque(quintic, kp=kp, kd=kd, model=panda())
        few = {name: x[:50] for name, x in perturbed().items()}
        motion = panda().simulate(HOME, controller=law, parameters=few, every=10, **OPTIONS)
        errors.append(joint_error(motion))
    assert errors[0] > 2 * errors[1] > 4 * errors[2] and errors[2] > 1e-4


def test_task_space_control_moves_the_hand_along_a_line():
    motion = panda().simulate(HOME, controller=operational_space(), **OPTIONS)
    assert motion.meta["compiled"]
    assert hand_error(motion) < 1e-6
    turned = panda().pose(motion.q)[..., :3, :3] - panda().pose(HOME)[:3, :3]
    assert abs(turned).max() < 1e-6
    moved = panda().pose(motion.q[-1])[:3, 3] - panda().pose(HOME)[:3, 3]
    assert np.allclose(moved, WAY, atol=1e-6)


def test_task_space_control_on_a_thousand_perturbed_robots():
    motion = panda().simulate(
        HOME, controller=operational_space(), parameters=perturbed(), every=50, **OPTIONS
    )
    assert motion.q.shape == (11, COUNT, 7) and hand_error(motion) < 1e-6


def test_the_null_space_moves_without_moving_the_hand():
    swing = HOME + np.array([0.3, 0, 0, 0, 0, 0, 0])
    still = controllers.OperationalSpace(
        panda().pose(HOME), kp=400.0, kd=40.0, posture=controllers.Posture(swing, kp=25.0, kd=10.0)
    )
    motion = panda().simulate(HOME, controller=still, **OPTIONS)
    assert abs(motion.q[-1] - HOME).max() > 0.02
    p = panda().pose(motion.q)[..., :3, 3]
    assert np.linalg.norm(p - p[0], axis=-1).max() < 1e-6


def test_adaptive_control_learns_a_payload():
    """The error of a wrong guess dies out; Lyapunov's function falls all the time."""
    carrying = panda().with_payload(2.0, com=(0, 0, 0.05))
    kd = np.array([20.0, 20, 20, 20, 2, 2, 0.5])

    def swing(t):
        w = np.array([2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0])
        a = 0.3
        s, c = (np.array([f(x * t) for x in w]) for f in (sin, cos))
        return HOME + a * (1 - c), a * w * s, a * w * w * c

    gamma = np.array([2.0] + [0.2] * 3 + [0.02] * 6)
    law = controllers.Adaptive(swing, lam=20.0, kd=kd, gamma=gamma, guess=panda())
    motion = carrying.simulate(HOME, controller=law, **(OPTIONS | {"duration": 20.0}))
    wanted = np.array([swing(float(t))[0] for t in motion.t])
    error = np.linalg.norm(motion.q - wanted, axis=-1)
    blind = controllers.ComputedTorque(swing, kp=400.0, kd=40.0, model=panda())
    unaware = carrying.simulate(HOME, controller=blind, **(OPTIONS | {"duration": 20.0}))
    plain = np.linalg.norm(unaware.q - wanted, axis=-1)
    assert error[-1000:].max() < 0.1 * error[:1000].max()
    assert error[-1000:].max() < 0.1 * plain[-1000:].max()


def test_adaptive_control_obeys_its_lyapunov_function():
    """V = (s . M s + (theta - theta_hat) . gamma^-1 (theta - theta_hat)) / 2 never grows."""
    robot = kt.robots.double_pendulum()
    heavy = robot.with_payload(0.5)
    lam, kd, gamma = 5.0, 2.0, 0.5
    law = controllers.Adaptive([1.0, -0.5], lam=lam, kd=kd, gamma=gamma, guess=robot)
    motion = heavy.simulate(
        [0.0, 0.0], controller=law, duration=5.0, dt=1e-3, method="rk4", limits="ignore"
    )
    s = motion.dq - lam * (np.array([1.0, -0.5]) - motion.q)
    M = heavy.mass_matrix(motion.q)
    wrong = moments(heavy.model).ravel() - motion.meta["controller_state"]
    V = (np.einsum("ti,tij,tj->t", s, M, s) + (wrong**2).sum(-1) / gamma) / 2
    assert np.diff(V).max() < 1e-9 * V[0] and V[-1] < 0.9 * V[0]
    # and its rate is -kd s . s
    rate = np.gradient(V, motion.t)[1:-1]
    assert np.allclose(rate, -kd * (s**2).sum(-1)[1:-1], atol=1e-3 * abs(rate).max())


@pytest.mark.parametrize("spring", [200.0, 800.0])
def test_impedance_yields_like_its_spring(spring):
    """A constant force at the hand moves it by F / K."""
    robot, force = panda(), np.array([0.0, 0, 0, 0, 0, -4.0])
    posture = controllers.Posture(HOME, kp=25.0, kd=10.0)
    K, D = [30.0] * 3 + [spring] * 3, [2.0] * 3 + [80.0] * 3
    law = controllers.Impedance(robot.pose(HOME), K=K, D=D, posture=posture)
    start = robot.pose(HOME)
    push = np.concatenate([np.zeros(3), start[:3, :3].T @ force[3:]])  # in the hand's own frame
    F_ext = robot.wrenches({robot.model.tool: push})
    motion = robot.simulate(
        HOME, controller=law, F_ext=F_ext, duration=4.0, dt=1e-3, method="rk4", limits="ignore",
        every=1000,
    )  # fmt: skip
    moved = robot.pose(motion.q[-1])[:3, 3] - start[:3, 3]
    tilt = 4.0 / spring  # the wrench turns with the hand a little
    assert np.allclose(moved, force[3:] / spring, atol=0.05 * tilt)
