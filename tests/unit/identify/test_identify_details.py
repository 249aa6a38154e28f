"""Small parts of an identification against closed forms, so that a wrong line is found."""

import numpy as np
import pytest
from identified_robots import ARM, TRUE

import kinetree as kt
from kinetree.identify import identify_payload, make_recording, unknowns
from kinetree.identify.least_squares import fit


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


def test_what_was_done_to_a_recording_is_noted():
    robot, t = ARM, np.linspace(0, 4, 401)
    q = np.sin(3 * t)[:, None] * [1, 0.9, 0.8]
    data = make_recording(robot, t, q, q, cutoff=5.0)
    assert data.notes == (
        "rates and accelerations by a zero-phase low-pass at 5 Hz; 0.15 s at each end are left out",
    )
    assert len(data) == 401 - 2 * 15


def test_the_found_robot_is_the_estimate(sound):
    """The self-check of a result, here by parameters of the robot that it does not use."""
    pi = np.asarray(sound.robot.parameters)
    assert np.allclose(pi, sound.sought.fixed + sound.sought.S @ sound.estimate.x, rtol=1e-12)
    assert not [x for x in sound.warnings if x.kind == "check"]
