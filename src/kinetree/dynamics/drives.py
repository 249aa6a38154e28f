"""Rotors, armature and coupled motors as links of a Tree.

A rotor of axial inertia I that turns at r dq about the axis s of its carrier is a link without mass
on the carrier, with the axes A = (s r, 0) and the second moments Sigma = I (1/2 - s s^T), so that
its inertia is I s s^T. The masses of the carrier include those of the rotor when it is locked,
hence Sigma is subtracted there. No recursion has terms of drives.

Armature of a joint and the inertia of a coupled motor have no place on the robot: they turn beside
it (`BESIDE`), about the z axis of a frame at rest, and add nothing to its momentum.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.tree import BESIDE, JointTransform, TreeLink
from kinetree.model import Model
from kinetree.model.inputs import zeros
from kinetree.model.joint import is_plain
from kinetree.scalars import Scalar
from kinetree.spatial.inertia import Moments


def drive_links(model: Model, axes: Sequence[Array] | None = None) -> tuple[TreeLink, ...]:
    """The drives of a robot as links.

    axes: those of its rotors in the tree's frames of their carriers; None: the frames of the model.
    """
    axes = [rotor.s for rotor in model.rotors] if axes is None else axes
    unit = np.eye(3, dtype=int)
    drives = [
        _spinning(
            x.link, (x.dof,), s[:, None] * x.ratio, (unit - 2 * np.outer(s, s)) * x.inertia / 2
        )
        for x, s in zip(model.rotors, axes, strict=True)
    ]
    armature: dict[int, Any] = {}
    for joint in model.joints:
        for d in () if is_plain(joint.armature, 0) else joint.dofs:
            armature[d] = armature.get(d, 0) + joint.armature * (joint.scale * joint.scale)
    beside = [((d,), (1,), inertia) for d, inertia in armature.items()]
    beside += [(x.dofs, x.arms, x.inertia) for x in model.motors if not is_plain(x.inertia, 0)]
    return (*drives, *(_beside(*x) for x in beside))


def _beside(dofs: tuple[int, ...], arms: Sequence[Scalar], inertia: Scalar) -> TreeLink:
    """A drive that turns about z at the sum of arms times rates."""
    axes = np.array([[0] * len(dofs), [0] * len(dofs), list(arms)])
    Sigma = np.array([[inertia, 0, 0], [0, 0, 0], [0, 0, 0]])
    return _spinning(BESIDE, dofs, axes, Sigma)


def _spinning(parent: int, dofs: tuple[int, ...], axes: Array, Sigma: Array) -> TreeLink:
    A = np.concatenate([axes, np.zeros((3, len(dofs)), int)])
    here = JointTransform((), zeros(3))
    return TreeLink(parent, dofs, A, here, Moments(0, zeros(3), Sigma))


def with_drives(links: Sequence[TreeLink], drives: Sequence[TreeLink]) -> tuple[TreeLink, ...]:
    """The links of a robot and its drives, whose moments are taken from the carriers."""
    carriers = list(links)
    for drive in drives:
        if drive.parent >= 0:
            link = carriers[drive.parent]
            body = replace(link.body, Sigma=link.body.Sigma - drive.body.Sigma)
            carriers[drive.parent] = replace(link, body=body)
    return (*carriers, *drives)
