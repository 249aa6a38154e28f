"""Robots from a Denavit-Hartenberg table, standard or modified (Craig)."""

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, times
from kinetree.errors import ModelError
from kinetree.files.description.joints import PRISMATIC, REVOLUTE
from kinetree.files.description.records import Body, RobotDescription
from kinetree.files.description.tables import (
    JointOptions,
    check_parents,
    describe_chain,
    per_joint,
)
from kinetree.present.labels import Axis, by_name
from kinetree.scalars import Scalar, cos, sin
from kinetree.spatial.se3 import check_pose, pose, screw, translation
from kinetree.spatial.so3 import rotation

CONVENTIONS = ("standard", "modified")
COLUMNS = Axis(("a", "alpha", "d", "theta"), "column")  # of a data frame


def describe_dh(
    table: ArrayLike,
    *,
    m: ArrayLike,
    com: ArrayLike,
    I_com: ArrayLike,
    convention: str = "standard",
    types: str | Sequence[str] = REVOLUTE,
    tool: ArrayLike | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Describe a chain by its DH table.

    Args:
        table: rows (a, alpha, d, theta), shape (n, 4), m and rad; the joint variable is added to
            theta (revolute) or d (prismatic). In the modified convention a and alpha of row i are
            Craig's a_{i-1} and alpha_{i-1}.
        m, com, I_com: masses (n,), centres (n, 3) and inertias about the centres (n, 3, 3), in the
            DH frames of the links.
        convention: "standard" (joint i turns about z_{i-1}) or "modified" (about z_i).
        types: "revolute" or "prismatic", one for all or one per row.
        tool: pose of the tool in the last DH frame, (4, 4).
        options: see `JointOptions`.
    """
    rows = array(by_name(table, COLUMNS, "DH table"), (None, 4), "DH table")
    n = len(rows)
    if convention not in CONVENTIONS:
        raise ModelError(f"convention is {convention!r}; expected {' or '.join(CONVENTIONS)}.")
    kinds = per_joint(types, n, REVOLUTE, "types")
    for i, kind in enumerate(kinds):
        if kind not in (REVOLUTE, PRISMATIC):
            raise ModelError(f"types[{i}] is {kind!r}; expected {REVOLUTE!r} or {PRISMATIC!r}.")
    row = standard_row if convention == "standard" else modified_row
    frames = [
        row(a, alpha, d, theta, kind)
        for (a, alpha, d, theta), kind in zip(rows, kinds, strict=True)
    ]
    masses, centres = array(m, (n,), "m"), array(com, (n, 3), "com")
    bodies = zip(masses, centres, array(I_com, (n, 3, 3), "I_com"), strict=True)
    return describe_chain(
        [M for M, _ in frames],
        [A for _, A in frames],
        kinds,
        [Body(*body) for body in bodies],
        check_parents(None, n),
        None if tool is None else check_pose(tool, "tool"),
        options,
    )


def standard_row(
    a: Scalar, alpha: Scalar, d: Scalar, theta: Scalar, kind: str
) -> tuple[Array, Array]:
    """Home pose Rz(theta) Tz(d) Tx(a) Rx(alpha), and z_{i-1} as a screw in frame {i}."""
    M = times(_turn(2, theta), translation((a, 0, d)), _turn(0, alpha))
    axis = _clean([0, sin(alpha), cos(alpha)])
    return M, screw((-a, 0, 0), axis, np.inf if kind == PRISMATIC else 0)


def modified_row(
    a: Scalar, alpha: Scalar, d: Scalar, theta: Scalar, kind: str
) -> tuple[Array, Array]:
    """Home pose Rx(alpha) Tx(a) Rz(theta) Tz(d), and z_i as a screw in frame {i}."""
    M = times(_turn(0, alpha), translation((a, 0, 0)), _turn(2, theta), translation((0, 0, d)))
    return M, screw((0, 0, 0), (0, 0, 1), np.inf if kind == PRISMATIC else 0)


def _turn(k: int, angle: Scalar) -> Array:
    return pose(_clean(rotation(np.eye(3, dtype=int)[k], angle)), np.zeros(3, int))


def _clean(x: Sequence[Scalar] | Array) -> Array:
    """Zeros where a multiple of pi/2 leaves 6e-17, so that the axes of the table stay straight."""
    x = np.array(x)
    if x.dtype == object:
        return x
    return np.where(np.abs(x - np.round(x)) < 4 * np.finfo(float).eps, np.round(x), x)
