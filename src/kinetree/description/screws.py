"""Robots from screw axes and home poses: Modern Robotics, and parent-to-child transforms."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from kinetree.base.arrays import Array, array, known
from kinetree.description.joints import joint_type
from kinetree.description.options import JointOptions, joint_options, link_names
from kinetree.description.records import (
    Body,
    FrameDescription,
    JointDescription,
    LinkDescription,
    RobotDescription,
)
from kinetree.errors import InertiaError, ModelError, ShapeError
from kinetree.spatial.inertia import inertia_parts, spatial_inertia
from kinetree.spatial.se3 import Ad, check_pose, inverse
from kinetree.spatial.twist import check_screw

TOOL = "tool"


def describe_screws(
    S: Any,
    M: Any,
    G: Any,
    *,
    parent: Sequence[int] | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Modern Robotics data: everything in the space frame {s} at q = 0.

    Args:
        S: screw axes of the joints in {s}, shape (n, 6).
        M: home poses of the link frames in {s}, (n, 4, 4); with n + 1 entries the last is the tool.
        G: spatial inertias in the link frames, (n, 6, 6).
        parent: for a tree, the number of each link's parent (-1: the base); a chain when None.
        options: names, gravity, friction, armature, rotors, limits, see `JointOptions`.
    """
    S = array(S, (None, 6), "S")
    n = len(S)
    M = _poses(M, n, "M")
    parent = check_parents(parent, n)
    poses = [inverse(M[parent[i]]) @ M[i] if parent[i] >= 0 else M[i] for i in range(n)]
    S = [check_screw(S[i], f"S[{i}]") for i in range(n)]
    screws = [Ad(inverse(M[i])) @ S[i] for i in range(n)]
    kinds = [joint_type(S_i) for S_i in S]  # of S: in {i} the rounding of Ad may look like a pitch
    tool = inverse(M[n - 1]) @ M[n] if len(M) > n else None
    return describe_chain(poses, screws, kinds, bodies_of(G, n), parent, tool, options)


def describe_transforms(
    M: Any,
    G: Any,
    *,
    S: Any = None,
    A: Any = None,
    parent: Sequence[int] | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Parent-to-child transforms at q = 0, with joint screws in the parent's or the child's frame.

    Args:
        M: M_pi, pose of each link frame in its parent's, (n, 4, 4); an entry n + 1 is the tool's
            pose in the last link.
        G: spatial inertias in the link frames, (n, 6, 6).
        S: screw axes in the parents' frames, (n, 6); or
        A: screw axes in the links' own frames, (n, 6).
        parent: see `describe_screws`.
        options: see `JointOptions`.
    """
    if (S is None) == (A is None):
        raise ModelError(
            "give the joint screws either as S (in the parents' frames) or as A (in the links' own)"
            f"; found {'neither' if S is None else 'both'}."
        )
    given = array(S if A is None else A, (None, 6), "S" if A is None else "A")
    n = len(given)
    M = _poses(M, n, "M")
    screws = [check_screw(given[i], f"{'S' if A is None else 'A'}[{i}]") for i in range(n)]
    kinds = [joint_type(given_i) for given_i in screws]
    if A is None:
        screws = [Ad(inverse(M[i])) @ screws[i] for i in range(n)]
    tool = M[n] if len(M) > n else None
    bodies, parent = bodies_of(G, n), check_parents(parent, n)
    return describe_chain(M[:n], screws, kinds, bodies, parent, tool, options)


def describe_chain(
    poses: Sequence[Array],
    screws: Sequence[Array],
    kinds: Sequence[str],
    bodies: Sequence[Body],
    parent: Sequence[int],
    tool: Array | None,
    options: JointOptions,
) -> RobotDescription:
    """Records of links that hang on each other by M_pi and screws in their own frames."""
    n = len(screws)
    names = link_names(n, options)
    joints = tuple(
        JointDescription(
            type=kinds[i],
            parent=names[parent[i] + 1],
            child=names[i + 1],
            M_pc=poses[i],
            A=screws[i],
            **extra,
        )
        for i, extra in enumerate(joint_options(n, options))
    )
    links = [LinkDescription(names[0])]
    links += [LinkDescription(names[i + 1], (bodies[i],)) for i in range(n)]
    frames = () if tool is None else (FrameDescription(TOOL, names[n], tool),)
    return RobotDescription(
        name=options.get("name", "robot"),
        links=tuple(links),
        joints=joints,
        frames=frames,
        tool=None if tool is None else TOOL,
        gravity=options.get("gravity", (0, 0, -9.81)),
    )


def bodies_of(G: Any, n: int) -> list[Body]:
    """Mass, centre and inertia of each 6x6 spatial inertia, which must have their form."""
    G = array(G, (n, 6, 6), "G")
    bodies = []
    for i in range(n):
        m, com, I_com = inertia_parts(G[i])
        given, read = known(G[i]), known(spatial_inertia(m, com, I_com))
        if given is not None and read is not None:
            error = float(np.abs(read - given).max())
            if error > 1e-9 * float(np.abs(given).max()):
                raise InertiaError(
                    f"G[{i}] is no spatial inertia: it differs by {error:.3g} from "
                    "[[I, m [c]], [-m [c], m 1]]; angular rows and columns come first."
                )
        bodies.append(Body(m, com, I_com))
    return bodies


def check_parents(parent: Sequence[int] | None, n: int) -> list[int]:
    """Parents as numbers from -1 (the base) to n - 1."""
    if parent is None:
        return list(range(-1, n - 1))
    if np.ndim(parent) != 1 or len(parent) != n:
        raise ShapeError(f"parent is {parent!r}; expected {n} numbers, one for each link.")
    for i, p in enumerate(parent):
        if p not in range(-1, n):
            raise ModelError(
                f"parent[{i}] is {p!r}; expected a whole number, -1 (the base) to {n - 1}."
            )
    return [int(p) for p in parent]


def _poses(M: Any, n: int, name: str) -> list[Array]:
    M = array(M, (None, 4, 4), name)
    if len(M) not in (n, n + 1):
        raise ShapeError(
            f"{name} has {len(M)} poses for {n} joints; expected {n}, or {n + 1} with the tool."
        )
    return [check_pose(M[i], f"{name}[{i}]") for i in range(len(M))]
