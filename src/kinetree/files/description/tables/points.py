"""Robots from points at q = 0: joints P, centres of mass C, axes k, all in the absolute frame."""

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, times, unit
from kinetree.errors import ModelError, ShapeError
from kinetree.files.description.joints import REVOLUTE, SCREW_TYPES, screw_axis
from kinetree.files.description.records import Body, RobotDescription
from kinetree.files.description.tables import (
    JointOptions,
    check_parents,
    describe_chain,
    per_joint,
)
from kinetree.spatial.se3 import inverse, pose
from kinetree.spatial.so3 import check_rotation


def describe_points(
    P: ArrayLike,
    C: ArrayLike,
    k: ArrayLike,
    *,
    m: ArrayLike,
    I_com: ArrayLike,
    types: str | Sequence[str] = REVOLUTE,
    pitch: ArrayLike = 0,
    R: ArrayLike | None = None,
    parent: Sequence[int] | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Describe a chain or tree by points in the absolute frame at q = 0.

    The frame of link i has its origin at P[i].

    Args:
        P: a point on the axis of each joint, (n, 3), m; an entry n + 1 is the tip of the last link.
        C: centres of mass, (n, 3).
        k: unit axes of the joints, (n, 3).
        m, I_com: masses (n,), inertias about the centres (n, 3, 3) in the axes of the link frames.
        types: "revolute", "prismatic" or "helical", one for all or one per joint.
        pitch: of helical joints, m/rad, one for all or one per joint.
        R: orientation of each link frame, (n, 3, 3); parallel to the absolute frame when None.
        parent: for a tree, see `describe_screws`.
        options: see `JointOptions`.
    """
    points, centres = array(P, (None, 3), "P"), array(C, (None, 3), "C")
    axes = array(k, (None, 3), "k")
    n = len(axes)
    if len(centres) != n or len(points) not in (n, n + 1):
        raise ShapeError(
            f"there are {n} axes k, {len(points)} points P and {len(centres)} centres C; expected "
            "as many centres as axes, and as many points or one more (the tip)."
        )
    masses, inertias = array(m, (n,), "m"), array(I_com, (n, 3, 3), "I_com")
    turns = np.array([np.eye(3, dtype=int)] * n) if R is None else array(R, (n, 3, 3), "R")
    R_si = [check_rotation(turns[i], f"R[{i}]") for i in range(n)]
    kinds, pitches = per_joint(types, n, REVOLUTE, "types"), per_joint(pitch, n, 0, "pitch")
    for i, kind in enumerate(kinds):
        if kind not in SCREW_TYPES:
            raise ModelError(f"types[{i}] is {kind!r}; expected {', '.join(SCREW_TYPES)}.")
    parent = check_parents(parent, n)
    M_si = [pose(R_si[i], points[i]) for i in range(n)]
    screws: list[Array] = []
    for i in range(n):
        axis = times(R_si[i].T, unit(axes[i], f"k[{i}]"))
        screws.append(screw_axis(kinds[i], axis, pitches[i], (0, 0, 0), f"joint{i + 1}"))
    bodies = [
        Body(masses[i], times(R_si[i].T, centres[i] - points[i]), inertias[i]) for i in range(n)
    ]
    poses = [times(inverse(M_si[p]), M_si[i]) if p >= 0 else M_si[i] for i, p in enumerate(parent)]
    tool = None
    if len(points) > n:
        tool = pose(np.eye(3, dtype=int), times(R_si[-1].T, points[n] - points[n - 1]))
    return describe_chain(poses, screws, kinds, bodies, parent, tool, options)
