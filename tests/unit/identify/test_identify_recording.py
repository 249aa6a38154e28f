"""Recordings from files and arrays: rates by filtering, errors for data that cannot be right."""

import numpy as np
import pytest
from identified_robots import TRUE as ROBOT
from identified_robots import arm_motion

import kinetree as kt
from kinetree.errors import InputError, KinetreeError
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


def refused(tmp_path, table, **options):
    with pytest.raises(KinetreeError) as found:
        read_recording(write(tmp_path / "data.csv", table), ROBOT, **options)
    return str(found.value)


def test_rates_that_are_missing_come_from_the_positions(tmp_path):
    data = read_recording(write(tmp_path / "data.csv", columns()), ROBOT)
    cut = (len(MOTION) - len(data)) // 2
    inner = slice(cut, len(MOTION) - cut)
    assert np.abs(data.dq - MOTION.dq[inner]).max() < 1e-3 * np.abs(MOTION.dq).max()
    assert np.abs(data.ddq - MOTION.ddq[inner]).max() < 0.02 * np.abs(MOTION.ddq).max()
    assert np.array_equal(data.tau, TAU[inner])
    assert data.cutoff is not None and "low-pass" in data.notes[0]


def test_rates_that_are_given_are_used_as_they_are(tmp_path):
    table = columns()
    for k, name in enumerate(NAMES):
        table[f"dq:{name}"], table[f"ddq:{name}"] = MOTION.dq[:, k], MOTION.ddq[:, k]
    data = read_recording(write(tmp_path / "data.csv", table), ROBOT)
    assert len(data) == len(MOTION) and data.cutoff is None
    assert np.array_equal(data.dq, MOTION.dq) and np.array_equal(data.ddq, MOTION.ddq)


def test_accelerations_alone_may_be_missing():
    data = make_recording(ROBOT, MOTION.t, MOTION.q, TAU, MOTION.dq)
    cut = (len(MOTION) - len(data)) // 2
    inner = slice(cut, len(MOTION) - cut)
    assert np.abs(data.ddq - MOTION.ddq[inner]).max() < 0.02 * np.abs(MOTION.ddq).max()


def test_degrees_are_refused_and_can_be_told(tmp_path):
    table = columns()
    for name in NAMES:
        table[f"q:{name}"] = np.degrees(table[f"q:{name}"])
    assert "looks like degrees" in refused(tmp_path, table)
    data = read_recording(write(tmp_path / "data.csv", table), ROBOT, degrees=True)
    assert np.abs(data.q).max() < 2.5


def test_millimetres_are_named_if_they_would_fit_the_limits():
    slide = kt.Builder("slide").link("base").link("cart", 1.0)
    limits = kt.Limits(-0.1, 0.5, 2.0, 50.0)
    robot = slide.joint("x", "prismatic", "base", "cart", axis=(1, 0, 0), limits=limits).build()
    t = np.linspace(0, 10, 500)
    q = (0.2 + 0.29 * np.sin(t))[:, None]
    make_recording(robot, t, q, np.cos(q))
    with pytest.raises(InputError, match="It looks like millimetres; expected rad and m"):
        make_recording(robot, t, 1000 * q, np.cos(q))
    with pytest.raises(InputError, match="Check the order of the joints"):
        make_recording(robot, t, 1600 * q, np.cos(q))  # 0.78 m would be beyond the limits, too


def test_degrees_are_suspected_without_limits_too():
    free = kt.robots.planar_2r()
    t = np.linspace(0, 10, 500)
    q = np.stack([np.sin(t), np.cos(2 * t)], axis=1)
    make_recording(free, t, q, 0 * q + np.random.default_rng(0).normal(size=q.shape))
    with pytest.raises(InputError, match="looks like degrees"):
        make_recording(free, t, np.degrees(q), 0 * q)


@pytest.mark.parametrize(
    ("factor", "hint"),
    [(180 / np.pi, "degrees are suspected"), (1e-3, "milliseconds"), (-1, "sign is reversed")],
)
def test_rates_in_another_unit_are_refused(factor, hint):
    with pytest.raises(InputError, match=hint):
        make_recording(ROBOT, MOTION.t, MOTION.q, TAU, factor * MOTION.dq, MOTION.ddq)
    with pytest.raises(InputError, match="ddq of 'turn' is not the rate of its dq"):
        make_recording(ROBOT, MOTION.t, MOTION.q, TAU, MOTION.dq, factor * MOTION.ddq)


def test_a_missing_joint_is_named(tmp_path):
    table = columns()
    del table["q:bend"]
    assert "q of bend is missing" in refused(tmp_path, table)
    table = columns()
    del table["tau:lift"]
    assert "tau of lift is missing" in refused(tmp_path, table)
    assert "unknown joint 'elbow'" in refused(tmp_path, columns(**{"q:elbow": MOTION.t}))


def test_a_file_without_forces_is_refused(tmp_path):
    table = {key: x for key, x in columns().items() if not key.startswith("tau")}
    assert "tau of turn, lift, bend is missing; expected a column 'tau:turn'" in refused(
        tmp_path, table
    )


def test_times_out_of_order_are_refused_with_their_line(tmp_path):
    t = MOTION.t.copy()
    t[[40, 41]] = t[[41, 40]]
    assert "line 43" in refused(tmp_path, columns(t=t))


