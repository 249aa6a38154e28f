"""Hypotheses on a recording are asked of every joint, in the columns of its own force."""

import numpy as np
from identified_robots import arm_motion, misjudged, spatial_arm, with_drives

from kinetree.identify import identify, make_recording
from kinetree.identify.hypotheses import comparison_rows, list_hypotheses
from kinetree.identify.twins import examine

TRUE = with_drives(spatial_arm())
DESCRIBED = misjudged(TRUE)


def rows_of(wrong, duration):
    """Rows of the result of a motion; `wrong` changes its q and tau."""
    motion = arm_motion(TRUE, duration)
    tau = TRUE.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    q, tau = wrong(motion, tau)
    rng = np.random.default_rng(4)
    q, tau = q + 1e-5 * rng.normal(size=q.shape), tau + 0.05 * rng.normal(size=tau.shape)
    recording = make_recording(DESCRIBED, motion.t, q, tau)
    return comparison_rows(identify(DESCRIBED, recording, folds=2))


def test_of_three_causes_the_first_two_are_named():
    def wrong(motion, tau):
        age = (motion.t / motion.t[-1])[:, None]
        drift = 0.5 * age * np.asarray(TRUE.friction_forces(motion.dq)) * [1, 0, 0]
        return motion.q + np.array([0, 0.1, 0]), tau * [1, 1.3, 1] - drift

    assert len(examine(rows_of(wrong, 16.0)).explanations) == 2


def test_every_joint_has_every_hypothesis_in_its_own_force():
    n, rows = 3, rows_of(lambda motion, tau: (motion.q, tau), 8.0)
    own, all_at_once = {}, {}
    for x in list_hypotheses(rows):
        if x.dofs:
            own.setdefault(x.kind, []).append(x)
        else:
            all_at_once.setdefault(x.kind, []).append(x)
    assert set(own) == {
        "encoder-zero", "gear-ratio", "lag", "offset", "drift", "saturation", "pattern"
    }  # fmt: skip
    for kind, found in own.items():
        asked = [x.dofs for x in found]
        if kind == "offset":  # of joints whose fit has none
            assert len(set(asked)) == len(asked)
            continue
        assert [asked.count((j,)) for j in range(n)] == [len(found) // n] * n
        if kind in ("lag", "drift", "saturation", "pattern"):
            for x in found:
                touched = np.abs(x.D).max(axis=(0, 2)) > 0
                np.testing.assert_array_equal(np.flatnonzero(touched), x.dofs)
    together = np.concatenate([x.D for x in own["drift"]], axis=-1)
    np.testing.assert_array_equal(all_at_once["drift"][0].D, together)
