"""Recordings with a known truth: the physics of machines, and corruptions that are as named."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

from random_machines import PERIOD, random_machine
from recording_twins import CORRUPTIONS, DISTURBANCES, record

SEEDS = range(4)  # a chain and trees, rotors and armatures, prismatic joints


def machine_and_period(seed):
    """A machine and its motion over one period, whose end is its start."""
    machine, motion = random_machine(np.random.default_rng(seed))
    return machine, motion.at(np.arange(0, PERIOD, 0.02))


def twin(kind, seed, seconds=4):
    """A short recording."""
    return record(seed, kind, seconds, 100)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_forces_of_machines_are_those_of_kinetree(seed):
    machine, (q, dq, ddq) = machine_and_period(seed)
    tau = machine.rigid_forces(q, dq, ddq) + machine.friction(dq)
    other = machine.robot().inverse_dynamics(q, dq, ddq)
    np.testing.assert_allclose(tau, other, atol=1e-12 * np.abs(tau).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_period_of_the_motion_takes_no_work_but_that_of_friction(seed):
    machine, (q, dq, ddq) = machine_and_period(seed)
    power = machine.rigid_forces(q, dq, ddq) * dq
    assert abs(power.sum()) < 1e-9 * np.abs(power).sum()
    assert (machine.friction(dq) * dq).sum(axis=0).min() > 0


def test_robots_have_trees_rotors_and_slides():
    machines = [random_machine(np.random.default_rng((seed, 0)))[0] for seed in range(30)]
    assert {x.n for x in machines} == {3, 4, 5, 6, 7}
    assert any(x.parent != list(range(-1, x.n - 1)) for x in machines)
    assert {bool(x.rotor.any()) for x in machines} == {True, False}
    assert any(any(x.slides) for x in machines)


@pytest.mark.parametrize("kind", DISTURBANCES | CORRUPTIONS)
def test_a_seed_gives_the_same_recording(kind):
    first, again = twin(kind, 3, 1), twin(kind, 3, 1)
    np.testing.assert_array_equal(first.q, again.q)
    np.testing.assert_array_equal(first.tau, again.tau)
    assert np.isfinite(first.q).all() and np.isfinite(first.tau).all()


@pytest.mark.parametrize("kind", [x for x in CORRUPTIONS if "clock" in x])
def test_clocks_are_slow_or_uneven(kind):
    x = twin(kind, 0).signals
    np.testing.assert_allclose(x.q, x.motion.at(x.t)[0])
    if kind == "clock_jitter":
        off = (x.t - x.stamps) * 100
        assert 0.15 < off.std() < 0.55 and np.abs(off).max() <= 1
    else:
        slow = 0.9 if "10" in kind.split("_") else 1000 / 1024
        np.testing.assert_allclose(x.stamps, slow * x.t)


@pytest.mark.parametrize("seed", [*range(12), 17, 18, 28])  # some cannot be seen in forces
def test_zeros_of_encoders_are_off_in_one_joint(seed):
    made = twin("encoder_zero_0.1", seed)
    x = made.signals
    (k,) = x.joints
    size = 0.01 if x.machine.slides[k] else 0.1
    off = (made.q - x.q).mean(axis=0)
    np.testing.assert_allclose(np.abs(off), size * (np.arange(x.machine.n) == k), atol=1e-4)
    for seen in x.truths[1:]:  # the robot as the encoder sees it has the same forces
        tau = seen.rigid_forces(x.q + x.zero, x.dq, x.ddq) + x.friction
        np.testing.assert_allclose(tau, x.tau, atol=1e-10)


def test_compensated_gravity_is_absent():
    x = twin("compensated_gravity", 1).signals
    weightless = x.machine.rigid_forces(x.q, x.dq, x.ddq, np.zeros(3))
    np.testing.assert_allclose(x.tau, weightless + x.friction, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_overcompensated_friction_drives_the_joints(seed):
    x = twin("overcompensated_friction", seed).signals
    power = ((x.tau - x.machine.rigid_forces(x.q, x.dq, x.ddq)) * x.dq).sum(axis=0)
    driven = np.isin(np.arange(x.machine.n), x.joints)
    assert driven.any() and (power[driven] < 0).all() and (power[~driven] > 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_wrists_stick_within_their_coulomb_friction(seed):
    x = twin("sticking_wrists", seed).signals
    W, machine = list(x.joints), x.machine
    dry = (x.tau - machine.rigid_forces(x.q, x.dq, x.ddq) - machine.viscous * x.dq)[:, W]
    coulomb, rest = machine.coulomb[W], x.dq[:, W] == 0
    assert (np.abs(dry) <= coulomb + 1e-9).all() and rest.any()
    slides = np.where(rest, dry, np.sign(x.dq[:, W]) * coulomb)
    np.testing.assert_allclose(dry, slides, atol=1e-9)
    assert np.ptp(dry[rest]) > 0  # at rest it is what the load and the servo leave
    assert np.ptp(x.q[:, W], axis=0).max() < 0.1


def test_saturated_readings_end_at_the_limit():
    made = twin("saturated_torque", 3)
    limit = np.array(made.signals.limit)
    for k in made.signals.joints:
        share = (np.abs(made.tau[:, k]) == limit[k]).mean()
        assert 0.02 < share < 0.2 and np.abs(made.tau[:, k]).max() == limit[k]


@pytest.mark.parametrize("seed", range(6))
def test_channels_are_swapped(seed):
    made = twin("swapped_channels", seed)
    x = made.signals
    i, j = x.joints
    order = np.arange(x.machine.n)
    order[[i, j]] = j, i
    swapped_q = np.abs(made.q - x.q[:, order]).max() < 1e-3
    swapped_tau = np.abs((made.tau - x.tau[:, order]) / x.noise[order]).max() < 6
    assert swapped_q != swapped_tau and x.machine.slides[i] == x.machine.slides[j]


def test_one_torque_has_another_gain():
    plain, x = twin("clean", 2).signals, twin("wrong_gear", 2).signals
    gain = (x.tau * plain.tau).sum(axis=0) / (plain.tau**2).sum(axis=0)
    others = np.delete(gain, x.joints)
    assert (others == 1).all() and 1.09 < max(gain[x.joints[0]], 1 / gain[x.joints[0]]) < 2.01


def test_a_tool_is_added_halfway():
    x = twin("tool_halfway", 1).signals
    before, after = x.truths
    assert 1.2 <= after.bodies[-1].m / before.bodies[-1].m <= 1.6
    early = x.t < x.t.mean()
    for machine, part in ((before, early), (after, ~early)):
        tau = machine.rigid_forces(x.q, x.dq, x.ddq) + x.friction
        np.testing.assert_allclose(x.tau[part], tau[part])


def test_friction_falls_as_drives_warm_up():
    x = twin("warming_friction", 1).signals
    cold, warm = (machine.friction(x.dq) for machine in x.truths)
    np.testing.assert_allclose(x.friction[0], cold[0])
    np.testing.assert_allclose(x.friction[-1], warm[-1])
    assert (np.abs(warm) <= np.abs(cold)).all()
    np.testing.assert_allclose(x.tau, x.machine.rigid_forces(x.q, x.dq, x.ddq) + x.friction)


def test_disturbances_are_what_they_are_called():
    plain = twin("clean", 5)
    error = {
        kind: (twin(kind, 5).tau - twin(kind, 5).signals.tau) / twin(kind, 5).signals.noise
        for kind in (*DISTURBANCES, "torque_offsets")
    }
    for kind in ("clean", "late_torques", "stribeck_friction", "encoder_tone"):
        assert 0.9 < error[kind].std() < 1.1
    assert error["outliers"].std() > 2
    lagged = (error["coloured_noise"][1:] * error["coloured_noise"][:-1]).mean()
    assert lagged > 0.9 * error["coloured_noise"].var()
    offsets = twin("torque_offsets", 5).signals
    np.testing.assert_allclose(
        (offsets.noise * error["torque_offsets"]).mean(axis=0), offsets.offset,
        atol=5 * float(offsets.noise.max()) / np.sqrt(len(offsets.t)),
    )  # fmt: skip
    late = twin("late_torques", 5).signals
    shift = [np.abs(late.tau[k:] - plain.signals.tau[: len(late.tau) - k]).mean() for k in range(6)]
    assert 0 < np.argmin(shift) <= 3  # of 10 ms
