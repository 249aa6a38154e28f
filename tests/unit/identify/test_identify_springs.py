"""Identification of springs: stiffness and preload among the unknowns, never negative stiffness."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.identify import identify, simulated_recording
from kinetree.identify.unknowns import unknowns
from kinetree.motion import excitation

ROBOT = kt.robots.spatial_3r()


def recording(spring):
    real = ROBOT.with_springs({"joint2": spring})
    plan = excitation(ROBOT, 10, 0.01, reach=1.0)
    return simulated_recording(real, plan, encoder_noise=1e-5, torque_noise=0.05)


@pytest.mark.parametrize("rest", [-0.5])
def test_stiffness_and_rest_are_found_from_nothing(rest):
    data = recording(kt.Spring(40, rest))
    found = identify(ROBOT.with_springs({"joint2": kt.Spring(0)}), data, friction="known")
    spring = found.springs["joint2"]
    assert spring.stiffness == pytest.approx(40, rel=5e-2)
    assert spring.rest == pytest.approx(rest, rel=5e-2)
    state = data.q, data.dq, data.ddq
    error = np.abs(found.robot.inverse_dynamics(*state) - data.tau).max()
    assert error < 0.02 * np.abs(data.tau).max()


def test_no_spring_is_found_where_there_is_none():
    found = identify(
        ROBOT.with_springs({"joint2": kt.Spring(0)}), recording(kt.Spring(0)), friction="known"
    )
    spring = found.springs["joint2"]
    assert 0 <= spring.stiffness < 2
    assert abs(spring.stiffness * spring.rest) < 1


def test_a_spring_pushing_away_is_not_found():
    """A force -k q, which no spring has, leaves the stiffness at zero or above."""
    data = recording(kt.Spring(0))
    state = data.q, data.dq, data.ddq
    robot = ROBOT.with_springs({"joint2": kt.Spring(5)})
    pushed = data.__class__(**{**vars(data), "tau": data.tau - robot.spring_forces(data.q)})
    found = identify(robot, pushed, friction="known", armature=False)
    assert found.springs["joint2"].stiffness >= 0
    assert np.isfinite(found.robot.inverse_dynamics(*state)).all()


def test_names_and_units_of_the_unknowns():
    robot = ROBOT.with_springs({"joint2": kt.Spring(3, 0.1)})
    sought = unknowns(robot)
    assert sought.names[-2:] == ("stiffness[joint2]", "preload[joint2]")
    assert sought.units[-2:] == ("N m/rad", "N m")
    assert sought.signed.tolist() == [*[False] * (len(sought.names) - 1), True]
    known = unknowns(robot, springs=False)
    assert not any("spring" in x or "stiffness" in x for x in known.names)
    assert known.fixed[-2:].tolist() == [3, pytest.approx(0.3)]
