"""Inertia of solid bodies against integrals over their volume, and in symbols.

The oracle integrates (x.x 1 - x x^T) over the body with Gauss-Legendre points, which are exact for
these polynomials; what remains is rounding of the sums of 12^3 terms: 1e-13 is granted.
"""

import numpy as np
import pytest
import sympy

from kinetree.spatial import box, cylinder, ellipsoid, physical_faults, rod, shell, sphere

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def gauss(low, high):
    return (high + low) / 2 + (high - low) / 2 * NODES, (high - low) / 2 * WEIGHTS


def inertia_of(points, weights, m):
    """Moments of a density spread over weighted points, scaled to the mass."""
    weights = weights * (m / weights.sum())
    squares = np.einsum("k,ki,ki->", weights, points, points)
    return squares * np.eye(3) - np.einsum("k,ki,kj->ij", weights, points, points)


def grid(*axes):
    """Points (n, d) and weights (n,) of a product of one-dimensional rules."""
    points = np.stack(np.meshgrid(*(x for x, _ in axes), indexing="ij"), -1)
    weights = np.ones(())
    for _, w in axes:
        weights = np.multiply.outer(weights, w)
    return points.reshape(-1, len(axes)), weights.ravel()


def solid_box(x, y, z):
    return grid(gauss(-x / 2, x / 2), gauss(-y / 2, y / 2), gauss(-z / 2, z / 2))


def solid_cylinder(radius, length):
    turn = np.arange(12) * (2 * np.pi / 12), np.ones(12)  # equal steps are exact for low harmonics
    u, w = grid(gauss(0, radius), turn, gauss(-length / 2, length / 2))
    r, a, z = u.T
    return np.column_stack([r * np.cos(a), r * np.sin(a), z]), w * r


def solid_ellipsoid(a, b, c, inner=0.0):
    turn = np.arange(12) * (2 * np.pi / 12), np.ones(12)
    u, w = grid(gauss(inner, 1), gauss(-1, 1), turn)  # radius, cosine of the polar angle, azimuth
    r, z, t = u.T
    across = np.sqrt(1 - z * z)
    points = np.column_stack([r * across * np.cos(t), r * across * np.sin(t), r * z])
    return points * (a, b, c), w * r * r


@pytest.mark.parametrize(
    ("found", "points", "m"),
    [
        (box(2.5, 0.3, 1.1, 0.7), solid_box(0.3, 1.1, 0.7), 2.5),
        (cylinder(1.7, 0.4, 1.3), solid_cylinder(0.4, 1.3), 1.7),
        (ellipsoid(0.9, 0.2, 0.5, 1.4), solid_ellipsoid(0.2, 0.5, 1.4), 0.9),
        (sphere(3.0, 0.6), solid_ellipsoid(0.6, 0.6, 0.6), 3.0),
        (rod(1.2, 0.8), solid_cylinder(1e-9, 0.8), 1.2),
    ],
    ids=["box", "cylinder", "ellipsoid", "sphere", "rod"],
)
def test_inertia_equals_the_integral_over_the_body(found, points, m):
    assert np.abs(found - inertia_of(*points, m)).max() <= 1e-13
    assert physical_faults(m, found) == []


def test_a_shell_is_the_limit_of_a_hollow_sphere():
    thickness = 1e-6
    points = solid_ellipsoid(0.5, 0.5, 0.5, inner=1 - thickness)
    # A wall of relative thickness t lies t / 2 inside on average: its moment is smaller by t.
    assert np.abs(shell(2.0, 0.5) - inertia_of(*points, 2.0)).max() <= 2 * thickness


def test_special_cases_agree():
    assert np.allclose(ellipsoid(2.0, 0.3, 0.3, 0.3), sphere(2.0, 0.3), rtol=1e-15)
    assert np.allclose(box(2.0, 0, 0, 0.7), rod(2.0, 0.7), rtol=1e-15)
    assert np.allclose(cylinder(2.0, 0, 0.7), rod(2.0, 0.7), rtol=1e-15)


def test_a_ball_is_a_solid_core_in_a_shell():
    """The moment of a ball is the integral of shells: dI/dr = shell of the mass between."""
    r, rho = sympy.symbols("r rho", positive=True)
    area = 4 * sympy.pi * r**2
    grown = sympy.integrate(shell(rho * area, r)[0, 0], r)
    ball = sphere(rho * sympy.Rational(4, 3) * sympy.pi * r**3, r)[0, 0]
    assert sympy.simplify(grown - ball) == 0


def test_symbols_stay_exact():
    m, a, b, c = sympy.symbols("m a b c", positive=True)
    assert box(m, a, b, c)[0, 0] == m * (b**2 + c**2) / 12
    assert ellipsoid(m, a, b, c)[2, 2] == m * (a**2 + b**2) / 5
