"""Payloads: found within their errors, and always physically possible bodies."""

import numpy as np
import pytest
from identified_robots import ARM, TRUE, arm_motion, with_drives

import kinetree as kt
from kinetree.errors import InputError, SingularityError
from kinetree.identify import identify_payload, simulated_recording
from kinetree.motion import excitation
from kinetree.spatial import pseudo_inertia

LOAD = (2.0, np.array([0.02, -0.03, 0.08]), np.diag([0.01, 0.012, 0.006]))


@pytest.fixture(scope="module")
def panda():
    return with_drives(kt.robots.panda())


@pytest.fixture(scope="module")
def motion(panda):
    return excitation(panda, 10, 0.01, harmonics=5, seed=1)


def test_without_noise_the_payload_is_exact(panda, motion):
    found = identify_payload(panda, simulated_recording(panda.with_payload(*LOAD), motion))
    assert found.m == pytest.approx(2.0, rel=1e-9)
    assert found.com == pytest.approx(LOAD[1], abs=1e-9)
    assert np.abs(found.I_com - LOAD[2]).max() < 1e-8
    q = panda.random(rng=0)
    assert found.robot.gravity_forces(q) == pytest.approx(
        panda.with_payload(*LOAD).gravity_forces(q), abs=1e-8
    )


def test_with_noise_it_lies_within_its_errors_and_exists(panda, motion, experiments):
    true, z = panda.with_payload(*LOAD), []
    h = LOAD[0] * LOAD[1]
    for seed in range(experiments(6, 20)):
        data = simulated_recording(true, motion, encoder_noise=2e-5, torque_noise=0.3, seed=seed)
        found = identify_payload(panda, data)
        z.append((found.parameters[:4] - [LOAD[0], *h]) / found.standard_error[:4])
        assert np.linalg.eigvalsh(pseudo_inertia(found.m, found.com, found.I_com))[0] > 0
        assert abs(found.m - 2.0) < 0.02
    assert 0.6 < np.std(z) < 1.4 and "kg (+- " in str(found)


def test_another_frame_may_carry_it(panda, motion):
    true = panda.with_payload(*LOAD, frame="panda_link5")
    found = identify_payload(panda, simulated_recording(true, motion), "panda_link5")
    assert found.m == pytest.approx(2.0, rel=1e-9) and found.frame == "panda_link5"


def test_a_point_is_a_body_that_exists(panda, motion):
    true = panda.with_payload(0.5, (0, 0, 0.05))
    data = simulated_recording(true, motion, torque_noise=0.2, seed=3)
    found = identify_payload(panda, data)
    assert np.linalg.eigvalsh(pseudo_inertia(found.m, found.com, found.I_com))[0] > 0
    assert found.m == pytest.approx(0.5, abs=0.02)


def test_impossible_requests_are_refused(panda, motion):
    data = simulated_recording(panda, motion, torque_noise=0.1)
    with pytest.raises(InputError, match="does not move"):
        identify_payload(panda, data, "panda_link0")
    lighter = simulated_recording(kt.robots.panda(), motion)
    heavy = kt.robots.panda().with_payload(1.0)
    with pytest.raises(InputError, match="expected a positive mass"):
        identify_payload(heavy, lighter)


def test_an_arm_of_three_joints_leaves_some_of_it_open():
    data = simulated_recording(TRUE.with_payload(1.0, (0.05, 0, 0)), arm_motion())
    found = identify_payload(TRUE, data)
    assert found.condition > 1 and found.m == pytest.approx(1.0, rel=1e-6)


def test_positions_held_still_tell_mass_and_centre(panda, motion):
    still = motion.replace(dq=0 * motion.dq, ddq=0 * motion.ddq)
    data = simulated_recording(panda.with_payload(*LOAD), still, torque_noise=0.1)
    found = identify_payload(panda, data)
    assert found.m == pytest.approx(2.0, abs=0.02) and found.com == pytest.approx(LOAD[1], abs=0.01)
    assert found.untold == ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    assert np.all(np.isnan(found.parameters) == [False] * 4 + [True] * 6)
    assert np.linalg.eigvalsh(pseudo_inertia(found.m, found.com, found.I_com))[0] > 0
    assert "not determined by the motion: Ixx, Ixy" in str(found)
    assert "nan" not in found._repr_html_()


def test_a_scara_tells_what_it_can_feel_of_a_payload():
    robot = kt.robots.scara()
    true = robot.with_payload(1.5, (0.02, 0.01, -0.05), np.diag([1e-3, 1e-3, 2e-3]))
    data = simulated_recording(true, excitation(robot, 8, 0.01), torque_noise=0.02)
    found = identify_payload(robot, data)
    assert found.m == pytest.approx(1.5, abs=0.05) and "hz" in found.untold
    assert found.com[:2] == pytest.approx([0.02, 0.01], abs=0.01)
    q = robot.random(rng=0)
    expected = true.mass_matrix(q) - robot.mass_matrix(q)
    assert np.abs(found.robot.mass_matrix(q) - true.mass_matrix(q)).max() < 0.1 * expected.max()


def test_no_payload_and_a_mass_that_nothing_lifts_are_told(panda, motion):
    data = simulated_recording(panda, motion, torque_noise=0.1)
    with pytest.raises(InputError, match=r"the recording shows no payload: .* kg"):
        identify_payload(panda, data)
    upright = kt.Builder("turntable").link("base").link("table", 1.0)
    upright.joint("turn", "revolute", "base", "table", axis=(0, 0, 1))
    table = upright.build()
    data = simulated_recording(table.with_payload(1.0, (0.1, 0, 0)), excitation(table, 5, 0.01))
    with pytest.raises(SingularityError, match="does not separate the mass of the payload"):
        identify_payload(table, data)


def test_friction_that_the_robot_lacks_is_named():
    loaded = TRUE.with_payload(1.0, (0.05, 0, 0))
    data = simulated_recording(loaded, arm_motion(), torque_noise=0.05, seed=0)
    (finding,) = identify_payload(ARM, data).warnings
    assert "friction there is not that of the robot" in str(identify_payload(ARM, data))
    assert finding.joints == ("turn", "lift", "bend")
    found = identify_payload(TRUE, data)
    assert not found.warnings and "Warning" not in str(found)
