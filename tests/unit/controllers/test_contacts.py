"""Contacts in recordings: thresholds that noise rarely passes, and events at the right times."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt
from kinetree.controllers import ContactRules, MomentumObserver
from kinetree.errors import InputError, ShapeError
from kinetree.files.description import Friction

SHARED = Path(__file__).resolve().parents[4] / "shared" / "recordings" / "panda_gaz_2019"
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


def test_thresholds_follow_the_noise_and_not_the_contacts(robot, observer, limits):
    own = observer.own_thresholds(moving(robot, pushes=[(3, 4, 2, 20.0), (7, 8, 0, -30.0)]))
    assert own == pytest.approx(limits, rel=0.35)
    fewer = observer.thresholds(moving(robot, seed=1), false_alarms=1e-3)
    assert np.all(fewer > limits) and np.all(fewer < 1.6 * limits)
    assert 0.2 < limits.min() and limits.max() < 3
    found = SimpleNamespace(test=moving(robot, seed=1))  # as the result of an identification
    assert np.array_equal(observer.thresholds(found), limits)


def test_motions_without_contacts_have_none(robot, observer, limits):
    for seed in range(2, 8):
        data = moving(robot, seed=seed)
        assert not observer.contacts(data, limits)
        assert not observer.contacts(data, observer.own_thresholds(data))


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


def test_a_force_on_a_link_is_found_on_that_link_or_before_it(robot, observer, limits):
    """J^T F reaches the joints from the base up to the link that is touched."""
    model = robot.model
    data = moving(robot, pushes=[])
    rest = np.zeros(data.q.shape)
    for link in (2, 4):
        F_ext = np.zeros((len(model.links), 6))
        F_ext[link] = 4, 5, 6, 30, -40, 35
        less = robot.inverse_dynamics(data.q, rest, rest) - robot.inverse_dynamics(
            data.q, rest, rest, F_ext
        )
        on = ((data.t >= 5) & (data.t < 6))[:, None]
        (found,) = observer.contacts(
            SimpleNamespace(t=data.t, q=data.q, dq=data.dq, tau=data.tau - on * less), limits
        )
        assert found.link == model.link_names[link]
        assert set(found.joints) <= set(model.dof_names[: link + 1]) and len(found.joints) > 1


def test_time_may_begin_anywhere_and_pushes_are_separate_events(robot, observer, limits):
    pushes = [(2, 2.3, 1, 25.0), (6, 6.2, 4, -9.0), (9, 9.5, 0, 25.0)]
    data = moving(robot, pushes=pushes)
    found = observer.contacts(data, limits)
    assert [x.joint for x in found] == [robot.model.dof_names[k] for _, _, k, _ in pushes]
    data.t = data.t + 1000.0
    later = observer.contacts(data, limits)
    assert [x.start for x in later] == pytest.approx([x.start + 1000 for x in found], abs=1e-9)
    assert [x.end for x in later] == pytest.approx([x.end + 1000 for x in found], abs=1e-9)


def test_a_trembling_contact_is_one_event_and_rules_may_split_it(robot, observer, limits):
    pushes = [(3 + 0.2 * k, 3.04 + 0.2 * k, 3, 15.0) for k in range(6)]
    data = moving(robot, pushes=pushes)
    assert len(observer.contacts(data, limits)) == 1
    split = observer.contacts(data, limits, ContactRules(pause=0.0, release=1.0))
    assert len(split) == 6
    assert not observer.contacts(data, limits, ContactRules(pause=0.0, release=1, duration=0.15))


def test_a_contact_that_barely_passes_the_threshold_is_described(robot, observer):
    """The estimate passes its threshold behind the end of the contact, because of the low-pass."""
    data = moving(robot, pushes=[(5, 5.05, 3, 9.0)])
    peak = np.abs(observer.output(data).r[:, 3]).max()
    limits = np.full(6, 50.0)
    limits[3] = 0.999 * peak
    (found,) = observer.contacts(data, limits, ContactRules(release=0.7))
    assert found.joints == (found.joint,) == (robot.model.dof_names[3],)
    assert 4.98 < found.start <= found.end < 5.07 and abs(found.peak) == peak


def test_one_odd_sample_of_a_torque_is_not_a_contact(robot, observer, limits):
    data = moving(robot)
    data.tau[2000, 2] += 300.0
    assert np.abs(observer.output(data).r[:, 2]).max() > 3 * limits[2]
    assert not observer.contacts(data, limits)


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


def test_wrong_input_is_named(robot, observer):
    data = moving(robot, 1.0)
    for thresholds, problem, text in (
        (0.0, InputError, r"expected numbers above 0, N m or N"),
        ([1, 2], ShapeError, r"thresholds has shape \(2,\)"),
        (np.nan, InputError, r"expected finite numbers"),
    ):
        with pytest.raises(problem, match=text):
            observer.contacts(data, thresholds)
    short = SimpleNamespace(**{x: getattr(data, x)[:100] for x in ("t", "q", "dq", "tau")})
    with pytest.raises(InputError, match=r"100 samples over 0.198 s; expected 32 samples and 0.33"):
        observer.thresholds(short)
    with pytest.raises(InputError, match="false alarms in an hour are 0"):
        observer.thresholds(data, false_alarms=0)
    with pytest.raises(InputError, match="release is 2"):
        ContactRules(release=2)
    with pytest.raises(InputError, match="pause is -1"):
        replace(ContactRules(), pause=-1)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the recordings beside the repository are absent")
def test_a_real_recording_has_no_contact_and_an_injected_one_is_found():
    """The public recording of a Panda; its friction is that of the paper, not fitted here."""
    rows = np.genfromtxt(SHARED / "exciting_trajectory.csv.gz", delimiter=",", skip_header=1)
    moved = np.concatenate([[True], np.abs(np.diff(rows[:, 1:8], axis=0)).max(axis=1) > 0])
    rows = rows[moved]  # rows that repeat the one before
    robot = kt.robots.panda(friction=True)
    observer = MomentumObserver(robot)
    t, q, dq, tau = rows[:, 0], rows[:, 1:8], rows[:, 8:15], rows[:, 15:22]
    data = SimpleNamespace(t=t, q=q, dq=dq, tau=tau)
    limits = observer.own_thresholds(data)
    assert not observer.contacts(data, limits)
    for at in (3.0, 8.5, 14.0):
        less = tau.copy()
        less[(t >= at) & (t < at + 0.3), 3] -= 5.0
        (found,) = observer.contacts(replace_tau(data, less), limits)
        assert found.joint == robot.model.dof_names[3] and found.peak > 3
        assert abs(found.start - at) < 0.05 and abs(found.end - at - 0.3) < 0.05
