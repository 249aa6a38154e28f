"""Robots from screw axes and home poses: Modern Robotics, and parent-to-child transforms."""

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from kinetree.core.arrays import Array, ArrayLike, array, known, times
from kinetree.errors import InertiaError, ModelError, ShapeError
from kinetree.files.description.joints import joint_type
from kinetree.files.description.records import Body, RobotDescription
from kinetree.files.description.tables import JointOptions, check_parents, describe_chain
from kinetree.spatial.inertia import inertia_parts, spatial_inertia
from kinetree.spatial.se3 import check_pose, check_screw, inverse, move_twist


def describe_screws(
    S: ArrayLike,
    M: ArrayLike,
    G: ArrayLike,
    *,
    parent: Sequence[int] | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Describe a robot by its data in Modern Robotics: everything in the space frame {s} at q = 0.

    Args:
        S: screw axes of the joints in {s}, shape (n, 6).
        M: home poses of the link frames in {s}, (n, 4, 4); with n + 1 entries the last is the tool.
        G: spatial inertias in the link frames, (n, 6, 6).
        parent: for a tree, the number of each link's parent (-1: the base); a chain when None.
        options: names, gravity, friction, armature, rotors, limits, see `JointOptions`.
    """
    given = array(S, (None, 6), "S")
    n = len(given)
    M_si = _poses(M, n)
    parent = check_parents(parent, n)
    poses = [times(inverse(M_si[p]), M_si[i]) if p >= 0 else M_si[i] for i, p in enumerate(parent)]
    S_s = [check_screw(given[i], f"S[{i}]") for i in range(n)]
    screws = [move_twist(inverse(M_si[i]), S_s[i]) for i in range(n)]
    kinds = [joint_type(x) for x in S_s]  # of S: in {i} the rounding of Ad may look like a pitch
    tool = times(inverse(M_si[n - 1]), M_si[n]) if len(M_si) > n else None
    return describe_chain(poses, screws, kinds, bodies_of(G, n), parent, tool, options)


def describe_transforms(
    M: ArrayLike,
    G: ArrayLike,
    *,
    S: ArrayLike | None = None,
    A: ArrayLike | None = None,
    parent: Sequence[int] | None = None,
    **options: Unpack[JointOptions],
) -> RobotDescription:
    """Describe a robot by parent-to-child transforms at q = 0 and joint screws in either frame.

    Args:
        M: M_pi, pose of each link frame in its parent's, (n, 4, 4); an entry n + 1 is the tool's
            pose in the last link.
        G: spatial inertias in the link frames, (n, 6, 6).
        S: screw axes in the parents' frames, (n, 6); or
        A: screw axes in the links' own frames, (n, 6).
        parent: see `describe_screws`.
        options: see `JointOptions`.
    """
    if S is not None and A is None:
        letter, given = "S", array(S, (None, 6), "S")
    elif A is not None and S is None:
        letter, given = "A", array(A, (None, 6), "A")
    else:
        raise ModelError(
            "give the joint screws either as S (in the parents' frames) or as A (in the links' own)"
            f"; found {'neither' if S is None else 'both'}."
        )
    n = len(given)
    M_pi = _poses(M, n)
    screws = [check_screw(given[i], f"{letter}[{i}]") for i in range(n)]
    kinds = [joint_type(screw) for screw in screws]
    if A is None:
        screws = [move_twist(inverse(M_pi[i]), screws[i]) for i in range(n)]
    tool = M_pi[n] if len(M_pi) > n else None
    bodies, parent = bodies_of(G, n), check_parents(parent, n)
    return describe_chain(M_pi[:n], screws, kinds, bodies, parent, tool, options)


def bodies_of(G: ArrayLike, n: int) -> list[Body]:
    """Mass, centre and inertia of each 6x6 matrix, which must have the form of an inertia."""
    bodies: list[Body] = []
    for i, G_i in enumerate(array(G, (n, 6, 6), "G")):
        m, com, I_com = inertia_parts(G_i)
        given, read = known(G_i), known(spatial_inertia(m, com, I_com))
        if given is not None and read is not None:
            error = float(np.abs(read - given).max())
            if error > 1e-9 * float(np.abs(given).max()):
                raise InertiaError(
                    f"G[{i}] is not a spatial inertia: it differs by {error:.3g} from "
                    "[[I, m [c]], [-m [c], m 1]]; angular rows and columns come first."
                )
        bodies.append(Body(m, com, I_com))
    return bodies


def _poses(M: ArrayLike, n: int) -> list[Array]:
    poses = array(M, (None, 4, 4), "M")
    if len(poses) not in (n, n + 1):
        raise ShapeError(
            f"M has {len(poses)} poses for {n} joints; expected {n}, or {n + 1} with the tool."
        )
    return [check_pose(x, f"M[{i}]") for i, x in enumerate(poses)]
