"""Collision shapes of a robot's file, and the contacts with the ground that they become.

A sphere is one contact; a capsule is a sphere at either end; a box is its eight corners. A cylinder
is its two rims, each with three points of the circle, on which it stands when it is upright.
Meshes and ellipsoids have no contacts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import pi

import numpy as np

from kinetree.core.arrays import Array
from kinetree.files.description.contacts import Contact, ContactPoint, ContactRim, Ground
from kinetree.scalars import cos, sin

RIM_POINTS = 3  # of a circle, on which a cylinder stands
UNREADABLE = "shape that cannot be read"  # the kind of one
DEFAULT_FRICTION = 1.0  # the default of MuJoCo, Gazebo and ODE
# shapes of URDF and SDF: their numbers in the order of `size`, and how many each has
SIZES = {
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "ellipsoid": {"radii": 3},  # of SDF
}


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """A shape of a link that can touch something, as its file describes it.

    kind: "sphere" with size (radius,), "box" (three edges), "cylinder" and "capsule" (radius,
    length without round ends, along z), or one that has no contacts: "mesh" (scale along x, y, z),
    "ellipsoid" and others. T: its pose in the frame of `link`. friction, restitution: of the pair
    with the ground; None: the file has none. path: of a mesh, as the file writes it.
    """

    name: str
    link: str
    kind: str
    T: Array
    size: tuple[float, ...] = ()
    friction: float | None = None
    restitution: float | None = None
    path: str = ""


@dataclass(frozen=True, eq=False)
class Collisions:
    """The collision shapes of a robot's file, and its ground.

    ground: of the file; None: it has none. left_out: parts of the file that contacts do not have,
    as text. obstacles: the same, of shapes of the world. touching: the same, of parts that touch
    where the file starts. changed: the same, of ground and friction that contacts would change.
    """

    shapes: tuple[CollisionShape, ...] = ()
    ground: Ground | None = None
    left_out: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    touching: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def contacts_of(shape: CollisionShape) -> tuple[Contact, ...]:
    """The contacts of a shape; none of a kind that is not modelled."""
    made = tuple(_contacts(shape))
    if len(made) < 2:
        return made
    return tuple(replace(x, name=f"{shape.name}.{k}") for k, x in enumerate(made))


def _contacts(shape: CollisionShape) -> Iterator[Contact]:
    R, p = shape.T[:3, :3], shape.T[:3, 3]
    pair = shape.friction, shape.restitution

    def point(*at: float, radius: float = 0.0) -> ContactPoint:
        place = (R @ np.array(at) + p).tolist()
        return ContactPoint(shape.name, shape.link, place, radius, *pair)

    if shape.kind == "sphere":
        yield point(0, 0, 0, radius=shape.size[0])
    elif shape.kind == "box":
        yield from (point(*at) for at in product(*((-x / 2, x / 2) for x in shape.size)))
    elif shape.kind == "capsule":
        radius, length = shape.size
        yield from (point(0, 0, z, radius=radius) for z in (-length / 2, length / 2))
    elif shape.kind == "cylinder":
        radius, length = shape.size
        for z in (-length / 2, length / 2):
            centre = (R @ np.array([0, 0, z]) + p).tolist()
            axis = R[:, 2] / np.sqrt(R[:, 2] @ R[:, 2])
            yield ContactRim(shape.name, shape.link, centre, axis, radius, *pair)
            angles = [2 * pi * k / RIM_POINTS for k in range(RIM_POINTS)]
            yield from (point(radius * cos(a), radius * sin(a), z) for a in angles)


def with_own_names(shapes: Iterator[CollisionShape]) -> tuple[CollisionShape, ...]:
    """The shapes, each under a name of its own: that of the file, or of the link with a number."""
    taken: set[str] = set()
    return tuple(replace(x, name=unused(x.name or x.link, taken, " ")) for x in shapes)


def unused(name: str, taken: set[str], sign: str = "~") -> str:
    """`name`, or with a sign and the first number that makes it new; it is added to `taken`."""
    candidate, k = name, 2
    while candidate in taken:
        candidate, k = f"{name}{sign}{k}", k + 1
    taken.add(candidate)
    return candidate
