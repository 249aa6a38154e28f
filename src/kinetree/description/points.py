"""Robots from points at q = 0: joints P, centres of mass C, axes k, all in the absolute frame."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from kinetree.base.arrays import array, unit
from kinetree.description.joints import REVOLUTE, SCREW_TYPES, joint_screw
from kinetree.description.options import JointOptions, per_joint
from kinetree.description.records import Body, RobotDescription
from kinetree.description.screws import check_parents, describe_chain
from kinetree.errors import ModelError, ShapeError
from kinetree.spatial.se3 import inverse, pose
from kinetree.spatial.so3 import check_rotation


def describe_points(
    P: Any,
    C: Any,
    k: Any,
    *,
    m: Any,
    I_com: Any,
    types: str | Sequence[str] = REVOLUTE,
    pitch: Any = 0,
    R: Any = None,
    parent: Sequence[int] | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """A chain or tree from points in the absolute frame at q = 0.

    The frame of link i has its origin at P[i].

    Args:
        P: a point on the axis of each joint, (n, 3), m; an entry n + 1 is the tip of the last link.
        C: centres of mass, (n, 3).
        k: unit axes of the joints, (n, 3).
        m, I_com: masses (n,), inertias about the centres (n, 3, 3) in the axes of the link frames.
        types: "revolute", "prismatic" or "helical", one for all or one a joint.
        pitch: of helical joints, m/rad, one for all or one a joint.
        R: orientation of each link frame, (n, 3, 3); parallel to the absolute frame when None.
        parent: for a tree, see `describe_screws`.
        options: see `JointOptions`.
    """
    P, C, k = array(P, (None, 3), "P"), array(C, (None, 3), "C"), array(k, (None, 3), "k")
    n = len(k)
    if len(C) != n or len(P) not in (n, n + 1):
        raise ShapeError(
            f"there are {n} axes k, {len(P)} points P and {len(C)} centres C; expected as many "
            "centres as axes, and as many points or one more (the tip)."
        )
    m, I_com = array(m, (n,), "m"), array(I_com, (n, 3, 3), "I_com")
    R = np.array([np.eye(3, dtype=int)] * n) if R is None else array(R, (n, 3, 3), "R")
    R = [check_rotation(R[i], f"R[{i}]") for i in range(n)]
    kinds, pitches = per_joint(types, n, REVOLUTE, "types"), per_joint(pitch, n, 0, "pitch")
    for i, kind in enumerate(kinds):
        if kind not in SCREW_TYPES:
            raise ModelError(f"types[{i}] is {kind!r}; expected {', '.join(SCREW_TYPES)}.")
    parent = check_parents(parent, n)
    M = [pose(R[i], P[i]) for i in range(n)]
    screws = []
    for i in range(n):
        axis = R[i].T @ unit(k[i], f"k[{i}]")
        screws.append(joint_screw(kinds[i], axis, pitches[i], (0, 0, 0), f"joint{i + 1}"))
    bodies = [Body(m[i], R[i].T @ (C[i] - P[i]), I_com[i]) for i in range(n)]
    poses = [inverse(M[parent[i]]) @ M[i] if parent[i] >= 0 else M[i] for i in range(n)]
    tool = pose(np.eye(3, dtype=int), R[-1].T @ (P[n] - P[n - 1])) if len(P) > n else None
    return describe_chain(poses, screws, kinds, bodies, parent, tool, options)
