"""Small parts of an identification against closed forms, so that a wrong line is found."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from identified_robots import ARM, TRUE

import kinetree as kt
from kinetree.errors import InputError
from kinetree.identify import identify_payload, make_recording, unknowns
from kinetree.identify.base import regroup, separable
from kinetree.identify.checks import check_given_rates, jumps, remarks
from kinetree.identify.constants import LEARNED_LEAST
from kinetree.identify.filtering import margin
from kinetree.identify.identification import (
    base_rows,
    force_rows,
    overview,
    unidentifiable,
    unknown_rows,
)
from kinetree.identify.least_squares import fit
from kinetree.identify.notes import odd_errors
from kinetree.identify.physical import (
    coordinates,
    descend,
    factor,
    prior_rows,
    pseudo_of,
    unknowns_at,
)
from kinetree.spatial.inertia import pseudo_inertia

BODY = pseudo_inertia(2.0, np.array([0.1, -0.2, 0.3]), np.diag([0.03, 0.04, 0.05]))


def test_filters_lose_three_quarters_of_a_period_of_their_cutoff():
    assert margin(0.01, 5.0) == 15 and margin(0.01, 3.0) == 25


def test_the_prior_is_the_distance_of_pseudo_inertias():
    """|P pi - p|^2 = |U0^-1 J U0^-T - 1|^2, summed over all sixteen entries."""
    other = pseudo_inertia(1.0, np.array([0.0, 0.1, 0.1]), np.diag([0.02, 0.03, 0.02]))
    pi = np.array([1.0, 0, 0.1, 0.1, 0.04, 0, 0, 0.04, -0.01, 0.03])
    assert np.allclose(pseudo_of(pi), other)
    P, p = prior_rows(BODY)
    inverse = np.linalg.inv(factor(BODY))
    assert np.sum((P @ pi - p) ** 2) == pytest.approx(
        np.sum((inverse @ other @ inverse.T - np.eye(4)) ** 2)
    )


def test_a_drive_that_would_be_less_than_nothing_stays_at_zero():
    """One body that is known, and two drives that data put at -3 and at 0.5."""
    start = np.concatenate([coordinates(BODY), [0.1, 0.1]])
    x = unknowns_at(start, 1)[0]
    A, b = np.eye(12) * 100, np.concatenate([100 * x[:10], [-300, 50]])
    theta, rounds = descend(A, b, start, 1, 1.0)
    assert theta[10] == 0 and theta[11] == pytest.approx(0.5, rel=1e-6)
    assert np.allclose(theta[:10], start[:10], atol=1e-4) and rounds < 50
    costs = []
    descend(A, b, start, 1, 1.0, lambda k, cost: costs.append(cost))
    assert all(a >= b >= 0 for a, b in pairwise(costs))
    assert costs[-1] == pytest.approx(300**2, rel=1e-3)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_columns_are_regrouped_by_what_they_are(size):
    rng = np.random.default_rng(0)
    Y = size * rng.normal(size=(30, 4)) * [1, 1e3, 1e-3, 1]
    Y[:, 2] = 2 * Y[:, 0] - 0.5 * Y[:, 1]
    kept, K = regroup(Y, 1e-5)
    assert kept == [0, 1, 3]
    assert np.allclose(K, [[1, 0, 2, 0], [0, 1, -0.5, 0], [0, 0, 0, 1]], rtol=1e-9, atol=0)
    forces, scale = np.array([2.0, 3.0]), np.array([1e-3, 1.0, 5.0, 7.0])
    again = separable(Y.reshape(15, 2, 4), forces, scale)
    assert again[0] == kept and np.allclose(again[1], K, rtol=1e-9, atol=0)


def test_least_squares_of_two_joints_with_units_of_their_own():
    """Ordinary least squares in units of `forces` is weighted by them, and says so in each unit."""
    rng = np.random.default_rng(1)
    W, beta = rng.normal(size=(40, 2, 3)), np.array([1.0, -2.0, 3.0])
    y = W @ beta + rng.normal(size=(40, 2)) * [0.1, 10.0]
    forces = np.array([1.0, 100.0])
    found = fit(W, y, "ordinary", forces=forces)
    rows = (W / forces[:, None]).reshape(-1, 3)
    expected = np.linalg.lstsq(rows, (y / forces).ravel(), rcond=None)[0]
    assert np.allclose(found.beta, expected, rtol=1e-10)
    assert np.allclose(found.residual, y - W @ expected)
    assert np.allclose(found.weights, 1 / forces**2)
    sigma = np.sqrt((found.residual**2).sum(axis=0) / (40 - 1.5))
    assert np.allclose(found.sigma, sigma)
    assert found.condition == pytest.approx(np.linalg.cond(rows / np.linalg.norm(rows, axis=0)))


def test_friction_of_joints_at_rest_is_left_out():
    sought = unknowns(TRUE)
    q = np.linspace(0, 1, 20)[:, None] * [1.0, 0.0, 1.0]
    names = [sought.names[k] for k in sought.at_rest(q)]
    assert names == ["viscous[lift]", "coulomb[lift]", "armature[lift]"]
    assert len(sought.at_rest(q + np.linspace(0, 1, 20)[:, None])) == 0


def lift():
    """One joint that lifts a carriage."""
    robot = kt.Builder("lift").link("base").link("carriage", 3.0, (0.1, 0, 0), np.eye(3) * 0.1)
    robot.joint("up", "prismatic", "base", "carriage", axis=(0, 0, 1))
    return robot.build()


def test_a_lift_tells_the_mass_of_its_load_and_nothing_else():
    true, t = lift(), np.linspace(0, 4, 200)
    q, dq, ddq = (
        x[:, None] for x in (0.2 * np.sin(3 * t), 0.6 * np.cos(3 * t), -1.8 * np.sin(3 * t))
    )
    loaded = true.with_payload(0.5, (0, 0, 0.1))
    noise = 0.01 * np.random.default_rng(0).normal(size=(200, 1))
    data = make_recording(true, t, q, loaded.inverse_dynamics(q, dq, ddq) + noise, dq, ddq)
    found = identify_payload(true, data)
    assert found.m == pytest.approx(0.5, abs=5e-3)
    assert found.untold == ("hx", "hy", "hz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    assert np.isnan(found.parameters[1:]).all() and found.parameters[0] == pytest.approx(
        found.m, 0.01
    )


def test_errors_of_a_load_count_what_its_samples_share():
    """Noise that lasts twelve samples: the standard error is that of `fit`."""
    true, t = lift(), np.linspace(0, 4, 200)
    s, c = np.sin(3 * t)[:, None], np.cos(3 * t)[:, None]
    q, dq, ddq = 0.2 * s, 0.6 * c, -1.8 * s
    white = 0.05 * np.random.default_rng(0).normal(size=211)
    noise = np.convolve(white, np.ones(12), "valid")[:, None]
    tau = true.with_payload(0.5, (0, 0, 0)).inverse_dynamics(q, dq, ddq) + noise
    found = identify_payload(true, make_recording(true, t, q, tau, dq, ddq))
    W = (ddq + 9.81)[..., None]
    expected = fit(W, tau - true.inverse_dynamics(q, dq, ddq), "robust")
    assert found.standard_error[0] == pytest.approx(expected.standard_error[0], rel=1e-6)
    assert found.parameters[0] == pytest.approx(expected.beta[0], rel=1e-9)


def test_what_is_odd_is_named_with_the_worst_of_it():
    """Joint b is twice beyond a small limit, joint a only 1.6 times beyond a large one."""
    robot = kt.Builder("two").link("base")
    for name, before, most in (("a", "base", 100.0), ("b", "a", 1.0), ("c", "b", 50.0)):
        robot.link(name, 1.0, (0.1, 0, 0), np.eye(3) * 0.01)
        limits = kt.Limits(-3, 3, 10.0, most)
        robot.joint(f"j{name}", "revolute", before, name, at=(0.2, 0, 0), limits=limits)
    model = robot.build_model()
    t = np.concatenate([np.arange(50), np.arange(60, 110), np.arange(140, 150)]) * 0.01
    q = np.sin(t)[:, None] * [1, 0.9, 0.8]
    tau = np.cos(7 * t)[:, None] * [160, 2.5, 20]
    notes = remarks(model, t, (q, np.cos(t)[:, None] * [1, 1, 1]), tau)
    assert notes[0] == "no samples for 0.31 s after t = 1.09 s, and 1 shorter gaps"
    assert "tau of 'ja', 'jb' is far beyond its limit, 2.5 of 1 for 'jb'" in notes[1]
    assert len(notes) == 2
    tau[20:37] = tau[20]  # 16 of 109 steps: no more than a coarse sensor does
    assert len(remarks(model, t, (q, q), tau)) == 2
    tau[20:45] = tau[20]
    assert "repeats itself in up to 22% of the samples" in remarks(model, t, (q, q), tau)[2]


def test_jumps_are_single_samples_off_a_smooth_motion():
    model, t = ARM.model, np.linspace(0, 3, 300)
    q = np.sin(t)[:, None] * [1.0, 0.5, 0.2]
    assert jumps(model, t, q) == []
    for k in (2, 150, 297):
        wild = q.copy()
        wild[k, 1] += 0.05
        assert jumps(model, t, wild) == [
            f"q of 'lift' jumps in 1 sample, the first at t = {t[k]:.6g} s: if that is not a "
            "motion, remove them from the recording"
        ]


def test_of_two_jumps_that_are_neighbours_the_larger_is_told():
    model, t = ARM.model, np.linspace(0, 3, 300)
    q = np.sin(t)[:, None] * [1.0, 0.5, 0.2]
    for first, second, told_at in ((0.05, -0.06, 152), (0.06, -0.05, 150)):
        wild = q.copy()
        wild[[150, 152], 1] += first, second
        assert f"jumps in 1 sample, the first at t = {t[told_at]:.6g} s" in jumps(model, t, wild)[0]


def test_tables_of_the_report_hold_the_numbers_of_the_result(sound):
    test = sound.test
    names, rows = force_rows(sound)
    assert names[1:4] == ["rms", "error as described", "error of the robot"]
    for k, row in enumerate(rows):
        assert float(row[1]) == pytest.approx(np.sqrt((test.tau[:, k] ** 2).mean()), rel=1e-3)
        assert float(row[3]) == pytest.approx(sound.error()[k], rel=1e-3)
        assert float(row[6]) == pytest.approx(sound.fit.sigma[k], rel=1e-3)
    for k, row in enumerate(base_rows(sound)[1]):
        low, high = sound.interval()[k]
        assert float(row[0]) == pytest.approx(sound.fit.beta[k], rel=1e-4)
        assert [float(x) for x in row[2].split(" to ")] == pytest.approx([low, high], rel=1e-4)
        assert row[5] == sound.base.formula(k)
    for k, row in enumerate(unknown_rows(sound)[1]):
        assert row[0] == sound.sought.names[k] and row[5] == sound.base.status()[k]
        if sound.determined[k]:
            assert float(row[1]) == pytest.approx(sound.estimate.x[k], rel=1e-4)
        else:
            assert row[1:3] == ["not determined", "-"]


def test_the_report_says_what_was_held_out(sound):
    assert f"{len(sound.test)} samples held out" in overview(sound)
    assert "the same samples (none held out)" in overview(
        dataclasses.replace(sound, test=sound.train)
    )


def test_the_mean_of_errors_is_told_with_its_sign(sound):
    rest = np.random.default_rng(0).normal(size=(200, 3))
    rest[:, 1] -= 2
    fit_of = dataclasses.replace(sound.fit, residual=rest)
    note = odd_errors(sound.robot.model, fit_of, "weighted")[-1]
    assert f"errors of 'lift' have a mean of {rest[:, 1].mean():.3g}:" in note.text


def test_rates_of_noisy_rates_are_compared_over_a_stretch():
    """From one sample to the next dq is noise; over a twentieth of the record it is not."""
    model, t = ARM.model, np.linspace(0, 4, 401)
    q, dq, ddq = (np.repeat(x[:, None], 3, 1) for x in (np.sin(t), np.cos(t), -np.sin(t)))
    noisy = dq + 0.02 * np.random.default_rng(0).normal(size=dq.shape)
    check_given_rates(model, t, q, noisy, ddq)
    with pytest.raises(InputError, match=r"ddq of 'turn' is not the rate of its dq: it is -0.9"):
        check_given_rates(model, t, q, noisy, -ddq)


def test_samples_that_are_far_apart_are_said_or_refused():
    robot, t = ARM, np.arange(40.0)
    q = np.repeat(np.sin(t)[:, None], 3, 1)
    dq = np.repeat(np.cos(t)[:, None], 3, 1)
    notes = remarks(robot.model, t, (q, dq), q)
    assert notes[0] == "samples are 1 apart: is t in s, not in ms?"
    with pytest.raises(InputError, match="samples are 1 s apart, too far for rates"):
        make_recording(robot, t, q, q)


def test_what_was_done_to_a_recording_is_noted():
    robot, t = ARM, np.linspace(0, 4, 401)
    q = np.sin(3 * t)[:, None] * [1, 0.9, 0.8]
    data = make_recording(robot, t, q, q, cutoff=5.0)
    assert data.notes == (
        "rates and accelerations by a zero-phase low-pass at 5 Hz; 0.15 s at each end are left out",
    )
    assert len(data) == 401 - 2 * 15


def test_what_is_told_by_less_than_a_tenth_is_not_identifiable(sound):
    mixed = [k for k, x in enumerate(sound.base.status()) if x == "in combination"][:2]
    learned = np.ones(len(sound.sought.names))
    learned[mixed] = LEARNED_LEAST - 0.01, LEARNED_LEAST + 0.01
    changed = dataclasses.replace(
        sound, estimate=dataclasses.replace(sound.estimate, learned=learned)
    )
    assert LEARNED_LEAST == 0.1
    line = unidentifiable(changed)[-1]
    assert sound.sought.names[mixed[0]] in line and sound.sought.names[mixed[1]] not in line


def test_the_found_robot_is_the_estimate(sound):
    """The self-check of a result, here by parameters of the robot that it does not use."""
    pi = np.asarray(sound.robot.parameters)
    assert np.allclose(pi, sound.sought.fixed + sound.sought.S @ sound.estimate.x, rtol=1e-12)
    assert not [x for x in sound.warnings if x.kind == "check"]
