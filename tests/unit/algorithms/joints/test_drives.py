"""Friction by direction, friction functions, armature and rotors of single joints."""

import numpy as np
import pytest

from kinetree import Builder, Robot
from kinetree import algorithms as kt
from kinetree.files.description import Friction, Mimic, Rotor, Stribeck
from kinetree.scalars import sin


def disc(**drive):
    """A disc of inertia 2 on a vertical axis."""
    builder = Builder().link("base").link("disc", 1, (0, 0, 0), np.diag([1.0, 1, 2]))
    return builder.joint("j", "revolute", "base", "disc", **drive).build_model()


def test_coefficients_depend_on_the_direction():
    model = disc(friction=Friction(viscous=(0.5, 2), coulomb=(3, 7)))
    assert kt.friction_forces(model, [2.0])[0] == 0.5 * 2 + 3
    assert kt.friction_forces(model, [-2.0])[0] == -2 * 2 - 7
    assert kt.friction_forces(model, [0.0])[0] == 0


@pytest.mark.parametrize("exponent", [0.5, 1, 1.5, 3, 20])
def test_the_slope_of_stribeck_friction_at_rest_and_at_high_rates_is_a_number(exponent):
    shape = Stribeck(2.0, 0.01, exponent)
    robot = Robot(disc(friction=Friction(0.1, 1.0, stribeck=shape)))
    kernel = robot.derivative("friction_forces", "dq")
    for rate in (0.0, 10.0 if exponent > 1 else 1e6):  # where only viscous friction changes
        dq = np.array([rate])
        slopes = [kernel(dq), kernel(dq.astype("float32"))]
        slopes.append(robot.inverse_dynamics_derivatives(np.zeros(1), dq, np.zeros(1))[1])
        np.testing.assert_allclose(np.ravel(slopes), 0.1, rtol=1e-6)


def test_a_function_adds_to_the_coefficients():
    model = disc(friction=Friction(viscous=0.5, function=lambda dq: 4 * sin(dq)))
    assert kt.friction_forces(model, [2.0])[0] == 0.5 * 2 + 4 * np.sin(2.0)
    assert kt.inverse_dynamics(model, [0], [2.0], [3.0])[0] == pytest.approx(
        6 + 1 + 4 * np.sin(2.0), rel=1e-15
    )


def test_friction_slows_forward_dynamics():
    model = disc(friction=Friction(viscous=0.5, coulomb=3))
    for way in (kt.forward_dynamics, kt.forward_dynamics_by_articulated_bodies):
        assert way(model, [0], [2.0], [10.0])[0] == pytest.approx((10 - 4) / 2, rel=1e-15)


def test_armature_is_felt_at_the_joint_alone():
    record = kt.newton_euler(disc(armature=5), [0], [0], [3.0])
    assert record.tau.tolist() == [3 * (2 + 5)]
    assert record.n[0].tolist() == [0, 0, 3 * 2]


def test_a_rotor_on_the_base_is_an_armature():
    """Reflected inertia r^2 I_m."""
    model = disc(rotor=Rotor(inertia=0.01, ratio=20))
    assert kt.mass_matrix(model, [0])[0, 0] == pytest.approx(2 + 0.01 * 400, rel=1e-15)


def test_a_spinning_rotor_resists_being_turned():
    """Gyroscopic moment I_m r dq omega x s on its carrier: here across the turning axis."""
    builder = Builder(gravity=(0, 0, 0)).link("base").link("table", 1, (0, 0, 0), np.eye(3))
    builder.link("wheel", 1, (0, 0, 0), np.eye(3))
    builder.joint("turn", "revolute", "base", "table", axis=(0, 0, 1))
    rotor = Rotor(inertia=0.1, ratio=5, axis=(1, 0, 0), link="table")
    builder.joint("spin", "prismatic", "table", "wheel", axis=(0, 0, 1), rotor=rotor)
    record = kt.newton_euler(builder.build_model(), [0, 0], [2.0, 3.0], [0, 0])
    assert record.n[0] == pytest.approx([0, 0.1 * 5 * 3 * 2, 0], abs=1e-15)


def test_a_mimic_joint_rubs_and_turns_at_its_own_rate():
    builder = Builder(gravity=(0, 0, 0)).link("base")
    friction = Friction(viscous=2)
    for name in "ab":
        builder.link(name, 1, (0, 0, 0), np.diag([1.0, 1, 2]))
        mimic = Mimic("ja", -3, 0.5) if name == "b" else None
        builder.joint(f"j{name}", "revolute", "base", name, friction=friction, mimic=mimic)
    model = builder.build_model()
    assert model.n == 1
    assert kt.friction_forces(model, [1.0])[0] == 2 + 2 * 9
    assert kt.mass_matrix(model, [0.0])[0, 0] == 2 + 2 * 9
    T = kt.forward_kinematics(model, [0.1])[1]
    assert np.arctan2(T[1, 0], T[0, 0]) == pytest.approx(-3 * 0.1 + 0.5, rel=1e-15)
