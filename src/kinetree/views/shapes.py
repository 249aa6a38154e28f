"""Shape and Scene: what is drawn of a robot, as plain records for pages and the workbench."""

from dataclasses import dataclass

from kinetree.base.arrays import Array

Colour = tuple[int, int, int]  # red, green, blue, 0 to 255

# Distinct with any kind of colour vision, on white and on black.
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
    """One thing to draw, fixed at pose T in the frame of link `link` (WORLD: in {s}).

    kind and size: in metres, centred at the origin of T:
        sphere (radius,); ellipsoid (three semi-axes); box (three edges);
        cylinder (radius, length) along z; capsule (radius, length without its round ends) along z;
        frame (length of its axes,); mesh (), whose corners are in `mesh`.
    group: "body" and "joint" are made from the joints, "visual" comes from the robot's file,
        "inertia" is the inertia ellipsoid of a link, "frame" the space and tool frames.
    label: plain text from the robot's file. Escape it before it is put into markup.
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
    """The shapes of a robot; `extent`, m, is the size of the robot, which scales what is drawn."""

    name: str
    extent: float
    shapes: tuple[Shape, ...]
    remarks: tuple[str, ...] = ()  # visuals of the file that could not be drawn, and why

    def of(self, *groups: str) -> tuple[Shape, ...]:
        """Shapes of the given groups."""
        return tuple(shape for shape in self.shapes if shape.group in groups)

    @property
    def shown(self) -> tuple[str, ...]:
        """Groups that are drawn at first: the file's visuals if complete, else the bodies too."""
        has_visuals = any(shape.group == "visual" for shape in self.shapes)
        if has_visuals and not self.remarks:
            return ("visual", "frame")
        return ("body", "joint", "visual", "frame")
