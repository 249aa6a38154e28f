"""The robots of every course against published numbers and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetree import dynamics, robots
from kinetree.spatial import check_physical

angles = st.floats(-10, 10)
PUMA_STATE = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])


def test_puma_560_carries_the_published_gravity_load():
    """Corke, Robotics, Vision and Control: the nominal pose, printed to four digits."""
    found = dynamics.gravity_forces(robots.puma_560().model, PUMA_STATE)
    printed = [0, 31.6399, 6.0351, 0, 0.0283, 0]
    assert np.round(found, 4) + 0.0 == pytest.approx(printed, abs=1e-12)


def test_puma_560_has_the_published_mass_matrix():
    M = dynamics.mass_matrix(robots.puma_560().model, PUMA_STATE)
    printed = [3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941]
    assert np.round(np.diag(M), 4) == pytest.approx(printed, abs=1e-12)


def test_puma_560_reaches_upwards_when_its_arm_is_straight_up():
    """The ready pose of the toolbox: q = (0, pi/2, -pi/2, 0, 0, 0), wrist centre over link 2."""
    T = dynamics.pose(robots.puma_560().model, [0, np.pi / 2, -np.pi / 2, 0, 0, 0])
    assert np.allclose(T[:3, 3], [0.0203, -0.15005, 0.4318 * 2], rtol=0, atol=1e-15)
    assert np.allclose(T[:3, :3], np.eye(3), rtol=0, atol=1e-15)


def test_puma_560_rubs_by_motor_friction_seen_through_the_gears():
    """First joint: viscous 1.48e-3 G^2; Coulomb 0.395 G forward at the motor; G is negative."""
    model = robots.puma_560().model
    gear = 62.6111
    forward = dynamics.friction_forces(model, [1.0, 0, 0, 0, 0, 0])[0]
    backward = dynamics.friction_forces(model, [-1.0, 0, 0, 0, 0, 0])[0]
    assert forward == pytest.approx(1.48e-3 * gear**2 + 0.435 * gear, rel=1e-14)
    assert backward == pytest.approx(-1.48e-3 * gear**2 - 0.395 * gear, rel=1e-14)


@given(angles, angles)
def test_the_double_pendulum_has_its_textbook_matrices(q1, q2):
    m1, m2, l1, l2 = 1.5, 0.7, 0.9, 1.3
    model = robots.double_pendulum(m1, m2, l1, l2).model
    c = np.cos(q2)
    M12 = m2 * (l2**2 + l1 * l2 * c)
    M = [[m1 * l1**2 + m2 * (l1**2 + 2 * l1 * l2 * c + l2**2), M12], [M12, m2 * l2**2]]
    g2 = m2 * 9.81 * l2 * np.sin(q1 + q2)
    g = [(m1 + m2) * 9.81 * l1 * np.sin(q1) + g2, g2]
    # entries of size 10 to 40, each of some ten roundings; angles to 10 rad add their own ulp
    assert np.allclose(dynamics.mass_matrix(model, [q1, q2]), M, rtol=0, atol=1e-13)
    assert np.allclose(dynamics.gravity_forces(model, [q1, q2]), g, rtol=0, atol=1e-13)


@given(angles, angles)
def test_the_cart_pole_has_its_textbook_matrices(x, q):
    m_cart, m, length = 2.0, 0.3, 0.8
    model = robots.cart_pole(m_cart, m, length, friction=0.4).model
    half = length / 2
    coupling = m * half * np.cos(q)
    M = [[m_cart + m, coupling], [coupling, m * length**2 / 3]]
    assert np.allclose(dynamics.mass_matrix(model, [x, q]), M, rtol=0, atol=1e-14)
    expected = [0, -m * 9.81 * half * np.sin(q)]  # upright at q = 0: gravity pushes it over
    assert np.allclose(dynamics.gravity_forces(model, [x, q]), expected, rtol=0, atol=1e-14)
    assert dynamics.friction_forces(model, [2.0, 1.0]).tolist() == [0.8, 0]


@given(st.tuples(angles, angles, st.floats(-0.15, 0), angles))
def test_the_scara_moves_in_its_plane_and_its_quill_up_and_down(q):
    model = robots.scara().model
    p = dynamics.pose(model, q)[:3, 3]
    a, b = q[0], q[0] + q[1]
    expected = [
        0.225 * np.cos(a) + 0.175 * np.cos(b),
        0.225 * np.sin(a) + 0.175 * np.sin(b),
        q[2] - 0.14,
    ]
    assert np.allclose(p, expected, rtol=0, atol=1e-15)
    # only the quill works against gravity, and it lifts itself and the wrist
    g = dynamics.gravity_forces(model, q)
    assert np.allclose(g, [0, 0, 0.8 * 9.81, 0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", robots.__all__)
def test_every_robot_has_physical_links_a_tool_and_a_positive_mass_matrix(name):
    model, again = (getattr(robots, name)().model for _ in range(2))
    for i in model.links if name not in ("puma_560", "spatial_3r") else ():  # used as printed
        check_physical(model.m[i], model.com[i], model.I_com[i], model.link_names[i])
    for field in ("m", "com", "I_com", "M_pi"):
        assert np.array_equal(getattr(model, field), getattr(again, field))
    assert model.name and model.tool in model.frames
    q = dynamics.random(model, np.random.default_rng(0))
    M = np.asarray(dynamics.mass_matrix(model, q), float)
    assert np.allclose(M, M.T, rtol=0, atol=8 * np.finfo(float).eps * np.linalg.norm(M))
    assert np.linalg.eigvalsh(M)[0] > 0
