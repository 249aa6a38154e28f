"""Gains of drives from recordings with and without a known payload."""

import dataclasses

import numpy as np
import pytest
from identified_robots import ARM, misjudged

import kinetree as kt
from kinetree.errors import InputError, KinetreeError
from kinetree.identify import KnownLoad, Payload, make_recording
from kinetree.identify.gains import find_gains, in_forces
from kinetree.identify.loads import check_load_friction, known_loads, load_forces
from kinetree.motion import excitation

TRUE = misjudged(ARM, 5).with_friction(
    {
        "turn": kt.Friction(1.5, 3.0),
        "lift": kt.Friction(1.0, (2.0, 2.5)),
        "bend": kt.Friction(0.6, 1),
    }
)
LOAD = KnownLoad(1.5, (0.1, 0.05, 0.02), np.diag([0.004, 0.005, 0.006]), "lower")
GAINS = np.array([0.08, -250.0, 1.7])
MOTIONS = [excitation(ARM, 12, 0.01, harmonics=5, seed=k) for k in range(4)]


def recorded(load, noise=0.03, seed=0, gains=GAINS, k=0):
    x = MOTIONS[k]
    true = TRUE if load is None else TRUE.with_payload(load.m, load.com, load.I_com, load.frame)
    tau = true.inverse_dynamics(x.q, x.dq, x.ddq)
    tau = tau + noise * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
    return make_recording(ARM, x.t, x.q, tau * gains, x.dq, x.ddq)


def found(data, loads, **options):
    return find_gains(ARM, data, loads, **options)


def test_gains_are_found_to_two_percent_with_intervals_that_cover_them(experiments):
    z = []
    for seed in range(experiments(3, 6)):
        data = [recorded(None, seed=2 * seed), recorded(LOAD, seed=2 * seed + 1, k=1)]
        gains = found(data, [None, LOAD])
        np.testing.assert_allclose(gains.values, GAINS, rtol=0.02)
        z.append((gains.values - GAINS) / gains.standard_error)
    assert np.mean(np.abs(z) < 1.96) >= 0.8 and np.abs(z).max() < 4.5
    assert 0.3 < np.std(z) < 1.7


def test_gains_do_not_depend_on_the_order_of_recordings_and_scale_with_the_signals():
    data = [recorded(None), recorded(LOAD, seed=1, k=1)]
    a = found(data, [None, LOAD])
    b = found(data[::-1], [LOAD, None])
    scale = np.array([1e3, -1.0, 1e-4])
    c = found([dataclasses.replace(x, tau=x.tau * scale) for x in data], [None, LOAD])
    np.testing.assert_allclose(b.values, a.values, rtol=1e-6)
    np.testing.assert_allclose(c.values, a.values * scale, rtol=1e-6)
    np.testing.assert_allclose(c.standard_error, a.standard_error * np.abs(scale), rtol=1e-3)
    assert a.joints == ("turn", "lift", "bend") and list(a.table) == list(a.joints)
    assert a.table["turn"] == (a.values[0], a.standard_error[0])


def test_a_joint_that_the_payload_does_not_load_gets_its_gain_from_shared_bodies():
    """A point mass on the axis of the last joint: only the forces of the first two change."""
    on_axis = KnownLoad(2.0, (0.0, 0.1, 0.0), None, "lower")
    gains = found([recorded(None, 0.01), recorded(on_axis, 0.01, seed=1, k=1)], [None, on_axis])
    np.testing.assert_allclose(gains.values, GAINS, rtol=0.04)
    z = (gains.values - GAINS) / gains.standard_error
    assert np.abs(z).max() < 4.5


def test_converted_recordings_have_the_true_forces():
    data = [recorded(None, 0.0), recorded(LOAD, 0.0, k=1)]
    gains = found(data, [None, LOAD], method="weighted")
    x = MOTIONS[0]
    expected = TRUE.inverse_dynamics(x.q, x.dq, x.ddq)
    forces = gains.forces(data[0])
    np.testing.assert_allclose(forces.tau, expected, atol=1e-5)
    assert "gains of the drives, from a known payload: turn 0.08" in forces.notes[-1]


