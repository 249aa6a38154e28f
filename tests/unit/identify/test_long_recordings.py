"""Long recordings are computed in parts, and judged by some of them: results are those of all."""

import numpy as np
import pytest
from identified_robots import ARM, BARE, TRUE, arm_motion

import kinetree as kt
from kinetree.errors import InputError
from kinetree.identify import (
    constants,
    identify,
    identify_payload,
    make_recording,
    read_recording,
    simulated_recording,
)
from kinetree.identify.lag import find_lag
from kinetree.identify.select import make_stretches
from kinetree.identify.unknowns import unknowns

MOTION = arm_motion(duration=16.0)
LAW = kt.Friction(0.6, 0.8, stribeck=kt.Stribeck(2.0, 0.3))


def with_sizes(monkeypatch, **sizes):
    for name, value in sizes.items():
        monkeypatch.setattr(constants, name, value)


def test_a_fit_in_pieces_is_the_fit_of_all_rows(monkeypatch):
    data = simulated_recording(TRUE, MOTION, torque_noise=0.2, seed=1)
    options = {"friction": "symmetric", "folds": 2, "lag": 0.0}
    whole = identify(BARE, data, **options)
    sizes = {"KEPT_NUMBERS": 30_000, "COLUMN_SAMPLES": 100, "REGRESSOR_BLOCK": 70}
    with_sizes(monkeypatch, **sizes)
    pieces = identify(BARE, data, **options)
    error = whole.fit.standard_error
    assert np.abs((pieces.fit.beta - whole.fit.beta) / error).max() < 1e-3
    np.testing.assert_allclose(pieces.fit.standard_error, error, rtol=0.1)
    np.testing.assert_allclose(pieces.fit.residual, whole.fit.residual, atol=1e-3)
    np.testing.assert_allclose(pieces.folds, whole.folds, rtol=1e-3)
    np.testing.assert_allclose(pieces.predict(data), whole.predict(data), atol=1e-2)


def test_shapes_of_a_long_recording_are_those_of_some_pieces(monkeypatch):
    true = ARM.with_friction({"lift": LAW})
    data = simulated_recording(true, MOTION, torque_noise=0.02)
    with_sizes(monkeypatch, KEPT_NUMBERS=60_000)
    result = identify(ARM, data, friction={"lift": "stribeck"}, folds=2, lag=0.0)
    error = result.fit.standard_error[-1]
    assert abs(result.sought.shapes[0] - 0.3) < 4 * error < 0.05
    assert result.friction["lift"].stribeck.static == pytest.approx(2.0, rel=0.05)


def test_friction_and_faults_of_a_long_recording_are_sought_in_stretches_of_it(monkeypatch):
    with_sizes(monkeypatch, LAW_SAMPLES=480, LAW_ROWS=400, READING_SAMPLES=200, TESTED_ROWS=200)
    data = simulated_recording(ARM.with_friction({"lift": LAW}), MOTION, torque_noise=0.02)
    stretches = make_stretches(ARM, [data])
    assert [len(x.dq) for x in stretches] == [50] * 8
    np.testing.assert_array_equal(stretches[0].dq[0], data.dq[0])
    np.testing.assert_array_equal(stretches[-1].dq[-1], data.dq[-1])
    result = identify(ARM, data, folds=2)
    assert result.friction["lift"].stribeck is not None
    heavier = ARM.with_friction({"lift": LAW}).with_payload(0.5, (0.2, 0, 0))
    later = MOTION.t[:, None] > 8
    tau = np.where(later, simulated_recording(heavier, MOTION, torque_noise=0.02).tau, data.tau)
    changed = make_recording(ARM, data.t, data.q, tau, data.dq, data.ddq)
    reasons = identify(ARM, changed, folds=2).verdict.reasons
    assert "payload-change" in [x.kind for x in reasons[:2]]


def test_the_lag_of_a_long_recording_is_that_of_its_longest_stretch(monkeypatch):
    data = simulated_recording(TRUE, arm_motion(duration=16.0, dt=0.005), torque_noise=0.05)
    tau = np.vstack([data.tau[:1].repeat(4, axis=0), data.tau[:-4]])  # 20 ms late
    kept = np.r_[0:800, 1000 : len(data)]
    late = make_recording(
        BARE, data.t[kept], data.q[kept], tau[kept], data.dq[kept], data.ddq[kept]
    )
    with_sizes(monkeypatch, LAG_SAMPLES=1500, LAG_ROWS=1500)
    lag = find_lag(unknowns(BARE, "symmetric"), late)
    assert lag.sure and lag.value == pytest.approx(0.02, abs=1e-3)


def test_the_columns_of_a_payload_are_computed_in_blocks(monkeypatch):
    data = simulated_recording(TRUE.with_payload(1.0, (0.05, 0, 0)), MOTION)
    with_sizes(monkeypatch, PAYLOAD_BLOCK=90)
    assert identify_payload(TRUE, data).m == pytest.approx(1.0, rel=1e-6)


def test_files_keep_every_number_and_degrees_are_radians(tmp_path):
    data = simulated_recording(TRUE, MOTION)
    data.to_csv(tmp_path / "data.csv")
    data.to_parquet(tmp_path / "data.parquet")
    for path in (tmp_path / "data.csv", tmp_path / "data.parquet"):
        again = read_recording(path, TRUE)
        for name in ("t", "q", "dq", "ddq", "tau"):
            np.testing.assert_array_equal(getattr(again, name), getattr(data, name))
    angles = [np.degrees(x) for x in (data.q, data.dq, data.ddq)]
    turned = make_recording(TRUE, data.t, angles[0], data.tau, *angles[1:], degrees=True)
    for name in ("q", "dq", "ddq"):
        np.testing.assert_allclose(getattr(turned, name), getattr(data, name), rtol=1e-14)
    bare = kt.identify.Recording(data.t, data.q, data.dq, data.ddq, data.tau)
    with pytest.raises(InputError, match="joints have no names"):
        bare.trajectory()
    with pytest.raises(InputError, match="expected one at least"):
        identify(TRUE, [])
    with pytest.raises(InputError, match="expected a Trajectory"):
        simulated_recording(TRUE, data)
    with pytest.raises(InputError, match="which `identify` chooses"):
        unknowns(TRUE, "auto")
