"""Contacts in recordings: thresholds that noise rarely passes, and events at the right times."""

from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from kinetree.controllers import MomentumObserver
from kinetree.friction import Friction

DT = 2e-3
NOISE = 0.3  # N m


def coloured(rng, shape, memory=0.9):
    """Noise of the spread 1 that is an autoregression along the first axis."""
    white = np.sqrt(1 - memory**2) * rng.normal(size=shape)
    found = np.zeros(shape)
    for k in range(1, len(found)):
        found[k] = memory * found[k - 1] + white[k]
    return found


def moving(robot, duration=12.0, seed=0, pushes=()):
    """A motion of all joints with noisy torques; pushes are (start, end, joint, torque)."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, duration, DT)
    n = robot.n
    phase, size, w = rng.uniform(0, 6, n), rng.uniform(0.3, 0.8, n), rng.uniform(1, 3, n)
    turn = w * t[:, None] + phase
    q, dq, ddq = size * np.sin(turn), size * w * np.cos(turn), -size * w**2 * np.sin(turn)
    tau = robot.inverse_dynamics(q, dq, ddq) + NOISE * coloured(rng, q.shape)
    for start, end, joint, torque in pushes:  # the drives give less by what pushes
        tau[(t >= start) & (t < end), joint] -= torque
    return SimpleNamespace(t=t, q=q, dq=dq, tau=tau)


@pytest.fixture(scope="module")
def robot():
    return kt.robots.ur5e()


@pytest.fixture(scope="module")
def observer(robot):
    return MomentumObserver(robot)


@pytest.fixture(scope="module")
def limits(robot, observer):
    return observer.thresholds(moving(robot, seed=1))


def test_motions_without_contacts_have_none(robot, observer, limits):
    for seed in range(2, 8):
        data = moving(robot, seed=seed)
        assert not observer.contacts(data, limits)
        assert not observer.contacts(data, observer.thresholds(data, contacts=True))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_push_is_one_contact_with_its_joint_direction_and_times(robot, observer, limits, sign):
    name = robot.model.dof_names[3]
    for k, length in enumerate((0.03, 0.1, 0.3, 2.0)):
        at = 2.0 + k
        data = moving(robot, seed=k, pushes=[(at, at + length, 3, sign * 9.0)])
        (found,) = observer.contacts(data, limits)
        assert found.joint == name and found.joints == (name,)
        assert found.link == robot.model.link_names[3]
        assert abs(found.start - at) < 0.015 and abs(found.end - at - length) < 0.015
        assert found.peak * sign > 3 and found.start <= found.at <= found.end + 0.02
        if length > 0.2:
            assert found.peak * sign == pytest.approx(9, abs=1.2)


def test_static_friction_at_rest_is_not_a_contact_and_more_than_it_is():
    robot = kt.robots.ur5e().with_friction({"elbow": Friction(coulomb=8.0)})
    observer = MomentumObserver(robot)
    rng = np.random.default_rng(0)
    t = np.arange(0, 4, DT)
    q = np.broadcast_to([0.3, -1, 1, 0.2, 0.5, 0], (len(t), 6))
    dq = 1e-5 * rng.normal(size=q.shape)
    tau = robot.gravity_forces(q) + 0.05 * rng.normal(size=q.shape)
    on = (t > 1) & (t < 2)
    for torque, count in ((7.0, 0), (-7.0, 0), (14.0, 1)):
        less = tau.copy()
        less[on, 2] -= torque
        data = SimpleNamespace(t=t, q=q, dq=dq, tau=less)
        assert len(observer.contacts(data, 1.0)) == count
    bare = MomentumObserver(kt.robots.ur5e())
    less[on, 2] = tau[on, 2] - 7.0
    assert len(bare.contacts(replace_tau(data, less), 1.0)) == 1


def replace_tau(data, tau):
    return SimpleNamespace(t=data.t, q=data.q, dq=data.dq, tau=tau)
