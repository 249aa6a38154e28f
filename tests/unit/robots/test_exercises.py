"""The assignment's three robots reproduce every printed torque, to all printed digits.

Rates, accelerations and results are those of the table in the seeds' README; results are rounded to
the digits printed there and must then be equal.
"""

import numpy as np
import pytest

import kinetree as kt
from kinetree import dynamics, robots

DEG = np.pi / 180
CASES = {
    "2.1": (robots.planar_2r, (20 * DEG, 40 * DEG), (0.2, 0.15), (0.1, 0.085), 8,
            (4.36412443, 1.39550121), (318.19366273, 38.67350121)),
    "2.2": (robots.planar_2r, (90 * DEG, 45 * DEG), (-0.8, 0.35), (-0.4, 0.1), 4,
            (-12.3727, 0.2878), (-65.0917, -52.4313)),
    "3.1": (robots.rp, (20 * DEG, 0.2 - 0.6), (0.08, 0.03), (0.1, 0.01), 4,
            (4.0374, -0.0245), (217.9039, 20.1068)),
    "3.2": (robots.rp, (120 * DEG, 0.6 - 0.6), (-0.4, -0.08), (-0.1, -0.01), 4,
            (-4.1276, -2.5560), (-129.6956, 48.4183)),
    "4.1": (robots.spatial_3r, (20 * DEG, 40 * DEG, 10 * DEG), (0.2, 0.15, -0.2), (0.1, 0.085, 0),
            4, (5.1128, 1.3712, 0.1532), (5.1128, 104.1829, 6.7743)),
}  # fmt: skip


@pytest.mark.parametrize("formulation", dynamics.FORMULATIONS)
@pytest.mark.parametrize("case", CASES)
def test_every_printed_torque_is_reproduced(case, formulation):
    robot, q, dq, ddq, digits, without, with_gravity = CASES[case]
    model = robot().model
    for gravity, printed in ((np.zeros(3), without), (model.gravity[3:], with_gravity)):
        tau = dynamics.inverse_dynamics(
            kt.Robot.with_gravity(model, gravity), q, dq, ddq, formulation=formulation
        )
        # equal after rounding to the printed digits: at most half a unit of the last one away
        assert np.abs(tau - printed).max() <= 0.5 * 10.0**-digits


def test_the_printed_mass_of_the_third_robot_gives_the_torque_that_is_not_printed():
    """With m1 = 22 as the text lists it tau_1 is 5.1628; the printed 5.1128 needs 20."""
    model = robots.spatial_3r().model
    heavier = model.replace(m=np.array([22.0, *model.m[1:]]))
    *state, digits, _, _ = CASES["4.1"][1:]
    tau = dynamics.inverse_dynamics(kt.Robot.with_gravity(heavier, (0, 0, 0)), *state)
    assert round(float(tau[0]), digits) == 5.1628


def test_the_third_robots_inertias_are_impossible_and_used_as_printed():
    assert robots.spatial_3r().model.I_com[0].tolist() == np.diag([0.2, 0.2, 0.8]).tolist()
