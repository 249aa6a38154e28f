"""Joints in a row without mass between them: their motions must differ, or M is singular.

The twist of the last link is the sum of the joints' twists times their rates. Where those twists
are linearly dependent at every position, rates exist that move nothing: two hinges about one line,
four hinges through one point. Armature of a joint is inertia of its own rate, so such joints do not
count.
"""

from collections.abc import Sequence
from itertools import cycle

import numpy as np

from kinetree.core.arrays import Array, known, length, times
from kinetree.errors import ParseError
from kinetree.files.description.joints import SPHERICAL
from kinetree.files.description.records import JointDescription
from kinetree.files.description.xml import show
from kinetree.spatial.se3 import exp_twist, inverse, move_twist

SMALLEST_PART = 1e-6  # of a unit twist beyond the others; rounding leaves 1e-15, M a condition 1e12
# Positions of the joints, rad or m: twists that are dependent here, without symmetry, are so at
# every position, because they are analytic functions of q.
GENERIC = (0.7, -1.1, 0.5, 1.3, -0.3, 0.9)


def check_axes(joints: Sequence[JointDescription]) -> None:
    """Raise ParseError if joints in a row, from the base outward, make M singular everywhere."""
    light = [joint for joint in joints if _twists(joint) and not _has_armature(joint)]
    if len(light) < 2:
        return
    basis: list[Array] = []  # unit twists of the last link, at right angles
    positions = cycle(GENERIC)
    T_cl = np.eye(4)  # the last link seen from the child of the joint
    for joint in reversed(joints):
        moved = np.zeros(6)
        for V in _twists(joint):
            if joint in light:
                beyond = _beyond(basis, move_twist(inverse(T_cl), V))
                if length(beyond) < SMALLEST_PART:
                    raise _fault(light)
                basis.append(beyond / length(beyond))
            moved = moved + V * next(positions)
        T_cl = times(joint.M_pc, exp_twist(moved), T_cl)


def _beyond(basis: Sequence[Array], V: Array) -> Array:
    """The part of a twist, scaled to length 1, at right angles to the basis."""
    V = V / length(V)
    for other in (*basis, *basis):  # twice, against rounding
        V = V - other * sum(V * other)
    return V


def _fault(joints: Sequence[JointDescription]) -> ParseError:
    names = ", ".join(show(joint.name) for joint in joints)
    return ParseError(
        f"{joints[-1].where}: the joints {names} of one body always allow rates that move nothing, "
        "so that the mass matrix is singular. Remove one of them, turn its axis, or give it "
        "armature."
    )


def _has_armature(joint: JointDescription) -> bool:
    """Return True if a rate of the joint has inertia of its own."""
    number = known(np.asarray(joint.armature))
    return number is None or bool(number > 0)


def _twists(joint: JointDescription) -> list[Array]:
    """The twists of a joint in the frame of its child, for a rate of 1."""
    if joint.type == SPHERICAL:
        return list(np.eye(6)[:3])
    return [] if joint.A is None else [np.array(joint.A, float)]
