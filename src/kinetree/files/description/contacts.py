"""Contacts of a robot with known ground: the points that may touch, the ground, friction.

Vectors of a record are tuples of numbers, so that records compare and hash by value. Numbers may be
symbols or traced scalars, which checks leave alone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np

from kinetree.core import options
from kinetree.core.arrays import ArrayLike, array, known_number, scalar, unit
from kinetree.core.records import check_range, mapped
from kinetree.errors import InputError
from kinetree.scalars import Scalar

MAX_CONTACTS = 128  # a kernel of a step has operations of the order of the square of this number
MAX_CELLS = 4096  # of a height field: every step computes all of them, for every contact
Vector = tuple[Scalar, ...]


@dataclass(frozen=True)
class ContactPoint:
    """A point of a link that may touch the ground, or a sphere around it.

    Args:
        name: name of the contact.
        link: name of a link or of a frame fixed in one.
        position: position of the point or of the centre, in that frame, shape (3,), m.
        radius: radius of the sphere, m; 0: a point, as a `HeightField` requires.
        friction: coefficient of Coulomb friction, dimensionless; None: that of the `Contacts`.
        restitution: share of the normal velocity that an impact returns, 0 to 1, dimensionless;
            None: likewise.
    """

    name: str
    link: str
    position: ArrayLike = (0, 0, 0)
    radius: Scalar = 0
    friction: Scalar | None = None
    restitution: Scalar | None = None

    def __post_init__(self) -> None:
        _check_contact(self, "position")
        _store(self, radius=_number(self.radius, f"radius of contact {self.name!r}", unit="m"))


@dataclass(frozen=True)
class ContactRim:
    """A circle of a link, such as a wheel, that touches the ground at its lowest point.

    The ground is a `Plane`. A circle that lies flat has no lowest point: its contact is then at its
    centre. Give a disc that may lie flat three points of the circle besides, as feet that are
    cylinders get them.

    Args:
        name: name of the contact.
        link: name of a link or of a frame fixed in one.
        centre: centre of the circle in that frame, shape (3,), m.
        axis: direction of its axis in that frame, shape (3,), of length 1.
        radius: radius of the circle, m.
        friction: coefficient of Coulomb friction, dimensionless; None: that of the `Contacts`.
        restitution: share of the normal velocity that an impact returns, 0 to 1, dimensionless;
            None: likewise.
    """

    name: str
    link: str
    centre: ArrayLike
    axis: ArrayLike
    radius: Scalar
    friction: Scalar | None = None
    restitution: Scalar | None = None

    def __post_init__(self) -> None:
        _check_contact(self, "centre")
        axis = tuple(unit(self.axis, f"axis of contact {self.name!r}").tolist())
        _store(
            self,
            axis=axis,
            radius=_number(self.radius, f"radius of contact {self.name!r}", "above 0", "m"),
        )

    @property
    def position(self) -> ArrayLike:
        """The centre, (3,), m, under the name that a `ContactPoint` has for it."""
        return self.centre


Contact = ContactPoint | ContactRim


@dataclass(frozen=True)
class Plane:
    """A plane: level ground or a slope. The robot is on the side that the normal points to.

    Args:
        normal: a vector normal to the plane, in {s}, of any length, shape (3,).
        point: a point of the plane in {s}, shape (3,), m.
    """

    normal: ArrayLike = (0, 0, 1)
    point: ArrayLike = (0, 0, 0)

    def __post_init__(self) -> None:
        _vectors(self, "the plane", "normal", "point")
        if not any(known_number(x) != 0 for x in self.normal):  # type: ignore[union-attr]
            raise InputError("normal of the plane is zero; expected a vector such as (0, 0, 1).")


@dataclass(frozen=True)
class Box:
    """A box that stands on the ground, turned about the vertical.

    Args:
        centre: position of its centre in {s}, shape (3,), m.
        size: whole lengths of its edges, shape (3,), m.
        yaw: angle about z from x of {s} to the first edge, rad.
    """

    centre: ArrayLike
    size: ArrayLike
    yaw: Scalar = 0

    def __post_init__(self) -> None:
        _vectors(self, "a box", "centre", "size")
        sizes = [_number(x, "an edge of a box", "above 0", "m") for x in self.size]  # type: ignore[union-attr]
        _store(self, size=tuple(sizes), yaw=scalar(self.yaw, "yaw of a box"))


@dataclass(frozen=True)
class Boxes:
    """Boxes and steps on a plane. A contact touches the nearest of them.

    Args:
        boxes: records `Box`, one or more.
        plane: the ground that they stand on.
    """

    boxes: Sequence[Box]
    plane: Plane = field(default_factory=Plane)

    def __post_init__(self) -> None:
        _store(self, boxes=_records(self.boxes, Box, "boxes of the ground"))
        _expect(self.plane, Plane, "plane of the boxes")


@dataclass(frozen=True)
class HeightField:
    """Heights on a grid, with the bilinear surface between them; the border continues level.

    Args:
        heights: heights above `origin`, (nx, ny), m: row i is at x = i spacing.
        spacing: distance of neighbours in x and y, m, a number or shape (2,).
        origin: position of heights[0, 0] at height 0 in {s}, shape (3,), m.
    """

    heights: ArrayLike
    spacing: ArrayLike
    origin: ArrayLike = (0, 0, 0)

    def __post_init__(self) -> None:
        heights = array(self.heights, (None, None), "heights of the height field")
        if min(heights.shape) < 2 or heights.size > MAX_CELLS:
            text = f"heights of the height field have shape {heights.shape}; expected two or more "
            raise InputError(f"{text}each way and at most {MAX_CELLS}. Use a coarser grid.")
        several = np.ndim(np.asarray(self.spacing)) == 1
        spacing = array(self.spacing, (2,), "spacing of the height field") if several else None
        both = [self.spacing] * 2 if spacing is None else spacing.tolist()
        both = tuple(_number(x, "spacing of the height field", "above 0", "m") for x in both)
        _vectors(self, "the height field", "origin")
        _store(self, heights=tuple(map(tuple, heights.tolist())), spacing=both)


Ground = Plane | Boxes | HeightField


def stairs(
    count: int, depth: float, height: float, width: float, start: ArrayLike = (0, 0, 0)
) -> Boxes:
    """Steps that lead up along x, on a level plane.

    Args:
        count: number of steps.
        depth: length of a step along x, m.
        height: height of a step, m.
        width: length of the steps along y, m.
        start: middle of the lower edge of the first step in {s}, on the plane, shape (3,), m.
    """
    x, y, z = array(start, (3,), "start of the stairs").tolist()
    _number(options.count(count, "count of the stairs"), "count of the stairs", "above 0")
    length = _number(depth, "depth of the stairs", "above 0", "m")
    rise = _number(height, "height of the stairs", "above 0", "m")
    boxes = [
        Box((x + length * (k + 0.5), y, z + rise * (k + 1) / 2), (length, width, rise * (k + 1)))
        for k in range(count)
    ]
    return Boxes(boxes, Plane(point=(0, 0, z)))


@dataclass(frozen=True)
class Contacts:
    """The contacts of a robot: points that may touch, and the ground.

    Args:
        points: records `ContactPoint` and `ContactRim`, in the order of the results.
        ground: `Plane`, `Boxes` or `HeightField`.
        friction: coefficient of Coulomb friction of points that have none of their own,
            dimensionless.
        restitution: share of the normal velocity that an impact returns, 0 to 1, dimensionless,
            likewise.
        compliance: depth of a contact for a unit of normal force, m/N, of the smooth variant; None:
            rigid.
    """

    points: Sequence[Contact]
    ground: Ground = field(default_factory=Plane)
    friction: Scalar = 1
    restitution: Scalar = 0
    compliance: Scalar | None = None

    def __post_init__(self) -> None:
        points = _records(self.points, ContactPoint | ContactRim, "contacts")
        if len(points) > MAX_CONTACTS:
            text = f"there are {len(points)} contacts; expected {MAX_CONTACTS} at most, since a "
            raise InputError(f"{text}step solves all at once. Keep those that can touch.")
        names = [x.name for x in points]
        if len(set(names)) < len(names):
            twice = next(x for k, x in enumerate(names) if x in names[:k])
            raise InputError(f"two contacts have the name {twice!r}; expected every name once.")
        _expect(self.ground, Ground, "ground")
        _check_round(points, self.ground)
        mu = _number(self.friction, "friction of the contacts")
        bounce = _number(self.restitution, "restitution of the contacts", "0 to 1")
        _store(self, points=points, friction=mu, restitution=bounce)
        if self.compliance is not None:
            compliance = _number(self.compliance, "compliance of the contacts", unit="m/N")
            _store(self, compliance=compliance)
            for x, e in zip(points, self.restitutions, strict=True):
                if e != 0:
                    text = f"contact {x.name!r} has a restitution, and the contacts a compliance"
                    raise InputError(f"{text}; expected one of them, since both spring back.")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the contacts, in the order of the results."""
        return tuple(x.name for x in self.points)

    @property
    def frictions(self) -> Vector:
        """Coefficient of friction of every contact."""
        return tuple(self.friction if x.friction is None else x.friction for x in self.points)

    @property
    def restitutions(self) -> Vector:
        """Restitution of every contact."""
        own = (x.restitution for x in self.points)
        return tuple(self.restitution if e is None else e for e in own)

    def with_pairs(self, friction: Iterable[Scalar], restitution: Iterable[Scalar]) -> "Contacts":
        """The same contacts with friction and restitution of each.

        Args:
            friction: of every contact, dimensionless.
            restitution: of every contact, 0 to 1, dimensionless.
        """
        pairs = zip(self.points, friction, restitution, strict=True)
        points = (replace(x, friction=mu, restitution=e) for x, mu, e in pairs)
        return replace(self, points=tuple(points))

    def astype(self, number: Callable[[Any], Scalar]) -> "Contacts":
        """The same contacts with every number converted.

        Args:
            number: type of the numbers, or a function that converts one.
        """
        # plain 0 stays, which costs nothing
        return mapped(self, lambda x, _: x if isinstance(x, float) and x == 0 else number(x))


