"""Contacts of a robot at one position: gaps, points, directions and Jacobians, over any scalars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics.contacts.ground import touching
from kinetree.dynamics.frames import FrameMotion, frame_motions, point_columns
from kinetree.dynamics.lean import LeanModel
from kinetree.dynamics.placement import seen_from
from kinetree.dynamics.rows import Seat
from kinetree.dynamics.tree import Tree
from kinetree.model import Model
from kinetree.model.contacts import contact_places
from kinetree.model.inputs import zeros
from kinetree.scalars import Scalar, where
from kinetree.spatial.se3 import pose

# by contact: the number of its link, and its position and axis in the tree's frame of that, (3,)
Places = Sequence[tuple[int, Array, Array]]


@dataclass(frozen=True, eq=False)
class Touch:
    """A contact at a position of the robot.

    link: its number. gap: distance to the ground, m. point: where it touches or will touch, in {s},
    (3,), m. axes: normal and two tangents in {s}, (3, 3), in rows. J: (3, n), the velocity of the
    link at the point along the axes is J dq.
    """

    link: int
    gap: Any
    point: Array
    axes: Array
    J: Array


def book_places(model: Model) -> Places:
    """Places of the contacts in the link frames of the model."""
    return () if model.contacts is None else contact_places(model.contacts, model.frames)


def lean_places(lean: LeanModel) -> Places:
    """Places of the contacts in the lean frames."""
    places: list[tuple[int, Array, Array]] = []
    for i, position, axis in book_places(lean.model):
        T = seen_from(lean.links[i].place.X, pose(np.eye(3, dtype=int), np.array(position)))
        places.append((i, T[:3, 3], T[:3, :3] @ axis))
    return places


def touches(tree: Tree, places: Places) -> list[Touch]:
    """All contacts of the robot, in their order."""
    contacts = tree.model.contacts
    assert contacts is not None
    frames = carrying_frames(tree, [i for i, _, _ in places])
    found: list[Touch] = []
    for contact, (i, position, axis) in zip(contacts.points, places, strict=True):
        x = frames[i].at(position)
        (gap, normal), point = touching(contacts.ground, contact, x.p, x.R @ axis)
        axes = directions(normal)
        J = axes @ twist_jacobian(tree, frames, i, point)[3:]
        found.append(Touch(i, gap, point, axes, J))
    return found


def carrying_frames(
    tree: Tree, links: Sequence[int], dq: Array | None = None
) -> dict[int, FrameMotion]:
    """Frames of some links and of all links between them and the base, with their motion."""
    return frame_motions(tree, dq, sorted({j for end in links for j in tree.path_inward(end)}))


def twist_jacobian(tree: Tree, frames: Mapping[int, FrameMotion], i: int, point: Array) -> Array:
    """Twist (omega, v) of link i at a point of it for unit rates, (6, n), both in {s}."""
    columns: list[Any] = [zeros(6)] * tree.model.n
    for d, w, v in point_columns(tree, frames, tree.path_inward(i), point):
        columns[d] = columns[d] + np.concatenate([w, v])
    return np.array(columns).T


def curvatures(tree: Tree, places: Places, contacts: Sequence[Touch], dq: Array) -> list[Scalar]:
    """Second derivatives of the gaps for constant rates dq, m/s^2, of ground that is flat.

    They are the accelerations along the normals of points, and of the centres of spheres and rims.
    """
    frames = carrying_frames(tree, [x.link for x in contacts], dq)
    return [
        contact.axes[0] @ frames[i].at(position).a
        for contact, (i, position, _) in zip(contacts, places, strict=True)
    ]


def seated(tree: Tree, contacts: Sequence[Touch]) -> tuple[Array, list[Seat]]:
    """Rows J of the carriers of all contacts, (D, n), and where the contacts are on them.

    A link with more than two contacts carries them by its twist at the mean of their points.
    """
    frames = carrying_frames(tree, [x.link for x in contacts])
    rows, seats, size = list[Array](), list[Seat](), 0
    carriers: dict[int, tuple[int, Array]] = {}  # by link: the first row, and the point
    for x in contacts:
        points = [y.point for y in contacts if y.link == x.link]
        if len(points) < 3:
            rows.append(x.J)
            seats.append(Seat(size, size=3))
            size += 3
            continue
        if x.link not in carriers:
            middle = sum(points[1:], start=points[0]) * (1 / len(points))
            carriers[x.link] = size, middle
            rows.append(twist_jacobian(tree, frames, x.link, middle))
            size += 6
        first, middle = carriers[x.link]
        seats.append(Seat(first, x.point - middle, x.axes, 3))
    return np.concatenate(rows), seats


def directions(normal: Array) -> Array:
    """The normal and two tangents, (3, 3), in rows; along z, x and y on level ground.

    They turn with the normal without a jump, except where it passes the horizontal (Duff et al.,
    Building an Orthonormal Basis, Revisited, 2017).
    """
    x, y, z = normal
    s = where(z, 1, -1)
    a = -1 / (s + z)
    b = x * y * a
    return np.array([normal, [1 + s * x * x * a, s * b, -s * x], [b, s + y * y * a, -y]])
