"""Joints in a row without mass between them: their motions must differ, or M is singular.

The twist of the last link is the sum of the joints' twists times their rates. Where those twists
are linearly dependent at every position, rates exist that move nothing: two hinges about one line,
four hinges through one point. Armature of a joint is inertia of its own rate, so such joints do not
count.
"""

from collections.abc import Sequence
from itertools import cycle

import numpy as np

from kinetree.core.arrays import Array, known, times
from kinetree.errors import ParseError
from kinetree.files.description.joints import SPHERICAL
from kinetree.files.description.records import JointDescription
from kinetree.files.description.xml import show
from kinetree.spatial.se3 import exp_twist, inverse, move_twist

SMALLEST_PART = 1e-7  # singular value of unit twists; rounding leaves 1e-15, M a condition 1e14
# Positions of the joints, rad or m: twists that are dependent here, without symmetry, are so at
# every position, because they are analytic functions of q.
GENERIC = (0.7, -1.1, 0.5, 1.3, -0.3, 0.9)


def check_axes(joints: Sequence[JointDescription]) -> None:
    """Raise ParseError if joints in a row, from the base outward, make M singular everywhere."""
    light = [joint for joint in joints if _twists(joint) and not _has_armature(joint)]
    if sum(len(_twists(x)) for x in light) < 2:
        return
    basis, T_cl, positions = list[Array](), np.eye(4), cycle(GENERIC)
    for joint in reversed(joints):
        moved, T_lc = np.zeros(6), inverse(T_cl)
        for V in _twists(joint):
            if joint in light:
                basis.append(move_twist(T_lc, V))
            moved = moved + V * next(positions)
        T_cl = times(joint.M_pc, exp_twist(moved), T_cl)
    unit = [V / np.linalg.norm(V) for V in basis]
    if np.linalg.matrix_rank(np.array(unit), tol=SMALLEST_PART) < len(unit):
        names = ", ".join(show(joint.name) for joint in light)
        text = f"the joints {names} of one body always allow rates that move nothing: M is singular"
        raise ParseError(f"{joints[-1].where}: {text}. Remove one, turn its axis, or add armature.")


def _has_armature(joint: JointDescription) -> bool:
    """Return True if a rate of the joint has inertia of its own."""
    number = known(np.asarray(joint.armature))
    return number is None or bool(number > 0)


def _twists(joint: JointDescription) -> list[Array]:
    """The twists of a joint in the frame of its child, for a rate of 1."""
    if joint.type == SPHERICAL:
        return list(np.eye(6)[:3])
    return [] if joint.A is None else [np.array(joint.A, float)]
