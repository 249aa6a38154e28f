"""Shape, Scene: what of a robot is drawn, as plain records; drawing them is someone else's work."""

from dataclasses import dataclass

from kinetree.base.arrays import Array

Colour = tuple[int, int, int]  # red, green, blue, 0 to 255

# Colours that stand apart from each other for every kind of sight, on white and on black.
BODY: Colour = (124, 139, 161)
JOINT: Colour = (230, 126, 34)
BASE: Colour = (92, 101, 115)
INERTIA: Colour = (46, 134, 193)
AXES: tuple[Colour, Colour, Colour] = ((214, 64, 69), (61, 153, 80), (58, 110, 220))

GROUPS = ("body", "joint", "visual", "inertia", "frame")


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Corners (k, 3) in metres and triangles (m, 3), three corners each, counter-clockwise."""

    vertices: Array
    triangles: Array


@dataclass(frozen=True, eq=False)
class Shape:
    """One thing to draw: it stands at T in the frame of link `link` (WORLD: in {s}), for ever.

    kind and size: in metres, all about the origin of T:
        sphere (radius,); ellipsoid (three semi-axes); box (three edges);
        cylinder (radius, length) along z; capsule (radius, length without its round ends) along z;
        frame (length of its axes,); mesh (), its corners are in `mesh`.
    group: "body" and "joint" are made from the joints, "visual" comes from the robot's file,
        "inertia" is the ellipsoid of a link's mass, "frame" the space and tool frames.
    label: plain text from the robot's file. Escape it before it meets any markup.
    """

    kind: str
    group: str
    link: int
    T: Array
    size: tuple[float, ...]
    colour: Colour
    label: str
    mesh: TriangleMesh | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """The shapes of a robot; `extent` (m) is about the size of the robot and sizes everything."""

    name: str
    extent: float
    shapes: tuple[Shape, ...]
    remarks: tuple[str, ...] = ()  # what of the file could not be drawn, and why

    def of(self, *groups: str) -> tuple[Shape, ...]:
        """The shapes of some groups."""
        return tuple(shape for shape in self.shapes if shape.group in groups)

    @property
    def shown(self) -> tuple[str, ...]:
        """Groups to draw at first: the file's own look where it is complete, else the bodies."""
        has_visuals = any(shape.group == "visual" for shape in self.shapes)
        if has_visuals and not self.remarks:
            return ("visual", "frame")
        return ("body", "joint", "visual", "frame")
