"""Rows at rest: left out of a fit, because friction at rest has no known direction."""

from dataclasses import replace

import numpy as np
import pytest
from identified_robots import DESCRIBED, TRUE, arm_motion

from kinetree.identify import identify, make_recording
from kinetree.identify.rest import still_joints, without_rest

MOTION = arm_motion(TRUE)
PAUSE = 150  # samples, 3 s
FORCES = TRUE.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq)


def with_pauses(before=PAUSE, after=PAUSE, seed=0):
    """The motion between two rests in which the joints are left with static friction."""
    rng = np.random.default_rng(seed)
    counts = [before, *[1] * (len(MOTION.t) - 2), after]
    q, tau = (np.repeat(x, counts, axis=0) for x in (MOTION.q, FORCES))
    stuck = np.array([0.8, -0.75, 0.7])
    tau[:before] = TRUE.inverse_dynamics(MOTION.q[0], np.zeros(3), np.zeros(3)) + stuck
    tau[-after:] = TRUE.inverse_dynamics(MOTION.q[-1], np.zeros(3), np.zeros(3)) - stuck
    t = MOTION.t[1] * np.arange(len(q))
    noise = 0.02 * rng.normal(size=tau.shape)
    return make_recording(DESCRIBED, t, q + 1e-6 * rng.normal(size=q.shape), tau + noise)


@pytest.fixture(scope="module")
def paused():
    return with_pauses()


def test_rest_before_and_after_a_motion_is_found_to_a_window(paused):
    rest, t = still_joints(DESCRIBED.model, paused).all(axis=1), paused.t
    start, end = t[np.flatnonzero(~rest)[[0, -1]]]
    assert start == pytest.approx(3.0, abs=0.4) and end == pytest.approx(13.0, abs=0.4)
    assert not rest[(t > 3.4) & (t < 12.6)].any()


def test_a_motion_without_rest_stays_as_it_is():
    data = make_recording(DESCRIBED, MOTION.t, MOTION.q, FORCES, MOTION.dq, MOTION.ddq)
    assert not still_joints(DESCRIBED.model, data.part(slice(20, -20))).any()
    held = make_recording(DESCRIBED, MOTION.t, MOTION.q, FORCES, 0 * MOTION.q, 0 * MOTION.q)
    assert without_rest(DESCRIBED.model, held) is held  # positions held still, one after another


def test_friction_left_over_at_rest_does_not_change_what_is_found(paused):
    found = identify(DESCRIBED, paused, friction="symmetric", lag=0.0)
    assert any("stands still in 3" in str(x) and "%" in str(x) for x in found.notes)
    coulomb = [found.friction[name].coulomb for name in ("turn", "lift", "bend")]
    np.testing.assert_allclose(coulomb, [0.8, 0.75, 0.7], rtol=0.05)
    assert np.all(found.error() < 0.1)  # rows at rest are off by 0.7 N m


def test_rows_at_rest_are_left_out_unless_nothing_else_is_left(paused):
    kept = without_rest(DESCRIBED.model, paused)
    assert (
        len(kept) == (~still_joints(DESCRIBED.model, paused).all(axis=1)).sum()
        and "left out" in kept.notes[-1]
    )
    most = paused.part(np.r_[np.arange(120), np.arange(200, 210)])
    assert without_rest(DESCRIBED.model, most) is most  # nothing but rest is left as it is


def test_a_joint_that_rests_while_others_move_sticks(paused):
    q, dq, ddq = (x.copy() for x in (paused.q, paused.dq, paused.ddq))
    half = len(q) // 2
    q[half:, 1], dq[half:, 1], ddq[half:, 1] = q[half, 1], 0, 0
    partly = replace(paused, q=q, dq=dq, ddq=ddq)
    assert still_joints(DESCRIBED.model, partly)[half + 50 :, 1].all()
    (finding,) = without_rest(DESCRIBED.model, partly).findings
    assert (finding.kind, finding.joints) == ("sticking", ("lift",))
