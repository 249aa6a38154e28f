"""Recordings from files and arrays: rates by filtering, errors for data that cannot be right."""

import numpy as np
import pytest
from identified_robots import TRUE as ROBOT
from identified_robots import arm_motion

from kinetree.errors import InputError
from kinetree.identify import make_recording, read_recording

MOTION = arm_motion(ROBOT)
TAU = ROBOT.inverse_dynamics(MOTION.q, MOTION.dq, MOTION.ddq)
NAMES = ROBOT.model.joint_names


def columns(**changes):
    """Columns of a good file by name, some of them changed."""
    found = {"t": MOTION.t}
    for k, name in enumerate(NAMES):
        found[f"q:{name}"], found[f"tau:{name}"] = MOTION.q[:, k], TAU[:, k]
    return found | changes


def write(path, table):
    rows = zip(*table.values(), strict=True)
    lines = [",".join(table), *(",".join(repr(float(x)) for x in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_rates_that_are_missing_come_from_the_positions(tmp_path):
    data = read_recording(write(tmp_path / "data.csv", columns()), ROBOT)
    cut = (len(MOTION) - len(data)) // 2
    inner = slice(cut, len(MOTION) - cut)
    assert np.abs(data.dq - MOTION.dq[inner]).max() < 1e-3 * np.abs(MOTION.dq).max()
    assert np.abs(data.ddq - MOTION.ddq[inner]).max() < 0.02 * np.abs(MOTION.ddq).max()
    assert np.array_equal(data.tau, TAU[inner])
    assert data.cutoff is not None and "low-pass" in data.notes[0]


def test_uneven_steps_are_resampled_and_told():
    rng = np.random.default_rng(0)
    t = MOTION.t + 0.004 * rng.uniform(-1, 1, len(MOTION))
    found = MOTION.resample(np.clip(t, MOTION.t[0], MOTION.t[-1])[1:-1])
    tau = ROBOT.inverse_dynamics(found.q, found.dq, found.ddq)
    data = make_recording(ROBOT, found.t, found.q, tau)
    assert "uneven" in data.notes[0] and np.ptp(np.diff(data.t)) < 1e-12


def test_nothing_is_made_up_for_a_gap():
    kept = np.r_[0:250, 300:310, 380 : len(MOTION)]
    data = make_recording(ROBOT, MOTION.t[kept], MOTION.q[kept], TAU[kept])
    whole = make_recording(ROBOT, MOTION.t, MOTION.q, TAU, cutoff=data.cutoff)
    assert set(data.t) < set(MOTION.t[kept])
    same = np.isin(whole.t, data.t)
    scale = np.abs(whole.ddq).max()
    assert np.abs(data.ddq - whole.ddq[same]).max() < 0.05 * scale  # ends of the stretches
    assert any("10 samples in short stretches" in x for x in data.notes)
    assert "no samples for" in data.notes[-1] and "1 shorter gap" in data.notes[-1]
    assert data.dt == pytest.approx(0.02)


def test_a_recording_of_gaps_is_refused():
    t = MOTION.t[:40] + 10 * (np.arange(40) // 10)
    with pytest.raises(InputError):
        make_recording(ROBOT, t, MOTION.q[:40], TAU[:40])


def test_a_short_gap_is_filled_and_a_long_one_is_not():
    kept = np.delete(np.arange(len(MOTION)), [100, 150, 300])
    data = make_recording(ROBOT, MOTION.t[kept], MOTION.q[kept], TAU[kept], cutoff=4.0)
    whole = make_recording(ROBOT, MOTION.t, MOTION.q, TAU, cutoff=data.cutoff)
    assert any("samples are missing: resampled" in x for x in data.notes)
    assert np.allclose(data.t, whole.t, atol=1e-9)
    assert np.abs(data.ddq - whole.ddq).max() < 0.01 * np.abs(whole.ddq).max()
    kept = np.delete(np.arange(len(MOTION)), np.r_[200:205])  # 0.12 s: half a period of the band
    data = make_recording(ROBOT, MOTION.t[kept], MOTION.q[kept], TAU[kept], cutoff=4.0)
    assert set(np.rint(data.t / 0.02)) < set(kept)


def test_dropped_and_repeated_rows_do_not_change_the_accelerations():
    rng = np.random.default_rng(0)
    q = MOTION.q + 1e-6 * rng.normal(size=MOTION.q.shape)
    rows = np.sort(np.r_[np.flatnonzero(rng.random(len(MOTION)) > 0.03), [50, 90, 200]])
    rows = np.unique(rows)
    again = np.sort(np.r_[rows, rows[[60, 120, 180]]])
    t = MOTION.t[again] + np.r_[0, np.diff(again) == 0] * 0.008
    a = make_recording(ROBOT, t, q[again], TAU[again])
    b = make_recording(ROBOT, MOTION.t, q, TAU, cutoff=a.cutoff)
    assert a.notes[0].startswith("3 of ") and "held samples" in a.notes[0]
    both = np.isin(np.rint(b.t / 0.02), np.rint(a.t / 0.02))
    assert np.abs(a.ddq - b.ddq[both]).max() < 0.02 * np.abs(b.ddq).max()
