"""Rotational inertia of solid bodies about their centre of mass, kg m^2, axes along the body's.

The matrices are written with whole numbers, so that symbols for mass and size stay exact.
"""

from typing import Any

import numpy as np

from kinetree.base.arrays import Array


def box(m: Any, x: Any, y: Any, z: Any) -> Array:
    """Solid box with edges x, y, z."""
    return _diagonal(m * (y * y + z * z) / 12, m * (x * x + z * z) / 12, m * (x * x + y * y) / 12)


def cylinder(m: Any, radius: Any, length: Any) -> Array:
    """Solid cylinder along z."""
    across = m * (3 * radius * radius + length * length) / 12
    return _diagonal(across, across, m * radius * radius / 2)


def ellipsoid(m: Any, a: Any, b: Any, c: Any) -> Array:
    """Solid ellipsoid with semi-axes a, b, c along x, y, z."""
    return _diagonal(m * (b * b + c * c) / 5, m * (a * a + c * c) / 5, m * (a * a + b * b) / 5)


def sphere(m: Any, radius: Any) -> Array:
    """Solid sphere."""
    return ellipsoid(m, radius, radius, radius)


def shell(m: Any, radius: Any) -> Array:
    """Thin spherical shell."""
    moment = 2 * m * radius * radius / 3
    return _diagonal(moment, moment, moment)


def rod(m: Any, length: Any) -> Array:
    """Thin rod along z."""
    moment = m * length * length / 12
    return _diagonal(moment, moment, 0)


def _diagonal(x: Any, y: Any, z: Any) -> Array:
    return np.array([[x, 0, 0], [0, y, 0], [0, 0, z]])