def test_rows_of_nan_are_refused_with_their_line(tmp_path):
    x = MOTION.q[:, 1].copy()
    x[10] = np.nan
    assert "line 12: 'q:lift' is nan" in refused(tmp_path, columns(**{"q:lift": x}))


def test_arrays_of_the_wrong_shape_or_with_nan_are_refused():
    with pytest.raises(InputError, match=r"tau has shape .* expected"):
        make_recording(ROBOT, MOTION.t, MOTION.q, TAU[:, :2])
    with pytest.raises(InputError, match="expected a finite number"):
        make_recording(ROBOT, MOTION.t, MOTION.q, np.where(TAU == TAU.max(), np.nan, TAU))
    with pytest.raises(InputError, match="expected 16 at least"):
        make_recording(ROBOT, MOTION.t[:9], MOTION.q[:9], TAU[:9])
    with pytest.raises(InputError, match="too few for a low-pass"):
        make_recording(ROBOT, MOTION.t[:60], MOTION.q[:60], TAU[:60], cutoff=1.0)


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
    assert "10 samples in short stretches" in data.notes[-2]
    assert "no samples for" in data.notes[-1] and "1 shorter gap" in data.notes[-1]
    assert data.dt == pytest.approx(0.02)


def test_a_recording_of_gaps_is_refused():
    t = MOTION.t[:40] + 10 * (np.arange(40) // 10)
    with pytest.raises(InputError, match="no more than 10 samples follow each other"):
        make_recording(ROBOT, t, MOTION.q[:40], TAU[:40])


def test_odd_forces_and_times_are_told():
    data = make_recording(ROBOT, MOTION.t, MOTION.q, 1000 * TAU, MOTION.dq, MOTION.ddq)
    assert any("far beyond its limit" in note for note in data.notes)
    still = MOTION.q.copy()
    still[:, 0] = 0.3
    data = make_recording(ROBOT, MOTION.t, still, TAU)
    assert any("'turn' hardly moves" in note for note in data.notes)
    with pytest.raises(InputError, match=r"samples are 20 s apart, .* Is t in ms\?"):
        make_recording(ROBOT, 1000 * MOTION.t, MOTION.q, TAU)
    slow = make_recording(ROBOT, 1000 * MOTION.t, MOTION.q, TAU, 0 * MOTION.dq, 0 * MOTION.ddq)
    assert any("is t in s, not in ms?" in note for note in slow.notes)


def notes_of(q=MOTION.q, tau=TAU, t=MOTION.t):
    return " | ".join(make_recording(ROBOT, t, q, tau).notes)


def test_saturated_forces_are_named_with_their_share():
    most = 0.6 * np.abs(TAU[:, 1]).max()
    clipped = TAU.copy()
    clipped[:, 1] = np.clip(TAU[:, 1], -most, most)
    share = np.mean(np.abs(TAU[:, 1]) >= most)
    (finding,) = make_recording(ROBOT, MOTION.t, MOTION.q, clipped).findings
    assert finding.kind == "saturation" and finding.joints == ("lift",)
    assert "tau of 'lift' stays at its largest value, in " in finding.text
    found = float(finding.text.split("largest value, in ")[1].split("%")[0]) / 100
    assert found == pytest.approx(share, abs=0.05)
    noisy = 79.9 * np.sign(TAU) * (np.abs(TAU) > 0.7 * np.abs(TAU).max())  # the limit is 80 N m
    noisy = noisy + 0.05 * np.random.default_rng(0).normal(size=TAU.shape)
    (finding,) = make_recording(ROBOT, MOTION.t, MOTION.q, noisy).findings
    assert "stays at its largest value" in finding.text
    assert not make_recording(ROBOT, MOTION.t, MOTION.q, TAU).findings


def test_coarse_encoders_and_constant_forces_are_named():
    coarse = MOTION.q.copy()
    coarse[:, 2] = np.round(coarse[:, 2] / 0.02) * 0.02
    assert "q of 'bend' has coarse steps: the motion of 'bend' spans" in notes_of(q=coarse)
    assert "coarse" not in notes_of() + notes_of(q=np.round(MOTION.q, 5))
    flat = TAU.copy()
    flat[:, 0] = 1.5
    assert "tau of 'turn' never changes" in notes_of(tau=flat)


def test_a_short_gap_is_filled_and_a_long_one_is_not():
    kept = np.delete(np.arange(len(MOTION)), [100, 150, 300])
    data = make_recording(ROBOT, MOTION.t[kept], MOTION.q[kept], TAU[kept])
    whole = make_recording(ROBOT, MOTION.t, MOTION.q, TAU, cutoff=data.cutoff)
    assert "3 missing samples between others interpolated" in data.notes
    assert np.allclose(data.t, whole.t, atol=1e-9)
    assert np.abs(data.ddq - whole.ddq).max() < 0.01 * np.abs(whole.ddq).max()
    kept = np.delete(np.arange(len(MOTION)), np.r_[200:205])  # 0.12 s: half a period of the band
    data = make_recording(ROBOT, MOTION.t[kept], MOTION.q[kept], TAU[kept])
    assert any("1 gap of more than 0.0" in note for note in data.notes)
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
