"""Sweeps, limit envelopes and bootstraps: their numbers, and the same bits in any chunk."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics
from kinetree.identify import identify, simulated_recording
from kinetree.motion import excitation
from kinetree.parallel import Spread, envelope

PANDA = kt.robots.panda()
ARM = kt.robots.double_pendulum()


def same_in_chunks(study, *given, **options):
    expected = study(*given, chunk=1000, **options)
    for chunk in (1, 7):
        assert study(*given, chunk=chunk, **options).table.tobytes() == expected.table.tobytes()
    return expected


@pytest.mark.parametrize("parameters", [{}, {"mass": Spread(0.1), "gravity": Spread(0.05)}])
def test_an_envelope_is_where_a_limit_is_met(parameters):
    """At the payload one drive gives all it can; any push of `force` stays within the limits."""
    found = same_in_chunks(envelope, PANDA, 40, parameters=parameters)
    effort = np.array([joint.limits.effort for joint in PANDA.model.joints])
    rng = np.random.default_rng(0)
    for k in range(10):
        q, model = found["q"][k], PANDA.model
        if parameters:
            model = model.replace(m=found["mass"][k]).with_gravity(found["gravity"][k])
        assert np.array_equal(found["p"][k], PANDA.pose(q)[:3, 3])
        g = dynamics.gravity_forces(model, q)
        assert np.isclose(found["holding"][k], max(abs(g) / effort), rtol=1e-12)
        loaded = dynamics.gravity_forces(model.with_payload(found["payload"][k]), q)
        assert np.isclose(max(abs(loaded) / effort), 1, rtol=1e-9)
        J = PANDA.body_jacobian(q)[3:]
        f = rng.normal(size=(200, 3))
        along = J.T[np.linalg.norm(J, axis=0) > 1e-12]
        f = np.concatenate([f, along, -along])
        f *= found["force"][k] / np.linalg.norm(f, axis=1, keepdims=True)
        used = (abs(g + f @ J) / effort).max(axis=1)
        assert used.max() == pytest.approx(1, rel=1e-9)  # met along one of the columns of J


@pytest.fixture(scope="module")
def found():
    motion = excitation(ARM, 10, 0.01, reach=1.0)
    data = simulated_recording(ARM, motion, torque_noise=0.1)
    return identify(ARM, data)
