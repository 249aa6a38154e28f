"""Inertia ellipsoids: for every link the solid, uniform ellipsoid of the same mass and inertia."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree.base.arrays import Array
from kinetree.model import WORLD, Model
from kinetree.spatial.inertia import second_moment
from kinetree.spatial.se3 import pose
from kinetree.views.shapes import INERTIA, Shape

SMALLEST = 0.006  # in extents: a point mass, a thin rod and a flat plate can still be seen


def equivalent_ellipsoid(m: Any, com: Any, I_com: Any) -> tuple[Array, Array]:
    """Pose and semi-axes (3,) of the uniform ellipsoid with this mass and inertia.

    Its second moments about the centre are m a_k^2 / 5 along axis k, so a_k = sqrt(5 sigma_k / m)
    of the eigenvalues sigma_k of tr(I)/2 - I. Inertia that no body has gives an axis of zero.
    """
    sigma, R = np.linalg.eigh(second_moment(np.asarray(I_com, float)))
    if np.linalg.det(R) < 0:
        R[:, 0] = -R[:, 0]
    axes = np.sqrt(5 * np.maximum(sigma, 0) / float(m))
    return pose(R, np.asarray(com, float)), axes


def inertia_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """One ellipsoid for every link that has mass, the base included."""
    bodies = [(WORLD, model.base_name, *model.base)]
    parts = zip(model.link_names, model.m, model.com, model.I_com, strict=True)
    bodies += [(i, *body) for i, body in enumerate(parts)]
    for i, name, m, com, I_com in bodies:
        if float(m) > 0:
            T, axes = equivalent_ellipsoid(m, com, I_com)
            a, b, c = np.maximum(axes, SMALLEST * extent).tolist()
            yield Shape("ellipsoid", "inertia", i, T, (a, b, c), INERTIA, name)
