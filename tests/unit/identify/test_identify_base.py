"""Base parameters of the unknowns: as many as the rank, equal joint forces, readable."""

import numpy as np
import pytest
from identified_robots import ARM, TRUE

import kinetree as kt
from kinetree.algorithms import base_parameters
from kinetree.errors import InputError
from kinetree.identify import find_base, unknowns

ROBOTS = {
    "planar 2R": kt.robots.planar_2r,
    "puma": kt.robots.puma_560,
    "panda": kt.robots.panda,
    "arm": lambda: TRUE,
}


def states(robot, count=20):
    return np.random.default_rng(3).normal(size=(3, count, robot.n))


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("friction", ["symmetric", "directional", "known"])
@pytest.mark.parametrize("armature", [True, False])
def test_unknowns_and_the_known_rest_give_the_joint_forces(name, friction, armature):
    robot = ROBOTS[name]()
    if name == "puma" and friction == "symmetric":
        pytest.skip("its Coulomb friction differs by direction")
    sought = unknowns(robot, friction, armature)
    tau = robot.inverse_dynamics(*states(robot))
    found = sought.regressor(*states(robot)) @ sought.values(robot.model) + sought.known(
        *states(robot)
    )
    assert np.abs(found - tau).max() < 1e-13 * np.abs(tau).max() * 10


@pytest.mark.parametrize("name", ROBOTS)
def test_base_parameters_give_the_same_joint_forces(name):
    robot = ROBOTS[name]()
    sought = unknowns(robot)
    base = find_base(sought)
    x = np.random.default_rng(0).normal(size=len(sought.names))
    Y = sought.regressor(*states(robot))
    whole, less = Y @ x, Y[..., list(base.kept)] @ (base.K @ x)
    assert np.abs(whole - less).max() < 1e-9 * np.abs(whole).max()


@pytest.mark.parametrize(("name", "count"), [("planar 2R", 6), ("puma", 36), ("panda", 43)])
def test_the_number_of_base_parameters_of_the_links_is_the_known_one(name, count):
    robot = ROBOTS[name]()
    base = find_base(unknowns(robot, "known", armature=False))
    assert base.r == count == base_parameters(robot.model, groups=("link",)).count


def test_formulas_and_status_of_a_planar_arm():
    base = find_base(unknowns(kt.robots.planar_2r(), "known", armature=False))
    formulas = [base.formula(k) for k in range(base.r)]
    assert formulas[0] == "hx[link1] + m[link2]"  # its first link is 1 m long
    assert "Izz[link2]" in formulas
    status = dict(zip(base.names, base.status(), strict=True))
    assert status["Izz[link2]"] == "identified"
    assert status["m[link2]"] == "in combination"
    assert status["m[link1]"] == "no effect"


def test_a_robot_made_of_unknowns_has_them():
    sought = unknowns(TRUE)
    model = sought.model(sought.values(TRUE.model) * 1.5)
    assert np.allclose(model.m, 1.5 * TRUE.model.m) and np.allclose(model.com, TRUE.model.com)
    assert model.joints[1].friction.coulomb == pytest.approx((1.125, 1.125))
    assert model.joints[2].armature == pytest.approx(0.105)


def test_friction_must_be_one_of_its_words():
    with pytest.raises(InputError, match="expected one of auto, symmetric, directional, known"):
        unknowns(ARM, "some")


def test_a_shape_that_rates_hardly_show_hides_no_base_parameter():
    sought = unknowns(kt.robots.planar_2r(), "stribeck")
    low = sought.at(1e-4 * sought.shapes)  # a Stribeck speed far below the rates of random states
    assert find_base(low).kept == find_base(sought).kept


@pytest.mark.parametrize(
    ("length", "factor"), [(1, ""), (1 + 1e-7, ""), (1.00004, ""), (1.002, "1.002 "), (1.5, "1.5 ")]
)
def test_a_factor_is_the_length_of_the_link(length, factor):
    arm = kt.Robot.from_points(
        P=[(0, 0, 0), (length, 0, 0)], C=[(0.5, 0, 0), (length + 0.4, 0, 0)], k=[(0, 0, 1)] * 2,
        m=[22, 19], I_com=[np.eye(3)] * 2, gravity=(0, -9.81, 0),
    )  # fmt: skip
    base = find_base(unknowns(arm, "known", armature=False))
    assert base.formula(0) == f"hx[link1] + {factor}m[link2]"