def test_errors_of_gains_spread_into_parameters():
    """The derivative by each gain is that of least squares computed again."""
    rng = np.random.default_rng(0)
    data = [recorded(None), recorded(LOAD, seed=1, k=1)]
    gains = found(data, [None, LOAD])
    W, tau, w = rng.normal(size=(60, 3, 4)), rng.normal(size=(60, 3)), rng.uniform(1, 2, (60, 3))
    root = np.sqrt(w)

    def beta(values):
        y = tau * gains.values / values
        X = (W * root[..., None]).reshape(-1, 4)
        return np.linalg.lstsq(X, (y * root).ravel(), rcond=None)[0]

    steps = np.diag(1e-5 * gains.values)
    D = np.array([(beta(gains.values + s) - beta(gains.values - s)) / (2 * s.sum()) for s in steps])
    np.testing.assert_allclose(
        gains.spread(W, tau, w), D.T @ gains.covariance @ D, rtol=1e-6, atol=1e-12
    )


def test_wrong_gains_are_refused_by_name():
    data = [recorded(None)]
    for gains, text in (
        ({"elbow": 1.0}, "gains names the joint 'elbow'"),
        ({"turn": 0.0}, "the gain of 'turn' is 0.0"),
        ("payload", "gains is 'payload'; expected True"),
        (True, "no absolute scale"),
    ):
        with pytest.raises(KinetreeError, match=text):
            in_forces(ARM, data, None, gains)
    lossy = ARM.with_friction({"bend": kt.Friction(1, 1, load=0.1)})
    with pytest.raises(InputError, match="bend of 'spatial arm': friction depends on"):
        in_forces(lossy, data, [LOAD], False)
    for friction, names in (({"lift": "load"}, "lift"), ("load", "turn, lift, bend")):
        with pytest.raises(InputError, match=f"{names} of 'spatial arm': friction depends on"):
            check_load_friction(ARM.model, friction)
    check_load_friction(ARM.model, {"lift": "stribeck"})


def test_recordings_that_do_not_determine_gains_are_refused_with_the_way_out():
    plain, loaded = recorded(None), recorded(LOAD, k=1)
    with pytest.raises(InputError, match=r"no absolute scale .* once with a payload"):
        found([plain], [None])
    with pytest.raises(InputError, match="all recordings have the same payload"):
        found([loaded, plain], [LOAD, dataclasses.replace(LOAD)])
    light = KnownLoad(1e-4, (0.1, 0, 0), None, "lower")
    with pytest.raises(InputError, match=r"do not determine the gains of turn .*heavier payload"):
        found([plain, recorded(light, seed=1, k=1)], [None, light])
    silent = dataclasses.replace(loaded, tau=loaded.tau * [1, 0, 1])
    still = dataclasses.replace(plain, tau=plain.tau * [1, 0, 1])
    with pytest.raises(InputError, match="signal of lift is zero throughout"):
        found([still, silent], [None, LOAD])


def test_payloads_are_checked_and_identified_ones_accepted():
    body = Payload(1.0, np.zeros(3), np.eye(3), "lower", np.zeros(10), np.zeros(10), 1.0, ARM)
    loads = known_loads([None, body, LOAD], 3)
    assert loads[0] is None and (loads[1].m, loads[1].frame) == (1.0, "lower")
    assert loads[2].com == LOAD.com and known_loads(None, 2) == [None, None]
    with pytest.raises(InputError, match="payloads has 1 entry for 2 recordings"):
        known_loads([LOAD], 2)
    with pytest.raises(InputError, match=r"payload of recording 1 is 3\.0; expected a KnownLoad"):
        known_loads([3.0], 1)
    data = recorded(None)
    with pytest.raises(InputError, match="a mass of -1 kg"):
        load_forces(ARM, KnownLoad(-1), data)
    with pytest.raises(InputError, match="'base' of 'spatial arm' does not move"):
        load_forces(ARM, KnownLoad(1.0, frame="base"), data)
