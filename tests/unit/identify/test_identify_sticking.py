"""Joints that stick for some milliseconds where a controlled motion reverses: named, and no lag."""

import numpy as np
import pytest
from identified_robots import ARM

import kinetree as kt
from kinetree.controllers import PD
from kinetree.identify import identify, make_recording
from kinetree.motion import Trajectory

RUBS = {
    "turn": kt.Friction(0.9, 1.7),
    "lift": kt.Friction(1.3, 2.2),
    "bend": kt.Friction(0.45, 0.8),
}
STEP = 0.002  # s


@pytest.fixture(scope="module")
def run():
    """Positions and forces of an arm with dry friction under PD control, without noise."""
    rng, w = np.random.default_rng(8), 2 * np.pi * 0.1 * np.arange(1, 6)
    a, b = rng.normal(0, 0.3, (2, 5, 3)) / np.sqrt(np.arange(1, 6))[:, None]
    t = np.arange(0, 24 + STEP / 2, STEP)
    S, C = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    plan = Trajectory(
        t=t, q=S @ a + C @ b + [0.2, -0.5, 0.6], dq=C * w @ a - S * w @ b,
        ddq=-(S * w * w) @ a - C * w * w @ b, model=ARM.model,
    )  # fmt: skip
    return ARM.with_friction(RUBS).simulate(
        plan.q[0], plan.dq[0], duration=24, dt=STEP, method="rk4", limits="ignore",
        controller=PD(plan, kp=[400, 600, 300], kd=[20, 30, 12]),
    )  # fmt: skip


@pytest.mark.parametrize("late", [0, 4])  # samples
def test_friction_that_sticks_at_reversals_is_no_lag(run, late):
    rng, stop = np.random.default_rng(1), len(run.t) - late
    q = run.q[late:] + rng.normal(0, 2e-5, (stop, 3))
    tau = run.tau[:stop] + rng.normal(0, [0.1, 0.15, 0.06], (stop, 3))
    found = identify(ARM, make_recording(ARM, run.t[:stop], q, tau), friction="symmetric")
    (reason,) = found.verdict.reasons
    assert reason.kind == "sticking" and "stick where the motion reverses" in reason.text
    assert abs(found.lag.value - late * STEP) < 4 * found.lag.error < 0.008
    assert found.lag.sure == (late > 0)
    for name, true in RUBS.items():
        assert found.friction[name].viscous == pytest.approx(true.viscous, rel=0.08)