def _number(value: Any, name: str, low: str = "at least 0", unit: str = "dimensionless") -> Scalar:
    """A number of a range of `RANGES`; symbols and traced scalars are not judged."""
    x = scalar(value, name)
    check_range(x, name, low, unit)
    return float(x) if isinstance(x, np.floating) else x


def _check_contact(record: Any, place: str) -> None:
    if not isinstance(record.name, str) or not record.name:
        raise InputError(f"a contact has the name {record.name!r}; expected a text.")
    name = f"contact {record.name!r}"
    if not isinstance(record.link, str):
        text = f"link of {name} is {record.link!r:.60}"
        raise InputError(f"{text}; expected the name of a link or frame.")
    _vectors(record, name, place)
    if record.friction is not None:
        _store(record, friction=_number(record.friction, f"friction of {name}"))
    if record.restitution is not None:
        _store(record, restitution=_number(record.restitution, f"restitution of {name}", "0 to 1"))


def _check_round(points: Sequence[Contact], ground: Ground) -> None:
    """Raise InputError where a round contact would not touch the nearest place of the ground."""
    for x in points:
        if isinstance(x, ContactRim) and isinstance(ground, Boxes):
            text = f"contact {x.name!r} is a rim, which would roll through the edges of boxes"
            raise InputError(f"{text}; expected points or spheres on boxes, or a Plane.")
        if isinstance(ground, HeightField) and known_number(x.radius) != 0:
            text = f"contact {x.name!r} has the radius {x.radius} m, and would sink into the height"
            raise InputError(f"{text} field; expected radius 0, or a Plane, or Boxes for spheres.")


def _vectors(record: Any, owner: str, *names: str) -> None:
    for name in names:
        vector = array(getattr(record, name), (3,), f"{name} of {owner}")
        _store(record, **{name: tuple(vector.tolist())})


def _store(record: object, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(record, name, value)


def _expect(value: Any, kind: Any, name: str) -> None:
    if not isinstance(value, kind):
        kinds = ", ".join(x.__name__ for x in get_args(kind) or (kind,))
        raise InputError(f"{name} is {value!r:.60}; expected a record {kinds}.")


def _records(values: Any, kind: Any, name: str) -> tuple[Any, ...]:
    """The records of a list, which has one or more."""
    records = tuple(values) if isinstance(values, Iterable) else ()
    if isinstance(values, str) or not records:
        raise InputError(f"{name} are {values!r:.60}; expected a list of one record or more.")
    for x in records:
        _expect(x, kind, f"one of the {name}")
    return records
