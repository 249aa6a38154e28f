"""Recordings that determine part of a robot, or have wrong signs or units: notes report it."""

import numpy as np
import pytest
from identified_robots import BARE, DESCRIBED, TRUE, arm_motion, exists

import kinetree as kt
from kinetree.identify import identify, make_recording

MOTION = arm_motion()
RNG = np.random.default_rng(5)


def forces(q, dq, ddq, noise=0.2):
    return TRUE.inverse_dynamics(q, dq, ddq) + noise * RNG.normal(size=q.shape)


TAU = forces(MOTION.q, MOTION.dq, MOTION.ddq)


def found(q=MOTION.q, tau=TAU, dq=MOTION.dq, ddq=MOTION.ddq, **options):
    return identify(DESCRIBED, make_recording(DESCRIBED, MOTION.t, q, tau, dq, ddq), **options)


def note(identification, text):
    return any(text in x for x in identification.notes)


def with_still(joints):
    moves = np.ones(3)
    moves[joints] = 0
    motion = MOTION.q * moves, MOTION.dq * moves, MOTION.ddq * moves
    return motion[0], forces(*motion), motion[1], motion[2]


def test_a_joint_that_stands_still_leaves_its_own_parameters_open():
    whole, part = found(), found(*with_still([1]))
    assert not whole.unidentified and part.base.r == whole.base.r - len(part.unidentified)
    assert {"viscous[lift]", "coulomb[lift]"} <= set(part.unidentified)
    assert exists(part.robot.model) and np.all(part.error() < 0.3)
    friction = (x.model.joint("lift").friction.viscous for x in (part.robot, DESCRIBED))
    assert next(friction) == pytest.approx(next(friction), rel=1e-6)
    assert "does not determine" in part.summary()


def test_what_a_still_joint_leaves_together_predicts_motions_like_it():
    part = found(*with_still([2]))
    W = part.params.regressor(part.test.q, part.test.dq, part.test.ddq)
    # beta = K x: the regrouped columns say the same as all of them
    x = part.params.values(TRUE.model)
    expected = W @ x
    np.testing.assert_allclose(
        W[..., list(part.base.kept)] @ (part.base.K @ x), expected, atol=1e-4 * np.abs(W @ x).max()
    )


def test_a_few_samples_tell_a_few_parameters():
    few = slice(0, 24)
    data = make_recording(DESCRIBED, MOTION.t[few], MOTION.q[few], TAU[few], MOTION.dq[few],
                          MOTION.ddq[few])  # fmt: skip
    part = identify(DESCRIBED, data)
    assert part.unidentified and exists(part.robot.model)


def test_angles_within_one_turn_are_unwound():
    free = kt.Builder("wheel").link("base").link("wheel", 2.0, (0.1, 0, 0), np.eye(3) * 0.02)
    free.joint("spin", "revolute", "base", "wheel", axis=(0, 1, 0))
    wheel, t = free.build(), MOTION.t
    q = (4 * np.sin(t) + 0.1 * t * t)[:, None]
    wrapped = (q + np.pi) % (2 * np.pi) - np.pi
    data = make_recording(wheel, t, wrapped, np.cos(q))
    plain = make_recording(wheel, t, q, np.cos(q))
    assert any("q of 'spin' jumps by whole turns" in x for x in data.notes)
    np.testing.assert_allclose(data.dq, plain.dq, atol=1e-9)


def test_noise_of_a_joint_that_stands_still_is_no_wrong_rate():
    q, tau, dq, ddq = with_still([1])
    noisy = (q, 2e-5), (dq, 1e-3), (ddq, 1e-2)
    q, dq, ddq = (x + size * RNG.normal(size=x.shape) for x, size in noisy)
    part = found(q, tau, dq, ddq)
    assert note(part, "'lift' hardly moves")
    assert {"viscous[lift]", "coulomb[lift]"} <= set(part.unidentified)
    # filtered noise has rates as well, and no joint gets friction or inertia from it
    for robot in (
        part.robot,
        identify(DESCRIBED, make_recording(DESCRIBED, MOTION.t, q, tau)).robot,
    ):
        own, described = robot.model.joint("lift"), DESCRIBED.model.joint("lift")
        assert own.friction.coulomb == pytest.approx(described.friction.coulomb, rel=1e-6)
        assert own.friction.viscous == pytest.approx(described.friction.viscous, rel=1e-6)
        assert own.armature == pytest.approx(described.armature, rel=1e-6)


def test_a_drive_without_armature_that_stands_still_has_none_afterwards():
    q, tau, dq, ddq = with_still([1])
    robot = identify(BARE, make_recording(BARE, MOTION.t, q, tau, dq, ddq)).robot
    assert robot.model.joint("lift").armature == 0
