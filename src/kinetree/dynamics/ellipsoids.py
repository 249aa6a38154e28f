"""Mass and force ellipsoids at a frame: principal axes and lengths."""

from dataclasses import dataclass

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.core.options import is_one_of
from kinetree.dynamics.book import book_tree
from kinetree.dynamics.kinematics import body_jacobian, pose
from kinetree.dynamics.mass_matrix import mass_matrix
from kinetree.dynamics.textbook.mass_factor import factor_mass_matrix
from kinetree.dynamics.tree import placed_tree
from kinetree.errors import InputError
from kinetree.model import Model
from kinetree.model.constrain import without_constraints
from kinetree.model.inputs import coordinates
from kinetree.model.model import for_robots
from kinetree.present.tables import Table
from kinetree.spatial.matrices import solve

PARTS = {"angular": slice(0, 3), "linear": slice(3, 6)}


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Semi-axes: column k of `axes` (3, 3), in {s}, has the length `lengths[k]`, ascending.

    The length is infinite in a direction in which the robot cannot move.

    Args:
        axes: directions as columns in {s}, shape (3, 3), of length 1.
        lengths: lengths of the semi-axes, shape (3,), ascending, in the unit of the quantity.
    """

    axes: Array
    lengths: Array

    def _repr_html_(self) -> str:
        rows = [(k + 1, self.lengths[k], *self.axes[:, k]) for k in range(3)]
        return Table("Ellipsoid", ("axis", "length", "x", "y", "z"), rows, text=0).html()


@for_robots
def mass_ellipsoid(
    model: Model, q: StateLike, frame: str | None = None, *, part: str = "linear"
) -> Ellipsoid:
    """Force at the frame for unit accelerations: semi-axes are the effective masses, kg.

    The eigenvectors and eigenvalues of Lambda = (J M^-1 J^T)^-1 of the linear (or angular) part.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        frame: name of a frame of the robot; None: the tool.
        part: "linear" or "angular": translations or rotations of the frame.
    """
    q = coordinates(model, q)
    J = _turned_jacobian(model, q, frame, part)
    M = np.asarray(mass_matrix(book_tree(model, q)), float)
    return inverse_ellipsoid(J @ solve(factor_mass_matrix(model, M), J.T), 1.0)


@for_robots
def force_ellipsoid(
    model: Model, q: StateLike, frame: str | None = None, *, part: str = "linear"
) -> Ellipsoid:
    """Forces at the frame that joint forces of unit norm balance: f^T J J^T f = 1, N per N m.

    Args:
        model: the robot.
        q: joint positions, shape (nq,), rad or m.
        frame: name of a frame of the robot; None: the tool.
        part: "linear" or "angular": translations or rotations of the frame.
    """
    J = _turned_jacobian(model, coordinates(model, q), frame, part)
    return inverse_ellipsoid(J @ J.T, 0.5)


def _turned_jacobian(model: Model, q: Array, frame: str | None, part: str) -> Array:
    without_constraints(model, "An ellipsoid")
    if not is_one_of(part, PARTS):
        raise InputError(f"part is {part!r}; expected {' or '.join(PARTS)}.")
    tree, place = placed_tree(model, q), model.frame(frame)
    R_sb = np.asarray(pose(tree, place), float)[:3, :3]
    return R_sb @ np.asarray(body_jacobian(tree, place), float)[PARTS[part]]


def inverse_ellipsoid(mobility: Array, power: float) -> Ellipsoid:
    """Ellipsoid of mobility^-power; an eigenvalue that is zero to rounding gives infinity."""
    values, axes = np.linalg.eigh(mobility)
    floor = 64 * np.finfo(float).eps * max(values[-1], 0)
    lengths = [v**-power if v > floor else np.inf for v in values]
    return Ellipsoid(axes[:, ::-1], np.array(lengths[::-1]))
