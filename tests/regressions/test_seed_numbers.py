"""The printed results of a classic assignment, to all printed digits, in every formulation.

Three robots given by points and axes; case 2.1 is not printed in the assignment but computed from
the same data. Rates and accelerations are those that reproduce every printed figure.
"""

from math import radians

import numpy as np
import pytest

import kinetree as kt
from kinetree import robots
from kinetree.dynamics import FORMULATIONS, inverse_dynamics

NO_GRAVITY = (0, 0, 0)

# robot, q (angles in degrees), dq, ddq, tau without gravity, tau with gravity, printed decimals
CASES = {
    "2.1 2R": (
        robots.planar_2r, (20, 40), (0.2, 0.15), (0.1, 0.085),
        (4.36412443, 1.39550121), (318.19366273, 38.67350121), 8,
    ),
    "2.2 2R": (
        robots.planar_2r, (90, 45), (-0.8, 0.35), (-0.4, 0.1),
        (-12.3727, 0.2878), (-65.0917, -52.4313), 4,
    ),
    "3.1 RP": (
        robots.rp, (20, 0.2), (0.08, 0.03), (0.1, 0.01),
        (4.0374, -0.0245), (217.9039, 20.1068), 4,
    ),
    "3.2 RP": (
        robots.rp, (120, 0.6), (-0.4, -0.08), (-0.1, -0.01),
        (-4.1276, -2.5560), (-129.6956, 48.4183), 4,
    ),
    "4.1 3R": (
        robots.spatial_3r, (20, 40, 10), (0.2, 0.15, -0.2), (0.1, 0.085, 0),
        (5.1128, 1.3712, 0.1532), (5.1128, 104.1829, 6.7743), 4,
    ),
}  # fmt: skip
D2_AT_HOME = 0.6  # the assignment counts the slide from elsewhere: q2 = d2 - 0.6 m


def position(robot, coordinates):
    if robot is robots.rp:
        return [radians(coordinates[0]), coordinates[1] - D2_AT_HOME]
    return np.radians(coordinates)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("case", CASES)
def test_printed_joint_forces_are_reproduced_to_all_digits(case, formulation):
    robot, coordinates, dq, ddq, without, with_gravity, decimals = CASES[case]
    model, q = robot().model, position(robot, coordinates)
    half_a_digit = 0.5 * 10.0**-decimals
    for gravity, printed in ((NO_GRAVITY, without), (model.gravity[3:], with_gravity)):
        tau = inverse_dynamics(
            kt.Robot.with_gravity(model, gravity), q, dq, ddq, formulation=formulation
        )
        assert np.abs(tau - printed).max() <= half_a_digit


def test_gravity_is_that_of_the_assignment():
    assert robots.planar_2r().model.gravity.tolist() == [0, 0, 0, 0, -9.81, 0]
    assert robots.rp().model.gravity.tolist() == [0, 0, 0, 0, -9.81, 0]
    assert robots.spatial_3r().model.gravity.tolist() == [0, 0, 0, 0, 0, -9.81]


def test_the_mass_that_the_assignment_lists_for_the_3r_gives_another_torque():
    """Its m1 = 22 kg gives 5.1628 N m; the printed 5.1128 needs 20 kg."""
    _, coordinates, dq, ddq, *_ = CASES["4.1 3R"]
    model = robots.spatial_3r().model
    listed = model.replace(m=np.array([22, *model.m[1:]]))
    assert round(inverse_dynamics(listed, np.radians(coordinates), dq, ddq)[0], 4) == 5.1628
