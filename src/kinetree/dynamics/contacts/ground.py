"""Distance of points, spheres and circles from the ground, and its normal there, over any scalars.

Every branch is a selection, and every piece of ground is computed: the operations do not depend on
where the robot is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.core.arrays import Array, StateLike
from kinetree.dynamics.kinematics import forward_kinematics
from kinetree.files.description.contacts import Box, Contact, ContactRim, Ground, HeightField, Plane
from kinetree.model import Model
from kinetree.model.contacts import contact_places, contacts_of_model
from kinetree.model.quantity import quantity
from kinetree.scalars import Scalar, absolute, clip, cos, maximum, sin, sqrt, where

FLAT = 1e-9  # rad: tilt of a circle below which its contact moves from the circle to its centre

Gap = tuple[Scalar, Array]  # distance in m, and the normal in {s}, (3,)


def gap(ground: Ground, p: Array) -> Gap:
    """Distance of a point from the ground, and the normal there.

    The distance is along the normal and negative inside the ground. Of a height field it is that
    from the tangent plane below the point; of planes and boxes it is exact.

    Args:
        ground: `Plane`, `Boxes` or `HeightField`.
        p: position in {s}, shape (3,), m.

    Returns:
        phi: the distance, m.
        normal: direction from the ground to the point, in {s}, (3,), of length 1.
    """
    if isinstance(ground, Plane):
        return _plane_gap(ground, p)
    if isinstance(ground, HeightField):
        return _field_gap(ground, p)
    nearest = _plane_gap(ground.plane, p)
    for box in ground.boxes:
        other = _box_gap(box, p)
        nearer = nearest[0] - other[0]
        nearest = where(nearer, other[0], nearest[0]), where(nearer, other[1], nearest[1])
    return nearest


def touching(ground: Ground, contact: Contact, position: Array, axis: Array) -> tuple[Gap, Array]:
    """Gap of a contact, and the point of the robot that touches first.

    The point belongs to the link: its velocity is that of the link there.

    Args:
        ground: `Plane`, `Boxes` or `HeightField`.
        contact: the record, for its radius.
        position: of the point, of the centre of the sphere or of the circle, in {s}, shape (3,), m.
        axis: of the circle in {s}, shape (3,); not used for points and spheres.

    Returns:
        gap: distance in m, and normal in {s}, (3,).
        point: position of the point that touches in {s}, (3,), m.
    """
    phi, normal = gap(ground, position)
    if not isinstance(contact, ContactRim):
        return (phi - contact.radius, normal), position - normal * contact.radius
    across = normal - axis * (normal @ axis)  # in the plane of the circle, upwards
    point = position - across * (contact.radius / sqrt(across @ across + FLAT * FLAT))
    return gap(ground, point), point


@quantity("q -> points: c 3, gaps: c, normals: c 3", over="model", method=False)
def contact_points(model: Model, q: StateLike) -> tuple[Array, Array, Array]:
    """Points of the contacts in {s}, their gaps, and the normals of the ground.

    Returns:
        points: points of the robot that touch first, in the space frame [m].
        gaps: distances from the ground, negative inside it [m].
        normals: normals of the ground, in the space frame [of length 1].

    Example:
        >>> slope = kt.contacts.Plane((0, 1, 1), (0, 0, -0.5))
        >>> tip = kt.contacts.ContactPoint("tip", "tool")
        >>> robot = kt.robots.planar_2r().with_contacts([tip], slope)
        >>> robot.compile("contact_points")([0.1, 0.2])[1].round(3)
        array([0.591])
    """
    contacts = contacts_of_model(model, "contact_points")
    T = forward_kinematics(model, q)
    met: list[tuple[Gap, Array]] = []
    pairs = zip(contacts.points, contact_places(contacts, model.frames), strict=True)
    for contact, (link, p, axis) in pairs:
        R = T[link][:3, :3]
        met.append(touching(contacts.ground, contact, R @ p + T[link][:3, 3], R @ axis))
    points, gaps, normals = ([x[1] for x in met], [x[0][0] for x in met], [x[0][1] for x in met])
    return np.array(points), np.array(gaps), np.array(normals)


def _plane_gap(plane: Plane, p: Array) -> Gap:
    normal = np.array(plane.normal)
    normal = normal / sqrt(normal @ normal)
    return normal @ (p - np.array(plane.point)), normal


def _box_gap(box: Box, p: Array) -> Gap:
    """Signed distance: beyond edges and corners it is that to them; inside, to the nearest face."""
    c, s = cos(box.yaw), sin(box.yaw)
    d = p - np.array(box.centre)
    x = np.array([c * d[0] + s * d[1], c * d[1] - s * d[0], d[2]])
    over = absolute(x) - np.array(box.size) / 2  # above 0: outside of these faces
    beyond = maximum(over, 0)
    square = beyond @ beyond
    distance = sqrt(where(square, square, 1))
    depth = maximum(maximum(over[0], over[1]), over[2])
    first = where(over[0] - maximum(over[1], over[2]), 1, 0)
    second = (1 - first) * where(over[1] - over[2], 1, 0)
    faces = np.array([first, second, 1 - first - second])
    n = where(x, 1, -1) * where(square, beyond / distance, faces)
    normal = np.array([c * n[0] - s * n[1], s * n[0] + c * n[1], n[2]])
    return where(square, distance, depth), normal


def _field_gap(field: HeightField, p: Array) -> Gap:
    heights: Array = np.array(field.heights)
    (x, slope_x), (y, slope_y) = (
        _cell_position(p[k] - field.origin[k], field.spacing[k], heights.shape[k])  # type: ignore[index]
        for k in range(2)
    )
    u, rows = _cell(x, list(heights))
    v, corners = _cell(y, list(np.array(rows).T))
    (h00, h10), (h01, h11) = corners
    h = (1 - v) * (h00 + u * (h10 - h00)) + v * (h01 + u * (h11 - h01))
    hx = ((1 - v) * (h10 - h00) + v * (h11 - h01)) * slope_x
    hy = ((1 - u) * (h01 - h00) + u * (h11 - h10)) * slope_y
    steepness = sqrt(1 + hx * hx + hy * hy)
    above = p[2] - field.origin[2] - h  # type: ignore[index]
    return above / steepness, np.array([-hx, -hy, 1]) / steepness


def _cell_position(x: Scalar, spacing: Scalar, count: int) -> tuple[Any, Any]:
    """Position in cells, held within the field, and its slope over x, which is 0 beyond."""
    cells = x / spacing
    inside = where(cells * (count - 1 - cells), 1, 0)
    return clip(cells, 0, count - 1), inside / spacing


def _cell(x: Any, nodes: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The two nodes around x by halving, and the position between them, 0 to 1."""
    while len(nodes) > 2:
        cells = len(nodes) - 1
        half = (cells + 1) // 2
        upper = x - half
        pairs = zip(nodes[: half + 1], nodes[cells - half :], strict=True)
        nodes = [where(upper, high, low) for low, high in pairs]
        x = x - where(upper, cells - half, 0)
    return x, nodes
