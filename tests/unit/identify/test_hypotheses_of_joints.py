"""Hypotheses on a recording are asked of every joint, in the columns of its own force."""

import numpy as np
from identified_robots import arm_motion, misjudged, spatial_arm, with_drives

from kinetree.identify import identify, make_recording
from kinetree.identify.hypotheses import comparison_rows, list_hypotheses


def test_every_joint_has_every_hypothesis_in_its_own_force():
    true, n = with_drives(spatial_arm()), 3
    motion = arm_motion(true, 8.0)
    tau = true.inverse_dynamics(motion.q, motion.dq, motion.ddq)
    tau = tau + 0.05 * np.random.default_rng(4).normal(size=tau.shape)
    described = misjudged(true)
    result = identify(described, make_recording(described, motion.t, motion.q, tau), folds=2)
    own, all_at_once = {}, {}
    for x in list_hypotheses(comparison_rows(result)):
        if x.dofs:
            own.setdefault(x.kind, []).append(x)
        else:
            all_at_once.setdefault(x.kind, []).append(x)
    assert set(own) == {"encoder-zero", "gear-ratio", "drift", "saturation", "pattern"}
    for kind, found in own.items():
        asked = [x.dofs for x in found]
        assert [asked.count((j,)) for j in range(n)] == [len(found) // n] * n
        if kind in ("drift", "saturation", "pattern"):
            for x in found:
                touched = np.abs(x.D).max(axis=(0, 2)) > 0
                np.testing.assert_array_equal(np.flatnonzero(touched), x.dofs)
    together = np.concatenate([x.D for x in own["drift"]], axis=-1)
    np.testing.assert_array_equal(all_at_once["drift"][0].D, together)
