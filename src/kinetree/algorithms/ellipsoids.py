"""Mass and force ellipsoids at a frame: principal axes and lengths."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms.mass_matrix import mass_matrix
from kinetree.base.arrays import Array
from kinetree.base.tables import table
from kinetree.errors import InputError
from kinetree.formulations.kinematics import body_jacobian, pose
from kinetree.formulations.newton_euler import factor_mass_matrix
from kinetree.model import Model
from kinetree.spatial.factor import solve

PARTS = {"angular": slice(0, 3), "linear": slice(3, 6)}


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Column k of `axes` (3, 3), in {s}, is the direction of semi-axis `lengths[k]`, ascending.

    A direction that the robot cannot move in has an infinite length.
    """

    axes: Array
    lengths: Array

    def _repr_html_(self) -> str:
        rows = [(k + 1, self.lengths[k], *self.axes[:, k]) for k in range(3)]
        return table("Ellipsoid", ("axis", "length", "x", "y", "z"), rows, text=0)


def mass_ellipsoid(
    model: Model, q: Any, frame: str | None = None, *, part: str = "linear"
) -> Ellipsoid:
    """Force at the frame for unit accelerations: semi-axes are the effective masses, kg.

    The eigenvectors and eigenvalues of Lambda = (J M^-1 J^T)^-1 of the linear (or angular) part.
    """
    J = _turned_jacobian(model, q, frame, part)
    M = np.asarray(mass_matrix(model, q), float)
    return _inverse_ellipsoid(J @ solve(factor_mass_matrix(model, M), J.T), 1.0)


def force_ellipsoid(
    model: Model, q: Any, frame: str | None = None, *, part: str = "linear"
) -> Ellipsoid:
    """Forces that joint forces of unit norm hold at the frame: f^T J J^T f = 1, N per N m."""
    J = _turned_jacobian(model, q, frame, part)
    return _inverse_ellipsoid(J @ J.T, 0.5)


def _turned_jacobian(model: Model, q: Any, frame: str | None, part: str) -> Array:
    if part not in PARTS:
        raise InputError(f"part is {part!r}; expected {' or '.join(PARTS)}.")
    R_sb = np.asarray(pose(model, q, frame), float)[:3, :3]
    return R_sb @ np.asarray(body_jacobian(model, q, frame), float)[PARTS[part]]


def _inverse_ellipsoid(mobility: Array, power: float) -> Ellipsoid:
    """Ellipsoid of mobility^-power; rounding of a zero eigenvalue is an immovable direction."""
    values, axes = np.linalg.eigh(mobility)
    floor = 64 * np.finfo(float).eps * max(values[-1], 0)
    lengths = [v**-power if v > floor else np.inf for v in values]
    return Ellipsoid(axes[:, ::-1], np.array(lengths[::-1]))
