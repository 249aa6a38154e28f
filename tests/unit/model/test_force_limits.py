"""Force limits at given rates: box, peak and curve together, on every scalar kind."""

import mpmath
import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree.algorithms.joints.actuation import drive_forces
from kinetree.model import bounds_of, force_share, with_limits
from motion_robots import wheel

CURVE = [(0, 80), (3, 60), (6, 10)]
# rates, and least and most forces as read off the curve by hand
TABLE = [
    (0.0, -80, 80),
    (1.5, -80, 70),
    (3.0, -80, 60),
    (6.0, -80, 10),
    (6.001, -80, 0),
    (-1.5, -70, 80),
    (-7.0, 0, 80),
]


def driven(effort=np.inf, **numbers):
    return wheel(effort=effort).with_drives({"spin": kt.Drive(CURVE, **numbers)})


@pytest.mark.parametrize(("dq", "least", "most"), TABLE)
def test_the_curve_limits_the_force_in_the_direction_of_motion(dq, least, most):
    found = bounds_of(driven().model).forces(np.array([dq]))
    assert (found[0][0], found[1][0]) == (pytest.approx(least), pytest.approx(most))


@pytest.mark.parametrize("scalar", [float, mpmath.mpf, sympy.Rational])
def test_scalars_of_any_kind_give_the_numbers_of_arrays(scalar):
    model = driven(effort=75, peak=65).model
    for dq in np.linspace(-7, 7, 29):
        least, most = (drive_forces(model, [scalar(dq)], [x])[0] for x in (-1000, 1000))
        own = np.clip([float(least), float(most)], -75, 75)
        arrays = bounds_of(model).forces(np.array([dq]))
        assert own == pytest.approx([float(x[0]) for x in arrays], rel=1e-14)


def test_the_least_of_box_peak_and_curve_counts():
    rates = np.array([[0.0], [3.0], [6.0]])
    for effort, peak, standing in ((75, None, 75), (75, 65, 65), (np.inf, None, 80), (90, 85, 80)):
        bounds = bounds_of(driven(effort, peak=peak).model)
        assert bounds.effort[0] == standing
        most = bounds.forces(rates)[1].ravel()
        assert most == pytest.approx(np.minimum([80, 60, 10], standing))


def test_other_effort_limits_leave_the_drive_where_it_is():
    bounds = with_limits(bounds_of(driven(effort=30).model), effort=1000)
    assert bounds.effort[0] == 80
    assert with_limits(bounds_of(driven(effort=30).model), effort=20).effort[0] == 20


def test_a_share_is_that_of_the_limit_in_the_direction_of_the_force():
    least, most = np.array([-4.0, -4, -4, 0]), np.array([2.0, 2, 0, 5])
    tau = np.array([1.0, -1, 1, 0])
    assert force_share(tau, least, most).tolist() == [0.5, 0.25, np.inf, 0]
