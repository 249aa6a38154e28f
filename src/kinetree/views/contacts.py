"""Contacts as they are drawn: the ground, markers of the points, arrows of forces, cones.

The arrow of a force starts where it acts. A force as large as the robot's weight has the length
WEIGHT_LENGTH, in sizes of the robot; longer arrows than LONGEST are cut there. A friction cone has
its tip at the contact: a force inside it does not slip.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kinetree.core.arrays import Array
from kinetree.dynamics import total_mass
from kinetree.dynamics.contacts.ground import gap
from kinetree.files.description.contacts import ContactRim, Contacts, HeightField, Plane
from kinetree.model import WORLD, Model
from kinetree.model.contacts import contact_places
from kinetree.motion.trajectory import Trajectory
from kinetree.spatial.se3 import pose
from kinetree.views.bodies import along
from kinetree.views.camera import level_ground
from kinetree.views.parts import Part, stretch
from kinetree.views.shapes import Colour, Shape, TriangleMesh

CONTACT: Colour = (22, 160, 133)
GROUND: Colour = (205, 196, 178)
FORCE: Colour = (184, 89, 10)  # --part-contact of style.css
WEIGHT_LENGTH, LONGEST, CONE = 0.6, 1.5, 0.15  # lengths over the size of the robot
SLOPE = 4.0  # size of a sloping plane over that of the robot
SLIGHT = 1e-6  # of the robot's weight; smaller forces are rounding


def contact_shapes(model: Model, radius: float) -> Iterator[Shape]:
    """Markers of the contacts: spheres of their size, balls for points, discs for circles.

    Args:
        model: the robot.
        radius: that of a link, m.
    """
    contacts = model.contacts
    if contacts is None:
        return
    places = contact_places(contacts, model.frames)
    for contact, (link, p, axis) in zip(contacts.points, places, strict=True):
        at, size = np.asarray(p, float), float(contact.radius)
        if isinstance(contact, ContactRim):
            T = along(at, at + np.asarray(axis, float), 0.0)
            yield Shape("cylinder", "contact", link, T, (size, 0.2 * radius), CONTACT, contact.name)
        else:
            T = pose(np.eye(3), at)
            sizes = (1.02 * size or 0.5 * radius,)  # a little larger than the file's sphere
            yield Shape("sphere", "contact", link, T, sizes, CONTACT, contact.name)


def ground_shapes(model: Model, extent: float) -> Iterator[Shape]:
    """The ground but for a level plane, which the floor's grid shows.

    Args:
        model: the robot.
        extent: its size, m.
    """
    ground = None if model.contacts is None else model.contacts.astype(float).ground
    if ground is None:
        return
    if isinstance(ground, HeightField):
        T = pose(np.eye(3), np.array(ground.origin, float))
        yield Shape("mesh", "ground", WORLD, T, (), GROUND, "ground", _field_mesh(ground))
        return
    plane = ground if isinstance(ground, Plane) else ground.plane
    if level_ground(model) is None:
        away, normal = gap(plane, np.zeros(3))
        top, thin = -float(away) * normal, 0.002 * extent
        T = along(top, top - normal, 0.0) @ pose(np.eye(3), np.array([0, 0, thin / 2]))
        size = (SLOPE * extent, SLOPE * extent, thin)
        yield Shape("box", "ground", WORLD, T, size, GROUND, "ground")
    for box in () if isinstance(ground, Plane) else ground.boxes:
        c, s = np.cos(float(box.yaw)), np.sin(float(box.yaw))
        R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        T = pose(R, np.array(box.centre, float))
        size = tuple(float(x) for x in np.array(box.size, float))
        yield Shape("box", "ground", WORLD, T, size, GROUND, "ground")


def _field_mesh(field: HeightField) -> TriangleMesh:
    """The height field with every cell as two triangles, in its own frame."""
    heights: Array = np.array(field.heights, float)
    nx, ny = heights.shape
    dx, dy = (float(x) for x in np.array(field.spacing, float))
    x, y = np.meshgrid(dx * np.arange(nx), dy * np.arange(ny), indexing="ij")
    corner = np.arange(nx * ny).reshape(nx, ny)
    a, b, c, d = (corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:])
    faces = [np.stack(x, -1).reshape(-1, 3) for x in ((a, b, c), (a, c, d))]
    return TriangleMesh(np.stack([x, y, heights], -1).reshape(-1, 3), np.concatenate(faces))


def force_parts(
    model: Model, extent: float, motion: Trajectory | None, time: float
) -> tuple[Part, ...]:
    """Arrows of the contact forces and cones of friction at a time of a simulated motion.

    Args:
        model: the robot.
        extent: its size, m.
        motion: of `simulate`; without contact forces there are no parts.
        time: of the motion, s; the nearest sample counts.
    """
    contacts = model.contacts
    records: Mapping[str, Any] = {} if motion is None else motion.meta
    if motion is None or contacts is None or "contact_forces" not in records:
        return ()
    k = int(np.argmin(np.abs(np.asarray(motion.t) - time)))
    parts: list[Part] = []
    for name, mu in zip(contacts.names, contacts.frictions, strict=True):
        force, point = (np.asarray(records[x][name][k], float) for x in RECORDS)
        parts += _force(model, contacts, extent, force, point, float(mu))
    return tuple(parts)


RECORDS = ("contact_forces", "contact_points")


def _force(
    model: Model, contacts: Contacts, extent: float, force: Array, point: Array, mu: float
) -> list[Part]:
    weight = float(total_mass(model)) * float(np.linalg.norm(np.asarray(model.gravity, float)))
    size = float(np.linalg.norm(force))
    if not size > SLIGHT * (weight or 1.0):
        return []
    length = extent * min(WEIGHT_LENGTH * size / (weight or size), LONGEST)
    A = along(point, point + force, 0.0) @ stretch(length, length, length)
    normal = np.asarray(gap(contacts.ground, point)[1], float)
    high = CONE * extent
    cone = along(point, point + normal, 0.0) @ stretch(mu * high, mu * high, high)
    arrow = Part("arrow", WORLD, A, FORCE, "force")
    return [arrow, Part("cone", WORLD, cone, CONTACT, "cone")] if mu > 0 else [arrow]
