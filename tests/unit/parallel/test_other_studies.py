"""Sweeps, limit envelopes and bootstraps: their numbers, and the same bits in any chunk."""

import numpy as np
import pytest

import kinetree as kt
from kinetree import algorithms
from kinetree.errors import InputError, KinetreeDeprecationWarning, NameLookupError
from kinetree.identify import identify, simulated_recording
from kinetree.motion import excitation
from kinetree.parallel import Anywhere, Grid, Normal, Spread, Uniform, bootstrap, envelope, sweep

PANDA = kt.robots.panda()
ARM = kt.robots.double_pendulum()


def same_in_chunks(study, *given, **options):
    expected = study(*given, chunk=1000, **options)
    for chunk in (1, 7):
        assert study(*given, chunk=chunk, **options).table.tobytes() == expected.table.tobytes()
    return expected


def test_a_sweep_is_the_quantity_at_what_was_drawn():
    given = {"q": Anywhere(), "dq": Normal(0, 2), "ddq": 0.5}
    found = same_in_chunks(sweep, PANDA, "inverse_dynamics", given, 37)
    expected = PANDA.inverse_dynamics(found["q"], found["dq"], np.full(7, 0.5))
    assert np.array_equal(found["inverse_dynamics"], expected)
    assert "ddq" not in {name.partition(":")[0] for name in found.columns}  # a constant


def test_a_sweep_over_robots_wrenches_and_frames():
    given = {"q": Uniform(-1, 1), "dq": 0, "ddq": 0, "F_ext": Normal(0, 1)}
    found = sweep(PANDA, "inverse_dynamics", given, 9, parameters={"mass": Spread(0.2)})
    kernel = PANDA.compile("inverse_dynamics", wrenches=True, free=["mass"])
    zero = np.zeros((9, 7))
    F_ext = found["F_ext"].reshape(9, 7, 6)
    assert np.array_equal(found["F_ext.fz"], F_ext[..., 5])
    assert np.array_equal(found["F_ext.nx"], F_ext[..., 0])
    with pytest.warns(
        KinetreeDeprecationWarning, match=r"F_ext\.mx goes in .* use F_ext\.nx"
    ) as seen:
        assert np.array_equal(found["F_ext.mx"], F_ext[..., 0])  # the name in older versions
    assert seen[0].filename == __file__
    expected = kernel(found["q"], zero, zero, F_ext, found["mass"])
    assert np.array_equal(found["inverse_dynamics"], expected)
    tip = sweep(PANDA, "pose", {"q": Grid(np.eye(7))}, frame="panda_link4")
    assert np.array_equal(tip["pose"].reshape(7, 4, 4), PANDA.pose(np.eye(7), "panda_link4"))


def test_a_sweep_says_what_it_needs():
    with pytest.raises(InputError, match="was given q; expected q, dq"):
        sweep(PANDA, "bias_forces", {"q": 0})
    with pytest.raises(NameLookupError, match="tork"):
        sweep(PANDA, "tork", {"q": 0})


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
        g = algorithms.gravity_forces(model, q)
        assert np.isclose(found["holding"][k], max(abs(g) / effort), rtol=1e-12)
        loaded = algorithms.gravity_forces(model.with_payload(found["payload"][k]), q)
        assert np.isclose(max(abs(loaded) / effort), 1, rtol=1e-9)
        J = PANDA.body_jacobian(q)[3:]
        f = rng.normal(size=(200, 3))
        along = J.T[np.linalg.norm(J, axis=0) > 1e-12]
        f = np.concatenate([f, along, -along])
        f *= found["force"][k] / np.linalg.norm(f, axis=1, keepdims=True)
        used = (abs(g + f @ J) / effort).max(axis=1)
        assert used.max() == pytest.approx(1, rel=1e-9)  # met along one of the columns of J


def test_an_envelope_needs_limits():
    free = kt.robots.double_pendulum()
    with pytest.raises(InputError, match="has no effort limits"):
        envelope(free, 3)
    weak = envelope(free, 20, effort=1e-3)
    assert (weak["payload"] == 0).any() and (weak["force"] >= 0).all()


@pytest.fixture(scope="module")
def found():
    motion = excitation(ARM, 10, 0.01, reach=1.0)
    data = simulated_recording(ARM, motion, torque_noise=0.1)
    return identify(ARM, data)


def test_a_bootstrap_agrees_with_the_standard_errors(found):
    """White noise: both estimate the same; 400 replicates and ~50 blocks know it to about 20 %.

    Standard errors are calibrated by twins, which adds up to a fifth for so short a recording. They
    also allow for a clock and encoder zeros that the recording cannot decide, which all replicates
    share: three of the eleven parameters depend on those.
    """
    replicates = same_in_chunks(bootstrap, found, 400)
    beta = replicates["beta"]
    assert beta.shape == (400, found.base.r)
    ratio = beta.std(axis=0) / found.fit.standard_error
    assert 0.7 < np.median(ratio) < 1.25 and (np.sort(ratio)[3:] > 0.5).all() and ratio.max() < 2
    # their mean is the estimate, to five of its own standard errors
    error = abs(beta.mean(axis=0) - found.fit.beta) / beta.std(axis=0)
    assert error.max() < 5 / np.sqrt(400) + 0.2  # and the bias of a few blocks


def test_a_bootstrap_needs_blocks(found):
    with pytest.raises(InputError, match="expected 8 blocks or more"):
        bootstrap(found, 10, block=500)
