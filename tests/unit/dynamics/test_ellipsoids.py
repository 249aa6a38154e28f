"""Mass and force ellipsoids against closed forms of the planar 2R arm."""

import numpy as np
import pytest

from kinetree import dynamics as kt
from kinetree import robots
from kinetree.errors import InputError
from robot_states import EPS

ROUNDING = 64 * EPS  # eigenvalues of 3x3 matrices, times the condition below 100 of these poses


def planar_jacobian(q, l1=1.0, l2=0.8):
    """Velocity of the tip in {s}, written by hand."""
    s1, c1, s12, c12 = np.sin(q[0]), np.cos(q[0]), np.sin(sum(q)), np.cos(sum(q))
    return np.array([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]])


def planar_mass(q):
    """Two links of 22 and 19 kg with centres in the middle, inertia 0.4 and 0.3 kg m^2."""
    far = 0.3 + 19 * 0.4**2
    cross = 19 * 0.4 * np.cos(q[1])
    near = 0.4 + 22 * 0.25 + 19 + far + 2 * cross
    return np.array([[near, far + cross], [far + cross, far]])


@pytest.mark.parametrize("q", [(0.3, 1.0), (2.0, -0.7), (-1.0, 2.5)])
def test_the_mass_ellipsoid_of_the_2r_is_that_of_its_closed_form(q):
    found = kt.mass_ellipsoid(robots.planar_2r().model, q)
    J = planar_jacobian(q)
    Lambda = np.linalg.inv(J @ np.linalg.inv(planar_mass(q)) @ J.T)
    lengths = np.linalg.eigvalsh(Lambda)
    assert np.abs(found.lengths[:2] / lengths - 1).max() < ROUNDING * np.linalg.cond(Lambda)
    assert found.lengths[2] == np.inf  # the arm cannot leave its plane
    for axis, length in zip(found.axes[:2, :2].T, lengths, strict=True):
        assert np.abs(Lambda @ axis - length * axis).max() < ROUNDING * lengths[-1]


@pytest.mark.parametrize("q", [(0.3, 1.0), (2.0, -0.7), (-1.0, 2.5)])
def test_the_force_ellipsoid_of_the_2r_is_that_of_its_jacobian(q):
    found = kt.force_ellipsoid(robots.planar_2r().model, q)
    sigma = np.linalg.svd(planar_jacobian(q), compute_uv=False)
    assert np.abs(found.lengths[:2] * sigma - 1).max() < ROUNDING * (sigma[0] / sigma[1]) ** 2
    assert found.lengths[2] == np.inf
    tau = planar_jacobian(q).T @ (found.axes[:2, 0] * found.lengths[0])
    assert abs(np.linalg.norm(tau) - 1) < ROUNDING * 100


def test_the_angular_part_of_a_planar_arm_turns_about_one_axis():
    found = kt.mass_ellipsoid(robots.planar_2r().model, (0.3, 1.0), part="angular")
    assert np.isfinite(found.lengths).tolist() == [True, False, False]
    assert abs(found.axes[2, 0]) == pytest.approx(1, abs=ROUNDING)


def test_a_stretched_arm_holds_any_force_along_itself():
    found = kt.force_ellipsoid(robots.planar_2r().model, (0.3, 0.0))
    assert np.isinf(found.lengths[1:]).all()
    along = np.array([np.cos(0.3), np.sin(0.3)])
    assert abs(found.axes[:2, 0] @ along) < ROUNDING


def test_an_unknown_part_is_named():
    with pytest.raises(InputError):
        kt.mass_ellipsoid(robots.planar_2r().model, (0, 1), part="force")
