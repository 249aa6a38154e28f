"""Twins of public recordings: what plain least squares find, `identify` finds at least as well."""

import numpy as np
from identified_robots import DESCRIBED, TRUE, arm_motion

import kinetree as kt
from kinetree.identify import identify, make_recording
from kinetree.motion import Trajectory, excitation

RNG = np.random.default_rng


def vibrating_motion(size=3e-4, frequency=6.0, duration=16.0, step=0.002):
    """A slow motion with a vibration of few steps of an encoder."""
    slow = arm_motion(TRUE, duration)
    t = np.arange(0, duration, step)
    w = 2 * np.pi * frequency
    q = np.stack([np.interp(t, slow.t, x) for x in slow.q.T], axis=1)
    dq = np.stack([np.interp(t, slow.t, x) for x in slow.dq.T], axis=1)
    ddq = np.stack([np.interp(t, slow.t, x) for x in slow.ddq.T], axis=1)
    turn = np.outer(w * t, [1, 1.1, 0.9])
    return Trajectory(
        t=t, q=q + size * np.sin(turn), dq=dq + size * w * np.cos(turn) * [1, 1.1, 0.9],
        ddq=ddq - size * w**2 * np.sin(turn) * np.array([1, 1.1, 0.9]) ** 2, model=TRUE.model,
    )  # fmt: skip


def test_forces_show_a_vibration_that_the_spectrum_of_positions_does_not():
    motion = vibrating_motion()
    tau = TRUE.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    tau = tau + RNG(0).normal(0, 0.02, tau.shape)
    q = np.round(motion.q + RNG(1).normal(0, 5e-5, motion.q.shape), 4)
    data = make_recording(DESCRIBED, motion.t, q, tau)
    narrow = make_recording(DESCRIBED, motion.t, q, tau, cutoff=data.cutoff)
    found, other = (identify(DESCRIBED, x, folds=2, friction="symmetric") for x in (data, narrow))
    assert data.cutoff < 5 and found.train.cutoff == 10
    assert any("predict joint forces better" in x for x in found.notes)
    assert found.error().sum() < 0.95 * other.error(found.test).sum()


def test_a_force_that_follows_the_rate_of_another_joint_is_a_coupled_transmission():
    motion = arm_motion(TRUE, 16.0)
    tau = TRUE.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    tau[:, 1] += 0.8 * motion.dq[:, 2] + 0.6 * np.sign(motion.dq[:, 2])
    tau = tau + RNG(2).normal(0, 0.2, tau.shape)
    data = make_recording(DESCRIBED, motion.t, motion.q, tau, motion.dq, motion.ddq)
    found = identify(DESCRIBED, data, folds=2, friction="symmetric")
    reason = found.verdict.reasons[0]
    assert reason.kind == "coupled" and reason.joints == ("lift", "bend")
    assert "tau of 'lift' follows the rate of 'bend': a coupled transmission" in reason.text
    assert found.verdict.word == "usable for" and "coulomb[lift]" in found.withheld_names


def test_errors_of_another_motion_are_compared_with_those_of_the_fit():
    motion = arm_motion(TRUE, 16.0)
    state = motion.q, motion.dq, motion.ddq
    noise = RNG(3).normal(0, 0.05, (2, *motion.q.shape))
    records = [
        make_recording(DESCRIBED, motion.t, motion.q, x.inverse_dynamics(*state) + e, *state[1:])
        for x, e in zip((TRUE, TRUE.with_payload(0.5, (0, 0, 0.1))), noise, strict=True)
    ]
    found = identify(DESCRIBED, records[0], test=records[1], folds=2, friction="symmetric")
    kinds = {x.kind: x for x in found.verdict.reasons}
    assert "times those of the fit" in kinds["misfit"].text
    fine = identify(DESCRIBED, records[0], test=records[0], folds=2, friction="symmetric")
    assert "misfit" not in {x.kind for x in fine.verdict.reasons}


def test_the_share_of_each_force_that_is_not_explained_is_stated():
    motion = arm_motion(TRUE, 16.0)
    tau = TRUE.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    tau = tau + RNG(4).normal(0, 0.2, tau.shape)
    tau[:, 2] = RNG(5).normal(0, 1, len(tau))  # a sensor that measures nothing
    data = make_recording(DESCRIBED, motion.t, motion.q, tau, motion.dq, motion.ddq)
    found = identify(DESCRIBED, data, folds=2, friction="symmetric")
    share = found.unexplained()
    assert share[2] > 0.8 and np.all(share[:2] < 0.3)
    (remark,) = [x for x in found.warnings if x.kind == "unexplained"]
    assert remark.joints == ("bend",)
    assert "of the measured joint forces, the largest at 'bend'" in found.summary()


def test_friction_at_rest_is_predicted_as_zero():
    motion = arm_motion(TRUE, 16.0)
    rest = np.repeat(motion.q[-1:], 400, axis=0)
    q, still = np.concatenate([motion.q, rest]), np.zeros((400, 3))
    rubbing = TRUE.with_friction({x: kt.Friction(1.0, 2.0) for x in TRUE.joint_names})
    moved = rubbing.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    tau = np.concatenate([moved, TRUE.inverse_dynamics(rest, still, still)])
    t = np.arange(len(q)) * (motion.t[1] - motion.t[0])
    data = make_recording(DESCRIBED, t, q + RNG(6).normal(0, 2e-5, q.shape), tau)
    found = identify(DESCRIBED, data, folds=2, friction="symmetric", hold_out=0)
    late = data.t > motion.t[-1] + 0.5
    error = found.predict(data)[late] - TRUE.inverse_dynamics(rest[:1], still[:1], still[:1])
    assert np.abs(error).max() < 0.3  # of 2 N m of friction


def pendulum(size):
    """A double pendulum whose links have so many times their inertia about the joint."""
    arm = kt.Builder("pendulum").link("base")
    for name, com in (("upper", 0.27), ("lower", 0.18)):
        arm.link(name, 0.6, (0, 0, -com), np.eye(3) * (0.004 + size * 0.6 * com**2))
    limits = kt.Limits(-6, 6, 20, 10)
    arm.joint("first", "revolute", "base", "upper", axis=(1, 0, 0), limits=limits)
    arm.joint(
        "second", "revolute", "upper", "lower", at=(0, 0, -0.3), axis=(1, 0, 0), limits=limits
    )
    return arm.build()


def test_wrong_inertias_are_no_angles_in_degrees():
    """Friction of the first joint is compensated, so that the fit fails a test as well."""
    true, described = pendulum(0), pendulum(10)
    motion = excitation(true, 8, 0.002, harmonics=8, seed=2, reach=0.6)
    tau = true.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    tau[:, 0] -= 0.05 * np.sign(motion.dq[:, 0])
    tau = tau + RNG(0).normal(0, (0.05, 0.035), tau.shape)
    q = motion.q + RNG(1).normal(0, 1e-4, motion.q.shape)
    data = make_recording(described, motion.t, q, tau)
    found = identify(described, data, folds=2, friction="symmetric")
    assert found.verdict.word == "usable for"
    assert found.verdict.reasons[0].kind == "friction-compensated"
    assert "reading" not in {x.kind for x in found.warnings}
